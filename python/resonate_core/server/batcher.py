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


class Batcher:
    """The requests in front of a store.

    What comes in one turn of the loop, or while a transaction is under way, runs in the next one. A lone request waits
    for nobody. A search runs beside that, on a thread of its own: nothing waits for it but another search.

    Args:
        store: The store.
        metrics: What is counted.
        behind: Whether internal steps wait that requests take their portion of.
        in_order: Whether searches stay in the line of the others, so that all requests run in the order in which they came: of a
            server that is tested step by step.
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
        self._searchers = [Line(f"resonate-search-{number}") for number in range(_SEARCHES)]
        self._idle = list(self._searchers)
        self._searches: deque[_Waiting] = deque()

    @property
    def in_flight(self) -> int:
        """How many requests wait or run."""
        return len(self._waiting) + len(self._under_way) + len(self._searches) + len(self._searchers) - len(self._idle)

    def submit(self, envelope: Envelope) -> asyncio.Future[Answer]:
        """Puts a request into the line; its answer, or what the store raised for its transaction."""
        future: asyncio.Future[Answer] = self._loop.create_future()
        if envelope.search and not self._in_order:
            self._searches.append((envelope, future))
            self._begin_search()
            return future
        self._waiting.append((envelope, future))
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._begin)
        return future

    def close(self) -> None:
        """Waits for the transactions under way. Requests are not to be submitted any more."""
        for line in (self._line, *self._searchers):
            line.close()

    def _begin_search(self) -> None:
        if not self._idle or not self._searches:
            return
        searcher, one = self._idle.pop(), self._searches.popleft()

        def done(answers: Sequence[Answer], error: Exception | None) -> None:
            self._idle.append(searcher)
            self._begin_search()
            self._answer([one], answers, error)

        searcher.submit(functools.partial(self._store.run, [one[0]]), done)

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

    def _answer(self, batch: list[_Waiting], answers: Sequence[Answer], error: Exception | None) -> None:
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
