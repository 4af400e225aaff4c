"""Jobs in both dialects: the same kinds, the same records, one state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_wire import JOB, QUEUE, JobClient
from conformance.wire import V25, V26, Reply

X = {"data": "eA==", "headers": {"a": "b"}}


def life(client: JobClient) -> list[Reply | int]:
    """Sends the requests of a job's life; returns every reply, of requests on promises the status."""
    send = client.send
    return [
        send("queue.set", {"queue": QUEUE, "weight": 2}, 0),
        client.enqueue(now=1, payload=X, processAt=10, tags={"t": "1"}),
        send("job.enqueue_many", {"jobs": [{"id": "b", "type": "t", "payload": X}, {"id": "b", "type": "u", "payload": X}]}, 2),
        client.claim(5, [QUEUE, "default"], now=10),
        client.start(now=11),
        client.start("b", now=11),
        client.fail(now=12, retryAfter=8),
        send("job.heartbeat", {"worker": "w1", "jobs": [{"id": "b", "version": 1}, {"id": JOB, "version": 1}]}, 13),
        client.snooze("b", delay=3, now=14),
        client.claim(5, [QUEUE, "default"], now=20),
        client.give_back("b", 2, now=21),
        client.start(version=2, now=22),
        client.complete(version=2, now=23, result=X),
        client.complete(version=2, now=24, result=X),
        send("job.get", {"id": JOB}, 25),
        send("job.get", {"id": "nobody"}, 25),
        client.administer("archive", "b", now=26),
        client.administer("run", "b", now=27),
        client.administer("cancel", "b", now=28),
        send("job.search", {"tags": {"t": "1"}}, 29),
        client.administer("delete", "b", now=30),
        client.enqueue("c", now=30, after=[JOB]),
        client.enqueue("d", now=30, after=[JOB, "c"], afterFailed="run"),
        client.claim(5, now=30, start=5),
        client.enqueue("gate", now=30),
        client.wait_for("gate", JOB, id="c", now=30, until="all"),
        client.wait_for("gate", id="c", now=30),
        send(
            "job.enqueue_many", {"jobs": [{"id": "e", "type": "t"}, {"id": "f", "type": "t", "after": ["e"]}], "atomic": True}, 30
        ),
        client.settle("gate", now=30).status,
        send("job.search", {"state": "waiting"}, 30),
        client.administer("cancel", "c", now=30),
        client.administer("delete", "d", now=30),
        send("job.stats", {}, 31),
        send("queue.get", {"queue": QUEUE}, 32),
        send("queue.pause", {"queue": QUEUE}, 33),
        send("queue.resume", {"queue": QUEUE}, 34),
        send("queue.list", {}, 35),
    ]


def test_a_life_is_the_same_in_both(make_store: Callable[..., Any]) -> None:
    new, old = JobClient(make_store(), V26), JobClient(make_store(), V25)
    assert life(new) == life(old)
    assert new.jobs() == old.jobs() == ["c", "e", "f", "gate", JOB]


@pytest.mark.parametrize(("first", "second"), [(V26, V25), (V25, V26)])
def test_a_worker_of_one_dialect_ends_what_one_of_the_other_began(store: Any, first: str, second: str) -> None:
    """In both dialects a job's version is the number of its claims; the version of its task differs by dialect."""
    one, two = JobClient(store, first), JobClient(store, second)
    one.enqueue(now=0).must()
    (job,) = two.claim(now=1).must()["jobs"]
    assert job["version"] == one.job()["version"] == two.job()["version"] == 1
    assert (one.task(JOB).must()["task"]["version"], two.task(JOB).must()["task"]["version"]) == (
        (1, 0) if first == V26 else (0, 1)
    )
    one.start(version=1, now=2).must()
    assert two.beat((JOB, 1), now=3) == ([], [])
    two.complete(version=1, now=4).must()
    assert one.state() == two.state() == "completed"


def test_what_is_unprocessable_is_a_400_there(store: Any) -> None:
    new, old = JobClient(store, V26), JobClient(store, V25)
    new.enqueue(now=0).must()
    new.create("gate", tags={"resonate:external": "true"}).must()
    new.register("gate", JOB).must(422)
    old.register("gate", JOB).must(400)
