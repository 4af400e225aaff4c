"""Threads beside an event loop, one function after the other each."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

__all__ = ["Line"]

#: Is given what a function returned, or what it raised.
Done = Callable[[Any, "Exception | None"], None]


class Line:
    """One thread that calls functions in the order in which they come, and tells the loop.

    An executor of the standard library does the same with two futures and a lock more for each call: for a request
    that is answered in microseconds they were most of the time.
    """

    def __init__(self, name: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._todo: SimpleQueue[tuple[Callable[[], Any], Done] | None] = SimpleQueue()
        # Where no lifespan ends it, it ends with the process.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, function: Callable[[], Any], done: Done) -> None:
        """Calls `function` in the thread, then `done` on the loop."""
        self._todo.put((function, done))

    def call(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Call `function` in the thread; return its result as a future."""
        future: asyncio.Future[Any] = self._loop.create_future()

        def done(result: Any, error: Exception | None) -> None:
            if future.done():  # nobody waits for it any more
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.submit(function, done)
        return future

    def _work(self) -> None:
        while (todo := self._todo.get()) is not None:
            function, done = todo
            result: Any = None
            error: Exception | None = None
            try:
                result = function()
            except Exception as raised:
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody is left to be told
                self._loop.call_soon_threadsafe(done, result, error)
            del todo, function, done, result, error  # nothing is kept alive while the next is waited for

    def close(self) -> None:
        """Waits until everything that was submitted has been done. Not to be called on the loop's thread while it serves."""
        self._todo.put(None)
        self._thread.join()
