"""PROTOCOL 8: batches, instants, stored rows and projections, saturation, and other details."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, V25, V26, DialectClient, executes, request, rows_of, stored, stored_schedule, stored_task

Make = Callable[..., Any]
EXT = {"resonate:external": "true"}
MAX = 2**63 - 1


def _a_day_of_work() -> list[dict[str, Any]]:
    """Requests of both dialects, good and bad, that depend on each other."""
    act = lambda kind, data, version=V26: request(kind, data, version, "inner")  # noqa: E731
    register = act("promise.register_callback", {"awaited": "x", "awaiter": "t"})
    return [
        request("promise.create", {"id": "x", "timeoutAt": 900}),
        request(
            "task.create",
            {
                "pid": "w",
                "ttl": 50,
                "action": act("promise.create", {"id": "t", "timeoutAt": FAR, "tags": {"resonate:target": ADDRESS}}),
            },
            corr="2",
        ),
        request("promise.create", {"id": "x", "timeoutAt": 5, "ikc": "k"}, corr="3"),
        request("promise.get", {"id": "nobody"}),
        request("promise.get", {"id": 5}),
        request("task.fence", {"id": "t", "version": 1, "action": act("promise.create", {"id": "c", "timeoutAt": FAR})}),
        request("task.suspend", {"id": "t", "version": 1, "actions": [register]}),
        request("task.get", {"id": "t"}, V25),
        request("promise.subscribe", {"awaited": "x", "address": "http://l"}, V25),
        request("schedule.create", {"id": "s", "cron": "* * * * *", "promiseId": "{{.timestamp}}", "promiseTimeout": 1}),
        request("promise.settle", {"id": "x", "state": "rejected", "value": {"data": "eA=="}}, V25),
        request("task.acquire", {"id": "t", "version": 1, "pid": "w", "ttl": 9}),
        request("nonsense", {}),
        request("promise.search", {}),
        request("task.search", {"state": "acquired"}),
    ]


@pytest.mark.parametrize("now", [0, 100, 1_000, 60_000])
@pytest.mark.parametrize("method", ["apply", "apply_json"])
def test_s8_a_batch_is_the_same_requests_one_by_one(make_store: Make, now: int, method: str) -> None:
    one, many = make_store(), make_store()
    for store in (one, many):
        DialectClient(store).create("due", timeout=500, tags=EXT, now=0).must()
        DialectClient(store).listen("due", now=0).must()
    work = _a_day_of_work()
    singly = [one.apply(envelope, now=now) for envelope in work]
    if method == "apply":
        together = many.apply(copy.deepcopy(work), now=now)
    else:
        together = [json.loads(a) for a in many.apply_json([json.dumps(e).encode() for e in work], now=now)]
    assert together == singly
    assert many.snapshot() == one.snapshot() and many.digest() == one.digest()


def test_s8_steps_of_a_request_run_before_the_next_of_its_batch(store: Any) -> None:
    DialectClient(store).create("x", now=0).must()
    DialectClient(store).task_create("t", now=0).must()
    DialectClient(store).suspend("t", 1, "x", now=0).must()
    answers = store.apply(
        [
            request("promise.settle", {"id": "x", "state": "resolved"}),
            request("task.acquire", {"id": "t", "version": 1, "pid": "w", "ttl": 5}),
        ]
    )
    assert [a["head"]["status"] for a in answers] == [200, 200]


def test_s8_an_empty_batch(store: Any) -> None:
    assert store.apply([]) == [] and store.apply_json([]) == []


def test_s8_an_atomic_batch_is_all_or_nothing(store: Any) -> None:
    DialectClient(store).create("p", now=5).must()
    before = store.snapshot()
    good = request("promise.create", {"id": "a", "timeoutAt": FAR, "tags": {"resonate:target": ADDRESS}})
    for bad in (
        request("promise.get", {"id": "nobody"}),
        request("promise.get", {}),
        request("promise.create", {"id": "p", "timeoutAt": 9, "ikc": "k"}),
    ):
        for batch in ([good, bad], [bad, good], [good, bad, good]):
            answers = store.apply(batch, atomic=True)
            assert any(a["head"]["status"] not in (200, 300) for a in answers)
            assert store.snapshot() == before
    answers = store.apply([good, request("promise.get", {"id": "p"})], atomic=True)
    assert [a["head"]["status"] for a in answers] == [200, 200]
    assert stored(store, "a")["state"] == "pending"


@pytest.mark.parametrize("method", ["apply", "apply_json"])
def test_s8_an_atomic_batch_of_one_is_undone_too(store: Any, method: str) -> None:
    """The steps that would follow it are undone too, and the change of the clock; a plain 404 would not show that."""
    DialectClient(store).create("p", timeout=50, tags=EXT, now=5).must()
    before = store.snapshot()
    bad = request("promise.settle", {"id": "nobody", "state": "resolved"})
    batch: Any = [bad] if method == "apply" else [json.dumps(bad).encode()]
    assert len(getattr(store, method)(batch, now=60, atomic=True)) == 1
    assert store.snapshot() == before and store.now == 5


def test_s8_a_300_is_no_refusal(store: Any) -> None:
    client = DialectClient(store)
    client.create("x").must()
    client.settle("x").must()
    client.task_create("t").must()
    action = request("promise.register_callback", {"awaited": "x", "awaiter": "t"})
    answers = store.apply(
        [
            request("promise.create", {"id": "a", "timeoutAt": FAR}),
            request("task.suspend", {"id": "t", "version": 1, "actions": [action]}),
        ],
        atomic=True,
    )
    assert [a["head"]["status"] for a in answers] == [200, 300]
    stored(store, "a")


def test_s8_a_batch_without_atomic_keeps_what_succeeded(store: Any) -> None:
    answers = store.apply(
        [
            request("promise.create", {"id": "a", "timeoutAt": FAR}),
            request("promise.get", {"id": "no"}),
            request("promise.create", {"id": "b", "timeoutAt": FAR}),
        ]
    )
    assert [a["head"]["status"] for a in answers] == [200, 404, 200]
    assert [p["id"] for p in store.snapshot()["promises"]] == ["a", "b"]


# --- apply(now=t) ------------------------------------------------------------------------------------------------------------
def test_s8_the_request_runs_before_the_steps_of_its_instant(store: Any) -> None:
    """A heartbeat at the instant at which the lease expires runs before the expiry step."""
    client = DialectClient(store)
    client.task_create("t", ttl=100, pid="w", now=0).must()
    client.heartbeat("w", ("t", 1), now=100).must()
    assert (stored_task(store, "t")["state"], stored_task(store, "t")["expiresAt"]) == ("acquired", 200)
    client.heartbeat("w", ("t", 1), now=10_000).must()
    assert stored_task(store, "t")["expiresAt"] == 10_100
    store.tick(now=10_100)
    assert stored_task(store, "t")["state"] == "pending"
    client.heartbeat("w", ("t", 1), now=10_100).must()
    assert stored_task(store, "t")["state"] == "pending"


@pytest.mark.parametrize("request_kind", ["release", "fulfill", "suspend", "fence"])
def test_s8_a_late_holder_whose_lease_was_not_swept_still_holds(store: Any, request_kind: str) -> None:
    client = DialectClient(store)
    client.create("x", now=0).must()
    client.task_create("t", ttl=100, now=0).must()
    {
        "release": lambda: client.release("t", 1, now=500),
        "fulfill": lambda: client.fulfill("t", 1, now=500),
        "suspend": lambda: client.suspend("t", 1, "x", now=500),
        "fence": lambda: client.fence_create("t", 1, "c", now=500),
    }[request_kind]().must()


def test_s8_now_is_the_clocks_unless_given(store: Any) -> None:
    client = DialectClient(store)
    assert client.create("a").must()["promise"]["createdAt"] == 0
    assert client.create("b", now=7).must()["promise"]["createdAt"] == 7
    assert client.create("c").must()["promise"]["createdAt"] == 7
    assert store.now == 7


@pytest.mark.parametrize("now", [-1, -(2**63)])
def test_s8_a_negative_instant_is_in_the_past(store: Any, now: int) -> None:
    DialectClient(store).create("p", now=now).must(400)


# --- stored rows and projections -----------------------------------------------------------------------------------------------
def test_s8_snapshot_and_digest_show_stored_rows(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", timeout=100, now=0).must()
    before = rows_of(store)
    assert client.get("p", now=500)["promise"]["state"] == "rejected_timedout"
    assert rows_of(store) == before and stored(store, "p")["state"] == "pending"


def test_s8_equal_histories_have_equal_digests(make_store: Make) -> None:
    stores = [make_store() for _ in range(3)]
    for store in stores:
        DialectClient(store).create("p", now=1).must()
    assert stores[0].digest() == stores[1].digest()
    stores[1].tick(now=99)
    assert stores[0].digest() == stores[1].digest(), "equal states at different instants are equal"
    assert isinstance(stores[0].digest(), str) and int(stores[0].digest(), 16) >= 0
    DialectClient(stores[2]).settle("p", now=1).must()
    assert stores[2].digest() != stores[0].digest()


def test_s8_snapshot_is_json_and_a_value(store: Any) -> None:
    client = DialectClient(store)
    for envelope in _a_day_of_work():
        store.apply(envelope, now=10)
    taken = store.snapshot()
    text = json.dumps(taken, sort_keys=True)
    assert json.loads(text) == taken and taken["format"] == "resonate_core/1"
    assert set(taken) == {"format", "now", "dropped", "promises", "schedules", "messages"}
    client.create("more").must()
    assert json.dumps(taken, sort_keys=True) == text, "a snapshot does not follow the store"


def test_s8_restore_brings_all_back(make_store: Make) -> None:
    first, second = make_store(), make_store()
    for envelope in _a_day_of_work():
        first.apply(envelope, now=10)
    taken = json.loads(json.dumps(first.snapshot()))
    DialectClient(second).create("gone").must()
    second.restore(taken)
    assert second.snapshot() == taken and second.digest() == first.digest()
    assert (second.now, second.next_due()) == (10, first.next_due())
    for store in (first, second):
        store.tick(now=100_000)
    assert first.snapshot() == second.snapshot()
    assert DialectClient(second).found("promise") == DialectClient(first).found("promise")


def test_s8_a_fork_is_independent(make_store: Make) -> None:
    store = make_store()
    client = DialectClient(store)
    for envelope in _a_day_of_work():
        store.apply(envelope, now=10)
    before = store.snapshot()
    other = store.fork()
    assert other.snapshot() == before and other.now == 10
    DialectClient(other).create("only there", now=70_000).must()
    other.take_messages()
    assert store.snapshot() == before and store.now == 10
    client.create("only here", now=20).must()
    client.settle("t").must()
    assert "only here" not in DialectClient(other).found("promise")
    third = other.fork().fork()
    assert third.snapshot() == other.snapshot()


# --- saturation ------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("huge", [2**50, 2**53 - 1, MAX - 1, MAX])
def test_s8_sums_of_instants_and_durations_saturate(make_store: Make, huge: int) -> None:
    store = make_store(retry_timeout="ttl")
    client = DialectClient(store)
    client.create("p", timeout=huge, tags=EXT, now=5).must()
    client.task_create("t", timeout=huge, ttl=huge, pid="w", now=5).must()
    assert stored_task(store, "t")["expiresAt"] == min(MAX, huge + 5)
    client.heartbeat("w", ("t", 1), now=9).must()
    assert stored_task(store, "t")["expiresAt"] == min(MAX, huge + 9)
    client.release("t", 1, now=10).must()
    assert stored_task(store, "t")["retryAt"] == min(MAX, huge + 10)
    client.schedule("s", timeout=huge, now=11).must()
    assert stored_schedule(store, "s")["promiseTimeout"] == huge
    assert store.next_due() == 60_000


@pytest.mark.parametrize("retry", [MAX, 2**62])
def test_s8_a_huge_retry_timeout_saturates(make_store: Make, retry: int) -> None:
    store = make_store(retry_timeout=retry)
    DialectClient(store).create("t", timeout=MAX, target=ADDRESS, now=2**62 + 5).must()
    assert stored_task(store, "t")["retryAt"] == min(MAX, retry + 2**62 + 5)


def test_s8_the_end_of_time(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", timeout=MAX, tags=EXT, now=0).must()
    assert store.next_due() == MAX
    assert client.get("p", now=MAX - 1).must()["promise"]["state"] == "pending"
    store.tick(now=MAX)
    assert stored(store, "p")["state"] == "rejected_timedout"
    client.create("q", timeout=MAX).must()
    assert stored(store, "q")["state"] == "rejected_timedout"


# --- keys, dialects, fences --------------------------------------------------------------------------------------------------------
def test_s8_keys_stand_in_the_inner_data(store: Any) -> None:
    client = DialectClient(store)
    client.task_create("t", ikc="a").must()
    assert stored(store, "t")["ikc"] == "a"
    client.fence_create("t", 1, "c", ikc="b").must()
    assert stored(store, "c")["ikc"] == "b"
    client.fulfill("t", 1, iku="d").must()
    assert stored(store, "t")["iku"] == "d"
    outer = request(
        "task.create",
        {"pid": "w", "ttl": 5, "ikc": "x", "action": request("promise.create", client.create_data("u", target=ADDRESS))},
    )
    assert store.apply(outer)["head"]["status"] == 200
    assert "ikc" not in stored(store, "u")


@pytest.mark.parametrize("target", [None, ADDRESS])
def test_s8_2025_task_create_of_a_born_dead_promise_answers_the_promise_alone(store: Any, target: str | None) -> None:
    old = DialectClient(store, V25)
    answer = old.task_create("t", timeout=5, target=target, now=10).must()
    assert set(answer.data) == {"promise"} and answer["promise"]["state"] == "rejected_timedout"
    assert stored_task(store, "t") == {"state": "fulfilled", "acquisitions": 0, "resumes": []}
    assert executes(store) == []


@pytest.mark.parametrize("inner", [V25, V26, "1999-01-01", 5, None, "missing"])
@pytest.mark.parametrize("outer", [V25, V26])
def test_s8_the_outer_dialect_governs_a_fence(store: Any, outer: str, inner: Any) -> None:
    client = DialectClient(store, outer)
    client.task_create("t").must()
    head = {"corrId": 7} if inner == "missing" else {"corrId": "inner", "version": inner}
    action = {"kind": "promise.create", "head": head, "data": {"id": "c", "timeoutAt": FAR}}
    answer = client.send("task.fence", {"id": "t", "version": 1 if outer == V26 else 0, "action": action}).must()["action"]
    assert answer["head"] == {"corrId": "c1", "status": 200, "version": outer}
    assert ("headers" in answer["data"]["promise"]["param"]) is (outer == V25)
    assert stored(store, "c")["dialect"] == outer


@pytest.mark.parametrize("head", [None, 5, "missing", {}, []])
@pytest.mark.parametrize("version", [V25, V26])
def test_s8_an_inner_head_is_ignored(store: Any, version: str, head: Any) -> None:
    client = DialectClient(store, version)
    action = {"kind": "promise.create", "data": client.create_data("t", target=ADDRESS)}
    if head != "missing":
        action["head"] = head
    client.send("task.create", {"pid": "w", "ttl": 5, "action": action}).must()


def test_s8_a_request_without_a_key_never_conflicts(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", ikc="k").must()
    client.create("p").must(200)
    client.settle("p", iku="k").must()
    client.settle("p").must(200)
