"""A worker that runs: it claims, runs and reports until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from .._stopwatch import doubled, seconds
from ..errors import ResonateError
from .attempts import Attempts
from .bell import Bell
from .outcomes import RELEASED
from .turn import MOST, Turn, take_turn
from .units import Unit
from .upkeep import beat, keep_periodic

if TYPE_CHECKING:
    from .worker import Worker

__all__ = ["Session"]

_T = TypeVar("_T")
_log = logging.getLogger("resonate_core.worker")

#: The first pause between two looks at queues that had nothing (s); each next one is twice as long, up to the worker's
#: poll_interval.
_FIRST_PAUSE = 0.01
#: What is due in the store is looked for so soon at the earliest (s).
_SHORTEST_PAUSE = 0.002
#: Between two tries to reach a store that fails (s), doubled each time.
_FIRST_TROUBLE, _LONGEST_TROUBLE = 0.1, 30.0
#: How often a stop tries to reach it.
_LAST_TRIES = 3


class Session:
    """One call of `Worker.serve`: it is all in the event loop, but for calls of a store that others there would wait for.

    Args:
        worker: Whose it is.
        alone: Whether nothing else runs in the loop.

    Attributes:
        worker: Whose it is.
        door: Where its jobs are.
        attempts: What runs.
        claimed: What was claimed and waits for its start.
        stopping: Whether it claims no more.
        ready: Set once it looks for jobs.
    """

    def __init__(self, worker: Worker, alone: bool = False) -> None:
        self.worker = worker
        self.door = worker.door
        self.loop = asyncio.get_running_loop()
        self.wake = asyncio.Event()
        self.attempts = Attempts(worker, self.loop, self.wake)
        self.claimed: deque[Unit] = deque()
        self.stopping = False
        self.ready = asyncio.Event()
        self._bell: Bell
        self._stopped = asyncio.Event()
        self._calls = ThreadPoolExecutor(3, thread_name_prefix=f"{worker.name}-store")
        shared = not alone or any(task.is_async for task in worker.tasks.values())
        self._inline = not self.door.blocking or (self.door.local and not shared)
        self._look_at = 0.0  # when to claim next, by the stopwatch
        self._rang = False
        self._empty = 0  # looks in a row that found nothing
        self._trouble = 0  # turns in a row that failed
        self._failed: Exception | None = None

    async def run(self) -> None:
        """Works until `stop` is called, or the task that awaits is cancelled, which is a stop too."""
        with Bell(self.door, self.loop, self._rung) as self._bell:
            others = [self.loop.create_task(self._guard(each)) for each in (beat(self), keep_periodic(self))]
            pump = self.loop.create_task(self._pump())
            self.ready.set()
            try:
                await asyncio.shield(pump)
                if self._failed is not None:
                    raise self._failed
            except asyncio.CancelledError:
                self.stop(self.worker.grace)
                await pump
                raise
            finally:
                for task in (pump, *others):
                    task.cancel()
                await asyncio.gather(pump, *others, return_exceptions=True)
                self.attempts.close()
                self._calls.shutdown(wait=False)

    def stop(self, grace: float) -> None:
        """Claims no more, and ends when what runs has ended, or after the grace (s). A second call can only make it shorter."""
        self.stopping = True
        self.attempts.stop(grace)
        self._stopped.set()
        self.wake.set()

    async def _guard(self, upkeep: Coroutine[Any, Any, None]) -> None:
        """A worker that cannot renew its leases has to end, and says why."""
        try:
            await upkeep
        except Exception as error:
            self._failed = error
            self.stop(self.worker.grace)

    async def call(self, function: Callable[..., _T], *args: Any) -> _T:
        """A call of the store: off the loop where it takes time and somebody else is there."""
        if self._inline:
            await asyncio.sleep(0)  # a worker that has always something to do leaves the loop to others too
            return function(*args)
        return await self.loop.run_in_executor(self._calls, function, *args)

    # -- the pump ---------------------------------------------------------------------------------------------------------

    async def _pump(self) -> None:
        attempts = self.attempts
        while True:
            self.wake.clear()
            attempts.collect()
            if self.stopping:
                attempts.put_back_ready()
                await self._release()
                if attempts.idle:
                    return
            attempts.begin_ready()
            slots = 0 if self.stopping else attempts.slots
            room = self._room(slots) if attempts.told or seconds() >= self._look_at else 0
            if attempts.told or room or (slots and self.claimed):
                await self._turn(slots, room)
            else:
                await self._wait(slots)

    def _room(self, slots: int) -> int:
        """How many jobs may be claimed: none as long as half a batch is here, so that a claim is worth its transaction."""
        if self.stopping:
            return 0
        batch, here = self.worker.batch, len(self.claimed) + self.attempts.waiting
        return 0 if here > max(slots, batch // 2) else min(slots + batch - here, MOST)

    async def _turn(self, slots: int, room: int) -> None:
        turn = Turn(self.attempts.take_told(), deque(self.claimed), slots, room, self.worker.batched)
        try:
            await self.call(take_turn, self.door, turn, self._claim, self.worker.run_lease, self.worker.counts)
        finally:
            self.attempts.told.extendleft(reversed(turn.ended))
            self.claimed = turn.claimed
            self.attempts.ready.extend(turn.started)
        self.attempts.begin_ready()
        if turn.error is not None:
            await self._recover(turn.error)
            return
        self._trouble = 0
        if room:
            self._next_look(turn, room)

    def _next_look(self, turn: Turn, room: int) -> None:
        if turn.taken >= room:
            self._empty, self._look_at = 0, 0.0
            return
        self._empty = 0 if turn.taken else self._empty + 1
        pause = doubled(_FIRST_PAUSE, self._empty, self.worker.poll_interval)
        if turn.next_at is not None and not self.door.manual:
            pause = max(_SHORTEST_PAUSE, min(pause, (turn.next_at - self.door.now()) / 1000))
        self._look_at = 0.0 if self._rang else seconds() + pause

    def _claim(self, room: int, start: int) -> Any:
        worker = self.worker
        self._rang = False  # what rings from here on may be something that this look does not see
        self._bell.rearm(self.door, worker.poll_interval)
        return self.door.claim(worker.queues, room, worker.name, worker.lease, worker.run_lease, worker.strict, start)

    def _rung(self) -> None:
        self._rang = True
        self._look_at = 0.0
        self._empty = 0
        self.wake.set()

    async def _recover(self, error: Exception) -> None:
        """A store that cannot be reached is tried again, ever more seldom."""
        pause = doubled(_FIRST_TROUBLE, self._trouble, _LONGEST_TROUBLE)
        self._trouble += 1
        self._look_at = 0.0
        if self.stopping:
            if self._trouble >= _LAST_TRIES:
                raise error
            await asyncio.sleep(_FIRST_TROUBLE)
            return
        _log.error("%r: %s; again in %.1f s", self.door, error, pause)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), pause)

    async def _wait(self, slots: int) -> None:
        """Until something ended, the bell rang, or it is time to look."""
        timer = None
        if self._room(slots):
            timer = self.loop.call_later(max(0.0, self._look_at - seconds()), self.wake.set)
        try:
            await self.wake.wait()
            # Whoever else is about to end is told in the same turn: this gives threads that have something to do the interpreter.
            await asyncio.sleep(0)
        finally:
            if timer is not None:
                timer.cancel()

    async def _release(self) -> None:
        """Gives back what was claimed and not started."""
        while self.claimed:
            unit = self.claimed.popleft()
            self.attempts.put_back(job for job in unit if job.state == "running")
            held = [(job.id, job.version) for job in unit if job.state != "running"]
            try:
                while held:
                    if len(held) > 1:
                        told = len(await self.call(self.door.end_many, held, RELEASED))
                    else:
                        told = 1
                        await self.call(self.door.release, *held[0])
                    self.worker.counts.released += told
                    del held[:told]
            except (ResonateError, OSError) as error:
                _log.warning("job %s could not be released and waits for its lease to run out: %s", held[0][0], error)
