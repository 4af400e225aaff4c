"""Whole graphs in one request: `job.enqueue_many` with `atomic` enqueues all jobs or none (JOBS 5)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_waits import awaits, callbacks, complete, gates
from conformance.job_wire import JobClient
from conformance.wire import V25, V26, rows_of
from resonate_core.conformance.reply_form import status_in

ONE = {"type": "t", "queue": "mail"}


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def node(id: str | None, *awaited: str, **data: Any) -> dict[str, Any]:
    """One item of a request."""
    return {**ONE, **({} if id is None else {"id": id}), **({"after": list(awaited)} if awaited else {}), **data}


def test_a_graph_in_one_request(client: JobClient) -> None:
    gates(client, "outside")
    jobs = [node("a"), node("b", "a"), node("c", "a", "outside"), node("d", "b", "c", "b")]
    found = client.send("job.enqueue_many", {"jobs": jobs, "atomic": True}, 5).must()["jobs"]
    assert [(one["status"], one["job"]["id"], one["job"]["state"]) for one in found] == [
        (200, "a", "pending"),
        *((200, id, "waiting") for id in "bcd"),
    ]
    assert [awaits(client, id) for id in "bcd"] == [["a"], ["a", "outside"], ["b", "c"]]
    assert callbacks(client, "a") == ["b", "c"] and {client.job(id)["createdAt"] for id in "abcd"} == {5}
    client.settle("outside", now=6).must()
    for now, id in ((7, "a"), (8, "b"), (9, "c"), (10, "d")):
        complete(client, id, now)
    assert client.store.check() == []


def test_what_exists_is_answered(client: JobClient) -> None:
    """The same request again enqueues what is missing, which is nothing."""
    jobs = [node("a", retention=None), node("b", "a")]
    client.send("job.enqueue_many", {"jobs": jobs, "atomic": True}, 1).must()
    complete(client, "a", 2)
    before = rows_of(client.store)
    found = client.send("job.enqueue_many", {"jobs": jobs, "atomic": True}, 3).must()["jobs"]
    assert [(one["status"], one["job"]["state"]) for one in found] == [(200, "completed"), (200, "pending")]
    assert rows_of(client.store) == before
    jobs.append(node("c", "a", "b"))
    found = client.send("job.enqueue_many", {"jobs": jobs, "atomic": True}, 4).must()["jobs"]
    assert [one["job"]["state"] for one in found] == ["completed", "pending", "waiting"] and awaits(client, "c") == ["b"]


# fmt: off
REFUSED: dict[str, tuple[list[dict[str, Any]], int, int]] = {
    # the items, the place of the one that is refused, the status
    "an id that does not exist": ([node("a"), node("b", "nobody")], 1, 422),
    "a later item": ([node("a", "b"), node("b")], 0, 422),
    "a member out of range": ([node("a"), node("b", priority=0)], 1, 400),
    "its own id": ([node("a"), node("b", "a", "b")], 1, 400),
    "a group": ([node("a"), node("b", "a", group="g")], 1, 400),
    "retries without a policy": ([node("a"), node("b", lifecycle="horsies", maxRetries=1)], 1, 400),
    "another job that exists": ([node("a"), node("there", type="other")], 1, 409),
    "a promise that exists": ([node("a"), node("gate", "a")], 1, 409),
    "a workflow that exists": ([node("a"), node("workflow")], 1, 409),
    "a key that is held": ([node("a"), node("b", uniqueKey="held")], 1, 409),
    "an id twice": ([node("a"), node("b"), node("a")], 2, 409),
    "an existing id twice": ([node("there"), node("there")], 1, 409),
    "a key twice": ([node("a", uniqueKey="k"), node(None, uniqueKey="k")], 1, 409),
    "the first of two": ([node("a"), node("b", "nobody"), node("c", priority=0)], 1, 422),
    "the first of two, which breaks a rule": ([node("a"), node("b", priority=0), node("c", "nobody")], 1, 400),
    "the only one": ([node("a", "nobody")], 0, 422),
}
# fmt: on


def crowded(client: JobClient) -> None:
    gates(client, "gate")
    client.task_create("workflow", now=0).must()
    client.enqueue("there", now=0, type="t", uniqueKey="held").must()


@pytest.mark.parametrize("name", REFUSED)
def test_one_that_is_refused_refuses_all(client: JobClient, name: str) -> None:
    jobs, place, status = REFUSED[name]
    crowded(client)
    before = rows_of(client.store)
    reply = client.send("job.enqueue_many", {"jobs": jobs, "atomic": True}, 1)
    assert reply.status == status_in(client.version, status) and reply.data.startswith(f"jobs[{place}]: ")
    assert rows_of(client.store) == before, "nothing is enqueued, and no id is used up"


@pytest.mark.parametrize("atomic", [None, False])
@pytest.mark.parametrize("name", REFUSED)
def test_otherwise_the_items_are_independent(client: JobClient, name: str, atomic: bool | None) -> None:
    jobs, place, status = REFUSED[name]
    crowded(client)
    found = client.send("job.enqueue_many", {"jobs": jobs, **({} if atomic is None else {"atomic": atomic})}, 1).must()["jobs"]
    statuses = [one["status"] for one in found]
    if "twice" in name and "key" not in name:
        assert set(statuses) == {200}, "the same job again"
    else:
        assert statuses[place] == status_in(client.version, status)
        assert set(statuses[:place]) <= {200}


def test_keys_of_other_queues_and_ids_that_the_store_makes(client: JobClient) -> None:
    jobs = [node(None, uniqueKey="k"), node(None, uniqueKey="k", queue="other"), node(None), node(None)]
    found = client.send("job.enqueue_many", {"jobs": jobs, "atomic": True}, 1).must()["jobs"]
    assert len({one["job"]["id"] for one in found}) == 4


def test_a_failed_dependency_refuses_nothing(client: JobClient) -> None:
    """The jobs are created cancelled, or failed, as they would be one by one."""
    gates(client, "gate")
    client.settle("gate", "rejected", now=1).must()
    jobs = [node("a", "gate"), node("b", "a"), node("c", deadline=1), node("d", "c"), node("e", "a", "c", afterFailed="run")]
    found = client.send("job.enqueue_many", {"jobs": jobs, "atomic": True}, 2).must()["jobs"]
    assert [one["job"]["state"] for one in found] == ["cancelled", "cancelled", "failed", "cancelled", "pending"]
    assert client.job("b")["error"]["message"] == 'the awaited promise "a" was cancelled'
    assert client.job("d")["error"]["message"] == 'the awaited promise "c" timed out'
    assert client.store.check() == []


def test_atomic_of_another_type(client: JobClient) -> None:
    client.send("job.enqueue_many", {"jobs": [node("a")], "atomic": "yes"}, 1).must(400)
    assert client.state("a") == "absent"
