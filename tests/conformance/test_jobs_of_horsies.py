"""Horsies' documented lifecycle, to the millisecond: each transition with the instants that it sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from backends import SUBJECT
from conformance.job_wire import HORSIES_STATES, JobDoor, agreed, encoded_error
from conformance.wire import Reply

MINUTE = 60_000
T0 = 1_764_547_200_000
CLAIM, RUN = 5_000, 20_000
"""The leases of the claimer and of the runner."""
ERROR = {"code": "CardDeclined", "message": "no money", "data": "bzI="}


@pytest.fixture
def door(make_store: Callable[..., Any], clock_type: Any) -> JobDoor:
    """A store with one horsies queue."""
    door = JobDoor(make_store(clock=clock_type(T0)))
    door.queue("set", "default", lifecycle="horsies")
    return door


def send(door: JobDoor, **data: Any) -> dict[str, Any]:
    """Enqueues as horsies' `.send()` does."""
    job: dict[str, Any] = door.enqueue("t", queue="default", type="charge", **data).must()["job"]
    return job


def claim(door: JobDoor, worker: str = "w1") -> list[dict[str, Any]]:
    """Claims as horsies' claim query does."""
    jobs: list[dict[str, Any]] = door.claim(1, ["default"], worker, CLAIM, runLease=RUN).must()["jobs"]
    return jobs


def start(door: JobDoor, version: int = 1, now: int | None = None) -> Reply:
    """Starts the task as horsies' dispatch does; from now on the runner's heartbeat counts."""
    return door.start("t", version, now)


def instants(door: JobDoor) -> dict[str, int]:
    """The task's timestamps, in ms after T0."""
    agreed(door, "t")
    job = door.job("t")
    return {name: at - T0 for name, at in job.items() if name.endswith("At") and isinstance(at, int)}


def status(door: JobDoor) -> str:
    """The task's state by horsies' name."""
    name = HORSIES_STATES[door.state("t")]
    assert SUBJECT == "reference" or door.store.jobs.get("t").horsies_state == name
    return name


def test_pending_claimed_running_completed(door: JobDoor) -> None:
    clock = door.store.clock
    assert send(door) == {
        "id": "t",
        "queue": "default",
        "type": "charge",
        "state": "pending",
        "payload": {},
        "tags": {},
        "priority": 50,
        "version": 0,
        "maxRetries": 0,
        "retryCount": 0,
        "retryPolicy": {"kind": "fixed", "intervals": [0]},
        "onExhausted": "failed",
        "attempts": [],
        "sentAt": T0,
        "enqueuedAt": T0,
    }
    assert (status(door), instants(door)) == ("PENDING", {"sentAt": 0, "enqueuedAt": 0})

    clock.advance(40)
    (job,) = claim(door)
    assert (job["claimedBy"], job["version"], job["leaseUntil"], job["attempts"]) == ("w1", 1, T0 + 40 + CLAIM, [])
    assert (status(door), instants(door)) == ("CLAIMED", {"sentAt": 0, "enqueuedAt": 0, "claimedAt": 40})

    clock.advance(10)
    job = start(door).must()["job"]
    assert (job["leaseUntil"], job["attempts"]) == (T0 + 50 + RUN, [{"number": 1, "worker": "w1", "startedAt": T0 + 50}])
    assert (status(door), instants(door)) == ("RUNNING", {"sentAt": 0, "enqueuedAt": 0, "claimedAt": 40, "startedAt": 50})

    clock.advance(15_000)
    assert door.beat(("t", 1)) == ([], [])
    assert door.job("t")["leaseUntil"] == T0 + 15_050 + RUN, "the runner's heartbeat renews the runner's lease"
    clock.advance(15_000)
    job = door.complete("t", result={"data": "b2s="}).must()["job"]
    assert job["result"] == {"data": "b2s="}
    assert status(door) == "COMPLETED"
    assert instants(door) == {"sentAt": 0, "enqueuedAt": 0, "claimedAt": 40, "startedAt": 50, "completedAt": 30_050}
    assert clock.advance(10**12) == [], "it is kept"
    assert door.get("t").must()["promise"]["value"] == {"data": "b2s="}


def test_err_fails_it_and_the_error_is_the_result(door: JobDoor) -> None:
    clock = door.store.clock
    send(door)
    claim(door)
    start(door).must()
    clock.advance(100)
    job = door.send("job.fail", {"id": "t", "version": 1, "error": ERROR}).must()["job"]
    assert status(door) == "FAILED" and job["error"] == ERROR
    assert job["result"] == {"data": encoded_error("CardDeclined", "no money", "bzI=")}
    assert instants(door) == {"sentAt": 0, "enqueuedAt": 0, "claimedAt": 0, "startedAt": 0, "failedAt": 100}
    promise = door.get("t").must()["promise"]
    assert (promise["state"], promise["settledAt"]) == ("rejected", T0 + 100)
    assert promise["value"]["data"] == encoded_error("CardDeclined", "no money", "bzI=")


@pytest.mark.parametrize("lifecycle", ["horsies", "asynq"])
def test_the_result_of_what_ended_is_its_promise_s_value(door: JobDoor, lifecycle: str) -> None:
    """This holds for every end. An archived job has no result yet, since it can run again."""
    for id in ("failed", "archived", "cancelled"):
        door.enqueue(id, queue="default", lifecycle=lifecycle, onExhausted="archived" if id == "archived" else "failed").must()
    door.send("job.cancel", {"id": "cancelled"}).must()
    for job in door.claim(2, ["default"], "w", CLAIM, start=2).must()["jobs"]:
        door.send("job.fail", {"id": job["id"], "version": 1, "error": ERROR, "retryable": False}).must()
    door.enqueue("expired", queue="default", lifecycle=lifecycle, goodUntil=door.store.now + 5).must()
    door.enqueue("late", queue="default", lifecycle=lifecycle, deadline=door.store.now + 5).must()
    door.store.clock.advance(5)
    results = {id: door.job(id).get("result") for id in ("failed", "archived", "cancelled", "expired", "late")}
    assert results == {
        "failed": {"data": encoded_error("CardDeclined", "no money", "bzI=")},
        "archived": None,
        "cancelled": {"data": encoded_error("Cancelled", "the job was cancelled")},
        "expired": {"data": encoded_error("TaskExpired", "the job was not started before its goodUntil")},
        "late": {},
    }
    for id, result in results.items():
        assert door.get(id).must()["promise"]["value"] == (result or {})


def test_a_crashed_worker_fails_it_without_a_policy(door: JobDoor) -> None:
    """The runner sends no heartbeat."""
    clock = door.store.clock
    send(door)
    claim(door)
    clock.advance(10)
    start(door).must()
    assert [(f.kind, f.at - T0) for f in clock.advance(RUN)] == [("job_lease", 10 + RUN)]
    job = door.job("t")
    assert job["error"] == {"code": "WorkerCrashed", "message": "the worker's lease expired"}
    assert (status(door), instants(door)["failedAt"]) == ("FAILED", 10 + RUN)
    assert job["attempts"] == [
        {
            "number": 1,
            "worker": "w1",
            "startedAt": T0 + 10,
            "finishedAt": T0 + 10 + RUN,
            "outcome": "crashed",
            "error": job["error"],
        }
    ]


def test_retries_by_the_intervals_of_a_policy(door: JobDoor) -> None:
    """Running → Pending: retry_count rises, next_retry_at follows the intervals, enqueued_at changes and sent_at does not."""
    clock = door.store.clock
    send(door, retryPolicy={"kind": "fixed", "intervals": [MINUTE, 5 * MINUTE, 15 * MINUTE]})
    at = 0
    for n, wait in enumerate((MINUTE, 5 * MINUTE, 15 * MINUTE)):
        claim(door)
        clock.advance(3)
        start(door, n + 1).must()
        clock.advance(7)
        job = door.fail("t", n + 1).must()["job"]
        assert (job["retryCount"], job["nextRetryAt"]) == (n + 1, T0 + at + 10 + wait)
        assert (status(door), instants(door)) == ("PENDING", {"sentAt": 0, "nextRetryAt": at + 10 + wait})
        at += 10 + wait
        assert claim(door) == []
        assert [(f.kind, f.at - T0) for f in clock.advance_to(T0 + at)] == [("job_ready", at)]
        assert (status(door), instants(door)) == ("PENDING", {"sentAt": 0, "enqueuedAt": at})
    claim(door)
    start(door, 4).must()
    door.fail("t", 4).must()
    assert (status(door), door.job("t")["retryCount"], len(door.job("t")["attempts"])) == ("FAILED", 3, 4)
    assert instants(door)["failedAt"] == at


def test_good_until_passes_while_it_is_pending(door: JobDoor) -> None:
    clock = door.store.clock
    send(door, goodUntil=T0 + 5 * MINUTE)
    assert clock.advance(5 * MINUTE - 1) == [] and status(door) == "PENDING"
    assert [(f.kind, f.at - T0) for f in clock.advance(1)] == [("job_expiry", 5 * MINUTE)]
    assert status(door) == "EXPIRED"
    assert instants(door) == {"sentAt": 0, "enqueuedAt": 0, "expiredAt": 5 * MINUTE}
    job = door.job("t")
    assert job["error"]["code"] == "TaskExpired" and job["attempts"] == [] and claim(door) == []
    promise = door.get("t").must()["promise"]
    assert (promise["state"], promise["settledAt"]) == ("rejected", T0 + 5 * MINUTE)


def test_good_until_passes_while_it_is_claimed(door: JobDoor) -> None:
    """The guard of the transition Claimed → Running refuses it; no attempt is written."""
    clock = door.store.clock
    send(door, goodUntil=T0 + 1_000)
    clock.advance(999)
    assert len(claim(door)) == 1
    before = door.store.now
    reply = start(door, now=before + 1)
    assert reply.status == 409 and "expired" in reply.data.lower()
    assert status(door) == "EXPIRED" and door.job("t")["attempts"] == []
    assert instants(door)["expiredAt"] == 1_000


def test_it_started_in_time_and_may_run_beyond(door: JobDoor) -> None:
    clock = door.store.clock
    send(door, goodUntil=T0 + 1_000)
    claim(door)
    clock.advance(999)
    start(door).must()
    assert clock.advance(10_000) == []
    door.complete("t").must()
    assert status(door) == "COMPLETED"


def test_a_claim_that_went_stale_goes_back(door: JobDoor) -> None:
    """The task never ran: no retry is used, no attempt is written, and claimed_at is removed."""
    clock = door.store.clock
    send(door)
    claim(door, "w1")
    clock.advance(CLAIM - 1)
    assert door.beat(("t", 1)) == ([], [])
    assert door.job("t")["leaseUntil"] == T0 + 2 * CLAIM - 1, "the claimer's heartbeat renews the claimer's lease"
    assert [(f.kind, f.at - T0) for f in clock.advance(CLAIM)] == [("job_lease", 2 * CLAIM - 1)]
    job = door.job("t")
    assert (status(door), job["retryCount"], job["attempts"], job["version"]) == ("PENDING", 0, [], 1)
    assert instants(door) == {"sentAt": 0, "enqueuedAt": 0}
    (job,) = claim(door, "w2")
    assert (job["claimedBy"], job["version"]) == ("w2", 2)
    start(door, 1).must(409)
    start(door, 2).must()


def test_a_task_that_is_sent_for_later(door: JobDoor) -> None:
    """`.schedule()`: sent_at is the instant of the call, enqueued_at that from which the task can be claimed."""
    clock = door.store.clock
    assert "enqueuedAt" not in send(door, processIn=MINUTE, sentAt=T0 - 17)
    assert (status(door), instants(door)) == ("PENDING", {"processAt": MINUTE, "sentAt": -17})
    clock.advance(MINUTE)
    assert instants(door) == {"processAt": MINUTE, "sentAt": -17, "enqueuedAt": MINUTE}


def test_cancelled_with_its_workflow(door: JobDoor) -> None:
    """A filter by the workflow's tag cancels its pending and its running tasks."""
    clock = door.store.clock
    send(door, tags={"workflow": "w-1"})
    claim(door)
    start(door).must()
    door.enqueue("u", queue="default", tags={"workflow": "w-1"}).must()
    door.enqueue("other", queue="default", tags={"workflow": "w-2"}).must()
    clock.advance(5)
    assert door.all_of("cancel", tags={"workflow": "w-1"}) == 2
    assert (status(door), instants(door)["cancelledAt"]) == ("CANCELLED", 5)
    assert [door.state(id) for id in ("t", "u", "other")] == ["cancelled", "cancelled", "pending"]
    assert door.beat(("t", 1)) == (["t"], [])
    assert door.job("t")["attempts"][0]["outcome"] == "cancelled"
