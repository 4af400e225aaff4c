"""Workflows and listeners that wait for a job: they are notified when it is settled, and not before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_wire import JOB, JobDoor
from conformance.wire import LISTENER, V25, V26, executes, forget_messages, unblocks

X = {"data": "eA=="}
WORKFLOW = "workflow"


def waiting(door: JobDoor, **options: Any) -> None:
    """Creates the job, a workflow that is suspended on it, and a listener."""
    door.enqueue(now=0, **options).must()
    door.task_create(WORKFLOW, ttl=10**6, now=0).must()
    door.suspend(WORKFLOW, 1 if door.version == V26 else 0, JOB, now=1).must()
    door.listen(JOB, now=1).must()
    forget_messages(door.store)


def woken(door: JobDoor) -> bool:
    """Whether the workflow and the listener were notified; fails if only one of them was, or one twice."""
    sent, told = executes(door.store, WORKFLOW), unblocks(door.store)
    if not sent and not told:
        assert door.store.snapshot() is not None
        return False
    assert [task for _, task, _ in sent] == [WORKFLOW]
    assert [(id, address) for _, id, address in told] == [(JOB, LISTENER)]
    return True


def _running(door: JobDoor) -> int:
    return door.run_one(now=10)


# For each way in which a job ends: how it is enqueued, the requests that end it, and the state of its promise.
ENDS: dict[str, tuple[dict[str, Any], Callable[[JobDoor], Any], str]] = {
    "completed": ({}, lambda d: d.complete(version=_running(d), now=20, result=X).must(), "resolved"),
    "failed": ({"onExhausted": "failed"}, lambda d: d.fail(version=_running(d), now=20, retryable=False).must(), "rejected"),
    "crashed for good": ({"onExhausted": "failed", "maxRetries": 0}, lambda d: (_running(d), d.store.tick(10**5)), "rejected"),
    "cancelled": ({}, lambda d: d.by_hand("cancel", now=20).must(), "rejected_canceled"),
    "cancelled while it runs": ({}, lambda d: (_running(d), d.by_hand("cancel", now=20).must()), "rejected_canceled"),
    "cancelled by a filter": ({"tags": {"a": "b"}}, lambda d: d.all_of("cancel", now=20, tags={"a": "b"}), "rejected_canceled"),
    "expired": ({"goodUntil": 20}, lambda d: d.store.tick(25), "rejected"),
    "expired while it is claimed": ({"goodUntil": 20}, lambda d: (d.claim(now=10).must(), d.store.tick(25)), "rejected"),
    "past its deadline": ({"deadline": 20}, lambda d: d.store.tick(25), "rejected_timedout"),
    "past its deadline while it runs": ({"deadline": 20}, lambda d: (_running(d), d.store.tick(25)), "rejected_timedout"),
    "settled from outside": ({}, lambda d: d.settle(JOB, now=20).must(), "resolved"),
    "completed without retention": ({"retention": 0}, lambda d: d.complete(version=_running(d), now=20).must(), "resolved"),
}


@pytest.mark.parametrize("version", [V26, V25])
@pytest.mark.parametrize("end", ENDS)
def test_every_end_wakes_who_waits(store: Any, end: str, version: str) -> None:
    door = JobDoor(store, version)
    options, bring_about, state = ENDS[end]
    waiting(door, **options)
    assert not woken(door)
    bring_about(door)
    assert woken(door)
    promise = door.get(JOB).must()["promise"]
    assert promise["state"] == state
    (message,) = [m["message"] for m in store.take_messages() if m["address"] == LISTENER]
    assert message["data"]["promise"]["state"] == state and message["data"]["promise"]["id"] == JOB
    assert store.check() == []


@pytest.mark.parametrize("version", [V26, V25])
def test_what_is_no_end_wakes_nobody(store: Any, version: str) -> None:
    """A claim, a retry, a snooze and an archive notify neither the workflow nor the listener."""
    door = JobDoor(store, version)
    waiting(door, maxRetries=1, retryPolicy={"kind": "fixed", "intervals": [5]})
    door.claim(now=10).must()
    door.give_back(now=11).must()
    door.run_one(now=12)
    door.snooze(version=2, delay=3, now=13).must()
    door.run_one(now=16)
    door.fail(version=3, now=17).must()
    door.run_one(now=22)
    assert door.fail(version=4, now=23).must()["job"]["state"] == "archived"
    store.tick(10_000)
    assert not woken(door)
    door.by_hand("run", now=10_001).must()
    door.by_hand("archive", now=10_002).must()
    door.by_hand("run", now=10_003).must()
    assert not woken(door)
    door.complete(version=door.run_one(now=10_004), now=10_005, result=X).must()
    assert woken(door)
    assert door.get(JOB).must()["promise"]["value"]["data"] == X["data"]


def test_who_comes_late_is_sent_on_at_once(store: Any) -> None:
    door = JobDoor(store)
    door.enqueue(now=0).must()
    door.complete(version=door.run_one(now=0), now=1).must()
    door.task_create(WORKFLOW, now=2).must()
    assert door.suspend(WORKFLOW, 1, JOB, now=3).status == 300
    door.listen(JOB, now=4).must()
    assert unblocks(store) == []


def test_a_workflow_that_waits_for_two_jobs(store: Any) -> None:
    door = JobDoor(store)
    for id in ("a", "b"):
        door.enqueue(id, now=0, retention=0).must()
    door.task_create(WORKFLOW, ttl=10**6, now=0).must()
    door.suspend(WORKFLOW, 1, "a", "b", now=1).must()
    door.complete("a", door.run_one("a", now=2), now=2).must()
    assert [task for _, task, _ in executes(store)] == [WORKFLOW]
    door.acquire(WORKFLOW, 1, ttl=10**6, now=3).must()
    assert door.suspend(WORKFLOW, 2, "a", "b", now=4).status == 300, "what it wants to know is still there"
    assert door.suspend(WORKFLOW, 2, "b", now=5).status == 200
    door.complete("b", door.run_one("b", now=6), now=6).must()
    door.acquire(WORKFLOW, 2, now=7).must()
    door.fulfill(WORKFLOW, 3, now=8).must()
    store.clock.advance_to(10**8)
    assert (door.state("a"), door.state("b")) == ("absent", "absent") and store.check() == []


def test_the_messages_of_a_job_that_is_deleted_after_they_went(store: Any) -> None:
    """A job is kept while the workflow that awaits it has not ended; a message that was taken does not keep it."""
    door = JobDoor(store)
    waiting(door)
    door.by_hand("cancel", now=20).must()
    door.by_hand("delete", now=21).must()
    assert woken(door)
    assert door.state() == "cancelled", "the workflow has not read it yet"
    store.take_messages()
    door.acquire(WORKFLOW, 1, now=30).must()
    door.fulfill(WORKFLOW, 2, now=31).must()
    store.clock.advance(3_600_001)
    assert door.state() == "absent"
