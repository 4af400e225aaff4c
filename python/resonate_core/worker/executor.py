"""The slots of a running worker. A handler takes a slot, may time out or be called off, and frees the slot when it ends."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any

from .._core import Job
from ..base.standstills import HeldSlot
from .execution import Attempt, Awaited, Ended, Execution, Middleware, WorkItem, begin
from .job_source import Held
from .losses import reason_of_loss
from .outcomes import PUT_BACK, TIMED_OUT, Outcome
from .settings import WorkerParts
from .workflows.support import WorkflowSupport

__all__ = ["CANCEL_TIMEOUT", "Executor"]

#: Seconds that a stop waits for the attempts that it has called off, before it puts their jobs back.
CANCEL_TIMEOUT = 1.0
#: The most asynchronous handlers that begin in one pass of the event loop, so that its other tasks, and the claim loop, which reports
#: the first of these handlers while the next ones run, do not wait for all of them.
_BEGUN_AT_ONCE = 100


class Executor:
    """Runs the handlers of a worker. Everything runs in the event loop, except for synchronous handlers.

    Args:
        parts: Of the worker.
        loop: The loop in which asynchronous handlers run.
        wake: Set when a handler has ended.
        progressed: Called, from any thread, when a running attempt has something to report.

    Attributes:
        ready: Work items that are running for the store, and wait for a slot here.
        unreported: Outcomes that were not reported to the store yet, in order.
    """

    def __init__(
        self, parts: WorkerParts, loop: asyncio.AbstractEventLoop, wake: asyncio.Event, progressed: Callable[[], None]
    ) -> None:
        self._settings = parts.settings
        self._registry = parts.registry
        self._client = parts.client
        self._loop = loop
        self._wake = wake
        self._progressed = progressed
        self._scope = parts.scope
        self._beside = parts.environment.beside
        self._around: list[Middleware] = []  # around each handler
        self._workflows = WorkflowSupport(
            parts.client, parts.settings.steps, live=True, beside=self._beside, name=parts.settings.name, later=self._later
        )
        self.ready: deque[WorkItem] = deque()
        self.unreported: deque[tuple[Attempt, Outcome]] = deque()
        self._running: dict[str, Attempt] = {}
        self._orphans: dict[Attempt, None] = {}  # attempts that still run, and whose outcome the worker ignores; in order
        self._free = parts.settings.concurrency  # free slots; below 0 if more calls wait for threads than there are slots
        self._ended: deque[Ended] = deque()  # threads append to it, too
        # What threads wait for; threads write to it, too. The coroutine stands here until it has a task.
        self._finishing: dict[Future[Awaited], Coroutine[Any, Any, Awaited] | None] = {}
        self._signalled = False
        self._over = False
        self._stopping = False
        self._timers: list[asyncio.TimerHandle] = []
        self._threads_only = not parts.registry.has_async
        self._eager = False
        self._beginning: asyncio.Handle | None = None  # begins the next handlers, in the next pass of the event loop
        settings = parts.settings
        self._pool = parts.environment.handler_pool(settings.concurrency, self._run_in_thread, f"{settings.name}-job")

    def _later(self, seconds: float, function: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: the worker has ended
            self._loop.call_soon_threadsafe(self._loop.call_later, seconds, function)

    @property
    def slots(self) -> int:
        """The number of free slots that no ready work item will take."""
        return max(0, self._free - len(self.ready))

    @property
    def waiting(self) -> int:
        """The number of started work items that wait for a slot or a thread, if all free slots are taken."""
        return max(0, len(self.ready) - self._free)

    @property
    def begins_in_loop(self) -> bool:
        """Whether the next call of `begin_ready` begins handlers that run in the event loop."""
        return bool(self.ready) and self._free > 0 and not self._threads_only

    @property
    def idle(self) -> bool:
        """Whether all attempts have ended and were reported."""
        return not (self._running or self.unreported or self.ready)

    def held(self) -> list[Held]:
        """Return id and version of each job that this worker has started and not reported."""
        running = [(attempt.id, attempt.version) for attempt in self._running.values() if not attempt.reported]
        return running + [(job.id, job.version) for item in self.ready for job in item]

    def with_progress(self) -> list[Attempt]:
        """Return the running attempts with reports that were not sent yet."""
        return [attempt for attempt in self._running.values() if attempt.context.progress and not attempt.reported]

    def unended(self) -> list[Attempt]:
        """Return the attempts whose handler has not returned. Any thread may call this."""
        found = (*list(self._running.values()), *list(self._orphans))
        return [each for each in found if each.execution.handle is None or not each.execution.handle.done()]

    def held_up(self) -> list[HeldSlot] | None:
        """Return the slots if all are held by handlers that wait for other jobs or whose attempts are over; otherwise None."""
        executions = {attempt.execution: None for attempt in (*self._running.values(), *self._orphans)}
        running = [each for each in executions if each.begun and each.attempts]  # the others wait for a thread
        if len(running) < self._settings.concurrency or any(each.handle is not None and not each.begun for each in executions):
            return None
        held = []
        for each in running:
            awaited = tuple(each.awaits)
            if each.over is None and not awaited:
                return None
            job = each.attempts[0].job
            held.append(HeldSlot(job.id, job.type, each.over, awaited))
        return held

    def report_waiting(self, text: str) -> None:
        """Add a line to the report of each job that is still wanted and whose handler waits for other jobs."""
        for attempt in list(self._running.values()):
            if attempt.context.reason is None and not attempt.reported and attempt.execution.awaits:
                attempt.context.report(text)

    # -- begin ------------------------------------------------------------------------------------------------------------

    def begin_ready(self) -> None:
        """Run as many ready work items as there are slots; if they are many, the others in the next passes of the event loop.

        If all handlers are synchronous, submit all: the threads take them in order.
        """
        count = len(self.ready) if self._threads_only else min(len(self.ready), self._free, _BEGUN_AT_ONCE)
        if count <= 0 or self._stopping:
            return
        self._around = self._registry.around_handlers
        self._eager = self._beside and self._loop.get_task_factory() is None  # a simulation has a loop of its own
        for_threads: list[Execution] = []
        now = self._client.now()
        for _ in range(count):
            item = self.ready.popleft()
            execution = begin(
                item, self._registry.tasks, self._settings.name, now, self._client.now, self._scope, self._client, self._workflows
            )
            for attempt in execution.attempts:
                self._began(attempt, now)
            self._free -= 1
            task = execution.task
            if task is None:
                self._end(execution.run((), partial(self._finish, execution)))
            elif task.is_async or (task.may_return_coroutine and not self._beside):
                self._begin_in_loop(execution)
            else:
                for_threads.append(execution)
        if for_threads:
            self._pool.submit(for_threads)
        if self.begins_in_loop and self._beginning is None:
            self._beginning = self._loop.call_soon(self._begin_next)

    def _begin_next(self) -> None:
        self._beginning = None
        self.begin_ready()

    def _began(self, attempt: Attempt, now: int) -> None:
        older = self._running.get(attempt.id)
        if older is not None:  # this worker has lost the job, and has claimed it again
            older.reported = True
            self._orphans[older] = None
            self._call_off(older, reason_of_loss(older.context, attempt.job))
        self._running[attempt.id] = attempt
        attempt.context.notify = self._progressed
        # The instants of a server are those of its clock: there the heartbeat reports a deadline.
        timeout = attempt.context.timeout
        end = attempt.context.deadline if self._client.local else None if timeout is None else now + timeout
        if end is not None and not self._client.manual:
            attempt.timer = self._loop.call_later(max(0, end - now) / 1000, self._time_out, attempt)

    def _begin_in_loop(self, execution: Execution) -> None:
        """Create the task of a handler. It begins at once, unless the program has its own way to make tasks, or Python is older than 3.12.

        A handler that never waits has then ended without a pass of the event loop.
        """
        if sys.version_info >= (3, 12) and self._eager and not execution.is_workflow:
            execution.handle = asyncio.Task(
                self._run_in_loop(execution), loop=self._loop, context=execution.scope, eager_start=True
            )
            return
        execution.handle = execution.scope.run(self._loop.create_task, self._run_in_loop(execution))
        execution.handle.add_done_callback(partial(self._never_begun, execution))

    def _run_in_thread(self, execution: Execution) -> None:
        self._ended.append(execution.run(self._around, partial(self._finish, execution)))
        if not self._signalled and not self._over:
            self._signalled = True
            try:
                self._loop.call_soon_threadsafe(self._wake.set)
            except RuntimeError:
                return  # the loop is closed, and the job was put back long ago

    def _finish(self, execution: Execution, made: Coroutine[Any, Any, Awaited]) -> Awaited:
        """Await in the loop, for a thread, what its handler has returned. After `close` this fails, since the loop may not run any more."""
        if not self._beside:
            made.close()
            raise RuntimeError("a handler without threads must be asynchronous, or a wrapper by functools.wraps, to be awaited")
        ended: Future[Awaited] = Future()

        def begin_in_loop() -> None:
            if ended.done():
                return
            self._finishing[ended] = None
            execution.finishing = self._loop.create_task(made)
            execution.finishing.add_done_callback(partial(_pass_on, ended))
            execution.cancel_if_unwanted()  # it may have been called off since the thread asked

        self._finishing[ended] = made
        try:
            if self._over:  # set before `close` reads `_finishing`
                raise RuntimeError("the worker has ended, and the job was put back long ago")
            self._loop.call_soon_threadsafe(begin_in_loop)  # raises if the loop is closed
        except RuntimeError:
            del self._finishing[ended]
            made.close()
            raise
        try:
            return ended.result()
        finally:
            del self._finishing[ended]

    async def _run_in_loop(self, execution: Execution) -> None:
        self._end(await execution.run_async(self._around))

    def _never_begun(self, execution: Execution, handle: asyncio.Task[None]) -> None:
        """End a handler whose task was cancelled from outside before its first step, and that therefore has no outcome."""
        if handle.cancelled() and not execution.begun:
            self._end(execution.broken(asyncio.CancelledError("the task of the handler was cancelled")))

    # -- end --------------------------------------------------------------------------------------------------------------

    def _end(self, ended: Ended) -> None:
        self._ended.append(ended)
        self._wake.set()

    def collect(self) -> None:
        """Free the slots of the handlers that have ended."""
        self._signalled = False  # cleared first: a handler that ends from here on wakes the claim loop
        while self._ended:
            self._free += 1
            for attempt, outcome in self._ended.popleft():
                self._forget(attempt)
                self._report(attempt, outcome)

    def _forget(self, attempt: Attempt) -> None:
        if self._running.get(attempt.id) is attempt:
            del self._running[attempt.id]
        else:
            self._orphans.pop(attempt, None)
        if attempt.timer is not None:
            attempt.timer.cancel()
        attempt.execution.attempts = []  # breaks the circle, so that both are freed without the garbage collector

    def take_unreported(self) -> deque[tuple[Attempt, Outcome]]:
        """Return the outcomes that must be reported, and forget them."""
        unreported, self.unreported = self.unreported, deque()
        return unreported

    def _report(self, attempt: Attempt, outcome: Outcome) -> None:
        if not attempt.reported:
            attempt.reported = True
            self.unreported.append((attempt, outcome))

    # -- call off ---------------------------------------------------------------------------------------------------------

    def attempts(self, ids: Collection[str], held: Collection[Held]) -> list[Attempt]:
        """Return the attempts of these jobs that run, if they still have the versions that the store was asked about."""
        wanted = set(ids)
        found = [(self._running.get(id), version) for id, version in held if id in wanted]
        return [attempt for attempt, version in found if attempt is not None and attempt.version == version]

    def call_off(self, ids: Collection[str], held: Collection[Held], reason: str) -> None:
        """Call off the attempts of these jobs, if they still have the versions that the store was asked about."""
        for attempt in self.attempts(ids, held):
            self._call_off(attempt, reason)

    def _call_off(self, attempt: Attempt, reason: str) -> None:
        attempt.context.cancel(reason)
        attempt.execution.cancel_if_unwanted()

    def _time_out(self, attempt: Attempt) -> None:
        """Cancel an asynchronous handler. A handler in a thread or of a batch may keep its slot; the timeout of its job is reported now."""
        self._call_off(attempt, "timeout")
        if attempt.execution.handle is None or attempt.execution.is_batch:
            self._report(attempt, TIMED_OUT)
            self._wake.set()

    # -- stop -------------------------------------------------------------------------------------------------------------

    def stop(self, grace: float) -> None:
        """Give running handlers a grace (s). A second call can only shorten it."""
        self._stopping = True
        self.put_back_ready()  # first: a handler that sees that the worker stops may return at once, and its thread would begin the next
        for attempt in self._running.values():
            attempt.context.stopping = True
        if self._timers and self._timers[0].when() <= self._loop.time() + grace:
            return
        for timer in self._timers:
            timer.cancel()
        self._timers = [
            self._loop.call_later(grace, self._call_off_all),
            self._loop.call_later(grace + CANCEL_TIMEOUT, self._put_back_running),
        ]

    def put_back_ready(self) -> None:
        """Put back the jobs whose handler has not begun, so that any worker can claim them."""
        while self.ready:
            self.put_back(self.ready.popleft())
        for execution in self._pool.withdraw():
            self._free += 1
            for attempt in execution.attempts:
                self._forget(attempt)
                self._report(attempt, PUT_BACK)

    def put_back(self, jobs: Iterable[Job]) -> None:
        """Put back jobs that are running for the store, and whose handler has not begun."""
        for job in jobs:
            self._report(Attempt(job, self._settings.name, 0, None, self._client.now), PUT_BACK)

    def _call_off_all(self) -> None:
        for attempt in self._running.values():
            self._call_off(attempt, "stopping")

    def _put_back_running(self) -> None:
        """Put back jobs that still run: another worker runs them again."""
        for attempt in self._running.values():
            self._report(attempt, PUT_BACK)
            self._orphans[attempt] = None
        self._running.clear()
        self._wake.set()

    def parked_runs(self) -> Sequence[object]:
        """Return the runs of workflows that wait, with their coroutines."""
        return self._workflows.parked_runs()

    async def drop_workflows(self) -> None:
        """Let go of the workflows that wait; what their cleanup awaits has as long as a cancelled attempt."""
        await self._workflows.drop_all(CANCEL_TIMEOUT)

    def close(self) -> None:
        """End everything that is left: idle threads, timers, asynchronous handlers, and the waits of threads for the loop."""
        self._over = True
        if self._beginning is not None:
            self._beginning.cancel()
        for timer in self._timers:
            timer.cancel()
        for attempt in (*self._running.values(), *self._orphans):
            if attempt.timer is not None:
                attempt.timer.cancel()
            self._call_off(attempt, "stopping")
        for ended, made in list(self._finishing.items()):
            if not ended.done():
                ended.set_exception(asyncio.CancelledError("the worker has ended"))
            if made is not None:
                made.close()
        self._workflows.close()
        self._pool.close()


def _pass_on(ended: Future[Awaited], task: asyncio.Task[Awaited]) -> None:
    """Pass the result of a task to the thread that waits for it."""
    if ended.done():  # the worker has ended
        return
    if task.cancelled():
        ended.set_exception(asyncio.CancelledError("what the handler returned was cancelled"))
    else:
        ended.set_result(task.result())
