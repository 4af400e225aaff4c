"""The attempts of a running worker: begun, timed, called off, and collected when they end."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Collection
from typing import TYPE_CHECKING

from .context import JobContext
from .execution import called_off, execute, execute_async
from .outcomes import PUT_BACK, TIMED_OUT, Verdict, unknown_type
from .records import JobRecord
from .threads import Threads
from .turn import Run

if TYPE_CHECKING:
    from .worker import Worker

__all__ = ["Attempts"]

#: How long attempts that were called off at the end of a stop have to end by themselves (s).
_LAST_WORDS = 1.0


class Attempts:
    """What runs in a worker.

    Args:
        worker: Whose they are.
        loop: Where asynchronous handlers run.
        wake: Set when one has ended.

    Attributes:
        ready: Jobs that the store holds for running and that wait for a slot.
        told: Ends that the store has yet to be told, in order.
    """

    def __init__(self, worker: Worker, loop: asyncio.AbstractEventLoop, wake: asyncio.Event) -> None:
        self._worker = worker
        self._loop = loop
        self._wake = wake
        self.ready: deque[JobRecord] = deque()
        self.told: deque[tuple[Run, Verdict]] = deque()
        self._running: dict[str, Run] = {}
        self._orphans: set[Run] = set()  # they run on, and nobody waits for them
        self._ended: deque[tuple[Run, Verdict]] = deque()  # from threads too
        self._signalled = False
        self._over = False
        self._stopping = False
        self._timers: list[asyncio.TimerHandle] = []
        self._threads_only = not any(task.is_async for task in worker.tasks.values())
        self._threads: Threads[Run] = Threads(worker.concurrency, self._run_in_thread, f"{worker.name}-job")

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
        return self._worker.concurrency - len(self._running) - len(self._orphans)

    @property
    def idle(self) -> bool:
        """Whether all have ended and were told."""
        return not (self._running or self.told or self.ready)

    def held(self) -> list[tuple[str, int]]:
        """Id and version of each that the store believes to run here."""
        running = [(run.id, run.version) for run in self._running.values() if not run.settled]
        return running + [(job.id, job.version) for job in self.ready]

    # -- their beginning --------------------------------------------------------------------------------------------------

    def begin_ready(self) -> None:
        """Runs as many of the ready ones as there are slots for; where all handlers are for threads, these take the next one themselves."""
        count = len(self.ready) if self._threads_only else min(len(self.ready), self._free)
        if count <= 0 or self._stopping:
            return
        to_threads = []
        now = self._worker.door.now()
        for _ in range(count):
            run = self._begin(self.ready.popleft(), now)
            if run.task is None:
                self._end(run, Verdict("failed", failure=unknown_type(self._worker.name, run.job.type)))
            elif run.task.is_async:
                run.handle = self._loop.create_task(self._run_in_loop(run))
            else:
                to_threads.append(run)
        if to_threads:
            self._threads.submit(to_threads)

    def _begin(self, job: JobRecord, now: int) -> Run:
        task = self._worker.tasks.get(job.type)
        timeout = job.timeout
        if task is not None and task.timeout is not None:
            timeout = task.timeout if timeout is None else min(timeout, task.timeout)
        context = JobContext(job, self._worker.name, now, timeout, self._worker.door.now)
        run = Run(job, job.id, job.version, task, context)
        older = self._running.get(run.id)
        if older is not None:  # it was lost, and came back to this worker
            older.settled = True
            self._orphans.add(older)
            self._call_off(older, "lost")
        self._running[run.id] = run
        # A server's instants are its own clock's: there a deadline is seen by the heartbeat.
        end = context.deadline if self._worker.door.local else None if timeout is None else now + timeout
        if end is not None and not self._worker.door.manual:
            run.timer = self._loop.call_later(max(0, end - now) / 1000, self._time_out, run)
        return run

    def _run_in_thread(self, run: Run) -> None:
        assert run.task is not None
        reason = run.context.reason  # it may have been called off while it waited for a thread
        if reason is None:
            verdict = execute(run.task, run.context, self._worker.middleware)
        else:
            verdict = called_off(reason)
        self._ended.append((run, verdict))
        if not self._signalled and not self._over:
            self._signalled = True
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the job was put back long ago
                self._loop.call_soon_threadsafe(self._wake.set)

    async def _run_in_loop(self, run: Run) -> None:
        assert run.task is not None
        self._end(run, await execute_async(run.task, run.context, self._worker.middleware))

    # -- their end --------------------------------------------------------------------------------------------------------

    def _end(self, run: Run, verdict: Verdict) -> None:
        self._ended.append((run, verdict))
        self._wake.set()

    def collect(self) -> None:
        """Frees the slots of those that ended."""
        self._signalled = False  # before the look: what ends after it wakes the pump
        while self._ended:
            run, verdict = self._ended.popleft()
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
        if run.handle is not None and not run.handle.done():
            run.handle.cancel()

    def _time_out(self, run: Run) -> None:
        """An asynchronous handler ends by it. For a thread it is told at once: it keeps its slot until its handler returns."""
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
            self._loop.call_later(grace + _LAST_WORDS, self._put_back),
        ]

    def put_back_ready(self) -> None:
        """Those that have not begun are had again by whoever claims next."""
        while self.ready:
            job = self.ready.popleft()
            context = JobContext(job, self._worker.name, 0, None, self._worker.door.now)
            self.told.append((Run(job, job.id, job.version, None, context), PUT_BACK))
        for run in self._threads.withdraw():
            self._forget(run)
            self._tell(run, PUT_BACK)

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
