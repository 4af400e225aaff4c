"""PROTOCOL 4: a request runs a limited number of the steps that are due; replies are correct while the rest waits."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.wire import ADDRESS, DialectClient, executes, request, stored, stored_task, unblocks
from resonate_core.conformance.reference.steps import BUDGET
from resonate_core.errors import Invalid

EXT = {"resonate:external": "true"}


def steps(fired: list[Any]) -> list[tuple[str, str, int]]:
    """Returns (kind, id, at) of the steps that a tick reports."""
    return [(f.kind, f.id, f.at) for f in fired]


def _many_listeners(make_store: Any, count: int) -> Any:
    """Makes a store whose promise p has many listeners."""
    store = make_store(check=False)
    DialectClient(store).create("p").must()
    kind = "promise.register_listener"
    answers = store.apply([request(kind, {"awaited": "p", "address": f"http://l/{i:05}"}) for i in range(count)])
    assert {a["head"]["status"] for a in answers} == {200}
    return store


def test_s4_a_request_runs_one_portion_of_a_long_drain(make_store: Any) -> None:
    store = _many_listeners(make_store, 2 * BUDGET + 30)
    client = DialectClient(store)
    client.create("later", timeout=50, tags=EXT, now=10).must()
    client.settle("p", now=20).must()
    assert (len(unblocks(store)), len(stored(store, "p")["listeners"])) == (BUDGET, BUDGET + 30)
    assert store.next_due() <= 20
    client.get("p", now=21).must()
    assert len(unblocks(store)) == BUDGET, "a read runs no steps"
    client.settle("nobody", now=60).must(404)
    assert len(unblocks(store)) == 2 * BUDGET
    assert stored(store, "later")["state"] == "pending", "what waits is due before every timer"
    fired = store.tick(now=60)
    assert steps(fired)[-1] == ("promise_timeout", "later", 50)
    assert [f.detail["address"] for f in fired[:-1]] == [f"http://l/{i:05}" for i in range(2 * BUDGET, 2 * BUDGET + 30)]
    assert stored(store, "p")["listeners"] == [] and len(unblocks(store)) == 2 * BUDGET + 30
    assert store.check() == []


def test_s4_a_tick_goes_on_to_the_last_step(make_store: Any) -> None:
    store = _many_listeners(make_store, 2_300)
    store.restore({**store.snapshot(), "promises": [{**p, "timeoutAt": 500} for p in store.snapshot()["promises"]]}, check=False)
    assert len(store.tick(now=500)) == 2_301


def test_s4_a_tick_stops_at_its_limit_and_leaves_the_rest_due(make_store: Any) -> None:
    store, whole = _many_listeners(make_store, 700), _many_listeners(make_store, 700)
    for one in (store, whole):
        DialectClient(one).settle("p", now=20).must()
    fired = []
    while part := store.tick(limit=100):
        fired.append(part)
    assert [len(part) for part in fired] == [100] * 6 + [700 - BUDGET - 600]
    assert steps([step for part in fired for step in part]) == steps(whole.tick())
    assert store.snapshot() == whole.snapshot()
    assert store.next_due() == whole.next_due()


@pytest.mark.parametrize("limit", [0, -1])
def test_s4_a_tick_needs_a_limit_of_a_step(make_store: Any, limit: int) -> None:
    with pytest.raises(Invalid, match=f"limit must be at least 1, got {limit}"):
        make_store().tick(limit=limit)


def test_s7_a_heartbeat_renews_nothing_while_the_sweep_of_a_dead_promise_waits(make_store: Any) -> None:
    store = _many_listeners(make_store, 3 * BUDGET)
    client = DialectClient(store)
    client.task_create("t", timeout=100, ttl=10_000, pid="w", now=0).must()
    client.settle("p", now=50).must()
    before = stored_task(store, "t")
    assert before["state"] == "acquired" and before["expiresAt"] == 10_000
    client.heartbeat("w", ("t", 1), now=100).must()
    assert stored_task(store, "t") == before, "not renewed, and not yet swept"
    store.tick()
    assert stored_task(store, "t") == {"state": "fulfilled", "acquisitions": 1, "resumes": []}


def test_s7_an_empty_heartbeat_renews_nothing_while_the_sweep_waits(make_store: Any) -> None:
    store = _many_listeners(make_store, 3 * BUDGET)
    client = DialectClient(store)
    client.task_create("t", timeout=100, ttl=10_000, pid="w", now=0).must()
    client.settle("p", now=50).must()
    client.heartbeat("w", now=100).must()
    assert stored_task(store, "t")["expiresAt"] == 10_000


def test_s7_a_dead_awaiter_is_not_resumed_while_its_sweep_waits(make_store: Any) -> None:
    store = _many_listeners(make_store, BUDGET - 1)
    client = DialectClient(store)
    client.task_create("t", timeout=100, now=0).must()
    client.create("r", timeout=100, target=ADDRESS, now=0).must()
    client.suspend("t", 1, "p", now=0).must()
    store.take_messages()
    before = stored_task(store, "t")
    client.settle("p", now=100).must()
    assert stored(store, "p")["callbacks"] == stored(store, "p")["listeners"] == []
    assert stored_task(store, "t") == before and before["state"] == "suspended"
    assert executes(store) == []
    assert [f.kind for f in store.tick()] == ["promise_timeout", "promise_timeout"]
    assert executes(store) == [] and store.check() == []


def test_s4_requests_on_a_dead_promise_whose_sweep_waits(make_store: Any) -> None:
    """Every guard reads the projection, even if the row that is still stored differs (1.2)."""
    store = _many_listeners(make_store, 4 * BUDGET + 30)
    client = DialectClient(store)
    client.create("q", timeout=100, target=ADDRESS, now=0).must()
    client.settle("p", now=50).must()
    client.acquire("q", 0, now=100).must(409)
    assert stored(store, "q")["state"] == "pending", "not yet swept"
    client.halt("q", now=100).must(409)
    assert client.settle("q", now=100).must()["promise"]["state"] == "rejected_timedout"
    assert client.found("promise", state="pending", now=100) == []


def test_s1_1_nothing_executes_a_timer(make_store: Any) -> None:
    """This holds even if its stored retry is before its deadline, as another version of the store might have left it."""
    store = make_store(check=False)
    DialectClient(store).create("p", timeout=9_000, target=ADDRESS, tags={"resonate:timer": "true"}, now=0).must()
    snapshot = store.snapshot()
    snapshot["promises"][0]["task"]["retryAt"] = 50
    store.restore(snapshot)
    assert store.next_due() == 9_000
    assert store.tick(now=8_999) == [] and executes(store) == []
