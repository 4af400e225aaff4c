"""A job's good_until, deadline, lease and attempt timeout: which one wins, also at the same instant."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_wire import JOB, JobClient, assert_states_agree, encoded_error
from conformance.wire import rows_of


@pytest.fixture
def client(store: Any) -> JobClient:
    return JobClient(store)


@pytest.mark.parametrize("swept", [False, True], ids=["projected", "swept"])
@pytest.mark.parametrize("before", ["scheduled", "pending", "claimed"])
@pytest.mark.parametrize(
    ("good_until", "deadline", "state"), [(500, 500, "failed"), (499, 500, "expired"), (501, 500, "failed"), (500, None, "expired")]
)
def test_good_until_and_deadline(
    client: JobClient, before: str, good_until: int, deadline: int | None, state: str, swept: bool
) -> None:
    """The earlier of the two wins, the deadline on a tie, no matter how late the job is read."""
    options = {"goodUntil": good_until, **({} if deadline is None else {"deadline": deadline})}
    if before == "scheduled":
        options["processAt"] = 10_000
    client.enqueue(now=0, **options).must()
    if before == "claimed":
        client.claim(now=10).must()
    if swept:
        client.store.tick(600)
    job = client.job(now=700)
    promise = client.get(JOB, now=700).must()["promise"]
    assert job["state"] == state
    assert job["attempts"] == [], "neither of them is an attempt"
    if state == "expired":
        assert (job["expiredAt"], job["error"]["code"]) == (good_until, "TaskExpired") and "failedAt" not in job
        assert (promise["state"], promise["settledAt"]) == ("rejected", good_until)
        assert promise["value"]["data"] == encoded_error("TaskExpired", job["error"]["message"])
    else:
        assert (job["failedAt"], job["error"]["code"]) == (500, "DeadlineExceeded") and "expiredAt" not in job
        assert (promise["state"], promise["settledAt"]) == ("rejected_timedout", 500)
        assert not promise["value"].get("data")
    assert_states_agree(client)


def test_a_look_stores_nothing(client: JobClient) -> None:
    client.enqueue(now=0, goodUntil=50).must()
    before = rows_of(client.store)
    assert client.job(now=60)["state"] == "expired"
    assert client.jobs(now=60, state="expired") == [JOB] and client.jobs(now=60, state="pending") == []
    assert client.get(JOB, now=60).must()["promise"]["state"] == "rejected"
    assert rows_of(client.store) == before
    assert [(f.kind, f.id, f.at, f.now) for f in client.store.tick(60)] == [("job_expiry", JOB, 50, 60)]
    assert client.job()["state"] == "expired" and rows_of(client.store) != before


def test_the_deadline_of_a_running_job(client: JobClient) -> None:
    """Its attempt ends at the deadline; later requests of its worker are refused."""
    client.enqueue(now=0, deadline=500, goodUntil=400).must()
    client.run_one(now=10, lease=10_000)
    assert client.job(now=499)["state"] == "running"
    client.complete(now=500).must(409)
    job = client.job()
    assert (job["state"], job["failedAt"], job["error"]["code"]) == ("failed", 500, "DeadlineExceeded")
    (attempt,) = job["attempts"]
    assert (attempt["outcome"], attempt["finishedAt"]) == ("timed_out", 500)
    assert client.beat((JOB, 1), now=501) == ([], [JOB])
    assert_states_agree(client)


@pytest.mark.parametrize("started", [False, True])
def test_an_archived_job_has_a_deadline_and_no_good_until(client: JobClient, started: bool) -> None:
    """If a person runs it again, it must start before good_until, unless it has started before."""
    client.enqueue(now=0, goodUntil=100, deadline=900).must()
    if started:
        client.run_one(now=0)
        client.fail(now=10, retryable=False).must()
    else:
        client.administer("archive", now=10).must()
    assert client.job(now=899)["state"] == "archived"
    other = client.store.fork()
    assert JobClient(other).administer("run", now=899).status == 200
    assert JobClient(other).job(now=899)["state"] == ("pending" if started else "expired")
    assert other.check() == []
    assert client.job(now=900)["state"] == "failed"


@pytest.mark.parametrize("good_until", [0, 50, 100])
def test_a_job_that_is_too_late_when_it_is_enqueued(client: JobClient, good_until: int) -> None:
    """Its promise is created as of good_until, since it cannot be settled before it is created."""
    client.enqueue(now=100, goodUntil=good_until).must()
    job = client.job(now=100)
    assert (job["state"], job["expiredAt"], job["sentAt"], job["attempts"]) == ("expired", good_until, 100, [])
    promise = client.get(JOB).must()["promise"]
    assert (promise["state"], promise["createdAt"], promise["settledAt"]) == ("rejected", good_until, good_until)
    assert client.claimed(now=100) == []
    assert_states_agree(client)
    assert client.store.check() == []


def test_a_promise_that_is_adopted_too_late(client: JobClient) -> None:
    """The promise keeps its instant of creation; the job expires at that instant, though good_until is earlier."""
    client.create(JOB, now=60).must()
    client.enqueue(now=100, goodUntil=50).must()
    assert (client.state(), client.job()["expiredAt"]) == ("expired", 60)
    assert client.get(JOB).must()["promise"]["settledAt"] == 60 and client.store.check() == []


@pytest.mark.parametrize("deadline", [0, 50, 100])
def test_a_job_that_is_born_dead(client: JobClient, deadline: int) -> None:
    job = client.enqueue(now=100, deadline=deadline).must()["job"]
    assert (job["state"], job["failedAt"], job["error"]["code"], job["sentAt"]) == ("failed", deadline, "DeadlineExceeded", 100)
    promise = client.get(JOB).must()["promise"]
    assert (promise["state"], promise["createdAt"], promise["settledAt"]) == ("rejected_timedout", deadline, deadline)
    assert client.claimed() == [] and client.store.check() == []
    assert_states_agree(client)


def test_what_is_due_at_one_instant(client: JobClient) -> None:
    """Order of the steps: deadline and good_until, then leases and attempt timeouts, then jobs that become ready; each by id."""
    client.enqueue("e", now=0, processAt=100).must()
    client.enqueue("d", now=0, timeout=100).must()
    client.enqueue("c", now=0).must()
    client.run_one("c", now=0, lease=100)
    client.run_one("d", now=0, lease=200)
    client.enqueue("b", now=0, goodUntil=100).must()
    client.enqueue("a", now=0, deadline=100).must()
    steps = [(f.kind, f.id, f.at) for f in client.store.tick(100)]
    assert steps == [
        ("promise_timeout", "a", 100),
        ("job_expiry", "b", 100),
        ("job_lease", "c", 100),
        ("job_timeout", "d", 100),
        ("job_ready", "e", 100),
    ]


def test_good_until_at_the_instant_of_process_at(client: JobClient) -> None:
    client.enqueue(now=0, processAt=100, goodUntil=100).must()
    assert [f.kind for f in client.store.tick(100)] == ["job_expiry"]


@pytest.mark.parametrize(
    ("lease", "timeout", "outcome", "at"),
    [(100, 200, "crashed", 100), (200, 100, "timed_out", 100), (100, 100, "timed_out", 100), (100, None, "crashed", 100)],
)
def test_lease_and_attempt_timeout(client: JobClient, lease: int, timeout: int | None, outcome: str, at: int) -> None:
    """The earlier of the two wins, the timeout on a tie, even if both have passed when the step runs."""
    client.enqueue(now=0, **({} if timeout is None else {"timeout": timeout})).must()
    client.run_one(now=0, lease=lease)
    first, *_ = client.store.tick(1_000)
    assert (first.at, first.now) == (at, 1_000)
    job = client.job()
    (attempt,) = job["attempts"]
    code, message = {
        "crashed": ("WorkerCrashed", "the worker's lease expired"),
        "timed_out": ("TaskTimeout", "the attempt took longer than its timeout"),
    }[outcome]
    assert (attempt["outcome"], attempt["error"]) == (outcome, {"code": code, "message": message})
    assert (job["state"], job["retryCount"], job["error"]["code"]) == ("retry", 1, code)


def test_a_heartbeat_does_not_put_off_the_attempts_timeout(client: JobClient) -> None:
    client.enqueue(now=0, timeout=100).must()
    client.run_one(now=0, lease=60)
    assert client.beat((JOB, 1), now=50) == ([], [])
    assert [(f.kind, f.at) for f in client.store.tick(100)] == [("job_timeout", 100)]


def test_a_request_at_the_very_instant_of_an_unswept_end_comes_first(client: JobClient) -> None:
    """PROTOCOL 8: first the clock is set, then the request runs, then the steps."""
    client.enqueue("beats", now=0).must()
    client.enqueue("done", now=0).must()
    client.run_one("beats", now=0, lease=100)
    client.run_one("done", now=0, lease=100)
    answers = client.store.apply(
        [
            {
                "kind": "job.heartbeat",
                "head": {"corrId": "1", "version": "2026-04-01"},
                "data": {"worker": "w1", "jobs": [{"id": "beats", "version": 1}]},
            },
        ],
        now=100,
    )
    assert answers[0]["data"] == {"cancelled": [], "lost": []}
    assert client.job("beats")["state"] == "running" and client.job("beats")["leaseUntil"] == 200
    assert client.job("done")["state"] == "retry", "nobody spoke for this one"


def test_leases_of_claim_start_and_heartbeat(client: JobClient) -> None:
    """Claim and start each set a lease; a start without one uses the run_lease of the claim. A heartbeat renews the current lease."""
    client.enqueue("a", now=0).must()
    (job,) = client.claim(now=0, lease=100, runLease=700).must()["jobs"]
    assert job["leaseUntil"] == 100
    client.beat(("a", 1), now=40)
    assert client.job("a")["leaseUntil"] == 140
    assert client.start("a", now=50).must()["job"]["leaseUntil"] == 750
    client.beat(("a", 1), now=60)
    assert client.job("a")["leaseUntil"] == 760
    client.enqueue("b", now=60).must()
    client.claim(now=60, lease=100).must()
    assert client.start("b", now=70, lease=33).must()["job"]["leaseUntil"] == 103
    client.beat(("b", 1), now=80)
    assert client.job("b")["leaseUntil"] == 113
    client.enqueue("c", now=80, lifecycle="asynq").must()
    (job,) = client.claim(now=80, lease=100, runLease=500).must()["jobs"]
    assert (job["id"], job["state"], job["leaseUntil"]) == ("c", "running", 580)
    client.beat(("c", 1), now=90)
    assert client.job("c")["leaseUntil"] == 590
    client.enqueue("d", now=90, lifecycle="asynq").must()
    assert client.claim(now=90, lease=100).must()["jobs"][0]["leaseUntil"] == 190


@pytest.mark.parametrize(
    ("data", "good_until"),
    [
        ({}, 15),
        ({"processAt": 20}, 25),
        ({"processAt": 3}, 15),
        ({"processIn": 7}, 22),
    ],
)
def test_good_for_counts_from_when_the_job_may_run(client: JobClient, data: dict[str, int], good_until: int) -> None:
    assert client.enqueue(now=10, goodFor=5, **data).must()["job"]["goodUntil"] == good_until


@pytest.mark.parametrize("data", [{"goodFor": 2**63 - 1}, {"goodFor": 2**63 - 11}, {"goodUntil": 2**63 - 1}])
def test_a_job_that_is_good_until_the_largest_instant_is_good_for_ever(client: JobClient, data: dict[str, int]) -> None:
    assert "goodUntil" not in client.enqueue(now=10, **data).must()["job"]
    assert client.store.next_due() is None


def test_sums_saturate(client: JobClient) -> None:
    end = 2**63 - 1
    client.enqueue(now=5, processIn=end).must()
    assert client.job()["processAt"] == end
    client.administer("run").must()
    (job,) = client.claim(lease=end).must()["jobs"]
    assert job["leaseUntil"] == end
    assert client.start(lease=end).must()["job"]["leaseUntil"] == end
    assert client.snooze(delay=end).must()["job"]["processAt"] == end
    assert client.store.check() == []
