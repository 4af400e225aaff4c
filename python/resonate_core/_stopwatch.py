"""Seconds that pass for this process: how long a socket, a stream or a pause has lasted.

What happens in a store has its instants from the store's clock; nothing of it comes from here.
"""

from __future__ import annotations

from time import perf_counter as seconds

__all__ = ["doubled", "seconds"]


def doubled(first: float, times: int, longest: float) -> float:
    """A pause that was doubled so many times, up to the longest."""
    return min(longest, first * 2.0 ** min(times, 30))
