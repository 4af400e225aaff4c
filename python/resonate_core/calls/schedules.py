"""The calls of schedules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._core import Schedule, SchedulePage, value_members
from .call import Call, Data, nothing
from .values import Duration, duration, given, integer, json_members, string_map, text

__all__ = ["create", "delete", "get", "pause", "resume", "search"]


def _read(answer: Data) -> Schedule:
    return Schedule.from_dict(answer["schedule"])


def create(
    id: str,
    cron: str,
    *,
    promise_id: str = "{{.id}}.{{.timestamp}}",
    promise_timeout: Duration,
    param: Any = None,
    headers: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    job: Mapping[str, Any] | None = None,
) -> Call[Schedule]:
    """schedule.create."""
    data: Data = {
        "id": text("id", id),
        "cron": text("cron", cron),
        "promiseId": text("promise_id", promise_id),
        "promiseTimeout": duration("promise_timeout", promise_timeout),
        "promiseParam": value_members(param, headers, "param"),
        "promiseTags": {} if tags is None else string_map("tags", tags),
    }
    if job is not None:
        data["job"] = json_members("job", job)
    return Call("schedule.create", data, _read, True)


def get(id: str) -> Call[Schedule]:
    """schedule.get."""
    return Call("schedule.get", {"id": text("id", id)}, _read, True)


def delete(id: str) -> Call[None]:
    """schedule.delete."""
    return Call("schedule.delete", {"id": text("id", id)}, nothing)


def pause(id: str) -> Call[Schedule]:
    """schedule.pause."""
    return Call("schedule.pause", {"id": text("id", id)}, _read, True)


def resume(id: str) -> Call[Schedule]:
    """schedule.resume."""
    return Call("schedule.resume", {"id": text("id", id)}, _read, True)


def search(
    id: str | None = None, *, tags: Mapping[str, str] | None = None, limit: int = 10, cursor: str | None = None
) -> Call[SchedulePage]:
    """schedule.search."""
    data = given(
        id=None if id is None else text("id", id),
        tags=None if tags is None else string_map("tags", tags),
        limit=integer("limit", limit),
        cursor=None if cursor is None else text("cursor", cursor),
    )
    return Call("schedule.search", data, SchedulePage.from_dict, True)
