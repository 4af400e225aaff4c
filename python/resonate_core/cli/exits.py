"""How a command ends: exit codes that scripts can tell apart, and the one exception that carries them."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["CommandFailed", "Exit", "OutputClosed", "code_of", "is_done"]


class Exit(IntEnum):
    """Exit codes.

    Example:
        >>> from resonate_core.cli.exits import Exit
        >>> int(Exit.NOT_FOUND)
        4
    """

    DONE = 0
    FAILED = 1
    USAGE = 2
    UNREACHABLE = 3
    NOT_FOUND = 4
    CONFLICT = 5
    REFUSED = 6
    NOT_ALLOWED = 7


MEANINGS: dict[Exit, str] = {
    Exit.DONE: "done",
    Exit.FAILED: "failed: damage was found, what was waited for was not resolved, or the other side broke",
    Exit.USAGE: "the command line or the configuration is wrong; for check: it cannot be read as a store",
    Exit.UNREACHABLE: (
        "the file or database cannot be opened, the server cannot be reached or does not answer in the protocol, "
        "or either is too busy (429, 503)"
    ),
    Exit.NOT_FOUND: "no such promise, task, schedule, job or queue (404)",
    Exit.CONFLICT: "another state or version than asked for (409); for copy: the target is not empty, or a submitted request waits",
    Exit.REFUSED: "refused as it was asked (400, 413, 422)",
    Exit.NOT_ALLOWED: "no token, a bad one, or one that may not (401, 403)",
}

_CODES = {
    400: Exit.REFUSED,
    401: Exit.NOT_ALLOWED,
    403: Exit.NOT_ALLOWED,
    404: Exit.NOT_FOUND,
    409: Exit.CONFLICT,
    413: Exit.REFUSED,
    422: Exit.REFUSED,
    429: Exit.UNREACHABLE,
    503: Exit.UNREACHABLE,
}


def is_done(status: int) -> bool:
    """Return whether a request with this status was carried out. A suspend with 300 has nothing to wait for."""
    return status in (200, 300)


def code_of(status: int) -> Exit:
    """The exit code for a status of the protocol.

    Example:
        >>> from resonate_core.cli.exits import code_of
        >>> code_of(409).name
        'CONFLICT'
    """
    return Exit.DONE if is_done(status) else _CODES.get(status, Exit.FAILED)


class CommandFailed(Exception):
    """Ends a command with a message on standard error, without a traceback.

    Attributes:
        message: The problem, with the value and the rule.
        code: The exit code.
        status: The protocol's status, where the protocol refused.
    """

    def __init__(self, message: str, code: Exit, status: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.status = status


class OutputClosed(Exception):
    """The reader of standard output has ended, which is no fault. It is no OSError, because typer exits with 1 for those."""
