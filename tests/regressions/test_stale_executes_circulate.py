"""An execute whose stream ended soon after it was written went to the next stream of its group, even if its task had ended.

Short-lived workers, each of which acquires a task, fulfils it and ends, passed such messages on for ever: each logged "is fulfilled and
cannot be acquired" about tasks of others.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from resonate_core import Store
from server.live_server import Live, serving

FAR = 10**15
TAGS = {"resonate:target": "poll://any@workers"}


@contextmanager
def stream(port: int, id: str) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", f"/poll/workers/{id}")
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def next_task(events: http.client.HTTPResponse) -> tuple[str, int]:
    while True:
        line = events.readline()
        assert line, "the stream ended"
        if line.startswith(b"data: "):
            message = json.loads(line.removeprefix(b"data: "))
            return message["data"]["task"]["id"], message["data"]["task"]["version"]


def open_streams(live: Live) -> int:
    async def count() -> int:
        assert live.app._runtime is not None
        return len(live.app._runtime.poll.streams)

    found: int = live.run(count())
    return found


def stale(live: Live) -> float:
    value = live.app.metrics.registry.get_sample_value(
        "resonate_deliveries_total", {"transport": "none", "kind": "execute", "outcome": "stale"}
    )
    return value or 0.0


def _fulfil(store: Store, id: str, version: int) -> None:
    task = store.tasks.acquire(id, version, pid="w", ttl=60_000).task
    store.tasks.fulfill(id, task.version, value="done")


def _acquire(store: Store, id: str, version: int) -> None:
    store.tasks.acquire(id, version, pid="w", ttl=60_000)


def _halt(store: Store, id: str, version: int) -> None:
    store.tasks.halt(id)


@pytest.mark.parametrize("spend", [_fulfil, _acquire, _halt])
def test_an_execute_of_a_task_that_is_spent_goes_to_no_other_stream(spend: Any) -> None:
    """Each worker takes one task and ends with its stream; the next one is offered its own task and nothing else."""
    with Store() as store, serving(store, streams={"acknowledge_after": 60}) as live:
        for turn in range(20):
            with stream(live.port, f"w{turn}") as events:
                store.promises.create(f"t{turn}", FAR, tags=TAGS)
                id, version = next_task(events)
                assert (id, version) == (f"t{turn}", 0), "an execute of a spent task came again"
                spend(store, id, version)
            while open_streams(live):
                pass
        with stream(live.port, "last") as events:
            store.promises.create("last", FAR, tags=TAGS)
            assert next_task(events) == ("last", 0)
            for _ in range(1000):  # the last one may still be examined, beside the delivery
                if stale(live) == 20:
                    break
                time.sleep(0.01)
            assert stale(live) == 20


def test_only_the_newest_execute_of_a_released_task_goes_on() -> None:
    with Store(retry_timeout=10**9) as store, serving(store, streams={"acknowledge_after": 60, "grace": 60}) as live:
        with stream(live.port, "first") as events:
            store.promises.create("t", FAR, tags=TAGS)
            assert next_task(events) == ("t", 0)
            acquired = store.tasks.acquire("t", 0, pid="w", ttl=60_000).task
            store.tasks.release("t", acquired.version)
            assert next_task(events) == ("t", acquired.version)
        with stream(live.port, "second") as events:
            assert next_task(events) == ("t", acquired.version), "the execute of the version before came again"
            store.promises.create("last", FAR, tags=TAGS)
            assert next_task(events) == ("last", 0)
        assert stale(live) == 1


def test_an_execute_that_nobody_acted_on_goes_to_the_next_stream() -> None:
    with Store(retry_timeout=10**9) as store, serving(store, streams={"acknowledge_after": 60, "grace": 60}) as live:
        store.promises.create("t", FAR, tags=TAGS)
        for turn in range(3):
            with stream(live.port, f"w{turn}") as events:
                assert next_task(events) == ("t", 0)
        assert stale(live) == 0
