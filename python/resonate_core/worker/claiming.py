"""One exchange with the store: what ended is reported, jobs are claimed, and those that have a slot are started."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, islice

from ..errors import StoreError
from .client import MOST, Held
from .execution import Attempt, WorkItem
from .outcomes import Outcome
from .records import JobRecord
from .reporting import report
from .settings import Parts

__all__ = ["Round", "run_round", "work_items"]

_log = logging.getLogger("resonate_core.worker")


@dataclass(slots=True)
class Round:
    """A request to report, claim and start, and its results.

    Attributes:
        ended: Attempts that ended; those that could not be reported stay here.
        claimed: Work items that were claimed and wait to be started.
        slots: How many more can run.
        room: The most jobs to claim; a batch is claimed as a whole even if it has more.
        started: Work items that run now.
        taken: How many jobs were claimed.
        next_at: When more may be claimable, if this round claimed all: a queue has a token again, or a timer is due.
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
    """Group the jobs of one claim by what runs together: the store returns those of a batch one after the other.

    Args:
        jobs: In the order of claiming.
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
    parts: Parts,
    round: Round,
    before_claim: Callable[[], None] | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> None:
    """Do a round. If the store fails, the round ends early and holds the error; the rest stays in it, to be done later.

    Args:
        parts: Of the worker.
        round: The request; its results are written to it.
        before_claim: Called before jobs are claimed.
        stopping: Whether the worker stops, so that nothing is claimed or started. It is asked once what ended is reported.
    """
    try:
        events = parts.registry.events
        if round.ended:
            report(parts.client, round.ended, parts.counts, events.ended if events else None)
        if stopping():
            return
        if round.room > 0:
            if before_claim is not None:
                before_claim()
            _claim(parts, round)
        count = min(round.slots - len(round.started), len(round.claimed))
        if count > 0:
            _start(parts, round, count)
        if events:
            events.look(job for item in (*round.started, *round.claimed) for job in item)
    except (StoreError, OSError) as error:
        round.error = error


def _claim(parts: Parts, round: Round) -> None:
    """Claim, and start at once as many as there are slots for beside those that wait."""
    settings, client = parts.settings, parts.client
    start = min(round.room, max(0, round.slots - len(round.claimed)))
    jobs, next_at = client.claim(
        settings.queues, round.room, settings.name, settings.lease, settings.run_lease, settings.strict, start
    )
    round.taken = len(jobs)
    if round.taken < round.room:
        round.next_at = min((at for at in (next_at, client.next_due()) if at is not None), default=None)
    if parts.registry.batched:
        for item in work_items(jobs, parts.registry.batched):
            running = all(job.state == "running" for job in item)
            (round.started if running else round.claimed).append(item)
    else:
        for job in jobs:
            (round.started if job.state == "running" else round.claimed).append((job,))


def _start(parts: Parts, round: Round, count: int) -> None:
    """Start what waits and does not run yet, as much as one request holds."""
    first: list[WorkItem] = []
    held: list[Held] = []
    for item in islice(round.claimed, count):
        if held and len(held) + len(item) > MOST:
            break
        first.append(item)
        if len(item) == 1:
            held.append((item[0].id, item[0].version))
        else:  # of a batch the claim may have started some
            held += [(job.id, job.version) for job in item if job.state != "running"]
    statuses = parts.client.start_many(held, parts.settings.run_lease)
    refused = {id: status for (id, _), status in zip(held, statuses, strict=True) if status >= 300}
    for item in first:
        round.claimed.popleft()
        begun = [job for job in item if job.id not in refused] if refused else item
        if begun:
            round.started.append(begun)
    parts.counts.expired += len(refused)
    # A job cannot be started after its good_until, its deadline or the end of its lease, nor once it is cancelled.
    for id, status in refused.items():
        _log.info("job %s was claimed and could not be started: %d", id, status)
