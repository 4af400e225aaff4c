"""Delivery: messages of one store's outbox to the workers of one event loop, and the ticker of system time."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakValueDictionary

from .. import ManualClock, Store
from .addresses import parse, served_by
from .timekeeper import Timekeeper
from .work import Ledger

if TYPE_CHECKING:
    from .client import Connection

__all__ = ["Exchange"]

#: How long a change made behind our back (another thread, another process, the typed API) may go unseen, in seconds.
_POLL_SECONDS = 0.05

#: A worker that fails releases its task, and the store offers a released task again at once. On system time the next
#: offer waits this long (ms), so that a task which no worker can run does not spin ...
_RELEASE_PAUSE = 100
#: ... and on manual time, where such a pause would be somebody else's idea of time, this many releases of one task at
#: one instant are a `Stalled`.
_RELEASES_AT_ONE_INSTANT = 100

#: A message whose handler raised is handed out again after this long (ms).
_RETRY_PAUSE = 1000

#: 2025-01-15 says the same with other words; the SDK speaks 2026-04-01 only. A pending task shows one version to both.
_KINDS = {"invoke": "execute", "resume": "execute", "notify": "unblock"}


class Exchange:
    """Where one store and the workers of one event loop meet. There is one for each such pair, shared by all.

    All of it runs in the thread of its event loop.
    """

    _open: ClassVar[WeakValueDictionary[tuple[int, int], Exchange]] = WeakValueDictionary()

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self.store = store
        self.loop = loop
        self.manual = isinstance(store.clock, ManualClock)
        self.ledger = Ledger()
        self.time = Timekeeper(self)
        self._members: list[Connection] = []
        self._served: list[str] = []
        self._turn: dict[str, int] = {}
        self._kept: list[tuple[int, dict[str, Any]]] = []  # (not before, message)
        self._unclaimed: list[dict[str, Any]] = []  # unblocks whose worker left after they were taken
        self._releases: dict[str, tuple[int, int]] = {}  # task -> (instant, releases at it)
        self._names = 0
        self._look_planned = False
        self._stirred = asyncio.Event()
        self._watcher: asyncio.Task[None] | None = None

    @classmethod
    def here(cls, store: Store) -> Exchange:
        """Returns the exchange of this store on the running event loop.

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

    def join(self, connection: Connection) -> None:
        """Begins to deliver to a worker."""
        if connection not in self._members:
            self._members.append(connection)
            self._served_changed()
            self._kept += [(self.store.now, message) for message in self._unclaimed]
            self._unclaimed.clear()
        if self._watcher is None:
            self._watcher = self.loop.create_task(self._watch(), name="resonate_core exchange")
        self._stirred.set()

    def leave(self, connection: Connection) -> None:
        """Ends delivery to a worker; with the last one gone nothing of the exchange runs any more."""
        if connection in self._members:
            self._members.remove(connection)
            self._served_changed()
        if not self._members and self._watcher is not None:
            self._watcher.cancel()
            self._watcher = None

    def _served_changed(self) -> None:
        patterns = [pattern for member in self._members if member.receives for pattern in served_by(member.group, member.pid)]
        self._served = list(dict.fromkeys(patterns))

    # -- what happened ----------------------------------------------------------------------------------------------

    def answered(self, connection: Connection, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """Takes note of a request that a worker made; what it put into the outbox is delivered right after it."""
        self.ledger.note(connection, request, reply)
        kind, status = request["kind"], reply["head"]["status"]
        if kind == "task.release" and status == 200:
            task, now = request["data"]["id"], self.store.now
            instant, count = self._releases.get(task, (now, 0))
            if len(self._releases) >= 1000:  # only those of this moment matter
                self._releases = {k: v for k, v in self._releases.items() if v[0] + _RELEASE_PAUSE > now}
            self._releases[task] = (now, count + 1 if instant == now else 1)
        elif kind in ("task.suspend", "task.fulfill") and status < 400:
            self._releases.pop(request["data"]["id"], None)
        if not self._look_planned:
            self._look_planned = True
            self.loop.call_soon(self._planned_look)
        self._stirred.set()  # a new deadline may be nearer than the one that the ticker waits for
        self.time.stir()

    def _planned_look(self) -> None:
        self._look_planned = False
        try:
            self.deliver()
        except Exception as error:  # a callback has no caller: the loop's handler is where it can be heard
            self.report("delivery failed", error)

    def report(self, what: str, error: BaseException) -> None:
        """Hands an error that has no caller to the event loop's exception handler."""
        self.loop.call_exception_handler({"message": f"resonate_core.connection: {what}", "exception": error})

    # -- delivery ---------------------------------------------------------------------------------------------------

    def deliver(self) -> bool:
        """Hands out every message for which there is a worker, in the order of the outbox.

        Returns:
            Whether anything was handed out.
        """
        if not self._served or self.store.paused:
            return False
        now = self.store.now
        ready = [message for since, message in self._kept if since <= now]
        self._kept = [(since, message) for since, message in self._kept if since > now]
        ready += self.store.take_messages(addresses=self._served)
        handed = [self._hand(message, now) for message in ready]
        return any(handed)

    def _hand(self, message: dict[str, Any], now: int) -> bool:
        content = message["message"]
        content = {**content, "kind": _KINDS.get(content["kind"], content["kind"])}
        if content["kind"] == "execute":
            since = self._offer_after(content["data"]["task"]["id"], now)
            if since > now:
                self._keep(since, message)
                return False
        receiver = self._receiver(message["address"])
        if receiver is None:
            if content["kind"] == "unblock":  # an execute comes again by itself
                self._unclaimed.append(message)
            return False
        try:
            receiver.receive(json.dumps(content))
        except Exception as error:
            self.report(f"{receiver!r} did not take {message['key']!r}", error)
            self._keep(now + _RETRY_PAUSE, message)  # received is what a handler took (PROTOCOL 5)
            return False
        return True

    def _keep(self, since: int, message: dict[str, Any]) -> None:
        self._kept = [(at, kept) for at, kept in self._kept if kept["key"] != message["key"]]
        self._kept.append((since, message))

    def _offer_after(self, task: str, now: int) -> int:
        released, count = self._releases.get(task, (now, 0))
        if not count:
            return now
        if not self.manual:
            return released + _RELEASE_PAUSE
        return released + 1 if count >= _RELEASES_AT_ONE_INSTANT else now

    def spinning(self) -> str | None:
        """Returns a task that was offered and released at this instant more often than makes sense."""
        now = self.store.now
        for task, (instant, count) in self._releases.items():
            if instant == now and count >= _RELEASES_AT_ONE_INSTANT:
                return task
        return None

    def _receiver(self, text: str) -> Connection | None:
        address = parse(text)
        group = [member for member in self._members if member.receives and member.group == address.group]
        exact = [member for member in group if member.pid == address.pid]
        if exact:
            return exact[0]
        if not address.anybody or not group:
            return None
        turn = self._turn.get(address.group, 0)
        self._turn[address.group] = turn + 1
        return group[turn % len(group)]

    def unserved(self) -> list[str]:
        """Returns the addresses that messages wait for and nobody here serves, each once."""
        return list(dict.fromkeys(message.address for message in self.store.messages()))

    def next_name(self, group: str) -> str:
        """Returns a fresh pid that is the same in every run: ``default-1``, ``default-2`` ..."""
        self._names += 1
        return f"{group}-{self._names}"

    # -- the watcher ------------------------------------------------------------------------------------------------

    def next_kept(self) -> int | None:
        """Returns the earliest instant at which a message that was held back may be offered again."""
        return min((since for since, _ in self._kept), default=None)

    async def _watch(self) -> None:
        """Ticks on system time; on manual time, which it never moves, only delivers between the driver's calls."""
        while True:
            self._stirred.clear()
            try:
                try:
                    async with asyncio.timeout(self._pause()):
                        await self._stirred.wait()
                except TimeoutError:
                    pass
                if not self.manual:
                    if not self.store.paused:
                        self.store.tick()
                    self.deliver()
                elif not self.time.driven:
                    self.time.wake()
                    self.deliver()
            except Exception as error:  # a store may be out of order for a while; the ticker must outlive that
                self.report("the ticker failed", error)
                await asyncio.sleep(_POLL_SECONDS)

    def _pause(self) -> float:
        """Returns how long to wait for the next look, in seconds."""
        if self.manual or self.store.paused:
            return _POLL_SECONDS
        due = [at for at in (self.store.next_due(), self.next_kept()) if at is not None]
        return min([_POLL_SECONDS, *(max(0, at - self.store.now) / 1000 for at in due)])
