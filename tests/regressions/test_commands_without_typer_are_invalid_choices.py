"""Without the extra `cli`, `resonate-core serve` printed "invalid choice: 'serve' (choose from 'check')"."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: The command line where typer is not installed, which `find_spec` finds out.
PROGRAM = """
import sys
sys.modules["typer"] = None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "typer" else found(name, *more)
from resonate_core.cli import main
sys.exit(main(sys.argv[1:]))
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("command", ["serve", "promises", "nosuch\n"])
def test_the_extra_is_named(command: str) -> None:
    done = run(command, "--db", "a.db")
    assert done.returncode == 2
    assert done.stderr == (
        f"resonate-core: {command!a} needs typer, which is not installed; only 'check' works without it: "
        "install the extra resonate-core[cli]: pip install '.[cli]' in a clone of the repository\n"
    )


def test_help_and_check_work() -> None:
    assert "install the extra resonate-core[cli]" in " ".join(run("--help").stdout.split())
    done = run("check", "nothing.db")
    assert done.returncode == 2 and "nothing.db" in done.stderr
