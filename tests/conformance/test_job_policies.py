"""The instants of retries, to the millisecond: asynq's 25 retries, fixed intervals, exponential delays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance import job_policies
from conformance.job_wire import QUEUE, TYPE, JobClient
from conformance.wire import Reply

LEASE = 1_000_000_000
START = 1_700_000_000_000


def delays(client: JobClient, id: str, failures: int, **data: Any) -> list[int]:
    """Fails a job several times, each time at the instant of its claim; returns the delays of its retries."""
    client.enqueue(id, **data).must()
    found = []
    for n in range(failures):
        at = client.store.clock.now
        version = client.run_one(id, lease=LEASE)
        assert version == n + 1
        job = client.fail(id, version).must()["job"]
        assert (job["state"], job["retryCount"]) == ("retry", n + 1)
        found.append(job["nextRetryAt"] - at)
        fired = client.store.clock.advance_to(job["nextRetryAt"])
        assert [(f.kind, f.id, f.at) for f in fired] == [("job_ready", id, job["nextRetryAt"])]
        assert client.job(id)["enqueuedAt"] == job["nextRetryAt"]
    return found


def test_the_dice_are_the_published_ones() -> None:
    """The published values: FNV-1a of the empty text, "a" and "foobar"; the first numbers of splitmix64 for seeds 0 and 1234567."""
    assert job_policies.fnv1a(b"") == 0xCBF29CE484222325
    assert job_policies.fnv1a(b"a") == 0xAF63DC4C8601EC8C
    assert job_policies.fnv1a(b"foobar") == 0x85944171F73967E8
    assert job_policies.splitmix(0, 1) == 0xE220A8397B1DCDAF
    assert [job_policies.splitmix(1234567, n) for n in (1, 2, 3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@pytest.mark.parametrize("id", ["email:42", "ünï", "a"])
def test_asynqs_25_retries(make_store: Callable[..., Any], clock_type: Any, id: str) -> None:
    client = JobClient(make_store(clock=clock_type(START)))
    found = delays(client, id, 25, lifecycle="asynq")
    assert found == [job_policies.asynq(id, n) for n in range(25)]
    for n, delay in enumerate(found):
        least, most = job_policies.asynq_bounds(n)
        assert least <= delay <= most and delay % 1000 == 0
    assert client.store.now == START + sum(found)
    version = client.run_one(id)
    job = client.fail(id, version).must()["job"]
    assert (job["state"], job["retryCount"], job["version"], job["failedAt"]) == ("archived", 25, 26, client.store.now)


def test_asynqs_schedule_of_one_job_in_numbers(make_store: Callable[..., Any]) -> None:
    """The first five delays of one id, written out in seconds."""
    client = JobClient(make_store())
    assert [d // 1000 for d in delays(client, "email:42", 5, lifecycle="asynq")] == SECONDS_OF_EMAIL_42


SECONDS_OF_EMAIL_42 = [19, 70, 91, 204, 276]


@pytest.mark.parametrize("intervals", [[0], [100], [1_000, 5_000, 60_000], [7, 0, 9]])
def test_fixed_intervals(store: Any, intervals: list[int]) -> None:
    """The last interval repeats; after a delay of 0 the job is ready at once."""
    client = JobClient(store)
    policy = {"kind": "fixed", "intervals": intervals}
    found = []
    client.enqueue(maxRetries=6, retryPolicy=policy).must()
    for n in range(6):
        before = store.clock.now
        job = client.fail(version=client.run_one()).must()["job"]
        assert (job["state"], job["nextRetryAt"]) == ("retry", before + job_policies.fixed(intervals, n))
        found.append(job["nextRetryAt"] - before)
        store.clock.advance_to(job["nextRetryAt"])
        assert (client.job()["state"], client.job()["enqueuedAt"]) == ("pending", job["nextRetryAt"])
    assert found == [job_policies.fixed(intervals, n) for n in range(6)]
    assert client.fail(version=client.run_one()).must()["job"]["state"] == "archived"


@pytest.mark.parametrize(
    "policy",
    [
        {"base": 1_000},
        {"base": 1_000, "factor": 1},
        {"base": 250, "factor": 1.5, "cap": 1_000},
        {"base": 10_000, "factor": 3, "cap": 300_000, "jitter": 0.5},
        {"base": 1, "jitter": 1},
        {"base": 86_400_000, "factor": 10, "jitter": 0.1},
    ],
    ids=str,
)
@pytest.mark.parametrize("id", ["one", "two"])
def test_exponential(store: Any, id: str, policy: dict[str, Any]) -> None:
    client = JobClient(store)
    client.enqueue(id, retryPolicy={"kind": "exponential", **policy}, maxRetries=20).must()
    for n in range(20):
        job = client.fail(id, client.run_one(id, lease=LEASE)).must()["job"]
        delay = job["nextRetryAt"] - store.clock.now
        assert delay == job_policies.exponential(id, n, **policy)
        assert 0 <= delay <= policy.get("cap", job_policies.DAY)
        store.clock.advance(delay)


def test_a_replay_gives_the_same_instants_and_another_id_others(make_store: Callable[..., Any]) -> None:
    one, two = JobClient(make_store()), JobClient(make_store())
    assert delays(one, "x", 8) == delays(two, "x", 8)
    assert one.store.digest() == two.store.digest()
    assert delays(JobClient(make_store()), "y", 8) != [job_policies.asynq("x", n) for n in range(8)]


def test_a_delay_that_would_pass_the_end_of_time_saturates(store: Any) -> None:
    client = JobClient(store)
    client.enqueue(maxRetries=1, retryPolicy={"kind": "fixed", "intervals": [2**63 - 1]}).must()
    job = client.fail(version=client.run_one(now=5), now=5).must()["job"]
    assert (job["state"], job["nextRetryAt"]) == ("retry", 2**63 - 1)


# --- which failures are retried -------------------------------------------------------------------------------------
def _failed(client: JobClient, now: int = 100, **fail: Any) -> Reply:
    return client.fail(version=client.run_one(now=now), now=now, **fail)


@pytest.mark.parametrize("on_exhausted", ["archived", "failed"])
def test_an_error_that_is_not_retryable_ends_it_with_retries_left(store: Any, on_exhausted: str) -> None:
    client = JobClient(store)
    client.enqueue(onExhausted=on_exhausted, now=0).must()
    job = _failed(client, retryable=False).must()["job"]
    assert (job["state"], job["retryCount"], job["failedAt"]) == (on_exhausted, 0, 100)
    assert job["error"] == {"code": "Boom", "message": "it broke"}


def test_codes_of_a_policy(make_store: Callable[..., Any]) -> None:
    """Only the codes that the policy names are retried, also those of crashes and timeouts."""
    policy = {"kind": "fixed", "intervals": [10], "codes": ["Busy", "WorkerCrashed"]}
    for code, state in (("Busy", "retry"), ("busy", "archived"), ("Boom", "archived"), ("WorkerCrashed", "retry")):
        client = JobClient(make_store())
        client.enqueue(retryPolicy=policy, now=0).must()
        assert _failed(client, code=code).must()["job"]["state"] == state
    client = JobClient(make_store())
    client.enqueue(retryPolicy=policy, timeout=50, now=0).must()
    client.run_one(now=0, lease=10)
    client.store.tick(10)
    assert client.job()["state"] == "retry"
    client.run_one(now=20, lease=1_000)
    client.store.tick(70)
    job = client.job()
    assert (job["state"], job["error"]["code"], job["failedAt"]) == ("archived", "TaskTimeout", 70)


def test_retry_after_stands_in_for_the_policy(store: Any) -> None:
    client = JobClient(store)
    client.enqueue(now=0, maxRetries=3).must()
    job = _failed(client, retryAfter=123).must()["job"]
    assert (job["nextRetryAt"], job["retryCount"]) == (223, 1)
    store.tick(223)
    job = _failed(client, now=300, retryAfter=0).must()["job"]
    assert (job["state"], job["nextRetryAt"]) == ("retry", 300)
    assert (client.job()["state"], client.job()["enqueuedAt"]) == ("pending", 300)
    job = _failed(client, now=400, retryAfter=5, retryable=False).must()["job"]
    assert job["state"] == "archived"


def test_a_horsies_job_with_a_policy_alone_retries_by_it(make_store: Callable[..., Any]) -> None:
    """Without a policy there are no retries, with intervals as many as intervals, with an exponential policy 25."""
    client = JobClient(make_store())
    for id, policy, retries in (
        ("none", None, 0),
        ("fixed", {"kind": "fixed", "intervals": [1, 2, 3]}, 3),
        ("exponential", {"kind": "exponential", "base": 5}, 25),
    ):
        data = {} if policy is None else {"retryPolicy": policy}
        assert client.enqueue(id, lifecycle="horsies", **data).must()["job"]["maxRetries"] == retries
    given = {"retryPolicy": {"kind": "fixed", "intervals": [1]}, "maxRetries": 2}
    assert client.enqueue("given", lifecycle="horsies", **given).must()["job"]["maxRetries"] == 2


POLICY = {"kind": "fixed", "intervals": [1]}


@pytest.mark.parametrize("how", ["lifecycle of the job", "lifecycle of the queue"])
def test_retries_without_a_policy_are_refused_under_horsies(make_store: Callable[..., Any], how: str) -> None:
    """JOBS 4: maxRetries is 0 unless a policy is given. The queue's policy counts; the other lifecycle has its own."""
    client = JobClient(make_store())
    own = {"lifecycle": "horsies"} if how == "lifecycle of the job" else {}
    if not own:
        client.queue("set", lifecycle="horsies")
    reply = client.enqueue("a", maxRetries=3, **own)
    assert reply.status == 400 and "retryPolicy" in reply.data
    assert client.state("a") == "absent"
    reply = client.send("job.enqueue_many", {"jobs": [{"queue": QUEUE, "type": TYPE, "maxRetries": n, **own} for n in (1, 0)]})
    assert [item["status"] for item in reply.must()["jobs"]] == [400, 200]
    order = {"queue": QUEUE, "type": TYPE, "maxRetries": 3, **own}
    schedule = {"id": "s", "cron": "@hourly", "promiseId": "{{.id}}.{{.timestamp}}", "promiseTimeout": 1000}
    assert client.send("schedule.create", {**schedule, "job": order}).status == 400
    assert client.enqueue("b", maxRetries=0, **own).must()["job"]["maxRetries"] == 0
    assert client.enqueue("c", maxRetries=3, retryPolicy=POLICY, **own).must()["job"]["maxRetries"] == 3
    if not own:
        assert client.enqueue("d", maxRetries=3, lifecycle="asynq").must()["job"]["maxRetries"] == 3
    client.queue("set", defaults={"retryPolicy": POLICY})
    assert client.enqueue("a", maxRetries=3, **own).must()["job"]["maxRetries"] == 3
    assert client.send("schedule.create", {**schedule, "job": order}).status == 200


def test_defaults_of_a_queue_with_retries_need_a_policy_under_horsies(make_store: Callable[..., Any]) -> None:
    client = JobClient(make_store())
    assert client.send("queue.set", {"queue": QUEUE, "lifecycle": "horsies", "defaults": {"maxRetries": 3}}).status == 400
    client.queue("set", defaults={"maxRetries": 3})
    assert client.send("queue.set", {"queue": QUEUE, "lifecycle": "horsies"}).status == 400
    # A horsies job in a queue of another lifecycle: the queue's default of maxRetries holds only for jobs with a policy.
    assert client.enqueue("a", lifecycle="horsies").must()["job"]["maxRetries"] == 0
    assert client.enqueue("b").must()["job"]["maxRetries"] == 3
    client.queue("set", lifecycle="horsies", defaults={"maxRetries": 3, "retryPolicy": POLICY})
    assert client.enqueue("c").must()["job"]["maxRetries"] == 3
    assert client.send("queue.set", {"queue": QUEUE, "defaults": {"maxRetries": 3}}).status == 400


def test_an_occurrence_whose_queue_lost_its_policy_is_enqueued_without_retries(make_store: Callable[..., Any]) -> None:
    """An occurrence cannot refuse its job as a request could, and must not skip it."""
    client = JobClient(make_store())
    client.queue("set", lifecycle="horsies", defaults={"retryPolicy": POLICY})
    order = {"queue": QUEUE, "type": TYPE, "maxRetries": 3}
    schedule = {"id": "s", "cron": "* * * * *", "promiseId": "{{.id}}.{{.timestamp}}", "promiseTimeout": 10**6, "job": order}
    client.send("schedule.create", schedule).must()
    client.store.clock.advance(60_000)
    assert client.job("s.60000")["maxRetries"] == 3
    client.queue("set", defaults=None)
    client.store.clock.advance(60_000)
    job = client.job("s.120000")
    assert (job["state"], job["maxRetries"]) == ("pending", 0)
