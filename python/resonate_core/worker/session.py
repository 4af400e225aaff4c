"""A running worker: its loop reports outcomes, claims jobs and runs them, until it is stopped."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from ..base.standstills import HeldSlot, Standstill, note, standstill_line
from ..base.stopwatch import doubled
from ..calls.serial_executor import SerialExecutor
from ..errors import ResonateError
from ..http.deadline import within
from .claim_pace import ClaimPace
from .claiming import Round, room, run_round
from .execution import WorkItem
from .executor import Executor
from .handover import own_thread, run_beside
from .job_source import MOST, Held, names_of
from .losses import why_lost
from .outcomes import RELEASED
from .own_leases import OwnLeases
from .reporting import send_progress
from .settings import WorkerParts
from .store_client import StoreClient
from .target_group import TargetServer

__all__ = ["WorkerSession"]

_T = TypeVar("_T")
_log = logging.getLogger("resonate_core.worker")

#: The pause between two requests with what jobs report (s).
_PROGRESS_PAUSE = 1.0
#: The first and the longest pause between two rounds on a store that fails (s), doubled each time.
_FIRST_RETRY, _LONGEST_RETRY = 0.1, 30.0
#: The number of rounds in a row that may fail while the worker stops.
_LAST_ROUNDS = 3
#: Seconds without a free slot before the worker checks whether one can become free, and between two such checks.
_STANDSTILL = 1.0
#: The shortest and the longest pause between two checks of the periodic jobs (s).
_SHORTEST_CHECK, _LONGEST_CHECK = 0.02, 60.0
#: How long a stop waits until calls that were held back are given to other workers (s).
_GIVING_UP = 1.0
#: How many heartbeats without an answer fit into a lease, so that one that hangs is not the last.
_HEARTBEATS_OF_A_LEASE = 3


class WorkerSession:
    """One call of `Worker.serve`. All of it runs in the event loop, except for requests that take time.

    Args:
        parts: The parts of the worker.
        alone: Whether nothing else runs in the loop.

    Attributes:
        loop: Its event loop.
        executor: Runs the handlers.
        stopping: Whether it claims no more jobs.
        ready: Set once it claims jobs.
    """

    def __init__(self, parts: WorkerParts, alone: bool = False) -> None:
        self._parts = parts
        self._settings = parts.settings
        self._client = parts.client
        self.loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._progress = asyncio.Event()  # set when a running attempt has something to report
        self._sending: asyncio.Task[None] | None = None  # sends the reports; begins with the first one
        self.executor = Executor(parts, self.loop, self._wake, self._progressed)
        self._claimed: deque[WorkItem] = deque()  # claimed jobs that wait for their start
        self.stopping = False
        self._stop_asked = False  # set by any thread, before the loop knows it
        self.ready = asyncio.Event()
        self._stopped = asyncio.Event()
        self._pool = parts.environment.client_pool(parts.settings.name)
        shared = not alone or parts.registry.has_async
        self._inline = not self._client.blocking or (self._client.local and not shared)
        self._apart = not self._inline and parts.environment.beside  # a round runs beside the handlers
        self._rounds: SerialExecutor | None = None  # their thread, while the session runs
        self._pace = ClaimPace(parts, self.loop, self._wake)
        self._failed_rounds = 0  # rounds in a row that failed
        self._holding = asyncio.Event()  # cleared while there is no lease to renew
        self._held_since = 0.0  # no lease began before this time of the loop
        self._round_begun: float | None = None  # of the round under way
        self._failed: Exception | None = None
        self._full = asyncio.Event()  # no slot is free
        self.standstill: Standstill | None = None
        self._target = TargetServer(parts, self._call) if parts.settings.target_group is not None else None

    async def run(self) -> None:
        """Work until `stop` is called. A cancellation of the task that awaits this is a stop, too."""
        pace = self._pace
        pace.wakeup = self._parts.environment.wakeup(self._client, self.loop, pace.claim_now, self._settings.queues)
        events, name = self._parts.registry.events, self._settings.name
        delivered = events.delivered(self._parts.environment.handler_pool, name)
        with pace.wakeup, delivered, own_thread(f"{name}-round", wanted=self._apart) as self._rounds:
            upkeep = [self._renew_leases(), self._keep_periodic()]
            if self._parts.environment.beside:  # a simulation finds by itself what waits for ever
                upkeep.append(self._watch_slots())
            others = [self.loop.create_task(self._guard(each)) for each in upkeep]
            if self._target is not None:
                others.append(self.loop.create_task(self._guard(self._target.run())))
            claims = self.loop.create_task(self._claim_loop())
            self.ready.set()
            try:
                await asyncio.shield(claims)
                if self._failed is not None:
                    raise self._failed
            except asyncio.CancelledError:
                self.stop(self._settings.grace)
                await claims
                raise
            finally:
                if self._target is not None:
                    self._target.stop()
                    await asyncio.wait(others[-1:], timeout=_GIVING_UP)
                others += [] if self._sending is None else [self._sending]
                for task in (claims, *others):
                    task.cancel()
                await asyncio.gather(claims, *others, return_exceptions=True)
                self._note_standstill(None)
                if events:
                    await events.stop()
                await self.executor.drop_workflows()
                self.executor.close()
                self._pool.shutdown(wait=False)

    def stop(self, grace: float) -> None:
        """Claim no more jobs, and end when all handlers have ended, or after the grace (s). A second call can only shorten the grace."""
        self.stopping = self._stop_asked = True
        self.executor.stop(grace)
        if self._target is not None:
            self._target.stop()
        self._stopped.set()
        self._wake.set()

    def stop_from_outside(self, grace: float) -> None:
        """Stop from any thread. No job is claimed after this call."""
        self._stop_asked = True
        with contextlib.suppress(RuntimeError):  # its loop is closed: it has stopped
            self.loop.call_soon_threadsafe(self.stop, grace)

    async def _guard(self, upkeep: Coroutine[Any, Any, None]) -> None:
        """Run an upkeep task. If it fails, keep the error and stop the worker, because its leases may not be renewed any more."""
        try:
            await upkeep
        except Exception as error:
            self._failed = error
            self.stop(self._settings.grace)

    async def _call(self, function: Callable[..., _T], *args: Any) -> _T:
        """Call the client: in a thread if the call takes time and other tasks of the loop would wait for it."""
        if self._inline:
            return function(*args)
        return await self.loop.run_in_executor(self._pool, function, *args)

    async def _exchange(self, round: Round) -> None:
        """Run a round. If that takes time, begin the handlers that are ready meanwhile."""
        run = partial(run_round, self._parts, round, self._pace.before_claim, lambda: self._stop_asked)
        begin = self.executor.begin_ready if self.executor.begins_in_loop else None
        await (run_beside(self._rounds, run, begin) if self._rounds else self._call(run))

    # -- upkeep -----------------------------------------------------------------------------------------------------------

    async def _renew_leases(self) -> None:
        """Renew the leases of all jobs of the worker, claimed and running, and call off those that are over.

        A lease is over if the store reports it, or by the worker's own clock: an answer that does not come renews nothing.
        """
        settings, loop = self._settings, self.loop
        lease = min(settings.lease, settings.run_lease) / 1000
        longest = lease / _HEARTBEATS_OF_A_LEASE
        leases = OwnLeases(lease)
        begun = 0.0
        while True:
            if not self._holding.is_set():
                await self._holding.wait()
                leases.since, begun = self._held_since, loop.time()
            # From the beginning of the last heartbeat, so that the next one comes at once if that one had no answer.
            wake_at = max(loop.time(), min(begun + settings.heartbeat, leases.first_end))
            await asyncio.sleep(wake_at - loop.time())
            held = self._look(leases)
            if not held:
                self._holding.clear()
                continue
            begun = loop.time()
            if begun > wake_at + longest:  # the loop was held up, or the machine slept
                leases.wait_until(begun + longest)
            self._call_off_over(leases)
            renewal = loop.create_task(self._renew(leases, held, longest))
            try:
                while not renewal.done():
                    left = min(settings.heartbeat, leases.first_end - loop.time())
                    await asyncio.wait({renewal}, timeout=max(0.0, left))
                    self._look(leases)
                    self._call_off_over(leases)
                await renewal
            finally:
                renewal.cancel()

    def _look(self, leases: OwnLeases) -> list[Held]:
        """Return what is held, and note it."""
        held = self.executor.held() + [(job.id, job.version) for item in self._claimed for job in item]
        leases.look(held, self.loop.time() if self._round_begun is None else self._round_begun)
        return held

    async def _renew(self, leases: OwnLeases, held: Sequence[Held], longest: float) -> None:
        """Ask the store to renew leases; each request may take so many seconds, if the client can limit it."""
        executor, begun = self.executor, self.loop.time()
        try:
            for first in range(0, len(held), MOST):
                part = held[first : first + MOST]
                cancelled, lost = await self._call(within(longest)(self._client.heartbeat), self._settings.name, part)
                leases.renew(part, begun)
                executor.call_off(cancelled, part, "cancelled")
                await self._call_off_lost(lost, part, longest)
        except (ResonateError, OSError) as error:
            _log.error("no heartbeat: %r: %s", self._client, error)

    async def _call_off_lost(self, lost: Sequence[str], held: Sequence[Held], longest: float) -> None:
        """Call off attempts that the store has ended. It is asked which of them it timed out, within so many seconds."""
        limited = [each.context for each in self.executor.attempts(lost, held) if each.context.deadline is not None]
        self.executor.call_off(set(lost).difference(context.id for context in limited), held, "lost")
        reasons = await self._call(within(longest)(why_lost), self._client, limited) if limited else ()
        for reason in set(reasons):
            ended = [context.id for context, its in zip(limited, reasons, strict=True) if its == reason]
            self.executor.call_off(ended, held, reason)

    def _call_off_over(self, leases: OwnLeases) -> None:
        over = leases.over(self.loop.time())
        if over:  # by now other workers may hold them
            self.executor.call_off([id for id, _ in over], over, "lost")

    def _progressed(self) -> None:
        """Let `_send_progress` run. Any thread may call this."""
        if not self._progress.is_set():
            with contextlib.suppress(RuntimeError):  # its loop is closed: it has stopped
                self.loop.call_soon_threadsafe(self._note_progress)

    def _note_progress(self) -> None:
        self._progress.set()
        if self._sending is None:
            self._sending = self.loop.create_task(self._guard(self._send_progress()))

    async def _send_progress(self) -> None:
        """Send the reports of running attempts; reports made within a second are sent together."""
        failed = 0
        while True:
            await self._progress.wait()
            self._progress.clear()
            pause = doubled(_PROGRESS_PAUSE, failed, _LONGEST_RETRY)
            try:
                await self._call(send_progress, self._client, self.executor.with_progress())
                failed, pause = 0, _PROGRESS_PAUSE
            except (ResonateError, OSError) as error:
                failed += 1
                _log.error("%r: %s; reports of running jobs are sent again in %.0f s", self._client, error, pause)
                self._progress.set()
            await asyncio.sleep(pause)

    async def _keep_periodic(self) -> None:
        """Enqueue the next occurrence of each periodic job, once the one before it is due."""
        client, periodics = self._client, self._parts.registry.periodics
        while periodics:
            pause = self._settings.poll_interval if client.manual else _LONGEST_CHECK
            for periodic in periodics:
                try:
                    await self._call(periodic.ensure, client)
                except (ResonateError, OSError):
                    _log.exception("periodic job %r could not be enqueued", periodic.name)
                    continue
                following = periodic.pause(client.now(), self._settings.poll_interval)
                if following is not None and not client.manual:
                    pause = min(pause, following)
            await asyncio.sleep(max(_SHORTEST_CHECK, pause))

    async def _watch_slots(self) -> None:
        """Log once if the worker stands still: no slot is free, and none can become free until another job has run here."""
        while True:
            await self._full.wait()
            await asyncio.sleep(_STANDSTILL)
            if self._full.is_set():
                self._note_standstill(await self._held_up())

    async def _held_up(self) -> list[HeldSlot] | None:
        held = None if self.stopping else self.executor.held_up()
        own = {slot.id for slot in held or ()}
        for slot in held or ():
            if slot.reason is None and not any([await self._waits_here(id, own) for id in slot.awaits]):
                return None
        return held if self._full.is_set() else None

    async def _waits_here(self, id: str, own: Collection[str]) -> bool:
        """Whether a job waits for a slot of this worker, or has one of its slots. Another worker may have one for it, too."""
        if id in own:
            return True
        try:
            job = await self._call(self._client.get, id)
        except (ResonateError, OSError):  # for example a promise that a client settles
            return False
        if job.state == "pending":
            return job.queue in names_of(self._settings.queues)
        return job.state in ("claimed", "running") and job.claimed_by == self._settings.name

    def _note_standstill(self, held: list[HeldSlot] | None) -> None:
        name, before = self._settings.name, self.standstill
        if held is None and before is None:
            return
        found = None
        if held is None:
            _log.info("worker %r does not stand still any more", name)
            self.executor.report_waiting(f"worker {name!r} has a free slot again")
        else:
            since = self._client.now() if before is None else before.since
            found = Standstill(name, tuple(names_of(self._settings.queues)), since, tuple(held))
            if before is None:
                self._parts.counts.standstills += 1
                _log.warning(
                    "%s. It claims nothing until one of them returns. A function that takes long has to look at JobContext.cancelled, and "
                    "jobs that others wait for need slots of their own: a queue and a worker for them, or a higher concurrency",
                    found.sentence(),
                )
                self.executor.report_waiting(standstill_line(name))
        if isinstance(self._client, StoreClient):
            note(self._client.store, name, found)
        self.standstill = found  # set last, so that its readers find all that is above

    # -- the claim loop ---------------------------------------------------------------------------------------------------

    async def _claim_loop(self) -> None:
        executor = self.executor
        waited = True  # since the last round
        while True:
            self._wake.clear()
            executor.collect()
            if self.stopping:
                executor.put_back_ready()
                await self._release()
                if executor.idle:
                    return
            apart = self._apart and executor.begins_in_loop
            if not apart:
                executor.begin_ready()
            slots = 0 if self.stopping else executor.slots
            if executor.slots and self._full.is_set():
                self._full.clear()
                self._note_standstill(None)
            room = self._room(slots)
            claims = room if executor.unreported or (room and self.loop.time() >= self._pace.next_at) else 0
            if executor.unreported or claims or (slots and self._claimed):
                if self._inline and not waited:
                    await asyncio.sleep(0)  # so that a busy worker lets other tasks of the loop run
                waited = False
                await self._round(slots, claims)
            else:
                if apart:
                    executor.begin_ready()
                await self._wait(room)
                waited = True

    def _room(self, slots: int) -> int:
        """Return how many jobs to claim."""
        here = len(self._claimed) + self.executor.waiting
        return 0 if self.stopping else room(slots, here, self._settings.batch, apart=self._apart)

    async def _round(self, slots: int, room: int) -> None:
        round = Round(self.executor.take_unreported(), deque(self._claimed), slots, room)
        begun = self._round_begun = self.loop.time()
        try:
            await self._exchange(round)
        finally:
            self.executor.unreported.extendleft(reversed(round.ended))
            self._claimed = round.claimed
            self.executor.ready.extend(round.started)
            self._round_begun = None
        if not self._holding.is_set() and (self._claimed or self.executor.ready):
            self._held_since = begun
            self._holding.set()
        if round.error is not None:
            self.executor.begin_ready()
            await self._recover(round.error)
            return
        self._failed_rounds = 0
        if room:
            self._pace.after_claim(round, room)

    async def _recover(self, error: Exception) -> None:
        """Wait before the next try of a store that fails, each time twice as long."""
        pause = doubled(_FIRST_RETRY, self._failed_rounds, _LONGEST_RETRY)
        self._failed_rounds += 1
        self._pace.next_at = 0.0
        if self.stopping:
            if self._failed_rounds >= _LAST_ROUNDS:
                raise error
            await asyncio.sleep(_FIRST_RETRY)
            return
        _log.error("%r: %s; again in %.1f s", self._client, error, pause)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._stopped.wait(), pause)

    async def _wait(self, room: int) -> None:
        """Wait until a handler ended, the store has something to claim, or it is time for the next claim."""
        if not self.executor.slots:
            self._full.set()
        timer = None
        if room and self._pace.next_at < math.inf:
            timer = self.loop.call_later(max(0.0, self._pace.next_at - self.loop.time()), self._wake.set)
        try:
            await self._wake.wait()
            # Lets the threads run, so that handlers that are about to end are reported in the same round.
            await asyncio.sleep(0)
        finally:
            if timer is not None:
                timer.cancel()

    async def _release(self) -> None:
        """Give back jobs that were claimed and not started."""
        while self._claimed:
            item = self._claimed.popleft()
            self.executor.put_back(job for job in item if job.state == "running")
            held = [(job.id, job.version) for job in item if job.state != "running"]
            try:
                while held:
                    released = len(await self._call(self._client.end_many, held, RELEASED))
                    self._parts.counts.released += released
                    del held[:released]
            except (ResonateError, OSError) as error:
                _log.warning("job %s could not be released; its lease will expire: %s", held[0][0], error)
