"""Many jobs in one request, and jobs with promises in one transaction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_wire import QUEUE, TYPE, JobClient
from conformance.wire import FAR, V26, request, rows_of

X = {"data": "eA=="}


@pytest.fixture
def client(store: Any) -> JobClient:
    return JobClient(store)


def one(id: str, **data: Any) -> dict[str, Any]:
    return {"id": id, "queue": QUEUE, "type": TYPE, **data}


def statuses(reply: Any) -> list[int]:
    return [item["status"] for item in reply.must()["jobs"]]


# --- enqueue_many ---------------------------------------------------------------------------------------------------
def test_enqueue_many_partly_refused(client: JobClient) -> None:
    """Each item has its own status, in order; the whole request has 200."""
    client.create("timer", tags={"resonate:timer": "true"}, now=0).must()
    client.enqueue("there", now=0, uniqueKey="k").must()
    wanted = [
        one("a"),
        one("there", uniqueKey="k"),
        one("timer"),
        one("b", uniqueKey="k"),
        one("c", priority=101),
        one("a", payload=X),
        one("d", uniqueKey="own"),
        one("e", uniqueKey="own"),
        {"queue": QUEUE, "type": TYPE},
    ]
    reply = client.send("job.enqueue_many", {"jobs": wanted}, 5).must()
    assert statuses(reply) == [200, 200, 409, 409, 400, 409, 200, 409, 200]
    for item, data in zip(reply["jobs"], wanted, strict=True):
        assert set(item) == {"status", "job" if item["status"] == 200 else "error"}
        if item["status"] == 200 and "id" in data:
            assert item["job"] == client.job(data["id"])
        elif item["status"] != 200:
            assert isinstance(item["error"], str) and item["error"]
    assert client.jobs() == sorted(["a", "d", "there", reply["jobs"][-1]["job"]["id"]])


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1], ids=["above", "below"])
@pytest.mark.parametrize("member", ["base", "factor", "cap", "jitter"])
def test_an_integer_outside_int64_refuses_the_whole_request(client: JobClient, member: str, number: int) -> None:
    """It is a fault of the shape, also where the member is any number; a number outside of the member's range refuses its job alone."""
    policy = {"kind": "exponential", "base": 100, member: number}
    client.send("job.enqueue_many", {"jobs": [one("a", retryPolicy=policy), one("b")]}).must(400)
    assert rows_of(client.store)["promises"] == []
    within = {**policy, member: -5}
    assert statuses(client.send("job.enqueue_many", {"jobs": [one("a", retryPolicy=within), one("b")]})) == [400, 200]


def test_enqueue_many_is_enqueue_many_times(make_store: Callable[..., Any]) -> None:
    many, single = JobClient(make_store()), JobClient(make_store())
    wanted = [one(f"j{n % 7}", **({"payload": X} if n % 3 else {}), priority=n % 5 + 1) for n in range(30)]
    wanted += [{"type": "t"} for _ in range(5)]
    together = many.send("job.enqueue_many", {"jobs": wanted}, 5).must()["jobs"]
    apart = [single.send("job.enqueue", data, 5) for data in wanted]
    assert [item["status"] for item in together] == [reply.status for reply in apart]
    assert [item.get("job") for item in together] == [reply.data["job"] if reply.status == 200 else None for reply in apart]
    assert [item.get("error") for item in together] == [None if reply.status == 200 else reply.data for reply in apart]
    assert rows_of(many.store) == rows_of(single.store) and many.store.digest() == single.store.digest()


def test_complete_many(client: JobClient) -> None:
    for id in ("a", "b", "c", "d"):
        client.enqueue(id, now=0, retention=0 if id == "d" else None).must()
    client.claim(4, now=0).must()
    for id in ("a", "b", "d"):
        client.start(id, now=1).must()
    items = [
        {"id": "a", "version": 1, "result": X},
        {"id": "b", "version": 2},
        {"id": "c", "version": 1},
        {"id": "nobody", "version": 1},
        {"id": "a", "version": 1},
        {"id": "d", "version": 1},
        {"id": "b", "version": 1},
    ]
    reply = client.send("job.complete_many", {"jobs": items}, 5)
    assert statuses(reply) == [200, 409, 409, 404, 409, 200, 200]
    assert reply["jobs"][0]["job"]["result"] == X and reply["jobs"][0]["job"]["completedAt"] == 5
    assert [client.state(id) for id in "abcd"] == ["completed", "completed", "claimed", "absent"]


def test_many_completed_jobs_without_retention_are_deleted_at_once(client: JobClient) -> None:
    """A request that completes n jobs takes n steps more than others, so none of them is left to a later request."""
    ids = [f"j{number:03}" for number in range(200)]
    for id in ids:
        client.enqueue(id, now=0, retention=0).must()
    client.claim(200, now=0).must()
    for id in ids:
        client.start(id, now=1).must()
    client.send("job.complete_many", {"jobs": [{"id": id, "version": 1} for id in ids]}, 5).must()
    assert {client.state(id) for id in ids} == {"absent"}


def test_start_many(client: JobClient) -> None:
    """Each item has the effect and the status of a single start; its lease is the request's, or else its claim's."""
    for id in ("a", "b", "c", "late"):
        client.enqueue(id, now=0, **({"goodUntil": 4} if id == "late" else {})).must()
    client.claim(4, now=0, lease=100).must()
    items = [{"id": id, "version": version} for id, version in (("a", 1), ("b", 2), ("nobody", 1), ("late", 1), ("a", 1), ("c", 1))]
    reply = client.send("job.start_many", {"jobs": items}, 5)
    assert statuses(reply) == [200, 409, 404, 409, 409, 200]
    assert [reply["jobs"][n]["job"]["leaseUntil"] for n in (0, 5)] == [105, 105]
    assert {id: client.state(id) for id in ("a", "b", "c", "late")} == {
        "a": "running",
        "b": "claimed",
        "c": "running",
        "late": "expired",
    }
    (item,) = client.send("job.start_many", {"jobs": [{"id": "b", "version": 1}], "lease": 7}, 6).must()["jobs"]
    assert item["job"] == client.job("b") and item["job"]["leaseUntil"] == 13


def test_many_of_none(client: JobClient) -> None:
    for kind in ("job.enqueue_many", "job.complete_many", "job.start_many"):
        client.send(kind, {"jobs": []}).must(400)


# --- transactions ---------------------------------------------------------------------------------------------------
def envelope(kind: str, data: Any) -> dict[str, Any]:
    return request(kind, data, V26)


def heads(answers: list[dict[str, Any]]) -> list[int]:
    return [answer["head"]["status"] for answer in answers]


@pytest.mark.parametrize("first", ["promise", "job"])
def test_a_job_and_a_settlement_all_or_none(client: JobClient, first: str) -> None:
    """The request enqueues the mail only if it settles the order."""
    client.create("order", now=0).must()
    settle = envelope("promise.settle", {"id": "order", "state": "resolved", "value": X, "iku": "me"})
    enqueue = envelope("job.enqueue", one("mail-1", payload=X))
    batch = [settle, enqueue] if first == "promise" else [enqueue, settle]
    taken = JobClient(client.store.fork())
    taken.settle("order", iku="somebody", now=1).must()
    before = rows_of(taken.store)
    assert heads(taken.store.apply(batch, now=2, atomic=True)) == [409, 409]
    assert rows_of(taken.store) == before and taken.state("mail-1") == "absent"
    assert heads(client.store.apply(batch, now=2, atomic=True)) == [200, 200]
    assert client.state("mail-1") == "pending" and client.get("order").must()["promise"]["state"] == "resolved"


def test_a_refused_job_undoes_the_promise(client: JobClient) -> None:
    client.enqueue("held", now=0, uniqueKey="k").must()
    before = rows_of(client.store)
    batch = [
        envelope("promise.create", {"id": "p", "timeoutAt": FAR}),
        envelope("job.enqueue", one("a")),
        envelope("job.enqueue", one("b", uniqueKey="k")),
        envelope("job.claim", {"queues": [QUEUE], "worker": "w", "lease": 5}),
    ]
    answers = client.store.apply(batch, now=1, atomic=True)
    assert heads(answers) == [409, 409, 409, 409] and "held" in answers[2]["data"]
    assert rows_of(client.store) == before
    assert heads(client.store.apply(batch, now=1)) == [200, 200, 409, 200], "without atomic each is for itself"


def test_completing_and_claiming_in_one_transaction(client: JobClient) -> None:
    """A busy worker completes one job and claims the next with one commit."""
    for id in ("a", "b"):
        client.enqueue(id, now=0, lifecycle="asynq").must()
    client.claim(now=1).must()
    batch = [
        envelope("job.complete", {"id": "a", "version": 1}),
        envelope("job.claim", {"queues": [QUEUE], "worker": "w1", "lease": 50}),
        envelope("job.complete", {"id": "b", "version": 1}),
        envelope("job.get", {"id": "a"}),
    ]
    answers = client.store.apply(batch, now=2)
    assert heads(answers) == [200, 200, 200, 404]
    assert [job["id"] for job in answers[1]["data"]["jobs"]] == ["b"]


def test_a_batch_is_the_same_requests_one_by_one(make_store: Callable[..., Any]) -> None:
    singly, together = make_store(), make_store()
    work = [
        envelope("job.enqueue", one("a", processAt=50)),
        envelope("job.enqueue", one("b", lifecycle="asynq")),
        envelope("job.enqueue", one("c", goodUntil=60)),
        envelope("job.claim", {"queues": [QUEUE], "count": 5, "worker": "w", "lease": 100}),
        envelope("job.start", {"id": "c", "version": 1}),
        envelope("job.fail", {"id": "c", "version": 1, "error": {"code": "E"}, "retryAfter": 0}),
        envelope("job.claim", {"queues": [QUEUE], "count": 5, "worker": "w", "lease": 100}),
        envelope("job.complete", {"id": "b", "version": 1}),
        envelope("job.get", {"id": "b"}),
        envelope("job.run", {"id": "a"}),
        envelope("job.run", {"id": "a"}),
        envelope("job.cancel", {"queue": QUEUE}),
        envelope("job.stats", {}),
        envelope("job.search", {}),
        envelope("queue.list", {}),
    ]
    for now in (0, 40, 100, 100_000):
        apart = [singly.apply(one_envelope, now=now) for one_envelope in work]
        assert together.apply(work, now=now) == apart
        assert together.snapshot() == singly.snapshot() and together.digest() == singly.digest()
