"""What can be done to a store's file from a shell: ``python -m resonate_core check FILE``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import resonate_core as rc

SOUND, BROKEN, CANNOT_TELL = 0, 1, 2


def check(path: Path) -> int:
    """Prints what is wrong with a file, a line each, and what is in it; SOUND, BROKEN or CANNOT_TELL."""
    try:
        problems = rc.check_file(path)
        # Damaged pages make every further reading a guess.
        if not any(problem.startswith("integrity") for problem in problems):
            with rc.Store(path, read_only=True) as store:
                problems += [f"{violation.name} ({violation.id}): {violation.detail}" for violation in store.check()]
                counts = store.counts()
    except rc.errors.StoreError as error:
        print(error, file=sys.stderr)
        return CANNOT_TELL
    for problem in problems:
        print(problem)
    if problems:
        print(f"{path}: {len(problems)} problem{'s' if len(problems) > 1 else ''}")
        return BROKEN
    print(
        f"{path}: sound; {sum(counts['promises'].values())} promises, {counts['schedules']} schedules, {counts['messages']} messages"
    )
    return SOUND


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="python -m resonate_core", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    checked = commands.add_parser(
        "check",
        help="look for damage in a store's file",
        description="SQLite's own integrity check, the schema, and every property of the state by name. "
        "Exit status: 0 sound, 1 something is wrong, 2 the file cannot be read as a store.",
    )
    checked.add_argument("file", type=Path)
    return check(parser.parse_args(arguments).file)


if __name__ == "__main__":
    sys.exit(main())
