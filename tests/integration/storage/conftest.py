"""Places for the stores of several processes, and the command line in this process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from command_line import Ran, run_command
from homes import Home


@pytest.fixture
def place(home: Home) -> Any:
    """The path or URL of a new, empty place."""
    return home.new_place()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs a command as the program does: `run("promises", "get", "a")`."""
    return functools.partial(run_command, capsys)
