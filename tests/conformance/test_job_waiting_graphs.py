"""Jobs that wait by `after`: graphs of them, and what requests, operators and cancellations do to a job that waits (JOBS 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_waits import after, awaits, callbacks, complete, gates, kept_by, sound
from conformance.job_wire import JobClient
from conformance.wire import V25, V26, rows_of
from resonate_core.conformance.reply_form import status_in


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


# --- graphs -----------------------------------------------------------------------------------------------------------
def test_a_graph_runs_in_order(client: JobClient) -> None:
    """Two parts of a fan, a join, and a last one; none is claimed before what it waits for has completed."""
    edges = {"parse": (), "left": ("parse",), "right": ("parse",), "join": ("left", "right"), "last": ("join", "parse")}
    for id, awaited in edges.items():
        client.enqueue(id, now=0, retention=0, **({"after": list(awaited)} if awaited else {})).must()
    done: list[str] = []
    now = 1
    while jobs := client.claim(5, now=now, start=5).must()["jobs"]:
        for job in jobs:
            assert set(edges[job["id"]]) <= set(done), (job["id"], done)
        for job in jobs:
            client.complete(job["id"], job["version"], now=now + 1).must()
            done.append(job["id"])
        now += 2
    assert done == ["parse", "left", "right", "join", "last"]
    client.store.clock.advance_to(10**8)
    assert client.jobs() == [], "each was kept as long as another waited"
    sound(client)


def test_a_failure_goes_through_the_graph(client: JobClient) -> None:
    client.enqueue("a", now=0).must()
    for id, awaited in (("b", "a"), ("c", "b"), ("d", "c")):
        after(client, awaited, id=id, afterFailed="run" if id == "d" else "cancel")
    client.administer("cancel", "a", now=10).must()
    assert [client.state(id) for id in "abcd"] == ["cancelled", "cancelled", "cancelled", "pending"]
    assert [client.job(id)["error"]["message"] for id in "bc"] == [f'the awaited promise "{id}" was cancelled' for id in "ab"]
    assert client.job("d")["enqueuedAt"] == 10
    sound(client)


def test_many_wait_for_one(client: JobClient) -> None:
    """One job each step, in the order in which they registered; a request is followed by at most 64 steps, a tick by all."""
    gates(client, "a")
    ids = [f"j{n:03}" for n in range(100)]
    for id in reversed(ids):
        after(client, "a", id=id)
    client.settle("a", now=10).must()
    woken = [id for id in ids if client.state(id) == "pending"]
    assert len(woken) == 64 and sorted(woken) == ids[36:]
    assert callbacks(client, "a") == ids[35::-1]
    steps = client.store.tick(20)
    assert [(step.kind, step.id, step.at, step.now, step.detail["awaiter"]) for step in steps] == [
        ("callback_drain", "a", 10, 20, id) for id in ids[35::-1]
    ]
    assert client.job(ids[0])["enqueuedAt"] == 20 and client.job(ids[99])["enqueuedAt"] == 10, "as of the step"
    assert client.claimed(200, now=21) == [*ids[36:], *ids[:36]]
    sound(client)


def test_a_claim_runs_the_steps_that_are_left(client: JobClient) -> None:
    gates(client, "a")
    ids = [f"j{n:03}" for n in range(150)]
    for id in ids:
        after(client, "a", id=id)
    client.settle("a", now=10).must()
    assert client.claimed(150, now=10) == ids


def test_one_waits_for_many(client: JobClient) -> None:
    ids = [f"g{n:03}" for n in range(120)]
    gates(client, *ids)
    after(client, *ids)
    for n, id in enumerate(ids):
        assert client.job("j", now=2 + n)["awaits"]["count"] == 120 - n
        client.settle(id, now=2 + n).must()
    assert client.job("j")["enqueuedAt"] == 121
    sound(client)


def test_many_that_one_waits_for_end_in_one_request(client: JobClient) -> None:
    """In an order of their own: the others stay in theirs."""
    ids = [f"g{n:03}" for n in range(60)]
    for id in ids:
        client.enqueue(id, now=0).must()
    versions = {job["id"]: job["version"] for job in client.claim(60, now=0, start=60).must()["jobs"]}
    after(client, *ids)
    ended = [*ids[30:35], *ids[:30], ids[58], ids[36]]
    left = [id for id in ids if id not in ended]
    client.send("job.complete_many", {"jobs": [{"id": id, "version": versions[id]} for id in ended]}, 2).must()
    assert awaits(client) == left and client.job("j")["awaits"] == {"ids": left, "count": 23}
    assert [callbacks(client, id) for id in ended] == [[]] * 37 and [callbacks(client, id) for id in left] == [["j"]] * 23
    assert [kept_by(client, id) for id in ended] == [["j"]] * 37
    sound(client)
    client.send("job.complete_many", {"jobs": [{"id": id, "version": versions[id]} for id in left]}, 3).must()
    assert client.job("j")["state"] == "pending" and awaits(client) == []
    sound(client)


# --- while it waits -----------------------------------------------------------------------------------------------------
def test_a_waiting_job_holds_its_key_and_no_place(client: JobClient) -> None:
    gates(client, "a")
    client.queue("set", now=0, concurrency=1)
    after(client, "a", uniqueKey="k", priority=1)
    client.enqueue("other", now=2, uniqueKey="k").must(409)
    client.enqueue("other", now=2).must()
    assert client.claimed(5, now=3) == ["other"]
    stats = client.stats()
    assert list(stats["counts"]) == [
        *("scheduled", "waiting", "pending", "claimed", "running", "retry", "archived"),
        *("completed", "failed", "cancelled", "expired"),
    ]
    assert (stats["counts"]["waiting"], stats["active"], client.queue("get")["active"]) == (1, 1, 1)
    assert "oldestPendingAt" not in stats and stats["latency"] == 0


@pytest.mark.parametrize("verb", ["run", "archive", "cancel", "delete"])
def test_an_operator_does_not_wait(client: JobClient, verb: str) -> None:
    """What the promise does afterwards is nothing to the job."""
    gates(client, "a", "b")
    after(client, "a", "b", processAt=1_000)
    client.administer(verb, "j", now=5).must()
    if verb == "run":
        assert (client.job("j")["enqueuedAt"], client.job("j")["processAt"]) == (5, 1_000)
    state = {"run": "pending", "archive": "archived", "cancel": "cancelled", "delete": "absent"}[verb]
    assert client.state("j") == state
    assert callbacks(client, "a") == callbacks(client, "b") == [], "it takes its callbacks back"
    if verb != "delete":
        assert awaits(client) == [] and client.job("j")["after"] == ["a", "b"]
    before = None if verb == "delete" else client.job("j")
    client.settle("a", "rejected", now=10).must()
    client.settle("b", now=11).must()
    assert client.state("j") == state and (before is None or client.job("j") == before)
    sound(client)


def test_an_archived_one_that_is_run_lacks_nothing(client: JobClient) -> None:
    gates(client, "a")
    after(client, "a")
    client.administer("archive", "j", now=2).must()
    assert client.administer("run", "j", now=3).must()["job"]["state"] == "pending"
    assert client.claimed(now=4) == ["j"]


@pytest.mark.parametrize("verb", ["run", "archive", "cancel", "delete"])
def test_operators_by_state(client: JobClient, verb: str) -> None:
    gates(client, "a")
    for id in ("j", "k"):
        after(client, "a", id=id, tags={"own": "1"})
    client.enqueue("other", now=1).must()
    filter = {"tags": {"own": "1"}} if verb == "cancel" else {"state": "waiting"}
    assert client.all_of(verb, now=5, **filter) == 2
    assert client.jobs(state="waiting") == [] and client.state("other") == "pending"
    sound(client)


def test_an_awaited_job_is_not_deleted(client: JobClient) -> None:
    client.enqueue("a", now=0).must()
    after(client, "a")
    client.administer("delete", "a", now=2).must(409)
    assert client.all_of("delete", now=3, state="pending") == 0
    client.administer("delete", "j", now=4).must()
    client.administer("delete", "a", now=5).must()
    assert client.state("a") == "absent"


def test_the_id_of_a_deleted_job_comes_again(client: JobClient) -> None:
    """The first has taken its callbacks back; the second has those that it needs."""
    gates(client, "a", "b")
    after(client, "a", id="j")
    after(client, "a", id="k")
    for id in ("j", "k"):
        client.administer("delete", id, now=2).must()
    assert callbacks(client, "a") == []
    after(client, "b", id="k", now=3)
    after(client, "a", id="j", now=3)
    assert (callbacks(client, "a"), callbacks(client, "b")) == (["j"], ["k"])
    client.settle("a", now=10).must()
    assert (client.state("j"), client.state("k"), awaits(client, "k")) == ("pending", "waiting", ["b"])
    sound(client)


@pytest.mark.parametrize("state", ["resolved", "rejected", "rejected_canceled"])
def test_a_waiting_job_is_settled_from_outside(client: JobClient, state: str) -> None:
    gates(client, "a")
    after(client, "a")
    after(client, "j", id="k", afterFailed="run")
    client.settle("j", state, now=5).must()
    assert callbacks(client, "a") == []
    assert client.state("j") == {"resolved": "completed", "rejected": "failed", "rejected_canceled": "cancelled"}[state]
    assert client.state("k") == "pending", "its end wakes what waits for it"
    client.settle("a", "rejected", now=6).must()
    assert client.state("j") != "waiting" and awaits(client) == []
    sound(client)


def test_requests_of_tasks(client: JobClient) -> None:
    gates(client, "a")
    after(client, "a")
    for reply in (
        client.acquire("j", 0, now=2),
        client.release("j", 0, now=2),
        client.suspend("j", 0, "a", now=2),
        client.fulfill("j", 0, now=2),
    ):
        assert reply.status == 409
    client.register("a", "j", now=2).must(status_in(client.version, 422))
    if client.version == V26:
        (task,) = client.search("task", state="suspended").must()["tasks"]
        assert (task["id"], task["version"], task["state"], task["resumes"]) == ("j", 0, "suspended", 0)
        client.halt("j", now=2).must(409)
        client.cont("j", now=2).must(409)


def test_a_worker_of_a_waiting_job_has_lost_it(client: JobClient) -> None:
    gates(client, "a")
    after(client, "a")
    assert client.beat(("j", 0), now=2) == ([], ["j"])
    for reply in (client.start("j", 0, now=2), client.complete("j", 0, now=2), client.wait_for("a", id="j", version=0, now=2)):
        assert reply.status == 409


# --- cancellation -------------------------------------------------------------------------------------------------------
def test_its_cancellation_cancels_nothing(client: JobClient) -> None:
    """Although the awaited job is cancelled with its awaiters."""
    client.enqueue("a", now=0, cancelWithAwaiters=True).must()
    after(client, "a")
    client.administer("cancel", "j", now=5).must()
    assert client.state("a") == "pending" and client.store.tick(6) == []
    sound(client)


def test_it_is_a_pending_awaiter(client: JobClient) -> None:
    """A cancelled workflow does not cancel a job for which another job waits."""
    client.enqueue("a", now=0, cancelWithAwaiters=True).must()
    after(client, "a")
    client.task_create("w", now=1, ttl=10**6).must()
    client.suspend("w", 0 if client.version == V25 else 1, "a", now=1).must()
    client.settle("w", "rejected_canceled", now=5).must()
    assert client.state("a") == "pending" and callbacks(client, "a") == ["j"]
    complete(client, "a", 6)
    assert client.state("j") == "pending"
    sound(client)


def test_a_workflow_awaits_a_job_that_waits(client: JobClient) -> None:
    gates(client, "a")
    after(client, "a")
    client.task_create("w", now=1, ttl=10**6).must()
    client.suspend("w", 0 if client.version == V25 else 1, "j", now=1).must()
    client.settle("w", "rejected_canceled", now=5).must()
    assert client.state("j") == "cancelled" and client.job("j")["error"]["code"] == "Cancelled"
    assert callbacks(client, "a") == [] and client.get("a").must()["promise"]["state"] == "pending"
    sound(client)


# --- copies -------------------------------------------------------------------------------------------------------------
def test_a_copy_waits_as_well(client: JobClient, make_store: Callable[..., Any]) -> None:
    gates(client, "a", "b")
    client.settle("b", now=0).must()
    client.enqueue("c", now=0).must()
    complete(client, "c", 0)
    after(client, "a", "b", "c")
    snapshot = client.store.snapshot()
    other = JobClient(make_store(), client.version)
    other.store.restore(snapshot)
    assert rows_of(other.store) == rows_of(client.store) and other.store.digest() == client.store.digest()
    for one in (client, other):
        assert (awaits(one), kept_by(one, "c"), one.job("j")["awaits"]["count"]) == (["a"], ["j"], 1)
        one.settle("a", now=10).must()
        assert one.claimed(now=11) == ["j"]
        sound(one)
