"""Calls over HTTP. A call is repeated if that is safe."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .._core import Job, SystemClock
from .._foreign_text import MOST_OF_A_REFUSAL, excerpt
from ..base.per_process import PerProcess
from ..calls.call import Call, Together, envelope
from ..calls.enqueue_parts import EnqueueParts, jobs_of
from ..calls.faces import AsyncRunner, Runner
from ..calls.retries import Retries
from ..errors import ResonateError, Unreachable, Unsupported
from .answers import result_of, used
from .batches import HttpBatches
from .bodies import MOST_BYTES
from .server_client import BUSY, AsyncServerClient, NoBatch, Reply, ServerAddress, ServerClient

__all__ = ["AsyncRemote", "Remote"]

T = TypeVar("T")
_MANY_REQUESTS = "several requests in one transaction are for a store in this process: the protocol has no such request"


class _Requests:
    """Makes requests and reads replies.

    Args:
        address: The server.
        retry_for: Seconds for which a call is repeated.
    """

    def __init__(self, address: ServerAddress, retry_for: float) -> None:
        self.address = address
        self.retry_for = retry_for
        self._numbers = itertools.count(1)
        self._clock = SystemClock()

    def now(self) -> int:
        """This machine's time: a server has no request for its own."""
        return self._clock.now

    def request(self, call: Call[Any]) -> dict[str, Any]:
        call.settle_deadline(self.now)
        return envelope(call.kind, call.data, f"client-{next(self._numbers)}", token=self.address.token)

    def result(self, call: Call[T], reply: dict[str, Any]) -> T:
        """The result of a reply.

        Raises:
            Unreachable: The server was busy.
            NoEnvelope: The data are not those of the protocol.
            ResonateError: It has refused the request.
        """
        status, data = reply["head"]["status"], reply["data"]
        if status in BUSY:
            busy = Unreachable(f"{self.address.name} answered {status}: {excerpt(data, MOST_OF_A_REFUSAL)}", status)
            busy.executed, busy.retry_after = status != 429, reply["head"].get("retryAfter")
            raise busy
        if status >= 400:
            raise call.refused(status, excerpt(data, MOST_OF_A_REFUSAL))
        request = {"kind": call.kind, "data": call.data}
        return used(self.address.name, call.kind, lambda data: result_of(request, call.read, data), data)

    def gathered(self, calls: Together[T], answers: list[dict[str, Any]]) -> T:
        """The result of several answers.

        Raises:
            NoEnvelope: See `result`.
        """
        return used(self.address.name, "job.enqueue_many", calls.gather, answers)

    def enqueued(self, answers: Sequence[dict[str, Any]]) -> list[Job]:
        """The jobs of several answers.

        Raises:
            NoEnvelope: See `result`.
        """
        return used(self.address.name, "job.enqueue_many", jobs_of, answers)


class Remote(Runner):
    """Runs calls on a server.

    Args:
        url: Its address.
        token: A bearer token.
        timeout: Seconds for which one answer is waited for.
        retry_for: Seconds for which a call is repeated.
        answer_bytes: The most bytes of one answer.
    """

    def __init__(self, url: str, token: str | None, timeout: float, retry_for: float, answer_bytes: int = MOST_BYTES) -> None:
        self.server = ServerClient(url, token, timeout, answer_bytes)
        self._requests = _Requests(self.server, retry_for)

    def __repr__(self) -> str:
        return repr(self.server.name)

    def run(self, call: Call[T]) -> T:
        """Send a call, again while the server is busy or away and the call can run twice, and return its result."""
        request = self._requests.request(call)
        retries = Retries(call.again, self._requests.retry_for)
        while True:
            try:
                return self._requests.result(call, self.server.post(request))
            except Unreachable as error:
                time.sleep(retries.pause_after(error))

    def exchange(self, requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Send envelopes once, as they are; return their replies, which may be refusals. They share HTTP requests if the server lets them.

        Raises:
            ResonateError: See `ServerClient.post`.
        """
        replies: list[dict[str, Any]] = []
        while len(replies) < len(requests):
            part = requests[len(replies) :][: self.server.batch or 1]
            found: Sequence[Reply]
            try:
                found = self.server.post_batch(part) if len(part) > 1 else [self.server.post(part[0])]
            except NoBatch:
                found = [self.server.post(request) for request in part]
            for reply in found:
                if isinstance(reply, ResonateError):
                    raise reply
                replies.append(reply)
        return replies

    def each(self, calls: Sequence[Call[T]]) -> list[T | ResonateError]:
        """Send calls once, in as few HTTP requests as the server allows; return the result or the refusal of each.

        Raises:
            ResonateError: See `exchange`.
        """
        found: list[T | ResonateError] = []
        for call, reply in zip(calls, self.exchange([self._requests.request(call) for call in calls]), strict=True):
            try:
                found.append(self._requests.result(call, reply))
            except ResonateError as error:
                found.append(error)
        return found

    def run_together(self, calls: Together[T]) -> T:
        """Refuse calls that are one transaction of several requests."""
        if calls.calls:
            raise Unsupported(_MANY_REQUESTS)
        return calls.gather([])

    def in_parts(self, calls: Together[T]) -> T:
        """job.enqueue_many in parts."""
        parts = EnqueueParts(calls, self._requests.enqueued)
        for call in parts.calls():
            try:
                items = self.run(call)
            except ResonateError as error:
                parts.failed(error)
            else:
                parts.answered(items)
        return self._requests.gathered(calls, parts.answers)


class _OfLoop:
    """The connections of one event loop, and the sender of requests over them."""

    server: tuple[asyncio.AbstractEventLoop, AsyncServerClient, HttpBatches] | None = None


class AsyncRemote(AsyncRunner):
    """Runs calls on a server, from asyncio; see `Remote`. Calls at the same time share HTTP requests, if the server takes batches."""

    def __init__(self, url: str, token: str | None, timeout: float, retry_for: float, answer_bytes: int = MOST_BYTES) -> None:
        self._make: Callable[[], AsyncServerClient] = lambda: AsyncServerClient(url, token, timeout, answer_bytes)
        self.address = ServerAddress(url, token, timeout, answer_bytes)
        self._requests = _Requests(self.address, retry_for)
        self._of_process = PerProcess(_OfLoop)

    def __repr__(self) -> str:
        return repr(self.address.name)

    @property
    def server(self) -> AsyncServerClient:
        """The connections of the running loop, in this process. Those of a loop that has ended are given up."""
        return self._of_running_loop()[1]

    @property
    def batches(self) -> HttpBatches:
        """The sender of requests over the connections of the running loop."""
        return self._of_running_loop()[2]

    def _of_running_loop(self) -> tuple[asyncio.AbstractEventLoop, AsyncServerClient, HttpBatches]:
        loop, of_loop = asyncio.get_running_loop(), self._of_process.get()
        if of_loop.server is None or of_loop.server[0] is not loop:
            server = self._make()
            of_loop.server = loop, server, HttpBatches(server)
        return of_loop.server

    async def close(self) -> None:
        """End the connections of the running loop."""
        of_loop = self._of_process.get()
        server, of_loop.server = of_loop.server, None
        if server is not None and server[0] is asyncio.get_running_loop():
            await server[2].close()
            await server[1].close()

    async def run(self, call: Call[T]) -> T:
        """Send a call, again while the server is busy or away and the call can run twice, and return its result."""
        request = self._requests.request(call)
        retries = Retries(call.again, self._requests.retry_for)
        while True:
            try:
                return self._requests.result(call, await self.batches.send(request))
            except Unreachable as error:
                await asyncio.sleep(retries.pause_after(error))

    async def run_together(self, calls: Together[T]) -> T:
        """Refuse calls that are one transaction of several requests."""
        if calls.calls:
            raise Unsupported(_MANY_REQUESTS)
        return calls.gather([])

    async def in_parts(self, calls: Together[T]) -> T:
        """job.enqueue_many in parts."""
        parts = EnqueueParts(calls, self._requests.enqueued)
        for call in parts.calls():
            try:
                items = await self.run(call)
            except ResonateError as error:
                parts.failed(error)
            else:
                parts.answered(items)
        return self._requests.gathered(calls, parts.answers)
