"""Child jobs: `parent` of an enqueue, what the parent awaits, and how a cancellation goes down (JOBS 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_steps import AT, J, another_job, ids, lineage, put, running, state_of
from conformance.job_waits import callbacks, complete, gates, sound
from conformance.job_wire import JobClient
from conformance.wire import V25, V26, rows_of
from resonate_core.conformance.reply_form import status_in

HOUR = 3_600_000


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def cancel(client: JobClient, id: str = J, now: int = 10) -> None:
    client.administer("cancel", id, now=now).must()


# --- the child ----------------------------------------------------------------------------------------------------------
def test_a_child_job(client: JobClient) -> None:
    client.enqueue(J, now=0).must()
    client.run_one(J, now=0)
    client.fail(J, now=1, retryAfter=0).must()
    version = client.run_one(J, now=1)
    job = client.child("c", J, version, now=5).must()["job"]
    assert (job["state"], job["createdAt"]) == ("pending", 5) and job["tags"] == lineage(J, "c")
    assert callbacks(client, "c") == [J] and ids(client) == ["c"]
    parent = client.job(J)
    assert (parent["state"], parent["steps"], parent["retryCount"]) == ("running", 1, 0)
    sound(client)


def test_without_an_id(client: JobClient) -> None:
    running(client)
    job = client.child(None, J, now=2).must()["job"]  # type: ignore[arg-type]
    assert job["id"].startswith("job:") and job["tags"] == lineage(J, job["id"])
    assert ids(client) == [job["id"]]


def test_tags_of_its_own(client: JobClient) -> None:
    running(client, tags={"resonate:origin": "root", "resonate:prefix": "ids", "resonate:branch": "other"})
    own = {"resonate:scope": "mine", "team": "blue"}
    inherited = {**lineage(J, "c", "root"), "resonate:prefix": "ids"}
    assert client.child("c", J, now=2, tags=own).must()["job"]["tags"] == {**inherited, **own}


def test_the_tag_alone_makes_no_child(client: JobClient) -> None:
    running(client)
    client.enqueue("c", now=2, tags={"resonate:parent": J}).must()
    assert ids(client) == [] and callbacks(client, "c") == [] and "steps" not in client.job(J)


def test_the_parent_hears_of_its_end_only_if_it_waits(client: JobClient) -> None:
    running(client)
    for id in ("a", "b"):
        client.child(id, J, now=2).must()
    complete(client, "a", 3)
    assert client.state(J) == "running" and callbacks(client, "a") == []
    client.wait_for("b", id=J, now=4).must()
    assert callbacks(client, "b") == [J]
    complete(client, "b", 5)
    assert client.state(J) == "pending"
    sound(client)


def test_a_parent_that_stops_waiting_keeps_the_callback(client: JobClient) -> None:
    """Of a step, it takes it back."""
    running(client)
    client.record("step", id=J, now=2).must()
    for id in ("a", "b"):
        client.child(id, J, now=2).must()
    client.wait_for("a", "b", "j:step", id=J, now=3).must()
    complete(client, "a", 4)
    assert client.state(J) == "pending"
    assert [callbacks(client, id) for id in ("b", "j:step")] == [[J], []]
    sound(client)


@pytest.mark.parametrize("verb", ["run", "archive"])
def test_an_operator_ends_the_wait(client: JobClient, verb: str) -> None:
    running(client)
    client.child("a", J, now=2).must()
    client.wait_for("a", id=J, now=3).must()
    client.administer(verb, J, now=4).must()
    assert callbacks(client, "a") == [J]
    cancel(client)
    assert client.state("a") == "cancelled"
    sound(client)


# A child that is settled at once: its members.
SETTLED: dict[str, dict[str, Any]] = {
    "past its deadline": {"deadline": 5},
    "past its goodUntil": {"goodUntil": 5},
    "for a failed promise": {"after": ["failed"]},
}


@pytest.mark.parametrize("how", SETTLED)
def test_a_child_that_is_settled_at_once(client: JobClient, how: str) -> None:
    gates(client, "failed")
    client.settle("failed", "rejected", now=0).must()
    running(client)
    client.child("c", J, now=10, **SETTLED[how]).must()
    assert client.state("c") in ("failed", "expired", "cancelled") and callbacks(client, "c") == []
    assert client.job(J)["steps"] == 1 and ids(client) == ["c"]
    sound(client)


@pytest.mark.parametrize(
    "data", [{"processIn": 100}, {"after": ["gate"]}, {"group": "g"}], ids=["scheduled", "waiting", "gathering"]
)
def test_a_child_that_is_not_ready(client: JobClient, data: dict[str, Any]) -> None:
    gates(client, "gate")
    running(client)
    client.child("c", J, now=2, **data).must()
    assert callbacks(client, "c") == [J]
    cancel(client)
    assert client.state("c") == "cancelled"
    sound(client)


def test_in_a_batch_of_jobs(client: JobClient) -> None:
    """Each by itself, or all or none."""
    running(client)
    kinds = {"queue": "mail", "type": "t"}
    jobs = [{"id": "a", "parent": {"id": J, "version": 1}, **kinds}, {"id": "b", "parent": {"id": J, "version": 2}, **kinds}]
    client.send("job.enqueue_many", {"jobs": jobs, "atomic": True}, 2).must(409)
    assert ids(client) == []
    outcomes = client.send("job.enqueue_many", {"jobs": jobs}, 3).must()["jobs"]
    assert [one["status"] for one in outcomes] == [200, 409] and ids(client) == ["a"]
    jobs[1]["parent"]["version"] = 1
    client.send("job.enqueue_many", {"jobs": jobs, "atomic": True}, 4).must()
    assert ids(client) == ["a", "b"] and client.job(J)["steps"] == 2
    sound(client)


# --- what has the id already --------------------------------------------------------------------------------------------
# For each promise with the id of the child: the status.
EXISTING = dict.fromkeys(AT, 409) | {
    "nothing": 200,
    "a job": 200,
    "its child": 200,
    "its final child": 200,
    "the child of another": 200,
}


@pytest.mark.parametrize("kind", EXISTING)
@pytest.mark.parametrize("version", [1, 2])
def test_each_kind_of_existing_id(client: JobClient, kind: str, version: int) -> None:
    """The same job is answered before the parent is asked; an existing job gets no other parent, and a promise is not adopted."""
    status = EXISTING[kind] if kind != "nothing" or version == 1 else 409
    running(client)
    put(client, kind, "j:k:x")
    before = rows_of(client.store)
    client.child("j:k:x", J, version, now=3).must(status)
    if kind != "nothing":
        assert rows_of(client.store) == before
    sound(client)


def test_another_job_of_that_id(client: JobClient) -> None:
    running(client)
    client.enqueue("c", now=1).must()
    client.child("c", J, now=2, type="other").must(409)


def test_a_step_may_become_a_job(client: JobClient) -> None:
    """Without a parent in the request, a pending step is adopted like any promise; it stays a child."""
    running(client)
    client.record("a", id=J, now=2).must()
    client.enqueue("j:a", now=3).must()
    assert ids(client) == ["a"] and client.job(J)["steps"] == 1 and client.state("j:a") == "pending"
    client.record({"id": "a", "state": "resolved"}, id=J, now=4).must()
    assert client.state("j:a") == "completed"
    sound(client)


@pytest.mark.parametrize("which", [{"id": "j:a"}, {"state": "pending"}], ids=["its id", "a filter"])
def test_a_step_that_became_a_job_and_is_deleted(client: JobClient, which: dict[str, str]) -> None:
    """Its job counts it no longer, so that it may be deleted itself."""
    running(client)
    client.record("a", id=J, now=2).must()
    client.enqueue("j:a", now=3).must()
    client.send("job.delete", which, 4).must()
    assert ids(client) == [] and "steps" not in client.job(J)
    sound(client)


# --- refusals -----------------------------------------------------------------------------------------------------------
# fmt: off
REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "no object": ({"parent": J}, 400),
    "no version": ({"parent": {"id": J}}, 400),
    "no id": ({"parent": {"version": 1}}, 400),
    "itself": ({"id": J, "parent": {"id": J, "version": 1}}, 400),
    "no job": ({"parent": {"id": "nobody", "version": 1}}, 409),
    "a promise": ({"parent": {"id": "plain", "version": 1}}, 409),
    "a stale version": ({"parent": {"id": J, "version": 2}}, 409),
    "a claimed job": ({"parent": {"id": "claimed", "version": 1}}, 409),
    "a job that does not run": ({"parent": {"id": "idle", "version": 0}}, 409),
    "a final job": ({"parent": {"id": "final", "version": 1}}, 409),
    "a key that is held": ({"uniqueKey": "k"}, 409),
    "no parent, and a key that is held": ({"uniqueKey": "k", "parent": {"id": "nobody", "version": 1}}, 409),
    "no parent, and an id that does not exist": ({"after": ["none"], "parent": {"id": "nobody", "version": 1}}, 409),
    "a stale version, and an id that does not exist": ({"after": ["none"], "parent": {"id": J, "version": 2}}, 409),
    "an id that does not exist": ({"after": ["none"]}, 422),
}
# fmt: on


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_changes_nothing(client: JobClient, name: str) -> None:
    data, status = REFUSED[name]
    running(client, "final")
    client.complete("final", now=1).must()
    running(client)
    client.create("plain", now=1).must()
    client.enqueue("claimed", now=1).must()
    client.claim(now=1).must()
    client.enqueue("idle", now=1, uniqueKey="k").must()
    before = rows_of(client.store)
    whole = {"id": "c", "queue": "mail", "type": "t", "parent": {"id": J, "version": 1}, **data}
    reply = client.send("job.enqueue", whole, 2)
    assert reply.status == status_in(client.version, status) and reply.data
    assert rows_of(client.store) == before


def test_a_parent_past_its_deadline(client: JobClient) -> None:
    running(client, deadline=50)
    client.child("c", J, now=50).must(409)
    assert client.state("c") == "absent"


def test_the_job_of_a_schedule_has_none(client: JobClient) -> None:
    running(client)
    for parent in ({"id": J, "version": 1}, {}):
        client.schedule("s", job={"type": "t", "parent": parent}, now=2).must(400)


# --- cancelling ---------------------------------------------------------------------------------------------------------
def test_a_cancellation_goes_down(client: JobClient) -> None:
    """To children of children too, one step each; a child without `cancelWithAwaiters` stays, with its own children."""
    running(client)
    client.record("step", id=J, now=1).must()
    for id, data in (("b", {}), ("a", {}), ("kept", {"cancelWithAwaiters": False})):
        client.child(id, J, now=2, **data).must()
    client.claim(3, now=3, start=3).must()
    client.child("a1", "a", now=4).must()
    client.child("kept1", "kept", now=4).must()
    cancel(client)
    states = {id: client.state(id) for id in ("a", "b", "a1", "kept", "kept1")}
    assert states == {"a": "cancelled", "b": "cancelled", "a1": "cancelled", "kept": "running", "kept1": "pending"}
    assert state_of(client, "j:step") == "pending"
    error = client.job("a1")["error"]
    assert error == {"code": "Cancelled", "message": 'the awaiter "a" was cancelled'}
    assert callbacks(client, "kept") == [J]
    complete_running(client, "kept", 11)
    sound(client)


def complete_running(client: JobClient, id: str, now: int) -> None:
    client.complete(id, client.job(id)["version"], now=now).must()


def test_the_steps_of_a_cancellation(client: JobClient) -> None:
    running(client)
    for id in ("b", "a", "over"):
        client.child(id, J, now=2).must()
    cancel(client, "over", 3)
    with_none = client.store.apply(
        {"kind": "job.cancel", "head": {"corrId": "1", "version": client.version}, "data": {"id": J}}, now=4
    )
    assert with_none["head"]["status"] == 200
    assert [client.state(id) for id in ("a", "b")] == ["cancelled", "cancelled"]
    assert [callbacks(client, id) for id in ("a", "b", "over")] == [[], [], []]


def test_never_back(client: JobClient) -> None:
    running(client)
    client.child("a", J, now=2).must()
    cancel(client, "a")
    assert client.state(J) == "running"
    sound(client)


@pytest.mark.parametrize("end", ["resolved", "rejected", "rejected_timedout"])
def test_only_a_cancellation_goes_down(client: JobClient, end: str) -> None:
    running(client, **({"deadline": 10} if end == "rejected_timedout" else {}))
    client.child("a", J, now=2).must()
    if end == "rejected_timedout":
        client.store.tick(10)
    else:
        client.settle(J, end, now=10).must()
    assert client.state("a") == "pending" and callbacks(client, "a") == [J]
    sound(client)


def test_settled_from_outside_as_cancelled(client: JobClient) -> None:
    running(client)
    client.child("a", J, now=2).must()
    client.settle(J, "rejected_canceled", now=10).must()
    assert client.state("a") == "cancelled"


def test_a_waiting_parent(client: JobClient) -> None:
    """It cancels its children, whether it lacks them or not, and nothing else that it lacks."""
    gates(client, "gate")
    client.enqueue("other", now=0, queue="q2").must()
    running(client)
    for id in ("a", "b"):
        client.child(id, J, now=2).must()
    client.wait_for("a", "gate", "other", id=J, now=3).must()
    cancel(client)
    assert [client.state(id) for id in ("a", "b", "other")] == ["cancelled", "cancelled", "pending"]
    assert state_of(client, "gate") == "pending" and callbacks(client, "gate") == [] and callbacks(client, "other") == []
    sound(client)


def test_another_awaiter_keeps_a_child(client: JobClient) -> None:
    """As long as it is pending itself."""
    running(client)
    client.child("a", J, now=2).must()
    client.enqueue("other", now=2, queue="q2", after=["a"]).must()
    cancel(client)
    assert client.state("a") == "pending" and callbacks(client, "a") == ["other"]
    sound(client)


@pytest.mark.parametrize("state", ["pending", "claimed", "retry", "archived", "scheduled"])
def test_from_each_state_of_the_parent(client: JobClient, state: str) -> None:
    running(client)
    client.child("a", J, now=2, queue="q2").must()
    moves: dict[str, Callable[[], Any]] = {
        "pending": lambda: (client.fail(J, now=3, retryAfter=0).must(), client.store.tick(3)),
        "claimed": lambda: (client.fail(J, now=3, retryAfter=0).must(), client.claim(now=3).must()),
        "retry": lambda: client.fail(J, now=3, retryAfter=HOUR).must(),
        "archived": lambda: client.fail(J, now=3, archive=True).must(),
        "scheduled": lambda: client.snooze(J, delay=HOUR, now=3).must(),
    }
    moves[state]()
    assert client.state(J) == state
    cancel(client)
    assert client.state("a") == "cancelled"
    sound(client)


def test_children_of_another_job_are_its_own(client: JobClient) -> None:
    running(client)
    another_job(client)
    client.child("a", "j:k", now=2).must()
    cancel(client)
    assert client.state("a") == "pending" and ids(client) == []
