"""Asynq's documented example, to the millisecond: a task in 24 hours, a task at once, a task that is kept for two hours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance import job_policies
from conformance.job_wire import ASYNQ_STATES, JobClient, assert_states_agree, assert_typed

HOUR = 3_600_000
DAY = 24 * HOUR
T0 = 1_764_547_200_000
TASKS = ("task1", "task2", "task3")


@pytest.fixture
def client(make_store: Callable[..., Any], clock_type: Any) -> JobClient:
    """A store with the three tasks in an asynq queue."""
    client = JobClient(make_store(clock=clock_type(T0)))
    client.queue("set", "default", lifecycle="asynq")
    for id, options in (("task1", {"processIn": DAY}), ("task2", {}), ("task3", {"retention": 2 * HOUR})):
        client.enqueue(id, queue="default", **options).must()
    return client


def shown(client: JobClient) -> dict[str, str]:
    """Each task's state by asynq's name, without deleted tasks."""
    states = {id: client.state(id) for id in TASKS}
    for id, state in states.items():
        if state != "absent":
            assert_typed(client, id, asynq_state=ASYNQ_STATES[state])
            assert_states_agree(client, id)
    return {id: ASYNQ_STATES[state] for id, state in states.items() if state != "absent"}


def claim(client: JobClient, count: int = 1) -> list[dict[str, Any]]:
    """Claims as asynq's dequeue does: the tasks are active at once."""
    jobs: list[dict[str, Any]] = client.claim(count, ["default"], lease=30_000).must()["jobs"]
    now = client.store.now
    for job in jobs:
        assert (job["state"], job["claimedAt"], job["startedAt"], job["leaseUntil"]) == ("running", now, now, now + 30_000)
        assert job["attempts"][-1] == {"number": job["version"], "worker": "w1", "startedAt": now}
    return jobs


def fired(steps: list[Any]) -> list[tuple[str, str, int]]:
    """Kind, task and instant of each step, in ms after T0."""
    return [(step.kind, step.id, step.at - T0) for step in steps]


def test_what_the_client_enqueued(client: JobClient) -> None:
    common = {
        "queue": "default",
        "type": "email:send",
        "payload": {},
        "tags": {},
        "priority": 50,
        "version": 0,
        "maxRetries": 25,
        "retryCount": 0,
        "retryPolicy": {"kind": "asynq"},
        "onExhausted": "archived",
        "retention": 0,
        "attempts": [],
        "createdAt": T0,
        "sentAt": T0,
    }
    assert client.job("task1") == {**common, "id": "task1", "state": "scheduled", "processAt": T0 + DAY}
    assert client.job("task2") == {**common, "id": "task2", "state": "pending", "enqueuedAt": T0}
    assert client.job("task3") == {**common, "id": "task3", "state": "pending", "enqueuedAt": T0, "retention": 2 * HOUR}
    assert shown(client) == {"task1": "scheduled", "task2": "pending", "task3": "pending"}


def test_all_three_succeed(client: JobClient) -> None:
    clock = client.store.clock
    assert [job["id"] for job in claim(client, 5)] == ["task2", "task3"]
    assert shown(client) == {"task1": "scheduled", "task2": "active", "task3": "active"}

    clock.advance(120)
    job = client.complete("task2").must()["job"]
    assert (job["state"], job["completedAt"]) == ("completed", T0 + 120)
    assert job["attempts"] == [{"number": 1, "worker": "w1", "startedAt": T0, "finishedAt": T0 + 120, "outcome": "completed"}]
    assert shown(client) == {"task1": "scheduled", "task3": "active"}, "without retention it is deleted at once"
    client.get("task2").must(404)

    clock.advance(130)
    assert client.complete("task3").must()["job"]["completedAt"] == T0 + 250
    done = T0 + 250 + 2 * HOUR
    assert fired(clock.advance_to(done - 1)) == []
    assert shown(client) == {"task1": "scheduled", "task3": "completed"}
    assert fired(clock.advance_to(done)) == [("job_retention", "task3", 250 + 2 * HOUR)]
    assert shown(client) == {"task1": "scheduled"}

    assert fired(clock.advance_to(T0 + DAY - 1)) == [] and claim(client) == []
    assert fired(clock.advance_to(T0 + DAY)) == [("job_ready", "task1", DAY)]
    assert shown(client) == {"task1": "pending"}
    assert client.job("task1")["enqueuedAt"] == T0 + DAY and client.job("task1")["sentAt"] == T0
    assert [job["id"] for job in claim(client)] == ["task1"]
    assert shown(client) == {"task1": "active"}
    clock.advance(7)
    client.complete("task1").must()
    assert shown(client) == {}
    assert client.store.snapshot()["promises"] == [] and client.store.check() == []


def test_the_first_fails_until_it_is_archived_and_a_person_runs_it_again(client: JobClient) -> None:
    """25 retries with asynq's backoff, each attempt one second long; the 26th failure archives the task, attempt 27 ends it."""
    clock = client.store.clock
    for task in claim(client, 2):
        client.complete(task["id"]).must()
    clock.advance_to(T0 + DAY)
    at = T0 + DAY
    for n in range(26):
        (job,) = claim(client)
        assert (job["id"], job["version"], job["enqueuedAt"], job["retryCount"]) == ("task1", n + 1, at, n)
        assert shown(client)["task1"] == "active"
        clock.advance(1_000)
        failed = client.fail("task1", n + 1).must()["job"]
        assert failed["attempts"][-1] == {
            "number": n + 1,
            "worker": "w1",
            "startedAt": at,
            "finishedAt": at + 1_000,
            "outcome": "failed",
            "error": {"code": "Boom", "message": "it broke"},
        }
        if n == 25:
            break
        assert failed["nextRetryAt"] == at + 1_000 + job_policies.asynq("task1", n)
        assert shown(client)["task1"] == "retry"
        clock.advance_to(failed["nextRetryAt"] - 1)
        assert shown(client)["task1"] == "retry" and claim(client) == []
        at = failed["nextRetryAt"]
        assert fired(clock.advance_to(at)) == [("job_ready", "task1", at - T0)]
        assert shown(client)["task1"] == "pending"
    assert shown(client)["task1"] == "archived" and failed["failedAt"] == at + 1_000
    assert len(failed["attempts"]) == 26
    assert client.get("task1").must()["promise"]["state"] == "pending", "whoever awaits it goes on waiting"

    assert fired(clock.advance(90 * DAY)) == []
    again = client.administer("run", "task1").must()["job"]
    assert (again["state"], again["enqueuedAt"], again["retryCount"]) == ("pending", client.store.now, 25)
    assert shown(client)["task1"] == "pending"
    (job,) = claim(client)
    assert (job["version"], len(job["attempts"])) == (27, 27)
    done = client.complete("task1", 27, result={"data": "b2s="}).must()["job"]
    assert done["result"] == {"data": "b2s="} and "error" not in done and "failedAt" not in done
    assert "task1" not in shown(client)


def test_an_irreversible_error_archives_at_once(client: JobClient) -> None:
    """Asynq's name for this is SkipRetry."""
    claim(client, 2)
    job = client.fail("task2", retryable=False).must()["job"]
    assert (job["state"], job["retryCount"]) == ("archived", 0)
    assert shown(client)["task2"] == "archived"


def test_a_crashed_worker_costs_a_retry(client: JobClient) -> None:
    """The worker's lease expires; asynq's recoverer would put the task into retry."""
    clock = client.store.clock
    claim(client, 2)
    ends = T0 + 30_000
    assert fired(clock.advance_to(ends)) == [("job_lease", "task2", 30_000), ("job_lease", "task3", 30_000)]
    for id in ("task2", "task3"):
        job = client.job(id)
        assert (job["state"], job["retryCount"], job["error"]["code"]) == ("retry", 1, "WorkerCrashed")
        assert job["nextRetryAt"] == ends + job_policies.asynq(id, 0)
        assert (job["attempts"][0]["outcome"], job["attempts"][0]["finishedAt"]) == ("crashed", ends)
    client.complete("task2").must(409)
