"""A batch is claimed as a whole: beyond the count, for one token, in one round of the queues; also after a retry or a release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance import job_policies
from conformance.job_groups import GROUP, batch, enqueue_batch, join
from conformance.job_wire import QUEUE, TYPE, JobClient
from conformance.wire import V25, V26

LEASE = 10**9


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def started(client: JobClient, *ids: str, now: int, **claim: Any) -> None:
    """Claims and starts these jobs; one claim with count 1 must return exactly them."""
    assert client.claimed(1, now=now, **claim) == list(ids)
    items = [{"id": id, "version": client.job(id)["version"]} for id in ids]
    answers = client.send("job.start_many", {"jobs": items}, now).must()["jobs"]
    assert {answer["status"] for answer in answers} == {200}


# --- the jobs that a claim returns ----------------------------------------------------------------------------------
@pytest.mark.parametrize("count", [1, 2, 3, 100])
def test_a_batch_comes_as_a_whole(client: JobClient, count: int) -> None:
    enqueue_batch(client, "c", "a", "b", now=0)
    jobs = client.claim(count, now=1, lease=50).must()["jobs"]
    assert [job["id"] for job in jobs] == ["a", "b", "c"]
    assert {(job["state"], job["batch"], job["version"], job["claimedBy"], job["leaseUntil"]) for job in jobs} == {
        ("claimed", batch(1), 1, "w1", 51)
    }
    assert client.claimed(5, now=1) == [] and client.stats()["active"] == 3


def test_a_batch_stands_where_its_first_stands(client: JobClient) -> None:
    """The place of a batch is that of its first job by priority, enqueuedAt and id; the others follow it in order of their ids."""
    for id, priority in (("x", 20), ("y", 60), ("first", 5)):
        client.enqueue(id, now=0, priority=priority).must()
    client.queue("set", groups={"size": 3})
    for id, priority in (("b1", 50), ("b2", 10), ("b0", 90)):
        join(client, id, 0, priority=priority)
    assert client.claimed(100, now=1) == ["first", "b2", "b0", "b1", "x", "y"]


@pytest.mark.parametrize(("count", "got"), [(1, 1), (2, 4), (3, 4), (4, 4), (5, 6), (6, 6), (7, 7), (8, 7)])
def test_a_count_is_never_a_reason_to_split_one(client: JobClient, count: int, got: int) -> None:
    client.enqueue("a", now=0).must()
    enqueue_batch(client, "m1", "m2", "m3", now=1)
    enqueue_batch(client, "n1", "n2", now=2)
    client.enqueue("z", now=3).must()
    ids = ["a", "m1", "m2", "m3", "n1", "n2", "z"]
    assert client.claimed(count, now=4) == ids[:got]
    assert client.claimed(100, now=4) == ids[got:]


def test_a_thousand_for_one(make_store: Callable[..., Any]) -> None:
    client = JobClient(make_store(check=False))
    jobs = [{"id": f"{n:04}", "queue": QUEUE, "type": TYPE, "group": GROUP} for n in range(1_000)]
    client.send("job.enqueue_many", {"jobs": jobs}, 0).must()
    assert client.claimed(1, now=1) == [f"{n:04}" for n in range(1_000)]
    assert client.claimed(1, now=1) == [] and client.store.check() == []


def test_batches_of_other_groups_and_queues_are_others(client: JobClient) -> None:
    enqueue_batch(client, "a1", "a2", now=0)
    enqueue_batch(client, "b1", "b2", now=0, group="other")
    enqueue_batch(client, "c1", "c2", now=0, queue="elsewhere")
    enqueue_batch(client, "d1", "d2", now=0, group=batch(1))
    assert client.claimed(1, now=1) == ["a1", "a2"]
    assert client.claimed(1, now=1) == ["b1", "b2"]
    assert client.claimed(1, now=1) == ["d1", "d2"]
    assert client.claimed(1, now=1) == []
    assert client.claimed(1, queues=["elsewhere"], now=1) == ["c1", "c2"]


def test_two_batches_of_one_group_are_two(client: JobClient) -> None:
    for n in range(3):
        enqueue_batch(client, f"a{n}", f"b{n}", now=n)
    assert [client.claimed(1, now=9) for _ in range(4)] == [["a0", "b0"], ["a1", "b1"], ["a2", "b2"], []]


def test_those_that_are_dead_stay_behind(client: JobClient) -> None:
    enqueue_batch(client, "a", "b", now=0)
    client.queue("set", groups={"size": 3})
    join(client, "c", 10, goodUntil=100)
    join(client, "d", 10)
    join(client, "e", 10, deadline=100)
    assert client.claimed(10, now=100) == ["a", "b", "d"]
    assert (client.state("c"), client.state("e")) == ("expired", "failed")
    assert client.job("c")["batch"] == client.job("d")["batch"] == batch(2)


def test_those_whose_end_waits_for_its_step_stay_behind(make_store: Callable[..., Any]) -> None:
    """More jobs of the batch expire at once than a claim runs steps for; the claim leaves out those still stored as pending."""
    client = JobClient(make_store(check=False))
    client.queue("set", groups={"size": 200})
    dead = [{"id": f"{n:03}", "queue": QUEUE, "type": TYPE, "group": GROUP, "goodUntil": 100} for n in range(199)]
    client.send("job.enqueue_many", {"jobs": [*dead, {"id": "living", "queue": QUEUE, "type": TYPE, "group": GROUP}]}, 0).must()
    assert client.claimed(1, now=100) == ["living"]
    stored = {row["id"]: row["job"]["state"] for row in client.store.snapshot()["promises"]}
    assert "pending" in stored.values(), "no step was left, so this test shows nothing"
    assert {client.state(id) for id in stored} == {"expired", "claimed"}


def test_those_that_a_person_took_out_stay_behind(client: JobClient) -> None:
    enqueue_batch(client, "a", "b", "c", "d", now=0)
    client.administer("cancel", "a", now=1).must()
    client.administer("archive", "c", now=1).must()
    assert client.claimed(1, now=2) == ["b", "d"]
    assert client.administer("run", "c", now=3).must()["job"]["batch"] == batch(1), (
        "a job keeps the batch with which it became ready"
    )
    assert client.claimed(1, now=4) == ["c"]


# --- weights, rate and concurrency ----------------------------------------------------------------------------------
def test_a_batch_is_one_token(client: JobClient) -> None:
    enqueue_batch(client, "a", "b", "c", now=0)
    enqueue_batch(client, "d", "e", now=0)
    client.queue("set", rate={"limit": 1, "per": 1_000}, now=0)
    first = client.claim(10, now=0).must().data
    assert ([job["id"] for job in first["jobs"]], first["nextAt"]) == (["a", "b", "c"], 1_000)
    assert client.claim(10, now=999).must().data == {"jobs": [], "nextAt": 1_000}
    second = client.claim(2, now=1_000).must().data
    assert [job["id"] for job in second["jobs"]] == ["d", "e"] and "nextAt" not in second


def test_a_batch_that_is_more_than_was_asked_for_says_nothing_of_tokens(client: JobClient) -> None:
    """A reply has nextAt only if the claim returned fewer jobs than it asked for."""
    enqueue_batch(client, "a", "b", "c", now=0)
    client.enqueue("d", now=1).must()
    client.queue("set", rate={"limit": 1, "per": 1_000}, now=1)
    got = client.claim(2, now=1).must().data
    assert [job["id"] for job in got["jobs"]] == ["a", "b", "c"] and "nextAt" not in got


def test_a_batch_comes_where_one_has_room(client: JobClient) -> None:
    """Room for one job is enough, so a batch can exceed the limit of concurrency; later claims wait until there is room again."""
    client.queue("set", concurrency=2)
    client.enqueue("one", now=0).must()
    enqueue_batch(client, "a", "b", "c", now=1)
    client.enqueue("z", now=2).must()
    assert client.claimed(10, now=3, lease=LEASE) == ["one", "a", "b", "c"]
    assert client.queue("get")["active"] == 4
    for id in ("one", "a", "b"):
        assert client.claimed(10) == []
        client.start(id).must()
        client.complete(id).must()
    assert client.claimed(10) == ["z"], "beside c"
    assert client.store.check() == []


def test_a_batch_waits_for_a_place(client: JobClient) -> None:
    client.queue("set", concurrency=1)
    client.enqueue("one", now=0).must()
    enqueue_batch(client, "a", "b", now=1)
    assert client.claimed(10, now=2) == ["one"]
    assert client.claimed(10, now=3) == []
    client.give_back("one", now=4).must()
    client.administer("cancel", "one", now=4).must()
    assert client.claimed(10, now=5) == ["a", "b"]


def test_a_batch_is_one_turn(client: JobClient) -> None:
    """Weighted round robin counts a batch as one job, within a claim and over several claims."""
    for n in range(6):
        for name in "ab":
            enqueue_batch(client, f"{name}{n}-0", f"{name}{n}-1", f"{name}{n}-2", now=0, queue=name)
        client.enqueue(f"c{n}", now=0, queue="c").must()
    weights = [{"name": "a", "weight": 5}, {"name": "b", "weight": 1}, {"name": "c", "weight": 1}]
    got = client.claimed(3 * 6 + 1, queues=weights, now=1)
    assert [id.partition("-")[0] for id in got if not id.endswith(("-1", "-2"))] == ["a0", "a1", "b0", "a2", "c0", "a3", "a4"]
    assert [client.claimed(1, queues=weights, now=1)[0] for _ in range(3)] == ["a5-0", "b1-0", "c1"]


def test_strict_order(client: JobClient) -> None:
    client.enqueue("z", now=0, queue="second").must()
    enqueue_batch(client, "a", "b", now=1, queue="first")
    assert client.claimed(2, queues=["first", "second"], strict=True, now=2) == ["a", "b"]
    assert client.claimed(2, queues=["first", "second"], strict=True, now=2) == ["z"]


# --- starting a batch -----------------------------------------------------------------------------------------------
def test_a_batch_of_asynqs_lifecycle_runs_from_its_claim_on(client: JobClient) -> None:
    enqueue_batch(client, "a", "b", "c", now=0, lifecycle="asynq")
    jobs = client.claim(1, now=1, lease=50, runLease=70).must()["jobs"]
    assert {(job["state"], job["startedAt"], job["leaseUntil"], len(job["attempts"])) for job in jobs} == {("running", 1, 71, 1)}


@pytest.mark.parametrize("start", [0, 2, 3, 9])
def test_the_first_of_a_batch_start_with_the_claim(client: JobClient, start: int) -> None:
    enqueue_batch(client, "a", "b", "c", now=0)
    jobs = client.claim(1, now=1, start=start).must()["jobs"]
    assert [job["state"] for job in jobs] == (["running"] * start + ["claimed"] * 3)[:3]


# --- releases, crashes and retries ----------------------------------------------------------------------------------
def test_what_was_given_back_comes_together_again(client: JobClient) -> None:
    enqueue_batch(client, "a", "b", "c", now=0)
    client.enqueue("between", now=0, priority=50).must()
    assert client.claimed(1, now=1) == ["a", "b", "c"]
    for id in ("c", "a"):
        client.give_back(id, now=2).must()
    assert client.claimed(1, now=3) == ["a", "c"]
    for id, version in (("a", 2), ("b", 1), ("c", 2)):
        client.give_back(id, version, now=4).must()
    assert client.claimed(1, now=5) == ["a", "b", "c"]
    assert client.claimed(1, now=5) == ["between"]


def test_those_whose_worker_is_gone_come_together_again(client: JobClient) -> None:
    """Claimed jobs become pending as before; running jobs fail and are retried together, at one instant."""
    policy = {"kind": "exponential", "base": 1_000, "jitter": 0.5}
    name = enqueue_batch(client, "a", "b", "c", now=0, retryPolicy=policy)
    assert client.claimed(1, now=10, lease=100) == ["a", "b", "c"]
    assert client.claimed(1, now=110) == ["a", "b", "c"], "the claim took the steps first"
    for id in ("a", "b", "c"):
        client.give_back(id, 2, now=111).must()
    started(client, "a", "b", "c", now=120, lease=100)
    client.store.clock.advance_to(220)
    at = 220 + job_policies.exponential(name, 0, 1_000, jitter=0.5)
    assert [client.job(id)["nextRetryAt"] for id in "abc"] == [at] * 3
    assert [(s.kind, s.id, s.at) for s in client.store.clock.advance_to(at)] == [("job_ready", id, at) for id in "abc"]
    assert [client.job(id)["gathering"] for id in "abc" if "gathering" in client.job(id)] == [], "it does not gather again"
    assert client.claimed(1) == ["a", "b", "c"]


@pytest.mark.parametrize("policy", [{"kind": "asynq"}, {"kind": "exponential", "base": 10_000, "factor": 3, "jitter": 1}], ids=str)
def test_a_batch_that_fails_as_a_whole_is_tried_again_as_a_whole(client: JobClient, policy: dict[str, Any]) -> None:
    """Five times in a row: the random number comes from the id of the batch, so it is the same for each of its jobs."""
    ids = ["a", "b", "email:42", "ünï"]
    name = enqueue_batch(client, *ids, now=0, retryPolicy=policy)
    for n in range(5):
        now = client.store.clock.now
        started(client, *ids, now=now, lease=LEASE)
        for id in ids:
            client.fail(id, n + 1, now=now).must()
        wait = job_policies.asynq(name, n) if policy["kind"] == "asynq" else job_policies.exponential(name, n, 10_000, 3, jitter=1)
        assert [client.job(id)["nextRetryAt"] for id in ids] == [now + wait] * 4
        assert {client.job(id)["batch"] for id in ids} == {name}
        client.store.clock.advance_to(now + wait)
    assert client.claimed(1) == ids and client.store.check() == []


def test_chance_without_a_batch_is_the_jobs_own(client: JobClient) -> None:
    """The backoff of a job that left its group, or never had one, uses the job's own id."""
    for id, data in (("a", {}), ("b", {"group": GROUP})):
        client.enqueue(id, now=0, **data).must()
    client.administer("run", "b", now=0).must()
    for id in ("a", "b"):
        client.run_one(id, now=0)
        client.fail(id, now=0).must()
        assert client.job(id)["nextRetryAt"] == job_policies.asynq(id, 0)


def test_those_that_failed_are_tried_again_without_those_that_did_not(client: JobClient) -> None:
    name = enqueue_batch(client, "a", "b", "c", "d", now=0)
    started(client, "a", "b", "c", "d", now=0, lease=LEASE)
    client.complete("a", now=5).must()
    client.fail("b", now=5).must()
    client.fail("d", now=5).must()
    client.fail("c", now=5, retryable=False).must()
    at = 5 + job_policies.asynq(name, 0)
    client.store.clock.advance_to(at)
    assert client.claimed(1) == ["b", "d"]
    assert client.administer("run", "c").must()["job"]["enqueuedAt"] == at
    assert client.claimed(1) == ["c"]


def test_who_is_ready_earlier_does_not_wait_for_the_others(client: JobClient) -> None:
    """A claim returns the jobs of a batch that are pending at that instant, and no others."""
    enqueue_batch(client, "a", "b", "c", now=0)
    started(client, "a", "b", "c", now=0, lease=LEASE)
    client.fail("a", now=5, retryAfter=100).must()
    client.fail("b", now=5, retryAfter=300).must()
    client.snooze("c", delay=200, now=5).must()
    assert client.claimed(1, now=104) == []
    assert client.claimed(1, now=105) == ["a"]
    assert client.claimed(1, now=304) == ["c"]
    client.give_back("a", 2, now=304).must()
    assert client.claimed(1, now=305) == ["a", "b"]


def test_a_snoozed_one_does_not_gather_again(client: JobClient) -> None:
    name = enqueue_batch(client, "a", "b", now=0)
    started(client, "a", "b", now=0)
    job = client.snooze("a", delay=50, now=5).must()["job"]
    assert (job["state"], job["processAt"], job["batch"]) == ("scheduled", 55, name) and "gathering" not in job
    client.queue("set", groups={"grace": 1_000})
    join(client, "later", 10)
    client.store.clock.advance_to(55)
    job = client.job("a")
    assert (job["state"], job["enqueuedAt"], job["batch"]) == ("pending", 55, name)
    assert client.job("later")["batch"] != name


def test_a_retry_that_a_person_runs_stays_of_its_batch(client: JobClient) -> None:
    name = enqueue_batch(client, "a", "b", now=0)
    started(client, "a", "b", now=0)
    for id in ("a", "b"):
        client.fail(id, now=5).must()
    assert client.administer("run", "b", now=6).must()["job"]["batch"] == name
    assert client.claimed(1, now=7) == ["b"]
    client.give_back("b", 2, now=8).must()
    client.administer("run", "a", now=9).must()
    assert client.claimed(1, now=10) == ["b", "a"], "it stands where its first stands"


def test_two_workers_share_no_job_of_a_batch(client: JobClient) -> None:
    for n in range(10):
        enqueue_batch(client, *(f"{n}-{m}" for m in range(3)), now=0)
    got = [client.claimed(2, worker=f"w{n % 2}", now=1) for n in range(11)]
    assert [len(ids) for ids in got] == [3] * 10 + [0]
    assert sorted(id for ids in got for id in ids) == sorted(f"{n}-{m}" for n in range(10) for m in range(3))
    assert {client.job(f"{n}-{m}")["claimedBy"] for n in range(10) for m in range(3)} == {"w0", "w1"}


def test_in_one_transaction(client: JobClient) -> None:
    """One commit completes a whole batch and claims the next one."""
    for n in range(2):
        enqueue_batch(client, f"a{n}", f"b{n}", now=n, lifecycle="asynq")
    assert client.claimed(1, now=5) == ["a0", "b0"]

    def envelope(kind: str, data: Any) -> dict[str, Any]:
        return {"kind": kind, "head": {"corrId": "1", "version": client.version}, "data": data}

    done = {"jobs": [{"id": id, "version": 1} for id in ("a0", "b0")]}
    claim = {"queues": [QUEUE], "worker": "w1", "lease": 50}
    joins = [{"id": id, "queue": QUEUE, "type": TYPE, "group": GROUP} for id in ("c", "d")]
    first, second, third, fourth = client.store.apply(
        [
            envelope("job.complete_many", done),
            envelope("job.enqueue_many", {"jobs": joins}),
            envelope("job.claim", claim),
            envelope("job.claim", claim),
        ],
        now=6,
    )
    assert [job["status"] for job in first["data"]["jobs"]] == [200, 200]
    assert second["data"]["jobs"][1]["job"]["state"] == "pending"
    assert [job["id"] for job in third["data"]["jobs"]] == ["a1", "b1"]
    assert [job["id"] for job in fourth["data"]["jobs"]] == ["c", "d"]
    assert client.store.check() == []
