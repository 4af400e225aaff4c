"""For minutes, a call returned to the worker that had released it, although another worker of the group had the function.

In one process, the release woke the worker that had made it before the others. Over HTTP, the streams of a group get messages in turn:
two such calls alternated, so each call returned to the same stream.
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
    """A worker that does not have the function settles the call when its job has ended, as each worker of the group does."""
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
