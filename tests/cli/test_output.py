"""The output of commands: in a terminal, in a pipe, and as JSON, which is one document for each command."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from protocol_server import FAR, Run

import resonate_core as rc
from resonate_core.cli import app

NASTY = "[bold]x[/bold]:smile:\x1b[31m\r\n"


def in_a_terminal(*arguments: object) -> tuple[int, str]:
    """Returns the exit code and the screen of a command whose standard output and error are a terminal."""
    outer, inner = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "300", "LINES": "50"}
    command = [sys.executable, "-m", "resonate_core", *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=inner, stderr=inner, env=environment) as running:
        os.close(inner)
        screen = b""
        while True:
            try:
                part = os.read(outer, 65_536)
            except OSError:  # Linux reports the closed other end like this
                break
            if not part:
                break
            screen += part
    os.close(outer)
    return running.returncode, screen.decode()


@pytest.fixture
def nasty(tmp_path: Path) -> Path:
    path = tmp_path / "nasty.db"
    with rc.Store(path) as store:
        store.promises.create(NASTY, FAR, param=NASTY, tags={NASTY: NASTY, "resonate:target": f"x:{NASTY}"})
    return path


COMMANDS = [["promises", "get", NASTY], ["promises", "search"], ["tasks", "search"], ["messages"], ["tree", NASTY]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command[:2]).partition("[")[0])
def test_nothing_that_others_wrote_acts_on_the_terminal(nasty: Path, command: list[str]) -> None:
    code, screen = in_a_terminal(*command, "--db", nasty)
    assert code == 0
    assert "[bold]x[/bold]:smile:" in screen
    assert "\\x1b[31m" in screen
    assert "\x1b[31mx" not in screen and "\x1b[31m\\r" not in screen


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command[:2]).partition("[")[0])
def test_a_pipe_gets_bare_lines(run: Run, nasty: Path, command: list[str]) -> None:
    out = run(*command, "--db", nasty).out
    assert "\x1b" not in out and "\r" not in out
    assert "[bold]x[/bold]:smile:\\x1b[31m\\r\\n" in out


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command[:2]).partition("[")[0])
def test_json_has_everything_as_it_is(run: Run, nasty: Path, command: list[str]) -> None:
    ran = run(*command, "--db", nasty, "--json")
    assert json.dumps(NASTY)[1:-1] in ran.out
    assert ran.err == ""
    assert isinstance(ran.json, dict)


def test_errors_in_a_terminal_are_plain_too(nasty: Path) -> None:
    code, screen = in_a_terminal("promises", "get", "nobody\x1b[31m", "--db", nasty)
    assert code == 4
    assert "\x1b[31m" not in screen


def test_every_command_explains_itself(run: Run) -> None:
    found = []

    def walk(typer_app: object, path: list[str]) -> None:
        for command in typer_app.registered_commands:  # type: ignore[attr-defined]
            found.append([*path, command.name])
        for group in typer_app.registered_groups:  # type: ignore[attr-defined]
            walk(group.typer_instance, [*path, group.name])

    walk(app.app_for(with_flags=True), [])
    assert len(found) > 30
    for path in found:
        ran = run(*path, "--help")
        assert ran.code == 0
        assert ran.err == ""
        assert "Usage" in ran.out
    assert "Exit codes" in run("--help").out
    assert run("--version").out == f"{rc.__version__}\n"
    assert run().code == 2


def options(command: Any) -> dict[str, Any]:
    """Returns the flags of a command and of its subcommands."""
    inner = {name: options(each) for name, each in getattr(command, "commands", {}).items()}
    return inner | {each.name: each.opts for each in command.params}


def test_a_command_is_the_same_without_the_others() -> None:
    whole = app.command_for(())
    for name, command in whole.commands.items():
        alone = app.command_for((name,)).commands
        assert list(alone) == [name]
        if name not in ("serve", "config"):  # these have their flags only if they are named
            assert options(alone[name]) == options(command)


@pytest.mark.parametrize(
    "command", ["promises get x --db no.db", "promises get x --url http://127.0.0.1:1", "check no.db", "--version"]
)
def test_nothing_is_imported_that_is_not_used(command: str, tmp_path: Path) -> None:
    program = "import sys; from resonate_core.cli import main; main(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program, *command.split()], capture_output=True, text=True, check=False)
    loaded = set(done.stdout.split())
    assert not {"uvicorn", "starlette", "pydantic_settings", "granian"} & loaded
    assert "resonate_core.worker" not in loaded
    assert ("httpx" in loaded) == ("asyncio" in loaded) == ("--url" in command)


def test_completion_knows_the_flags_of_serve(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "_RESONATE_CORE_COMPLETE": "complete_bash",
        "COMP_WORDS": "resonate-core serve --dur",
        "COMP_CWORD": "2",
    }
    done = subprocess.run([sys.executable, "-m", "resonate_core"], env=environment, capture_output=True, text=True, check=False)
    assert "--durability" in done.stdout
