"""docs/cli.md is one session in a shell: each of its commands runs, and prints what the page shows."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from free_ports import free_port
from page_shell import CHANGING_IN_CLI, CONSOLE, FILE, Done, commands, run_all, same

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
PORT = re.compile(r"\b8001\b")


def outputs(asked: list[str], folder: Path) -> list[Done]:
    """Runs the commands one after the other in one shell; returns the output of each."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
    programs, work = folder / "bin", folder / "work"
    programs.mkdir()
    work.mkdir()
    # A program and no function of the shell: `kill $!` ends the server itself.
    for name, arguments in (("resonate-core", '-m resonate_core "$@"'), ("python", '"$@"')):
        program = programs / name
        program.write_text(f"#!/bin/sh\nexec {sys.executable!r} {arguments}\n")
        program.chmod(0o755)
    environment |= {"PATH": f"{programs}:{os.environ['PATH']}", "NO_PROXY": "127.0.0.1"}
    return run_all(asked, work, environment)


@pytest.mark.full  # more than forty commands, each of which is tested in tests/cli
@pytest.mark.skipif(shutil.which("curl") is None, reason="the page uses curl, which this machine has not")
def test_the_session(tmp_path: Path) -> None:
    port = str(free_port())
    page = PAGE.read_text(encoding="utf-8")
    asked = commands(page, CONSOLE, FILE)
    assert len(asked) > 40
    printed = outputs([PORT.sub(port, command.text) for command in asked], tmp_path)
    assert len(printed) == len(asked)
    for command, got in zip(asked, printed, strict=True):
        wanted, seen = command.shown or "", re.sub(rf"\b{port}\b", "8001", got.printed)
        assert same(wanted, seen, CHANGING_IN_CLI), f"$ {command.text}\n{seen}instead of\n{wanted}"


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
