"""A deadline for a whole request of a blocking client: the time limits of httpx are for each read and write alone.

Without it, a server that sends one byte now and then, or one interim response (1xx) after the other, keeps its client for ever.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from ..base.stopwatch import seconds

__all__ = ["left", "within"]


class _OfThread(threading.local):
    """The deadline of the request that the thread sends, by the stopwatch; None: there is none."""

    until: float | None = None


_of_thread = _OfThread()


@contextlib.contextmanager
def within(limit: float | None) -> Iterator[None]:
    """Let the requests of the block, by this thread, end with `httpx.ReadTimeout` or `httpx.WriteTimeout` after so many seconds.

    Args:
        limit: Seconds from now; None: no limit but those of httpx. A block within a block cannot end later than the outer one.

    Example:
        >>> from resonate_core.http.client import client
        >>> from resonate_core.http.deadline import within
        >>> with within(5), client() as made:
        ...     made.is_closed
        False
    """
    before = _of_thread.until
    if limit is not None:
        until = seconds() + limit
        _of_thread.until = until if before is None else min(before, until)
    try:
        yield
    finally:
        _of_thread.until = before


def left(timeout: float | None) -> float | None:
    """The seconds for one read or write: those of its own limit, or until the deadline; not more than 0 after it."""
    if _of_thread.until is None:
        return timeout
    until = _of_thread.until - seconds()
    return until if timeout is None else min(timeout, until)
