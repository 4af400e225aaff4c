"""PROTOCOL 5 and the outbox of 1: the messages, their keys, and how long they stay queued."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, LISTENER, V25, V26, DialectClient, executes, stored_task, unblocks

Make = Callable[..., Any]
DAY = 86_400_000


def test_s5_execute_in_wire_form(store: Any) -> None:
    DialectClient(store).create("t", target=ADDRESS).must()
    assert store.take_messages() == [
        {
            "key": "execute:t",
            "address": ADDRESS,
            "message": {"kind": "execute", "head": {}, "data": {"task": {"id": "t", "version": 0}}},
        }
    ]
    assert store.take_messages() == []


def test_s5_unblock_in_wire_form(store: Any) -> None:
    client = DialectClient(store)
    client.create("p").must()
    client.listen("p").must()
    record = client.settle("p", "rejected_canceled", {"headers": {"a": "b"}}).must()["promise"]
    assert store.take_messages() == [
        {
            "key": f"unblock:p:{LISTENER}",
            "address": LISTENER,
            "message": {"kind": "unblock", "head": {}, "data": {"promise": record}},
        }
    ]


def test_s5_invoke_resume_notify_in_wire_form(store: Any) -> None:
    old = DialectClient(store, V25)
    old.create("x").must()
    old.create("t", target=ADDRESS).must()
    assert store.take_messages() == [
        {
            "key": "execute:t",
            "address": ADDRESS,
            "message": {"kind": "invoke", "head": {}, "data": {"task": {"id": "t", "version": 0}}},
        }
    ]
    old.acquire("t", 0).must()
    old.listen("x").must()
    old.suspend("t", 0, "x").must()
    record = old.settle("x").must()["promise"]
    assert record["value"] == {"headers": {}, "data": ""}
    assert store.take_messages() == [
        {
            "key": f"unblock:x:{LISTENER}",
            "address": LISTENER,
            "message": {"kind": "notify", "head": {}, "data": {"promise": record}},
        },
        {
            "key": "execute:t",
            "address": ADDRESS,
            "message": {"kind": "resume", "head": {}, "data": {"task": {"id": "t", "version": 1}}},
        },
    ]


@pytest.mark.parametrize("settler", [V26, V25])
def test_s5_an_unblock_speaks_the_dialect_of_its_registration(store: Any, settler: str) -> None:
    clients = {v: DialectClient(store, v) for v in (V26, V25)}
    clients[V26].create("p").must()
    for version, address in ((V26, "http://new"), (V25, "http://old")):
        clients[version].listen("p", address).must()
    clients[settler].settle("p").must()
    assert [(m["address"], m["message"]["kind"]) for m in store.take_messages()] == [
        ("http://new", "unblock"),
        ("http://old", "notify"),
    ]


@pytest.mark.parametrize("acquirer", [V26, V25])
def test_s5_an_execute_speaks_the_dialect_of_its_promise(store: Any, acquirer: str) -> None:
    for version, kinds in ((V26, ["execute", "execute"]), (V25, ["invoke", "invoke"])):
        id = f"t{version}"
        DialectClient(store, version).create(id, target=ADDRESS).must()
        first = executes(store, id)[0][0]
        client = DialectClient(store, acquirer)
        client.acquire(id, 0).must()
        client.release(id, 1 if acquirer == V26 else 0).must()
        assert [first, executes(store, id)[0][0]] == kinds


def test_s5_a_new_execute_replaces_the_old_and_goes_to_the_end(store: Any) -> None:
    client = DialectClient(store)
    for id in ("a", "b"):
        client.create(id, target=ADDRESS, now=0).must()
    client.acquire("a", 0, now=1).must()
    assert executes(store) == [("execute", "a", 0), ("execute", "b", 0)], "a stale execute stays until it is replaced or taken"
    client.release("a", 1, now=2).must()
    assert executes(store) == [("execute", "b", 0), ("execute", "a", 1)]
    assert [m["queuedAt"] for m in store.snapshot()["messages"]] == [0, 2]


def test_s5_stale_executes_outlive_their_task(store: Any) -> None:
    client = DialectClient(store)
    client.create("t", target=ADDRESS).must()
    client.settle("t").must()
    assert executes(store) == [("execute", "t", 0)]
    store.tick(now=10 * DAY)
    assert executes(store) == [("execute", "t", 0)], "retention is for unblocks alone"
    assert store.check() == []


def test_s5_unblocks_are_keyed_by_promise_and_address(store: Any) -> None:
    client = DialectClient(store)
    for id in ("p", "q"):
        client.create(id).must()
        for address in ("http://a", "http://b"):
            client.listen(id, address).must()
        client.settle(id).must()
    keys = [m.key for m in store.messages()]
    assert keys == ["unblock:p:http://a", "unblock:p:http://b", "unblock:q:http://a", "unblock:q:http://b"]


def test_s5_messages_shows_and_does_not_take(store: Any) -> None:
    DialectClient(store).create("t", target=ADDRESS, now=4).must()
    for _ in range(2):
        (message,) = store.messages()
        assert (message.kind, message.id, message.version, message.address) == ("execute", "t", 0, ADDRESS)
        assert (message.attempts, message.queued_at, message.key) == (0, 4, "execute:t")
        assert message.message == {"kind": "execute", "head": {}, "data": {"task": {"id": "t", "version": 0}}}


def test_s5_take_messages_takes_in_order_up_to_a_limit(store: Any) -> None:
    client = DialectClient(store)
    for id in "cab":
        client.create(id, target=ADDRESS).must()
    assert [m["key"] for m in store.take_messages(limit=2)] == ["execute:c", "execute:a"]
    assert [m["key"] for m in store.take_messages(limit=5)] == ["execute:b"]


def test_s5_a_dropped_execute_is_recovered_by_the_dispatch_timer(store: Any) -> None:
    DialectClient(store).create("t", target=ADDRESS, now=0).must()
    store.take_messages()
    store.tick(now=4_999)
    assert executes(store) == []
    store.tick(now=5_000)
    assert executes(store) == [("execute", "t", 0)]


def test_s5_taking_changes_no_row(store: Any) -> None:
    client = DialectClient(store)
    client.create("t", target=ADDRESS).must()
    before = stored_task(store, "t")
    store.take_messages()
    assert stored_task(store, "t") == before


@pytest.mark.parametrize("retention", [None, 1_000])
@pytest.mark.parametrize("version", [V26, V25])
def test_s5_unblocks_that_nobody_takes_are_dropped_and_counted(make_store: Make, version: str, retention: int | None) -> None:
    store = make_store(**({} if retention is None else {"unblock_retention": retention}))
    kept = retention or DAY
    client = DialectClient(store, version)
    for id in ("p", "q"):
        client.create(id, timeout=10**15, now=0).must()
        client.listen(id, now=0).must()
    client.settle("p", now=10).must()
    client.settle("q", now=11).must()
    store.tick(now=10 + kept - 1)
    assert (len(unblocks(store)), store.snapshot()["dropped"]) == (2, 0)
    client.get("p", now=10 + kept).must()
    assert len(unblocks(store)) == 2, "a read stores nothing"
    store.tick(now=10 + kept)
    assert ([u[1] for u in unblocks(store)], store.snapshot()["dropped"]) == (["q"], 1)
    client.settle("nobody", now=11 + kept).must(404)
    assert (unblocks(store), store.snapshot()["dropped"]) == ([], 2)


def test_s5_an_unblock_stays_until_it_is_taken(store: Any) -> None:
    client = DialectClient(store)
    client.create("p").must()
    client.listen("p").must()
    client.settle("p", now=0).must()
    for now in (10, 10_000, DAY - 1):
        store.tick(now=now)
        assert len(unblocks(store)) == 1
    assert len(store.take_messages()) == 1
    assert store.snapshot()["dropped"] == 0


@pytest.mark.parametrize("version", [V26, V25])
def test_s5_the_unblock_of_a_deadline(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.create("p", timeout=100, now=0).must()
    client.listen("p", now=0).must()
    store.tick(now=250)
    (taken,) = store.take_messages()
    record = taken["message"]["data"]["promise"]
    assert (record["state"], record["settledAt"]) == ("rejected_timedout", 100)
    assert record == client.get("p")["promise"]
    assert store.messages() == []


def test_s5_no_message_for_an_acquired_task(store: Any) -> None:
    client = DialectClient(store)
    client.task_create("t", timeout=FAR).must()
    assert store.messages() == []
