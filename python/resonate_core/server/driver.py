"""Drives a store on an event loop: ticks when a step is due, and delivers each message at once."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .._core import ManualClock
from ..calls.wakeup import Wakeup
from ..errors import Closed
from .outage import Outage

if TYPE_CHECKING:
    from .._core import Fired, Message, Store
    from ..calls.serial_executor import Call
    from .delivery import Delivery
    from .metrics import Metrics

__all__ = ["Driver"]

_log = logging.getLogger("resonate_core.server")

#: The most internal steps, and the most messages, of one call; requests run between two calls.
_STEPS = 256
_PAGE = 200
#: The size of the first page of older messages.
_FIRST_PAGE = 125
#: The most pages of older messages between two pages of new ones: a long backlog of one receiver does not delay those of others.
_OLDER_PAGES = 5
#: Seconds after which a store that failed is tried again.
_PAUSE = 1.0


class _Round(NamedTuple):
    """The result of one call: the next due instant and the present one, the steps that fired, new messages."""

    due: int | None
    now: int
    fired: list[Fired]
    messages: list[Message]

    @property
    def more(self) -> bool:
        """Whether more steps may be due, or more messages new."""
        return len(self.fired) == _STEPS or len(self.messages) == _PAGE


@dataclass
class _Pass:
    """A pass over the older messages of some addresses, page by page.

    Attributes:
        addresses: That still accept messages.
        last: The number of the last older message.
        after: The number of the last message that was read.
        size: Of the next page.
    """

    addresses: list[str]
    last: int
    after: int = 0
    size: int = _FIRST_PAGE


class _WriteAheadLog:
    """The write-ahead log beside a file. Every commit of every process changes it, and its status costs less than a read of the store."""

    #: Seconds for which a change counts as new: two commits within one tick of the file system's clock may leave the same time stamp.
    _NEW = 0.2

    def __init__(self, path: str) -> None:
        self._path = f"{path}-wal"
        self._seen: tuple[int, int, int] | None = None
        self._changed = 0.0  # by the loop's time

    def may_have_changed(self) -> bool:
        """Return whether another process may have committed since the last call."""
        try:
            now = os.stat(self._path)
        except OSError:  # the next read of the store raises the reason
            return True
        before, self._seen = self._seen, (now.st_ino, now.st_size, now.st_mtime_ns)
        at = asyncio.get_running_loop().time()
        if before != self._seen:
            self._changed = at
        return at < self._changed + self._NEW


class Driver:
    """Drives one store. Commits of this process wake it; it polls for commits of other processes to the same file or database.

    It works in short rounds, between which requests run. Only a closed store ends it: a round that fails is logged and tried again.

    Attributes:
        behind: Whether more steps are due than the last round ran.

    Args:
        store: The store.
        call: Calls a function of the store in a thread.
        metrics: The counters.
        foreign_interval: Seconds between two polls for commits of other processes; None if there are none.
    """

    def __init__(self, store: Store, call: Call, metrics: Metrics, foreign_interval: float | None) -> None:
        self._store = store
        self._call = call
        self._metrics = metrics
        self._foreign_interval = foreign_interval
        self._outage = Outage("the store could not be driven", "the store is driven again", _PAUSE)
        self.behind = False
        self._woken = asyncio.Event()
        self._ending = False
        self._wal = _WriteAheadLog(store.path) if store.path is not None else None
        self._last = 0  # number of the last message that was read
        self._addresses: set[str] = set()  # addresses whose older messages are to be read from the first one on
        self._passes: deque[_Pass] = deque()  # passes under way, which take turns; no two have an address in common
        self._delivery: Delivery

    @property
    def problem(self) -> str | None:
        """Why the last round failed; None if it did not."""
        return self._outage.problem

    def serve(self, delivery: Delivery) -> None:
        """Set the delivery that gets all messages."""
        self._delivery = delivery

    def wake(self) -> None:
        """Begin the next round now. From the loop's thread."""
        self._woken.set()

    def end(self) -> None:
        """Make `run` return after the present round. From the loop's thread.

        Do not cancel `run`: up to Python 3.11, `asyncio.wait_for` loses a cancellation that arrives together with its result.
        """
        self._ending = True
        self._woken.set()

    async def run(self) -> None:
        """Drive the store until `end`, or until the store is closed."""
        with Wakeup(self._store.watch).listen(asyncio.get_running_loop(), self._woken.set) as wakeup:
            until: int | None = None
            while not self._ending:
                self._woken.clear()
                wakeup.rearm(until)
                try:
                    round = await self._run_round()
                except Closed:
                    _log.info("the store was closed: no more ticks and deliveries")
                    return
                except Exception as error:
                    self._metrics.tick_failures.inc()
                    self._outage.failed(error)
                    await self._wait(_PAUSE)
                    continue
                self._outage.passed()
                if round is None:  # paused: debug.stop wakes it
                    until = None
                    await self._wait(self._foreign_interval)
                    continue
                later = until is not None and (round.due is None or round.due > until)
                until = round.due
                if later or round.more or self._passes:
                    continue  # a step that became due in between did not wake the driver; or there is more to do
                await self._wait_for_work(round)

    async def _wait_for_work(self, round: _Round) -> None:
        """Wait until a wake-up, until a step is due, or until another process may have written to the store."""
        due = None
        # A manual clock does not move by itself, and its caller ticks.
        if round.due is not None and not isinstance(self._store.clock, ManualClock):
            due = asyncio.get_running_loop().time() + (round.due - round.now) / 1000
        while not self._woken.is_set():
            waits = [] if self._foreign_interval is None else [self._foreign_interval]
            if due is not None:
                waits.append(max(0.0, due - asyncio.get_running_loop().time()))
            await self._wait(min(waits, default=None))
            if due is not None and due <= asyncio.get_running_loop().time():
                return
            if self._foreign_interval is not None and (self._wal is None or self._wal.may_have_changed()):
                return

    async def _wait(self, seconds: float | None) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._woken.wait(), seconds)

    async def _run_round(self) -> _Round | None:
        if self._store.paused:
            return None
        self._addresses.update(self._delivery.take_addresses())
        self._delivery.before_read()
        round: _Round = await self._call(self._tick_and_read)
        self.behind = len(round.fired) == _STEPS
        for kind, count in Counter(fired.kind for fired in round.fired).items():
            self._metrics.steps.labels(kind).inc(count)
        if round.fired:
            self._metrics.due_lag.set(max(fired.now - fired.at for fired in round.fired) / 1000)
            for fired in round.fired:
                if fired.kind == "schedule_set_aside":
                    _log.warning("schedule %s cannot be fired and is set aside: %s", fired.id, fired.detail["problem"])
        await self._deliver_older()
        if round.messages:
            await self._delivery.deliver(round.messages)
            self._last = round.messages[-1].number
        return round

    async def _deliver_older(self) -> None:
        """Read some pages of older messages, for addresses that may accept them now. An address that declines one is not read again."""
        self._begin_pass()
        for _ in range(_OLDER_PAGES):
            if not self._passes:
                return
            under_way = self._passes[0]
            try:
                ended = await self._deliver_page(under_way)
            except BaseException:
                self._addresses.update(under_way.addresses)  # once more, from the beginning
                raise
            finally:
                self._passes.popleft()
            if ended:
                self._begin_pass()
            else:
                self._passes.append(under_way)

    def _begin_pass(self) -> None:
        """Begin a pass for the addresses that none under way reads; those wait for its end, since they are read from the beginning."""
        addresses = self._addresses.difference(*(one.addresses for one in self._passes))
        self._addresses -= addresses
        accepting = self._delivery.accepting(sorted(addresses), set())
        if accepting:
            self._passes.appendleft(_Pass(accepting, self._last))

    async def _deliver_page(self, older: _Pass) -> bool:
        """Read and offer the next page; return whether the pass has ended."""
        self._delivery.before_read()
        read = functools.partial(self._store.messages, older.size, after=older.after, addresses=older.addresses)
        page = await self._call(read)
        blocked = await self._delivery.deliver([message for message in page if message.number <= older.last])
        if len(page) < older.size or page[-1].number >= older.last:
            return True
        older.after = page[-1].number
        older.size = min(2 * older.size, _PAGE)
        older.addresses = self._delivery.accepting(older.addresses, blocked)
        return not older.addresses

    def _tick_and_read(self) -> _Round:
        """In a thread: run due steps, and read new messages."""
        store = self._store
        fired: list[Fired] = []
        due = store.next_due()
        if due is not None and due <= store.now:
            fired = store.tick(limit=_STEPS)
            due = store.next_due()
        return _Round(due, store.now, fired, store.messages(_PAGE, after=self._last))
