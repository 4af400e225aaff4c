"""Store.on_message: delivers messages to functions of this process."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import pytest

import resonate_core as rc

LOCAL = {"resonate:target": "local://here"}
FAR = 10**15


@pytest.fixture
def store():
    with rc.Store(clock=rc.ManualClock()) as made:
        yield made


def test_a_manual_clocks_store_delivers_when_it_is_told_to(store):
    seen = []
    store.on_message("local", seen.append)
    store.promises.create("a", timeout_at=FAR, tags=LOCAL)
    store.promises.create("b", timeout_at=FAR, tags=LOCAL)
    store.promises.create("elsewhere", timeout_at=FAR, tags={"resonate:target": "poll://any@w"})
    assert seen == []
    assert store.deliver() == 2
    assert [(message.kind, message.id) for message in seen] == [("execute", "a"), ("execute", "b")]
    assert [message.id for message in store.messages()] == ["elsewhere"]
    assert store.deliver() == 0


def test_a_message_is_there_until_its_handler_returned(store):
    answers = [ValueError("not yet"), None]

    def handler(message):
        assert len(store.messages()) == 1
        answer = answers.pop(0)
        if answer:
            raise answer

    store.on_message("local", handler)
    store.promises.create("a", timeout_at=FAR, tags=LOCAL)
    assert store.deliver() == 0
    assert len(store.messages()) == 1
    deadline = time.monotonic() + 60
    while answers:  # the message is delivered again after a delay
        store.deliver()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert store.messages() == []


def test_one_that_raises_keeps_nothing_from_the_others(store):
    def handler(message):
        if message.id == "bad":
            raise ValueError(message.id)

    store.on_message("local", handler)
    for id in ("first", "bad", "last"):
        store.promises.create(id, timeout_at=FAR, tags=LOCAL)
    assert store.deliver() == 2
    assert [message.id for message in store.messages()] == ["bad"]


def test_a_stale_execute_is_not_handed_over(store):
    seen = []
    store.on_message("local", seen.append)
    store.promises.create("a", timeout_at=FAR, tags=LOCAL)
    store.tasks.acquire("a", 0, pid="p", ttl=1000)
    assert store.deliver() == 1 and seen == []
    assert store.messages() == []


def test_an_unblock_carries_its_promise(store):
    seen = []
    store.on_message("local", seen.append)
    store.promises.create("a", timeout_at=FAR)
    store.promises.register_listener("a", "local://me")
    store.promises.resolve("a", {"n": 1})
    store.deliver()
    assert seen[0].message["data"]["promise"]["state"] == "resolved"


def test_a_system_clocks_store_delivers_by_itself():
    arrived = threading.Event()
    with rc.Store() as store, store.on_message("local", lambda message: arrived.set()):
        store.promises.create("a", timeout=60_000, tags=LOCAL)
        assert arrived.wait(60)
        deadline = time.monotonic() + 60
        while store.messages():
            assert time.monotonic() < deadline
            time.sleep(0.001)


def test_what_waited_before_is_delivered_too():
    arrived = threading.Event()
    with rc.Store() as store:
        store.promises.create("a", timeout=60_000, tags=LOCAL)
        store.on_message("local", lambda message: arrived.set())
        assert arrived.wait(60)


def test_after_close_messages_wait(store):
    seen = []
    subscription = store.on_message("local", seen.append)
    subscription.close()
    subscription.close()
    store.promises.create("a", timeout_at=FAR, tags=LOCAL)
    assert store.deliver() == 0 and seen == []
    store.on_message("local", seen.append)  # the scheme may have a function again
    assert store.deliver() == 1


def test_its_thread_ends_with_the_store():
    store = rc.Store()
    store.on_message("local", lambda message: None)
    threads = [one for one in threading.enumerate() if one.name == "resonate-messages"]
    assert threads
    gone = weakref.ref(store)
    del store
    gc.collect()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("scheme", ["", "Local", "local:", "a b", "1x"])
def test_what_is_no_scheme_is_refused(store, scheme):
    with pytest.raises(rc.Invalid, match="scheme must be"):
        store.on_message(scheme, print)


def test_a_scheme_has_one_handler(store):
    store.on_message("local", print)
    with pytest.raises(rc.Invalid, match="has a handler"):
        store.on_message("local", print)


def test_a_handler_can_be_called(store):
    with pytest.raises(TypeError, match="callable"):
        store.on_message("local", 5)


def test_the_server_leaves_a_handled_scheme_alone():
    pytest.importorskip("starlette")
    from resonate_core.base.release_delay import Damper
    from resonate_core.server.delivery import Declined, Delivery
    from resonate_core.server.metrics import Metrics

    class Refuses:
        def offer(self, message):
            raise AssertionError("it was offered to a transport")

        async def close(self):
            pass

    with rc.Store(clock=rc.ManualClock()) as store:
        delivery = Delivery(store, call=None, metrics=Metrics(), wake=lambda: None, damper=Damper(lambda: 0.0), keep=5)
        delivery.transports["local"] = Refuses()
        store.on_message("local", print)
        store.promises.create("a", timeout_at=FAR, tags=LOCAL)
        assert delivery._offer(store.messages()[0]) is Declined.ADDRESS
