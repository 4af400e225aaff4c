"""Runs the requests of many connections in shared transactions, in threads beside the event loop."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .._core import Envelope, Store
from ..base.stopwatch import seconds
from ..calls.serial_executor import SerialExecutor
from .batches import LONG, MOST_RECORDS

if TYPE_CHECKING:
    from .metrics import Metrics

__all__ = ["Answer", "Batcher"]

#: Status, and the reply as JSON.
Answer = tuple[int, bytes]

_log = logging.getLogger("resonate_core.server")

#: The most requests of one transaction: more would delay the requests that wait for the next one.
_MOST_REQUESTS = 1000
#: Iterations of the loop between the replies to one transaction and the next transaction, if requests wait. In this time the clients
#: that got a reply send their next requests, which take three iterations, so that twice as many requests share one commit.
_ITERATIONS = 4
#: The most requests of one transaction while internal steps are due: each request also runs some of these.
_MOST_REQUESTS_BEHIND = 16
#: The number of searches that run at once, beside the writer.
_SEARCHES = 2
#: The most requests that a log line names.
_MOST_NAMED = 20

#: A request, its reply to come, and the number of its records, which is read once: a property of the core costs as much as a call.
_Waiting = tuple[Envelope, "asyncio.Future[Answer]", int]
#: Takes requests and their replies, or an error in the place of the replies.
_Answered = Callable[[Sequence[_Waiting], Sequence[Answer], "BaseException | None"], None]


class _ReadThreads:
    """Threads that run reads beside the transactions.

    Args:
        store: The store.
        answered: Called with the requests of each batch and their replies.
        threads: A name for each thread; each of them runs one batch at a time.
        at_once: The most requests of one batch.
    """

    def __init__(self, store: Store, answered: _Answered, threads: Sequence[str], at_once: int) -> None:
        self._store = store
        self._answered = answered
        self._threads = [SerialExecutor(thread) for thread in threads]
        self._idle = list(self._threads)
        self._at_once = at_once
        self._waiting: deque[_Waiting] = deque()

    def submit(self, one: _Waiting) -> None:
        """Run a request as soon as a thread is idle."""
        self._waiting.append(one)
        self._begin()

    def close(self) -> None:
        """Wait for the runs under way."""
        for thread in self._threads:
            thread.close()

    def _begin(self) -> None:
        if not self._idle or not self._waiting:
            return
        thread = self._idle.pop()
        batch = [self._waiting.popleft() for _ in range(min(self._at_once, len(self._waiting)))]

        def done(answers: Sequence[Answer], error: BaseException | None) -> None:
            self._idle.append(thread)
            self._begin()
            self._answered(batch, answers, error)

        thread.submit(functools.partial(self._store.run, [envelope for envelope, *_ in batch]), done)


class Batcher:
    """Runs the requests of a store in shared transactions.

    Requests that arrive in one iteration of the loop, or while a transaction is under way, share the next transaction. A single
    request does not wait. Long requests have transactions of their own, which take turns with those of the others: a request waits for
    one transaction of long ones, however many there are. A search runs on a thread of its own: only another search waits for it. If a
    read arrives while a transaction of a file is under way, it runs beside the transaction and does not wait for the disk.

    Args:
        store: The store.
        metrics: The counters.
        behind: Returns whether due internal steps are left; each request runs a part of them.
        in_order: Whether searches share the transactions of other requests, so that all requests run in the order of their arrival;
            for a server that is tested step by step.

    Attributes:
        in_flight: The number of requests that wait or run.
    """

    def __init__(self, store: Store, metrics: Metrics, behind: Callable[[], bool] = lambda: False, in_order: bool = False) -> None:
        self._store = store
        self._metrics = metrics
        self._behind = behind
        self._in_order = in_order
        self._loop = asyncio.get_running_loop()
        self._executor = SerialExecutor("resonate-requests")
        self._waiting: list[_Waiting] = []
        self._long: list[_Waiting] = []
        self._long_is_next = False
        self._under_way: list[_Waiting] = []
        self._scheduled = False
        self.in_flight = 0
        searchers = [f"resonate-search-{number}" for number in range(_SEARCHES)]
        self._searches = _ReadThreads(store, self._answer, searchers, at_once=1)
        reads_wait = store.shared and not in_order  # in memory there is no disk to wait for
        self._reads = _ReadThreads(store, self._answer, ["resonate-reads"], _MOST_REQUESTS) if reads_wait else None

    def submit(self, envelope: Envelope) -> asyncio.Future[Answer]:
        """Run a request with the next transaction; return its reply, or the error of that transaction, as a future."""
        future: asyncio.Future[Answer] = self._loop.create_future()
        self.in_flight += 1
        records = envelope.records
        waiting, lane = (envelope, future, records), self._waiting
        if not self._in_order:
            if envelope.search:
                self._searches.submit(waiting)
                return future
            if self._reads and self._under_way and envelope.read:
                self._reads.submit(waiting)
                return future
            if records > LONG:
                lane = self._long
        lane.append(waiting)
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._begin)
        return future

    def close(self) -> None:
        """Wait for the transactions under way. Submit no request after this."""
        self._executor.close()
        self._searches.close()
        if self._reads:
            self._reads.close()

    def _begin_after(self, iterations: int) -> None:
        """Begin after this many iterations of the loop."""
        if iterations == 0:
            self._begin()
        else:
            self._loop.call_soon(self._begin_after, iterations - 1)

    def _begin(self) -> None:
        lane = self._long if self._long and (self._long_is_next or not self._waiting) else self._waiting
        self._long_is_next = lane is self._waiting
        batch = self._under_way = lane[: self._next_batch(lane)]
        del lane[: len(batch)]
        self._metrics.batch_size.observe(len(batch))
        envelopes = [envelope for envelope, *_ in batch]
        self._executor.submit(functools.partial(self._run, envelopes), self._done)

    def _next_batch(self, lane: Sequence[_Waiting]) -> int:
        """Return how many of these requests share the next transaction, at least one. A debug operation has its own."""
        if len(lane) == 1 or lane[0][0].debug:
            return 1
        most = min(len(lane), _MOST_REQUESTS_BEHIND if self._behind() else _MOST_REQUESTS)
        total = lane[0][2]
        for at in range(1, most):
            envelope, _, records = lane[at]
            total += records
            if total > MOST_RECORDS or envelope.debug:
                return at
        return most

    def _run(self, envelopes: list[Envelope]) -> list[Answer]:
        started = seconds()
        answers = self._store.run(envelopes)
        self._metrics.commit_seconds.observe(seconds() - started)
        return answers

    def _done(self, answers: Sequence[Answer], error: BaseException | None) -> None:
        batch, self._under_way = self._under_way, []
        if self._waiting or self._long:
            self._begin_after(_ITERATIONS)
        else:
            self._scheduled = False
        self._answer(batch, answers, error)

    def _answer(self, batch: Sequence[_Waiting], answers: Sequence[Answer], error: BaseException | None) -> None:
        self.in_flight -= len(batch)
        if error is not None:
            asked = [envelope.corr_id for envelope, *_ in batch[:_MOST_NAMED]]
            _log.error("a transaction of %d requests failed: %s", len(batch), error, exc_info=error, extra={"corr_ids": asked})
            for _, future, _ in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future, _), answer in zip(batch, answers, strict=True):
            if not future.done():  # the client may have disconnected
                future.set_result(answer)
