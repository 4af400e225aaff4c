"""How a page waits for a result without blocking the event loop."""

from __future__ import annotations

import asyncio

import resonate_core as rc

__all__ = ["settled"]

_PAUSE = 0.05  # seconds


async def settled(store: rc.Store, id: str, timeout: float) -> rc.Promise | None:
    """Wait until a promise is settled, for so many seconds; None: it is not settled by then, or not even there."""
    loop = asyncio.get_running_loop()
    until = loop.time() + timeout
    while True:
        try:
            return await store.aio.wait(id, timeout=max(0.0, until - loop.time()))
        except TimeoutError:
            return None
        except rc.NotFound:  # its order is committed, and the store has not run its request yet
            if loop.time() >= until:
                return None
            await asyncio.sleep(min(_PAUSE, until - loop.time()))
