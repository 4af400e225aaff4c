"""The pages about the server are sessions in a shell: each command runs, on real servers, and prints what its page shows."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from pages import DOCS

from free_ports import free_port
from page_shell import CONSOLE, FILE, Done, commands, patient, run_all, same
from tiers import every

SESSIONS = (
    "server.md",
    "conformance.md",  # 20 s: the command judges a server, as it does in tests/conformance_command
    "security.md",
    "operations.md",
    "postgresql.md",
    "web.md",
    "jobs_tutorial.md",
    "testing.md",
    "workflows.md",
    "tutorial.md",
    "changing_workflows.md",
)


def outputs(asked: list[str], folder: Path, port: str) -> list[Done]:
    """Runs the commands with this Python, in an empty folder."""
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
        "PYTEST_ADDOPTS": "-W ignore::pytest.PytestAssertRewriteWarning -p no:asyncio -p no:flaky -p no:rerunfailures",
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "80",
    }
    environment["RESONATE_SERVER__PORT"] = port  # in the place of 8001, which is not named where it is the default
    return run_all(asked, folder / "work", environment)


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


@pytest.mark.parametrize("name", every(2, SESSIONS))
def test_the_session_of_a_page(name: str, tmp_path: Path, database: str) -> None:
    page = (DOCS / name).read_text(encoding="utf-8")
    missing = [tool for tool in ("bash", "curl", "openssl") if f"$ {tool} " in page + "$ bash " and shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{name} uses {', '.join(missing)}, which this machine has not")
    asked = commands(page, CONSOLE, FILE)
    assert len(asked) > 3
    ports = {shown: str(free_port()) for shown in dict.fromkeys(re.findall(r"\b800\d\b", page))}
    assert len(set(ports.values())) == len(ports)

    def ours(text: str) -> str:
        return re.sub(r"\b800\d\b", lambda found: ports[found[0]], patient(text))

    printed = outputs([ours(command.text) for command in asked], tmp_path, ports.get("8001", "8001"))
    assert len(printed) == len(asked)
    for command, got in zip(asked, printed, strict=True):
        wanted, seen = ours(command.shown or ""), got.printed.replace(database, SHOWN)
        logs = "".join(f"\n{log.name}:\n{log.read_text()}" for log in sorted(tmp_path.glob("work/*.log")))
        assert same(wanted, seen), f"$ {command.text}\n{seen}instead of\n{wanted}{logs}"
