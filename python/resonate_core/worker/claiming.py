"""One round of requests to the store: report ended attempts, claim jobs, and start those that have a slot."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

from ..errors import StoreError
from .execution import Attempt, WorkItem
from .job_source import MOST, Claim, Claimed, Exchanged, Held
from .outcomes import Outcome
from .records import JobRecord
from .reporting import report
from .settings import WorkerParts

__all__ = ["Round", "run_round", "work_items"]

_log = logging.getLogger("resonate_core.worker")


@dataclass(slots=True)
class Round:
    """A request to report, claim and start, and its results.

    Attributes:
        ended: Attempts that have ended; an attempt that could not be reported stays here.
        claimed: Work items that were claimed and wait to be started.
        slots: How many more work items can run.
        room: The most jobs to claim; a batch is claimed as a whole even if it has more.
        started: Work items that were started.
        taken: How many jobs were claimed.
        next_at: If the claim found fewer jobs than `room`: the next instant at which a rate allows a claim or a timer is due.
        error: The error of the store that ended the round early.
    """

    ended: deque[tuple[Attempt, Outcome]]
    claimed: deque[WorkItem]
    slots: int
    room: int
    started: list[WorkItem] = field(default_factory=list)
    taken: int = 0
    next_at: int | None = None
    error: Exception | None = None


def work_items(jobs: Iterable[JobRecord], batched: Collection[str]) -> Iterator[WorkItem]:
    """Group the jobs of one claim into work items. The store returns the jobs of a batch one after the other.

    Args:
        jobs: The claimed jobs, in the order of the claim.
        batched: The types that have a handler for batches.

    Example:
        >>> from resonate_core.worker.claiming import work_items
        >>> from types import SimpleNamespace as Job
        >>> batched = [Job(id=id, type="mail", batch="b1") for id in "ab"]
        >>> jobs = [*batched, Job(id="c", type="mail", batch=None), Job(id="d", type="x", batch=None)]
        >>> [[job.id for job in item] for item in work_items(jobs, {"mail"})]
        [['a', 'b'], ['c'], ['d']]
    """
    for batch, members in groupby(jobs, lambda job: job.batch if job.type in batched else None):
        if batch is None:
            yield from ((job,) for job in members)
        else:
            yield tuple(members)


def run_round(
    parts: WorkerParts,
    round: Round,
    before_claim: Callable[[], None] | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> None:
    """Run a round. If the store fails, the round ends and contains the error; the remaining requests stay in it for the next attempt.

    Args:
        parts: Of the worker.
        round: The request; its results are written to it.
        before_claim: Called before jobs are claimed.
        stopping: Whether the worker stops, so that nothing is claimed or started.
    """
    events = parts.registry.events or None  # None: there is no listener
    exchange = _Exchange(parts, round, before_claim, stopping)
    try:
        try:
            if round.ended:
                report(parts.client, round.ended, parts.counts, None if events is None else events.ended, exchange.complete)
            exchange.send(())
        finally:
            exchange.finish()
    except (StoreError, OSError) as error:
        round.error = error
    if events is not None:
        events.look(job for item in (*round.started, *round.claimed) for job in item)


class _Exchange:
    """The starts and the claim of a round, in one transaction with its last completions if the client can do that.

    Args:
        parts: Of the worker.
        round: The round.
        before_claim: As of `run_round`.
        stopping: As of `run_round`.
    """

    def __init__(
        self, parts: WorkerParts, round: Round, before_claim: Callable[[], None] | None, stopping: Callable[[], bool]
    ) -> None:
        self._parts = parts
        self._round = round
        self._before_claim = before_claim
        self._stopping = stopping
        self._items: list[WorkItem] = []
        self._held: list[Held] = []
        self._claim: Claim | None = None
        self._done: Exchanged | None = None

    def complete(self, results: Sequence[tuple[str, int, Any]]) -> list[int]:
        """Complete jobs, the last ones of the round together with what it starts and claims."""
        if self._done is None and len(results) == len(self._round.ended):
            self.send(results)
            if self._done is not None and self._done.completed is not None:
                return self._done.completed
        return self._parts.client.complete_many(results)

    def send(self, results: Sequence[tuple[str, int, Any]]) -> None:
        """Start some of what waits, and claim, together with these completions, unless that is done or the worker stops.

        If there are completions and the client cannot, nothing happens: they are then sent first, by themselves.
        """
        if self._done is not None or self._stopping():
            return
        round, settings = self._round, self._parts.settings
        self._choose(round.slots)
        if round.room and self._before_claim is not None:
            self._before_claim()
        start = min(round.room, round.slots - len(self._items))
        claim = Claim(settings.queues, round.room, settings.name, settings.lease, settings.run_lease, settings.strict, start)
        self._claim = claim
        if self._held or round.room:
            self._done = self._parts.client.exchange(results, self._held, claim)
        if self._done is None and not results:
            self._done = Exchanged()

    def finish(self) -> None:
        """Take over the jobs that were started and claimed; a request that was left out or refused is made by itself."""
        done, client = self._done, self._parts.client
        if done is None:
            return
        if self._claim is not None and self._claim.most:
            self._take(done.claimed or client.claim(self._claim))
        self._begin(done.started)
        left = self._round.slots - len(self._round.started)
        if left > 0 and self._round.claimed:  # the claim has taken a batch, whose first job runs, or a start was refused
            self._choose(left)
            self._begin(None)

    def _choose(self, slots: int) -> None:
        """Choose what to start of what waits, as much as one request holds."""
        self._items, self._held = [], []
        for item in islice(self._round.claimed, slots):
            if self._held and len(self._held) + len(item) > MOST:
                break
            self._items.append(item)
            if len(item) == 1:
                self._held.append((item[0].id, item[0].version))
            else:  # of a batch the claim may have started some
                self._held += [(job.id, job.version) for job in item if job.state != "running"]

    def _begin(self, statuses: Sequence[int] | None) -> None:
        """Take over the jobs that were started; without statuses they are started first."""
        if statuses is None:
            statuses = self._parts.client.start_many(self._held, self._parts.settings.run_lease) if self._held else []
        round = self._round
        refused = {id: status for (id, _), status in zip(self._held, statuses, strict=True) if status >= 300}
        for item in self._items:
            round.claimed.popleft()
            begun = [job for job in item if job.id not in refused] if refused else item
            if begun:
                round.started.append(begun)
        self._parts.counts.expired += len(refused)
        # A job cannot be started after its good_until, its deadline or the end of its lease, nor once it is cancelled.
        for id, status in refused.items():
            _log.info("job %s was claimed and could not be started: %d", id, status)

    def _take(self, claimed: Claimed) -> None:
        round, parts = self._round, self._parts
        jobs, next_at = claimed
        round.taken = len(jobs)
        if round.taken < round.room:
            round.next_at = min((at for at in (next_at, parts.client.next_due()) if at is not None), default=None)
        if parts.registry.batched:
            for item in work_items(jobs, parts.registry.batched):
                running = all(job.state == "running" for job in item)
                (round.started if running else round.claimed).append(item)
        else:
            for job in jobs:
                (round.started if job.state == "running" else round.claimed).append((job,))
