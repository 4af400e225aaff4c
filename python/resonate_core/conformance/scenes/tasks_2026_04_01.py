"""The scenes of the table of 2026-04-01: how a task comes into each state, and each request on it."""

from __future__ import annotations

from collections.abc import Callable

from ..requests import ADDRESS, Reply, Requests

__all__ = ["DEADLINE", "REQUESTS", "STALE", "TASK", "TTL", "prepare", "send"]

TASK = "task"
DEADLINE = 100_000
TTL = 20_000


def prepare(client: Requests, state: str, cycles: int, deadline: int = DEADLINE, ttl: int = TTL) -> int:
    """Bring the task into a state, all before the instant 1000; return the version that a request should present.

    Args:
        client: Sends the requests.
        state: A column of the table.
        cycles: How often the task was acquired and released before.
        deadline: The deadline of its promise.
        ttl: The duration of its leases.
    """
    for id in ("awaited", "gate", "child", "branchless"):
        client.create(id, tags={"resonate:external": "true"}, now=100).must()
    client.create("done", now=101).must()
    client.settle("done", now=102).must()
    if state == "absent":
        return 0
    if state == "plain":
        client.create(TASK, deadline, now=103).must()
        return 0
    client.create(TASK, deadline, target=ADDRESS, now=103).must()
    version = 0
    for _ in range(cycles):
        client.acquire(TASK, version, ttl).must()
        version += 1
        client.release(TASK, version).must()
    client.register("awaited", TASK, now=106).must()
    if state in ("acquired", "suspended", "fulfilled"):
        client.acquire(TASK, version, ttl, now=900).must()
        version += 1
    if state == "suspended":
        client.suspend(TASK, version, "gate", now=901).must()
    elif state == "fulfilled":
        client.fulfill(TASK, version, now=902).must()
    elif state == "halted":
        client.halt(TASK, now=903).must()
    return version


def _on_settled(client: Requests, version: int, now: int) -> Reply:
    return client.suspend(TASK, version, "gate", "done", now=now)


# fmt: off
REQUESTS: dict[str, Callable[[Requests, int, int], Reply]] = {
    "promise.get": lambda d, v, t: d.get(TASK, now=t),
    "promise.create": lambda d, v, t: d.create(TASK, DEADLINE, target=ADDRESS, now=t),
    "promise.settle": lambda d, v, t: d.settle(TASK, now=t),
    "promise.register_callback by": lambda d, v, t: d.register("gate", TASK, now=t),
    "promise.register_callback on": lambda d, v, t: d.register(TASK, "awaiter", now=t),
    "promise.register_listener": lambda d, v, t: d.listen(TASK, now=t),
    "promise.search": lambda d, v, t: d.search("promise", now=t),
    "task.get": lambda d, v, t: d.task(TASK, now=t),
    "task.create": lambda d, v, t: d.task_create(TASK, DEADLINE, TTL, now=t),
    "task.acquire": lambda d, v, t: d.acquire(TASK, v, TTL, now=t),
    "task.release": lambda d, v, t: d.release(TASK, v, now=t),
    "task.suspend": lambda d, v, t: d.suspend(TASK, v, "gate", "child", now=t),
    "task.suspend on settled": _on_settled,
    "task.suspend on missing": lambda d, v, t: d.suspend(TASK, v, "done", "nowhere", now=t),
    "task.fulfill": lambda d, v, t: d.fulfill(TASK, v, now=t),
    "task.fence create": lambda d, v, t: d.fence_create(TASK, v, "new", now=t),
    "task.fence settle": lambda d, v, t: d.fence_settle(TASK, v, "child", now=t),
    "task.heartbeat": lambda d, v, t: d.heartbeat("w1", (TASK, v), now=t),
    "task.halt": lambda d, v, t: d.halt(TASK, now=t),
    "task.continue": lambda d, v, t: d.cont(TASK, now=t),
    "task.search": lambda d, v, t: d.search("task", now=t),
}
# fmt: on
STALE = {
    "task.acquire stale": "task.acquire",
    "task.release stale": "task.release",
    "task.suspend stale": "task.suspend",
    "task.fulfill stale": "task.fulfill",
    "task.fence stale": "task.fence create",
    "task.heartbeat stale": "task.heartbeat",
}
"""Requests with a version that is not the current one."""


def send(client: Requests, event: str, version: int, now: int) -> Reply:
    """Send the request of a row; `version` is the current one."""
    if event in STALE:
        return REQUESTS[STALE[event]](client, version + 1, now)
    return REQUESTS[event](client, version, now)
