"""A thread beside the event loop that calls functions one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

__all__ = ["Call", "SerialExecutor"]

#: Runs a function of the store off the loop's thread.
Call = Callable[[Callable[[], Any]], "asyncio.Future[Any]"]

#: Takes the result of a function, or what it raised.
Done = Callable[[Any, "BaseException | None"], None]


class SerialExecutor:
    """One thread that calls functions in the order of their submission, and passes each result to the event loop.

    `concurrent.futures` uses two futures and one more lock per call, and its threads take turns. For a request that is answered in
    microseconds, these would take most of the time.

    Args:
        name: Of the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop = asyncio.get_running_loop()
        self._submitted: SimpleQueue[tuple[Callable[[], Any], Done] | None] = SimpleQueue()
        # The loop of a simulation runs each function as a step of its own: there are no threads.
        self._call_apart: Callable[..., object] | None = getattr(self._loop, "call_apart", None)
        self._thread: threading.Thread | None = None
        if self._call_apart is None:
            # A daemon: if no lifespan closes it, it ends with the process.
            self._thread = threading.Thread(target=self._run, name=name, daemon=True)
            self._thread.start()

    def submit(self, function: Callable[[], Any], done: Done) -> None:
        """Call `function` in the thread, then `done` on the loop."""
        self._submitted.put((function, done))
        if self._call_apart is not None:
            self._call_apart(self._name, self._run_next)

    def call(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Call `function` in the thread; return its result as a future."""
        future: asyncio.Future[Any] = self._loop.create_future()

        def done(result: Any, error: BaseException | None) -> None:
            if future.done():  # its caller was cancelled
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.submit(function, done)
        return future

    def _run_next(self) -> None:
        submitted = self._submitted.get()
        if submitted is not None:
            function, done = submitted
            done(*_outcome(function))

    def _run(self) -> None:
        while (submitted := self._submitted.get()) is not None:
            function, done = submitted
            result, error = _outcome(function)
            with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits for the result
                self._loop.call_soon_threadsafe(done, result, error)
            del submitted, function, done, result, error  # the thread keeps nothing alive while it waits for the next call

    def close(self, wait: bool = True) -> None:
        """Run what was submitted, and end the thread. Submit nothing after this.

        Args:
            wait: Whether to return once the thread has ended. Do not wait on the loop's thread while the loop serves.
        """
        if self._thread is None:
            while not self._submitted.empty():
                self._run_next()
            return
        self._submitted.put(None)
        if wait:
            self._thread.join()


def _outcome(function: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return function(), None
    except BaseException as error:  # also SystemExit: without the thread all later callers would wait for ever
        return None, error
