"""Requests of many connections, run in shared transactions off the event loop's thread."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .._core import Envelope, Store
from .._stopwatch import seconds
from .lines import Line

if TYPE_CHECKING:
    from .metrics import Metrics

__all__ = ["Answer", "Batcher"]

#: Status, and the answering envelope as JSON.
Answer = tuple[int, bytes]

_log = logging.getLogger("resonate_core.server")

#: More in one transaction would make those that wait for the next one wait long.
_MOST_AT_ONCE = 1000
#: Turns of the loop between the answers to one transaction and the next: those who are answered ask again within them, and
#: share it. A commit that waits for the disk is then shared by twice as many. A lone request never waits.
_TURNS = 2
#: How many share one while internal steps wait: each request is followed by a portion of them.
_MOST_BEHIND = 16
#: How many searches run at once, each beside the writer.
_SEARCHES = 2
#: How many requests a log line names.
_NAMED = 20

_Waiting = tuple[Envelope, "asyncio.Future[Answer]"]
#: Takes requests, their answers, and the error in place of the answers.
_Answered = Callable[[Sequence[_Waiting], Sequence[Answer], "Exception | None"], None]


class _Beside:
    """Requests that run beside the transactions, on threads of their own.

    Args:
        store: The store.
        answered: Called with the requests of each run.
        threads: A name for each thread; so many runs are under way at once.
        at_once: How many requests share one run.
    """

    def __init__(self, store: Store, answered: _Answered, threads: Sequence[str], at_once: int) -> None:
        self._store = store
        self._answered = answered
        self._lines = [Line(thread) for thread in threads]
        self._idle = list(self._lines)
        self._at_once = at_once
        self._waiting: deque[_Waiting] = deque()
        self._running = 0

    @property
    def in_flight(self) -> int:
        """The number of requests that wait or run."""
        return len(self._waiting) + self._running

    def submit(self, one: _Waiting) -> None:
        """Run a request as soon as a thread is idle."""
        self._waiting.append(one)
        self._begin()

    def close(self) -> None:
        """Wait for the runs under way."""
        for line in self._lines:
            line.close()

    def _begin(self) -> None:
        if not self._idle or not self._waiting:
            return
        line = self._idle.pop()
        batch = [self._waiting.popleft() for _ in range(min(self._at_once, len(self._waiting)))]
        self._running += len(batch)

        def done(answers: Sequence[Answer], error: Exception | None) -> None:
            self._running -= len(batch)
            self._idle.append(line)
            self._begin()
            self._answered(batch, answers, error)

        line.submit(functools.partial(self._store.run, [envelope for envelope, _ in batch]), done)


class Batcher:
    """Runs the requests of a store in shared transactions.

    Requests that arrive in one iteration of the loop, or while a transaction is under way, share the next transaction. A single
    request does not wait. A search runs beside them on its own thread: only another search waits for it. A read that arrives
    while a transaction is under way in a file runs there, too: it does not wait for the disk.

    Args:
        store: The store.
        metrics: The counters.
        behind: Returns whether due internal steps are left, of which each request takes its portion.
        in_order: Whether searches run in the transactions of the others, so that all requests run in their order of arrival: for
            a server that is tested step by step.
    """

    def __init__(self, store: Store, metrics: Metrics, behind: Callable[[], bool] = lambda: False, in_order: bool = False) -> None:
        self._store = store
        self._metrics = metrics
        self._behind = behind
        self._in_order = in_order
        self._loop = asyncio.get_running_loop()
        self._line = Line("resonate-requests")
        self._waiting: list[_Waiting] = []
        self._under_way: list[_Waiting] = []
        self._scheduled = False
        searchers = [f"resonate-search-{number}" for number in range(_SEARCHES)]
        self._searches = _Beside(store, self._answer, searchers, at_once=1)
        reads_wait = store.path is not None and not in_order  # in memory there is no disk to wait for
        self._reads = _Beside(store, self._answer, ["resonate-reads"], _MOST_AT_ONCE) if reads_wait else None

    @property
    def in_flight(self) -> int:
        """How many requests wait or run."""
        beside = self._searches.in_flight + (self._reads.in_flight if self._reads else 0)
        return len(self._waiting) + len(self._under_way) + beside

    def submit(self, envelope: Envelope) -> asyncio.Future[Answer]:
        """Puts a request into the line; its answer, or what the store raised for its transaction."""
        future: asyncio.Future[Answer] = self._loop.create_future()
        if envelope.search and not self._in_order:
            self._searches.submit((envelope, future))
            return future
        if envelope.read and self._reads and self._under_way:
            self._reads.submit((envelope, future))
            return future
        self._waiting.append((envelope, future))
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._begin)
        return future

    def close(self) -> None:
        """Waits for the transactions under way. Requests are not to be submitted any more."""
        self._line.close()
        self._searches.close()
        if self._reads:
            self._reads.close()

    def _begin_in(self, turns: int) -> None:
        """Begins after so many turns of the loop."""
        if turns == 0:
            self._begin()
        else:
            self._loop.call_soon(self._begin_in, turns - 1)

    def _begin(self) -> None:
        batch = self._under_way = self._waiting[: self._next_batch()]
        del self._waiting[: len(batch)]
        self._metrics.batch_size.observe(len(batch))
        envelopes = [envelope for envelope, _ in batch]
        self._line.submit(functools.partial(self._run, envelopes), self._done)

    def _next_batch(self) -> int:
        """How many of those that wait share the next transaction: a debug operation has one of its own."""
        if self._waiting[0][0].debug:
            return 1
        first = self._waiting[: _MOST_BEHIND if self._behind() else _MOST_AT_ONCE]
        return next((at for at, (envelope, _) in enumerate(first) if envelope.debug), len(first))

    def _run(self, envelopes: list[Envelope]) -> list[Answer]:
        started = seconds()
        answers = self._store.run(envelopes)
        self._metrics.commit_seconds.observe(seconds() - started)
        return answers

    def _done(self, answers: Sequence[Answer], error: Exception | None) -> None:
        batch, self._under_way = self._under_way, []
        if self._waiting:
            self._begin_in(_TURNS)
        else:
            self._scheduled = False
        self._answer(batch, answers, error)

    def _answer(self, batch: Sequence[_Waiting], answers: Sequence[Answer], error: Exception | None) -> None:
        if error is not None:
            asked = [envelope.corr_id for envelope, _ in batch[:_NAMED]]
            _log.error("a transaction of %d requests failed: %s", len(batch), error, exc_info=error, extra={"corr_ids": asked})
            for _, future in batch:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(batch, answers, strict=True):
            if not future.done():  # whoever asked may be gone
                future.set_result(answer)
