"""A call to a group of workers with different functions went back to the one that had released it, for minutes.

In one process that worker was woken by its own release. Over HTTP, two such calls took turns with each other: each stream got
the other's.
"""

from __future__ import annotations

import resonate_core as rc
from resonate_core.server.addresses import PollAddress
from resonate_core.server.streams import Stream, Streams
from resonate_core.worker import Worker
from resonate_core.worker.store_client import StoreClient
from resonate_core.worker.target_group import TargetGroup


def group_of(store: rc.Store, name: str, function: str) -> TargetGroup:
    worker = Worker(store, target_group="shop", name=name)
    worker.task(function)(lambda: None)
    return TargetGroup(worker._parts(), StoreClient(store).inbox("shop", name, -1), lambda: 0.0)


def call(store: rc.Store, id: str, function: str) -> None:
    tags = {"resonate:target": "poll://any@shop"}
    store.promises.create(id, timeout=60_000, tags=tags, param={"func": function, "args": []})


def test_in_one_process() -> None:
    store = rc.Store(clock=rc.ManualClock(start=0), check=True)
    first, second = group_of(store, "first", "a"), group_of(store, "second", "b")
    call(store, "c", "b")
    for _ in range(5):  # it is always faster
        first.round()
    assert store.tasks.get("c").state == "pending"
    second.round()
    assert store.tasks.get("c").state == "suspended"


def test_a_resume_is_not_left_to_others() -> None:
    """Any worker of the group passes on the outcome of a job, also one that does not know the function."""
    store = rc.Store(clock=rc.ManualClock(start=0), check=True)
    first, second = group_of(store, "first", "a"), group_of(store, "second", "b")
    call(store, "c", "b")
    first.round()
    second.round()
    held = store.jobs.claim("default", worker="w", lease=1000)[0]
    started = store.jobs.start(held.id, held.version, lease=1000)
    store.jobs.complete(started.id, started.version, 5)
    first.round()
    assert store.promises.get("c").value.json() == 5


def test_over_streams() -> None:
    streams = Streams(0.0, lambda: 0.0)
    for id in ("w1", "w2"):
        streams.add(Stream("shop", id, 10))
    address = PollAddress(True, "shop", None)
    chosen: dict[str, list[str]] = {"c": [], "d": []}
    for _ in range(3):
        for about in chosen:
            stream = streams.choose(address, about)
            assert stream is not None
            chosen[about].append(stream.id)
    assert chosen == {"c": ["w1", "w2", "w1"], "d": ["w2", "w1", "w2"]}
