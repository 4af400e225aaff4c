"""The pages about the server are sessions in a shell: each command runs, on real servers, and prints what its page shows."""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS

from free_ports import free_port

SESSIONS = (
    "server.md",
    "web.md",
    "security.md",
    "operations.md",
    "postgresql.md",
    "tutorial.md",
    "testing_tutorial.md",
    "conformance.md",
)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "-- end of command --"
# What differs from run to run, and what stands for it on both sides.
CHANGING = [
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "INSTANT"),
    (re.compile(r"\b\d{13}\b"), "MS"),
    (re.compile(r"\bprocess \d+"), "PROCESS"),
    (re.compile(r"\b\d{4,6} bytes"), "BYTES"),
    (re.compile(r"\bin \d+\.\d\ds(?: \(.*\))?"), "in SECONDS"),
]


def commands(page: str) -> list[tuple[str, str]]:
    """Returns each command of a page, and what it prints there. A file that the page shows is a command that writes it."""
    found: list[tuple[str, str]] = []
    for match in sorted([*BLOCK.finditer(page), *FILE.finditer(page)], key=lambda match: match.start()):
        if match.re is FILE:
            found.append((f"cat >{match[1]} <<'END OF FILE'\n{match[2]}END OF FILE", ""))
            continue
        for line in match[1].splitlines():
            if line.startswith("$ "):
                found.append((line[2:], ""))
            else:
                found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


def outputs(asked: list[str], folder: Path, port: str) -> list[str]:
    """Runs the commands one after the other in one shell, then ends the processes that they left running; returns the output of each."""
    programs = folder / "bin"
    programs.mkdir()
    for name, command in (("resonate-core", '-m resonate_core "$@"'), ("python", '"$@"')):
        program = programs / name
        program.write_text(f"#!/bin/sh\nexec {sys.executable!r} {command}\n")
        program.chmod(0o755)
    (folder / "work").mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
    environment |= {"PATH": f"{programs}:{os.environ['PATH']}", "NO_PROXY": "127.0.0.1", "TZ": "UTC"}
    environment |= {
        "PYTEST_ADDOPTS": "-W ignore::pytest.PytestAssertRewriteWarning",
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "80",
    }
    environment["RESONATE_SERVER__PORT"] = port  # in the place of 8001, which is not named where it is the default
    script = "trap 'kill $(jobs -p) 2>/dev/null' EXIT\n" + "".join(f"{command}\necho '{MARK}'\n" for command in asked)
    shell = subprocess.Popen(
        ["bash", "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        cwd=folder / "work",
        env=environment,
        start_new_session=True,
    )
    try:
        printed, _ = shell.communicate(timeout=300)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    return printed.split(MARK + "\n")[:-1]


def steady(text: str) -> str:
    """Replaces what differs between runs."""
    for pattern, stands in CHANGING:
        text = pattern.sub(stands, text)
    return text


#: The place of a store as postgresql.md shows it.
SHOWN = "postgresql://db.internal/app?schema=resonate"


@pytest.fixture
def database(name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database in DATABASE_URL as a command shows it; for a page that needs none, the one written in the page."""
    if name != "postgresql.md":
        return SHOWN
    url: str = request.getfixturevalue("postgres_url")
    monkeypatch.setenv("DATABASE_URL", url)
    return re.sub(r"//\w+@", "//", url)


@pytest.mark.parametrize("name", SESSIONS)
def test_the_session_of_a_page(name: str, tmp_path: Path, database: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    missing = [tool for tool in ("bash", "curl", "openssl") if f"$ {tool} " in page + "$ bash " and shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{name} uses {', '.join(missing)}, which this machine has not")
    asked = commands(page)
    assert len(asked) > 3
    ports = {shown: str(free_port()) for shown in dict.fromkeys(re.findall(r"\b800\d\b", page))}
    assert len(set(ports.values())) == len(ports)

    def ours(text: str) -> str:
        # a machine that is busy gets more time to be right
        text = text.replace("--max-time 1 ", "--max-time 4 ").replace("--retry 20 ", "--retry 60 ")
        text = text.replace("--requests 80 ", "--requests 80 --patience 30s ")
        return re.sub(r"\b800\d\b", lambda found: ports[found[0]], text)

    printed = outputs([ours(command) for command, _ in asked], tmp_path, ports.get("8001", "8001"))
    assert len(printed) == len(asked)
    for (command, expected), got in zip(asked, printed, strict=True):
        wanted, seen = steady(ours(expected)), steady(got.replace(database, SHOWN))
        same = doctest.OutputChecker().check_output(wanted, seen, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
        logs = "".join(f"\n{log.name}:\n{log.read_text()}" for log in sorted(tmp_path.glob("work/*.log")))
        assert same, f"$ {command}\n{seen}instead of\n{wanted}{logs}"
