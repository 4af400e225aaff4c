"""Seconds that pass for this process: how long a socket, a stream or a pause has lasted.

What happens in a store has its instants from the store's clock; nothing of it comes from here.
"""

from __future__ import annotations

from time import perf_counter as seconds

__all__ = ["seconds"]
