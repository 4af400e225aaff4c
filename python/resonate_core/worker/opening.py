"""The client of a worker, which is opened when it is first needed: at once, or in a thread beside an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, wait
from contextvars import copy_context
from threading import Lock, Thread

from .job_source import JobSource

__all__ = ["ClientOpening"]


class ClientOpening:
    """The client of a worker, which one thread opens.

    Args:
        connect: Opens it.
        threads: Makes the executor of an opening beside a loop; not the program's, whose threads may all be busy.
    """

    def __init__(self, connect: Callable[[], JobSource], threads: Callable[[], Executor]) -> None:
        self._connect = connect
        self._threads = threads
        self._opened: JobSource | None = None
        self._beside: Future[None] | None = None  # the opening in a thread
        self._lock = Lock()
        self._asked = False  # whether the client was used, other than opened for a run

    @property
    def is_open(self) -> bool:
        """Whether `client` takes no time."""
        return self._opened is not None

    def client(self) -> JobSource:
        """Return the client; the caller waits while it is opened."""
        with self._lock:
            self._asked = True
            return self._made()

    def _made(self) -> JobSource:
        if self._opened is None:
            self._opened = self._connect()
        return self._opened

    def _make(self) -> None:
        with self._lock:
            self._made()

    def _begin(self) -> Future[None]:
        """Open it in a thread. All calls share the attempt; the cancellation of one leaves it to the others."""
        if self._beside is None or self._beside.done():
            threads = self._threads()
            self._beside = threads.submit(copy_context().run, self._make)
            threads.shutdown(wait=False)
        return self._beside

    async def open_apart(self) -> None:
        """Open it in a thread, so that the event loop does not wait."""
        self._asked = True
        await _end_of(self._begin())

    async def open_to_run(self) -> None:
        """As `open_apart`; if the caller is cancelled meanwhile, it is closed once it is open, unless anything else has asked for it."""
        beside = self._begin()
        try:
            await _end_of(beside)
        except asyncio.CancelledError:
            beside.add_done_callback(lambda done: Thread(target=self._close_unwanted, name="resonate-close").start())
            raise

    def _close_unwanted(self) -> None:
        with self._lock:
            if not self._asked:
                self._close()

    def _close(self) -> None:
        opened, self._opened, self._asked = self._opened, None, False
        if opened is not None:
            opened.close()

    def close(self) -> None:
        """Close it; the caller waits for an opening that has begun, which would open it after this."""
        beside, self._beside = self._beside, None
        if beside is not None and not beside.cancel():
            wait([beside])
        with self._lock:
            self._close()

    def begin_anew(self) -> None:
        """In a forked child: the thread that opens is the parent's."""
        self._beside, self._lock = None, Lock()


async def _end_of(opening: Future[None]) -> None:
    """Wait for an opening, which continues if the caller is cancelled."""
    waiting = asyncio.wrap_future(opening)
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())  # the caller may not be there any more
    await asyncio.wait({waiting})
    waiting.result()
