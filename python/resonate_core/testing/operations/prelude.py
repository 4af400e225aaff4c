"""The first requests of most examples: an acquired, a suspended and a pending task, an awaited promise and an internal promise.

From an empty store, random requests seldom lead to a suspended task, and even less often to the states after it.
"""

from __future__ import annotations

from typing import Any

from ...calls.call import envelope

__all__ = ["REQUESTS", "request", "task"]

NEW, OLD = "2026-04-01", "2025-01-15"
TARGET = {"resonate:target": "poll://any@g", "resonate:branch": "br"}


def request(kind: str, dialect: str, **data: Any) -> dict[str, Any]:
    """Return a request."""
    return envelope(kind, data, "prelude", dialect)


def task(promise_id: str, dialect: str) -> dict[str, Any]:
    """Return the request that creates and acquires a task."""
    action = {"kind": "promise.create", "data": {"id": promise_id, "timeoutAt": 100_000, "tags": TARGET}}
    return request("task.create", dialect, pid="w1", ttl=1000, action=action)


REQUESTS = [
    task("a", NEW),
    request("promise.create", NEW, id="b", timeoutAt=10_000, tags={"resonate:external": "true"}),
    task("b.1", OLD),
    request(
        "task.suspend",
        NEW,
        id="b.1",
        version=1,
        actions=[{"kind": "promise.register_callback", "data": {"awaiter": "b.1", "awaited": one}} for one in ("b", "a")],
    ),
    request("promise.create", OLD, id="b:2", timeoutAt=100_000, tags=TARGET),
    request("promise.create", NEW, id="～", timeoutAt=100_000),
    request("promise.subscribe", OLD, awaited="b", address="http://h/x"),
]
