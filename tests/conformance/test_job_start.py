"""job.claim with `start`: this many of its jobs run at once, in any lifecycle."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_wire import QUEUE, JobClient, assert_states_agree
from conformance.wire import V25, V26, rows_of


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    client = JobClient(store, request.param)
    for n in range(4):
        client.enqueue(f"j{n}", now=0).must()
    return client


def states(client: JobClient, **claim: Any) -> list[str]:
    return [job["state"] for job in client.claim(4, **claim).must()["jobs"]]


@pytest.mark.parametrize("start", [0, 1, 3, 4, 5, 10**6])
def test_the_first_n_run(client: JobClient, start: int) -> None:
    """A `start` larger than the number of jobs starts all of them."""
    running = min(start, 4)
    assert states(client, now=1, start=start) == ["running"] * running + ["claimed"] * (4 - running)
    for n in range(4):
        assert client.state(f"j{n}") == ("running" if n < running else "claimed")
        assert_states_agree(client, f"j{n}")
    assert client.stats()["counts"]["running"] == running and client.store.check() == []


def test_without_it_none_do(client: JobClient) -> None:
    assert states(client, now=1) == ["claimed"] * 4


def test_in_the_order_of_the_reply(store: Any) -> None:
    """The order of the reply is by queue, then by priority."""
    client = JobClient(store)
    for id, queue, priority in (("a", "q", 60), ("b", "q", 10), ("c", "r", 50), ("d", "r", 40)):
        client.enqueue(id, queue=queue, priority=priority).must()
    jobs = client.claim(4, ["q", "r"], start=2, strict=True).must()["jobs"]
    assert [(job["id"], job["state"]) for job in jobs] == [("b", "running"), ("a", "running"), ("d", "claimed"), ("c", "claimed")]


def test_fewer_than_asked_for(client: JobClient) -> None:
    assert [job["state"] for job in client.claim(2, start=3).must()["jobs"]] == ["running"] * 2
    assert states(client, start=1) == ["running", "claimed"]
    assert states(client, start=5) == []


@pytest.mark.parametrize(("lease", "run_lease"), [(100, None), (100, 700), (700, 100)])
def test_it_is_a_claim_and_a_start(client: JobClient, lease: int, run_lease: int | None) -> None:
    """The record and the stored rows are those of a claim and a start at one instant."""
    options: dict[str, Any] = {"lease": lease} if run_lease is None else {"lease": lease, "runLease": run_lease}
    twin = JobClient(client.store.fork(), client.version)
    (job,) = client.claim(1, now=5, start=1, **options).must()["jobs"]
    assert job["leaseUntil"] == 5 + (run_lease or lease)
    assert (job["claimedAt"], job["startedAt"], job["version"]) == (5, 5, 1)
    assert job["attempts"] == [{"number": 1, "worker": "w1", "startedAt": 5}]
    twin.claim(1, now=5, **options).must()
    assert twin.start("j0", now=5).must()["job"] == job == client.job("j0")
    assert rows_of(twin.store) == rows_of(client.store)
    assert client.beat(("j0", 1), now=50) == ([], []) and client.job("j0")["leaseUntil"] == 50 + (run_lease or lease)
    client.start("j0", now=51).must(409)
    assert client.complete("j0", now=52).must()["job"]["state"] == "completed"


def test_those_that_do_not_start_wait_under_the_claims_lease(client: JobClient) -> None:
    jobs = client.claim(2, now=5, start=1, lease=100, runLease=700).must()["jobs"]
    assert [job["leaseUntil"] for job in jobs] == [705, 105]
    assert client.start("j1", now=10).must()["job"]["leaseUntil"] == 710


def test_its_timeout_and_its_lease_run_from_the_claim(store: Any) -> None:
    client = JobClient(store)
    client.enqueue("timed", now=0, timeout=50, lifecycle="horsies").must()
    client.enqueue("crashes", now=0, priority=60).must()
    assert states(client, now=10, start=2, lease=100) == ["running", "running"]
    assert [(s.kind, s.id, s.at) for s in store.clock.advance_to(120)] == [
        ("job_timeout", "timed", 60),
        ("job_lease", "crashes", 110),
    ]
    assert client.job("timed")["attempts"][0]["outcome"] == "timed_out"
    assert (client.job("crashes")["state"], client.job("crashes")["retryCount"]) == ("retry", 1)


def test_a_job_of_asynqs_lifecycle_runs_anyway_and_counts(store: Any) -> None:
    client = JobClient(store)
    for n, lifecycle in enumerate(["asynq", "horsies", "asynq", "horsies"]):
        client.enqueue(f"{n}", now=0, lifecycle=lifecycle).must()
    assert states(client, now=1, start=1) == ["running", "claimed", "running", "claimed"]


def test_it_is_no_start_of_what_is_held_already(client: JobClient) -> None:
    client.claim(2, now=1).must()
    assert [job["id"] for job in client.claim(1, now=2, start=4).must()["jobs"]] == ["j2"]
    assert [client.state(f"j{n}") for n in range(4)] == ["claimed", "claimed", "running", "pending"]


@pytest.mark.not_of_the_model("it has no typed calls")
def test_the_typed_call(client: JobClient) -> None:
    jobs = client.store.jobs.claim(QUEUE, 3, worker="w", lease=1_000, start=2)
    assert [(job.id, job.state) for job in jobs] == [("j0", "running"), ("j1", "running"), ("j2", "claimed")]
    assert [job.state for job in client.store.jobs.claim(QUEUE, worker="w", lease=1_000)] == ["claimed"]
