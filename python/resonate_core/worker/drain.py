"""`run_until_idle`: runs all jobs that can run, one after the other, in the caller's thread, and can move a manual clock."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Coroutine, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeVar

from .._core import ManualClock
from ..errors import Invalid, NotFound, Unsupported
from .claiming import Round, run_round
from .execution import Attempt, Ended, Execution, WorkItem, begin
from .job_source import WAITING, names_of
from .option_values import flag, whole
from .outcomes import PUT_BACK, RELEASED, TIMED_OUT, Failure, Outcome
from .reporting import report
from .settings import WorkerParts
from .store_client import StoreClient
from .target_group import TargetGroup
from .workflows.support import WorkflowSupport

__all__ = ["Drained", "DrainedRun", "drain", "drain_async"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DrainedRun:
    """An attempt that a drain made.

    Attributes:
        id: The id of the job.
        type: The type of the job.
        queue: The queue of the job.
        attempt: Its number.
        at: When it began, in Unix ms.
        outcome: `completed`, `failed`, `snoozed` or `lost` (the job was cancelled or settled meanwhile); of a workflow also
            `suspended` (it waits) and `restarted` (by `start_over`).
        result: What the handler returned.
        error: Why it failed, or why it was snoozed for want of a handler of its type; otherwise None.
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
        idle: Whether nothing was left to do; False if the limit ended the drain.
        next_at: The next instant at which a step of the store is due, in Unix ms; None if none is known.

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
        """The number of attempts by their outcome."""
        return dict(Counter(run.outcome for run in self.runs))


class _Drain:
    """One drain: begins executions one after the other, and moves the clock between them if that was asked for."""

    def __init__(self, parts: WorkerParts, limit: int | None, advance: bool, until: int | None) -> None:
        if not isinstance(parts.client, StoreClient):
            raise Unsupported("run_until_idle is for a store in this process: the jobs of a server are run by run() or serve()")
        if limit is not None:
            whole("limit", limit, 0)
        self._parts = parts
        self._client = parts.client
        self._limit = limit
        self._until = None if until is None else whole("until", until)
        self._clock = self._movable(flag("advance", advance) or until is not None)
        self._claimed: deque[WorkItem] = deque()
        self._started: deque[WorkItem] = deque()
        self._without_handler: set[str] = set()  # ids of jobs
        self._workflows = WorkflowSupport(parts.client, parts.settings.steps, live=False, beside=False, name=parts.settings.name)
        group, name = parts.settings.target_group, parts.settings.name
        self._inbox = None if group is None else self._client.inbox(group, name, -1)
        self._target = None if self._inbox is None else TargetGroup(parts, self._inbox, lambda: self._client.now() / 1000)
        self.drained = Drained()

    def _movable(self, advance: bool) -> ManualClock | None:
        if not advance:
            return None
        clock = self._client.store.clock
        if not isinstance(clock, ManualClock):
            raise Invalid(f"only a ManualClock can be advanced, and the store has {clock!r}")
        if self._until is not None and self._until < clock.now:
            raise Invalid(f"until is {self._until}, and it is {clock.now} already")
        if self._until is None and self._limit is None and self._parts.registry.periodics:
            raise Invalid("periodic jobs never end: advance=True needs until or limit")
        return clock

    def executions(self) -> Generator[Execution, None, None]:
        """Yield executions. The caller runs and reports each of them before it takes the next one."""
        name, tasks, client = self._parts.settings.name, self._parts.registry.tasks, self._client
        try:
            while self._limit is None or len(self.drained.runs) < self._limit:
                for periodic in self._parts.registry.periodics:
                    periodic.ensure(client)
                self._serve_calls()
                round = self._round()
                if self._started:
                    yield begin(
                        self._started.popleft(), tasks, name, client.now(), client.now, self._parts.scope, client, self._workflows
                    )
                elif round.room and not round.taken and not self._serve_calls() and not self._move(round.next_at):
                    self.drained.idle = True
                    return
        finally:
            self._leave()

    def _serve_calls(self) -> bool:
        """Handle the messages to the worker's group; return whether there were any."""
        return self._target is not None and self._target.round()

    def _round(self) -> Round:
        room = 0 if self._claimed or self._started else max(1, self._parts.settings.batch)
        round = Round(deque(), self._claimed, 0 if self._started else 1, room)
        run_round(self._parts, round)
        if round.error is not None:
            raise round.error
        self._started.extend(round.started)
        return round

    def report(self, ended: Ended) -> None:
        """Report how attempts ended. A KeyboardInterrupt is raised in the program, and its job waits until the lease ends."""
        for _, outcome in ended:
            if isinstance(outcome.error, KeyboardInterrupt):
                raise outcome.error
        report(self._client, deque(ended), self._parts.counts, self._seen)

    def _seen(self, attempt: Attempt, outcome: Outcome, status: int) -> None:
        if self._parts.registry.events:
            self._parts.registry.events.ended(attempt, outcome, status)
        lost = outcome.kind == "dropped" or (status >= 300 and outcome is not TIMED_OUT)
        job, context = attempt.job, attempt.context
        if outcome.kind == "snoozed" and outcome.failure is not None:
            self._without_handler.add(job.id)
        else:
            self._without_handler.discard(job.id)
        self.drained.runs.append(
            DrainedRun(
                id=job.id,
                type=job.type,
                queue=job.queue,
                attempt=context.attempt,
                at=context.started_at,
                outcome="lost" if lost else outcome.kind,
                result=outcome.result,
                error=outcome.failure,
            )
        )

    def _move(self, next_at: int | None) -> bool:
        """Move the clock to the next instant at which there may be something to do. Return False if there is none."""
        if self._clock is None:
            return False
        now = self._clock.now
        soonest = None if next_at is None else max(now, next_at)
        if self._until is not None:
            if soonest is None or soonest > self._until:
                self._clock.advance_to(self._until)
                return False
        elif soonest is None or not self._others_wait():
            return False
        fired = self._clock.advance_to(soonest)
        return bool(fired) or self._clock.now > now

    def _others_wait(self) -> bool:
        """Return whether jobs wait that have a handler: for a job without one, no move of the clock helps."""
        queues = names_of(self._parts.settings.queues)
        handled = self._client.waiting(queues) > sum(self._waits(id) for id in self._without_handler)
        return handled or self._client.awaits_time(queues)

    def _waits(self, id: str) -> bool:
        try:
            return self._client.get(id).state in WAITING
        except NotFound:
            return False

    def _leave(self) -> None:
        """Give back claimed jobs that were not run because of the limit."""
        for job in chain(*self._claimed):
            running = job.state == "running"  # a job of a batch that the claim has started
            self._client.end_many([(job.id, job.version)], PUT_BACK if running else RELEASED)
            self._parts.counts.released += not running
        for job in chain(*self._started):
            self._client.end_many([(job.id, job.version)], PUT_BACK)
        self._claimed.clear()
        self._started.clear()
        if self._inbox is not None:
            self._inbox.close()
        if self._parts.registry.events:
            self._parts.registry.events.look()  # report what the last move of the clock did
        self.drained.now = self._client.now()
        self.drained.next_at = self._client.next_due()


def drain(parts: WorkerParts, limit: int | None, advance: bool, until: int | None) -> Drained:
    """Do what `Worker.run_until_idle` describes."""
    draining, middleware = _Drain(parts, limit, advance, until), parts.registry.around_handlers
    with _Loop() as loop, closing(draining.executions()) as executions:
        for execution in executions:
            if execution.is_async:
                ended = execution.scope.run(loop.run, execution.run_async(middleware))
            else:
                ended = execution.run(middleware, loop.run)
            draining.report(ended)
    return draining.drained


async def drain_async(parts: WorkerParts, limit: int | None, advance: bool, until: int | None) -> Drained:
    """Do what `Worker.run_until_idle_async` describes."""
    draining, middleware = _Drain(parts, limit, advance, until), parts.registry.around_handlers
    with closing(draining.executions()) as executions:
        for execution in executions:
            ended = await execution.scope.run(asyncio.ensure_future, execution.run_async(middleware))
            draining.report(ended)
    return draining.drained


class _Loop:
    """An event loop for asynchronous handlers; the first of them makes it."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def __enter__(self) -> _Loop:
        return self

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if _runs_a_loop():
            coroutine.close()
            raise RuntimeError("an event loop runs in this thread: use `await worker.run_until_idle_async()`")
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(coroutine)

    def __exit__(self, kind: type[BaseException] | None, *_raised: object) -> None:
        if self._loop is not None:
            try:
                if kind is KeyboardInterrupt:  # Ctrl-C, which left handlers where they were
                    _cancel_all(self._loop)
                self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            finally:
                self._loop.close()


def _cancel_all(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the tasks of an event loop, and run them to their ends, as `asyncio.run` does."""
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks))


def _runs_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
