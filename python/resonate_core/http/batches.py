"""Requests of asyncio tasks that are sent at the same time, collected so that they share HTTP requests."""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ResonateError
from .server_client import AsyncServerClient, NoBatch, Reply, Unreachable

__all__ = ["HttpBatches"]

Request = dict[str, Any]

#: The most HTTP requests under way to a server that takes batches; later calls share the next one. With a single request under way,
#: one slow reply would delay all other calls; with many, batches would be small.
_MOST_AT_ONCE = 4
#: The most bytes of a batch, unless one request has more. A server accepts 2 MiB, unless it is configured.
_MOST_BYTES = 524_288


@dataclass(slots=True, eq=False)
class _Waiting:
    """A request, and who waits for its reply.

    Attributes:
        request: The envelope.
        future: Of its reply.
        sent: Whether it is in an HTTP request that is under way or has ended.
    """

    request: Request
    future: asyncio.Future[Request]
    sent: bool = False


class HttpBatches:
    """Sends the requests of one loop to one server.

    Requests of one iteration of the loop, and those that wait while several HTTP requests are under way, share an HTTP request, if
    the server has said that it takes batches. Each has its own reply. A request that may take long is sent alone, so that no other
    one waits for it. The wait for a place counts: each reply is there within the timeout of the server's address, from `send` on.

    Args:
        server: The connections.
    """

    def __init__(self, server: AsyncServerClient) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Waiting] = deque()
        self._under_way: set[asyncio.Task[None]] = set()
        self._scheduled = False

    async def send(self, request: Request) -> Request:
        """Send a request; return its reply.

        Raises:
            Unreachable: There was no answer.
            ResonateError: See `AsyncServerClient.post`.
        """
        if _may_take_long(request):
            return await self._server.post(request)
        waiting = _Waiting(request, self._loop.create_future())
        self._waiting.append(waiting)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._begin)  # once every task of this iteration has had its turn
        limit = self._loop.call_later(self._server.timeout, self._end, waiting)
        try:
            return await waiting.future
        finally:
            limit.cancel()

    def _end(self, waiting: _Waiting) -> None:
        """End a wait whose time is over. A request that is under way keeps its place until its own end."""
        import httpx

        over = httpx.ReadTimeout("") if waiting.sent else httpx.PoolTimeout("")  # the latter has not run
        _settle(waiting.future, self._server.failed(over))

    async def close(self) -> None:
        """Fail what is under way, and what waits."""
        for waiting in self._waiting:
            _settle(waiting.future, Unreachable(f"the client of {self._server.name} was closed"))
        self._waiting.clear()
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _begin(self) -> None:
        self._scheduled = False
        while self._waiting and (self._server.batch == 1 or len(self._under_way) < _MOST_AT_ONCE):
            part = self._take()
            if part:
                task = self._loop.create_task(self._send(part))
                self._under_way.add(task)
                task.add_done_callback(self._sent)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        self._begin()

    def _take(self) -> list[_Waiting]:
        part: list[_Waiting] = []
        size = 0
        while self._waiting and len(part) < (self._server.batch or 1):
            first = self._waiting[0]
            if first.future.done():  # its caller was cancelled, or its time is over
                self._waiting.popleft()
                continue
            size += _size(first.request)
            if part and size > _MOST_BYTES:
                break
            first.sent = True
            part.append(self._waiting.popleft())
        return part

    async def _send(self, part: list[_Waiting]) -> None:
        replies: Sequence[Request | Exception]
        try:
            replies = await self._replies([each.request for each in part])
        except asyncio.CancelledError:
            replies = [Unreachable(f"the client of {self._server.name} was closed") for _ in part]
        except Exception as error:  # a defect: those who wait get it
            replies = [error for _ in part]
        for each, reply in zip(part, replies, strict=True):
            _settle(each.future, reply)

    async def _replies(self, requests: list[Request]) -> list[Reply]:
        if len(requests) > 1:
            try:
                return await self._server.post_batch(requests)
            except NoBatch:  # another server than before answers, or the batch is too large for a proxy
                return await asyncio.gather(*map(self._reply, requests))
            except ResonateError as error:
                return [_copy(error) for _ in requests]
        return [await self._reply(requests[0])]

    async def _reply(self, request: Request) -> Reply:
        try:
            return await self._server.post(request)
        except ResonateError as error:
            return error


def _copy(error: ResonateError) -> ResonateError:
    """Copy an error for each caller: an exception that is raised again gets the stack of the caller that raises it."""
    made = copy.copy(error)
    vars(made).update(vars(error))
    return made


def _settle(future: asyncio.Future[Request], reply: Request | Exception) -> None:
    if future.done():  # its caller was cancelled, or its time is over
        return
    if isinstance(reply, Exception):
        future.set_exception(reply)
    else:
        future.set_result(reply)


def _may_take_long(request: Request) -> bool:
    """Whether the time of a request grows with the store."""
    noun, _, verb = request["kind"].partition(".")
    return noun == "debug" or verb in ("search", "stats", "list")


def _size(request: Request) -> int:
    """About the bytes of a request: payloads are texts in its data."""
    return len(str(request["data"]))
