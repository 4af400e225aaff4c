"""PROTOCOL 1, 1.1 and 1.2: facts that follow from a stored promise, and the timeout that always wins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, V25, V26, DialectClient, executes, stored, stored_task, unblocks

VERDICTS = [
    ({}, "rejected_timedout"),
    ({"resonate:timer": "true"}, "resolved"),
    ({"resonate:timer": "True"}, "rejected_timedout"),
    ({"resonate:timer": "1"}, "rejected_timedout"),
    ({"resonate:timer": ""}, "rejected_timedout"),
    ({"resonate:timer": "true "}, "rejected_timedout"),
]


@pytest.mark.parametrize(("tags", "verdict"), VERDICTS, ids=lambda x: repr(x) if isinstance(x, dict) else x)
@pytest.mark.parametrize("version", [V26, V25])
def test_s1_1_timer_is_exactly_true(store: Any, version: str, tags: dict[str, str], verdict: str) -> None:
    client = DialectClient(store, version)
    client.create("p", timeout=100, tags={**tags, "resonate:external": "true"}, now=0).must()
    for now in (100, 500):
        record = client.get("p", now=now).must()["promise"]
        assert (record["state"], record["settledAt"]) == (verdict, 100)
    store.tick(now=501)
    assert (stored(store, "p")["state"], stored(store, "p")["settledAt"]) == (verdict, 100)


EXTERNAL = [
    ({}, False, True),
    ({"resonate:external": "true"}, True, True),
    ({"resonate:external": "false"}, False, True),
    ({"resonate:external": "TRUE"}, False, True),
    ({"resonate:timer": "true"}, True, True),
    ({"resonate:timer": "no"}, False, True),
    ({"resonate:target": ADDRESS}, True, True),
    ({"resonate:invoke": ADDRESS}, False, True),
    ({"resonate:scope": "global"}, False, True),
]


@pytest.mark.parametrize(("tags", "new", "old"), EXTERNAL, ids=lambda x: repr(x) if isinstance(x, dict) else None)
@pytest.mark.parametrize("version", [V26, V25])
@pytest.mark.parametrize("rules", ["compatible", "strict"])
def test_s1_1_external_promises_have_an_armed_timeout(
    make_store: Callable[..., Any], rules: str, version: str, tags: dict[str, str], new: bool, old: bool
) -> None:
    store = make_store(rules=rules)
    client = DialectClient(store, version)
    external = new if version == V26 else old
    client.create("p", timeout=100, tags=tags, now=0).must()
    assert stored(store, "p")["external"] is external
    store.tick(now=200)
    state = stored(store, "p")["state"]
    assert (state != "pending") is external, "an internal promise times out by projection alone"
    assert client.get("p").must()["promise"]["state"] != "pending"


def test_s1_1_an_internal_promise_has_no_timer(store: Any) -> None:
    DialectClient(store).create("p", timeout=100, now=0).must()
    assert store.next_due() is None
    DialectClient(store).create("q", timeout=100, tags={"resonate:external": "true"}, now=0).must()
    assert store.next_due() == 100


def test_s1_1_target_in_2025_may_be_invoke(store: Any) -> None:
    old = DialectClient(store, V25)
    old.create("both", tags={"resonate:target": "http://a", "resonate:invoke": "http://b"}).must()
    old.create("invoke", tags={"resonate:invoke": "http://b"}).must()
    assert {m["id"]: m["address"] for m in store.snapshot()["messages"]} == {"both": "http://a", "invoke": "http://b"}


def test_s1_1_invoke_is_a_mere_tag_in_2026(store: Any) -> None:
    DialectClient(store).create("p", tags={"resonate:invoke": "http://b"}).must()
    assert stored_task(store, "p") is None
    assert executes(store) == []


def test_s1_1_dispatch_instant_of_a_timer_is_its_deadline(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", timeout=9_000, target=ADDRESS, tags={"resonate:timer": "true"}, now=10).must()
    assert stored_task(store, "p")["retryAt"] == 9_000
    client.acquire("p", 0, now=20).must()
    client.release("p", 1, now=30).must()
    assert stored_task(store, "p")["retryAt"] == 9_000
    assert executes(store) == []


def test_s1_1_dispatch_instant_without_target_is_the_deadline(store: Any) -> None:
    old = DialectClient(store, V25)
    old.task_create("t", timeout=9_000, target=None, ttl=100, now=10).must()
    old.create("gate", now=10).must()
    old.release("t", 0, now=20).must()
    assert stored_task(store, "t")["retryAt"] == 9_000
    old.acquire("t", 1, ttl=100, now=30).must()
    store.tick(now=130)
    assert (stored_task(store, "t")["state"], stored_task(store, "t")["retryAt"]) == ("pending", 9_000)
    old.acquire("t", 2, now=140).must()
    old.suspend("t", 2, "gate", now=150).must()
    old.settle("gate", now=160).must()
    assert stored_task(store, "t")["retryAt"] == 9_000
    DialectClient(store).halt("t", now=170).must()
    DialectClient(store).cont("t", now=180).must()
    assert stored_task(store, "t")["retryAt"] == 9_000
    assert executes(store) == []


# --- 1.2 timeout always wins ------------------------------------------------------------------------------------------
def test_s1_2_deadline_is_reached_at_the_very_instant(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", timeout=100, now=0).must()
    assert client.get("p", now=99)["promise"]["state"] == "pending"
    assert "settledAt" not in client.get("p", now=99)["promise"]
    record = client.get("p", now=100)["promise"]
    assert (record["state"], record["settledAt"], record["value"]) == ("rejected_timedout", 100, {})


def test_s1_2_a_projected_task_is_fulfilled(store: Any) -> None:
    client = DialectClient(store)
    client.task_create("t", timeout=100, ttl=50_000, pid="w", now=0).must()
    client.create("x", now=1).must()
    client.register("x", "t", now=2).must()
    client.settle("x", now=3).must()
    assert client.task("t", now=99)["task"]["resumes"] == 1
    assert client.task("t", now=100)["task"] == {"id": "t", "state": "fulfilled", "version": 1, "resumes": 0}
    assert stored_task(store, "t")["state"] == "acquired", "a read does not store"
    assert client.found("task", now=100, state="fulfilled") == ["t"]
    assert client.found("task", now=100, state="acquired") == []
    assert DialectClient(store, V25).task("t", now=100)["task"] == {"id": "t", "version": 1}


def test_s1_2_a_late_settlement_does_nothing(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", timeout=100, now=0).must()
    record = client.settle("p", value={"data": "eA=="}, now=100).must()["promise"]
    assert (record["state"], record["settledAt"], record["value"]) == ("rejected_timedout", 100, {})


@pytest.mark.parametrize("version", [V26, V25])
@pytest.mark.parametrize("timeout", [0, 50, 100])
@pytest.mark.parametrize("timer", [False, True])
def test_s1_2_born_settled(store: Any, version: str, timeout: int, timer: bool) -> None:
    client = DialectClient(store, version)
    tags = {"resonate:timer": "true"} if timer else {}
    record = client.create("p", timeout=timeout, tags=tags, now=100).must()["promise"]
    assert record["state"] == ("resolved" if timer else "rejected_timedout")
    assert record["createdAt"] == record["settledAt"] == record["timeoutAt"] == timeout
    assert client.get("p")["promise"] == record
    assert stored(store, "p")["state"] == record["state"]


def test_s1_2_one_ms_of_life_is_life(store: Any) -> None:
    record = DialectClient(store).create("p", timeout=101, now=100).must()["promise"]
    assert (record["state"], record["createdAt"]) == ("pending", 100)


@pytest.mark.parametrize("version", [V26, V25])
def test_s1_2_born_settled_with_target_has_a_fulfilled_task(store: Any, version: str) -> None:
    DialectClient(store, version).create("p", timeout=100, target=ADDRESS, now=100).must()
    assert stored_task(store, "p") == {"state": "fulfilled", "acquisitions": 0, "resumes": []}
    assert executes(store) == []


def test_s1_2_reads_do_not_store(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", timeout=100, target=ADDRESS, now=0).must()
    client.listen("p", now=0).must()
    before = store.digest()
    for now in (100, 200, 10_000):
        for reply in (
            client.get("p", now=now),
            client.task("p", now=now),
            client.search("promise", now=now),
            client.search("task", now=now),
            client.search("schedule", now=now),
        ):
            reply.must()
        client.send("schedule.get", {"id": "s"}, now).must(404)
    assert store.digest() == before and stored(store, "p")["state"] == "pending" and unblocks(store) == []
    assert store.now == 10_000, "a manual clock follows reads"
    store.tick(now=10_000)
    assert store.digest() != before
    assert unblocks(store) == [("unblock", "p", "poll://uni@clients/c1")]


def test_s1_callbacks_and_listeners_are_sets_in_order(store: Any) -> None:
    client = DialectClient(store)
    client.create("p").must()
    for id in ("b", "a", "c"):
        client.create(id, target=ADDRESS).must()
    for id in ("b", "a", "b", "c", "a"):
        client.register("p", id).must()
        client.listen("p", f"poll://uni@{id}").must()
    row = stored(store, "p")
    assert row["callbacks"] == ["b", "a", "c"]
    assert [x["address"] for x in row["listeners"]] == ["poll://uni@b", "poll://uni@a", "poll://uni@c"]


def test_s1_a_task_shares_its_promise_row(store: Any) -> None:
    client = DialectClient(store)
    client.create("t", timeout=FAR, target=ADDRESS).must()
    assert [p["id"] for p in store.snapshot()["promises"]] == ["t"]
    assert client.task("t")["task"] == {"id": "t", "state": "pending", "version": 0, "resumes": 0}
