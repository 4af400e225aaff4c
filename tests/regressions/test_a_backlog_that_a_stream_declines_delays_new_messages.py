"""A pass over older messages was one round: while it read a long backlog of one tenant, new messages of the others waited for its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import resonate_core as rc
from awaiting import until
from resonate_core.base.release_delay import Damper
from resonate_core.calls.serial_executor import SerialExecutor
from resonate_core.server import driver
from resonate_core.server.delivery import Declined, Delivery, Send
from resonate_core.server.driver import Driver
from resonate_core.server.metrics import Metrics

SHARED = "note://shared"
BACKLOG = 4000


class Counts:
    """A store that counts pages of older messages; `at_first` is called with the first one."""

    def __init__(self, store: rc.Store, at_first: Callable[[], None]) -> None:
        self._store = store
        self._at_first = at_first
        self.pages: list[tuple[str, ...]] = []

    def messages(self, *given: Any, **named: Any) -> Any:
        if "addresses" in named:
            self.pages.append(tuple(named["addresses"]))
            if len(self.pages) == 1:
                self._at_first()
        return self._store.messages(*given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class OfOneTenant:
    """Takes messages of the tenant ``b/`` alone, as a stream does whose token has a prefix."""

    def __init__(self) -> None:
        self.store: Any = None
        self.sent: dict[str, int] = {}  # the pages that were read before it

    def offer(self, message: Any) -> Send | Declined:
        if not message.id.startswith("b/"):
            return Declined.MESSAGE

        def send(really: bool) -> None:
            self.sent[message.id] = len(self.store.pages)

        return send

    def takes(self, addresses: str) -> bool:
        return True

    async def close(self) -> None:
        pass


def create(store: rc.Store, id: str, address: str = SHARED) -> None:
    store.promises.create(id, timeout=600_000, tags={"resonate:target": address})


def played(store: rc.Store, at_first: Callable[[Delivery], None], awaited: set[str]) -> OfOneTenant:
    """Read the backlog again; return the transport when it has sent what is awaited and the whole backlog was read."""
    taken = OfOneTenant()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        counting = taken.store = Counts(store, lambda: loop.call_soon_threadsafe(at_first, deliveries) and None)
        line = SerialExecutor("store")
        driving = Driver(counting, line.call, Metrics(), None)  # type: ignore[arg-type]
        deliveries = Delivery(counting, line.call, Metrics(), driving.wake, Damper(lambda: 0.0), 1.0)  # type: ignore[arg-type]
        deliveries.transports["note"] = taken
        driving.serve(deliveries)
        running = asyncio.ensure_future(driving.run())
        try:
            await until(lambda: driving._last >= BACKLOG)
            deliveries.read_again([SHARED])
            await until(lambda: counting.pages and awaited <= set(taken.sent) and not driving._passes)
        finally:
            driving.end()
            await running
            line.close()

    asyncio.run(main())
    return taken


def backlog() -> rc.Store:
    store = rc.Store()
    for number in range(BACKLOG):
        create(store, f"a/{number}")
    return store


def pages(of: OfOneTenant, address: str = SHARED) -> int:
    return sum(address in page for page in of.store.pages)


def test_new_messages_come_between_the_pages() -> None:
    store = backlog()
    taken = played(store, lambda deliveries: create(store, "b/new"), {"b/new"})
    assert taken.sent["b/new"] <= 2 * driver._OLDER_PAGES < pages(taken)  # those of the round that reads it, and of the one before


def test_older_messages_of_other_addresses_come_between_the_pages() -> None:
    store = backlog()
    create(store, "b/older", "note://other")
    taken = played(store, lambda deliveries: deliveries.read_again(["note://other"]), {"b/older"})
    assert pages(taken) > driver._OLDER_PAGES


def test_who_asks_during_a_pass_gets_one_from_the_beginning() -> None:
    store = backlog()
    expected = 1 + -(-(BACKLOG - driver._FIRST_PAGE) // driver._PAGE)
    taken = played(store, lambda deliveries: deliveries.read_again([SHARED]), set())
    assert pages(taken) == 2 * expected
