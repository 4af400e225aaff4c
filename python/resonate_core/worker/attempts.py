"""The attempts of a running worker: begun, timed, called off, and collected when they end."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Collection, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from .bodies import BatchRun, Body, Ended, broken, run_body, run_body_async, runs_of
from .context import JobContext
from .outcomes import PUT_BACK, TIMED_OUT, Verdict
from .records import JobRecord
from .tasks import BatchTask, WorkerTask
from .threads import Threads
from .turn import Run
from .units import Unit

if TYPE_CHECKING:
    from .worker import Worker

__all__ = ["LAST_WORDS", "Attempts"]

#: How long attempts that were called off at the end of a stop have to end by themselves (s).
LAST_WORDS = 1.0


class Attempts:
    """What runs in a worker.

    Args:
        worker: Whose they are.
        loop: Where asynchronous handlers run.
        wake: Set when one has ended.

    Attributes:
        ready: What the store holds for running and waits for a slot.
        told: Ends that the store has yet to be told, in order.
    """

    def __init__(self, worker: Worker, loop: asyncio.AbstractEventLoop, wake: asyncio.Event) -> None:
        self._worker = worker
        self._door = worker.door
        self._loop = loop
        self._wake = wake
        self.ready: deque[Unit] = deque()
        self.told: deque[tuple[Run, Verdict]] = deque()
        self._running: dict[str, Run] = {}
        self._orphans: set[Run] = set()  # they run on, and nobody waits for them
        self._bodies = 0  # each in a slot
        self._ended: deque[Ended] = deque()  # from threads too
        self._signalled = False
        self._over = False
        self._stopping = False
        self._timers: list[asyncio.TimerHandle] = []
        self._threads_only = not any(task.is_async for task in worker.tasks.values())
        self._threads: Threads[Body] = Threads(worker.concurrency, self._run_in_thread, f"{worker.name}-job")

    @property
    def slots(self) -> int:
        """How many more can run, besides those that are ready."""
        return max(0, self._free - len(self.ready))

    @property
    def waiting(self) -> int:
        """How many the store holds for running that wait for a slot, or for a thread."""
        return len(self.ready) + max(0, -self._free)

    @property
    def _free(self) -> int:
        return self._worker.concurrency - self._bodies

    @property
    def idle(self) -> bool:
        """Whether all have ended and were told."""
        return not (self._running or self.told or self.ready)

    def held(self) -> list[tuple[str, int]]:
        """Id and version of each that the store believes to run here."""
        running = [(run.id, run.version) for run in self._running.values() if not run.settled]
        return running + [(job.id, job.version) for unit in self.ready for job in unit]

    def unended(self) -> list[tuple[Run, asyncio.Task[None] | None]]:
        """Those whose handler has not returned, each with its task where it runs in the loop; from any thread."""
        found: list[tuple[Run, asyncio.Task[None] | None]] = []
        for run in (*list(self._running.values()), *list(self._orphans)):
            handle = (run if run.together is None else run.together).handle
            if handle is None or not handle.done():
                found.append((run, handle))
        return found

    # -- their beginning --------------------------------------------------------------------------------------------------

    def begin_ready(self) -> None:
        """Runs as much of what is ready as there are slots for; where all handlers are for threads, these take the next one themselves."""
        count = len(self.ready) if self._threads_only else min(len(self.ready), self._free)
        if count <= 0 or self._stopping:
            return
        to_threads: list[Body] = []
        now = self._door.now()
        for _ in range(count):
            unit = self.ready.popleft()
            task = self._worker.tasks.get(unit[0].type)
            body: Body
            if isinstance(task, BatchTask):
                body = BatchRun([self._begin(job, task, now) for job in unit], task)
            else:
                body = self._begin(unit[0], task, now)
            self._bodies += 1
            if body.task is None:
                self._end(run_body(body, ()))
            elif body.task.is_async:
                body.handle = self._loop.create_task(self._run_in_loop(body))
                body.handle.add_done_callback(partial(self._never_begun, body))
            else:
                to_threads.append(body)
        if to_threads:
            self._threads.submit(to_threads)

    def _begin(self, job: JobRecord, task: WorkerTask[Any, Any] | None, now: int) -> Run:
        timeout = job.timeout
        if task is not None and task.timeout is not None:
            timeout = task.timeout if timeout is None else min(timeout, task.timeout)
        context = JobContext(job, self._worker.name, now, timeout, self._door.now)
        run = Run(job, job.id, job.version, task, context)
        older = self._running.get(run.id)
        if older is not None:  # it was lost, and came back to this worker
            older.settled = True
            self._orphans.add(older)
            self._call_off(older, "lost")
        self._running[run.id] = run
        # A server's instants are its own clock's: there a deadline is seen by the heartbeat.
        end = context.deadline if self._door.local else None if timeout is None else now + timeout
        if end is not None and not self._door.manual:
            run.timer = self._loop.call_later(max(0, end - now) / 1000, self._time_out, run)
        return run

    def _run_in_thread(self, body: Body) -> None:
        self._ended.append(run_body(body, self._worker.middleware))
        if not self._signalled and not self._over:
            self._signalled = True
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the job was put back long ago
                self._loop.call_soon_threadsafe(self._wake.set)

    async def _run_in_loop(self, body: Body) -> None:
        body.begun = True
        self._end(await run_body_async(body, self._worker.middleware))

    def _never_begun(self, body: Body, handle: asyncio.Task[None]) -> None:
        """Somebody else cancelled the task of a handler before its first step, so that it could not say how it ended."""
        if handle.cancelled() and not body.begun:
            self._end(broken(body, asyncio.CancelledError("the task of the handler was cancelled")))

    # -- their end --------------------------------------------------------------------------------------------------------

    def _end(self, ended: Ended) -> None:
        self._ended.append(ended)
        self._wake.set()

    def collect(self) -> None:
        """Frees the slots of what has ended."""
        self._signalled = False  # before the look: what ends after it wakes the pump
        while self._ended:
            self._bodies -= 1
            for run, verdict in self._ended.popleft():
                self._forget(run)
                self._tell(run, verdict)

    def _forget(self, run: Run) -> None:
        if self._running.get(run.id) is run:
            del self._running[run.id]
        else:
            self._orphans.discard(run)
        if run.timer is not None:
            run.timer.cancel()

    def take_told(self) -> deque[tuple[Run, Verdict]]:
        """What is to be told, which is the caller's from now on."""
        told, self.told = self.told, deque()
        return told

    def _tell(self, run: Run, verdict: Verdict) -> None:
        if not run.settled:
            run.settled = True
            self.told.append((run, verdict))

    # -- called off -------------------------------------------------------------------------------------------------------

    def call_off(self, ids: Collection[str], held: Collection[tuple[str, int]], reason: str) -> None:
        """Ends those that the store does not wait for any more, provided that they are the ones it was asked about."""
        wanted = set(ids)
        for id, version in held:
            run = self._running.get(id) if id in wanted else None
            if run is not None and run.version == version:
                self._call_off(run, reason)

    def _call_off(self, run: Run, reason: str) -> None:
        run.context.cancel(reason)
        body: Body = run if run.together is None else run.together
        if body.begun and not body.handle.done() and (isinstance(body, Run) or body.unwanted):
            body.handle.cancel()

    def _time_out(self, run: Run) -> None:
        """An asynchronous handler ends by it. Of a thread, or of one job in a batch, it is told at once: the slot is kept till the end."""
        self._call_off(run, "timeout")
        if run.handle is None:
            self._tell(run, TIMED_OUT)
            self._wake.set()

    # -- a stop -----------------------------------------------------------------------------------------------------------

    def stop(self, grace: float) -> None:
        """Gives what runs so many seconds. A second call can only make it shorter."""
        self._stopping = True
        for run in self._running.values():
            run.context.stopping = True
        if self._timers and self._timers[0].when() <= self._loop.time() + grace:
            return
        for timer in self._timers:
            timer.cancel()
        self._timers = [
            self._loop.call_later(grace, self._call_off_all),
            self._loop.call_later(grace + LAST_WORDS, self._put_back),
        ]

    def put_back_ready(self) -> None:
        """Those that have not begun are had again by whoever claims next."""
        while self.ready:
            self.put_back(self.ready.popleft())
        for body in self._threads.withdraw():
            self._bodies -= 1
            for run in runs_of(body):
                self._forget(run)
                self._tell(run, PUT_BACK)

    def put_back(self, jobs: Iterable[JobRecord]) -> None:
        """Tells the store of jobs that it holds for running, and that have not begun."""
        for job in jobs:
            context = JobContext(job, self._worker.name, 0, None, self._door.now)
            self.told.append((Run(job, job.id, job.version, None, context), PUT_BACK))

    def _call_off_all(self) -> None:
        for run in self._running.values():
            self._call_off(run, "stopping")

    def _put_back(self) -> None:
        """What still runs has to be done again by somebody."""
        for run in self._running.values():
            self._tell(run, PUT_BACK)
            self._orphans.add(run)
        self._running.clear()
        self._wake.set()

    def close(self) -> None:
        """Ends what is left, where a stop was none: the threads that have nothing to do, timers, asynchronous handlers."""
        self._over = True
        for timer in self._timers:
            timer.cancel()
        for run in (*self._running.values(), *self._orphans):
            if run.timer is not None:
                run.timer.cancel()
            self._call_off(run, "stopping")
        self._threads.close()
