"""The debug.* operations of dialect 2026-04-01 (WIRE 5), which need a manual clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conformance.wire import ADDRESS, FAR, DialectClient, rows_of, stored

Make = Callable[..., Any]
EXT = {"resonate:external": "true"}


def test_debug_operations_are_403_where_they_are_off(make_store: Make) -> None:
    store = make_store(debug=False)
    for kind in ("start", "stop", "reset", "tick", "snap"):
        reply = DialectClient(store).send(f"debug.{kind}", {"time": 500}, 500)
        assert reply.status == 403
    assert store.now == 0


def test_debug_start_stop_reset(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", target=ADDRESS, now=9).must()
    client.schedule("s").must()
    assert client.send("debug.start", {}).must().data == {}
    assert client.send("debug.stop", {}).must().data == {}
    assert client.send("debug.start", {}).must().data == {}
    assert client.send("debug.reset", {}).must().data == {}
    assert rows_of(store) == {"format": "resonate_core/1", "dropped": 0, "promises": [], "schedules": [], "messages": []}
    assert store.now == 9


def test_debug_tick(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", timeout=100, tags=EXT, now=0).must()
    assert client.send("debug.tick", {"time": 100}).must().data == []
    assert stored(store, "p")["state"] == "rejected_timedout" and store.now == 100
    for data in ({}, {"time": "5"}, {"time": 5.0}, {"time": None}, {"time": 99}):
        client.send("debug.tick", data).must(400)
    client.send("debug.tick", {"time": 200}, **{"resonate:debug_time": 201}).must(400)
    assert store.now == 100
    client.send("debug.tick", {"time": 200}, **{"resonate:debug_time": 200}).must()
    assert store.now == 200


def test_debug_time_is_the_instant_of_its_request(store: Any) -> None:
    client = DialectClient(store)
    record = client.send("promise.create", {"id": "p", "timeoutAt": FAR}, 5, **{"resonate:debug_time": 70}).must()["promise"]
    assert record["createdAt"] == 70 and store.now == 70
    client.send("promise.create", {"id": "q", "timeoutAt": FAR}, **{"resonate:debug_time": 69}).must(400)
    assert store.now == 70


def test_debug_snap(store: Any) -> None:
    client = DialectClient(store)
    client.create("x", timeout=900, now=0).must()
    client.create("plain", timeout=500, now=0).must()
    for id in ("s", "a"):
        client.task_create(id, timeout=FAR, ttl=50, now=0).must()
    client.create("i", timeout=FAR, target=ADDRESS, now=0).must()
    client.suspend("s", 1, "x", now=0).must()
    client.listen("x", now=0).must()
    client.create("y", now=0).must()
    client.listen("y", now=0).must()
    client.settle("y", now=1).must()
    snap = client.send("debug.snap", {}).must().data
    assert snap == store.snapshot(format="debug")
    assert {p["id"]: p["state"] for p in snap["promises"]} == {
        "a": "pending",
        "i": "pending",
        "plain": "pending",
        "s": "pending",
        "x": "pending",
        "y": "resolved",
    }
    key = lambda r: sorted(r.items(), key=str)  # noqa: E731
    assert sorted(snap["promiseTimeouts"], key=key) == sorted(
        ({"id": i, "timeout": 900 if i == "x" else FAR} for i in "aisx"), key=key
    )
    assert snap["callbacks"] == [{"awaiter": "s", "awaited": "x"}]
    assert snap["listeners"] == [{"id": "x", "address": "poll://uni@clients/c1"}]
    assert {t["id"]: t["state"] for t in snap["tasks"]} == {"a": "acquired", "i": "pending", "s": "suspended"}
    assert sorted(snap["taskTimeouts"], key=key) == sorted(
        [{"id": "a", "type": 1, "timeout": 50}, {"id": "i", "type": 0, "timeout": 5_000}], key=key
    )
    assert [m["message"]["kind"] for m in snap["messages"]] == ["execute", "unblock"]
    assert set(snap) == {"promises", "promiseTimeouts", "callbacks", "listeners", "tasks", "taskTimeouts", "messages"}


def test_debug_snap_is_pure(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", timeout=100, tags=EXT, now=0).must()
    before = rows_of(store)
    assert client.send("debug.snap", {}, 500).must()["promises"][0]["state"] == "pending"
    assert rows_of(store) == before
