"""The calls of tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .._core import Claim, Fenced, Promise, Suspension, Task, TaskPage
from .._foreign_text import MOST_OF_A_REFUSAL, excerpt
from ..errors import Invalid
from .call import VERSION, Call, Data, RefusedAction, nothing, refusal
from .promises import creation, settlement
from .values import Duration, Instant, duration, given, held, integer, string_map, text, texts

__all__ = [
    "acquire",
    "create",
    "fence_create",
    "fence_settle",
    "fulfill",
    "get",
    "halt",
    "heartbeat",
    "release",
    "resume",
    "search",
    "suspend",
]

_HEAD = {"corrId": "inner", "version": VERSION}


def _action(kind: str, data: Data) -> Data:
    return {"kind": kind, "head": _HEAD, "data": data}


def _held(id: str, version: int) -> Data:
    return {"id": text("id", id), "version": integer("version", version)}


def _fenced(answer: Data) -> Fenced:
    action = answer["action"]
    status = action["head"]["status"]
    if type(status) is int and 300 <= status < 600:
        raise RefusedAction(refusal(status, excerpt(action["data"], MOST_OF_A_REFUSAL)))
    return Fenced.from_dict({**answer, "promise": action["data"]["promise"]})


def _suspended(answer: Data) -> Suspension:
    return Suspension.from_dict({**answer, "status": 300 if "preload" in answer else 200})


def get(id: str) -> Call[Task]:
    """task.get."""
    return Call("task.get", {"id": text("id", id)}, lambda answer: Task.from_dict(answer["task"]), True)


def create(
    id: str,
    timeout_at: Instant | None = None,
    *,
    pid: str,
    ttl: Duration,
    timeout: Duration | None = None,
    target: str | None = None,
    param: Any = None,
    headers: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Call[Claim]:
    """task.create."""
    if target is not None:
        named = {} if tags is None else string_map("tags", tags)
        tagged = named.setdefault("resonate:target", text("target", target))
        if tagged != target:
            raise Invalid(f"target is '{target}' and the tag resonate:target is '{tagged}'; give one")
        tags = named
    inner, deadline = creation(id, timeout_at, timeout, param, headers, tags, idempotency_key)
    data = {"pid": text("pid", pid), "ttl": duration("ttl", ttl), "action": _action("promise.create", inner)}
    return Call("task.create", data, Claim.from_dict, False, deadline)


def acquire(id: str, version: int, *, pid: str, ttl: Duration) -> Call[Claim]:
    """task.acquire."""
    data = {**_held(id, version), "pid": text("pid", pid), "ttl": duration("ttl", ttl)}
    return Call("task.acquire", data, Claim.from_dict)


def release(id: str, version: int) -> Call[None]:
    """task.release."""
    return Call("task.release", _held(id, version), nothing)


def fulfill(
    id: str,
    version: int,
    value: Any = None,
    *,
    state: str = "resolved",
    headers: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Call[Promise]:
    """task.fulfill."""
    inner = settlement(id, state, value, headers, idempotency_key)
    data = {**_held(id, version), "action": _action("promise.settle", inner)}
    return Call("task.fulfill", data, lambda answer: Promise.from_dict(answer["promise"]))


def suspend(id: str, version: int, awaiting: Iterable[str]) -> Call[Suspension]:
    """task.suspend."""
    data = _held(id, version)
    data["actions"] = [
        _action("promise.register_callback", {"awaited": awaited, "awaiter": id}) for awaited in texts("awaiting", awaiting)
    ]
    return Call("task.suspend", data, _suspended)


def fence_create(
    id: str,
    version: int,
    promise_id: str,
    timeout_at: Instant | None = None,
    *,
    timeout: Duration | None = None,
    param: Any = None,
    headers: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Call[Fenced]:
    """task.fence with a promise.create."""
    inner, deadline = creation(promise_id, timeout_at, timeout, param, headers, tags, idempotency_key, "promise_id")
    data = {**_held(id, version), "action": _action("promise.create", inner)}
    return Call("task.fence", data, _fenced, True, deadline)


def fence_settle(
    id: str,
    version: int,
    promise_id: str,
    value: Any = None,
    *,
    state: str = "resolved",
    headers: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
) -> Call[Fenced]:
    """task.fence with a promise.settle."""
    inner = settlement(promise_id, state, value, headers, idempotency_key, "promise_id")
    return Call("task.fence", {**_held(id, version), "action": _action("promise.settle", inner)}, _fenced, True)


def heartbeat(pid: str, tasks: Iterable[tuple[str, int]] = ()) -> Call[None]:
    """task.heartbeat."""
    return Call("task.heartbeat", {"pid": text("pid", pid), "tasks": held("tasks", tasks)}, nothing, True)


def halt(id: str) -> Call[None]:
    """task.halt."""
    return Call("task.halt", {"id": text("id", id)}, nothing, True)


def resume(id: str) -> Call[None]:
    """task.continue."""
    return Call("task.continue", {"id": text("id", id)}, nothing)


def search(
    id: str | None = None,
    *,
    state: str | None = None,
    target: str | None = None,
    tags: Mapping[str, str] | None = None,
    limit: int = 100,
    cursor: str | None = None,
) -> Call[TaskPage]:
    """task.search."""
    data = given(
        id=None if id is None else text("id", id),
        state=None if state is None else text("state", state),
        target=None if target is None else text("target", target),
        tags=None if tags is None else string_map("tags", tags),
        limit=integer("limit", limit),
        cursor=None if cursor is None else text("cursor", cursor),
    )
    return Call("task.search", data, TaskPage.from_dict, True)
