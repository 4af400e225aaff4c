"""A store whose `on_message` handler uses it was never collected: its thread and its descriptors stayed, 2 to 42 and 12 to 214 in a loop."""

from __future__ import annotations

import asyncio
import functools
import gc
import importlib.util
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.asgi import create_app
from resonate_core.calls import delivery
from resonate_core.worker import Worker

Note = Callable[[str], None]


@pytest.fixture(scope="module", autouse=True)
def only_new_objects_are_collected() -> None:
    """Excludes the objects of earlier tests from the collections here, each of which took 0.3 s at the end of a run."""
    gc.collect()
    gc.freeze()


LOCAL = {"resonate:target": "local://here"}
DESCRIPTORS = Path("/proc/self/fd")


class Holder:
    """An object that holds the store and its subscription, and whose method is the handler."""

    def __init__(self, store: rc.Store, note: Note) -> None:
        self.store = store
        self.note = note
        self.subscription = store.on_message("local", self.receive)

    def receive(self, message: rc.Message) -> None:
        self.note(self.store.promises.get(message.id).id)


class Own(rc.Store[Any]):
    """A subclass that handles its messages itself."""

    def receive(self, note: Note, message: rc.Message) -> None:
        note(self.promises.get(message.id).id)


def closure(store: rc.Store, note: Note) -> None:
    store.on_message("local", lambda message: note(store.promises.get(message.id).id))


def several(store: rc.Store, note: Note) -> None:
    closure(store, note)
    store.on_message("other", lambda message: store.promises.get(message.id))
    store.on_message("third", functools.partial(print, store))


def one_that_ended(store: rc.Store, note: Note) -> None:
    store.on_message("other", lambda message: store.promises.get(message.id)).close()
    closure(store, note)


def awaited(store: rc.Store, note: Note) -> None:
    aio = store.aio

    async def receive(message: rc.Message) -> None:
        note((await aio.promises.get(message.id)).id)

    store.on_message("local", lambda message: asyncio.run(receive(message)))


def failing(store: rc.Store, note: Note) -> None:
    def receive(message: rc.Message) -> None:
        note(store.promises.get(message.id).id)
        raise ValueError("the message comes again")

    store.on_message("local", receive)


def worker(store: rc.Store, note: Note) -> None:
    held = Worker(store)
    double = held.task("double")(lambda n: 2 * n)

    def receive(message: rc.Message) -> None:
        with held:
            assert store.result(double.enqueue(21).id, timeout=60) == 42
        note(message.id)

    store.on_message("local", receive)


def connection(store: rc.Store, note: Note) -> None:
    from resonate_core.connection import Connection

    held = Connection(store)
    store.on_message("local", lambda message: note(held.store.promises.get(message.id).id))


def app(store: rc.Store, note: Note) -> None:
    held = create_app(store)

    async def receive(message: rc.Message) -> None:
        async with held.lifespan():
            note((await store.aio.promises.get(message.id)).id)

    store.on_message("local", lambda message: asyncio.run(receive(message)))


def method_of_the_store(store: rc.Store, note: Note) -> None:
    assert isinstance(store, Own)
    store.on_message("local", functools.partial(store.receive, note))


HOLDERS: dict[str, Callable[[rc.Store, Note], object]] = {
    "a closure": closure,
    "several handlers": several,
    "a handler and one that ended": one_that_ended,
    "a method of an object": Holder,
    "a method of the store": method_of_the_store,
    "a handler that fails": failing,
    "the store's aio": awaited,
    "a worker": worker,
    "a connection": connection,
    "a server": app,
}


def until(what: Callable[[], bool]) -> None:
    """Wait until something is so; the limit is only a guard."""
    limit = time.monotonic() + 120
    while not what():
        assert time.monotonic() < limit, "it does not happen"
        time.sleep(0.01)


def collected(reference: weakref.ref[rc.Store]) -> bool:
    """Collect garbage. The thread of a store refers to it while it delivers."""
    gc.collect()
    return reference() is None


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("resonate")}


def descriptors() -> int:
    return len(os.listdir(DESCRIPTORS)) if DESCRIPTORS.is_dir() else 0


def used(place: Path | str | None, hold: Callable[[rc.Store, Note], object], id: str = "a") -> weakref.ref[rc.Store]:
    """Make a store whose handler refers to it, deliver a message to the handler, and leave both."""
    received: list[str] = []
    store = (Own if hold is method_of_the_store else rc.Store)(place)
    hold(store, received.append)
    store.promises.create(id, timeout=600_000, tags=LOCAL)
    until(lambda: id in received)
    return weakref.ref(store)


@pytest.mark.parametrize("where", ["memory", "file"])
@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_the_store_is_collected_with_its_thread_and_descriptors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, where: str, hold: Callable[[rc.Store, Note], object]
) -> None:
    if hold is connection and importlib.util.find_spec("resonate") is None:
        pytest.skip("the SDK is not installed")
    if hold is failing:
        caplog.set_level(
            logging.CRITICAL, "resonate_core.delivery"
        )  # pytest keeps each traceback that is logged, with the handler in it
    of_others = threads()

    def make(name: str) -> weakref.ref[rc.Store]:
        return used(tmp_path / name if where == "file" else None, hold)

    first = make("first.db")  # what is imported and opened once
    until(lambda: collected(first))
    until(lambda: not threads() - of_others)
    before = descriptors()
    found = [make(f"{number}.db") for number in range(3)]
    for reference in found:
        until(lambda reference=reference: collected(reference))
    until(lambda: not threads() - of_others)
    until(lambda: descriptors() <= before)


def test_a_store_in_a_database_is_collected_with_its_connections(postgres_url: str) -> None:
    of_others = threads()
    first = used(postgres_url, closure)
    until(lambda: collected(first))
    until(lambda: not threads() - of_others)
    before = descriptors()
    second = used(postgres_url, several, "b")
    until(lambda: collected(second))
    until(lambda: not threads() - of_others)
    until(lambda: descriptors() <= before)


def test_a_store_without_messages_is_collected_at_once():
    # The thread refers to the store while it looks for messages: not before there is one, or once in a second.
    def scope() -> weakref.ref[rc.Store]:
        store = rc.Store()
        store.on_message("local", lambda message: store.promises.get(message.id))
        return weakref.ref(store)

    found = []
    for _ in range(40):
        found.append(scope())
        gc.collect()
    assert sum(each() is not None for each in found) <= 4
    until(lambda: all(collected(each) for each in found))


def test_a_store_that_cannot_be_read_is_collected(monkeypatch, caplog):
    failing_reads: list[str] = []

    def fail(self: Any, store: rc.Store, survived: Any) -> int:
        failing_reads.append("read")
        raise rc.StoreError("the disk is gone")

    caplog.set_level(logging.CRITICAL, "resonate_core.delivery")  # as above
    monkeypatch.setattr(delivery._Handlers, "deliver", fail)

    def scope() -> weakref.ref[rc.Store]:
        store = rc.Store()
        store.promises.create("a", timeout=600_000, tags=LOCAL)
        store.on_message("local", lambda message: store.promises.get(message.id))
        until(lambda: bool(failing_reads))
        return weakref.ref(store)

    found = scope()
    until(lambda: collected(found))


def test_who_keeps_the_subscription_keeps_the_handler():
    received: list[str] = []

    def subscribe() -> tuple[rc.Subscription, rc.Promises]:
        store = rc.Store()
        return store.on_message("local", lambda message: received.append(store.promises.get(message.id).id)), store.promises

    subscription, promises = subscribe()
    gc.collect()
    promises.create("a", timeout=600_000, tags=LOCAL)
    until(lambda: received == ["a"])
    subscription.close()


def test_a_clock_that_refers_to_its_store_does_not_keep_it():
    class Clock(rc.ManualClock):
        store: rc.Store

    clock = Clock(start=0)
    clock.store = rc.Store(clock=clock)
    found = weakref.ref(clock.store)
    gc.collect()
    assert found() is clock.store and clock.store.clock is clock
    del clock
    gc.collect()
    assert found() is None


def test_a_store_in_use_is_not_collected():
    store, received = rc.Store(), []
    store.on_message("local", lambda message: received.append(store.promises.get(message.id).id))
    for number in range(20):
        store.promises.create(str(number), timeout=600_000, tags=LOCAL)
        gc.collect()
    until(lambda: set(received) == {str(number) for number in range(20)})  # a message whose task no worker takes comes again
    store.close()
