"""PROTOCOL 2: the same store in each of its two dialects."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, V25, V26, DialectClient, executes, request, stored, stored_task, unblocks

# fmt: off
ONLY_2026 = ["promise.register_callback", "promise.register_listener", "promise.search", "task.halt", "task.continue",
             "task.search", "schedule.search", "debug.start", "debug.stop", "debug.reset", "debug.tick", "debug.snap"]
ONLY_2025 = ["promise.register", "promise.subscribe"]
BOTH = ["promise.get", "promise.create", "promise.settle", "task.get", "task.create", "task.acquire", "task.suspend",
        "task.fulfill", "task.release", "task.fence", "task.heartbeat", "schedule.get", "schedule.create", "schedule.delete",
        "schedule.pause", "schedule.resume"]
FOREIGN = [*((V25, k) for k in ONLY_2026), *((V26, k) for k in ONLY_2025),
           *((v, k) for v in (V25, V26) for k in ("promise.delete", "promise", "Promise.get", "promise.get ", "error"))]
# fmt: on


@pytest.mark.parametrize(("version", "kind"), FOREIGN)
def test_s2_a_kind_that_is_not_in_the_dialect_is_a_400_naming_both(store: Any, version: str, kind: str) -> None:
    before = store.digest()
    data = {"id": "p", "awaited": "p", "awaiter": "q", "address": "http://x", "time": 5}
    reply = DialectClient(store, version).send(kind, data, now=77).must(400)
    assert kind in reply.data and version in reply.data
    assert (store.digest(), store.now) == (before, 0)


@pytest.mark.parametrize(("version", "kind"), [(v, k) for v in (V25, V26) for k in BOTH])
def test_s2_a_kind_that_is_in_the_dialect_is_known(store: Any, version: str, kind: str) -> None:
    """An empty request is refused for its members, not for its kind."""
    reply = DialectClient(store, version).send(kind, {})
    assert reply.status == 400 and version not in reply.data


@pytest.mark.parametrize("version", ["", "2024-01-01", "2026-04-02", "2025-01-15 ", "latest"])
def test_s2_an_unknown_version_is_a_400_naming_it(store: Any, version: str) -> None:
    answer = store.apply(request("promise.get", {"id": "p"}, version))
    assert answer["head"] == {"corrId": "c1", "status": 400, "version": V26}
    assert answer["kind"] == "promise.get" and version in answer["data"] and "promise.get" in answer["data"]


def test_s2_a_missing_version_is_a_400(store: Any) -> None:
    answer = store.apply({"kind": "promise.get", "head": {"corrId": "c9"}, "data": {"id": "p"}})
    assert (answer["kind"], answer["head"]) == ("promise.get", {"corrId": "c9", "status": 400, "version": V26})


@pytest.mark.parametrize("version", [V26, V25])
def test_s2_the_answer_carries_the_version_of_the_request(store: Any, version: str) -> None:
    for kind, data in (("promise.get", {"id": "x"}), ("promise.create", {"id": "x", "timeoutAt": 5}), ("promise.get", {})):
        assert store.apply(request(kind, data, version))["head"]["version"] == version


@pytest.mark.parametrize("version", [V26, V25])
def test_s2_one_store_serves_both(store: Any, version: str) -> None:
    other = V25 if version == V26 else V26
    DialectClient(store, version).create("p").must()
    assert DialectClient(store, other).get("p").must()["promise"]["id"] == "p"
    DialectClient(store, other).settle("p").must()
    assert DialectClient(store, version).get("p")["promise"]["state"] == "resolved"


VALUES = [
    ({}, {}, {"headers": {}, "data": ""}),
    ({"data": ""}, {"data": ""}, {"headers": {}, "data": ""}),
    ({"headers": {}}, {"headers": {}}, {"headers": {}, "data": ""}),
    ({"headers": {"a": "b"}}, {"headers": {"a": "b"}}, {"headers": {"a": "b"}, "data": ""}),
    ({"data": "eA=="}, {"data": "eA=="}, {"headers": {}, "data": "eA=="}),
    ({"data": "not base64 \u2713"}, {"data": "not base64 \u2713"}, {"headers": {}, "data": "not base64 \u2713"}),
    ({"headers": None, "data": None}, {}, {"headers": {}, "data": ""}),
    ({"headers": {"": ""}, "data": "x", "more": 1}, {"headers": {"": ""}, "data": "x"}, {"headers": {"": ""}, "data": "x"}),
]


@pytest.mark.parametrize(("given", "new", "old"), VALUES, ids=lambda x: repr(x))
@pytest.mark.parametrize("version", [V26, V25])
def test_s2_members_of_values_as_given_or_filled_in(store: Any, version: str, given: Any, new: Any, old: Any) -> None:
    client = DialectClient(store, version)
    data = {"id": "p", "timeoutAt": FAR, "param": given, "tags": {}}
    first = client.send("promise.create", data).must()["promise"]
    settled = client.settle("p", value=given).must()["promise"]
    shown = new if version == V26 else old
    assert (first["param"], settled["param"], settled["value"]) == (shown, shown, shown)
    assert DialectClient(store, V26).get("p")["promise"]["value"] == new
    assert DialectClient(store, V25).get("p")["promise"]["value"] == old
    assert (stored(store, "p")["param"], stored(store, "p")["value"]) == (new, new)


@pytest.mark.parametrize("version", [V26, V25])
def test_s2_a_pending_record(store: Any, version: str) -> None:
    record = DialectClient(store, version).create("p", timeout=50, tags={"a": "b"}, now=7).must()["promise"]
    empty = {} if version == V26 else {"headers": {}, "data": ""}
    assert record == {
        "id": "p",
        "state": "pending",
        "param": empty,
        "value": empty,
        "tags": {"a": "b"},
        "timeoutAt": 50,
        "createdAt": 7,
    }


def test_s2_task_on_the_wire(store: Any) -> None:
    new, old = DialectClient(store, V26), DialectClient(store, V25)
    created = new.task_create("t", ttl=600, pid="w").must()["task"]
    assert created == new.task("t")["task"] == {"id": "t", "state": "acquired", "version": 1, "resumes": 0, "ttl": 600, "pid": "w"}
    assert old.task("t")["task"] == {"id": "t", "version": 0}
    new.release("t", 1).must()
    assert new.task("t")["task"] == {"id": "t", "state": "pending", "version": 1, "resumes": 0}
    assert old.task("t")["task"] == {"id": "t", "version": 1}


@pytest.mark.parametrize("rules", ["compatible", "strict"])
def test_s2_what_is_422_in_2026_is_400_in_2025(make_store: Any, rules: str) -> None:
    store = make_store(rules=rules)
    new, old = DialectClient(store, V26), DialectClient(store, V25)
    new.task_create("t").must()
    before = store.digest()
    assert new.suspend("t", 1, "missing").must(422).data
    assert old.suspend("t", 0, "missing").must(400).data
    assert store.digest() == before


def test_s2_acquire_answers(store: Any) -> None:
    new, old = DialectClient(store, V26), DialectClient(store, V25)
    for id in ("t", "u"):
        new.create(id, target=ADDRESS).must()
    new.create("x").must()
    answer = new.acquire("t", 0).must()
    assert set(answer.data) == {"task", "promise", "preload"} and answer["promise"]["id"] == "t"
    answer = old.acquire("u", 0).must()
    assert answer.data == {"kind": "invoke", "data": {"invoked": old.get("u")["promise"]}}
    old.suspend("u", 0, "x").must()
    old.settle("x").must()
    answer = old.acquire("u", 1).must()
    assert answer.data == {"kind": "resume", "data": {"invoked": old.get("u")["promise"], "awaited": old.get("x")["promise"]}}


def test_s2_task_create_on_an_existing_pending_task(store: Any) -> None:
    new, old = DialectClient(store, V26), DialectClient(store, V25)
    new.create("t", target=ADDRESS).must()
    before = store.digest()
    assert old.task_create("t").must().data == {"promise": old.get("t")["promise"]}
    assert store.digest() == before
    assert new.task_create("t").must()["task"]["version"] == 1


def _with_resumes(store: Any, *awaited: str) -> None:
    client = DialectClient(store)
    client.create("t", target=ADDRESS).must()
    for id in awaited:
        client.create(id).must()
        client.register(id, "t").must()
        client.settle(id).must()


def test_s2_acquire_clears_resumes_in_2026(store: Any) -> None:
    _with_resumes(store, "a", "b")
    assert DialectClient(store).task("t")["task"]["resumes"] == 2
    assert DialectClient(store).acquire("t", 0).must()["task"]["resumes"] == 0
    assert stored_task(store, "t")["resumes"] == []


def test_s2_acquire_removes_current_alone_in_2025(store: Any) -> None:
    client = DialectClient(store, V25)
    for id in ("gate", "a", "b"):
        client.create(id).must()
    client.create("t", target=ADDRESS).must()
    client.acquire("t", 0).must()
    for id in ("a", "b"):
        client.register(id, "t").must()
    client.suspend("t", 0, "gate").must()
    for id in ("b", "gate", "a"):
        client.settle(id).must()
    assert (stored_task(store, "t")["current"], stored_task(store, "t")["resumes"]) == ("b", ["b", "gate", "a"])
    client.acquire("t", 1).must()
    assert (stored_task(store, "t")["current"], stored_task(store, "t")["resumes"]) == ("b", ["gate", "a"])


def test_s2_suspend_with_queued_resumes_differs(store: Any) -> None:
    """A suspend takes a queued resume in 2025-01-15 and ignores it in 2026-04-01 (2, 3.12)."""
    for version, id in ((V26, "new"), (V25, "old")):
        client = DialectClient(store, version)
        client.task_create(id).must()
        held = 1 if version == V26 else 0
        for other in ("x", "gate"):
            client.create(f"{id}.{other}").must()
        client.register(f"{id}.x", id).must()
        client.settle(f"{id}.x").must()
        reply = client.suspend(id, held, f"{id}.gate")
        if version == V26:
            reply.must(200)
            assert stored_task(store, id)["state"] == "suspended"
        else:
            assert reply.must(300).data == {}
            assert stored_task(store, id)["current"] == "old.x"


def test_s2_messages_speak_the_dialect_of_creation(store: Any) -> None:
    for version, id in ((V26, "new"), (V25, "old")):
        client, other = DialectClient(store, version), DialectClient(store, V25 if version == V26 else V26)
        client.create(id, target=ADDRESS).must()
        other.acquire(id, 0).must()
        other.release(id, 0 if other.version == V25 else 1).must()
        client.create(f"{id}.x").must()
        other.listen(f"{id}.x").must()
        other.settle(f"{id}.x").must()
    assert sorted(executes(store)) == [("execute", "new", 1), ("invoke", "old", 1)]
    assert [(k, i) for k, i, _ in unblocks(store)] == [("notify", "new.x"), ("unblock", "old.x")]


def test_s2_heartbeat_naming_missing_tasks(store: Any) -> None:
    new, old = DialectClient(store, V26), DialectClient(store, V25)
    new.task_create("t", pid="w").must()
    new.create("plain").must()
    new.heartbeat("w", ("no", 0)).must(200)
    old.heartbeat("w", ("no", 0)).must(404)
    old.heartbeat("w", ("no", 0), ("plain", 0)).must(404)
    old.heartbeat("w", ("no", 0), ("t", 0)).must(200)
    old.heartbeat("other", ("t", 5)).must(200)


def test_s2_a_task_without_target(store: Any) -> None:
    DialectClient(store, V26).task_create("t", target=None).must(400)
    old = DialectClient(store, V25)
    assert old.task_create("t", target=None, ttl=100, now=0).must()["task"] == {"id": "t", "version": 0}
    store.tick(now=100)
    assert stored_task(store, "t")["state"] == "pending" and executes(store) == []
    store.tick(now=1_000_000)
    assert executes(store) == []
    assert old.acquire("t", 1).must()["kind"] == "invoke"
    assert DialectClient(store, V26).task("t")["task"]["version"] == 2


def test_s2_1_retry_cadence_is_an_interval_by_default(make_store: Any) -> None:
    for options, expected in (({}, 5_000), ({"retry_timeout": 70}, 70)):
        store = make_store(**options)
        DialectClient(store).create("t", target=ADDRESS, now=3).must()
        assert stored_task(store, "t")["retryAt"] == 3 + expected


def test_s2_1_retry_cadence_may_be_the_last_ttl(make_store: Any) -> None:
    store = make_store(retry_timeout="ttl")
    client = DialectClient(store)
    client.create("t", target=ADDRESS, now=3).must()
    assert stored_task(store, "t")["retryAt"] == 5_003
    client.acquire("t", 0, ttl=120, now=4).must()
    client.release("t", 1, now=5).must()
    assert stored_task(store, "t")["retryAt"] == 125
    store.tick(now=130)
    assert stored_task(store, "t")["retryAt"] == 245  # as if the message had been queued again at 125
    store.take_messages()
    store.tick(now=250)
    assert stored_task(store, "t")["retryAt"] == 370
