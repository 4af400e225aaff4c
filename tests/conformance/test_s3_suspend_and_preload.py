"""PROTOCOL 3.12 and preload: suspending a task, and the reply if it need not wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, V25, V26, DialectClient, held, stored, stored_task

Make = Callable[..., Any]
EXT = {"resonate:external": "true"}


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_12_suspend_shape(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.create("x", tags=EXT).must()
    client.task_create("t").must()
    kind = "promise.register_callback" if version == V26 else "promise.register"
    v = held(version)

    def suspend(*pairs: tuple[str, str], kind: str = kind) -> int:
        actions = [client.action(kind, {"awaited": a, "awaiter": b}) for a, b in pairs]
        return client.send("task.suspend", {"id": "t", "version": v, "actions": actions}).status

    assert suspend() == 400
    assert suspend(("x", "other")) == 400
    assert suspend(("x", "t"), ("x2", "other")) == 400
    assert suspend(("t", "t")) == 400
    assert suspend(("x", "t"), ("t", "t")) == 400
    assert suspend(("x", "t"), kind="promise.get") == 400
    assert suspend(("x", "t"), kind="promise.subscribe") == 400
    assert stored_task(store, "t")["state"] == "acquired"
    assert suspend(("x", "t")) == 200


def test_s3_12_suspend_checks_in_order(store: Any) -> None:
    client = DialectClient(store)
    client.create("x").must()
    client.create("done").must()
    client.settle("done").must()
    client.suspend("missing", 1, "nowhere").must(404)
    client.create("t", target=ADDRESS).must()
    client.suspend("t", 0, "nowhere").must(409)
    client.acquire("t", 0).must()
    client.suspend("t", 0, "nowhere").must(409)
    client.suspend("t", 1, "done", "x", "nowhere").must(422)
    assert stored(store, "x")["callbacks"] == [], "nothing is registered"
    assert stored_task(store, "t")["state"] == "acquired"


@pytest.mark.parametrize("settled", [True, False])
def test_s3_12_strict_internal_awaited_is_422_even_when_settled(make_store: Make, settled: bool) -> None:
    store = make_store(rules="strict")
    client = DialectClient(store)
    client.create("x", tags=EXT).must()
    client.create("inner").must()
    client.task_create("t").must()
    if settled:
        client.settle("inner").must()
    client.suspend("t", 1, "x", "inner").must(422)
    assert stored(store, "x")["callbacks"] == []


def test_s3_12_suspend_300_stays_acquired_and_registers_nothing(store: Any) -> None:
    client = DialectClient(store)
    for id in ("x", "done", "queued"):
        client.create(id).must()
    client.settle("done").must()
    client.task_create("t", ttl=500, now=0).must()
    client.register("queued", "t").must()
    client.settle("queued").must()
    answer = client.suspend("t", 1, "x", "done", now=3).must(300)
    assert answer.data == {"preload": []}
    task = stored_task(store, "t")
    assert (task["state"], task["acquisitions"], task["expiresAt"], task["resumes"]) == ("acquired", 1, 500, [])
    assert "current" not in task
    assert stored(store, "x")["callbacks"] == []


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_12_suspend_200_registers_all_and_drops_the_lease(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    for id in ("x", "y"):
        client.create(id).must()
    client.task_create("t", now=0).must()
    assert client.suspend("t", held(version), "y", "x", now=1).must(200).data == {}
    assert stored(store, "x")["callbacks"] == stored(store, "y")["callbacks"] == ["t"]
    assert stored_task(store, "t") == {"state": "suspended", "acquisitions": 1, "lastTtl": 10_000, "resumes": []}
    store.tick(now=100_000)
    assert stored_task(store, "t")["state"] == "suspended", "no lease, no retry"


def test_s3_12_suspend_200_drops_buffered_resumes_in_2026(store: Any) -> None:
    client = DialectClient(store)
    for id in ("x", "queued"):
        client.create(id).must()
    client.task_create("t").must()
    client.register("queued", "t").must()
    client.settle("queued").must()
    assert stored_task(store, "t")["resumes"] == ["queued"]
    client.suspend("t", 1, "x").must(200)
    assert stored_task(store, "t")["resumes"] == []


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_12_suspend_on_an_expired_awaited_is_a_300(store: Any, version: str) -> None:
    client = DialectClient(store, version)
    client.create("x", timeout=50, tags=EXT, now=0).must()
    client.task_create("t", now=0).must()
    client.suspend("t", held(version), "x", now=50).must(300)


def test_s3_12_2025_missing_awaited_comes_before_queued_resumes(store: Any) -> None:
    old = DialectClient(store, V25)
    old.create("x").must()
    old.task_create("t").must()
    old.register("x", "t").must()
    old.settle("x").must()
    old.suspend("t", 0, "missing").must(400)
    assert stored_task(store, "t")["resumes"] == ["x"]
    old.create("y").must()
    old.suspend("t", 0, "y").must(300)
    assert stored_task(store, "t")["current"] == "x"
    assert stored(store, "y")["callbacks"] == []


def test_s3_12_2025_row_32_takes_the_first_settled_in_order_of_actions(store: Any) -> None:
    old = DialectClient(store, V25)
    for id in ("a", "b", "c"):
        old.create(id).must()
    for id in ("b", "c"):
        old.settle(id).must()
    old.task_create("t").must()
    old.suspend("t", 0, "a", "c", "b").must(300)
    assert stored_task(store, "t")["current"] == "c"


# --- preload ----------------------------------------------------------------------------------------------------------
def _branch(store: Any) -> DialectClient:
    client = DialectClient(store)
    for id, branch in (("z", "b"), ("a", "b"), ("é", "b"), ("other", "c"), ("plain", None), ("empty", "")):
        client.create(
            id, timeout=100 if id == "a" else FAR, tags={} if branch is None else {"resonate:branch": branch}, now=0
        ).must()
    client.settle("z", now=0).must()
    return client


def _ids(preload: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(p["id"], p["state"]) for p in preload]


SIBLINGS = [("a", "rejected_timedout"), ("z", "resolved"), ("é", "pending")]


def test_s3_preload_of_create_acquire_suspend_and_fence(store: Any) -> None:
    client = _branch(store)
    tags = {"resonate:branch": "b"}
    assert _ids(client.task_create("t", tags=tags, now=100).must()["preload"]) == SIBLINGS
    assert _ids(client.suspend("t", 1, "z", now=100).must(300)["preload"]) == SIBLINGS
    answer = client.fence_create("t", 1, "m", tags=tags, now=100).must()
    assert _ids(answer["preload"]) == sorted([*SIBLINGS, ("m", "pending")], key=lambda x: x[0].encode())
    client.release("t", 1, now=100).must()
    assert [i for i, _ in _ids(client.acquire("t", 1, now=100).must()["preload"])] == ["a", "m", "z", "é"]


@pytest.mark.parametrize("tags", [{}, {"resonate:branch": ""}, {"resonate:branch": "lonely"}], ids=repr)
def test_s3_preload_without_siblings(store: Any, tags: dict[str, str]) -> None:
    client = _branch(store)
    assert client.task_create("t", tags=tags).must()["preload"] == []
    assert client.fence_create("t", 1, "m").must()["preload"] == []
    assert client.suspend("t", 1, "z").must(300)["preload"] == []


def test_s3_preload_of_a_create_that_ends_fulfilled_is_empty(store: Any) -> None:
    client = _branch(store)
    tags = {"resonate:branch": "b"}
    assert client.task_create("dead", timeout=1, tags=tags, now=5).must()["preload"] == []
    client.create("t", target=ADDRESS, tags=tags).must()
    client.settle("t").must()
    assert client.task_create("t", tags=tags).must()["preload"] == []


def test_s3_preload_is_not_in_2025(store: Any) -> None:
    _branch(store)
    old = DialectClient(store, V25)
    tags = {"resonate:branch": "b"}
    assert set(old.task_create("t", tags=tags).must().data) == {"task", "promise"}
    assert set(old.fence_create("t", 0, "m", tags=tags).must().data) == {"action"}
    assert old.suspend("t", 0, "z").must(300).data == {}
