"""Asynq's documented example, to the millisecond: a task in 24 hours, a task at once, a task that is kept for two hours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from backends import SUBJECT
from conformance import job_policies
from conformance.job_wire import ASYNQ_STATES, JobDoor, agreed

HOUR = 3_600_000
DAY = 24 * HOUR
T0 = 1_764_547_200_000
TASKS = ("task1", "task2", "task3")


@pytest.fixture
def door(make_store: Callable[..., Any], clock_type: Any) -> JobDoor:
    """A store with the three tasks in an asynq queue."""
    door = JobDoor(make_store(clock=clock_type(T0)))
    door.queue("set", "default", lifecycle="asynq")
    for id, options in (("task1", {"processIn": DAY}), ("task2", {}), ("task3", {"retention": 2 * HOUR})):
        door.enqueue(id, queue="default", **options).must()
    return door


def shown(door: JobDoor) -> dict[str, str]:
    """Each task's state by asynq's name, without deleted tasks."""
    states = {id: door.state(id) for id in TASKS}
    for id, state in states.items():
        if state != "absent":
            assert SUBJECT == "reference" or door.store.jobs.get(id).asynq_state == ASYNQ_STATES[state]
            agreed(door, id)
    return {id: ASYNQ_STATES[state] for id, state in states.items() if state != "absent"}


def claim(door: JobDoor, count: int = 1) -> list[dict[str, Any]]:
    """Claims as asynq's dequeue does: the tasks are active at once."""
    jobs: list[dict[str, Any]] = door.claim(count, ["default"], lease=30_000).must()["jobs"]
    now = door.store.now
    for job in jobs:
        assert (job["state"], job["claimedAt"], job["startedAt"], job["leaseUntil"]) == ("running", now, now, now + 30_000)
        assert job["attempts"][-1] == {"number": job["version"], "worker": "w1", "startedAt": now}
    return jobs


def fired(steps: list[Any]) -> list[tuple[str, str, int]]:
    """Kind, task and instant of each step, in ms after T0."""
    return [(step.kind, step.id, step.at - T0) for step in steps]


def test_what_the_client_enqueued(door: JobDoor) -> None:
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
        "sentAt": T0,
    }
    assert door.job("task1") == {**common, "id": "task1", "state": "scheduled", "processAt": T0 + DAY}
    assert door.job("task2") == {**common, "id": "task2", "state": "pending", "enqueuedAt": T0}
    assert door.job("task3") == {**common, "id": "task3", "state": "pending", "enqueuedAt": T0, "retention": 2 * HOUR}
    assert shown(door) == {"task1": "scheduled", "task2": "pending", "task3": "pending"}


def test_all_three_succeed(door: JobDoor) -> None:
    clock = door.store.clock
    assert [job["id"] for job in claim(door, 5)] == ["task2", "task3"]
    assert shown(door) == {"task1": "scheduled", "task2": "active", "task3": "active"}

    clock.advance(120)
    job = door.complete("task2").must()["job"]
    assert (job["state"], job["completedAt"]) == ("completed", T0 + 120)
    assert job["attempts"] == [{"number": 1, "worker": "w1", "startedAt": T0, "finishedAt": T0 + 120, "outcome": "completed"}]
    assert shown(door) == {"task1": "scheduled", "task3": "active"}, "without retention it is deleted at once"
    door.get("task2").must(404)

    clock.advance(130)
    assert door.complete("task3").must()["job"]["completedAt"] == T0 + 250
    done = T0 + 250 + 2 * HOUR
    assert fired(clock.advance_to(done - 1)) == []
    assert shown(door) == {"task1": "scheduled", "task3": "completed"}
    assert fired(clock.advance_to(done)) == [("job_retention", "task3", 250 + 2 * HOUR)]
    assert shown(door) == {"task1": "scheduled"}

    assert fired(clock.advance_to(T0 + DAY - 1)) == [] and claim(door) == []
    assert fired(clock.advance_to(T0 + DAY)) == [("job_ready", "task1", DAY)]
    assert shown(door) == {"task1": "pending"}
    assert door.job("task1")["enqueuedAt"] == T0 + DAY and door.job("task1")["sentAt"] == T0
    assert [job["id"] for job in claim(door)] == ["task1"]
    assert shown(door) == {"task1": "active"}
    clock.advance(7)
    door.complete("task1").must()
    assert shown(door) == {}
    assert door.store.snapshot()["promises"] == [] and door.store.check() == []


def test_the_first_fails_until_it_is_archived_and_a_person_runs_it_again(door: JobDoor) -> None:
    """25 retries with asynq's backoff, each attempt one second long; the 26th failure archives the task, attempt 27 ends it."""
    clock = door.store.clock
    for task in claim(door, 2):
        door.complete(task["id"]).must()
    clock.advance_to(T0 + DAY)
    at = T0 + DAY
    for n in range(26):
        (job,) = claim(door)
        assert (job["id"], job["version"], job["enqueuedAt"], job["retryCount"]) == ("task1", n + 1, at, n)
        assert shown(door)["task1"] == "active"
        clock.advance(1_000)
        failed = door.fail("task1", n + 1).must()["job"]
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
        assert shown(door)["task1"] == "retry"
        clock.advance_to(failed["nextRetryAt"] - 1)
        assert shown(door)["task1"] == "retry" and claim(door) == []
        at = failed["nextRetryAt"]
        assert fired(clock.advance_to(at)) == [("job_ready", "task1", at - T0)]
        assert shown(door)["task1"] == "pending"
    assert shown(door)["task1"] == "archived" and failed["failedAt"] == at + 1_000
    assert len(failed["attempts"]) == 26
    assert door.get("task1").must()["promise"]["state"] == "pending", "whoever awaits it goes on waiting"

    assert fired(clock.advance(90 * DAY)) == []
    again = door.by_hand("run", "task1").must()["job"]
    assert (again["state"], again["enqueuedAt"], again["retryCount"]) == ("pending", door.store.now, 25)
    assert shown(door)["task1"] == "pending"
    (job,) = claim(door)
    assert (job["version"], len(job["attempts"])) == (27, 27)
    done = door.complete("task1", 27, result={"data": "b2s="}).must()["job"]
    assert done["result"] == {"data": "b2s="} and "error" not in done and "failedAt" not in done
    assert "task1" not in shown(door)


def test_an_irreversible_error_archives_at_once(door: JobDoor) -> None:
    """Asynq's name for this is SkipRetry."""
    claim(door, 2)
    job = door.fail("task2", retryable=False).must()["job"]
    assert (job["state"], job["retryCount"]) == ("archived", 0)
    assert shown(door)["task2"] == "archived"


def test_a_crashed_worker_costs_a_retry(door: JobDoor) -> None:
    """The worker's lease expires; asynq's recoverer would put the task into retry."""
    clock = door.store.clock
    claim(door, 2)
    ends = T0 + 30_000
    assert fired(clock.advance_to(ends)) == [("job_lease", "task2", 30_000), ("job_lease", "task3", 30_000)]
    for id in ("task2", "task3"):
        job = door.job(id)
        assert (job["state"], job["retryCount"], job["error"]["code"]) == ("retry", 1, "WorkerCrashed")
        assert job["nextRetryAt"] == ends + job_policies.asynq(id, 0)
        assert (job["attempts"][0]["outcome"], job["attempts"][0]["finishedAt"]) == ("crashed", ends)
    door.complete("task2").must(409)
