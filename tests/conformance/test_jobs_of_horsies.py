"""Horsies' documented lifecycle, to the millisecond: each transition with the instants that it sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_wire import HORSIES_STATES, JobClient, assert_states_agree, assert_typed, encoded_error
from conformance.wire import Reply

MINUTE = 60_000
T0 = 1_764_547_200_000
CLAIM, RUN = 5_000, 20_000
"""The leases of the claimer and of the runner."""
ERROR = {"code": "CardDeclined", "message": "no money", "data": "bzI="}


@pytest.fixture
def client(make_store: Callable[..., Any], clock_type: Any) -> JobClient:
    """A store with one horsies queue."""
    client = JobClient(make_store(clock=clock_type(T0)))
    client.queue("set", "default", lifecycle="horsies")
    return client


def send(client: JobClient, **data: Any) -> dict[str, Any]:
    """Enqueues as horsies' `.send()` does."""
    job: dict[str, Any] = client.enqueue("t", queue="default", type="charge", **data).must()["job"]
    return job


def claim(client: JobClient, worker: str = "w1") -> list[dict[str, Any]]:
    """Claims as horsies' claim query does."""
    jobs: list[dict[str, Any]] = client.claim(1, ["default"], worker, CLAIM, runLease=RUN).must()["jobs"]
    return jobs


def start(client: JobClient, version: int = 1, now: int | None = None) -> Reply:
    """Starts the task as horsies' dispatch does; from now on the runner's heartbeat counts."""
    return client.start("t", version, now)


def instants(client: JobClient) -> dict[str, int]:
    """The task's timestamps, in ms after T0; horsies has no name for `createdAt`."""
    assert_states_agree(client, "t")
    job = client.job("t")
    return {name: at - T0 for name, at in job.items() if name.endswith("At") and isinstance(at, int) and name != "createdAt"}


def status(client: JobClient) -> str:
    """The task's state by horsies' name."""
    name = HORSIES_STATES[client.state("t")]
    assert_typed(client, "t", horsies_state=name)
    return name


def test_pending_claimed_running_completed(client: JobClient) -> None:
    clock = client.store.clock
    assert send(client) == {
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
        "createdAt": T0,
        "sentAt": T0,
        "enqueuedAt": T0,
    }
    assert (status(client), instants(client)) == ("PENDING", {"sentAt": 0, "enqueuedAt": 0})

    clock.advance(40)
    (job,) = claim(client)
    assert (job["claimedBy"], job["version"], job["leaseUntil"], job["attempts"]) == ("w1", 1, T0 + 40 + CLAIM, [])
    assert (status(client), instants(client)) == ("CLAIMED", {"sentAt": 0, "enqueuedAt": 0, "claimedAt": 40})

    clock.advance(10)
    job = start(client).must()["job"]
    assert (job["leaseUntil"], job["attempts"]) == (T0 + 50 + RUN, [{"number": 1, "worker": "w1", "startedAt": T0 + 50}])
    assert (status(client), instants(client)) == ("RUNNING", {"sentAt": 0, "enqueuedAt": 0, "claimedAt": 40, "startedAt": 50})

    clock.advance(15_000)
    assert client.beat(("t", 1)) == ([], [])
    assert client.job("t")["leaseUntil"] == T0 + 15_050 + RUN, "the runner's heartbeat renews the runner's lease"
    clock.advance(15_000)
    job = client.complete("t", result={"data": "b2s="}).must()["job"]
    assert job["result"] == {"data": "b2s="}
    assert status(client) == "COMPLETED"
    assert instants(client) == {"sentAt": 0, "enqueuedAt": 0, "claimedAt": 40, "startedAt": 50, "completedAt": 30_050}
    assert clock.advance(10**12) == [], "it is kept"
    assert client.get("t").must()["promise"]["value"] == {"data": "b2s="}


def test_err_fails_it_and_the_error_is_the_result(client: JobClient) -> None:
    clock = client.store.clock
    send(client)
    claim(client)
    start(client).must()
    clock.advance(100)
    job = client.send("job.fail", {"id": "t", "version": 1, "error": ERROR}).must()["job"]
    assert status(client) == "FAILED" and job["error"] == ERROR
    assert job["result"] == {"data": encoded_error("CardDeclined", "no money", "bzI=")}
    assert instants(client) == {"sentAt": 0, "enqueuedAt": 0, "claimedAt": 0, "startedAt": 0, "failedAt": 100}
    promise = client.get("t").must()["promise"]
    assert (promise["state"], promise["settledAt"]) == ("rejected", T0 + 100)
    assert promise["value"]["data"] == encoded_error("CardDeclined", "no money", "bzI=")


@pytest.mark.parametrize("lifecycle", ["horsies", "asynq"])
def test_the_result_of_what_ended_is_its_promise_s_value(client: JobClient, lifecycle: str) -> None:
    """This holds for every end. An archived job has no result yet, since it can run again."""
    for id in ("failed", "archived", "cancelled"):
        client.enqueue(id, queue="default", lifecycle=lifecycle, onExhausted="archived" if id == "archived" else "failed").must()
    client.send("job.cancel", {"id": "cancelled"}).must()
    for job in client.claim(2, ["default"], "w", CLAIM, start=2).must()["jobs"]:
        client.send("job.fail", {"id": job["id"], "version": 1, "error": ERROR, "retryable": False}).must()
    client.enqueue("expired", queue="default", lifecycle=lifecycle, goodUntil=client.store.now + 5).must()
    client.enqueue("late", queue="default", lifecycle=lifecycle, deadline=client.store.now + 5).must()
    client.store.clock.advance(5)
    results = {id: client.job(id).get("result") for id in ("failed", "archived", "cancelled", "expired", "late")}
    assert results == {
        "failed": {"data": encoded_error("CardDeclined", "no money", "bzI=")},
        "archived": None,
        "cancelled": {"data": encoded_error("Cancelled", "the job was cancelled")},
        "expired": {"data": encoded_error("TaskExpired", "the job was not started before its goodUntil")},
        "late": {},
    }
    for id, result in results.items():
        assert client.get(id).must()["promise"]["value"] == (result or {})


def test_a_crashed_worker_fails_it_without_a_policy(client: JobClient) -> None:
    """The runner sends no heartbeat."""
    clock = client.store.clock
    send(client)
    claim(client)
    clock.advance(10)
    start(client).must()
    assert [(f.kind, f.at - T0) for f in clock.advance(RUN)] == [("job_lease", 10 + RUN)]
    job = client.job("t")
    assert job["error"] == {"code": "WorkerCrashed", "message": "the worker's lease expired"}
    assert (status(client), instants(client)["failedAt"]) == ("FAILED", 10 + RUN)
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


def test_retries_by_the_intervals_of_a_policy(client: JobClient) -> None:
    """Running → Pending: retry_count rises, next_retry_at follows the intervals, enqueued_at changes and sent_at does not."""
    clock = client.store.clock
    send(client, retryPolicy={"kind": "fixed", "intervals": [MINUTE, 5 * MINUTE, 15 * MINUTE]})
    at = 0
    for n, wait in enumerate((MINUTE, 5 * MINUTE, 15 * MINUTE)):
        claim(client)
        clock.advance(3)
        start(client, n + 1).must()
        clock.advance(7)
        job = client.fail("t", n + 1).must()["job"]
        assert (job["retryCount"], job["nextRetryAt"]) == (n + 1, T0 + at + 10 + wait)
        assert (status(client), instants(client)) == ("PENDING", {"sentAt": 0, "nextRetryAt": at + 10 + wait})
        at += 10 + wait
        assert claim(client) == []
        assert [(f.kind, f.at - T0) for f in clock.advance_to(T0 + at)] == [("job_ready", at)]
        assert (status(client), instants(client)) == ("PENDING", {"sentAt": 0, "enqueuedAt": at})
    claim(client)
    start(client, 4).must()
    client.fail("t", 4).must()
    assert (status(client), client.job("t")["retryCount"], len(client.job("t")["attempts"])) == ("FAILED", 3, 4)
    assert instants(client)["failedAt"] == at


def test_good_until_passes_while_it_is_pending(client: JobClient) -> None:
    clock = client.store.clock
    send(client, goodUntil=T0 + 5 * MINUTE)
    assert clock.advance(5 * MINUTE - 1) == [] and status(client) == "PENDING"
    assert [(f.kind, f.at - T0) for f in clock.advance(1)] == [("job_expiry", 5 * MINUTE)]
    assert status(client) == "EXPIRED"
    assert instants(client) == {"sentAt": 0, "enqueuedAt": 0, "expiredAt": 5 * MINUTE}
    job = client.job("t")
    assert job["error"]["code"] == "TaskExpired" and job["attempts"] == [] and claim(client) == []
    promise = client.get("t").must()["promise"]
    assert (promise["state"], promise["settledAt"]) == ("rejected", T0 + 5 * MINUTE)


def test_good_until_passes_while_it_is_claimed(client: JobClient) -> None:
    """The guard of the transition Claimed → Running refuses it; no attempt is written."""
    clock = client.store.clock
    send(client, goodUntil=T0 + 1_000)
    clock.advance(999)
    assert len(claim(client)) == 1
    before = client.store.now
    reply = start(client, now=before + 1)
    assert reply.status == 409 and "expired" in reply.data.lower()
    assert status(client) == "EXPIRED" and client.job("t")["attempts"] == []
    assert instants(client)["expiredAt"] == 1_000


def test_it_started_in_time_and_may_run_beyond(client: JobClient) -> None:
    clock = client.store.clock
    send(client, goodUntil=T0 + 1_000)
    claim(client)
    clock.advance(999)
    start(client).must()
    assert clock.advance(10_000) == []
    client.complete("t").must()
    assert status(client) == "COMPLETED"


def test_a_claim_that_went_stale_goes_back(client: JobClient) -> None:
    """The task never ran: no retry is used, no attempt is written, and claimed_at is removed."""
    clock = client.store.clock
    send(client)
    claim(client, "w1")
    clock.advance(CLAIM - 1)
    assert client.beat(("t", 1)) == ([], [])
    assert client.job("t")["leaseUntil"] == T0 + 2 * CLAIM - 1, "the claimer's heartbeat renews the claimer's lease"
    assert [(f.kind, f.at - T0) for f in clock.advance(CLAIM)] == [("job_lease", 2 * CLAIM - 1)]
    job = client.job("t")
    assert (status(client), job["retryCount"], job["attempts"], job["version"]) == ("PENDING", 0, [], 1)
    assert instants(client) == {"sentAt": 0, "enqueuedAt": 0}
    (job,) = claim(client, "w2")
    assert (job["claimedBy"], job["version"]) == ("w2", 2)
    start(client, 1).must(409)
    start(client, 2).must()


def test_a_task_that_is_sent_for_later(client: JobClient) -> None:
    """`.schedule()`: sent_at is the instant of the call, enqueued_at that from which the task can be claimed."""
    clock = client.store.clock
    assert "enqueuedAt" not in send(client, processIn=MINUTE, sentAt=T0 - 17)
    assert (status(client), instants(client)) == ("PENDING", {"processAt": MINUTE, "sentAt": -17})
    clock.advance(MINUTE)
    assert instants(client) == {"processAt": MINUTE, "sentAt": -17, "enqueuedAt": MINUTE}


def test_cancelled_with_its_workflow(client: JobClient) -> None:
    """A filter by the workflow's tag cancels its pending and its running tasks."""
    clock = client.store.clock
    send(client, tags={"workflow": "w-1"})
    claim(client)
    start(client).must()
    client.enqueue("u", queue="default", tags={"workflow": "w-1"}).must()
    client.enqueue("other", queue="default", tags={"workflow": "w-2"}).must()
    clock.advance(5)
    assert client.all_of("cancel", tags={"workflow": "w-1"}) == 2
    assert (status(client), instants(client)["cancelledAt"]) == ("CANCELLED", 5)
    assert [client.state(id) for id in ("t", "u", "other")] == ["cancelled", "cancelled", "pending"]
    assert client.beat(("t", 1)) == (["t"], [])
    assert client.job("t")["attempts"][0]["outcome"] == "cancelled"
