"""How a page waits for a result without blocking the event loop."""

from __future__ import annotations

import asyncio

import resonate_core as rc

__all__ = ["settled"]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.02, 0.5  # seconds


async def settled(store: rc.Store, id: str, timeout: float) -> rc.Promise | None:
    """Wait until a promise is settled, for so many seconds; None: it is not settled by then, or not even there."""
    loop = asyncio.get_running_loop()
    until, pause = loop.time() + timeout, _FIRST_PAUSE
    while True:
        try:
            promise = await asyncio.to_thread(store.promises.get, id)
        except rc.NotFound:  # a submitted request that has not run yet
            promise = None
        if promise is not None and promise.state != "pending":
            return promise
        if loop.time() >= until:
            return None
        await asyncio.sleep(min(pause, max(0.0, until - loop.time())))
        pause = min(2 * pause, _LONGEST_PAUSE)
