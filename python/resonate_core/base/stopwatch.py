"""Elapsed time in this process: the age of a socket, a stream or a pause.

What happens in a store has its instants from the store's clock; nothing of it comes from here.
"""

from __future__ import annotations

import time

__all__ = ["doubled", "processor_seconds", "seconds"]


def seconds() -> float:
    """Return seconds since an arbitrary instant. A simulation replaces `time.perf_counter`."""
    return time.perf_counter()


def processor_seconds() -> float:
    """Return the seconds for which a processor has run this thread."""
    return time.thread_time()


def doubled(first: float, times: int, longest: float) -> float:
    """Return a pause that was doubled this many times, up to the longest."""
    return min(longest, first * 2.0 ** min(times, 30))
