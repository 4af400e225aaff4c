"""Requests of asyncio tasks, collected so that they share commits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from .call import Call
from .store_threads import run_apart

if TYPE_CHECKING:
    from .._core import RecordRequest

T = TypeVar("T")

Envelope = dict[str, Any]

#: The most callers whose requests share one transaction.
_AT_ONCE = 128
#: The replies that are given in one iteration of the loop: other callbacks run between the next steps of many callers.
_ANSWERED_AT_ONCE = 32


class _Envelopes:
    """The envelopes of one caller, and the future of their replies.

    Attributes:
        group: Requests that follow each other and are of equal groups may run in one transaction.
    """

    __slots__ = ("atomic", "envelopes", "future", "group", "is_list", "now", "store")

    def __init__(
        self, store: Any, envelope: Envelope | list[Envelope], now: int | None, atomic: bool, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.store = store
        self.is_list = isinstance(envelope, list)
        self.envelopes: Sequence[Envelope] = envelope if isinstance(envelope, list) else [envelope]
        self.now = now
        self.atomic = atomic and self.is_list
        self.group: object = self if self.atomic else (now,)
        self.future: asyncio.Future[Any] = loop.create_future()

    def run(self, envelopes: list[Envelope]) -> list[Any]:
        """Run the envelopes of a group."""
        replies: list[Any] = self.store.apply(envelopes, now=self.now, atomic=self.atomic)
        return replies

    def answer(self, replies: list[Any]) -> None:
        self.future.set_result(replies if self.is_list else replies[0])


class _TypedCall:
    """A typed call, and the future of its result."""

    __slots__ = ("call", "envelopes", "future", "store")

    group = "typed"

    def __init__(self, store: Any, call: Call[Any], envelope: Envelope | RecordRequest, loop: asyncio.AbstractEventLoop) -> None:
        self.store = store
        self.call = call
        self.envelopes = (envelope,)
        self.future: asyncio.Future[Any] = loop.create_future()

    def run(self, envelopes: list[Envelope]) -> list[Any]:
        answers: list[Any] = self.store._run_calls(envelopes)
        return answers

    def answer(self, answers: list[Any]) -> None:
        try:
            self.future.set_result(self.call.result(*answers[0]))
        except Exception as error:
            self.future.set_exception(error)


_Request = _Envelopes | _TypedCall


class _RequestQueue:
    """The requests of one loop that wait for one store. One transaction runs at a time; requests that arrive meanwhile join the next."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.waiting: list[_Request] = []
        self.worker: asyncio.Task[None] | None = None

    def submit(self, request: _Request) -> asyncio.Future[Any]:
        self.waiting.append(request)
        if self.worker is None:
            self.worker = self.loop.create_task(self.work())
        return request.future

    async def work(self) -> None:
        try:
            while self.waiting:
                batch, self.waiting = self.waiting, []
                for _, group in groupby(batch, key=attrgetter("group")):
                    together = list(group)
                    for at in range(0, len(together), _AT_ONCE):
                        await self.run(together[at : at + _AT_ONCE])
        finally:
            self.worker = None
            _fail(self.waiting, asyncio.CancelledError())
            self.waiting = []

    async def run(self, requests: list[_Request]) -> None:
        envelopes = [envelope for request in requests for envelope in request.envelopes]
        try:
            replies = await run_apart(self.loop, requests[0].store, requests[0].run, envelopes)
        except BaseException as error:
            _fail(requests, error)
            if not isinstance(error, Exception):
                raise
            return
        at = 0
        for number, request in enumerate(requests):
            if number and number % _ANSWERED_AT_ONCE == 0:
                await asyncio.sleep(0)
            if not request.future.done():  # its caller was cancelled
                request.answer(replies[at : at + len(request.envelopes)])
            at += len(request.envelopes)


def _fail(requests: Sequence[_Request], error: BaseException) -> None:
    for request in requests:
        if not request.future.done():
            request.future.set_exception(error)


# By loop, then by store: a queue ends with either of them.
_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakKeyDictionary[Any, _RequestQueue]] = WeakKeyDictionary()


def _queue_of(store: Any, loop: asyncio.AbstractEventLoop) -> _RequestQueue:
    queues = _queues.get(loop)
    if queues is None:
        queues = _queues[loop] = WeakKeyDictionary()
    queue = queues.get(store)
    if queue is None:
        queue = queues[store] = _RequestQueue(loop)  # no reference to the store, which it must not keep alive
    return queue


def apply_async(store: Any, envelope: Envelope | list[Envelope], now: int | None, atomic: bool) -> asyncio.Future[Any]:
    """Return the awaitable of `Store.apply_async`."""
    loop = asyncio.get_running_loop()
    return _queue_of(store, loop).submit(_Envelopes(store, envelope, now, atomic, loop))


def run_call(store: Any, call: Call[T], envelope: Envelope | RecordRequest) -> asyncio.Future[T]:
    """Return the awaitable of the result of a typed call, whose request this is."""
    loop = asyncio.get_running_loop()
    return _queue_of(store, loop).submit(_TypedCall(store, call, envelope, loop))
