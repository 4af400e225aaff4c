"""Commands of `resonate-core`, run in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from resonate_core.cli import main


@dataclass(frozen=True)
class Ran:
    """An ended command: its exit code and its output."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document that it printed."""
        return json.loads(self.out)

    @property
    def error(self) -> Any:
        """The error that it printed, as JSON."""
        return json.loads(self.err)


def run_command(capsys: pytest.CaptureFixture[str], *arguments: object) -> Ran:
    """Runs a command as the program does, and captures what it prints."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return Ran(code, said.out, said.err)
