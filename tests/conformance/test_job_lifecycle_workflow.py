"""The lifecycle `workflow`, and `archive` of job.fail (JOBS 4 and 9)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_wire import JobClient
from conformance.wire import V25, V26, rows_of

DAY = 86_400_000
POLICY = {"kind": "fixed", "intervals": [0, 1_000, 10_000, 60_000], "codes": ["WorkerCrashed"]}


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def enqueue(client: JobClient, id: str = "j", now: int = 0, **data: Any) -> dict[str, Any]:
    record: dict[str, Any] = client.enqueue(id, now=now, **{"lifecycle": "workflow", **data}).must()["job"]
    return record


# --- presets ------------------------------------------------------------------------------------------------------------
def test_the_presets(client: JobClient) -> None:
    job = enqueue(client)
    assert (job["maxRetries"], job["retryPolicy"], job["onExhausted"], job["retention"]) == (100, POLICY, "failed", 7 * DAY)
    assert job["priority"] == 50 and "lifecycle" not in job
    (job,) = client.claim(now=1).must()["jobs"]
    assert job["state"] == "running", "a claim starts it"


def test_the_presets_of_a_queue(client: JobClient) -> None:
    client.queue("set", lifecycle="workflow")
    job = client.enqueue("j", now=0).must()["job"]
    assert (job["maxRetries"], job["retention"]) == (100, 7 * DAY)
    job = client.enqueue("k", now=0, lifecycle="asynq").must()["job"]
    assert (job["maxRetries"], job["retention"]) == (25, 0)


def test_of_the_defaults_only_the_priority_counts(client: JobClient) -> None:
    defaults = {"maxRetries": 3, "retryPolicy": {"kind": "asynq"}, "onExhausted": "archived", "timeout": 5, "retention": 0,
                "cancelWithAwaiters": False, "priority": 9}  # fmt: skip
    client.queue("set", defaults=defaults, now=0)
    job = enqueue(client)
    assert (job["maxRetries"], job["retryPolicy"], job["onExhausted"], job["retention"]) == (100, POLICY, "failed", 7 * DAY)
    assert job["priority"] == 9 and "timeout" not in job
    client.create("awaiter", target="poll://any@g", now=0).must()
    client.register("j", "awaiter", now=0).must()
    client.settle("awaiter", "rejected_canceled", now=1).must()
    assert client.state("j") == "cancelled"


def test_what_the_job_gives_counts(client: JobClient) -> None:
    given = {"maxRetries": 3, "retryPolicy": {"kind": "asynq"}, "onExhausted": "archived", "timeout": 5, "priority": 1}
    job = enqueue(client, **given, retention=None)
    assert {name: job[name] for name in given} == given and "retention" not in job


@pytest.mark.parametrize("of_the_queue", [False, True])
def test_no_group(client: JobClient, of_the_queue: bool) -> None:
    """A job that is there is answered first."""
    if of_the_queue:
        client.queue("set", lifecycle="workflow", now=0)
    lifecycle = {} if of_the_queue else {"lifecycle": "workflow"}
    before = rows_of(client.store)
    client.enqueue("j", now=0, group="g", **lifecycle).must(400)
    outcomes = client.send("job.enqueue_many", {"jobs": [{"queue": "mail", "type": "t", "group": "g", **lifecycle}]}, 0).must()
    assert outcomes["jobs"][0]["status"] == 400
    client.schedule("s", job={"queue": "mail", "type": "t", "group": "g", **lifecycle}, now=0).must(400)
    assert rows_of(client.store) == before
    client.enqueue("j", now=0, group="g", lifecycle="asynq").must()
    client.enqueue("j", now=0, group="g").must()


# --- failures -----------------------------------------------------------------------------------------------------------
def crash(client: JobClient, now: int, id: str = "j") -> dict[str, Any]:
    """The job's worker crashes; returns the record."""
    (job,) = client.claim(now=now, lease=10).must()["jobs"]
    assert (job["id"], job["state"]) == (id, "running")
    client.store.clock.advance_to(now + 10)
    return client.job(id)


def test_crashes_are_retried(client: JobClient) -> None:
    enqueue(client)
    now = 0
    for number, delay in enumerate((0, 1_000, 10_000, 60_000, 60_000), 1):
        job = crash(client, now)
        assert (job["retryCount"], job["attempts"][-1]["outcome"]) == (number, "crashed")
        now += 10 + delay
        client.store.clock.advance_to(now)
        assert (client.state("j"), client.job("j")["enqueuedAt"]) == ("pending", now)


@pytest.mark.parametrize("on_exhausted", [None, "failed", "archived"])
def test_a_crash_without_a_retry_left_archives(client: JobClient, on_exhausted: str | None) -> None:
    """Even a job that says otherwise."""
    enqueue(client, maxRetries=1, **({} if on_exhausted is None else {"onExhausted": on_exhausted}))
    crash(client, 0)
    job = crash(client, 20)
    assert (job["state"], job["failedAt"], job["error"]["code"], job["retryCount"]) == ("archived", 30, "WorkerCrashed", 1)
    client.administer("run", "j", now=40).must()
    assert crash(client, 41)["state"] == "archived"


def test_other_failures_are_not_retried(client: JobClient) -> None:
    enqueue(client)
    client.run_one("j", now=1)
    job = client.fail("j", now=2).must()["job"]
    assert (job["state"], job["failedAt"]) == ("failed", 2)


def test_a_failure_that_says_what_a_crash_says(client: JobClient) -> None:
    """The policy goes by the code; only a lost lease archives."""
    enqueue(client, maxRetries=1)
    client.run_one("j", now=1)
    assert client.fail("j", now=2, code="WorkerCrashed").must()["job"]["state"] == "retry"
    client.run_one("j", now=3)
    assert client.fail("j", 2, now=4, code="WorkerCrashed").must()["job"]["state"] == "failed"


def test_a_timeout_is_no_crash(client: JobClient) -> None:
    enqueue(client, timeout=5)
    client.run_one("j", now=1)
    client.store.clock.advance_to(10)
    job = client.job("j")
    assert (job["state"], job["error"]["code"]) == ("failed", "TaskTimeout")


def test_steps_make_crashes_cheap(client: JobClient) -> None:
    """Each new step sets the retries back, so a workflow that makes progress is never given up."""
    enqueue(client, maxRetries=1)
    for n in range(4):
        (job,) = client.claim(now=100 * n, lease=10).must()["jobs"]
        client.record(f"{n}", id="j", version=job["version"], now=100 * n).must()
        client.store.clock.advance_to(100 * n + 99)
        assert client.state("j") == "pending"
    assert crash(client, 400)["state"] == "archived"


def test_the_retention(client: JobClient) -> None:
    enqueue(client)
    client.complete("j", client.run_one("j", now=1), now=1).must()
    assert client.store.clock.advance_to(7 * DAY) == []
    (step,) = client.store.clock.advance_to(7 * DAY + 1)
    assert (step.kind, step.id, step.at, client.state("j")) == ("job_retention", "j", 7 * DAY + 1, "absent")


# --- archive of job.fail ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("lifecycle", [None, "asynq", "horsies", "workflow"])
@pytest.mark.parametrize("more", [{}, {"retryable": False}, {"retryAfter": 5}, {"retryable": True, "retryAfter": 0}], ids=str)
def test_archive_whatever_else_holds(client: JobClient, lifecycle: str | None, more: dict[str, Any]) -> None:
    policy = {"maxRetries": 5, "retryPolicy": {"kind": "fixed", "intervals": [5]}, "onExhausted": "failed"}
    client.enqueue("j", now=0, lifecycle=lifecycle, **policy).must()
    client.run_one("j", now=1)
    job = client.fail("j", now=2, archive=True, **more).must()["job"]
    assert (job["state"], job["failedAt"], job["retryCount"]) == ("archived", 2, 0)
    error = {"code": "Boom", "message": "it broke"}
    assert job["error"] == error and job["attempts"][-1]["error"] == error and job["attempts"][-1]["outcome"] == "failed"
    assert client.stats()["days"][0]["failed"] == 1
    client.administer("run", "j", now=3).must()
    assert client.run_one("j", now=4) == 2


@pytest.mark.parametrize("archive", [False, None])
def test_without_archive(client: JobClient, archive: bool | None) -> None:
    client.enqueue("j", now=0, onExhausted="failed").must()
    client.run_one("j", now=1)
    assert client.fail("j", now=2, archive=archive, retryable=False).must()["job"]["state"] == "failed"
