"""Requests of asyncio tasks, collected so that they share commits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import Any
from weakref import WeakKeyDictionary

Envelope = dict[str, Any]


#: The requests of one transaction, unless one caller has more: the loop runs their callers' next steps without a pause.
_AT_ONCE = 128


class _Request:
    """One call and the future that it awaits."""

    __slots__ = ("envelopes", "future", "is_list", "now", "store", "transaction")

    def __init__(
        self, store: Any, envelope: Envelope | list[Envelope], now: int | None, atomic: bool, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.store = store
        self.envelopes: Sequence[Envelope] = envelope if isinstance(envelope, list) else [envelope]
        self.is_list = isinstance(envelope, list)
        self.now = now
        # An atomic list runs in a separate transaction.
        self.transaction: object = object() if atomic and self.is_list else None
        self.future: asyncio.Future[Any] = loop.create_future()

    def answer(self, replies: list[Envelope]) -> None:
        if not self.future.done():
            self.future.set_result(replies if self.is_list else replies[0])

    def fail(self, error: BaseException) -> None:
        if not self.future.done():
            self.future.set_exception(error)


class _RequestQueue:
    """The requests of one loop that wait for one store. One transaction runs at a time; requests that arrive meanwhile join the next."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.waiting: list[_Request] = []
        self.worker: asyncio.Task[None] | None = None

    def submit(self, request: _Request) -> None:
        self.waiting.append(request)
        if self.worker is None:
            self.worker = self.loop.create_task(self.work())

    async def work(self) -> None:
        try:
            while self.waiting:
                batch, self.waiting = self.waiting, []
                for (now, transaction), group in groupby(batch, key=lambda one: (one.now, one.transaction)):
                    together = list(group)
                    for at in range(0, len(together), _AT_ONCE):
                        await self.run(together[at : at + _AT_ONCE], now, transaction is not None)
        finally:
            self.worker = None
            for request in self.waiting:
                request.fail(asyncio.CancelledError())
            self.waiting = []

    async def run(self, requests: list[_Request], now: int | None, atomic: bool) -> None:
        store = requests[0].store
        envelopes = [envelope for request in requests for envelope in request.envelopes]
        try:
            replies = await self.loop.run_in_executor(None, lambda: store.apply(envelopes, now=now, atomic=atomic))
        except BaseException as error:
            for request in requests:
                request.fail(error)
            if not isinstance(error, Exception):
                raise
            return
        at = 0
        for request in requests:
            request.answer(replies[at : at + len(request.envelopes)])
            at += len(request.envelopes)


# By loop, then by store: a queue ends with either of them.
_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakKeyDictionary[Any, _RequestQueue]] = WeakKeyDictionary()


def _queue_of(store: Any, loop: asyncio.AbstractEventLoop) -> _RequestQueue:
    queues = _queues.setdefault(loop, WeakKeyDictionary())
    queue = queues.get(store)
    if queue is None:
        queue = queues[store] = _RequestQueue(loop)  # no reference to the store, which it must not keep alive
    return queue


def apply_async(store: Any, envelope: Envelope | list[Envelope], now: int | None, atomic: bool) -> asyncio.Future[Any]:
    """Return the awaitable of `Store.apply_async`."""
    loop = asyncio.get_running_loop()
    request = _Request(store, envelope, now, atomic, loop)
    _queue_of(store, loop).submit(request)
    return request.future
