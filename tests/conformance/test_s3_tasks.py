"""PROTOCOL 3.8 to 3.17 and preload: requests on tasks."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, V25, V26, DialectClient, executes, forget_messages, held, stored, stored_task


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_8_task_get(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    assert "nobody" in client.task("nobody").must(404).data
    client.create("plain").must()
    client.task("plain").must(404)
    client.task_create("t").must()
    assert client.task("t").must()["task"]["id"] == "t"


def test_s3_9_task_create_new(store: Any) -> None:
    client = DialectClient(store)
    answer = client.task_create("t", timeout=5_000, ttl=60, pid="w", now=10).must()
    assert set(answer.data) == {"task", "promise", "preload"} and answer["preload"] == []
    assert answer["task"] == {"id": "t", "state": "acquired", "version": 1, "resumes": 0, "ttl": 60, "pid": "w"}
    assert answer["promise"]["state"] == "pending" and answer["promise"]["createdAt"] == 10
    assert stored_task(store, "t")["expiresAt"] == 70
    assert executes(store) == []


def test_s3_9_task_create_born_dead(store: Any) -> None:
    answer = DialectClient(store).task_create("t", timeout=10, now=10).must()
    assert answer["task"] == {"id": "t", "state": "fulfilled", "version": 0, "resumes": 0}
    assert answer["promise"]["state"] == "rejected_timedout" and answer["preload"] == []
    assert executes(store) == []


def test_s3_9_task_create_on_existing(store: Any) -> None:
    client = DialectClient(store)
    client.create("gate").must()
    client.task_create("t", ttl=50, pid="a", now=0).must()
    client.task_create("t", pid="b", now=1).must(409)
    client.suspend("t", 1, "gate", now=2).must()
    client.task_create("t", pid="b", now=3).must(409)
    client.halt("t", now=4).must()
    client.task_create("t", pid="b", now=5).must(409)
    client.cont("t", now=6).must()
    answer = client.task_create("t", ttl=70, pid="b", timeout=7, now=7).must()
    assert answer["task"] == {"id": "t", "state": "acquired", "version": 2, "resumes": 0, "ttl": 70, "pid": "b"}
    assert answer["promise"]["timeoutAt"] == FAR, "the stored promise stands"
    client.fulfill("t", 2, now=8).must()
    answer = client.task_create("t", now=9).must()
    assert (answer["task"]["state"], answer["promise"]["state"], answer["preload"]) == ("fulfilled", "resolved", [])


def test_s3_9_task_create_acquires_with_resumes_cleared_and_current_kept(store: Any) -> None:
    client = DialectClient(store)
    for id in ("gate", "x"):
        client.create(id).must()
    client.task_create("t").must()
    client.register("x", "t").must()
    client.suspend("t", 1, "gate").must()
    client.settle("gate").must()
    client.settle("x").must()
    assert stored_task(store, "t")["resumes"] == ["gate", "x"]
    client.task_create("t").must()
    assert (stored_task(store, "t")["resumes"], stored_task(store, "t")["current"]) == ([], "gate")


def test_s3_9_task_create_ikc_comes_first(store: Any) -> None:
    client = DialectClient(store)
    client.create("t", target=ADDRESS, ikc="k").must()
    before = store.digest()
    client.task_create("t", ikc="other").must(409)
    assert store.digest() == before
    client.task_create("t", ikc="k").must()
    client.create("plain").must()
    client.task_create("plain", ikc="k").must(409)


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_9_task_create_refuses_a_delay_and_an_empty_target(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.task_create("t", tags={"resonate:delay": "5"}).must(400)
    client.task_create("t", target="").must(400)
    assert store.snapshot()["promises"] == []


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_10_acquire_checks_in_order(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.acquire("missing", 7).must(404)
    client.create("t", target=ADDRESS, now=0).must()
    client.acquire("t", 1, now=0).must(409)
    client.acquire("t", 0, ttl=30, pid="w", now=5).must()
    assert stored_task(store, "t")["expiresAt"] == 35 and "retryAt" not in stored_task(store, "t")
    for shown in (0, 1, 2):
        client.acquire("t", shown, pid="w").must(409)


def test_s3_10_two_workers_one_version(store: Any) -> None:
    client = DialectClient(store)
    client.create("t", target=ADDRESS).must()
    assert [client.acquire("t", 0, pid=f"w{i}").status for i in range(3)] == [200, 409, 409]
    assert stored_task(store, "t")["pid"] == "w0"


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_11_release_sends_at_once(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.release("missing", 0).must(404)
    client.create("t", target=ADDRESS, now=0).must()
    client.acquire("t", 0, now=1).must()
    forget_messages(store)
    assert client.release("t", held(version), now=2).must().data == {}
    assert stored_task(store, "t")["retryAt"] == 5_002
    assert executes(store) == [("execute" if version == V26 else "invoke", "t", 1)]


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_13_fulfill(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    v = held(version)
    client.fulfill("missing", 0).must(404)
    client.task_create("t").must()
    client.create("other").must()
    client.send(
        "task.fulfill", {"id": "t", "version": v, "action": client.action("promise.settle", {"id": "other", "state": "resolved"})}
    ).must(400)
    client.send(
        "task.fulfill", {"id": "t", "version": v, "action": client.action("promise.create", {"id": "t", "state": "resolved"})}
    ).must(400)
    client.fulfill("t", v, "rejected_timedout").must(400)
    client.fulfill("t", v + 1).must(409)
    record = client.fulfill("t", v, "rejected", {"data": "eA=="}, now=9).must()["promise"]
    assert (record["state"], record["settledAt"]) == ("rejected", 9)
    assert stored_task(store, "t") == {"state": "fulfilled", "acquisitions": 1, "resumes": []}
    for shown in (v, v + 1):
        client.fulfill("t", shown).must(409)


def test_s3_13_fulfill_keeps_iku(store: Any) -> None:
    client = DialectClient(store)
    client.task_create("t").must()
    client.fulfill("t", 1, iku="k").must()
    assert stored(store, "t")["iku"] == "k"
    client.settle("t", iku="k").must(200)
    client.settle("t", iku="other").must(409)


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_14_fence(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    v = held(version)
    client.fence_create("missing", 0, "c").must(404)
    client.create("idle", target=ADDRESS).must()
    client.fence_create("idle", 0, "c").must(409)
    client.task_create("t").must()
    client.fence_create("t", v + 1, "c").must(409)
    client.get("c").must(404)
    answer = client.fence_create("t", v, "c", target=ADDRESS).must()
    assert set(answer.data) == ({"action", "preload"} if version == V26 else {"action"})
    assert answer["action"] == {
        "kind": "promise.create",
        "head": {"corrId": "c1", "status": 200, "version": version},
        "data": {"promise": client.get("c")["promise"]},
    }
    assert executes(store, "c") != []
    answer = client.fence_settle("t", v, "c", "rejected").must()
    assert answer["action"]["kind"] == "promise.settle"
    assert answer["action"]["data"]["promise"]["state"] == "rejected"


def test_s3_14_fence_inner_refusals_are_inside_a_200(store: Any) -> None:
    client = DialectClient(store)
    client.task_create("t").must()
    client.create("keyed", ikc="k").must()
    inner = client.fence_settle("t", 1, "missing").must(200)["action"]
    assert inner["head"]["status"] == 404 and isinstance(inner["data"], str)
    inner = client.fence_create("t", 1, "keyed", ikc="other").must(200)["action"]
    assert inner["head"]["status"] == 409 and isinstance(inner["data"], str)
    inner = client.fence("t", 1, "promise.settle", {"id": "keyed", "state": "resolved", "iku": "s"}).must(200)["action"]
    assert inner["head"]["status"] == 200 and stored(store, "keyed")["iku"] == "s"


def test_s3_14_fence_settles_what_others_await(store: Any) -> None:
    client = DialectClient(store)
    client.create("x").must()
    for id in ("t", "u"):
        client.task_create(id).must()
    client.suspend("u", 1, "x").must()
    client.fence_settle("t", 1, "x").must()
    assert stored_task(store, "u")["state"] == "pending" and executes(store) == [("execute", "u", 1)]


def test_s3_14_fence_does_not_touch_the_lease(store: Any) -> None:
    client = DialectClient(store)
    client.task_create("t", ttl=100, now=0).must()
    before = stored_task(store, "t")
    client.fence_create("t", 1, "c", now=50).must()
    assert stored_task(store, "t") == before


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_15_heartbeat(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    v = held(version)
    for id, pid, ttl in (("a", "w", 100), ("b", "w", 200), ("c", "other", 100), ("d", "w", 100)):
        client.task_create(id, pid=pid, ttl=ttl, now=0).must()
    assert client.heartbeat("w", ("a", v), ("b", v), ("c", v), ("d", v + 1), ("nobody", 0), ("a", v), now=50).must().data == {}
    assert [stored_task(store, i)["expiresAt"] for i in "abcd"] == [150, 250, 100, 100]


def test_s3_15_heartbeat_shape(store: Any) -> None:
    client = DialectClient(store)
    client.task_create("t", pid="w", ttl=100, now=0).must()
    for tasks in (
        [{"id": "t", "version": 1}, {"id": "", "version": 0}],
        [{"id": "t"}],
        [{"version": 1}],
        ["t"],
        [None],
        [{"id": "t", "version": -1}],
        [{"id": "t", "version": 1.0}],
        {},
        None,
        "t",
        5,
    ):
        client.send("task.heartbeat", {"pid": "w", "tasks": tasks}, now=50).must(400)
    client.send("task.heartbeat", {"pid": "w"}, now=50).must(400)
    assert (stored_task(store, "t")["expiresAt"], store.now) == (100, 0)


def test_s3_16_halt(store: Any) -> None:
    client = DialectClient(store)
    for id in ("x", "y"):
        client.create(id).must()
    client.halt("missing").must(404)
    client.create("plain").must()
    client.halt("plain").must(404)
    client.task_create("t", now=0).must()
    client.register("x", "t").must()
    client.settle("x").must()
    assert client.halt("t").must().data == {}
    halted = {"state": "halted", "acquisitions": 1, "lastTtl": 10_000, "resumes": ["x"]}
    assert stored_task(store, "t") == halted
    before = store.digest()
    client.halt("t").must(200)
    assert store.digest() == before
    store.tick(now=1_000_000)
    assert stored_task(store, "t") == halted and executes(store) == []
    client.settle("t").must()
    client.halt("t").must(409)


def test_s3_16_a_halted_task_still_gathers_resumes(store: Any) -> None:
    client = DialectClient(store)
    client.create("x").must()
    client.task_create("t").must()
    client.suspend("t", 1, "x").must()
    client.halt("t").must()
    client.settle("x").must()
    task = stored_task(store, "t")
    assert (task["state"], task["resumes"]) == ("halted", ["x"]) and "current" not in task
    assert executes(store) == []


def test_s3_17_continue(store: Any) -> None:
    client = DialectClient(store)
    for id in ("x", "y"):
        client.create(id).must()
    client.cont("missing").must(404)
    client.task_create("t", now=0).must()
    client.cont("t").must(409)
    client.suspend("t", 1, "x", "y").must()
    client.cont("t").must(409)
    client.halt("t").must()
    client.settle("y").must()
    client.settle("x").must()
    assert client.cont("t", now=50).must().data == {}
    task = stored_task(store, "t")
    assert (task["state"], task["current"], task["resumes"], task["retryAt"]) == ("pending", "y", ["y", "x"], 5_050)
    assert executes(store) == [("execute", "t", 1)]
    client.cont("t").must(409)
    client.settle("t").must()
    client.cont("t").must(409)


def test_s3_17_continue_without_resumes_keeps_current(store: Any) -> None:
    client = DialectClient(store, V26)
    client.create("x").must()
    client.task_create("t").must()
    client.suspend("t", 1, "x").must()
    client.settle("x").must()
    client.acquire("t", 1).must()
    client.halt("t").must()
    client.cont("t").must()
    task = stored_task(store, "t")
    assert (task.get("current"), task["resumes"]) == ("x", [])
