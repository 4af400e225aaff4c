"""The check of a file. `check` is the one command that works without the extra `cli`: it needs only the standard library."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import resonate_core as rc
from resonate_core._extras import how_to_install
from resonate_core.cli.exits import Exit, Failure
from resonate_core.cli.show import clean

__all__ = ["problems_of", "run_check_only"]


def problems_of(path: Path) -> tuple[list[str], str]:
    """Return the problems of a file, one line each, and one line that sums them up.

    Raises:
        Failure: It cannot be read as a store (USAGE).
    """
    counts: dict[str, dict[str, int] | int] | None = None
    try:
        problems = rc.check_file(path)
        # Damaged pages make every further reading a guess, and damaged rows cannot be read.
        if not any(problem.startswith(("integrity", "rows")) for problem in problems):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", rc.errors.ClockWarning)  # it is one of the problems
                store = rc.Store(path, read_only=True)
            with store:
                problems += [f"{violation.name} ({violation.id}): {violation.detail}" for violation in store.check()]
                counts = store.counts()
    except rc.errors.StoreError as error:
        raise Failure(str(error), Exit.USAGE) from error
    if problems or counts is None:
        return problems, f"{path}: {len(problems)} problem{'s' if len(problems) > 1 else ''}"
    promises = counts["promises"]
    assert isinstance(promises, dict)
    total = sum(promises.values())
    return [], f"{path}: sound; {total} promises, {counts['schedules']} schedules, {counts['messages']} messages"


def run_check_only(arguments: Sequence[str]) -> int:
    """Run the command line without typer: only `check`."""
    if arguments and not arguments[0].startswith("-") and arguments[0] != "check":
        message = f"{arguments[0]!a} needs typer, which is not installed; only 'check' works without it: {how_to_install('cli')}"
        print(f"resonate-core: {message}", file=sys.stderr)
        return Exit.USAGE
    parser = argparse.ArgumentParser(
        prog="resonate-core",
        description=f"Only `check` works without typer. For every other command, {how_to_install('cli')}.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    checked = commands.add_parser(
        "check",
        help="check a store's file for damage",
        description="SQLite's own integrity check, the schema, and every property of the state by name. "
        "Exit status: 0 sound, 1 something is wrong, 2 the file cannot be read as a store.",
    )
    checked.add_argument("file", type=Path)
    try:
        path: Path = parser.parse_args(arguments).file
    except SystemExit as ended:  # argparse has printed the reason
        return int(ended.code or 0)
    try:
        problems, summary = problems_of(path)
    except Failure as failure:
        print(failure.message, file=sys.stderr)
        return failure.code
    print(*map(clean, problems), summary, sep="\n")
    return Exit.FAILED if problems else Exit.DONE
