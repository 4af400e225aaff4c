"""A client splits enqueue_many into requests that the server accepts, and an error says what was enqueued."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import resonate_core as rc

from .faces import FACES
from .flaky_server import LOST, Flaky, flaky


@pytest.fixture
def store() -> rc.Store:
    return rc.Store(clock=rc.ManualClock(1000))


@pytest.fixture
def server(store: rc.Store) -> Iterator[Flaky]:
    with flaky(store) as made:
        yield made


@pytest.fixture
def client(server: Flaky) -> Iterator[Any]:
    with rc.connect(server.url, retry_for=60) as made:
        yield made


def sizes(server: Flaky) -> list[int]:
    return [len(request["data"]["jobs"]) for request in server.requests]


def test_many_jobs_are_several_requests(client: Any, server: Flaky, store: rc.Store) -> None:
    jobs = client.jobs.enqueue_many("t", range(2500), tags={"a": "b"}, process_in=5)
    assert sizes(server) == [1000, 1000, 500]
    assert [job.payload.json() for job in jobs] == list(range(2500))
    assert store.queues.stats("default")[0]["counts"]["scheduled"] == 2500


def test_large_payloads_are_several_requests(client: Any, server: Flaky) -> None:
    jobs = client.jobs.enqueue_many("t", ["x" * 300_000] * 5)
    assert [len(job.payload.json()) for job in jobs] == [300_000] * 5
    assert sizes(server) == [2, 2, 1]


def test_a_server_with_a_lower_limit(client: Any, server: Flaky) -> None:
    server.most_bytes = 20_000
    assert len(client.jobs.enqueue_many("t", ["x" * 1000] * 40)) == 40
    accepted = [size for size in sizes(server) if size * 1000 < 20_000]
    assert sum(accepted) == 40
    assert len(sizes(server)) < 20


def test_a_payload_that_is_too_large_alone(client: Any, server: Flaky, store: rc.Store) -> None:
    server.most_bytes = 5000
    with pytest.raises(rc.errors.PartlyEnqueued) as raised:
        client.jobs.enqueue_many("t", ["small", "x" * 9000, "small"])
    assert [job.payload.json() for job in raised.value.enqueued] == ["small"]
    assert raised.value.missing == [1, 2]
    assert raised.value.status == 413
    assert len(store.jobs.search()) == 1


def test_a_refused_job(client: Any, store: rc.Store) -> None:
    store.jobs.enqueue("other", id="b")
    with pytest.raises(rc.errors.PartlyEnqueued) as raised:
        client.jobs.enqueue_many("t", [1, 2, 3], ids=["a", "b", "c"])
    error = raised.value
    assert [job.id for job in error.enqueued] == ["a", "c"]
    assert error.missing == [1]
    assert isinstance(error.problem, rc.Conflict)
    assert error.status == 409
    assert str(error).startswith("2 of 3 jobs were enqueued; payload 1: ")
    assert pickle.loads(pickle.dumps(error.problem)).status == 409


def test_requests_after_a_refused_job_are_not_sent(client: Any, server: Flaky, store: rc.Store) -> None:
    store.jobs.enqueue("other", id="j5")
    with pytest.raises(rc.errors.PartlyEnqueued) as raised:
        client.jobs.enqueue_many("t", range(1500), ids=[f"j{i}" for i in range(1500)])
    assert sizes(server) == [1000]
    assert len(raised.value.enqueued) == 999
    assert raised.value.missing == [5, *range(1000, 1500)]


def test_when_all_are_refused_it_is_the_refusal_itself(client: Any) -> None:
    with pytest.raises(rc.Invalid, match="payload 0: priority must be within"):
        client.jobs.enqueue_many("t", [1, 2], priority=500)


def test_an_answer_that_is_lost(client: Any, server: Flaky) -> None:
    server.faults = ["", LOST]
    with pytest.raises(rc.errors.PartlyEnqueued) as raised:
        client.jobs.enqueue_many("t", range(2500))  # without ids it may not be sent again
    assert isinstance(raised.value.problem, rc.Unreachable)
    assert (len(raised.value.enqueued), raised.value.missing[0], len(raised.value.missing)) == (1000, 1000, 1500)


def test_an_answer_that_is_lost_with_ids(client: Any, server: Flaky, store: rc.Store) -> None:
    server.faults = ["", LOST]
    ids = [f"j{i}" for i in range(2500)]
    assert [job.id for job in client.jobs.enqueue_many("t", range(2500), ids=ids)] == ids
    assert sizes(server) == [1000, 1000, 1000, 500]
    assert store.queues.stats("default")[0]["counts"]["pending"] == 2500


def test_awaited(server: Flaky) -> None:
    async def main() -> Any:
        async with rc.connect(server.url).aio as client:
            return await client.jobs.enqueue_many("t", range(1500))

    assert len(asyncio.run(main())) == 1500
    assert sizes(server) == [1000, 500]


def test_on_the_server_itself() -> None:
    with rc.Store() as store, FACES["client"](store) as client:
        assert len(client.jobs.enqueue_many("t", ["x" * 1000] * 3000)) == 3000
