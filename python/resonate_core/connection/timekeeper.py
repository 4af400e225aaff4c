"""Time for SDK programs: virtual sleep, and the driver that moves a manual clock while nothing else can happen.

asyncio runs callbacks from one queue. While a callback of this module runs and that queue is empty, every task of the loop waits for
a timer, a file descriptor or a thread, so no program can continue before time moves. The SDK then waits for a message (none is left to
deliver), for a `Connection.sleeper`, or for something real inside a durable function, for which the driver waits in real time.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import logging
import math
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from ..base.stopwatch import seconds as stopwatch
from ..calls.values import rounded_milliseconds
from .attempts import Attempts
from .delivery import SdkDelivery
from .work import Ledger, Member, Work, current_work

if TYPE_CHECKING:
    from .. import Fired

__all__ = ["ROUNDS_OF_RETRIES", "Stalled", "Timekeeper"]

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

#: Seconds between two reads of the outbox while a durable function waits for something real ...
_READ_SECONDS = 0.05
#: ... and seconds of such a wait, or of a call that drives the clock, after which a warning is logged.
_WARN_SECONDS = 10.0
#: The most rounds of one call in which a function that failed waits for its next attempt. A retry that waits for days takes thousands of
#: rounds, since its lease is renewed meanwhile; this many take some seconds, and reach a week.
ROUNDS_OF_RETRIES = 20_000
#: The most instants without an event for these programs that the driver passes in one call.
_INSTANTS_AT_ONCE = 1000


class Stalled(RuntimeError):
    """Raised where waiting is pointless: nothing is left to happen, or not before the limit, or a function only fails again and again."""


class _DriverCall:
    """One call of the driver. Tasks that the call starts keep it in their context after the call has ended."""

    active = True


_call: ContextVar[_DriverCall | None] = ContextVar("resonate_core_driver", default=None)


class _Retries:
    """The waits of held work on the store's clock: the SDK waits there between two attempts of a function."""

    __slots__ = ("count", "delay", "due")

    def __init__(self) -> None:
        self.count = 0
        self.delay = 0.0  # the last one, in seconds
        self.due = 0


class Timekeeper:
    """The time of the workers of one store and event loop.

    Args:
        delivery: Their messages.
        ledger: Their leases.
        attempts: Logs and notes the failed attempts of their functions.
    """

    def __init__(self, delivery: SdkDelivery, ledger: Ledger, attempts: Attempts) -> None:
        self._delivery = delivery
        self._ledger = ledger
        self._attempts = attempts
        self._store = delivery.store
        self._loop = delivery.loop
        self._sleepers: list[tuple[int, int, Member, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._waiting: dict[asyncio.Future[None], Work] = {}  # for another attempt
        self._retries: WeakKeyDictionary[Work, _Retries] = WeakKeyDictionary()
        self._holds = 0
        self._one_at_a_time = asyncio.Lock()
        self._active = asyncio.Event()
        ledger.waits_for_time(Timekeeper.sleep.__code__)

    # -- sleep ------------------------------------------------------------------------------------------------------

    async def sleep(self, connection: Member, seconds: float) -> None:
        """Wait in the time of the store: what a connection hands to the SDK as its sleeper.

        Held work sleeps between two attempts of a function that failed. A worker that stops does not wait for the next one, which
        may be years ahead, or on a clock that is not moved any more: such work is cancelled.
        """
        work = current_work.get()
        again = work is not None and work.task_id is not None
        due = self._store.now + max(0, math.ceil(seconds * 1000))
        if work is not None and again:
            retries = self._retries.setdefault(work, _Retries())
            retries.count, retries.delay, retries.due = retries.count + 1, seconds, due
            self._attempts.waits(work, due)
            if connection.stopped:
                self._given_up(work)
                raise asyncio.CancelledError
        woken = self._loop.create_future()
        timer = None
        if self._delivery.manual:
            heapq.heappush(self._sleepers, (due, next(self._order), connection, woken))
            self.note_activity()
        else:
            timer = self._loop.call_later(max(0.0, seconds), _wake, woken)
        if work is not None and again:
            self._waiting[woken] = work
        try:
            await woken
        finally:
            self._waiting.pop(woken, None)
            if timer is not None:
                timer.cancel()

    def give_up(self, connection: Member) -> None:
        """Cancel the work that waits for a retry in a worker that stops: its leases expire, and other workers acquire the tasks."""
        for woken, work in list(self._waiting.items()):
            if work.connection is connection and not woken.done():
                self._given_up(work)
                woken.cancel()

    def _given_up(self, work: Work) -> None:
        _log.info(
            "%r stops: task %r is not tried again here; another worker may acquire it when its lease has expired",
            work.connection,
            work.task_id,
        )

    def wake(self) -> bool:
        """Wake the sleepers that are due, in the order of their instants. Returns whether there were any."""
        any_woken = False
        while self._sleepers and (self._sleepers[0][3].done() or self._sleepers[0][0] <= self._store.now):
            woken = heapq.heappop(self._sleepers)[3]
            if not woken.done():  # a cancelled sleeper stays in the heap until its instant
                woken.set_result(None)
                any_woken = True
        return any_woken

    def cancel(self, connection: Member) -> None:
        """Cancel the sleepers of a worker that died."""
        for _, _, sleeper, woken in self._sleepers:
            if sleeper is connection:
                woken.cancel()

    def next_instant(self) -> int | None:
        """Return the next known instant at which something happens; `None` if there is none."""
        while self._sleepers and self._sleepers[0][3].done():
            heapq.heappop(self._sleepers)
        known = [self._store.next_due(), self._delivery.next_kept()]
        if self._sleepers:
            known.append(self._sleepers[0][0])
        return min((at for at in known if at is not None), default=None)

    # -- standing still ---------------------------------------------------------------------------------------------

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep the driver from moving the clock as long as the block runs."""
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self.note_activity()

    def note_activity(self) -> None:
        """Record that a program made progress."""
        self._active.set()

    @property
    def driven(self) -> bool:
        """Whether a call of the driver is under way."""
        return self._one_at_a_time.locked()

    async def _until_idle(self) -> None:
        """Return once the event loop has nothing to run except the caller."""
        ready = getattr(self._loop, "_ready", None)
        if not isinstance(ready, deque):
            raise RuntimeError(f"manual time needs one of asyncio's own event loops, not {self._loop!r}")
        await asyncio.sleep(0)
        while ready:
            await asyncio.sleep(0)

    async def _run_instant(self, target: asyncio.Future[Any] | None = None) -> None:
        """Let the programs run until they have nothing left to do at this instant, or the target is done."""
        while True:
            await self._until_idle()
            if target is not None and target.done():
                return
            if self._delivery.deliver() or self.wake():
                continue
            if (task := self._delivery.spinning()) is not None:
                raise Stalled(
                    f"task {task!r} was offered and released again and again at t={self._store.now}: the workers that "
                    "it is offered to cannot run it (is its function registered there? the SDK's log has the reason)"
                )
            busy = self._ledger.busy(self._loop)
            if not busy and not self._holds:
                return
            await self._wait_for_something_real(busy, target)

    async def _wait_for_something_real(self, busy: dict[Any, list[asyncio.Task[Any]]], target: Any) -> None:
        self._active.clear()
        active = self._loop.create_task(self._active.wait())
        waited_for = {active, *(task for tasks in busy.values() for task in tasks)}
        if target is not None:
            waited_for.add(target)
        began = self._loop.time()
        warned = False
        try:
            while not (await asyncio.wait(waited_for, timeout=_READ_SECONDS, return_when=asyncio.FIRST_COMPLETED))[0]:
                if self._delivery.deliver():
                    return
                if not warned and self._loop.time() - began > _WARN_SECONDS:
                    warned = True
                    _log.warning("time stands still at t=%d: waiting for %s", self._store.now, list(busy) or "hold()")
        finally:
            active.cancel()

    # -- driving ----------------------------------------------------------------------------------------------------

    async def _drive(self, run: Callable[[], Awaitable[_T]]) -> _T:
        outer = _call.get()
        if outer is not None and outer.active:
            raise RuntimeError("this code runs inside a call that drives the clock already; let that one do it")
        if current_work.get() is not None:
            raise RuntimeError("a durable function cannot drive the clock: it moves once all of them wait for it")
        call = _DriverCall()
        async with self._one_at_a_time:
            token = _call.set(call)
            try:
                return await run()
            finally:
                call.active = False
                _call.reset(token)

    def _manual(self) -> Any:
        if not self._delivery.manual:
            raise RuntimeError("only a ManualClock is moved by hand; this store is on system time")
        return self._store.clock

    async def settle(self, call: Callable[..., Awaitable[Any]]) -> None:
        """See `Connection.settle`.

        Args:
            call: Of the exchange.
        """
        if self._delivery.manual:
            await self._drive(self._run_instant)
            return
        await call(self._store.tick)
        await self._delivery.deliver_by(call)

    @property
    def waits_for_retry(self) -> bool:
        """Whether a function that failed waits for its next attempt."""
        return bool(self._waiting)

    async def advance_to(self, instant: int, rounds: int | None) -> list[Fired]:
        """See `Connection.advance_to`."""
        clock = self._manual()

        async def run() -> list[Fired]:
            fired: list[Fired] = []
            progress = _ProgressLog(self, clock.now, f"until t={instant}", rounds)
            await self._run_instant()
            while (at := self.next_instant()) is not None and at <= instant:
                fired += clock.advance_to(max(at, clock.now))
                await self._run_instant()
                progress.look(clock.now)
            fired += clock.advance_to(instant)
            await self._run_instant()
            return fired

        return await self._drive(run)

    async def run_until(self, awaitable: Awaitable[_T], limit: int | timedelta | None, rounds: int | None) -> _T:
        """See `Connection.run_until`."""
        if self._delivery.manual:
            return await self._drive(lambda: self._run(awaitable, limit, rounds))
        try:
            async with asyncio.timeout(None if limit is None else rounded_milliseconds("limit", limit) / 1000) as patience:
                return await awaitable
        except TimeoutError:
            if not patience.expired():  # it is the awaitable's own
                raise
            raise Stalled(f"not done within {limit!r}") from None

    async def _run(self, awaitable: Awaitable[_T], limit: int | timedelta | None, rounds: int | None) -> _T:
        clock = self._manual()
        last = None if limit is None else clock.now + rounded_milliseconds("limit", limit)
        target = asyncio.ensure_future(_awaited(awaitable))
        goal = "without a limit (see limit=)" if last is None else f"until t={last} at the latest"
        progress = _ProgressLog(self, clock.now, goal, rounds)
        try:
            await self._run_instant(target)
            while not target.done():
                if not self._pass_time(clock, last):
                    raise Stalled(self._why_stalled())
                await self._run_instant(target)
                progress.look(clock.now)
        finally:
            target.cancel()
        return target.result()

    def _pass_time(self, clock: Any, last: int | None) -> bool:
        """Move the clock to the next instant that concerns a program here. Returns whether there is one."""
        for _ in range(_INSTANTS_AT_ONCE):
            at = self.next_instant()
            if at is None:
                return False
            if last is not None and at > last:
                retried = self.retried()
                raise Stalled(f"not done by t={last}, the limit; the next thing happens at t={at}{retried and '; ' + retried}")
            clock.advance_to(max(at, clock.now))
            if self._delivery.deliver() or self.wake():
                break
        return True

    def retried(self) -> str:
        """Return a text that names the held tasks whose failed functions wait for another attempt; empty without any."""
        found = []
        for work, retries in sorted(self._retries.items(), key=lambda item: (item[0].task_id, item[0].connection.pid)):
            if retries.due > self._store.now and self._ledger.holds(work):
                promise = self._store.promises.get(str(work.task_id))
                found.append(
                    f"task {work.task_id!r} on {work.connection.pid!r} has failed {retries.count} times and waits {retries.delay:g} s "
                    f"for its next attempt at t={retries.due}, with its lease renewed meanwhile; its promise ends at "
                    f"t={promise.timeout_at}"
                )
        return "; ".join(found)

    def _why_stalled(self) -> str:
        unserved = self._delivery.unserved()
        hint = f"; messages wait for addresses that nobody here serves: {', '.join(unserved)}" if unserved else ""
        return f"not done, and nothing is left to happen after t={self._store.now}: no timer, no message, no sleeper{hint}"


class _ProgressLog:
    """Logs from time to time the instant to which a call has driven the clock. Without these lines a long call would look like a hang.

    Args:
        keeper: Drives the clock.
        start: The instant at which the call began.
        goal: Until when it drives, in words.
        most: The most rounds in which a function that failed waits for its next attempt; None for no limit.

    Raises:
        ValueError: `most` is below 1.
    """

    def __init__(self, keeper: Timekeeper, start: int, goal: str, most: int | None) -> None:
        if most is not None and most < 1:
            raise ValueError(f"rounds must be at least 1 or None, got {most}")
        self._most = most
        self._of_retries = 0
        self._keeper = keeper
        self._start = start
        self._goal = goal
        self._began = self._logged_at = stopwatch()
        self._rounds = 0

    def look(self, now: int) -> None:
        """Check the progress, after each round of the programs.

        Raises:
            Stalled: For too many rounds, a function that failed has waited for its next attempt.
        """
        self._rounds += 1
        self._of_retries += self._keeper.waits_for_retry
        if self._most is not None and self._of_retries > self._most and (retried := self._keeper.retried()):
            raise Stalled(
                f"retries kept the clock busy for {self._most} rounds, from t={self._start} to t={now}: {retried}. "
                "retry_policy= of the client or of the function bounds the attempts; rounds= sets this limit"
            )
        present = stopwatch()
        if present - self._logged_at < _WARN_SECONDS:
            return
        self._logged_at = present
        retried = self._keeper.retried()
        advice = f"; {retried}. retry_policy= of the client or of the function bounds the attempts" if retried else ""
        _log.warning(
            "the clock has been driven for %.0f s, from t=%d to t=%d in %d rounds, and goes on %s%s",
            present - self._began,
            self._start,
            now,
            self._rounds,
            self._goal,
            advice,
        )


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)


async def _awaited(awaitable: Awaitable[_T]) -> _T:
    return await awaitable
