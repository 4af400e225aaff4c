"""Ticks and deliveries of a server ended for ever at the first exception other than StoreError; one bad message stopped the others."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc
from awaiting import until
from resonate_core.base.release_delay import Damper
from resonate_core.calls.serial_executor import SerialExecutor
from resonate_core.server import delivery, driver
from resonate_core.server.delivery import Declined, Delivery, Send
from resonate_core.server.driver import Driver
from resonate_core.server.metrics import Metrics

PAUSE = 0.01


class Fails:
    """A store whose ticks raise until the test repairs it."""

    def __init__(self, store: rc.Store, error: Exception) -> None:
        self._store = store
        self._error = error
        self.mended = False
        self.failed = 0

    def next_due(self) -> int | None:
        return self._store.next_due() if self.mended else self._store.now

    def tick(self, *given: Any, **named: Any) -> Any:
        if not self.mended:
            self.failed += 1
            raise self._error
        return self._store.tick(*given, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class Notes:
    """A transport that raises for some messages, when they are offered or when they are sent, and records the others."""

    def __init__(self, shown: Callable[[list[Any]], None], fails: str, times: int) -> None:
        self.sent: list[str] = []
        self._notify = shown
        self._fails = fails
        self._times = times

    def offer(self, message: Any) -> Send | Declined:
        bad = message.id == "bad" and self._times > 0
        if bad and self._fails == "offer":
            self._times -= 1
            raise ValueError("this address cannot be read")

        def send(really: bool) -> None:
            if bad and self._fails == "send":
                self._times -= 1
                raise ValueError("this address cannot be read")
            self.sent.append(message.id)
            self._notify([message])

        return send

    def takes(self, addresses: str) -> bool:
        return True

    async def close(self) -> None:
        pass


async def driven(store: Any, transport: Callable[[Delivery], Notes], body: Callable[[Driver, Notes], Any]) -> None:
    line = SerialExecutor("store")
    driving = Driver(store, line.call, Metrics(), None)
    deliveries = Delivery(store, line.call, Metrics(), driving.wake, Damper(lambda: 0.0), 1.0)
    notes = deliveries.transports["note"] = transport(deliveries)
    driving.serve(deliveries)
    running = asyncio.ensure_future(driving.run())
    try:
        await body(driving, notes)
        assert not running.done()
    finally:
        driving.end()
        await running
        line.close()


@pytest.mark.parametrize("error", [ValueError("unknown time zone"), OSError("gone"), rc.StoreError("full"), KeyError("x")])
def test_a_driver_survives_whatever_a_tick_raises(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(driver, "_PAUSE", PAUSE)
    store = rc.Store()
    failing = Fails(store, error)
    seen: list[str | None] = []

    async def body(driving: Driver, notes: Notes) -> None:
        store.promises.create("task", timeout=10**9, tags={"resonate:target": "note://somebody"})
        await until(lambda: failing.failed >= 3)
        seen.append(driving.problem)
        failing.mended = True
        await until(lambda: notes.sent == ["task"] and driving.problem is None)

    with caplog.at_level(logging.ERROR, "resonate_core.server"):
        asyncio.run(driven(failing, lambda on: Notes(on.delivered, "", 0), body))
    assert seen[0] is not None and str(error) in seen[0]
    assert sum(str(error) in record.message for record in caplog.records) == 1, "an outage is logged once, not with each try"


@pytest.mark.parametrize("fails", ["offer", "send"])
@pytest.mark.parametrize("kind", ["execute", "unblock"])
def test_one_message_that_raises_does_not_stop_the_others(kind: str, fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "_RETRY_PAUSE", PAUSE)
    store = rc.Store(retry_timeout=100)
    address = "note://somebody"
    if kind == "execute":
        for id in ("before", "bad", "later"):
            store.promises.create(id, timeout=10**9, tags={"resonate:target": address})
    else:
        for id in ("before", "bad", "later"):
            store.promises.create(id, timeout=10**9, tags={"resonate:external": "true"})
            store.promises.register_listener(id, address)
            store.promises.resolve(id)

    async def body(driving: Driver, notes: Notes) -> None:
        await until(lambda: {"before", "later"} <= set(notes.sent))
        await until(lambda: "bad" in notes.sent)  # tried again
        assert driving.problem is None

    asyncio.run(driven(store, lambda on: Notes(on.delivered, fails, 2), body))
