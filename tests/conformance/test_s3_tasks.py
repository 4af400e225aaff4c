"""PROTOCOL 3.8 to 3.17 and preload: requests on tasks."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, V25, V26, Door, executes, forget_messages, held, stored, stored_task


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_8_task_get(store: Any, version: str) -> None:
    door = Door(store, version)
    assert "nobody" in door.task("nobody").must(404).data
    door.create("plain").must()
    door.task("plain").must(404)
    door.task_create("t").must()
    assert door.task("t").must()["task"]["id"] == "t"


def test_s3_9_task_create_new(store: Any) -> None:
    door = Door(store)
    answer = door.task_create("t", timeout=5_000, ttl=60, pid="w", now=10).must()
    assert set(answer.data) == {"task", "promise", "preload"} and answer["preload"] == []
    assert answer["task"] == {"id": "t", "state": "acquired", "version": 1, "resumes": 0, "ttl": 60, "pid": "w"}
    assert answer["promise"]["state"] == "pending" and answer["promise"]["createdAt"] == 10
    assert stored_task(store, "t")["expiresAt"] == 70
    assert executes(store) == []


def test_s3_9_task_create_born_dead(store: Any) -> None:
    answer = Door(store).task_create("t", timeout=10, now=10).must()
    assert answer["task"] == {"id": "t", "state": "fulfilled", "version": 0, "resumes": 0}
    assert answer["promise"]["state"] == "rejected_timedout" and answer["preload"] == []
    assert executes(store) == []


def test_s3_9_task_create_on_existing(store: Any) -> None:
    door = Door(store)
    door.create("gate").must()
    door.task_create("t", ttl=50, pid="a", now=0).must()
    door.task_create("t", pid="b", now=1).must(409)
    door.suspend("t", 1, "gate", now=2).must()
    door.task_create("t", pid="b", now=3).must(409)
    door.halt("t", now=4).must()
    door.task_create("t", pid="b", now=5).must(409)
    door.cont("t", now=6).must()
    answer = door.task_create("t", ttl=70, pid="b", timeout=7, now=7).must()
    assert answer["task"] == {"id": "t", "state": "acquired", "version": 2, "resumes": 0, "ttl": 70, "pid": "b"}
    assert answer["promise"]["timeoutAt"] == FAR, "the stored promise stands"
    door.fulfill("t", 2, now=8).must()
    answer = door.task_create("t", now=9).must()
    assert (answer["task"]["state"], answer["promise"]["state"], answer["preload"]) == ("fulfilled", "resolved", [])


def test_s3_9_task_create_acquires_with_resumes_cleared_and_current_kept(store: Any) -> None:
    door = Door(store)
    for id in ("gate", "x"):
        door.create(id).must()
    door.task_create("t").must()
    door.register("x", "t").must()
    door.suspend("t", 1, "gate").must()
    door.settle("gate").must()
    door.settle("x").must()
    assert stored_task(store, "t")["resumes"] == ["gate", "x"]
    door.task_create("t").must()
    assert (stored_task(store, "t")["resumes"], stored_task(store, "t")["current"]) == ([], "gate")


def test_s3_9_task_create_ikc_comes_first(store: Any) -> None:
    door = Door(store)
    door.create("t", target=ADDRESS, ikc="k").must()
    before = store.digest()
    door.task_create("t", ikc="other").must(409)
    assert store.digest() == before
    door.task_create("t", ikc="k").must()
    door.create("plain").must()
    door.task_create("plain", ikc="k").must(409)


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_9_task_create_refuses_a_delay_and_an_empty_target(store: Any, version: str) -> None:
    door = Door(store, version)
    door.task_create("t", tags={"resonate:delay": "5"}).must(400)
    door.task_create("t", target="").must(400)
    assert store.snapshot()["promises"] == []


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_10_acquire_checks_in_order(store: Any, version: str) -> None:
    door = Door(store, version)
    door.acquire("missing", 7).must(404)
    door.create("t", target=ADDRESS, now=0).must()
    door.acquire("t", 1, now=0).must(409)
    door.acquire("t", 0, ttl=30, pid="w", now=5).must()
    assert stored_task(store, "t")["expiresAt"] == 35 and "retryAt" not in stored_task(store, "t")
    for shown in (0, 1, 2):
        door.acquire("t", shown, pid="w").must(409)


def test_s3_10_two_workers_one_version(store: Any) -> None:
    door = Door(store)
    door.create("t", target=ADDRESS).must()
    assert [door.acquire("t", 0, pid=f"w{i}").status for i in range(3)] == [200, 409, 409]
    assert stored_task(store, "t")["pid"] == "w0"


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_11_release_sends_at_once(store: Any, version: str) -> None:
    door = Door(store, version)
    door.release("missing", 0).must(404)
    door.create("t", target=ADDRESS, now=0).must()
    door.acquire("t", 0, now=1).must()
    forget_messages(store)
    assert door.release("t", held(version), now=2).must().data == {}
    assert stored_task(store, "t")["retryAt"] == 5_002
    assert executes(store) == [("execute" if version == V26 else "invoke", "t", 1)]


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_13_fulfill(store: Any, version: str) -> None:
    door = Door(store, version)
    v = held(version)
    door.fulfill("missing", 0).must(404)
    door.task_create("t").must()
    door.create("other").must()
    door.send(
        "task.fulfill", {"id": "t", "version": v, "action": door.action("promise.settle", {"id": "other", "state": "resolved"})}
    ).must(400)
    door.send(
        "task.fulfill", {"id": "t", "version": v, "action": door.action("promise.create", {"id": "t", "state": "resolved"})}
    ).must(400)
    door.fulfill("t", v, "rejected_timedout").must(400)
    door.fulfill("t", v + 1).must(409)
    record = door.fulfill("t", v, "rejected", {"data": "eA=="}, now=9).must()["promise"]
    assert (record["state"], record["settledAt"]) == ("rejected", 9)
    assert stored_task(store, "t") == {"state": "fulfilled", "acquisitions": 1, "resumes": []}
    for shown in (v, v + 1):
        door.fulfill("t", shown).must(409)


def test_s3_13_fulfill_keeps_iku(store: Any) -> None:
    door = Door(store)
    door.task_create("t").must()
    door.fulfill("t", 1, iku="k").must()
    assert stored(store, "t")["iku"] == "k"
    door.settle("t", iku="k").must(200)
    door.settle("t", iku="other").must(409)


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_14_fence(store: Any, version: str) -> None:
    door = Door(store, version)
    v = held(version)
    door.fence_create("missing", 0, "c").must(404)
    door.create("idle", target=ADDRESS).must()
    door.fence_create("idle", 0, "c").must(409)
    door.task_create("t").must()
    door.fence_create("t", v + 1, "c").must(409)
    door.get("c").must(404)
    answer = door.fence_create("t", v, "c", target=ADDRESS).must()
    assert set(answer.data) == ({"action", "preload"} if version == V26 else {"action"})
    assert answer["action"] == {
        "kind": "promise.create",
        "head": {"corrId": "c1", "status": 200, "version": version},
        "data": {"promise": door.get("c")["promise"]},
    }
    assert executes(store, "c") != []
    answer = door.fence_settle("t", v, "c", "rejected").must()
    assert answer["action"]["kind"] == "promise.settle"
    assert answer["action"]["data"]["promise"]["state"] == "rejected"


def test_s3_14_fence_inner_refusals_are_inside_a_200(store: Any) -> None:
    door = Door(store)
    door.task_create("t").must()
    door.create("keyed", ikc="k").must()
    inner = door.fence_settle("t", 1, "missing").must(200)["action"]
    assert inner["head"]["status"] == 404 and isinstance(inner["data"], str)
    inner = door.fence_create("t", 1, "keyed", ikc="other").must(200)["action"]
    assert inner["head"]["status"] == 409 and isinstance(inner["data"], str)
    inner = door.fence("t", 1, "promise.settle", {"id": "keyed", "state": "resolved", "iku": "s"}).must(200)["action"]
    assert inner["head"]["status"] == 200 and stored(store, "keyed")["iku"] == "s"


def test_s3_14_fence_settles_what_others_await(store: Any) -> None:
    door = Door(store)
    door.create("x").must()
    for id in ("t", "u"):
        door.task_create(id).must()
    door.suspend("u", 1, "x").must()
    door.fence_settle("t", 1, "x").must()
    assert stored_task(store, "u")["state"] == "pending" and executes(store) == [("execute", "u", 1)]


def test_s3_14_fence_does_not_touch_the_lease(store: Any) -> None:
    door = Door(store)
    door.task_create("t", ttl=100, now=0).must()
    before = stored_task(store, "t")
    door.fence_create("t", 1, "c", now=50).must()
    assert stored_task(store, "t") == before


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_15_heartbeat(store: Any, version: str) -> None:
    door = Door(store, version)
    v = held(version)
    for id, pid, ttl in (("a", "w", 100), ("b", "w", 200), ("c", "other", 100), ("d", "w", 100)):
        door.task_create(id, pid=pid, ttl=ttl, now=0).must()
    assert door.heartbeat("w", ("a", v), ("b", v), ("c", v), ("d", v + 1), ("nobody", 0), ("a", v), now=50).must().data == {}
    assert [stored_task(store, i)["expiresAt"] for i in "abcd"] == [150, 250, 100, 100]


def test_s3_15_heartbeat_shape(store: Any) -> None:
    door = Door(store)
    door.task_create("t", pid="w", ttl=100, now=0).must()
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
        door.send("task.heartbeat", {"pid": "w", "tasks": tasks}, now=50).must(400)
    door.send("task.heartbeat", {"pid": "w"}, now=50).must(400)
    assert (stored_task(store, "t")["expiresAt"], store.now) == (100, 0)


def test_s3_16_halt(store: Any) -> None:
    door = Door(store)
    for id in ("x", "y"):
        door.create(id).must()
    door.halt("missing").must(404)
    door.create("plain").must()
    door.halt("plain").must(404)
    door.task_create("t", now=0).must()
    door.register("x", "t").must()
    door.settle("x").must()
    assert door.halt("t").must().data == {}
    halted = {"state": "halted", "acquisitions": 1, "lastTtl": 10_000, "resumes": ["x"]}
    assert stored_task(store, "t") == halted
    before = store.digest()
    door.halt("t").must(200)
    assert store.digest() == before
    store.tick(now=1_000_000)
    assert stored_task(store, "t") == halted and executes(store) == []
    door.settle("t").must()
    door.halt("t").must(409)


def test_s3_16_a_halted_task_still_gathers_resumes(store: Any) -> None:
    door = Door(store)
    door.create("x").must()
    door.task_create("t").must()
    door.suspend("t", 1, "x").must()
    door.halt("t").must()
    door.settle("x").must()
    task = stored_task(store, "t")
    assert (task["state"], task["resumes"]) == ("halted", ["x"]) and "current" not in task
    assert executes(store) == []


def test_s3_17_continue(store: Any) -> None:
    door = Door(store)
    for id in ("x", "y"):
        door.create(id).must()
    door.cont("missing").must(404)
    door.task_create("t", now=0).must()
    door.cont("t").must(409)
    door.suspend("t", 1, "x", "y").must()
    door.cont("t").must(409)
    door.halt("t").must()
    door.settle("y").must()
    door.settle("x").must()
    assert door.cont("t", now=50).must().data == {}
    task = stored_task(store, "t")
    assert (task["state"], task["current"], task["resumes"], task["retryAt"]) == ("pending", "y", ["y", "x"], 5_050)
    assert executes(store) == [("execute", "t", 1)]
    door.cont("t").must(409)
    door.settle("t").must()
    door.cont("t").must(409)


def test_s3_17_continue_without_resumes_keeps_current(store: Any) -> None:
    door = Door(store, V26)
    door.create("x").must()
    door.task_create("t").must()
    door.suspend("t", 1, "x").must()
    door.settle("x").must()
    door.acquire("t", 1).must()
    door.halt("t").must()
    door.cont("t").must()
    task = stored_task(store, "t")
    assert (task.get("current"), task["resumes"]) == ("x", [])
