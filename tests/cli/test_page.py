"""docs/cli.md is one session in a shell: each of its commands runs, and prints what the page shows."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from free_ports import free_port

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PORT = re.compile(r"\b8001\b")
MARK = "-- end of command --"
# What differs from run to run, and what stands for it on both sides.
CHANGING = [
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{3}Z?"), "INSTANT"),
    (re.compile(r"\bprocess \d+"), "PROCESS"),
    (re.compile(r"\b\d{4}-\d\d-\d\d\b"), "DAY"),
    (re.compile(r"\b\d{13}\b"), "MS"),
    (re.compile(r'"durationMs": \d+'), "DURATION"),
    (re.compile(r"Errno \d+"), "ERRNO"),
    (re.compile(r"\b\d+(\.\d+)?(ms|s|m|h|d)( \d+[smh])?\b"), "LENGTH"),
    (re.compile(r"\b\d+\.\d+\b"), "FIGURE"),
    (re.compile(r"^(promise\.\w+|all)\t(\d+)\t\d+\t", re.MULTILINE), r"\1\t\2\tRATE\t"),
    (re.compile(r"\b\d+ bytes before, \d+ after|\b\d{4,6} bytes"), "BYTES"),
]


def commands(page: str) -> list[tuple[str, str]]:
    """Returns each command of the page, and what it prints there."""
    found: list[tuple[str, str]] = []
    for block in BLOCK.findall(page):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], ""))
            else:
                found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def outputs(asked: list[str], folder: Path) -> list[str]:
    """Runs the commands one after the other in one shell; returns the output of each."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
    programs, work = folder / "bin", folder / "work"
    programs.mkdir()
    work.mkdir()
    # A program and no function of the shell: `kill $!` ends the server itself.
    program = programs / "resonate-core"
    program.write_text(f'#!/bin/sh\nexec {sys.executable!r} -m resonate_core "$@"\n')
    program.chmod(0o755)
    environment |= {"PATH": f"{programs}:{os.environ['PATH']}", "NO_PROXY": "127.0.0.1"}
    script = "trap 'kill $(jobs -p) 2>/dev/null' EXIT\n" + "".join(f"{command}\necho '{MARK}'\n" for command in asked)
    done = subprocess.run(
        ["bash", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=work,
        env=environment,
    )
    return done.stdout.split(MARK + "\n")[:-1]


def steady(text: str) -> str:
    """Replaces what differs between runs."""
    for pattern, stands in CHANGING:
        text = pattern.sub(stands, text)
    return text


@pytest.mark.skipif(shutil.which("curl") is None, reason="the page uses curl, which this machine has not")
def test_the_session(tmp_path: Path) -> None:
    port = str(free_port())
    page = PAGE.read_text(encoding="utf-8")
    asked = commands(page)
    assert len(asked) > 40
    printed = outputs([PORT.sub(port, command) for command, _ in asked], tmp_path)
    assert len(printed) == len(asked)
    for (command, expected), got in zip(asked, printed, strict=True):
        wanted, seen = steady(expected), steady(re.sub(rf"\b{port}\b", "8001", got))
        same = doctest.OutputChecker().check_output(wanted, seen, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        assert same, f"$ {command}\n{seen}instead of\n{wanted}"


def test_the_table_of_exit_codes_is_the_programs() -> None:
    from resonate_core.cli.exits import MEANINGS

    shown = dict(re.findall(r"^\| (\d) \| ([^|]*?) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert list(shown) == [str(int(code)) for code in MEANINGS]


def test_the_configuration_of_the_page_is_one(tmp_path: Path) -> None:
    from resonate_core.server.settings import Settings

    (written,) = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    (tmp_path / "resonate.toml").write_text(written)
    settings = Settings.load(tmp_path / "resonate.toml")
    assert (settings.server.port, settings.store.durability) == (9000, "normal")
