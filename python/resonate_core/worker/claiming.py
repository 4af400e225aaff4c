"""One round of requests to the store: report ended attempts, claim jobs, and start those that have a slot."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

from .._core import Job
from ..errors import StoreError
from .execution import Attempt, WorkItem
from .job_source import MOST, Claim, Claimed, Exchanged, Held, JobSource
from .outcomes import Outcome
from .reporting import Seen, note_completed, report, report_all_but_last
from .settings import WorkerParts

__all__ = ["Round", "room", "run_round", "work_items"]

_log = logging.getLogger("resonate_core.worker")

#: Jobs for which a worker whose slots are free makes two claims, so that the first of them run during the second claim.
_WORTH_A_CLAIM = 100


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


def room(slots: int, here: int, batch: int, *, apart: bool) -> int:
    """Return how many jobs to claim: none while more than half a batch waits, so that a claim is worth its transaction.

    Args:
        slots: How many are free.
        here: How many jobs the worker has that do not run.
        batch: How many are claimed ahead.
        apart: Whether handlers run during a claim: then many jobs that will wait are claimed after those that have a slot.
    """
    if here > max(slots, batch // 2):
        return 0
    split = apart and min(slots, batch) >= _WORTH_A_CLAIM and here <= batch // 2
    return min(slots if split else slots + batch - here, MOST)


def work_items(jobs: Iterable[Job], batched: Collection[str]) -> Iterator[WorkItem]:
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
    asking: Callable[[], None] | None = None,
) -> None:
    """Run a round. If the store fails, the round ends and contains the error; the remaining requests stay in it for the next attempt.

    Args:
        parts: Of the worker.
        round: The request; its results are written to it.
        before_claim: Called before jobs are claimed.
        stopping: Whether the worker stops, so that nothing is claimed or started.
        asking: Called when the requests of the round are made, before the store runs them.
    """
    events = parts.registry.events or None  # None: there is no listener
    try:
        _run(parts, round, None if events is None else events.ended, before_claim, stopping, asking)
    except (StoreError, OSError) as error:
        round.error = error
    if events is not None:
        events.look(job for item in (*round.started, *round.claimed) for job in item)


def _run(
    parts: WorkerParts,
    round: Round,
    seen: Seen | None,
    before_claim: Callable[[], None] | None,
    stopping: Callable[[], bool],
    asking: Callable[[], None] | None,
) -> None:
    """Report, then complete, start and claim in one transaction if the client can do that, then make what it has left out or refused."""
    client, settings, counts = parts.client, parts.settings, parts.counts
    results = report_all_but_last(client, round.ended, counts, seen)
    if stopping():
        report(client, round.ended, counts, seen)
        return

    items, held = _next_items(round.claimed, round.slots)
    if round.room and before_claim is not None:
        before_claim()
    start = min(round.room, round.slots - len(items))
    claim = Claim(settings.queues, round.room, settings.name, settings.lease, settings.run_lease, settings.strict, start)
    if asking is not None:
        asking()
    answer = _exchanged(client, results, held, claim)
    if answer.claimed is not None:
        _take(parts, round, answer.claimed)
    if answer.started is not None:
        _begin(parts, round, items, held, answer.started)
    if answer.completed is not None:
        note_completed(client, round.ended, answer.completed, counts, seen)

    report(client, round.ended, counts, seen)
    if stopping():
        return
    if answer.claimed is None and claim.most:
        _take(parts, round, client.claim(claim))
    if answer.started is None:
        _begin(parts, round, items, held, client.start_many(held, settings.run_lease) if held else [])
    left = round.slots - len(round.started)
    if left > 0 and round.claimed:  # the claim has taken a batch, whose first job runs, or a start was refused
        items, held = _next_items(round.claimed, left)
        _begin(parts, round, items, held, client.start_many(held, settings.run_lease) if held else [])


def _exchanged(client: JobSource, results: Sequence[tuple[str, int, Any]], held: Sequence[Held], claim: Claim) -> Exchanged:
    """Complete, start and claim. If there is nothing to start and to claim, completions are made by themselves."""
    if not held and not claim.most:
        return Exchanged()
    try:
        return client.exchange(results, held, claim)
    except (StoreError, OSError):
        raise
    except Exception:
        if not results:
            raise
        return Exchanged()  # a result cannot be written: completed by itself, it raises that again, and its job fails


def _next_items(claimed: Iterable[WorkItem], slots: int) -> tuple[list[WorkItem], list[Held]]:
    """Return the first items to start, as many as one request holds, and those of their jobs that must be started."""
    items: list[WorkItem] = []
    held: list[Held] = []
    for item in islice(claimed, slots):
        if held and len(held) + len(item) > MOST:
            break
        items.append(item)
        if len(item) == 1:
            held.append((item[0].id, item[0].version))
        else:  # of a batch the claim may have started some
            held += [(job.id, job.version) for job in item if job.state != "running"]
    return items, held


def _begin(parts: WorkerParts, round: Round, items: Iterable[WorkItem], held: Sequence[Held], statuses: Sequence[int]) -> None:
    """Take over the jobs that were started."""
    refused = {id: status for (id, _), status in zip(held, statuses, strict=True) if status >= 300}
    for item in items:
        round.claimed.popleft()
        begun = [job for job in item if job.id not in refused] if refused else item
        if begun:
            round.started.append(begun)
    parts.counts.expired += len(refused)
    # A job cannot be started after its good_until, its deadline or the end of its lease, nor once it is cancelled.
    for id, status in refused.items():
        _log.info("job %s was claimed and could not be started: %d", id, status)


def _take(parts: WorkerParts, round: Round, claimed: Claimed) -> None:
    """Take over the jobs that were claimed."""
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
