"""Bulk work beside which a create is measured: the rows of the store before, and the call that begins the work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import resonate_core as rc

FAR = 4_000_000_000_000
_TARGET = {"resonate:target": "poll://any@nobody"}
_AT_ONCE = 1000
#: Bytes of one promise of the preload.
_PRELOADED = 100_000
#: How far the deadline lies ahead of the moment at which all of its promises exist, in ms.
_AHEAD_MS = 3_000


@dataclass(frozen=True)
class Trigger:
    """The requests or the instant that start the bulk work.

    Attributes:
        requests: Sent one after the other, over and over where the scene repeats.
        at_ms: The instant at which it goes off by itself, in Unix ms.
    """

    requests: list[dict[str, Any]] = field(default_factory=list)
    at_ms: int | None = None


@dataclass(frozen=True)
class Scene:
    """One kind of bulk work.

    Attributes:
        what: As people read it.
        size: How many promises it has.
        prepare: Fills a store.
        repeats: Whether the requests are sent for as long as the measurement lasts.
    """

    what: str
    size: int
    prepare: Callable[[rc.Store, int], Trigger]
    repeats: bool = False


def envelope(kind: str, **data: Any) -> dict[str, Any]:
    return {"kind": kind, "head": {"corrId": "1", "version": "2026-04-01"}, "data": data}


def create(
    name: str, timeout_at: int = FAR, tags: dict[str, str] | None = None, data: str = "eyJza3UiOiJ0ZWEifQ=="
) -> dict[str, Any]:
    return envelope("promise.create", id=name, timeoutAt=timeout_at, param={"headers": {}, "data": data}, tags=tags or {})


def settle(name: str) -> dict[str, Any]:
    return envelope("promise.settle", id=name, state="resolved", value={"headers": {}, "data": "Im9rIg=="})


def _fill(store: rc.Store, requests: Iterable[dict[str, Any]]) -> None:
    rest: Iterator[dict[str, Any]] = iter(requests)
    while part := list(islice(rest, _AT_ONCE)):
        refused = [answer for answer in store.apply(part) if answer["head"]["status"] != 200]
        if refused:
            raise RuntimeError(f"a scene cannot be prepared: {refused[0]}")


def _idle(store: rc.Store, size: int) -> Trigger:
    return Trigger()


def _awaiters(store: rc.Store, size: int) -> Trigger:
    def requests() -> Iterator[dict[str, Any]]:
        yield create("awaited", tags={"resonate:external": "true"})
        for i in range(size):
            name = f"awaiter-{i:06}"
            yield envelope("task.create", pid="gone", ttl=86_400_000, action=create(name, tags=_TARGET))
            callback = envelope("promise.register_callback", awaited="awaited", awaiter=name)
            yield envelope("task.suspend", id=name, version=1, actions=[callback])

    _fill(store, requests())
    return Trigger([settle("awaited")])


def _due(store: rc.Store, size: int) -> Trigger:
    started = time.time()
    _fill(store, (create(f"far-{i:06}", tags={"resonate:external": "true"}) for i in range(size // 10)))
    took = time.time() - started
    at_ms = int(time.time() * 1000 + 25_000 * took) + _AHEAD_MS  # before the first of them is due, the last has to be there
    _fill(store, (create(f"due-{i:06}", at_ms, {"resonate:external": "true"}) for i in range(size)))
    return Trigger(at_ms=at_ms)


def _search(store: rc.Store, size: int) -> Trigger:
    _fill(store, (create(f"there-{i:06}") for i in range(size)))
    return Trigger([envelope("promise.search", tags={"nobody": "has"})])


def _listeners(store: rc.Store, size: int) -> Trigger:
    def requests() -> Iterator[dict[str, Any]]:
        yield create("awaited", tags={"resonate:external": "true"})
        for i in range(size):
            yield envelope("promise.register_listener", awaited="awaited", address=f"poll://uni@nobody/{i:06}")

    _fill(store, requests())
    return Trigger([settle("awaited")])


def _preload(store: rc.Store, size: int) -> Trigger:
    branch = {"resonate:branch": "branch"}
    _fill(store, [create("task", tags={**_TARGET, **branch})])
    _fill(store, (create(f"child-{i:03}", tags=branch, data="x" * _PRELOADED) for i in range(size)))
    requests = []
    for version in range(20_000):  # more than one measurement gets through: the versions do not begin again
        requests.append(envelope("task.acquire", id="task", version=version, pid="worker", ttl=86_400_000))
        requests.append(envelope("task.release", id="task", version=version + 1))
    return Trigger(requests)


def _waiting_jobs(store: rc.Store, size: int) -> Trigger:
    """Jobs that wait for one, which ends."""
    _fill(store, [envelope("job.enqueue", id="first", type="t", lifecycle="asynq", retention=None)])
    [job] = store.jobs.claim("default", worker="w", lease=86_400_000)
    _fill(store, (envelope("job.enqueue", id=f"job-{i:06}", type="t", queue="later", after=["first"]) for i in range(size)))
    return Trigger([envelope("job.complete", id="first", version=job.version)])


def _wide_join(store: rc.Store, size: int) -> Trigger:
    """One job that waits for many, which end in one request."""
    jobs = [{"id": f"part-{i:06}", "type": "t", "lifecycle": "asynq", "retention": None} for i in range(size)]
    _fill(store, [envelope("job.enqueue_many", jobs=jobs)])
    held = [{"id": job.id, "version": job.version} for job in store.jobs.claim("default", size, worker="w", lease=86_400_000)]
    _fill(store, [envelope("job.enqueue", id="join", type="t", queue="later", after=[one["id"] for one in held])])
    return Trigger([envelope("job.complete_many", jobs=held)])


SCENES: dict[str, Scene] = {
    "idle": Scene("nothing else", 1, _idle),
    "awaiters": Scene("100,000 awaiters woken", 100_000, _awaiters),
    "due": Scene("300,000 promises due at one instant", 300_000, _due),
    "search": Scene("searches that match none of 500,000", 500_000, _search, repeats=True),
    "listeners": Scene("100,000 listeners notified", 100_000, _listeners),
    "waiting_jobs": Scene("100,000 jobs that wait for one that ends", 100_000, _waiting_jobs),
    "wide_join": Scene("a job that waits for 1,000 that end at once", 1_000, _wide_join),
    "preload": Scene("acquires whose preload is 8.5 MB", 85, _preload, repeats=True),
}
