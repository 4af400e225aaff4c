"""The drain mode: everything that can be done is done here and now, in the caller's thread, and time is moved by hand."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Coroutine, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from .._core import ManualClock
from ..errors import Invalid, Unsupported
from .bodies import BatchRun, Body, Ended, run_body, run_body_async
from .context import JobContext
from .doors import Batch, StoreDoor, names_of
from .outcomes import TIMED_OUT, Failure, Verdict
from .records import JobRecord
from .tasks import BatchTask
from .turn import Run, Turn, settle, take_turn
from .units import Unit

if TYPE_CHECKING:
    from .worker import Worker

__all__ = ["Drained", "DrainedRun", "drain"]


@dataclass(frozen=True, slots=True)
class DrainedRun:
    """An attempt that was made.

    Attributes:
        id: Of the job.
        type: Of the job.
        queue: Of the job.
        attempt: Its number.
        at: When it began, in Unix ms.
        outcome: `completed`, `failed`, `snoozed` or `lost` (the job was cancelled or settled meanwhile).
        result: What the body returned.
        error: Why it failed; None where it did not.
    """

    id: str
    type: str
    queue: str
    attempt: int
    at: int
    outcome: str
    result: Any = None
    error: Failure | None = None


@dataclass(slots=True)
class Drained:
    """What a drain did.

    Attributes:
        runs: The attempts, in order.
        now: When it ended, in Unix ms.
        idle: Whether nothing was left to do; False where the limit ended it.
        next_at: When something happens next by itself, in Unix ms, as far as is known.

    Example:
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> _ = worker.task("square")(lambda n: n * n).enqueue_many([1, 2, 3])
        >>> drained = worker.run_until_idle(limit=2)
        >>> drained.outcomes, drained.idle, len(drained)
        ({'completed': 2}, False, 2)
    """

    runs: list[DrainedRun] = field(default_factory=list)
    now: int = 0
    idle: bool = False
    next_at: int | None = None

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[DrainedRun]:
        return iter(self.runs)

    @property
    def outcomes(self) -> dict[str, int]:
        """How many attempts ended how."""
        return dict(Counter(run.outcome for run in self.runs))


class _Drain:
    """One drain: it gives attempts to be made, one after the other, and moves the clock between them where it may."""

    def __init__(self, worker: Worker, limit: int | None, advance: bool, until: int | None) -> None:
        if not isinstance(worker.door, StoreDoor):
            raise Unsupported("run_until_idle is for a store in this process: the jobs of a server are run by run() or serve()")
        self._worker = worker
        self._door = worker.door
        self._limit = limit
        self._until = until
        self._clock = self._movable(advance or until is not None)
        self._claimed: deque[Unit] = deque()
        self._started: deque[Unit] = deque()
        self.drained = Drained()

    def _movable(self, advance: bool) -> ManualClock | None:
        if not advance:
            return None
        clock = self._door.store.clock
        if not isinstance(clock, ManualClock):
            raise Invalid(f"only a ManualClock can be advanced, and the store has {clock!r}")
        if self._until is not None and self._until < clock.now:
            raise Invalid(f"until is {self._until}, and it is {clock.now} already")
        if self._until is None and self._limit is None and self._worker.periodics:
            raise Invalid("periodic jobs never end: advance=True needs until or limit")
        return clock

    def bodies(self) -> Generator[Body, None, None]:
        """Each body, to be run and told by `tell` before the next."""
        try:
            while self._limit is None or len(self.drained.runs) < self._limit:
                for periodic in self._worker.periodics:
                    periodic.ensure(self._door)
                turn = self._look()
                if self._started:
                    yield self._body(self._started.popleft())
                elif turn.room and not turn.taken and not self._move(turn.next_at):
                    self.drained.idle = True
                    return
        finally:
            self._leave()

    def _look(self) -> Turn:
        worker = self._worker
        room = 0 if self._claimed or self._started else max(1, worker.batch)
        turn = Turn(deque(), self._claimed, 0 if self._started else 1, room, worker.batched)
        take_turn(self._door, turn, self._claim, worker.run_lease, worker.counts)
        if turn.error is not None:
            raise turn.error
        self._started.extend(turn.started)
        return turn

    def _claim(self, room: int, start: int) -> Batch:
        worker = self._worker
        return self._door.claim(worker.queues, room, worker.name, worker.lease, worker.run_lease, worker.strict, start)

    def _body(self, unit: Unit) -> Body:
        task = self._worker.tasks.get(unit[0].type)
        if isinstance(task, BatchTask):
            return BatchRun([self._begin(job) for job in unit], task)
        return self._begin(unit[0])

    def _begin(self, job: JobRecord) -> Run:
        task = self._worker.tasks.get(job.type)
        timeout = job.timeout
        if task is not None and task.timeout is not None:
            timeout = task.timeout if timeout is None else min(timeout, task.timeout)
        context = JobContext(job, self._worker.name, self._door.now(), timeout, self._door.now)
        return Run(job, job.id, job.version, task, context)

    def tell(self, ended: Ended) -> None:
        """How attempts ended. A KeyboardInterrupt is the program's, in whose thread this is: its job waits for the lease."""
        for _, verdict in ended:
            if isinstance(verdict.error, KeyboardInterrupt):
                raise verdict.error

        def told(run: Run, verdict: Verdict, status: int) -> None:
            lost = verdict.outcome == "dropped" or (status >= 300 and verdict is not TIMED_OUT)
            outcome = "lost" if lost else verdict.outcome
            job, context = run.job, run.context
            made = DrainedRun(
                job.id, job.type, job.queue, context.attempt, context.started_at, outcome, verdict.result, verdict.failure
            )
            self.drained.runs.append(made)

        settle(self._door, deque(ended), self._worker.counts, told)

    def _move(self, next_at: int | None) -> bool:
        """Moves the clock to when there may be something to do; False where that is not, or not before the end."""
        if self._clock is None:
            return False
        now = self._clock.now
        soonest = None if next_at is None else max(now, next_at)
        if self._until is not None:
            if soonest is None or soonest > self._until:
                self._clock.advance_to(self._until)
                return False
        elif soonest is None or not self._door.waiting(names_of(self._worker.queues)):
            return False
        fired = self._clock.advance_to(soonest)
        return bool(fired) or self._clock.now > now

    def _leave(self) -> None:
        """Gives back what was claimed and not run: the limit came before it."""
        for job in chain(*self._claimed):
            if job.state != "running":
                self._door.release(job.id, job.version)
                self._worker.counts.released += 1
            else:  # the claim has started this one of a batch
                self._door.snooze(job.id, job.version, 0)
        for job in chain(*self._started):
            self._door.snooze(job.id, job.version, 0)
        self._claimed.clear()
        self._started.clear()
        self.drained.now = self._door.now()
        self.drained.next_at = self._door.next_due()


def drain(worker: Worker, limit: int | None, advance: bool, until: int | None) -> Drained:
    """What `Worker.run_until_idle` does."""
    drained = _Drain(worker, limit, advance, until)
    with _Loop() as loop, closing(drained.bodies()) as bodies:
        for body in bodies:
            if body.task is not None and body.task.is_async:
                drained.tell(loop.run(run_body_async(body, worker.middleware)))
            else:
                drained.tell(run_body(body, worker.middleware))
    return drained.drained


async def drain_async(worker: Worker, limit: int | None, advance: bool, until: int | None) -> Drained:
    """What `Worker.run_until_idle_async` does."""
    drained = _Drain(worker, limit, advance, until)
    with closing(drained.bodies()) as bodies:
        for body in bodies:
            if body.task is not None and body.task.is_async:
                drained.tell(await run_body_async(body, worker.middleware))
            else:
                drained.tell(run_body(body, worker.middleware))
    return drained.drained


class _Loop:
    """An event loop for the asynchronous handlers of a drain, made when there is one."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> _Loop:
        return self

    def run(self, body: Coroutine[Any, Any, Ended]) -> Ended:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
            return self._loop.run_until_complete(body)
        body.close()
        raise RuntimeError("an event loop runs in this thread: use `await worker.run_until_idle_async()`")

    def __exit__(self, *raised: object) -> None:
        if self._loop is not None:
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
