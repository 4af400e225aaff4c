"""The check of a store. `check` is the one command that works without the extra `cli`: it needs only the standard library."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import resonate_core as rc
from resonate_core.base.extras import how_to_install
from resonate_core.base.instants import counted
from resonate_core.cli.exits import CommandFailed, Exit
from resonate_core.cli.places import Place, place_of
from resonate_core.cli.show import clean, put, say

__all__ = ["Checked", "checked", "run_check_only"]


@dataclass(frozen=True)
class Checked:
    """The result of a check.

    Attributes:
        name: The path of the file, or the URL of the database without user and password.
        problems: One line for each problem.
        summary: One line about the whole store.
    """

    name: str
    problems: list[str]
    summary: str


def checked(place: Place, **options: Any) -> Checked:
    """Check a file or a database, which is only read.

    Args:
        place: The path of the file, or the URL of the database.
        options: Of `resonate_core.Store`.

    Raises:
        CommandFailed: It cannot be read as a store (USAGE).
    """
    counts: dict[str, dict[str, int] | int] | None = None
    name = str(place) if isinstance(place, Path) else ""
    try:
        problems = rc.check_file(place) if isinstance(place, Path) else []
        # Damaged pages make every further reading a guess, damaged rows cannot be read, and no store opens a file of two names.
        if not any(problem.startswith(("names", "integrity", "rows")) for problem in problems):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", rc.errors.ClockWarning)  # it is one of the problems
                store = rc.Store(place, read_only=True, **options)
            with store:
                name = name or str(store.url)
                problems += [f"{violation.name} ({violation.id}): {violation.detail}" for violation in store.check()]
                counts = store.counts()
    except rc.ResonateError as error:
        # The error of a damaged row does not name the store. That of a path in another form does, without its passwords.
        named = not name or name in str(error) or isinstance(error, rc.Invalid)
        message = str(error) if named else f"{name}: {error}"
        raise CommandFailed(message, Exit.USAGE) from error
    if problems or counts is None:
        return Checked(name, problems, f"{name}: {counted(len(problems), 'problem')}")
    promises, schedules, messages = (counts[kind] for kind in ("promises", "schedules", "messages"))
    assert isinstance(promises, dict) and isinstance(schedules, int) and isinstance(messages, int)
    found = (counted(sum(promises.values()), "promise"), counted(schedules, "schedule"), counted(messages, "message"))
    return Checked(name, [], f"{name}: sound; {', '.join(found)}")


def run_check_only(arguments: Sequence[str]) -> int:
    """Run the command line without typer: only `check`."""
    if arguments and not arguments[0].startswith("-") and arguments[0] != "check":
        message = f"{arguments[0]!a} needs typer, which is not installed; only 'check' works without it: {how_to_install('cli')}"
        say(f"resonate-core: {message}")
        return Exit.USAGE
    parser = argparse.ArgumentParser(
        prog="resonate-core",
        description=f"Only `check` works without typer. For every other command, {how_to_install('cli')}.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser(
        "check",
        help="check a store for damage",
        description="A file: SQLite's own integrity check, the schema, and every invariant of the state by name. "
        "A database: every invariant by name. "
        "Exit status: 0 sound, 1 something is wrong, 2 it cannot be read as a store.",
    )
    check.add_argument("place", metavar="FILE", nargs="?", help="a store's file, or a URL postgresql://")
    check.add_argument("--db", metavar="FILE", help="the same")
    try:
        given = parser.parse_args(arguments)
        if (given.place is None) == (given.db is None):
            check.error("give one of FILE and --db FILE")
    except SystemExit as ended:  # argparse has printed the reason
        return int(ended.code or 0)
    try:
        found = checked(place_of(given.db, "--db") if given.place is None else place_of(given.place, "FILE"))
    except CommandFailed as failure:
        say(failure.message)
        return failure.code
    put(*map(clean, found.problems), found.summary)
    return Exit.FAILED if found.problems else Exit.DONE
