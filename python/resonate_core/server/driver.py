"""Drives a store on an event loop: ticks when a step is due, and delivers each message at once."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from .._core import ManualClock
from .._wakeup import Wakeup
from ..errors import Closed

if TYPE_CHECKING:
    from .._core import Fired, Message, Store
    from .delivery import Call, Delivery
    from .metrics import Metrics

__all__ = ["Driver"]

_log = logging.getLogger("resonate_core.server")

#: How many internal steps are taken, and how many messages are read, between two chances for requests.
_STEPS = 256
_PAGE = 200
#: The messages in the first page of those that were passed over.
_FIRST_PAGE = 125
#: Seconds until a store that failed is looked at again.
_PAUSE = 1.0


class _Seen(NamedTuple):
    due: int | None
    now: int
    fired: list[Fired]
    messages: list[Message]

    @property
    def more(self) -> bool:
        """Whether there may be more to do at once."""
        return len(self.fired) == _STEPS or len(self.messages) == _PAGE


class _Log:
    """The log beside a file, which every commit of every process changes. To look at it costs less than to read the store."""

    #: Seconds for which a change counts as new: two commits within one tick of the file system's clock may leave the same time.
    _NEW = 0.2

    def __init__(self, path: str | None) -> None:
        self._path = None if path is None else f"{path}-wal"
        self._seen: tuple[int, int, int] | None = None
        self._changed = 0.0  # by the loop's time

    def may_have_changed(self) -> bool:
        """Return whether another process may have committed since the last call."""
        if self._path is None:
            return False
        try:
            now = os.stat(self._path)
        except OSError:  # the store says what is wrong with it
            return True
        before, self._seen = self._seen, (now.st_ino, now.st_size, now.st_mtime_ns)
        at = asyncio.get_running_loop().time()
        if before != self._seen:
            self._changed = at
        return at < self._changed + self._NEW


class Driver:
    """Drives one store. Commits of this process wake it; it polls for commits of other processes to the same file.

    It works in short slices, between which requests run. Nothing but the end of the store ends it: what fails is logged and tried again.

    Attributes:
        problem: Why the last slice failed; None where it did not.
        behind: Whether steps are due that the last slice did not come to.

    Args:
        store: The store.
        call: Runs a function of it off the loop's thread.
        metrics: The counters.
        foreign_interval: Seconds between two polls for commits of other processes; None if there are none.
    """

    def __init__(self, store: Store, call: Call, metrics: Metrics, foreign_interval: float | None) -> None:
        self._store = store
        self._call = call
        self._metrics = metrics
        self._foreign_interval = foreign_interval
        self.problem: str | None = None
        self.behind = False
        self._news = asyncio.Event()
        self._ending = False
        self._log = _Log(store.path)
        self._last = 0  # number of the last message that was seen
        self._asked: set[str] = set()  # addresses that are looked at again, until a turn has done so
        self._delivery: Delivery

    def serve(self, delivery: Delivery) -> None:
        """Gives all messages to a delivery."""
        self._delivery = delivery

    def wake(self) -> None:
        """Makes it look now. From the loop's thread."""
        self._news.set()

    def end(self) -> None:
        """Makes `run` return, after the turn that it is in. From the loop's thread.

        It is not to be cancelled: up to Python 3.11 `asyncio.wait_for` loses a cancellation that comes together with what it waits for.
        """
        self._ending = True
        self._news.set()

    async def run(self) -> None:
        """Drive the store until `end`, or until the store is closed."""
        with Wakeup(self._store.watch).listen(asyncio.get_running_loop(), self._news.set) as wakeup:
            until: int | None = None
            while not self._ending:
                self._news.clear()
                wakeup.rearm(until)
                try:
                    seen = await self._turn()
                except Closed:
                    _log.info("the store was closed: no more ticks and deliveries")
                    return
                except Exception as error:
                    self._metrics.tick_failures.inc()
                    self.problem = f"the store could not be driven: {error or type(error).__name__}"
                    _log.error("%s; again in %.0f s", self.problem, _PAUSE, exc_info=error)
                    await self._wait(_PAUSE)
                    continue
                self.problem = None
                if seen is None:  # paused: debug.stop wakes it
                    until = None
                    await self._wait(self._foreign_interval)
                    continue
                later = until is not None and (seen.due is None or seen.due > until)
                until = seen.due
                if later or seen.more:
                    continue  # what became due in between woke nobody; and there is more
                await self._rest(seen)

    async def _rest(self, seen: _Seen) -> None:
        """Waits until it is woken, something is due, or another process may have written to the file."""
        due = None
        # A manual clock does not come nearer by waiting; whoever moves it ticks.
        if seen.due is not None and not isinstance(self._store.clock, ManualClock):
            due = asyncio.get_running_loop().time() + (seen.due - seen.now) / 1000
        while not self._news.is_set():
            waits = [] if self._foreign_interval is None else [self._foreign_interval]
            if due is not None:
                waits.append(max(0.0, due - asyncio.get_running_loop().time()))
            await self._wait(min(waits, default=None))
            if due is not None and due <= asyncio.get_running_loop().time():
                return
            if self._log.may_have_changed():
                return

    async def _wait(self, seconds: float | None) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)

    async def _turn(self) -> _Seen | None:
        if self._store.paused:
            return None
        self._asked.update(self._delivery.addresses_to_look_at())
        self._delivery.about_to_read()
        seen: _Seen = await self._call(self._look)
        self.behind = len(seen.fired) == _STEPS
        for kind, count in Counter(fired.kind for fired in seen.fired).items():
            self._metrics.steps.labels(kind).inc(count)
        if seen.fired:
            self._metrics.due_lag.set(max(fired.now - fired.at for fired in seen.fired) / 1000)
            for fired in seen.fired:
                if fired.kind == "schedule_set_aside":
                    _log.warning("schedule %s cannot be fired and is set aside: %s", fired.id, fired.detail["problem"])
        await self._deliver_older(sorted(self._asked), self._last)
        self._asked.clear()
        if seen.messages:
            await self._delivery.deliver(seen.messages)
            self._last = seen.messages[-1].number
        return seen

    async def _deliver_older(self, addresses: list[str], last: int) -> None:
        """Delivers what was passed over, to addresses that may take it now. One that does not is not read for again."""
        after = 0
        size = _FIRST_PAGE  # most who ask have room for a few
        addresses = self._delivery.still_taken(addresses, set())
        while addresses:
            self._delivery.about_to_read()
            page = await self._call(functools.partial(self._store.messages, size, after=after, addresses=addresses))
            blocked = await self._delivery.deliver([message for message in page if message.number <= last])
            if len(page) < size or page[-1].number >= last:
                return
            after = page[-1].number
            size = min(2 * size, _PAGE)
            addresses = self._delivery.still_taken(addresses, blocked)

    def _look(self) -> _Seen:
        """In a thread: takes what is due, and reads what is new in the outbox."""
        store = self._store
        fired: list[Fired] = []
        due = store.next_due()
        if due is not None and due <= store.now:
            fired = store.tick(limit=_STEPS)
            due = store.next_due()
        return _Seen(due, store.now, fired, store.messages(_PAGE, after=self._last))
