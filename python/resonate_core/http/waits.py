"""Waiting for a promise of a server: a poll stream brings its settlement (WIRE 3)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
import uuid
from typing import Any

from .._core import Promise, Promises as CorePromises
from ..base.standstills import awaiting
from ..base.stopwatch import doubled, seconds
from ..calls.made import call
from ..calls.outcome import Seconds, still_pending, timeout_seconds
from ..calls.values import text
from ..errors import NoEnvelope, Unprocessable
from .answers import parsed, used
from .remote import AsyncRemote, Remote
from .server_client import is_stream

__all__ = ["AsyncWaits", "wait"]

#: The group of the streams.
_GROUP = "waits"
#: Seconds between two requests about a promise while its stream brings nothing: a stream may have lost a message.
_ASK_AGAIN = 10.0
#: Seconds: the first and the longest pause between two requests about a promise without a stream, doubled each time.
_FIRST, _LONGEST = 0.02, 1.0
_INFINITE = float("inf")


class _Place:
    """A stream and its address."""

    def __init__(self) -> None:
        stream = uuid.uuid4().hex
        self.address = f"poll://uni@{_GROUP}/{stream}"
        self.path = f"poll/{_GROUP}/{stream}"


def _settled(server: str, line: str) -> Promise | None:
    """The promise of an unblock in a line of a stream.

    Raises:
        NoEnvelope: The line is none of the protocol.
    """
    if not line.startswith("data: "):
        return None
    return used(server, "unblock", _unblocked, line[6:])


def _unblocked(text: str) -> Promise | None:
    message = parsed(text)
    if message["kind"] != "unblock":
        return None
    promise = Promise.from_dict(message["data"]["promise"])
    if promise.state == "pending":
        raise ValueError("state must be that of a settled promise, got pending")
    return promise


class _Limit:
    """The time that is left of a wait."""

    def __init__(self, id: str, timeout: Seconds | None) -> None:
        self._id = text("id", id)
        self._limit = timeout_seconds(timeout)
        self._until = _INFINITE if self._limit is None else seconds() + self._limit

    def left(self) -> float:
        """Seconds, more than 0.

        Raises:
            TimeoutError: The time is over.
        """
        left = self._until - seconds()
        if left <= 0 and self._limit is not None:
            raise still_pending(self._id, self._limit)
        return left


def wait(remote: Remote, id: str, timeout: Seconds | None) -> Promise:
    """Block the thread until a promise is settled; see `Client.wait`."""
    with awaiting(id):
        return _wait(remote, id, timeout)


def _wait(remote: Remote, id: str, timeout: Seconds | None) -> Promise:
    limit = _Limit(id, timeout)
    place = _Place()
    failures = 0
    while True:
        promise = remote.run(call(CorePromises.get, id))
        if promise.state != "pending":
            return promise
        left = limit.left()
        heard, opened = _listen(remote, place, id, min(left, _ASK_AGAIN))
        if heard is not None:
            return heard
        failures = 0 if opened else failures + 1
        if not opened:
            time.sleep(min(doubled(_FIRST, failures - 1, _LONGEST), limit.left()))


def _listen(remote: Remote, place: _Place, id: str, length: float) -> tuple[Promise | None, bool]:
    """Open a stream, register, and read it for some seconds.

    Returns:
        The promise if it was settled, and whether a stream could be opened and its messages are sent to it.
    """
    import httpx

    until = seconds() + length
    try:
        with remote.server.stream(place.path, length) as (response, lines):
            if not is_stream(response):
                return None, False
            promise = remote.run(call(CorePromises.register_listener, id, place.address))
            if promise.state != "pending":
                return promise, True
            for line in lines:
                heard = _settled(remote.server.name, line)
                if heard is not None and heard.id == id:
                    return heard, True
                if seconds() >= until:
                    break
    except httpx.ReadTimeout:
        return None, True
    except (httpx.HTTPError, Unprocessable):  # no stream, or, under strict rules, a promise without listeners
        return None, False
    return None, True


class AsyncWaits:
    """The waits of one loop. They share a stream."""

    def __init__(self, remote: AsyncRemote) -> None:
        self._remote = remote
        self._place = _Place()
        self._waiting: dict[str, set[asyncio.Future[Promise]]] = {}
        self._open = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._loop, self._process = asyncio.get_running_loop(), os.getpid()

    @property
    def of_running_loop(self) -> bool:
        """Whether it belongs to the running loop, in this process."""
        return self._loop is asyncio.get_running_loop() and self._process == os.getpid()

    async def wait(self, id: str, timeout: Seconds | None) -> Promise:
        """Wait until a promise is settled; see `AsyncClient.wait`."""
        with awaiting(id):
            return await self._wait(id, timeout)

    async def _wait(self, id: str, timeout: Seconds | None) -> Promise:
        limit = _Limit(id, timeout)
        promise = await self._remote.run(call(CorePromises.get, id))
        if promise.state != "pending":
            return promise
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Promise] = loop.create_future()
        self._waiting.setdefault(id, set()).add(future)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._read())
        pause = _FIRST
        try:
            while True:
                asked = await self._ask(id)
                if asked is not None and asked.state != "pending":
                    return asked
                pause = _ASK_AGAIN if asked is not None else min(pause * 2, _LONGEST)
                # A stream that opens anew may have lost messages of the one before.
                anew = None if asked is not None else loop.create_task(self._open.wait())
                watched: list[Any] = [future] if anew is None else [future, anew]
                try:
                    await asyncio.wait(watched, timeout=min(pause, limit.left()), return_when=asyncio.FIRST_COMPLETED)
                finally:
                    if anew is not None:
                        anew.cancel()
                if future.done():
                    return future.result()
                limit.left()
        finally:
            waiters = self._waiting.get(id, set())
            waiters.discard(future)
            if not waiters:
                self._waiting.pop(id, None)
            if not self._waiting:
                await self.close()

    async def _ask(self, id: str) -> Promise | None:
        """Register with the stream, if it is open; None: there is no stream, and the promise is pending."""
        if self._open.is_set():
            with contextlib.suppress(Unprocessable):
                return await self._remote.run(call(CorePromises.register_listener, id, self._place.address))
        promise = await self._remote.run(call(CorePromises.get, id))
        return promise if promise.state != "pending" else None

    async def _read(self) -> None:
        """Read the stream while a task waits, and open it again when it ends."""
        import httpx

        failures = 0
        while self._waiting:
            try:
                server = self._remote.server
                async with server.stream(self._place.path) as (response, lines):
                    if is_stream(response):
                        failures = 0
                        self._open.set()
                        async for line in lines:
                            self._heard(_settled(server.name, line))
            except httpx.HTTPError:
                pass
            except NoEnvelope as error:
                self._failed(error)
            self._open.clear()
            failures += 1
            await asyncio.sleep(doubled(_FIRST, failures - 1, _LONGEST))

    def _heard(self, promise: Promise | None) -> None:
        if promise is None:
            return
        for future in self._waiting.get(promise.id, ()):
            if not future.done():
                future.set_result(promise)

    def _failed(self, error: NoEnvelope) -> None:
        """Fail the waits: their server does not speak the protocol."""
        for futures in self._waiting.values():
            for future in futures:
                if not future.done():
                    future.set_exception(error)

    async def close(self) -> None:
        """End the stream."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            self._open.clear()
            with contextlib.suppress(asyncio.CancelledError):
                await task
