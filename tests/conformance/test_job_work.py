"""Requests of workers, and changes while a job runs: attempts, heartbeats, cancellation, settlement from outside, fences."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_wire import JOB, JobClient, assert_states_agree, encoded_error
from conformance.wire import rows_of

X, Y = {"data": "eA=="}, {"data": "eQ=="}
POLICY = {"kind": "fixed", "intervals": [0]}


@pytest.fixture
def client(store: Any) -> JobClient:
    return JobClient(store)


# --- attempts -------------------------------------------------------------------------------------------------------
def test_every_way_an_attempt_ends(client: JobClient) -> None:
    client.enqueue(now=0, retryPolicy=POLICY, timeout=500).must()
    client.run_one(now=0, worker="a")
    client.fail(now=1, code="Boom", retryAfter=0).must()
    client.run_one(now=10, worker="b", lease=20)
    client.store.tick(30)
    client.run_one(now=40, worker="c")
    client.store.tick(540)
    client.run_one(now=550, worker="d")
    client.snooze(version=4, delay=7, now=560).must()
    client.claim(now=567, worker="e").must()
    client.give_back(version=5, now=568).must()
    client.run_one(now=569, worker="f")
    job = client.complete(version=6, now=570, result=X).must()["job"]
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


def test_the_newest_hundred_attempts_are_kept(client: JobClient) -> None:
    client.enqueue(now=0, retryPolicy=POLICY, maxRetries=200).must()
    for n in range(105):
        client.run_one(now=n)
        client.fail(version=n + 1, now=n).must()
    attempts = client.job()["attempts"]
    assert [a["number"] for a in attempts] == list(range(6, 106))
    assert client.job()["retryCount"] == 105
    version = client.run_one(now=200)
    assert client.job()["attempts"][-1] == {"number": 106, "worker": "w1", "startedAt": 200} and version == 106


def test_the_newest_hundred_lines_of_reports_are_kept(client: JobClient) -> None:
    client.enqueue(now=0).must()
    client.run_one(now=0)
    client.send("job.report", {"id": JOB, "version": 1, "lines": [f"line {n}" for n in range(100)]}, now=1).must()
    assert [line["text"] for line in client.job()["report"]["lines"]] == [f"line {n}" for n in range(100)]
    client.send("job.report", {"id": JOB, "version": 1, "lines": ["one more"]}, now=2).must()
    assert [line["text"] for line in client.job()["report"]["lines"]] == [*(f"line {n}" for n in range(1, 100)), "one more"]


def test_a_report_has_the_progress_of_its_attempt(client: JobClient) -> None:
    """The progress stays until the next attempt starts, the lines stay for the life of the job, and the lease is not renewed."""
    client.enqueue(now=0).must()
    client.run_one(now=0, lease=50)
    client.report(version=1).must(400)
    client.report(version=2, progress=1).must(409)
    job = client.report(now=10, progress=0.5, lines=["a"]).must()["job"]
    first = {"at": 10, "attempt": 1, "text": "a"}
    assert (job["report"], job["leaseUntil"]) == ({"at": 10, "progress": 0.5, "lines": [first]}, 50)
    second = {"at": 11, "attempt": 1, "text": "b"}
    assert client.report(now=11, lines=["b"]).must()["job"]["report"] == {"at": 11, "progress": 0.5, "lines": [first, second]}
    client.snooze(delay=0, now=12).must()
    assert client.job()["report"]["progress"] == 0.5
    assert client.run_one(now=13) == 2
    assert client.job()["report"] == {"at": 11, "lines": [first, second]}
    third = {"at": 15, "attempt": 2, "text": "c"}
    report = client.report(version=2, now=15, progress=0, lines=["c"]).must()["job"]["report"]
    assert report == {"at": 15, "progress": 0, "lines": [first, second, third]}


def test_the_error_is_kept_until_the_job_completes(client: JobClient) -> None:
    client.enqueue(now=0, retryPolicy=POLICY).must()
    client.run_one(now=0)
    client.fail(now=1, code="A").must()
    client.run_one(now=2)
    assert client.job()["error"]["code"] == "A", "while the next attempt runs"
    client.fail(version=2, now=3, code="B").must()
    assert client.job()["error"]["code"] == "B"
    client.run_one(now=4)
    client.complete(version=3, now=5).must()
    assert "error" not in client.job()


def test_an_error_with_data(client: JobClient) -> None:
    error = {"code": "X", "message": 'ünï "quoted"', "data": "AAEC"}
    client.enqueue(onExhausted="failed", maxRetries=0, now=0).must()
    client.run_one(now=0)
    job = client.send("job.fail", {"id": JOB, "version": 1, "error": error}).must()["job"]
    assert job["error"] == error == job["attempts"][0]["error"]
    client.enqueue("plain", onExhausted="failed", maxRetries=0).must()
    client.run_one("plain")
    assert client.send("job.fail", {"id": "plain", "version": 1, "error": {"code": "X"}}).must()["job"]["error"] == {
        "code": "X",
        "message": "",
    }
    assert client.get("plain").must()["promise"]["value"]["data"] == encoded_error("X", "")


# --- the instants after each transition -----------------------------------------------------------------------------
def instants(job: dict[str, Any]) -> dict[str, int]:
    names = ("enqueuedAt", "claimedAt", "startedAt", "completedAt", "failedAt", "nextRetryAt", "cancelledAt", "expiredAt")
    return {name: job[name] for name in names if name in job}


def test_the_instants_of_each_transition(client: JobClient) -> None:
    """Checks the column "sets" of JOBS 3, and the instants that a transition removes."""
    seen = lambda: instants(client.job())  # noqa: E731
    client.enqueue(now=1, processAt=10).must()
    assert seen() == {}
    client.store.tick(12)
    assert seen() == {"enqueuedAt": 10}, "as of process_at, however late"
    client.claim(now=20).must()
    assert seen() == {"enqueuedAt": 10, "claimedAt": 20}
    client.give_back(now=21).must()
    assert seen() == {"enqueuedAt": 10}
    client.claim(now=22).must()
    client.start(version=2, now=23).must()
    assert seen() == {"enqueuedAt": 10, "claimedAt": 22, "startedAt": 23}
    client.fail(version=2, now=24, retryAfter=100).must()
    assert seen() == {"nextRetryAt": 124}
    client.administer("archive", now=25).must()
    assert seen() == {}
    client.administer("run", now=26).must()
    assert seen() == {"enqueuedAt": 26}
    client.run_one(now=27)
    client.fail(version=3, now=28, retryable=False).must()
    assert seen() == {"failedAt": 28}
    client.administer("run", now=29).must()
    assert seen() == {"enqueuedAt": 29, "failedAt": 28}, "that it failed once is kept until it ends"
    client.run_one(now=30)
    client.snooze(version=4, delay=10, now=31).must()
    assert seen() == {"failedAt": 28} and client.job()["processAt"] == 41
    client.store.tick(41)
    client.run_one(now=42)
    client.complete(version=5, now=43).must()
    assert seen() == {"enqueuedAt": 41, "claimedAt": 42, "startedAt": 42, "completedAt": 43}


@pytest.mark.parametrize("delay", [0, 5])
def test_a_snooze_uses_no_retry(client: JobClient, delay: int) -> None:
    client.enqueue(now=0, maxRetries=0).must()
    for n in range(3):
        client.run_one(now=10 * n)
        job = client.snooze(version=n + 1, delay=delay, now=10 * n + 1).must()["job"]
        assert (job["state"], job["processAt"], job["retryCount"]) == ("scheduled", 10 * n + 1 + delay, 0)
        assert client.state(now=10 * n + 1) == ("scheduled" if delay else "pending"), "delay 0: by the step that follows"


# --- heartbeats and cancellation ------------------------------------------------------------------------------------
def test_what_a_heartbeat_says(client: JobClient) -> None:
    """Each job of a heartbeat is renewed, cancelled or lost."""
    for id in ("claimed", "running", "cancelled", "completed", "other", "version", "released"):
        client.enqueue(id, now=0).must()
        client.claim(now=0, worker="w2" if id == "other" else "w1", lease=100).must()
    for id in ("running", "cancelled", "completed"):
        client.start(id, now=10).must()
    client.complete("completed", now=20).must()
    client.administer("cancel", "cancelled", now=20).must()
    client.give_back("released", now=20).must()
    named = [(id, 1) for id in ("claimed", "running", "cancelled", "completed", "other", "released", "nobody")] + [("version", 2)]
    assert client.beat(*named, now=50) == (["cancelled"], ["completed", "other", "released", "nobody", "version"])
    leases = {id: client.job(id)["leaseUntil"] for id in ("claimed", "running", "other", "version")}
    assert leases == {"claimed": 150, "running": 150, "other": 100, "version": 100}
    assert client.beat(now=51) == ([], [])


def test_a_heartbeat_about_dead_jobs_changes_nothing(client: JobClient) -> None:
    client.enqueue("overdue", now=0, deadline=50).must()
    client.run_one("overdue", now=0)
    client.enqueue("lapsed", now=0, goodUntil=50).must()
    client.claim(now=0).must()
    before = rows_of(client.store)
    other = JobClient(client.store.fork())
    other.store.tick(60)
    assert client.beat(("overdue", 1), ("lapsed", 1), now=60) == ([], ["overdue", "lapsed"])
    assert rows_of(client.store) == rows_of(other.store) != before


@pytest.mark.parametrize("before", ["scheduled", "pending", "claimed", "running", "retry", "archived"])
def test_a_cancelled_job(client: JobClient, before: str) -> None:
    """The worker's next heartbeat reports the cancellation; its later requests are refused."""
    client.enqueue(now=0, **({"processAt": 1_000} if before == "scheduled" else {})).must()
    if before not in ("scheduled", "pending"):
        client.claim(now=1).must()
    if before in ("running", "retry", "archived"):
        client.start(now=2).must()
    if before in ("retry", "archived"):
        client.fail(now=3, retryable=before == "retry").must()
    job = client.administer("cancel", now=10).must()["job"]
    assert (job["state"], job["cancelledAt"]) == ("cancelled", 10)
    promise = client.get(JOB).must()["promise"]
    assert (promise["state"], promise["settledAt"]) == ("rejected_canceled", 10)
    assert promise["value"]["data"] == encoded_error("Cancelled", "the job was cancelled")
    assert_states_agree(client)
    if before == "running":
        assert job["attempts"] == [{"number": 1, "worker": "w1", "startedAt": 2, "finishedAt": 10, "outcome": "cancelled"}]
        assert (job["claimedAt"], job["startedAt"]) == (1, 2)
    settled = rows_of(client.store)
    for late in (
        client.complete(now=11, result=X),
        client.fail(now=11),
        client.start(now=11),
        client.give_back(now=11),
        client.snooze(now=11),
        client.administer("cancel", now=11),
        client.administer("run", now=11),
    ):
        late.must(409)
    assert rows_of(client.store) == settled
    if before in ("claimed", "running"):
        assert client.beat((JOB, 1), now=12) == ([JOB], [])


# --- settled from outside -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("state", "job_state", "outcome"),
    [("resolved", "completed", "completed"), ("rejected", "failed", "failed"), ("rejected_canceled", "cancelled", "cancelled")],
)
@pytest.mark.parametrize("before", ["pending", "claimed", "running"])
def test_a_settlement_from_outside(client: JobClient, before: str, state: str, job_state: str, outcome: str) -> None:
    client.enqueue(now=0).must()
    if before != "pending":
        client.claim(now=1).must()
    if before == "running":
        client.start(now=2).must()
    promise = client.settle(JOB, state, Y, now=10).must()["promise"]
    assert (promise["state"], promise["value"], promise["settledAt"]) == (state, Y, 10)
    job = client.job()
    assert job["state"] == job_state
    assert job[{"completed": "completedAt", "failed": "failedAt", "cancelled": "cancelledAt"}[job_state]] == 10
    assert job["result"] == Y
    if job_state == "failed":
        assert job["error"] == {"code": "Rejected", "message": "the promise was rejected from outside"}
    attempts = [{"number": 1, "worker": "w1", "startedAt": 2, "finishedAt": 10, "outcome": outcome}]
    got = [{k: v for k, v in a.items() if k != "error"} for a in job["attempts"]]
    assert got == (attempts if before == "running" else [])
    assert_states_agree(client)
    client.complete(now=11).must(409)
    assert client.beat((JOB, 1), now=12) == (([JOB], []) if job_state == "cancelled" else ([], [JOB]))


def test_task_fulfill_is_a_settlement_by_the_worker(client: JobClient) -> None:
    client.enqueue(now=0).must()
    client.run_one(now=1)
    client.fulfill(JOB, 2, value=Y, now=2).must(409)
    client.fulfill(JOB, 1, value=Y, now=2).must()
    job = client.job()
    assert (job["state"], job["result"], job["attempts"][0]["outcome"]) == ("completed", Y, "completed")


def test_retention_of_what_was_completed_from_outside(client: JobClient) -> None:
    client.enqueue("gone", now=0, retention=0).must()
    client.enqueue("hour", now=0, retention=100).must()
    client.enqueue("rejected", now=0, retention=0).must()
    for id in ("gone", "hour"):
        client.settle(id, now=10).must()
    client.settle("rejected", "rejected", now=10).must()
    assert client.state("gone") == "absent"
    client.store.tick(109)
    assert client.state("hour") == "completed"
    client.store.tick(110)
    assert client.state("hour") == "absent"
    client.store.tick(10**9)
    assert client.state("rejected") == "failed", "retention is of what completed"


# --- a running job's worker makes promises --------------------------------------------------------------------------
def test_a_fenced_create_by_the_worker_of_a_job(client: JobClient) -> None:
    """The fence checks the job's version; a worker that lost the job creates nothing."""
    client.enqueue(now=0).must()
    client.run_one(now=0, worker="old", lease=100)
    client.fence_create(JOB, 1, "child-1", now=10).must()
    assert client.get("child-1").must()["promise"]["state"] == "pending"
    client.store.tick(100)
    client.fence_create(JOB, 1, "child-2", now=101).must(409)
    client.administer("run", now=102).must()
    version = client.run_one(now=103, worker="new")
    assert version == 2
    client.fence_create(JOB, 1, "child-2", now=104).must(409)
    client.get("child-2").must(404)
    client.fence_create(JOB, 2, "child-2", now=105).must()
    client.fence_settle(JOB, 2, "child-1", now=106).must()
    assert client.get("child-1").must()["promise"]["state"] == "resolved"


def test_task_heartbeat_renews_a_jobs_lease_too(client: JobClient) -> None:
    """A job and its task have one version and one lease."""
    client.enqueue(now=0).must()
    client.run_one(now=0, lease=100)
    client.heartbeat("w1", (JOB, 1), now=50).must()
    client.heartbeat("w2", (JOB, 1), now=60).must()
    assert client.job()["leaseUntil"] == 150
    assert client.task(JOB).must()["task"]["version"] == 1


def test_a_task_heartbeat_of_all_that_a_pid_holds_is_about_no_jobs(client: JobClient) -> None:
    """A heartbeat without a list of tasks renews no jobs, even if a worker of workflows and a worker of jobs share a name."""
    client.enqueue(now=0).must()
    client.task_create("workflow", ttl=100, pid="w1", now=0).must()
    client.run_one(now=0, lease=100)
    client.heartbeat("w1", now=50).must()
    assert client.job()["leaseUntil"] == 100
    client.store.tick(100)
    assert client.job()["state"] == "retry" and client.task("workflow").must()["task"]["state"] == "acquired"
