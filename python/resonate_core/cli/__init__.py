"""The command line: ``resonate-core``, which is also ``python -m resonate_core``.

It needs the extra `cli`, except for `check`. docs/cli.md describes the commands and their exit codes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: What stands after the program's name; None: what the process was given.

    Returns:
        The exit code: 0 done, 1 failed, 2 usage or configuration, 3 unreachable, 4 not found, 5 conflict, 6 refused, 7 not allowed.

    Example:
        >>> from resonate_core.cli import main
        >>> main(["check", "nothing.db"])
        2
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if find_spec("typer") is None:
        from resonate_core.cli.check import run_check_only

        return run_check_only(given)
    from resonate_core.cli.run import run

    return run(given)
