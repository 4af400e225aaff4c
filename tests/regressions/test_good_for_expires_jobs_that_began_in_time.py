"""A job that had begun before its `good_until` expired when it was put back: released by a deploy, snoozed, crashed, or in retry.

Its real error was replaced by "was not started before its goodUntil", and what it had done was lost. `good_until` limits the first
start (JOBS 3). Before it, everything is as it was: a claim that is given back without a start still expires.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from conformance.job_wire import JOB, JobClient
from resonate_core.conformance.reference import Model
from resonate_core.worker import Worker

GOOD_UNTIL = 500
LATE = 10_000


@pytest.fixture(params=["engine", "reference model"])
def client(request: pytest.FixtureRequest, make_store: Callable[..., Any]) -> JobClient:
    return JobClient(make_store() if request.param == "engine" else Model())


def begun(client: JobClient, **options: Any) -> None:
    client.enqueue(now=0, goodUntil=GOOD_UNTIL, retryPolicy={"kind": "fixed", "intervals": [1_000]}, **options).must()
    client.run_one(now=100, lease=100)


PUT_BACK = {
    "retry": lambda client: client.fail(now=150),
    "snooze": lambda client: client.snooze(delay=200, now=150),
    "crash": lambda client: client.store.tick(200),
}


@pytest.mark.parametrize("how", PUT_BACK)
def test_a_job_that_began_in_time_does_not_expire(client: JobClient, how: str) -> None:
    begun(client)
    PUT_BACK[how](client)
    waiting = "scheduled" if how == "snooze" else "retry"
    assert client.job(now=GOOD_UNTIL)["state"] == waiting or how == "snooze"
    client.store.tick(LATE)
    job = client.job()
    assert (job["state"], job.get("expiredAt")) == ("pending", None)
    assert job.get("error", {}).get("code") == {"retry": "Boom", "snooze": None, "crash": "WorkerCrashed"}[how]
    (again,) = client.claim(now=LATE, lease=1_000).must()["jobs"]
    assert (again["id"], again["state"]) == (JOB, "claimed"), "claimed long after good_until"
    client.send("job.release", {"id": JOB, "version": 2}, LATE).must()
    assert client.job(now=2 * LATE)["state"] == "pending", "given back by a worker that stops"
    client.claim(now=2 * LATE, lease=1_000).must()
    client.start(version=3, now=2 * LATE).must()
    assert client.complete(version=3, now=2 * LATE).must()["job"]["state"] == "completed"


@pytest.mark.parametrize("lifecycle", ["asynq", "horsies"])
def test_of_both_lifecycles(client: JobClient, lifecycle: str) -> None:
    client.enqueue(now=0, goodUntil=GOOD_UNTIL, lifecycle=lifecycle, retryPolicy={"kind": "fixed", "intervals": [1_000]}).must()
    client.run_one(now=100, lease=100) if lifecycle == "horsies" else client.claim(now=100, lease=100).must()
    client.store.tick(300)
    assert client.job(now=LATE)["error"]["code"] == "WorkerCrashed"


def test_an_exhausted_job_keeps_its_error(client: JobClient) -> None:
    begun(client, maxRetries=0, onExhausted="failed")
    client.fail(now=150).must()
    assert client.job(now=LATE)["error"]["code"] == "Boom"


def test_a_person_runs_it_after_good_until(client: JobClient) -> None:
    begun(client, maxRetries=0)
    client.fail(now=150).must()
    client.administer("run", now=LATE).must()
    assert client.job()["state"] == "pending" and client.claimed(now=LATE) == [JOB]


def test_a_claim_without_a_start_still_expires(client: JobClient) -> None:
    client.enqueue(now=0, goodUntil=GOOD_UNTIL).must()
    client.claim(now=100, lease=LATE).must()
    client.send("job.release", {"id": JOB, "version": 1}, 200).must()
    client.claim(now=250, lease=LATE).must()
    assert client.job(now=GOOD_UNTIL - 1)["state"] == "claimed"
    client.start(version=2, now=GOOD_UNTIL).must(409)
    job = client.job()
    assert (job["state"], job["error"]["code"], job["attempts"]) == ("expired", "TaskExpired", [])


def test_a_snapshot_a_fork_and_a_search_agree(make_store: Callable[..., Any]) -> None:
    client = JobClient(make_store())
    begun(client)
    client.fail(now=150, retryAfter=2 * LATE).must()
    other = make_store()
    other.restore(client.store.snapshot())
    for store in (client.store, client.store.fork(), other):
        store.tick(LATE)
        assert JobClient(store).jobs(state="retry") == [JOB] and JobClient(store).jobs(state="expired") == []
        assert store.check() == []


def test_a_step_that_an_earlier_release_planned(tmp_path: Path) -> None:
    """Its file has good_until as the timer of a job that waits for its retry: the step does nothing but look for the next one."""
    path = tmp_path / "a.db"
    with rc.Store(path, clock=rc.ManualClock(start=0)) as store:
        client = JobClient(store)
        begun(client)
        client.fail(now=150, retryAfter=2 * LATE).must()
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute("UPDATE resonate_promises SET due_at = ?, due_kind = 1 WHERE id = ?", (GOOD_UNTIL, JOB))
        file.commit()
    with rc.Store(path, clock=rc.ManualClock(start=200)) as store:
        assert store.next_due() == GOOD_UNTIL
        assert store.tick(GOOD_UNTIL) == []
        assert store.next_due() == 150 + 2 * LATE
        assert (store.jobs.get(JOB).state, store.check()) == ("retry", [])
        assert [step.kind for step in store.tick(150 + 2 * LATE)] == ["job_ready"]


def test_a_deploy_puts_it_back(tmp_path: Path) -> None:
    """A worker that stops, and hands its job to the next one long after the job's good_for."""
    clock = rc.ManualClock(start=0)
    store = rc.Store(tmp_path / "a.db", clock=clock)
    worker = Worker(store, poll_interval=50, grace=1)

    @worker.task("t", good_for=GOOD_UNTIL)
    def task() -> str:
        runs.append(store.now)
        if len(runs) == 1:
            began.append(True)
            while not ended:
                time.sleep(0.01)
        return "done"

    runs: list[int] = []
    began: list[bool] = []
    ended: list[bool] = []
    task.enqueue(id="j")
    try:
        with worker:
            give_up = time.monotonic() + 30
            while not began and time.monotonic() < give_up:
                time.sleep(0.01)
        clock.advance(LATE)
        job = store.jobs.get("j")
        assert (job.state, job.expired_at) == ("pending", None), job
    finally:
        ended.append(True)
    store.close()
