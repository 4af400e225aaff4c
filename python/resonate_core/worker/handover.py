"""Handlers that begin in the event loop while a thread makes the requests of their worker."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import Executor
from queue import Empty, SimpleQueue

__all__ = ["run_beside"]

#: The longest that the event loop waits until a thread has made its requests (s). As long as a thread waits for the GIL by default, if
#: another one does not give it away.
_LONGEST_HANDOVER = 0.005


async def run_beside(
    loop: asyncio.AbstractEventLoop, pool: Executor, run: Callable[[Callable[[], None]], None], begin: Callable[[], None] | None
) -> None:
    """Call a function in a thread, and wait for its end.

    Args:
        loop: The running loop.
        pool: Has the thread.
        run: The function. It calls its argument when its requests are made, before the store runs them.
        begin: Begins handlers, once the requests are made: they would keep the GIL from the thread until they have run, and then the
            event loop and the store would wait for each other by turns. None: there are none.
    """
    asked: SimpleQueue[None] = SimpleQueue()

    def call() -> None:
        try:
            run(lambda: asked.put(None))
        finally:
            asked.put(None)

    ended = loop.run_in_executor(pool, call)
    if begin is not None:
        with contextlib.suppress(Empty):
            asked.get(timeout=_LONGEST_HANDOVER)
        begin()
    await ended
