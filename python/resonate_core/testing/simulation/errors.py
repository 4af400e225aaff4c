"""The failures of a simulated run."""

from __future__ import annotations

import linecache
import sys
from types import FrameType
from typing import TYPE_CHECKING

from ..failures import NotDeterministic

if TYPE_CHECKING:
    from .outcome import Run

__all__ = ["HistoryBroken", "NotDeterministic", "NotSimulated", "PropertyBroken", "Stuck", "caller_line"]


def caller_line() -> str:
    """The nearest line of the program, as ``file:line: text``: of code that is neither this package's nor Python's own."""
    frame: FrameType | None = sys._getframe(1)
    first = None
    while frame is not None:
        name = frame.f_code.co_filename
        if __package__.replace(".", "/") not in name.replace("\\", "/") and not name.startswith("<frozen"):
            first = first or frame
            if "site-packages" not in name and not name.startswith(sys.base_prefix) and not name.startswith(sys.prefix):
                return _line(frame)
        frame = frame.f_back
    return _line(first) if first is not None else "unknown line"


def _line(frame: FrameType) -> str:
    text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}: {text}"


class NotSimulated(RuntimeError):
    """Code in a simulation used something that is not deterministic and has no simulated version. The message has its line.

    Example:
        >>> from resonate_core.testing.simulation import NotSimulated
        >>> print(NotSimulated("a socket"))
        a socket cannot be simulated; used at <doctest ...
    """

    def __init__(self, what: str, instead: str = "") -> None:
        hint = f"; {instead}" if instead else ""
        super().__init__(f"{what} cannot be simulated{hint}; used at {caller_line()}")


class _RunFailed(AssertionError):
    """A failure that has its run, as every error that leaves a run has."""

    __resonate_run__: Run


class PropertyBroken(_RunFailed):
    """A property of `World.always` or `World.eventually` does not hold."""


class Stuck(_RunFailed):
    """The scenario waits, and nothing will ever happen again."""


class HistoryBroken(_RunFailed):
    """No order of the requests explains their answers."""
