"""What belongs to a job is kept and removed with it: children and messages (JOBS 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_steps import J, ids, running, state_of, step
from conformance.job_waits import complete, gates, kept_by, sound
from conformance.job_wire import JobClient
from conformance.wire import ADDRESS, V25, V26, rows_of

HOUR = 3_600_000


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def there(client: JobClient, *which: str) -> list[str]:
    """Those of the ids that exist."""
    return [id for id in which if client.get(id).status == 200]


def removals(steps: list[Any]) -> list[str]:
    return [step.id for step in steps if step.kind == "job_retention"]


# --- while the job is not final -----------------------------------------------------------------------------------------
def test_children_of_a_job_that_is_not_final_are_spared(client: JobClient) -> None:
    """By retention, delete and purge."""
    running(client)
    client.record({"id": "a", "state": "resolved"}, id=J, now=1).must()
    client.message("t", J, 1).must()
    client.child("c", J, now=1, retention=0).must()
    client.child("d", J, now=1).must()
    complete(client, "c", 2)
    complete(client, "d", 2)
    assert client.administer("delete", "d", now=3).must().data == {}
    client.store.clock.advance_to(5 * HOUR)
    assert client.store.purge(settled_before=5 * HOUR) == 0
    assert there(client, "j:a", "j:@t:#1", "c", "d") == ["j:a", "j:@t:#1", "c", "d"]
    client.complete(J, now=5 * HOUR).must()
    client.store.clock.advance(HOUR)
    assert there(client, "j:a", "j:@t:#1", "c", "d", J) == ["j:a", "j:@t:#1", J], "what was due goes once its parent is final"
    assert client.job(J)["steps"] == 1
    sound(client)


# Each state of the parent that is not final, from running.
STATES: dict[str, Callable[[JobClient], Any]] = {
    "running": lambda d: None,
    "retry": lambda d: d.fail(J, now=3, retryAfter=10 * HOUR).must(),
    "scheduled": lambda d: d.snooze(J, delay=10 * HOUR, now=3).must(),
    "archived": lambda d: d.fail(J, now=3, archive=True).must(),
    "waiting": lambda d: d.wait_for("gate", id=J, now=3).must(),
}


@pytest.mark.parametrize("state", STATES)
def test_in_each_state_that_is_not_final(client: JobClient, state: str) -> None:
    gates(client, "gate")
    running(client)
    client.child("c", J, now=1, retention=0).must()
    complete(client, "c", 2)
    STATES[state](client)
    client.store.clock.advance_to(5 * HOUR)
    assert (client.state(J), client.state("c")) == (state, "completed")
    client.administer("cancel", J, now=5 * HOUR).must()
    client.store.clock.advance(HOUR)
    assert client.state("c") == "absent" and "steps" not in client.job(J)
    sound(client)


# --- delete -------------------------------------------------------------------------------------------------------------
def test_delete_refuses_a_job_that_has_children(client: JobClient) -> None:
    running(client)
    step(client, "a")
    client.fail(J, now=2, archive=True).must()
    before = rows_of(client.store)
    client.administer("delete", J, now=3).must(409)
    assert rows_of(client.store) == before
    assert client.all_of("delete", state="archived", now=3) == 0
    client.administer("cancel", J, now=4).must()
    client.administer("delete", J, now=4).must()
    assert there(client, J, "j:a") == []
    sound(client)


def test_delete_takes_the_messages_along(client: JobClient) -> None:
    """A job that did not start has messages, but no children."""
    client.enqueue(J, now=0, processAt=HOUR).must()
    for n in range(3):
        client.message("t", J, 1 + n).must()
    client.administer("delete", J, now=5).must()
    assert there(client, J, *(f"j:@t:#{n}" for n in (1, 2, 3))) == []
    client.enqueue(J, now=6).must()
    assert client.message("t", J, 7).must()["promise"]["id"] == "j:@t:#1"
    sound(client)


def test_one_step_removes_one_row(client: JobClient) -> None:
    """By creation and id, what is below a child job before it, the job at last."""
    running(client)
    client.record({"id": "z", "state": "resolved"}, id=J, now=2).must()
    client.message("t", J, 3).must()
    client.child("c", J, now=4).must()
    client.record("b", {"id": "a", "state": "resolved"}, id=J, now=5).must()
    assert client.run_one("c", now=6) == 1
    client.message("t", "c", 7).must()
    client.record({"id": "x", "state": "resolved"}, id="c", now=8).must()
    client.child("g", "c", now=9).must()
    for id in ("g", "c", J):
        client.settle(id, now=10).must()
    clock = client.store.clock
    clock.advance_to(100)
    envelope = {"kind": "job.delete", "head": {"corrId": "1", "version": client.version}, "data": {"id": J}}
    assert client.store.apply(envelope, now=100)["head"]["status"] == 200
    assert there(client, "j:z", "j:@t:#1", "c:@t:#1", "c:x", "g", "c", "j:a", "j:b", J) == []
    sound(client)


def test_the_order_of_the_steps(client: JobClient) -> None:
    running(client, retention=90)
    client.record({"id": "z", "state": "resolved"}, id=J, now=2).must()
    client.message("t", J, 3).must()
    client.child("c", J, now=4).must()
    client.record("b", {"id": "a", "state": "resolved"}, id=J, now=5).must()
    assert client.run_one("c", now=6) == 1
    client.message("t", "c", 7).must()
    client.record({"id": "x", "state": "resolved"}, id="c", now=8).must()
    client.child("g", "c", now=9).must()
    for id in ("g", "c", J):
        client.settle(id, now=10).must()
    steps = client.store.clock.advance_to(100)
    assert [(one.kind, one.id, one.at, one.now) for one in steps] == [
        ("job_retention", id, 100, 100) for id in ("j:z", "j:@t:#1", "c:@t:#1", "c:x", "g", "c", "j:a", "j:b", J)
    ]
    assert client.store.next_due() is None
    sound(client)


def test_a_large_job_goes_in_parts(client: JobClient) -> None:
    """64 steps a request; the rest of it stays readable, and the count is right."""
    running(client)
    client.record(*({"id": f"{n:03}", "state": "resolved"} for n in range(150)), id=J, now=2).must()
    client.complete(J, now=3).must()
    client.administer("delete", J, now=4).must()
    assert client.job(J)["steps"] == 86 and ids(client)[0] == "064"
    client.enqueue("next", now=5).must()
    assert client.job(J)["steps"] == 22
    client.store.tick(6)
    assert there(client, J) == []
    sound(client)


# --- what prevents it ---------------------------------------------------------------------------------------------------
# What prevents the removal of a completed job, and what ends that.
# fmt: off
PREVENTS: dict[str, tuple[Callable[[JobClient], Any], Callable[[JobClient], Any]]] = {
    "a child job that is not final": (lambda d: d.child("c", J, now=2), lambda d: d.administer("cancel", "c")),
    "a grandchild that is not final": (
        lambda d: (d.child("c", J, now=2), d.run_one("c", now=2), d.child("g", "c", now=2), d.complete("c", now=2)),
        lambda d: d.administer("cancel", "g"),
    ),
    "a listener of a pending step": (
        lambda d: d.listen("j:b", now=2), lambda d: (d.settle("j:b"), d.store.take_messages())
    ),
    "a message about a step": (
        lambda d: (d.listen("j:b", now=2), d.settle("j:b", now=2)), lambda d: d.store.take_messages()
    ),
    "a task that waits for a step": (
        lambda d: (d.task_create("w", now=2), d.suspend("w", 0 if d.version == V25 else 1, "j:b", now=2)),
        lambda d: (d.settle("j:b"), d.settle("w")),
    ),
    "a task that was woken by a step": (
        lambda d: (d.task_create("w", now=2), d.suspend("w", 0 if d.version == V25 else 1, "j:b", now=2), d.settle("j:b", now=2)),
        lambda d: d.settle("w"),
    ),
    "a keeper of a step": (
        lambda d: (d.enqueue("k", now=2, after=["j:b"], afterFailed="run"), d.settle("j:b", now=2)),
        lambda d: d.administer("cancel", "k"),
    ),
    "a step that became a job": (lambda d: d.enqueue("j:b", now=2), lambda d: d.administer("cancel", "j:b")),
    "a keeper of a child job": (
        lambda d: (d.child("c", J, now=2), d.enqueue("k", now=2, after=["c"], afterFailed="run"), d.administer("cancel", "c", now=2)),
        lambda d: d.administer("cancel", "k"),
    ),
    "a keeper of the job": (
        lambda d: d.enqueue("k", now=2, after=[J], afterFailed="run"), lambda d: d.administer("cancel", "k")
    ),
}
# fmt: on


@pytest.mark.parametrize("name", PREVENTS)
def test_what_prevents_it(client: JobClient, name: str) -> None:
    """The job is there until then; it is asked again later."""
    begins, ends = PREVENTS[name]
    running(client, retention=1_000)
    client.record("b", id=J, now=2).must()
    begins(client)
    client.complete(J, now=3).must()
    client.store.clock.advance_to(4)
    assert there(client, J, "j:b") == [J, "j:b"]
    assert removals(client.store.clock.advance_to(1_500)) == [] and there(client, J, "j:b") == [J, "j:b"], "it is put off"
    ends(client)
    client.store.clock.advance(3 * HOUR)
    assert there(client, J, "j:b", "c", "g") == []
    sound(client)


def test_a_pending_step_goes_with_its_job(client: JobClient) -> None:
    """Even a call that a worker holds."""
    running(client, retention=100)
    step(client, "a")
    step(client, "call", tags={"resonate:target": ADDRESS})
    client.store.take_messages()
    client.acquire("j:call", now=2, ttl=HOUR).must()
    client.complete(J, now=3).must()
    assert removals(client.store.clock.advance_to(200)) == ["j:a", "j:call", J]
    assert client.store.next_due() is None
    sound(client)


# --- purge --------------------------------------------------------------------------------------------------------------
def test_purge_removes_a_job_with_what_belongs_to_it(client: JobClient) -> None:
    running(client)
    client.record({"id": "a", "state": "resolved"}, "b", id=J, now=2).must()
    client.message("t", J, 2).must()
    client.child("c", J, now=2).must()
    client.administer("cancel", "c", now=2).must()
    client.complete(J, now=3).must()
    clock = client.store.clock
    clock.advance_to(100)
    client.store.purge(settled_before=3)
    assert there(client, J, "j:a", "j:b", "j:@t:#1", "c") == [J, "j:a", "j:b", "j:@t:#1", "c"], "no child without its parent"
    client.store.purge(settled_before=4)
    assert there(client, J, "j:a", "j:b", "j:@t:#1", "c") == []
    assert clock.advance_to(200) == []
    sound(client)


def test_purge_leaves_a_job_whose_child_is_not_final(client: JobClient) -> None:
    running(client)
    step(client, "a", "resolved")
    client.child("c", J, now=2).must()
    client.complete(J, now=3).must()
    client.store.clock.advance_to(100)
    client.store.purge(settled_before=100)
    assert there(client, J, "j:a", "c") == [J, "j:a", "c"]
    client.administer("cancel", "c", now=101).must()
    client.store.clock.advance(HOUR)
    client.store.purge(settled_before=client.store.now)
    client.store.clock.advance(HOUR)
    assert there(client, J, "j:a", "c") == []
    sound(client)


def test_purge_takes_a_job_without_children_at_once(client: JobClient) -> None:
    client.enqueue(J, now=0, lifecycle="workflow").must()
    client.complete(J, client.run_one(J, now=1), now=1).must()
    client.store.clock.advance_to(100)
    assert client.store.purge(settled_before=2) == 1 and there(client, J) == []


# --- the first instant --------------------------------------------------------------------------------------------------
# fmt: off
YOUNG: dict[str, tuple[dict[str, Any], Callable[[JobClient], Any], int]] = {
    "a job": ({}, lambda d: None, 5),
    "a workflow": ({"lifecycle": "workflow"}, lambda d: None, 6),
    "a job with a step": ({}, lambda d: d.record("a", id=J, now=5).must(), 6),
    "a job with a message": ({}, lambda d: d.message("t", J, 5).must(), 6),
    "a job with a child": ({}, lambda d: (d.child("c", J, now=5, queue="q2").must(), d.administer("cancel", "c", now=5).must()), 6),
}
# fmt: on


@pytest.mark.parametrize("name", YOUNG)
@pytest.mark.parametrize("by", ["retention", "delete"])
def test_a_workflow_lives_for_a_millisecond(client: JobClient, name: str, by: str) -> None:
    """So that `createdAt` tells it apart from the next one with its id."""
    members, begins, at = YOUNG[name]
    running(client, now=5, **members, **({"retention": 0} if by == "retention" else {}))
    begins(client)
    client.complete(J, now=5).must()
    if by == "delete":
        client.administer("delete", J, now=5).must()
    client.store.tick(5)
    assert (client.state(J) == "absent") == (at == 5)
    client.store.tick(6)
    assert client.state(J) == "absent"
    client.enqueue(J, now=6, **members).must()
    assert client.job(J)["createdAt"] == 6
    sound(client)


def test_kept_by_a_parent_that_waited(client: JobClient) -> None:
    """A parent keeps its child without being one of those that waited for it; both go together."""
    running(client, retention=0)
    client.child("c", J, now=1, retention=0).must()
    client.wait_for("c", id=J, now=2).must()
    complete(client, "c", 3)
    assert kept_by(client, "c") == []
    client.complete(J, client.run_one(J, now=4), now=4).must()
    client.store.clock.advance(HOUR)
    assert there(client, J, "c") == []
    assert state_of(client, J) == "absent"
    sound(client)
