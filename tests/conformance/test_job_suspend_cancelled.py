"""The cancellation of a job that was suspended, and what it cancels (JOBS 8)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_waits import callbacks, sound, suspended
from conformance.job_wire import JobClient
from conformance.wire import V25, V26


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def test_its_cancellation_cancels_nothing(client: JobClient) -> None:
    client.enqueue("a", now=0, priority=99, cancelWithAwaiters=True).must()
    suspended(client, "a")
    client.administer("cancel", "j", now=5).must()
    assert client.state("a") == "pending" and client.store.tick(6) == []
    sound(client)


@pytest.mark.parametrize("how", ["job.cancel", "promise.settle"])
def test_an_adopted_promise_cancels_what_it_awaits(client: JobClient, how: str) -> None:
    """It is a promise of a program that became a job: its callbacks count like those of any promise, also those of its wait."""
    for id in ("a", "b", "kept"):
        client.enqueue(id, now=0, priority=99, cancelWithAwaiters=id != "kept").must()
    client.create("j", now=0).must()
    JobClient(client.store, V25).register("b", "j", now=0).must()
    suspended(client, "a", "kept")
    assert [callbacks(client, id) for id in ("a", "b", "kept")] == [["j"]] * 3
    if how == "job.cancel":
        client.administer("cancel", "j", now=5).must()
    else:
        client.settle("j", "rejected_canceled", now=5).must()
    for id in ("a", "b"):
        assert (client.state(id), client.job(id)["error"]["message"]) == ("cancelled", 'the awaiter "j" was cancelled')
    assert client.state("kept") == "pending" and [callbacks(client, id) for id in ("a", "b", "kept")] == [[]] * 3
    sound(client)


def test_an_adopted_promise_that_ends_otherwise_cancels_nothing(client: JobClient) -> None:
    client.enqueue("a", now=0, priority=99, cancelWithAwaiters=True).must()
    client.create("j", now=0).must()
    suspended(client, "a")
    client.settle("j", now=5).must()
    assert client.state("a") == "pending" and callbacks(client, "a") == []
    sound(client)
