"""Workflows and listeners that wait for a job: they are notified when it is settled, and not before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_wire import JOB, JobClient
from conformance.wire import LISTENER, V25, V26, executes, forget_messages, unblocks

X = {"data": "eA=="}
WORKFLOW = "workflow"


def waiting(client: JobClient, **options: Any) -> None:
    """Creates the job, a workflow that is suspended on it, and a listener."""
    client.enqueue(now=0, **options).must()
    client.task_create(WORKFLOW, ttl=10**6, now=0).must()
    client.suspend(WORKFLOW, 1 if client.version == V26 else 0, JOB, now=1).must()
    client.listen(JOB, now=1).must()
    forget_messages(client.store)


def woken(client: JobClient) -> bool:
    """Whether the workflow and the listener were notified; fails if only one of them was, or one twice."""
    sent, seen = executes(client.store, WORKFLOW), unblocks(client.store)
    if not sent and not seen:
        assert client.store.snapshot() is not None
        return False
    assert [task for _, task, _ in sent] == [WORKFLOW]
    assert [(id, address) for _, id, address in seen] == [(JOB, LISTENER)]
    return True


def _running(client: JobClient) -> int:
    return client.run_one(now=10)


# For each way in which a job ends: how it is enqueued, the requests that end it, and the state of its promise.
ENDS: dict[str, tuple[dict[str, Any], Callable[[JobClient], Any], str]] = {
    "completed": ({}, lambda d: d.complete(version=_running(d), now=20, result=X).must(), "resolved"),
    "failed": ({"onExhausted": "failed"}, lambda d: d.fail(version=_running(d), now=20, retryable=False).must(), "rejected"),
    "crashed for good": ({"onExhausted": "failed", "maxRetries": 0}, lambda d: (_running(d), d.store.tick(10**5)), "rejected"),
    "cancelled": ({}, lambda d: d.administer("cancel", now=20).must(), "rejected_canceled"),
    "cancelled while it runs": ({}, lambda d: (_running(d), d.administer("cancel", now=20).must()), "rejected_canceled"),
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
    client = JobClient(store, version)
    options, bring_about, state = ENDS[end]
    waiting(client, **options)
    assert not woken(client)
    bring_about(client)
    assert woken(client)
    promise = client.get(JOB).must()["promise"]
    assert promise["state"] == state
    (message,) = [m["message"] for m in store.take_messages() if m["address"] == LISTENER]
    assert message["data"]["promise"]["state"] == state and message["data"]["promise"]["id"] == JOB
    assert store.check() == []


@pytest.mark.parametrize("version", [V26, V25])
def test_what_is_no_end_wakes_nobody(store: Any, version: str) -> None:
    """A claim, a retry, a snooze and an archive notify neither the workflow nor the listener."""
    client = JobClient(store, version)
    waiting(client, maxRetries=1, retryPolicy={"kind": "fixed", "intervals": [5]})
    client.claim(now=10).must()
    client.give_back(now=11).must()
    client.run_one(now=12)
    client.snooze(version=2, delay=3, now=13).must()
    client.run_one(now=16)
    client.fail(version=3, now=17).must()
    client.run_one(now=22)
    assert client.fail(version=4, now=23).must()["job"]["state"] == "archived"
    store.tick(10_000)
    assert not woken(client)
    client.administer("run", now=10_001).must()
    client.administer("archive", now=10_002).must()
    client.administer("run", now=10_003).must()
    assert not woken(client)
    client.complete(version=client.run_one(now=10_004), now=10_005, result=X).must()
    assert woken(client)
    assert client.get(JOB).must()["promise"]["value"]["data"] == X["data"]


def test_who_comes_late_is_sent_on_at_once(store: Any) -> None:
    client = JobClient(store)
    client.enqueue(now=0).must()
    client.complete(version=client.run_one(now=0), now=1).must()
    client.task_create(WORKFLOW, now=2).must()
    assert client.suspend(WORKFLOW, 1, JOB, now=3).status == 300
    client.listen(JOB, now=4).must()
    assert unblocks(store) == []


def test_a_workflow_that_waits_for_two_jobs(store: Any) -> None:
    client = JobClient(store)
    for id in ("a", "b"):
        client.enqueue(id, now=0, retention=0).must()
    client.task_create(WORKFLOW, ttl=10**6, now=0).must()
    client.suspend(WORKFLOW, 1, "a", "b", now=1).must()
    client.complete("a", client.run_one("a", now=2), now=2).must()
    assert [task for _, task, _ in executes(store)] == [WORKFLOW]
    client.acquire(WORKFLOW, 1, ttl=10**6, now=3).must()
    assert client.suspend(WORKFLOW, 2, "a", "b", now=4).status == 300, "what it wants to know is still there"
    assert client.suspend(WORKFLOW, 2, "b", now=5).status == 200
    client.complete("b", client.run_one("b", now=6), now=6).must()
    client.acquire(WORKFLOW, 2, now=7).must()
    client.fulfill(WORKFLOW, 3, now=8).must()
    store.clock.advance_to(10**8)
    assert (client.state("a"), client.state("b")) == ("absent", "absent") and store.check() == []


def test_the_messages_of_a_job_that_is_deleted_after_they_went(store: Any) -> None:
    """A job is kept while the workflow that awaits it has not ended; a message that was taken does not keep it."""
    client = JobClient(store)
    waiting(client)
    client.administer("cancel", now=20).must()
    client.administer("delete", now=21).must()
    assert woken(client)
    assert client.state() == "cancelled", "the workflow has not read it yet"
    store.take_messages()
    client.acquire(WORKFLOW, 1, now=30).must()
    client.fulfill(WORKFLOW, 2, now=31).must()
    store.clock.advance(3_600_001)
    assert client.state() == "absent"
