"""Waits in an event loop for what its tasks, threads and other processes do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["until"]

PATIENCE = 60.0


async def until(holds: Callable[[], object]) -> None:
    """Returns once a condition holds; fails after a minute."""
    loop = asyncio.get_running_loop()
    end = loop.time() + PATIENCE
    while not holds():
        assert loop.time() < end, "it has not come to hold"
        await asyncio.sleep(0.005)
