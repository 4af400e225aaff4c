"""Handlers that begin in the event loop while a thread makes the requests of their worker."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue

from ..calls.serial_executor import SerialExecutor

__all__ = ["own_thread", "run_beside"]

#: The longest that the event loop waits until a thread has made its requests (s). As long as a thread waits for the GIL by default, if
#: another one does not give it away.
_LONGEST_HANDOVER = 0.005


@contextlib.contextmanager
def own_thread(name: str, wanted: bool) -> Iterator[SerialExecutor | None]:
    """Give the block a thread, or None if it is not wanted. The thread ends after the block, as soon as its function returns."""
    thread = SerialExecutor(name) if wanted else None
    try:
        yield thread
    finally:
        if thread is not None:
            thread.close(wait=False)


async def run_beside(thread: SerialExecutor, run: Callable[[Callable[[], None]], None], begin: Callable[[], None] | None) -> None:
    """Call a function in a thread, and wait for its end.

    Args:
        thread: It runs nothing else meanwhile.
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

    ended = thread.call(call)
    if begin is not None:
        with contextlib.suppress(Empty):
            asked.get(timeout=_LONGEST_HANDOVER)
        begin()
    await ended
