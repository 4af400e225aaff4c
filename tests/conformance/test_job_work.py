"""Requests of workers, and changes while a job runs: attempts, heartbeats, cancellation, settlement from outside, fences."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_wire import JOB, JobDoor, agreed, encoded_error
from conformance.wire import rows_of

X, Y = {"data": "eA=="}, {"data": "eQ=="}
POLICY = {"kind": "fixed", "intervals": [0]}


@pytest.fixture
def door(store: Any) -> JobDoor:
    return JobDoor(store)


# --- attempts -------------------------------------------------------------------------------------------------------
def test_every_way_an_attempt_ends(door: JobDoor) -> None:
    door.enqueue(now=0, retryPolicy=POLICY, timeout=500).must()
    door.run_one(now=0, worker="a")
    door.fail(now=1, code="Boom", retryAfter=0).must()
    door.run_one(now=10, worker="b", lease=20)
    door.store.tick(30)
    door.run_one(now=40, worker="c")
    door.store.tick(540)
    door.run_one(now=550, worker="d")
    door.snooze(version=4, delay=7, now=560).must()
    door.claim(now=567, worker="e").must()
    door.give_back(version=5, now=568).must()
    door.run_one(now=569, worker="f")
    job = door.complete(version=6, now=570, result=X).must()["job"]
    boom = {"code": "Boom", "message": "it broke"}
    crashed = {"code": "WorkerCrashed", "message": "the worker's lease expired"}
    timed_out = {"code": "TaskTimeout", "message": "the attempt took longer than its timeout"}
    assert job["attempts"] == [
        {"number": 1, "worker": "a", "startedAt": 0, "finishedAt": 1, "outcome": "failed", "error": boom},
        {"number": 2, "worker": "b", "startedAt": 10, "finishedAt": 30, "outcome": "crashed", "error": crashed},
        {"number": 3, "worker": "c", "startedAt": 40, "finishedAt": 540, "outcome": "timed_out", "error": timed_out},
        {"number": 4, "worker": "d", "startedAt": 550, "finishedAt": 560, "outcome": "snoozed"},
        {"number": 5, "worker": "f", "startedAt": 569, "finishedAt": 570, "outcome": "completed"},
    ]
    assert (job["version"], job["retryCount"], job["result"]) == (6, 3, X) and "error" not in job


def test_the_newest_hundred_attempts_are_kept(door: JobDoor) -> None:
    door.enqueue(now=0, retryPolicy=POLICY, maxRetries=200).must()
    for n in range(105):
        door.run_one(now=n)
        door.fail(version=n + 1, now=n).must()
    attempts = door.job()["attempts"]
    assert [a["number"] for a in attempts] == list(range(6, 106))
    assert door.job()["retryCount"] == 105
    version = door.run_one(now=200)
    assert door.job()["attempts"][-1] == {"number": 106, "worker": "w1", "startedAt": 200} and version == 106


def test_the_error_is_kept_until_the_job_completes(door: JobDoor) -> None:
    door.enqueue(now=0, retryPolicy=POLICY).must()
    door.run_one(now=0)
    door.fail(now=1, code="A").must()
    door.run_one(now=2)
    assert door.job()["error"]["code"] == "A", "while the next attempt runs"
    door.fail(version=2, now=3, code="B").must()
    assert door.job()["error"]["code"] == "B"
    door.run_one(now=4)
    door.complete(version=3, now=5).must()
    assert "error" not in door.job()


def test_an_error_with_data(door: JobDoor) -> None:
    error = {"code": "X", "message": 'ünï "quoted"', "data": "AAEC"}
    door.enqueue(onExhausted="failed", maxRetries=0, now=0).must()
    door.run_one(now=0)
    job = door.send("job.fail", {"id": JOB, "version": 1, "error": error}).must()["job"]
    assert job["error"] == error == job["attempts"][0]["error"]
    door.enqueue("plain", onExhausted="failed", maxRetries=0).must()
    door.run_one("plain")
    assert door.send("job.fail", {"id": "plain", "version": 1, "error": {"code": "X"}}).must()["job"]["error"] == {
        "code": "X",
        "message": "",
    }
    assert door.get("plain").must()["promise"]["value"]["data"] == encoded_error("X", "")


# --- the instants after each transition -----------------------------------------------------------------------------
def instants(job: dict[str, Any]) -> dict[str, int]:
    names = ("enqueuedAt", "claimedAt", "startedAt", "completedAt", "failedAt", "nextRetryAt", "cancelledAt", "expiredAt")
    return {name: job[name] for name in names if name in job}


def test_the_instants_of_each_transition(door: JobDoor) -> None:
    """Checks the column "sets" of JOBS 3, and the instants that a transition removes."""
    seen = lambda: instants(door.job())  # noqa: E731
    door.enqueue(now=1, processAt=10).must()
    assert seen() == {}
    door.store.tick(12)
    assert seen() == {"enqueuedAt": 10}, "as of process_at, however late"
    door.claim(now=20).must()
    assert seen() == {"enqueuedAt": 10, "claimedAt": 20}
    door.give_back(now=21).must()
    assert seen() == {"enqueuedAt": 10}
    door.claim(now=22).must()
    door.start(version=2, now=23).must()
    assert seen() == {"enqueuedAt": 10, "claimedAt": 22, "startedAt": 23}
    door.fail(version=2, now=24, retryAfter=100).must()
    assert seen() == {"nextRetryAt": 124}
    door.by_hand("archive", now=25).must()
    assert seen() == {}
    door.by_hand("run", now=26).must()
    assert seen() == {"enqueuedAt": 26}
    door.run_one(now=27)
    door.fail(version=3, now=28, retryable=False).must()
    assert seen() == {"failedAt": 28}
    door.by_hand("run", now=29).must()
    assert seen() == {"enqueuedAt": 29, "failedAt": 28}, "that it failed once is kept until it ends"
    door.run_one(now=30)
    door.snooze(version=4, delay=10, now=31).must()
    assert seen() == {"failedAt": 28} and door.job()["processAt"] == 41
    door.store.tick(41)
    door.run_one(now=42)
    door.complete(version=5, now=43).must()
    assert seen() == {"enqueuedAt": 41, "claimedAt": 42, "startedAt": 42, "completedAt": 43}


@pytest.mark.parametrize("delay", [0, 5])
def test_a_snooze_uses_no_retry(door: JobDoor, delay: int) -> None:
    door.enqueue(now=0, maxRetries=0).must()
    for n in range(3):
        door.run_one(now=10 * n)
        job = door.snooze(version=n + 1, delay=delay, now=10 * n + 1).must()["job"]
        assert (job["state"], job["processAt"], job["retryCount"]) == ("scheduled", 10 * n + 1 + delay, 0)
        assert door.state(now=10 * n + 1) == ("scheduled" if delay else "pending"), "delay 0: by the step that follows"


# --- heartbeats and cancellation ------------------------------------------------------------------------------------
def test_what_a_heartbeat_says(door: JobDoor) -> None:
    """Each job of a heartbeat is renewed, cancelled or lost."""
    for id in ("claimed", "running", "cancelled", "completed", "other", "version", "released"):
        door.enqueue(id, now=0).must()
        door.claim(now=0, worker="w2" if id == "other" else "w1", lease=100).must()
    for id in ("running", "cancelled", "completed"):
        door.start(id, now=10).must()
    door.complete("completed", now=20).must()
    door.by_hand("cancel", "cancelled", now=20).must()
    door.give_back("released", now=20).must()
    named = [(id, 1) for id in ("claimed", "running", "cancelled", "completed", "other", "released", "nobody")] + [("version", 2)]
    assert door.beat(*named, now=50) == (["cancelled"], ["completed", "other", "released", "nobody", "version"])
    leases = {id: door.job(id)["leaseUntil"] for id in ("claimed", "running", "other", "version")}
    assert leases == {"claimed": 150, "running": 150, "other": 100, "version": 100}
    assert door.beat(now=51) == ([], [])


def test_a_heartbeat_about_dead_jobs_changes_nothing(door: JobDoor) -> None:
    door.enqueue("overdue", now=0, deadline=50).must()
    door.run_one("overdue", now=0)
    door.enqueue("lapsed", now=0, goodUntil=50).must()
    door.claim(now=0).must()
    before = rows_of(door.store)
    other = JobDoor(door.store.fork())
    other.store.tick(60)
    assert door.beat(("overdue", 1), ("lapsed", 1), now=60) == ([], ["overdue", "lapsed"])
    assert rows_of(door.store) == rows_of(other.store) != before


@pytest.mark.parametrize("before", ["scheduled", "pending", "claimed", "running", "retry", "archived"])
def test_a_cancelled_job(door: JobDoor, before: str) -> None:
    """The worker's next heartbeat reports the cancellation; its later requests are refused."""
    door.enqueue(now=0, **({"processAt": 1_000} if before == "scheduled" else {})).must()
    if before not in ("scheduled", "pending"):
        door.claim(now=1).must()
    if before in ("running", "retry", "archived"):
        door.start(now=2).must()
    if before in ("retry", "archived"):
        door.fail(now=3, retryable=before == "retry").must()
    job = door.by_hand("cancel", now=10).must()["job"]
    assert (job["state"], job["cancelledAt"]) == ("cancelled", 10)
    promise = door.get(JOB).must()["promise"]
    assert (promise["state"], promise["settledAt"]) == ("rejected_canceled", 10)
    assert promise["value"]["data"] == encoded_error("Cancelled", "the job was cancelled")
    agreed(door)
    if before == "running":
        assert job["attempts"] == [{"number": 1, "worker": "w1", "startedAt": 2, "finishedAt": 10, "outcome": "cancelled"}]
        assert (job["claimedAt"], job["startedAt"]) == (1, 2)
    settled = rows_of(door.store)
    for late in (
        door.complete(now=11, result=X),
        door.fail(now=11),
        door.start(now=11),
        door.give_back(now=11),
        door.snooze(now=11),
        door.by_hand("cancel", now=11),
        door.by_hand("run", now=11),
    ):
        late.must(409)
    assert rows_of(door.store) == settled
    if before in ("claimed", "running"):
        assert door.beat((JOB, 1), now=12) == ([JOB], [])


# --- settled from outside -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("state", "job_state", "outcome"),
    [("resolved", "completed", "completed"), ("rejected", "failed", "failed"), ("rejected_canceled", "cancelled", "cancelled")],
)
@pytest.mark.parametrize("before", ["pending", "claimed", "running"])
def test_a_settlement_from_outside(door: JobDoor, before: str, state: str, job_state: str, outcome: str) -> None:
    door.enqueue(now=0).must()
    if before != "pending":
        door.claim(now=1).must()
    if before == "running":
        door.start(now=2).must()
    promise = door.settle(JOB, state, Y, now=10).must()["promise"]
    assert (promise["state"], promise["value"], promise["settledAt"]) == (state, Y, 10)
    job = door.job()
    assert job["state"] == job_state
    assert job[{"completed": "completedAt", "failed": "failedAt", "cancelled": "cancelledAt"}[job_state]] == 10
    assert job["result"] == Y
    if job_state == "failed":
        assert job["error"] == {"code": "Rejected", "message": "the promise was rejected from outside"}
    attempts = [{"number": 1, "worker": "w1", "startedAt": 2, "finishedAt": 10, "outcome": outcome}]
    got = [{k: v for k, v in a.items() if k != "error"} for a in job["attempts"]]
    assert got == (attempts if before == "running" else [])
    agreed(door)
    door.complete(now=11).must(409)
    assert door.beat((JOB, 1), now=12) == (([JOB], []) if job_state == "cancelled" else ([], [JOB]))


def test_task_fulfill_is_a_settlement_by_the_worker(door: JobDoor) -> None:
    door.enqueue(now=0).must()
    door.run_one(now=1)
    door.fulfill(JOB, 2, value=Y, now=2).must(409)
    door.fulfill(JOB, 1, value=Y, now=2).must()
    job = door.job()
    assert (job["state"], job["result"], job["attempts"][0]["outcome"]) == ("completed", Y, "completed")


def test_retention_of_what_was_completed_from_outside(door: JobDoor) -> None:
    door.enqueue("gone", now=0, retention=0).must()
    door.enqueue("hour", now=0, retention=100).must()
    door.enqueue("rejected", now=0, retention=0).must()
    for id in ("gone", "hour"):
        door.settle(id, now=10).must()
    door.settle("rejected", "rejected", now=10).must()
    assert door.state("gone") == "absent"
    door.store.tick(109)
    assert door.state("hour") == "completed"
    door.store.tick(110)
    assert door.state("hour") == "absent"
    door.store.tick(10**9)
    assert door.state("rejected") == "failed", "retention is of what completed"


# --- a running job's worker makes promises --------------------------------------------------------------------------
def test_a_fenced_create_by_the_worker_of_a_job(door: JobDoor) -> None:
    """The fence checks the job's version; a worker that lost the job creates nothing."""
    door.enqueue(now=0).must()
    door.run_one(now=0, worker="old", lease=100)
    door.fence_create(JOB, 1, "child-1", now=10).must()
    assert door.get("child-1").must()["promise"]["state"] == "pending"
    door.store.tick(100)
    door.fence_create(JOB, 1, "child-2", now=101).must(409)
    door.by_hand("run", now=102).must()
    version = door.run_one(now=103, worker="new")
    assert version == 2
    door.fence_create(JOB, 1, "child-2", now=104).must(409)
    door.get("child-2").must(404)
    door.fence_create(JOB, 2, "child-2", now=105).must()
    door.fence_settle(JOB, 2, "child-1", now=106).must()
    assert door.get("child-1").must()["promise"]["state"] == "resolved"


def test_task_heartbeat_renews_a_jobs_lease_too(door: JobDoor) -> None:
    """A job and its task have one version and one lease."""
    door.enqueue(now=0).must()
    door.run_one(now=0, lease=100)
    door.heartbeat("w1", (JOB, 1), now=50).must()
    door.heartbeat("w2", (JOB, 1), now=60).must()
    assert door.job()["leaseUntil"] == 150
    assert door.task(JOB).must()["task"]["version"] == 1


def test_a_task_heartbeat_of_all_that_a_pid_holds_is_about_no_jobs(door: JobDoor) -> None:
    """A heartbeat without a list of tasks renews no jobs, even if a worker of workflows and a worker of jobs share a name."""
    door.enqueue(now=0).must()
    door.task_create("workflow", ttl=100, pid="w1", now=0).must()
    door.run_one(now=0, lease=100)
    door.heartbeat("w1", now=50).must()
    assert door.job()["leaseUntil"] == 100
    door.store.tick(100)
    assert door.job()["state"] == "retry" and door.task("workflow").must()["task"]["state"] == "acquired"
