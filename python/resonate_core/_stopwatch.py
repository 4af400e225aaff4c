"""Seconds that pass for this process: how long a socket, a stream or a pause has lasted.

What happens in a store has its instants from the store's clock; nothing of it comes from here.
"""

from __future__ import annotations

import time

__all__ = ["doubled", "seconds"]


def seconds() -> float:
    """Seconds since an instant of no meaning. A simulation replaces `time.perf_counter`."""
    return time.perf_counter()


def doubled(first: float, times: int, longest: float) -> float:
    """A pause that was doubled so many times, up to the longest."""
    return min(longest, first * 2.0 ** min(times, 30))
