"""The streams of events of a server, and the one on which it tells a worker that a job can be claimed (WIRE 3)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import threading
from collections.abc import Sequence
from urllib.parse import urlencode

from .._foreign_text import excerpt
from ..base.stopwatch import doubled, seconds
from ..errors import NoEnvelope
from ..http.server_client import AsyncServerClient, ServerAddress, is_stream

__all__ = ["EventStream", "UrlWatch"]

_log = logging.getLogger("resonate_core.worker")

#: The pause before a lost stream is opened again (s): the first, doubled up to the longest, each shortened by up to a half by chance,
#: so that the workers of a server that was restarted do not come all at once.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 30.0
#: A stream that was open for so long (s) ended in order: its server stops, or its lifetime is over.
_LASTING = 5.0
#: Statuses of a server that has no such stream or refuses it: the next attempt is made after the longest pause.
_NO_STREAM = (400, 401, 403, 404, 405, 410, 414, 431, 501)


class EventStream:
    """Reads a stream of events of a server in a thread of its own, and writes a byte to a descriptor when there is something new.

    It never raises: it opens its stream again when that is lost, and does so seldom if the server has none.

    Args:
        address: That of the server, with the token, the time limit and the most bytes of a line.
        path: That of the stream, below the server's address.
        descriptor: A pipe or a socket that does not block.
        without: Two texts for the log if there is no stream: the missing part, and its consequence.
        level: Of that line.
    """

    def __init__(
        self, address: ServerAddress, path: str, descriptor: int, without: tuple[str, str], level: int = logging.INFO
    ) -> None:
        self._address = address.url, address.token, address.timeout, address.answer_bytes
        self._path = path
        self._without = without
        self._level = level
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._written = False  # since it was armed
        self._closed = False
        self._said = ""  # the last problem that was logged
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        # A thread of its own: the caller may block, or have no event loop.
        self._thread = threading.Thread(target=self._work, name="resonate-job-stream", daemon=True)
        self._thread.start()

    def _opened(self) -> None:
        """The stream is open."""

    def _received(self, data: str) -> None:
        """An event has come."""
        raise NotImplementedError

    def rearm(self, until: int | None = None) -> None:
        """Write once more. A server announces all that is new, whenever the caller polls next."""
        self._written = False

    def close(self) -> None:
        """End the stream. Nothing is written to the descriptor afterwards, and it stays open."""
        with self._lock:
            self._closed = True
            if self._loop is not None and self._task is not None:
                with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended
                    self._loop.call_soon_threadsafe(self._task.cancel)

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def _wake(self) -> None:
        with self._lock:
            if self._closed or self._written:
                return
            self._written = True
            with contextlib.suppress(OSError):  # full: its reader is awake; or the reader has closed its end
                os.write(self._descriptor, b"!")

    # -- its thread -----------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(self._main())

    async def _main(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        server = AsyncServerClient(*self._address)
        failures = 0
        try:
            while True:
                began = seconds()
                status, problem = await self._read(server)
                failures = 0 if seconds() - began >= _LASTING else failures + 1
                pause = _LONGEST_PAUSE if status in _NO_STREAM else doubled(_FIRST_PAUSE, max(0, failures - 1), _LONGEST_PAUSE)
                if problem and problem != self._said:
                    _log.log(self._level, "%s: %s: %s; %s", self._without[0], server.name, problem, self._without[1])
                self._said = problem
                await asyncio.sleep(pause * random.uniform(0.5, 1))
        finally:
            await server.close()

    async def _read(self, server: AsyncServerClient) -> tuple[int | None, str]:
        """Read one stream to its end; return its status, None without an answer, and why there was none; "" if there was one."""
        import httpx

        try:
            async with server.stream(self._path) as (response, lines):
                if not is_stream(response):
                    return response.status_code, f"it answered {response.status_code}"
                self._opened()
                async for line in lines:
                    if line.startswith("data:"):
                        self._received(line.removeprefix("data:"))
        except (httpx.HTTPError, NoEnvelope) as error:
            return None, excerpt(str(error)) or type(error).__name__
        return 200, ""


class UrlWatch(EventStream):
    """Writes a byte to a descriptor when a server says that a job can be claimed: a `Watch` of a server.

    It is a hint. A worker that polls is right without it.

    Args:
        address: As of `EventStream`.
        queues: The names of the queues.
        descriptor: As of `EventStream`.
    """

    def __init__(self, address: ServerAddress, queues: Sequence[str], descriptor: int) -> None:
        path = "jobs/claimable?" + urlencode([("queue", queue) for queue in queues])
        super().__init__(address, path, descriptor, ("no stream of jobs", "meanwhile the server is polled"))

    def _opened(self) -> None:
        self._wake()  # jobs may have become claimable while there was no stream

    def _received(self, data: str) -> None:
        self._wake()
