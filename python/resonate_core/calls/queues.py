"""The calls of queues."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._core import wire_fields
from ..base.argument_errors import unexpected
from .call import Call, Data
from .values import camel, integer, json_members, text

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..base.queue_options import QueueOptions

__all__ = ["get", "list", "pause", "resume", "set", "stats"]

_INTEGERS = ("weight", "concurrency")
_PARTS = ("rate", "groups", "defaults")


def _queue(answer: Data) -> dict[str, Any]:
    return answer["queue"]  # type: ignore[no-any-return]


def _queues(answer: Data) -> builtins.list[dict[str, Any]]:
    return answer["queues"]  # type: ignore[no-any-return]


def _member(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _INTEGERS:
        return integer(name, value)
    return json_members(name, value) if name in _PARTS else text(name, value)


def set(name: str, **kwargs: Unpack[QueueOptions]) -> Call[dict[str, Any]]:
    """queue.set."""
    known = [member["argument"] for member in wire_fields()["queue.set"] if member["name"] != "queue"]
    for keyword in kwargs:
        if keyword not in known:
            raise TypeError(unexpected("set", keyword, known))
    members = {camel(member): _member(member, value) for member, value in kwargs.items()}
    return Call("queue.set", {"queue": text("name", name), **members}, _queue, True)


def get(name: str) -> Call[dict[str, Any]]:
    """queue.get."""
    return Call("queue.get", {"queue": text("name", name)}, _queue, True)


def pause(name: str) -> Call[dict[str, Any]]:
    """queue.pause."""
    return Call("queue.pause", {"queue": text("name", name)}, _queue, True)


def resume(name: str) -> Call[dict[str, Any]]:
    """queue.resume."""
    return Call("queue.resume", {"queue": text("name", name)}, _queue, True)


def list() -> Call[builtins.list[dict[str, Any]]]:
    """queue.list."""
    return Call("queue.list", {}, _queues, True)


def stats(name: str | None = None) -> Call[builtins.list[dict[str, Any]]]:
    """job.stats."""
    data: Mapping[str, Any] = {} if name is None else {"queue": text("name", name)}
    return Call("job.stats", dict(data), _queues, True)
