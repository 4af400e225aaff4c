"""One exchange with the store: what ended is told, jobs are claimed, and those whose turn it is are started."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any

from ..errors import ResonateError, StoreError
from .context import JobContext
from .doors import Door
from .outcomes import TIMED_OUT, Verdict, unstorable, unwritable
from .records import JobRecord
from .requests import NOT_HELD
from .tasks import WorkerTask
from .units import Unit, runs, units

if TYPE_CHECKING:
    from .bodies import BatchRun

__all__ = ["MOST", "Counts", "Run", "Turn", "settle", "take_turn"]

#: So many jobs in one request: a server bounds what it reads.
MOST = 1000

_log = logging.getLogger("resonate_core.worker")


@dataclass(slots=True)
class Counts:
    """What a worker did since it was made.

    Attributes:
        completed: Attempts that ended well.
        failed: Attempts that failed, timeouts among them.
        snoozed: Attempts that were put off, also by a stop.
        lost: Attempts whose end nobody wanted: the job was cancelled, settled from outside, or another worker's by then.
        released: Jobs that were claimed and given back.
        expired: Jobs that were claimed and could not be started any more.
    """

    completed: int = 0
    failed: int = 0
    snoozed: int = 0
    lost: int = 0
    released: int = 0
    expired: int = 0


class Run:
    """An attempt of this worker."""

    __slots__ = ("begun", "context", "handle", "id", "job", "settled", "task", "timer", "together", "version")

    def __init__(self, job: JobRecord, id: str, version: int, task: WorkerTask[Any, Any] | None, context: JobContext) -> None:
        self.job = job
        self.id = id
        self.version = version
        self.task = task
        self.context = context
        self.handle: Any = None
        self.begun = False  # its handle is past the first step, and hears of a cancellation
        self.timer: Any = None
        self.settled = False  # its end was told already; what it comes to is of no interest any more
        self.together: BatchRun | None = None


@dataclass(slots=True)
class Turn:
    """What is asked for, and what came of it.

    Attributes:
        ended: Attempts that ended; those whose end could not be told stay here.
        claimed: What was claimed and waits to be started.
        slots: How many more bodies can run.
        room: How many jobs to claim at most; those of a batch come together even so.
        batched: The types whose handlers get batches.
        started: What runs now.
        taken: How many jobs were claimed.
        next_at: When the next look may find more, where this one found all: a queue has a token again, or something is due.
        error: Why the store could not be asked to the end.
    """

    ended: deque[tuple[Run, Verdict]]
    claimed: deque[Unit]
    slots: int
    room: int
    batched: Collection[str] = ()
    started: list[Unit] = field(default_factory=list)
    taken: int = 0
    next_at: int | None = None
    error: Exception | None = None


Told = Callable[[Run, Verdict, int], None]
#: What the store was told in the end, and its status.
Written = tuple[Verdict, int]
#: Claims so many jobs, and starts so many of these at once.
Claim = Callable[[int, int], Any]


def take_turn(door: Door, turn: Turn, claim: Claim, lease: int, counts: Counts, told: Told | None = None) -> Turn:
    """Does a turn. An error of the store ends it early, and is in it: nothing that was not done is forgotten."""
    try:
        if turn.ended:
            settle(door, turn.ended, counts, told)
        if turn.room > 0:
            batch = claim(turn.room, min(turn.room, max(0, turn.slots - len(turn.claimed))))
            turn.taken = len(batch)
            if turn.taken < turn.room:
                known = [at for at in (batch.next_at, door.next_due()) if at is not None]
                turn.next_at = min(known, default=None)
            if turn.batched:
                for unit in units(batch, turn.batched):
                    (turn.started if runs(unit) else turn.claimed).append(unit)
            else:
                for job in batch:
                    (turn.started if job.state == "running" else turn.claimed).append((job,))
        count = min(turn.slots - len(turn.started), len(turn.claimed))
        if count > 0:
            _start(door, turn, count, lease, counts)
    except (StoreError, OSError) as error:
        turn.error = error
    return turn


def _start(door: Door, turn: Turn, count: int, lease: int, counts: Counts) -> None:
    """Starts what waits and does not run yet, as much as one request holds."""
    first: list[Unit] = []
    held: list[tuple[str, int]] = []
    for unit in islice(turn.claimed, count):
        if held and len(held) + len(unit) > MOST:
            break
        first.append(unit)
        if len(unit) == 1:
            held.append((unit[0].id, unit[0].version))
        else:  # of a batch the claim may have started some
            held += [(job.id, job.version) for job in unit if job.state != "running"]
    statuses = door.start_many(held, lease)
    refused = {id: status for (id, _), status in zip(held, statuses, strict=True) if status >= 300}
    for unit in first:
        turn.claimed.popleft()
        begun = [job for job in unit if job.id not in refused] if refused else unit
        if begun:
            turn.started.append(begun)
    counts.expired += len(refused)
    for id, status in refused.items():  # good_until or deadline have passed, it was cancelled, or its lease ran out before its turn
        _log.info("job %s was claimed and could not be started: %d", id, status)


def settle(door: Door, ended: deque[tuple[Run, Verdict]], counts: Counts, told: Told | None = None) -> None:
    """Tells the store how attempts ended, in order; what is told leaves the queue.

    An outcome that the store refuses fails its attempt; only a store that cannot be reached raises (StoreError, OSError).
    """
    while ended:
        done: list[tuple[Run, Verdict]] = []
        for run, verdict in ended:
            if verdict.outcome != "completed" or len(done) == MOST:
                break
            done.append((run, verdict))
        for verdict, status in _complete(door, done) if done else _tell_alike(door, ended):
            run, _ = ended.popleft()
            _count(run, verdict, status, counts)
            if told is not None:
                told(run, verdict, status)


def _count(run: Run, verdict: Verdict, status: int, counts: Counts) -> None:
    outcome = verdict.outcome
    if status >= 300 and verdict is TIMED_OUT:
        status = 200  # the store saw it first
    if status >= 300 or outcome == "dropped":
        counts.lost += 1
        _say(logging.INFO, run, "%s, and is not this worker's any more: %d", outcome, status)
        return
    setattr(counts, outcome, getattr(counts, outcome) + 1)
    failure = verdict.failure
    if failure is None:
        _say(logging.DEBUG, run, "%s", outcome)
    else:
        shown = verdict.error if _log.isEnabledFor(logging.DEBUG) else None
        _say(logging.WARNING, run, "failed: %s %s", failure.code, failure.message, error=shown)


def _say(level: int, run: Run, text: str, *values: object, error: BaseException | None = None) -> None:
    """A line about an attempt; its job, type and attempt stand in it, and are members of it for formats that have members."""
    if not _log.isEnabledFor(level):
        return
    named = {"job": run.id, "type": run.job.type, "attempt": run.context.attempt}
    head = "job %s of type %s, attempt %d, "
    _log.log(level, head + text, *named.values(), *values, exc_info=error, extra=named)


def _complete(door: Door, done: list[tuple[Run, Verdict]]) -> Iterator[Written]:
    """Where one of the results cannot be stored, each goes by itself and that one fails."""
    try:
        statuses = door.complete_many([(run.id, run.version, verdict.result) for run, verdict in done])
    except (StoreError, OSError):
        raise
    except Exception as error:
        if len(done) > 1:
            for one in done:
                yield from _complete(door, [one])
        else:
            yield _tell(door, done[0][0], unstorable(error))
        return
    for one, status in zip(done, statuses, strict=True):
        if status >= 300 and status not in NOT_HELD and len(done) > 1:
            yield from _complete(door, [one])  # by itself it raises, and says why
        else:
            yield one[1], status


def _tell_alike(door: Door, ended: Iterable[tuple[Run, Verdict]]) -> list[Written]:
    """Tells as many of the first ones as can be told at once: where a batch ended as a whole, all of them."""
    first, verdict = next(iter(ended))
    alike = [run for run, _ in takewhile(lambda one: one[1] is verdict, islice(ended, MOST))]
    if len(alike) > 1 and verdict.outcome != "dropped":
        try:
            return [(verdict, status) for status in door.end_many([(run.id, run.version) for run in alike], verdict)]
        except (StoreError, OSError):
            raise
        except Exception:
            pass  # it is told again, by itself, and then so that it can be stored
    return [_tell(door, first, verdict)]


def _tell(door: Door, run: Run, verdict: Verdict) -> Written:
    """Tells of one attempt. An outcome that is refused is told as a failure; one that even so is refused is lost."""
    if verdict.outcome == "dropped":
        return verdict, 409
    try:
        if verdict.outcome == "snoozed":
            return verdict, door.snooze(run.id, run.version, verdict.delay)
        assert verdict.failure is not None
        return verdict, door.fail(run.id, run.version, verdict.failure)
    except (StoreError, OSError):
        raise
    except Exception as error:
        _log.exception("job %s ended with an outcome that cannot be written", run.id)
        verdict = unwritable(error, verdict)
    try:
        assert verdict.failure is not None
        return verdict, door.fail(run.id, run.version, verdict.failure)
    except (StoreError, OSError):
        raise
    except Exception as error:
        _log.exception("job %s: its failure cannot be written either; its lease runs out", run.id)
        return verdict, error.status if isinstance(error, ResonateError) else 400
