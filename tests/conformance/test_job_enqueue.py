"""job.enqueue: ids, repeated requests, adoption of a promise, unique keys, defaults of job, queue and lifecycle."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_wire import JOB, MAX, JobClient, assert_states_agree
from conformance.wire import ADDRESS, FAR, executes, rows_of, stored

X, Y = {"data": "eA=="}, {"data": "eQ=="}
EXT = {"resonate:external": "true"}


@pytest.fixture
def client(store: Any) -> JobClient:
    return JobClient(store)


def test_a_job_is_a_promise_that_may_be_awaited_and_a_task_without_messages(client: JobClient) -> None:
    """This holds even if its tags name a target."""
    client.enqueue(now=7, payload=X, tags={"resonate:target": ADDRESS, "team": "blue"}).must()
    promise = client.get(JOB).must()["promise"]
    assert (promise["state"], promise["param"], promise["timeoutAt"], promise["createdAt"]) == ("pending", X, MAX, 7)
    assert promise["tags"] == {"resonate:target": ADDRESS, "team": "blue"}
    assert client.listen(JOB).status == 200
    client.store.tick(10**9)
    assert executes(client.store) == []
    assert client.task(JOB).must()["task"]["state"] == "pending"
    assert_states_agree(client)


def test_a_generated_id(client: JobClient) -> None:
    made = [client.enqueue(None, now=0).must()["job"]["id"] for _ in range(3)]
    assert all(re.fullmatch(r"job:[0-9a-f]{16}", id) for id in made), made
    assert len(set(made)) == 3 and sorted(made) == made
    following = f"job:{int(made[-1][4:], 16) + 1:016x}"
    client.create(following).must()
    assert client.enqueue(None).must()["job"]["id"] not in (*made, following), "an id that exists is passed over"
    assert client.state(following) == "absent"


def test_an_id_is_generated_the_same_way_in_a_replay(make_store: Callable[..., Any]) -> None:
    one, two = (JobClient(make_store()) for _ in range(2))
    first, second = (client.enqueue(None, now=0).must()["job"]["id"] for client in (one, two))
    assert first == second


def test_enqueue_again_answers_the_job_as_it_is(client: JobClient) -> None:
    """Queue, type and payload decide whether it is the same job; the other members of the request are ignored."""
    first = client.enqueue(now=0, payload=X, priority=7, maxRetries=1).must()["job"]
    before = rows_of(client.store)
    again = client.enqueue(now=50, payload=X, priority=9, maxRetries=4, uniqueKey="k", processAt=10**6).must()["job"]
    assert again == first and rows_of(client.store) == before
    client.enqueue(now=50).must(409)
    client.enqueue(now=50, payload=Y).must(409)
    client.run_one(now=60)
    assert client.enqueue(now=61, payload=X).must()["job"]["state"] == "running"
    client.complete(now=70, result=Y).must()
    assert client.enqueue(now=80, payload=X).must()["job"]["result"] == Y


def test_the_refusal_of_another_job_names_what_differs(client: JobClient) -> None:
    client.enqueue(payload=X).must()
    assert JOB in client.enqueue(type="sms:send", payload=X).must(409).data


# --- adoption -------------------------------------------------------------------------------------------------------
def test_a_pending_promise_without_a_task_is_adopted(client: JobClient) -> None:
    """The promise keeps its param, its tags and its deadline; the job has the payload of the request."""
    client.create(JOB, 5_000, tags={"team": "blue"}, param=X, now=3).must()
    job = client.enqueue(now=10, payload=Y, tags={"team": "red"}, deadline=9, priority=3).must()["job"]
    assert (job["state"], job["payload"], job["deadline"], job["priority"]) == ("pending", Y, 5_000, 3)
    assert (job["sentAt"], job["enqueuedAt"], job["tags"]) == (10, 10, {"team": "blue"})
    promise = client.get(JOB).must()["promise"]
    assert (promise["param"], promise["tags"], promise["timeoutAt"], promise["createdAt"]) == (X, {"team": "blue"}, 5_000, 3)
    assert_states_agree(client)
    assert client.enqueue(now=11, payload=Y).status == 200
    client.run_one(now=20)
    client.complete(now=30, result=Y).must()
    assert client.get(JOB).must()["promise"]["value"] == Y
    assert_states_agree(client)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        # The payload is the promise's param, which may be given again or left out.
        ({}, [({}, 200), ({"payload": X}, 200), ({"payload": Y}, 409)]),
        # The request gave the payload, so the same job gives it again.
        ({"payload": X}, [({"payload": X}, 200), ({}, 409), ({"payload": Y}, 409)]),
        ({"payload": Y}, [({"payload": Y}, 200), ({}, 409), ({"payload": X}, 409)]),
    ],
)
def test_the_same_job_of_an_adopted_promise(client: JobClient, first: Any, then: Any) -> None:
    client.create(JOB, 5_000, param=X, now=0).must()
    client.enqueue(now=1, **first).must()
    assert [client.enqueue(now=2, **data).status for data, _ in then] == [status for _, status in then]


def test_an_adopted_promise_has_its_deadline_armed(client: JobClient) -> None:
    """An internal promise times out by projection only, without a step; a job's promise is external, so it has a timeout step."""
    client.create(JOB, 500, now=0).must()
    client.enqueue(now=10).must()
    assert [(f.kind, f.id) for f in client.store.tick(500)] == [("promise_timeout", JOB)]
    assert client.state() == "failed"


def test_who_awaited_the_promise_awaits_the_job(client: JobClient) -> None:
    client.create(JOB, tags=EXT, now=0).must()
    client.task_create("workflow", now=0).must()
    client.suspend("workflow", 1, JOB, now=1).must()
    client.enqueue(now=2).must()
    client.run_one(now=3)
    client.complete(now=4).must()
    assert client.task("workflow").must()["task"] == {"id": "workflow", "state": "pending", "version": 1, "resumes": 1}
    assert executes(client.store, "workflow") == [("execute", "workflow", 1)]


@pytest.mark.parametrize("kind", ["settled", "dead", "timer", "workflow"])
def test_what_cannot_be_adopted(client: JobClient, kind: str) -> None:
    tags = {"resonate:timer": "true"} if kind == "timer" else None
    client.create(JOB, 50 if kind == "dead" else FAR, target=ADDRESS if kind == "workflow" else None, tags=tags, now=0).must()
    if kind == "settled":
        client.settle(JOB, now=10).must()
    before = rows_of(client.store)
    assert JOB in client.enqueue(now=100).must(409).data
    if kind != "dead":
        assert rows_of(client.store) == before
    assert client.state() == "absent"


def test_a_timer_is_no_job(client: JobClient) -> None:
    client.enqueue(tags={"resonate:timer": "true"}).must(400)


# --- unique keys ----------------------------------------------------------------------------------------------------
def test_a_unique_key_is_held_by_one_job_of_a_queue(client: JobClient) -> None:
    client.enqueue("a", now=0, uniqueKey="k").must()
    before = rows_of(client.store)
    assert "a" in client.enqueue("b", now=1, uniqueKey="k").must(409).data
    assert rows_of(client.store) == before
    assert client.enqueue("a", now=1, uniqueKey="k").status == 200, "the same job is the same job"
    client.enqueue("b", now=1, uniqueKey="k", queue="other").must()
    client.enqueue("c", now=1, uniqueKey="k2").must()
    assert client.jobs(uniqueKey="k") == ["a", "b"]


@pytest.mark.parametrize(
    ("end", "free"),
    [
        ("completed", True),
        ("failed", True),
        ("cancelled", True),
        ("expired", True),
        ("lapsed", True),
        ("overdue", True),
        ("deleted", True),
        ("archived", False),
        ("retry", False),
        ("running", False),
    ],
)
def test_how_long_a_key_is_held(client: JobClient, end: str, free: bool) -> None:
    """Until the job is settled. An archived job holds its key, since it may run again."""
    options = {
        "failed": {"onExhausted": "failed"},
        "expired": {"goodUntil": 50},
        "lapsed": {"goodUntil": 500},
        "overdue": {"deadline": 500},
    }
    client.enqueue("a", now=0, uniqueKey="k", **options.get(end, {})).must()
    if end in ("completed", "failed", "archived", "retry", "running"):
        client.run_one("a", now=10)
    if end == "completed":
        client.complete("a", now=20).must()
    elif end in ("failed", "archived", "retry"):
        client.fail("a", now=20, retryable=end == "retry", retryAfter=10_000).must()
    elif end == "cancelled":
        client.administer("cancel", "a", now=20).must()
    elif end == "deleted":
        client.administer("delete", "a", now=20).must()
    elif end == "expired":
        client.store.tick(50)
    assert client.enqueue("b", now=500, uniqueKey="k").status == (200 if free else 409)
    assert client.store.check() == []


def test_a_key_that_is_held_for_a_time(client: JobClient) -> None:
    """The time counts from sent_at; a job that is settled earlier frees the key then."""
    client.enqueue("a", now=100, uniqueKey="k", uniqueFor=50, sentAt=90).must()
    client.enqueue("b", now=139, uniqueKey="k").must(409)
    client.enqueue("b", now=140, uniqueKey="k", uniqueFor=1_000).must()
    client.enqueue("c", now=1_139, uniqueKey="k").must(409)
    assert client.state("a") == "pending", "it is still there, without its key"
    client.run_one("a", now=1_139)
    client.complete("a", now=1_139).must()
    client.enqueue("c", now=1_139, uniqueKey="k").must(409)
    client.enqueue("c", now=1_140, uniqueKey="k").must()


# --- defaults: first the queue's, then the lifecycle's --------------------------------------------------------------
LIFECYCLES = {
    None: ("claimed", 25, {"kind": "asynq"}, "archived", None),
    "asynq": ("running", 25, {"kind": "asynq"}, "archived", 0),
    "horsies": ("claimed", 0, {"kind": "fixed", "intervals": [0]}, "failed", None),
}


@pytest.mark.parametrize("of", ["job", "queue"])
@pytest.mark.parametrize("lifecycle", LIFECYCLES)
def test_a_lifecycle(client: JobClient, lifecycle: str | None, of: str) -> None:
    state, retries, policy, exhausted, retention = LIFECYCLES[lifecycle]
    if of == "queue" and lifecycle:
        client.queue("set", lifecycle=lifecycle)
    given = {"lifecycle": lifecycle} if of == "job" and lifecycle else {}
    job = client.enqueue(**given).must()["job"]
    assert (job["maxRetries"], job["retryPolicy"], job["onExhausted"], job.get("retention")) == (
        retries,
        policy,
        exhausted,
        retention,
    )
    (claimed,) = client.claim().must()["jobs"]
    assert claimed["state"] == state


def test_a_jobs_lifecycle_is_before_its_queues(client: JobClient) -> None:
    client.queue("set", lifecycle="asynq")
    assert client.enqueue("h", lifecycle="horsies").must()["job"]["onExhausted"] == "failed"
    assert client.enqueue("a").must()["job"]["retention"] == 0


def test_defaults_of_a_queue(client: JobClient) -> None:
    """They override the lifecycle's defaults, and the job's own members override them; jobs enqueued before do not change."""
    client.enqueue("before").must()
    policy = {"kind": "fixed", "intervals": [5]}
    defaults = {"maxRetries": 2, "retryPolicy": policy, "onExhausted": "failed", "retention": 60, "timeout": 9, "priority": 8}
    assert client.queue("set", lifecycle="asynq", defaults=defaults)["defaults"] == defaults
    job = client.enqueue("with").must()["job"]
    assert {name: job[name] for name in defaults} == defaults
    own = {
        "maxRetries": 4,
        "retryPolicy": {"kind": "asynq"},
        "onExhausted": "archived",
        "retention": 1,
        "timeout": 2,
        "priority": 3,
    }
    job = client.enqueue("own", **own).must()["job"]
    assert {name: job[name] for name in own} == own
    assert "retention" not in client.enqueue("kept", retention=None).must()["job"]
    client.queue("set", defaults=None)
    assert client.enqueue("after").must()["job"]["maxRetries"] == 25
    before = client.job("before")
    assert (before["maxRetries"], before["priority"], before.get("retention")) == (25, 50, None)


def test_instants_of_the_caller(client: JobClient) -> None:
    assert client.enqueue("a", now=100, sentAt=40).must()["job"]["sentAt"] == 40
    assert client.enqueue("b", now=100, sentAt=101).must()["job"]["sentAt"] == 100, "a caller whose clock is ahead sent it by now"
    job = client.enqueue("c", now=100, processAt=100).must()["job"]
    assert (job["state"], job["enqueuedAt"]) == ("pending", 100)
    job = client.enqueue("d", now=100, processIn=1).must()["job"]
    assert (job["state"], job["processAt"]) == ("scheduled", 101)
    assert stored(client.store, "d")["id"] == "d"
