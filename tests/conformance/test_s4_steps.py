"""PROTOCOL 4: the internal steps and their order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, LISTENER, V25, V26, DialectClient, executes, rows_of, stored, stored_task, unblocks

EXT = {"resonate:external": "true"}


def steps(fired: list[Any]) -> list[tuple[str, str, int]]:
    """Returns (kind, id, at) of the steps that a tick reports."""
    return [(f.kind, f.id, f.at) for f in fired]


# --- each step's condition and effect -----------------------------------------------------------------------------------
def test_s4_promise_timeout_stores_and_fulfils(store: Any) -> None:
    client = DialectClient(store)
    client.task_create("t", timeout=100, ttl=5_000, now=0).must()
    assert store.tick(now=99) == []
    assert steps(store.tick(now=170)) == [("promise_timeout", "t", 100)]
    row = stored(store, "t")
    assert (row["state"], row["settledAt"], row["value"]) == ("rejected_timedout", 100, {})
    assert row["task"] == {"state": "fulfilled", "acquisitions": 1, "resumes": []}
    assert store.tick(now=170) == []


def test_s4_listener_drain_carries_the_settled_record_in_order(store: Any) -> None:
    client = DialectClient(store)
    client.create("p").must()
    addresses = [f"poll://uni@g/{i}" for i in (3, 1, 2)]
    for address in addresses:
        client.listen("p", address).must()
    record = client.settle("p", "rejected", {"data": "eA=="}, now=7).must()["promise"]
    assert stored(store, "p")["listeners"] == []
    taken = store.take_messages()
    assert [m["address"] for m in taken] == addresses
    assert all(m["message"] == {"kind": "unblock", "head": {}, "data": {"promise": record}} for m in taken)


@pytest.mark.parametrize("how", ["settle", "deadline", "late settle"])
def test_s4_callback_drain_resumes_a_suspended_awaiter(store: Any, how: str) -> None:
    client = DialectClient(store)
    client.create("x", timeout=100, now=0).must()
    client.task_create("t", now=0).must()
    client.suspend("t", 1, "x", now=0).must()
    if how == "settle":
        client.settle("x", now=50).must()
    elif how == "deadline":
        assert steps(store.tick(now=120)) == [("promise_timeout", "x", 100), ("callback_drain", "x", 100), ("dispatch", "t", 120)]
    else:
        client.settle("x", now=120).must()
    now = store.now
    assert stored_task(store, "t") == {
        "state": "pending",
        "acquisitions": 1,
        "lastTtl": 10_000,
        "retryAt": now + 5_000,
        "resumes": ["x"],
        "current": "x",
    }
    assert stored(store, "x")["callbacks"] == []
    assert executes(store) == [("execute", "t", 1)]


@pytest.mark.parametrize("state", ["pending", "acquired", "halted"])
def test_s4_callback_drain_adds_to_resumes(store: Any, state: str) -> None:
    client = DialectClient(store)
    for id in ("x", "y"):
        client.create(id, now=0).must()
    client.create("t", target=ADDRESS, now=0).must()
    if state == "acquired":
        client.acquire("t", 0, now=0).must()
    elif state == "halted":
        client.halt("t", now=0).must()
    for id in ("y", "x"):
        client.register(id, "t", now=0).must()
    store.take_messages()
    for id in ("y", "x"):
        client.settle(id, now=5).must()
    task = stored_task(store, "t")
    assert (task["state"], task["resumes"]) == (state, ["y", "x"]) and "current" not in task
    assert executes(store) == []


def test_s4_callback_drain_on_a_fulfilled_awaiter_is_nothing(store: Any) -> None:
    client = DialectClient(store)
    client.create("x").must()
    client.task_create("t").must()
    client.register("x", "t").must()
    client.fulfill("t", 1).must()
    before = stored_task(store, "t")
    client.settle("x").must()
    assert stored(store, "x")["callbacks"] == [] and stored_task(store, "t") == before


@pytest.mark.parametrize("state", ["suspended", "pending", "acquired", "halted"])
def test_s4_callback_drain_on_an_awaiter_past_its_own_deadline_is_nothing(store: Any, state: str) -> None:
    client = DialectClient(store)
    for id in ("x", "gate"):
        client.create(id, now=0).must()
    client.create("t", timeout=100, target=ADDRESS, now=0).must()
    if state in ("suspended", "acquired"):
        client.acquire("t", 0, now=0).must()
    client.register("x", "t", now=0).must()
    if state == "suspended":
        client.suspend("t", 1, "gate", "x", now=0).must()
    if state == "halted":
        client.halt("t", now=0).must()
    store.take_messages()
    client.settle("x", now=100).must()
    assert stored(store, "x")["callbacks"] == []
    assert stored_task(store, "t")["state"] == "fulfilled" and stored_task(store, "t")["resumes"] == []
    assert executes(store) == []


def test_s4_only_the_first_callback_wakes(store: Any) -> None:
    client = DialectClient(store)
    for id in ("x", "y"):
        client.create(id, now=0).must()
    client.task_create("t", now=0).must()
    client.suspend("t", 1, "x", "y", now=0).must()
    client.settle("y", now=1).must()
    store.take_messages()
    client.settle("x", now=2).must()
    task = stored_task(store, "t")
    assert (task["current"], task["resumes"], task["retryAt"]) == ("y", ["y", "x"], 5_001)
    assert executes(store) == []


def test_s4_lease_expiry(store: Any) -> None:
    client = DialectClient(store)
    client.task_create("t", ttl=100, now=0).must()
    assert store.tick(now=99) == []
    assert steps(store.tick(now=100)) == [("lease_expiry", "t", 100), ("dispatch", "t", 100)]
    assert stored_task(store, "t") == {"state": "pending", "acquisitions": 1, "lastTtl": 100, "retryAt": 5_100, "resumes": []}


def test_s4_dispatch_repeats_once_the_message_is_taken_and_does_not_catch_up(store: Any) -> None:
    client = DialectClient(store)
    client.create("t", target=ADDRESS, now=0).must()
    store.take_messages()
    assert steps(store.tick(now=4_999)) == []
    assert steps(store.tick(now=5_000)) == [("dispatch", "t", 5_000)]
    store.take_messages()
    fired = store.tick(now=60_000)
    assert steps(fired) == [("dispatch", "t", 10_000)]
    assert (fired[0].now, fired[0].detail["address"]) == (60_000, ADDRESS)
    assert stored_task(store, "t")["retryAt"] == 65_000
    assert executes(store) == [("execute", "t", 0)]
    assert store.snapshot()["messages"][0]["queuedAt"] == 60_000, "queued when it was sent, not when it was due"


def test_s4_a_task_whose_execute_waits_has_no_timer(store: Any) -> None:
    """`retryAt` is shown as if the message were queued again each time; its timer begins when the message is taken."""
    client = DialectClient(store)
    client.create("t", target=ADDRESS, now=0).must()
    shown = []
    for now in (0, 4_999, 5_000, 5_001, 59_999, 60_000):
        assert store.tick(now=now) == []
        shown.append(stored_task(store, "t")["retryAt"])
    assert shown == [5_000, 5_000, 10_000, 10_000, 60_000, 65_000]
    assert (store.next_due(), store.snapshot()["messages"][0]["queuedAt"]) == (FAR, 0)
    store.take_messages()
    assert (store.next_due(), stored_task(store, "t")["retryAt"]) == (65_000, 65_000)
    assert steps(store.tick(now=65_000)) == [("dispatch", "t", 65_000)]


def test_s4_a_message_that_is_taken_after_a_read_counts_from_then(store: Any) -> None:
    """A read stores nothing, so it is the taking that moves `retryAt` past the retry at 5,000."""
    client = DialectClient(store)
    client.create("t", target=ADDRESS, now=0).must()
    client.get("t", now=7_000).must()
    assert (stored_task(store, "t")["retryAt"], store.snapshot()["now"]) == (5_000, 0)
    store.take_messages()
    assert (stored_task(store, "t")["retryAt"], store.snapshot()["now"], store.next_due()) == (10_000, 7_000, 10_000)


@pytest.mark.parametrize("state", ["pending", "acquired", "suspended", "halted"])
def test_s4_a_dead_promise_has_the_timeout_step_alone(store: Any, state: str) -> None:
    client = DialectClient(store)
    client.create("gate", now=0).must()
    client.create("t", timeout=8_000, target=ADDRESS, now=0).must()
    if state in ("acquired", "suspended"):
        client.acquire("t", 0, ttl=6_000, now=0).must()
    if state == "suspended":
        client.suspend("t", 1, "gate", now=0).must()
    if state == "halted":
        client.halt("t", now=0).must()
    store.take_messages()
    assert steps(store.tick(now=9_000)) == [("promise_timeout", "t", 8_000)]
    assert executes(store) == [] and stored_task(store, "t")["state"] == "fulfilled"


def test_s4_a_lease_that_ends_with_the_promise(store: Any) -> None:
    client = DialectClient(store)
    client.task_create("t", timeout=100, ttl=100, now=0).must()
    assert steps(store.tick(now=100)) == [("promise_timeout", "t", 100)]
    assert executes(store) == []


def test_s4_every_request_is_followed_by_what_is_due(store: Any) -> None:
    """Steps also follow a request that fails; they follow neither a read nor a request that is refused for its shape."""
    client = DialectClient(store)
    client.create("p", timeout=100, tags=EXT, now=0).must()
    before = rows_of(store)
    client.get("nobody", now=150).must(404)
    assert rows_of(store) == before
    client.send("promise.settle", {"id": "", "state": "resolved"}, 200).must(400)
    assert rows_of(store) == before and store.now == 150
    client.settle("nobody", now=200).must(404)
    assert stored(store, "p")["state"] == "rejected_timedout"
    client.create("q", timeout=300, tags=EXT).must()
    client.acquire("p", 0, now=300).must(404)
    assert stored(store, "q")["state"] == "rejected_timedout"


# --- order ----------------------------------------------------------------------------------------------------------------
def test_s4_order_by_deadline_then_kind_then_id(store: Any) -> None:
    client = DialectClient(store)
    for id in ("b", "a"):
        client.create(f"p{id}", timeout=60_000, tags=EXT, now=0).must()
        client.task_create(f"l{id}", ttl=60_000, now=0).must()
        client.create(f"d{id}", timeout=FAR, target=ADDRESS, tags={"resonate:delay": "60000"}, now=0).must()
        client.schedule(f"s{id}", now=0).must()
    client.create("early", timeout=59_999, tags=EXT, now=0).must()
    expected = [
        ("promise_timeout", "early", 59_999),
        ("promise_timeout", "pa", 60_000),
        ("promise_timeout", "pb", 60_000),
        ("lease_expiry", "la", 60_000),
        ("lease_expiry", "lb", 60_000),
        ("dispatch", "da", 60_000),
        ("dispatch", "db", 60_000),
        ("dispatch", "la", 60_000),
        ("dispatch", "lb", 60_000),
        ("schedule", "sa", 60_000),
        ("schedule", "sb", 60_000),
    ]
    assert steps(store.tick(now=60_000)) == expected


def test_s4_deadline_goes_before_kind(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", timeout=70_000, tags=EXT, now=0).must()
    client.schedule("s", now=0).must()
    assert steps(store.tick(now=70_000))[:2] == [("schedule", "s", 60_000), ("promise_timeout", "p", 70_000)]


def test_s4_ids_go_bytewise(store: Any) -> None:
    client = DialectClient(store)
    ids = ["𝄞", "\uffff", "é", "z", "B", "a.b", "a"]
    for id in ids:
        client.create(id, timeout=100, tags=EXT, now=0).must()
    assert [f.id for f in store.tick(now=100)] == sorted(ids, key=lambda i: i.encode())


def test_s4_drains_follow_their_settlement_at_once(store: Any) -> None:
    client = DialectClient(store)
    for id in ("a", "b"):
        client.create(id, timeout=100, tags=EXT, now=0).must()
        client.task_create(f"t{id}", ttl=100, now=0).must()
        client.suspend(f"t{id}", 1, id, now=0).must()
        client.listen(id, now=0).must()
    fired = store.tick(now=100)
    assert steps(fired) == [
        ("promise_timeout", "a", 100),
        ("listener_drain", "a", 100),
        ("callback_drain", "a", 100),
        ("promise_timeout", "b", 100),
        ("listener_drain", "b", 100),
        ("callback_drain", "b", 100),
        ("dispatch", "ta", 100),
        ("dispatch", "tb", 100),
    ]
    assert fired[1].detail == {"address": LISTENER} and fired[2].detail == {"awaiter": "ta"}
    assert {f.now for f in fired} == {100}


def test_s4_a_chain_of_deadlines_in_one_tick(store: Any) -> None:
    """A timeout that wakes a task does not dispatch it if the task's own deadline has passed too."""
    client = DialectClient(store)
    client.create("x", timeout=100, now=0).must()
    client.task_create("t", timeout=200, now=0).must()
    client.suspend("t", 1, "x", now=0).must()
    fired = steps(store.tick(now=300))
    assert fired == [("promise_timeout", "x", 100), ("callback_drain", "x", 100), ("promise_timeout", "t", 200)]
    assert executes(store) == [] and stored_task(store, "t")["state"] == "fulfilled"


def test_s4_late_early_and_repeated_firing_are_safe(store: Any) -> None:
    client = DialectClient(store)
    client.create("p", timeout=100, tags=EXT, now=0).must()
    client.listen("p", now=0).must()
    for now in (10, 99, 100, 100, 101, 10**9):
        store.tick(now=now)
    assert unblocks(store) in ([("unblock", "p", LISTENER)], [])
    assert stored(store, "p")["settledAt"] == 100


# --- the clock --------------------------------------------------------------------------------------------------------------
def test_s4_tick_is_a_server_that_was_away_and_advance_one_that_was_there(make_store: Any, clock_type: Any) -> None:
    messages = []
    for visit in (False, True):
        clock = clock_type(0)
        store = make_store(clock=clock)
        DialectClient(store).task_create("t", ttl=3_000).must()
        fired = clock.advance_to(12_000) if visit else store.tick(now=12_000)
        messages.append(steps(fired))
        assert store.now == clock.now == 12_000
    lease = ("lease_expiry", "t", 3_000)
    assert messages == [[lease, ("dispatch", "t", 12_000)], [lease, ("dispatch", "t", 3_000)]]


def test_s4_advance_visits_every_due_instant_in_order(make_store: Any, clock_type: Any) -> None:
    clock = clock_type(0)
    store = make_store(clock=clock)
    client = DialectClient(store)
    client.create("p", timeout=7_000, tags=EXT).must()
    client.task_create("t", ttl=3_000).must()
    fired = clock.advance(9_000)
    assert [(f.kind, f.at, f.now) for f in fired] == [
        ("lease_expiry", 3_000, 3_000),
        ("dispatch", 3_000, 3_000),
        ("promise_timeout", 7_000, 7_000),
    ]
    store.take_messages()
    assert (clock.now, store.next_due()) == (9_000, 13_000)
    assert [f.now for f in clock.advance_to_next()] == [13_000]


def test_s4_advance_to_next_with_nothing_due(make_store: Any, clock_type: Any) -> None:
    clock = clock_type(5)
    make_store(clock=clock)
    assert list(clock.advance_to_next()) == [] and clock.now == 5


def test_s4_a_clock_never_runs_backwards(make_store: Any, clock_type: Any, refused: Any) -> None:
    clock = clock_type(100)
    store = make_store(clock=clock)
    client = DialectClient(store)
    assert store.now == 100
    client.create("p", now=200).must()
    assert clock.now == 200
    client.create("q", now=199).must(400)
    client.get("p", now=199).must(400)
    with pytest.raises(refused):
        store.tick(now=199)
    with pytest.raises((refused, ValueError)):
        clock.advance_to(199)
    with pytest.raises((refused, ValueError)):
        clock.advance(-1)
    assert store.now == clock.now == 200 and [p["id"] for p in store.snapshot()["promises"]] == ["p"]
    store.tick(now=200)


def test_s4_next_due(store: Any) -> None:
    client = DialectClient(store)
    assert store.next_due() is None
    client.create("internal", timeout=10, now=0).must()
    assert store.next_due() is None
    client.create("p", timeout=FAR, tags=EXT, now=0).must()
    assert store.next_due() == FAR
    client.schedule("s", now=0).must()
    assert store.next_due() == 60_000
    client.create("t", target=ADDRESS, now=0).must()
    assert store.next_due() == 60_000
    store.take_messages()
    assert store.next_due() == 5_000
    client.acquire("t", 0, ttl=3_000, now=0).must()
    assert store.next_due() == 3_000
    client.halt("t", now=0).must()
    assert store.next_due() == 60_000
    client.get("p", now=60_007).must()
    assert store.next_due() == 60_007, "a step that was due before is due now"


def test_s4_both_clocks_are_deterministic(make_store: Any, clock_type: Any) -> None:
    digests = set()
    for _ in range(2):
        clock = clock_type(0)
        store = make_store(clock=clock)
        for version in (V26, V25):
            client = DialectClient(store, version)
            client.schedule(f"s{version}", tags={"resonate:target": ADDRESS}, timeout=150_000).must()
            client.task_create(f"t{version}", ttl=7_000).must()
        clock.advance_to(300_000)
        digests.add((store.digest(), json.dumps(store.snapshot(), sort_keys=True)))
    assert len(digests) == 1
