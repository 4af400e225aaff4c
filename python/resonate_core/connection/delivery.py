"""Delivery: messages of one store's outbox to the workers of one event loop, by their ``poll://`` addresses (WIRE 3)."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from .. import ManualClock, Store
from ..base.release_delay import ENDS_OF_RUNS, IN_A_ROW, Damper
from .work import Member

__all__ = ["Address", "SdkDelivery", "anycast", "moves_clock", "parse", "served_by", "unicast"]

#: A worker that fails releases its task, and the store offers a released task again at once. On system time a `Damper`
#: delays the next offers. On manual time, which passes only if a caller moves it, this many releases of one task at one
#: instant are a `Stalled`.
_RELEASES_AT_ONE_INSTANT = 100

#: A message whose handler raised is handed out again after this long (ms).
_RETRY_PAUSE = 1000

#: 2025-01-15 says the same with other words; the SDK speaks 2026-04-01 only. A pending task shows one version to both.
_KINDS = {"invoke": "execute", "resume": "execute", "notify": "unblock"}


_SHAPE = re.compile(r"poll://(any|uni)@([^/]+)(?:/(.*))?", re.DOTALL)


class Address(NamedTuple):
    """One parsed address: any member of a group (a given one by preference), or exactly one."""

    any_stream: bool
    group: str
    pid: str | None


def unicast(group: str, pid: str) -> str:
    """Return the address of one worker alone."""
    return f"poll://uni@{group}/{pid}"


def anycast(group: str) -> str:
    """Return the address of any one member of a group."""
    return f"poll://any@{group}"


def parse(address: str) -> Address:
    """Take an address apart.

    Raises:
        ValueError: It is not a ``poll://`` address.
    """
    match = _SHAPE.fullmatch(address)
    if match is None:
        raise ValueError(f"address must be a poll:// address, got {address!r}")
    return Address(match[1] == "any", match[2], match[3] or None)


def served_by(group: str, pid: str) -> tuple[str, str, str]:
    """Return the addresses that one worker serves, as patterns for ``Store.take_messages``: a final ``*`` matches by prefix."""
    return anycast(group), anycast(group) + "/*", unicast(group, pid)


def moves_clock(loop: asyncio.AbstractEventLoop) -> bool:
    """Return whether an event loop moves the store's clock itself, as that of a simulation does."""
    return bool(getattr(loop, "moves_clock", False))


class SdkDelivery:
    """Hands the messages of a store to the workers that serve their addresses, in the thread of the event loop."""

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self.store = store
        self.loop = loop
        self.manual = isinstance(store.clock, ManualClock) and not moves_clock(loop)
        self.members: list[Member] = []
        self._served: list[str] = []
        self._next_of_group: dict[str, int] = {}
        self._kept: list[tuple[int, dict[str, Any]]] = []  # (not before, message)
        self._unclaimed: list[dict[str, Any]] = []  # unblocks whose worker left after they were taken
        self._damper = Damper(lambda: store.now / 1000, 0.0 if self.manual else IN_A_ROW)
        self._spinning: str | None = None  # the last task that was released too often at one instant of manual time

    def join(self, member: Member) -> None:
        """Begin to deliver to a worker."""
        if member not in self.members:
            self.members.append(member)
            self._served_changed()
            self._kept += [(self.store.now, message) for message in self._unclaimed]
            self._unclaimed.clear()

    def leave(self, member: Member) -> None:
        """End delivery to a worker."""
        if member in self.members:
            self.members.remove(member)
            self._served_changed()

    def _served_changed(self) -> None:
        patterns = [pattern for member in self.members if member.receives for pattern in served_by(member.group, member.pid)]
        self._served = list(dict.fromkeys(patterns))

    def answered(self, request: dict[str, Any], reply: dict[str, Any]) -> None:
        """Count the releases in a request that a worker made."""
        kind, status = request["kind"], reply["head"]["status"]
        if kind in ENDS_OF_RUNS and status == 200:
            task = request["data"]["id"]
            self._damper.run_ended(kind, task)
            if self.manual and self._spins(task):
                self._spinning = task

    def report(self, what: str, error: BaseException) -> None:
        """Hand an error that has no caller to the event loop's exception handler."""
        self.loop.call_exception_handler({"message": f"resonate_core.connection: {what}", "exception": error})

    def deliver(self) -> bool:
        """Hand out every message for which there is a worker, in the order of the outbox.

        Returns:
            Whether anything was handed out.
        """
        return bool(self._served) and self._hand_out(self._take(self._served))

    async def deliver_by(self, call: Callable[..., Awaitable[Any]]) -> bool:
        """As `deliver`, but the store is called by a given function, which may use a thread."""
        return bool(self._served) and self._hand_out(await call(self._take, self._served))

    def _take(self, served: list[str]) -> list[dict[str, Any]] | None:
        """Take the messages out of the store; None: it is paused."""
        return None if self.store.paused else self.store.take_messages(addresses=served)

    def _hand_out(self, taken: list[dict[str, Any]] | None) -> bool:
        if taken is None:
            return False
        now = self.store.now
        ready = [message for since, message in self._kept if since <= now]
        self._kept = [(since, message) for since, message in self._kept if since > now]
        handed = [self._hand(message, now) for message in ready + taken]
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
        if self.manual:
            return now + 1 if self._spins(task) else now
        return now + math.ceil(1000 * self._damper.wait(task))

    def _spins(self, task: str) -> bool:
        return self._damper.releases(task) >= _RELEASES_AT_ONE_INSTANT

    def spinning(self) -> str | None:
        """Return a task that was delivered and released at this instant more often than a working program would do."""
        return self._spinning if self._spinning is not None and self._spins(self._spinning) else None

    def _receiver(self, text: str) -> Member | None:
        address = parse(text)
        group = [member for member in self.members if member.receives and member.group == address.group]
        exact = [member for member in group if member.pid == address.pid]
        if exact:
            return exact[0]
        if not address.any_stream or not group:
            return None
        number = self._next_of_group.get(address.group, 0)
        self._next_of_group[address.group] = number + 1
        return group[number % len(group)]

    def unserved(self) -> list[str]:
        """Return the addresses that messages wait for and no worker here serves, each once."""
        return list(dict.fromkeys(message.address for message in self.store.messages()))

    def next_kept(self) -> int | None:
        """Return the earliest instant at which a message that was held back may be delivered."""
        return min((since for since, _ in self._kept), default=None)
