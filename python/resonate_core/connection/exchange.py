"""The messages, leases and time that the workers of one store and event loop share, and the ticker of system time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, ClassVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from .. import Store
from ..calls.store_threads import call_apart
from ..calls.wakeup import Wakeup
from .attempts import Attempts
from .delivery import SdkDelivery, moves_clock
from .timekeeper import Timekeeper
from .work import Ledger, Member

__all__ = ["Exchange"]

#: Seconds after which a change by another thread, another process or a typed call is seen.
_POLL_SECONDS = 0.05
#: Seconds between two looks if each commit is seen.
_LONGEST_PAUSE = 86_400.0
#: The most due steps between two turns of the event loop: a backlog, of a schedule for example, does not hold it.
_STEPS = 256
_EVERY_MESSAGE = 0  # an instant that has passed: steps that are due later do not wake


class Exchange:
    """The messages, leases and time that the workers of one store and event loop share. There is one exchange for each such pair.

    All of it runs in the thread of its event loop, except calls of a store that may wait for a disk, a lock or a database: a thread
    makes these, so that the loop serves others meanwhile.

    Attributes:
        call: Makes a call of the store: ``await exchange.call(function, *args)``.
    """

    _open: ClassVar[WeakValueDictionary[tuple[int, int], Exchange]] = WeakValueDictionary()
    #: How many names were made for each store and event loop; an exchange ends with the last of its connections.
    _names: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, WeakKeyDictionary[Store, int]]] = WeakKeyDictionary()

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self.store = store
        self.loop = loop
        self.ledger = Ledger()
        self.delivery = SdkDelivery(store, loop)
        self.manual = self.delivery.manual
        self.attempts = Attempts(store)
        self.time = Timekeeper(self.delivery, self.ledger, self.attempts)
        # On manual time the order of all calls is part of the result; in memory nothing waits.
        self._at_once = self.manual or (store.path is None and store.url is None)
        at_once: Callable[..., Awaitable[Any]] = _at_once if self._at_once else partial(call_apart, store)
        self.call: Callable[..., Awaitable[Any]] = getattr(store, "call_async", at_once)  # requests of a simulation take time
        self._moves_clock = moves_clock(loop)
        self._look_planned = False
        self._active = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None

    @classmethod
    def here(cls, store: Store) -> Exchange:
        """Return the exchange of this store on the running event loop.

        Raises:
            RuntimeError: No event loop is running.
        """
        loop = asyncio.get_running_loop()
        key = (id(store), id(loop))  # neither id is reused while the exchange lives: it holds both
        exchange = cls._open.get(key)
        if exchange is None:
            exchange = cls._open[key] = cls(store, loop)
        return exchange

    # -- members ----------------------------------------------------------------------------------------------------

    def join(self, connection: Member) -> None:
        """Begin to deliver to a worker."""
        self.delivery.join(connection)
        if self._watcher is None:
            self._watcher = self.loop.create_task(self._watch(), name="resonate_core exchange")
        self._active.set()

    def leave(self, connection: Member) -> None:
        """End delivery to a worker; after the last one has left, the exchange stops."""
        self.delivery.leave(connection)
        self._active.set()  # the watcher ends by itself: cancelled, it would lose the messages that a thread takes just now

    async def ended(self) -> None:
        """Return when the exchange has stopped, after the last worker has left."""
        if self._watcher is not None and not self.delivery.members:
            await asyncio.wait([self._watcher])

    # -- what happened ----------------------------------------------------------------------------------------------

    def answered(self, connection: Member, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """Handle a request that a worker made; its messages are delivered right after it."""
        self.ledger.note(connection, request, reply)
        self.attempts.ended(connection, request, reply)
        self.delivery.answered(request, reply)
        if self._at_once and not self._look_planned:
            self._look_planned = True
            self.loop.call_soon(self._planned_look)
        self._active.set()  # a new deadline may be nearer than the one that the ticker waits for
        self.time.note_activity()

    def _planned_look(self) -> None:
        self._look_planned = False
        try:
            self.delivery.deliver()
        except Exception as error:  # a callback has no caller, so that the loop's handler gets the error
            self.delivery.report("delivery failed", error)

    def next_name(self, group: str) -> str:
        """Return a fresh pid that is the same in every run: ``default-1``, ``default-2`` ..."""
        names = self._names.setdefault(self.loop, WeakKeyDictionary())
        names[self.store] = number = names.get(self.store, 0) + 1
        return f"{group}-{number}"

    # -- the watcher ------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Tick on system time; on manual time, which it never moves, only deliver between the driver's calls."""
        if not self._moves_clock:
            await self._look_often()
        else:  # each commit is seen, and the loop runs the steps that are due
            with Wakeup(self.store.watch).listen(self.loop, self._active.set) as wakeup:
                await self._look_often(wakeup)
        self._watcher = None

    async def _look_often(self, wakeup: Wakeup | None = None) -> None:
        next_due: int | None = None
        while self.delivery.members:
            self._active.clear()
            if wakeup is not None:
                wakeup.rearm(_EVERY_MESSAGE)
                await self._deliver_woken()
            try:
                try:
                    async with asyncio.timeout(self._pause(next_due)):
                        await self._active.wait()
                except TimeoutError:
                    pass
                if not self.delivery.members:
                    break
                if wakeup is not None:
                    continue
                if not self.manual:
                    next_due = await self.call(self._tick)
                    await self.delivery.deliver_by(self.call)
                elif not self.time.driven:
                    self.time.wake()
                    self.delivery.deliver()
            except Exception as error:  # the store may fail for a while; the ticker continues
                self.delivery.report("the ticker failed", error)
                await asyncio.sleep(_POLL_SECONDS)

    async def _deliver_woken(self) -> None:
        try:
            await self.delivery.deliver_by(self.call)
        except Exception:  # it had no reply; the messages are still there
            self.loop.call_later(_POLL_SECONDS, self._active.set)

    def _tick(self) -> int | None:
        """Run what is due; return when something is due next, or None."""
        if self.store.paused:
            return None
        self.store.tick(limit=_STEPS)
        return self.store.next_due()

    def _pause(self, next_due: int | None) -> float:
        """Return how long to wait for the next poll, in seconds."""
        if self.manual:
            return _POLL_SECONDS
        due = [at for at in (next_due, self.delivery.next_kept()) if at is not None]
        return min([_LONGEST_PAUSE if self._moves_clock else _POLL_SECONDS, *(max(0, at - self.store.now) / 1000 for at in due)])


async def _at_once(function: Callable[..., Any], *args: Any) -> Any:
    return function(*args)
