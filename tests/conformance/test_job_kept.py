"""What a job that is not final waits for, or waited for, is kept: retention, delete and purge spare it (JOBS 8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_waits import after, callbacks, complete, gates, kept_by, sound, suspended
from conformance.job_wire import JobClient
from conformance.wire import V25, V26, held, stored

HOUR = 3_600_000


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def exists(client: JobClient, id: str) -> bool:
    return client.get(id).status == 200


def dependency(client: JobClient, id: str = "a", now: int = 0, **data: Any) -> None:
    """Enqueues a job that goes with its completion."""
    client.enqueue(id, now=now, retention=0, **data).must()


# --- who keeps --------------------------------------------------------------------------------------------------------
def test_a_job_keeps_what_it_waited_for_until_it_is_final(client: JobClient) -> None:
    dependency(client)
    after(client, "a", id="j")
    after(client, "a", id="k", afterFailed="run")
    assert "keptBy" not in stored(client.store, "a")
    complete(client, "a", 10)
    assert kept_by(client, "a") == ["j", "k"] and stored(client.store, "a")["job"]["awaiters"] == []
    clock = client.store.clock
    clock.advance_to(HOUR)
    assert client.state("a") == "completed" and client.get("a").must()["promise"]["state"] == "resolved"
    complete(client, "j", HOUR)
    clock.advance_to(3 * HOUR)
    assert (client.state("a"), kept_by(client, "a")) == ("completed", ["k"])
    complete(client, "k", 3 * HOUR)
    clock.advance_to(5 * HOUR)
    assert client.state("a") == "absent"
    sound(client)


@pytest.mark.parametrize("others", ["before", "after", "both"])
def test_a_notified_task_that_is_gone_is_no_keeper(client: JobClient, others: str) -> None:
    """It is drained in the transaction that drains the job, and then looks for keepers."""

    def awaited_by_a_task(id: str) -> None:
        client.create(id, 5, now=1, target="poll://any@g").must()
        client.register("a", id, now=1).must()

    dependency(client)
    if others != "after":
        awaited_by_a_task("t")
    after(client, "a", id="j")
    if others != "before":
        awaited_by_a_task("u")
    complete(client, "a", 10)
    assert kept_by(client, "a") == ["j"]
    client.store.clock.advance_to(HOUR)
    assert client.state("a") == "completed"
    complete(client, "j", HOUR)
    client.store.clock.advance_to(3 * HOUR)
    assert client.state("a") == "absent"
    sound(client)


# For each way in which a keeper ends: its members, and the requests.
KEEPERS: dict[str, tuple[dict[str, Any], Callable[[JobClient], Any]]] = {
    "completes": ({}, lambda d: complete(d, "j", 20)),
    "fails": ({"onExhausted": "failed"}, lambda d: d.fail("j", d.run_one("j", now=20), now=20, retryable=False).must()),
    "is cancelled": ({}, lambda d: d.administer("cancel", "j", now=20).must()),
    "is settled from outside": ({}, lambda d: d.settle("j", now=20).must()),
    "expires": ({"goodUntil": 20}, lambda d: d.store.tick(20)),
    "reaches its deadline": ({"deadline": 20}, lambda d: d.store.tick(20)),
    "is deleted": ({}, lambda d: d.administer("delete", "j", now=20).must()),
}


@pytest.mark.parametrize("end", KEEPERS)
def test_a_keeper_ends(client: JobClient, end: str) -> None:
    members, ends = KEEPERS[end]
    dependency(client)
    after(client, "a", **members)
    complete(client, "a", 10)
    assert kept_by(client, "a") == ["j"]
    ends(client)
    assert client.state("a") == "completed", "it is checked again later"
    steps = [step for step in client.store.clock.advance_to(5_000) if step.id == "a"]
    assert [step.kind for step in steps] == ["job_retention"] and client.state("a") == "absent"
    sound(client)


# For each state that is not final: the requests that bring a job there, once nothing is missing.
STATES: dict[str, Callable[[JobClient], Any]] = {
    "pending": lambda d: None,
    "claimed": lambda d: d.claim(now=20, lease=10 * HOUR).must(),
    "running": lambda d: d.run_one("j", now=20, lease=10 * HOUR),
    "retry": lambda d: d.fail("j", d.run_one("j", now=20), now=20, retryAfter=10 * HOUR).must(),
    "scheduled": lambda d: d.snooze("j", d.run_one("j", now=20), 10 * HOUR, now=20).must(),
    "archived": lambda d: d.fail("j", d.run_one("j", now=20), now=20, retryable=False).must(),
    "waiting": lambda d: d.wait_for("gate", id="j", version=d.run_one("j", now=20), now=20).must(),
}


@pytest.mark.parametrize("state", STATES)
def test_a_keeper_in_each_state_that_is_not_final(client: JobClient, state: str) -> None:
    gates(client, "gate")
    dependency(client)
    after(client, "a")
    complete(client, "a", 10)
    STATES[state](client)
    client.store.clock.advance_to(5 * HOUR)
    assert (client.state("j"), client.state("a"), kept_by(client, "a")) == (state, "completed", ["j"])
    client.administer("cancel", "j", now=5 * HOUR).must()
    client.store.clock.advance(HOUR)
    assert client.state("a") == "absent"
    sound(client)


def test_a_job_keeps_what_had_ended_when_it_was_enqueued(client: JobClient) -> None:
    gates(client, "gate", "plain")
    client.settle("plain", now=0).must()
    client.enqueue("a", now=0, retention=HOUR).must()
    complete(client, "a", 1)
    for id, awaited in (("j", ["a", "plain"]), ("k", ["gate", "a"])):
        after(client, *awaited, id=id, now=2)
    assert kept_by(client, "a") == ["j", "k"] and "keptBy" not in stored(client.store, "plain"), (
        "only jobs are deleted by themselves"
    )
    client.store.clock.advance_to(3 * HOUR)
    assert client.state("a") == "completed"
    for id in ("j", "k"):
        client.administer("cancel", id).must()
    client.store.clock.advance(HOUR)
    assert client.state("a") == "absent"


def test_a_job_that_is_cancelled_for_it_keeps_nothing(client: JobClient) -> None:
    """Neither one that is created cancelled, nor one that is cancelled by the step."""
    for id in ("a", "b"):
        client.enqueue(id, now=0).must()
    after(client, "b", id="by the step")
    client.administer("cancel", "a", now=2).must()
    after(client, "a", "b", id="at once", now=3)
    client.administer("cancel", "b", now=4).must()
    assert [client.state(id) for id in ("by the step", "at once")] == ["cancelled", "cancelled"]
    for id in ("a", "b"):
        assert not {"keptBy"} & set(stored(client.store, id)) and stored(client.store, id)["job"]["awaiters"] == []


def test_a_job_that_does_not_lack_it_any_more_keeps_nothing(client: JobClient) -> None:
    gates(client, "gate")
    dependency(client, priority=99)
    after(client, "a", id="run", now=1)
    suspended(client, "a", "gate", id="woken", now=2)
    client.administer("run", "run", now=3).must()
    client.settle("gate", now=4).must()
    assert callbacks(client, "a") == []
    client.administer("archive", "run", now=5).must()
    client.administer("archive", "woken", now=5).must()
    client.run_one("a", now=6)
    client.complete("a", now=6).must()
    assert client.state("run") == "archived" and client.state("a") == "absent"
    sound(client)


def test_workflows_are_awaiters_as_ever(client: JobClient) -> None:
    dependency(client)
    after(client, "a")
    client.task_create("w", now=1, ttl=10 * HOUR).must()
    client.suspend("w", held(client.version), "a", now=1).must()
    complete(client, "a", 10)
    row = stored(client.store, "a")
    assert (row["job"]["awaiters"], row["keptBy"]) == (["w"], ["j"])
    client.administer("cancel", "j", now=11).must()
    client.store.clock.advance_to(HOUR)
    assert (client.state("a"), kept_by(client, "a")) == ("completed", ["j"]), "keepers are looked at once no awaiter is left"
    client.settle("w", now=HOUR).must()
    client.store.clock.advance(HOUR)
    assert client.state("a") == "absent"


# --- job.suspend ------------------------------------------------------------------------------------------------------
def test_all_keeps_what_had_ended(client: JobClient) -> None:
    gates(client, "gate")
    client.enqueue("a", now=0, retention=HOUR).must()
    complete(client, "a", 1)
    suspended(client, "a", "gate", now=2, until="all")
    assert kept_by(client, "a") == ["j"]
    client.store.clock.advance_to(5 * HOUR)
    assert client.state("a") == "completed"


def test_what_a_suspended_job_lacked_is_kept(client: JobClient) -> None:
    for now, until in enumerate(("any", "all")):
        dependency(client, f"a-{until}", now=now, priority=99)
        suspended(client, f"a-{until}", id=f"j-{until}", now=now, until=until)
    for until in ("any", "all"):
        client.settle(f"a-{until}", now=10).must()
        assert kept_by(client, f"a-{until}") == [f"j-{until}"] and client.state(f"j-{until}") == "pending"
    sound(client)


def test_a_job_that_need_not_wait_keeps_nothing(client: JobClient) -> None:
    client.enqueue("a", now=0).must()
    complete(client, "a", 1)
    for until in ("any", "all"):
        client.enqueue(until, now=2).must()
        client.wait_for("a", id=until, version=client.run_one(until, now=2), now=2, until=until).must(300)
    assert kept_by(client, "a") == []


def test_a_keeper_is_named_once(client: JobClient) -> None:
    gates(client, "gate", "other")
    dependency(client)
    after(client, "a")
    complete(client, "a", 10)
    version = client.run_one("j", now=11)
    client.wait_for("a", "gate", id="j", version=version, now=12, until="all").must()
    assert kept_by(client, "a") == ["j"]
    after(client, "other", "a", id="k", now=13)
    assert kept_by(client, "a") == ["j", "k"], "in the order of registration"


# --- the step -----------------------------------------------------------------------------------------------------------
def test_it_is_looked_at_again_ever_more_rarely(client: JobClient) -> None:
    """First after a second, then each time that the time since the settlement has doubled, at least every hour; no step is recorded."""
    dependency(client)
    after(client, "a")
    complete(client, "a", 10)
    looks = []
    while len(looks) < 16:
        looks.append(client.store.next_due() - 10)
        assert client.store.clock.advance_to(looks[-1] + 10) == []
    doubled = [1_000 * 2**n for n in range(13)]
    assert looks == [*doubled, *(doubled[-1] + n * HOUR for n in range(1, 4))]
    assert client.state("a") == "completed"


def test_keepers_are_taken_from_the_front(client: JobClient) -> None:
    dependency(client)
    ids = [f"j{n}" for n in range(4)]
    for id in ids:
        after(client, "a", id=id)
    complete(client, "a", 10)
    assert kept_by(client, "a") == ids
    for id in ("j0", "j2"):
        client.administer("cancel", id, now=20).must()
    client.store.clock.advance_to(2_000)
    assert kept_by(client, "a") == ["j1", "j2", "j3"], "the first that is not final stops"
    client.administer("delete", "j1", now=2_001).must()
    client.store.clock.advance_to(10_000)
    assert kept_by(client, "a") == ["j3"]
    client.administer("cancel", "j3", now=10_001).must()
    client.store.clock.advance_to(100_000)
    assert client.state("a") == "absent"
    sound(client)


def test_ten_thousand_keepers_in_one_check(client: JobClient) -> None:
    """A job that more keep is checked again; those that do not exist count like those that are final."""
    dependency(client)
    after(client, "a")
    complete(client, "a", 10)
    client.administer("cancel", "j", now=11).must()
    snapshot = client.store.snapshot()
    (row,) = (row for row in snapshot["promises"] if row["id"] == "a")
    row["keptBy"] = ["j", *(f"gone{n}" for n in range(10_000))]
    client.store.restore(snapshot)
    assert client.store.clock.advance_to(1_010) == []
    assert kept_by(client, "a") == ["gone9999"]
    (step,) = client.store.clock.advance_to(2_010)
    assert (step.kind, client.state("a")) == ("job_retention", "absent")


# --- by hand ------------------------------------------------------------------------------------------------------------
def test_delete_waits_for_the_keepers(client: JobClient) -> None:
    client.enqueue("a", now=0).must()
    after(client, "a")
    complete(client, "a", 10)
    assert client.administer("delete", "a", now=11).must().data == {}
    client.store.clock.advance_to(HOUR)
    assert client.state("a") == "completed"
    complete(client, "j", HOUR)
    client.store.clock.advance(HOUR)
    assert client.state("a") == "absent"
    sound(client)


def test_purge_spares_what_a_job_waits_for(client: JobClient) -> None:
    """With and without a job of its own: as long as a job that is not final names it in `after`, or lacks it."""
    gates(client, "plain", "gate", "free", "past")
    client.enqueue("a", now=0).must()
    after(client, "a", "plain", "gate", now=1)
    complete(client, "a", 2)
    for id in ("plain", "free"):
        client.settle(id, now=3).must()
    clock = client.store.clock
    clock.advance_to(1_000)
    assert client.store.purge(settled_before=1_000) == 1
    assert [exists(client, id) for id in ("a", "plain", "gate", "free")] == [True, True, True, False]
    client.settle("gate", now=1_001).must()
    clock.advance_to(2_000)
    assert client.store.purge(settled_before=2_000) == 0, "it waited for all of them, and is not final"
    complete(client, "j", 2_001)
    clock.advance_to(3_000)
    assert client.store.purge(settled_before=2_001) == 3 and kept_by(client, "j") == []
    assert [exists(client, id) for id in ("a", "plain", "gate", "j")] == [False, False, False, True]
    sound(client)


def test_purge_spares_what_a_suspended_job_waited_for(client: JobClient) -> None:
    gates(client, "gate", "plain")
    client.enqueue("a", now=0).must()
    complete(client, "a", 1)
    client.settle("plain", now=1).must()
    suspended(client, "a", "plain", "gate", now=2, until="all")
    client.store.clock.advance_to(1_000)
    assert client.store.purge(settled_before=1_000) == 1, "a promise without a job that was settled by then is not lacked"
    assert kept_by(client, "a") == ["j"] and not exists(client, "plain")
    client.administer("cancel", "j", now=1_001).must()
    client.store.clock.advance_to(2_000)
    assert client.store.purge(settled_before=1_001) == 1 and not exists(client, "a")
    sound(client)


def test_purge_asks_whether_any_keeper_is_left(client: JobClient) -> None:
    client.enqueue("a", now=0, priority=99).must()
    for id in ("j", "k"):
        suspended(client, "a", id=id)
    client.settle("a", now=10).must()
    client.administer("cancel", "j", now=11).must()
    client.store.clock.advance_to(100)
    assert kept_by(client, "a") == ["j", "k"]
    assert client.store.purge(settled_before=11) == 0
    client.administer("delete", "k", now=101).must()
    assert client.store.purge(settled_before=100) == 2, "the job and its cancelled keeper"
