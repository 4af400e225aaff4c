"""The shape of requests on a server (PROTOCOL 3): each member of each kind is missing, of a wrong type, or beyond its bounds."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import partial
from typing import Any

from ..player import Scene, SceneClient
from ..requests import ADDRESS, LISTENER, V26
from ..rules import section

__all__ = ["scenes"]

_WRONG: tuple[Any, ...] = (None, "", "\0", -1, 1.0, 2**63, True, [], {})


def scenes(dialect: str) -> Iterator[Scene]:
    """Yield a scene for each kind of request of a dialect, and one for unknown kinds."""
    for kind in _data(dialect, lambda name: name, lambda address: address):
        yield Scene(section(kind), f"{kind}: members that are missing or wrong", dialect, partial(_play, kind))
    yield Scene("WIRE 1 envelope", "kinds and versions that are unknown", dialect, _unknown)


def _play(kind: str, client: SceneClient) -> None:
    data = _data(client.version, client.id, client.address)[kind]
    for path in _members(data):
        for wrong in (..., *_WRONG):
            client.send(kind, _with(data, path, wrong))
    client.send(kind, {**data, "unknown": 1})


def _unknown(client: SceneClient) -> None:
    for kind in ("promise", "promise.unknown", "Promise.get", "task.settle", "debug.unknown"):
        client.send(kind, {"id": client.id("p")})
    for kind in ("promise.register_callback", "promise.register", "promise.search", "task.halt", "promise.subscribe"):
        client.send(kind, {"id": client.id("p"), "awaited": client.id("p"), "awaiter": client.id("q"), "address": LISTENER})


def _members(data: dict[str, Any]) -> list[tuple[str, ...]]:
    """The paths of all members, and of those of the first level of an action."""
    found: list[tuple[str, ...]] = [(name,) for name in data]
    action = data.get("action")
    if isinstance(action, dict):
        found += [("action", "kind"), ("action", "data"), *(("action", "data", name) for name in action["data"])]
    return found


def _with(data: dict[str, Any], path: tuple[str, ...], wrong: Any) -> dict[str, Any]:
    """The data with another value at a path; without the member if it is an ellipsis."""
    made = copy.deepcopy(data)
    inner = made
    for name in path[:-1]:
        inner = inner[name]
    if wrong is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = wrong
    return made


def _data(dialect: str, id: Any, address: Any) -> dict[str, dict[str, Any]]:
    """The data of a request of each kind, in which only the id may be missing on the other side."""
    new = dialect == V26
    task = {"id": id("t"), "version": 0}
    create = {"id": id("p"), "timeoutAt": 10**15, "param": {}, "tags": {}}
    targeted = dict(create, id=id("t"), tags={"resonate:target": address(ADDRESS)})
    settle = {"id": id("p"), "state": "resolved", "value": {}}
    edge = {"awaited": id("p"), "awaiter": id("t")}
    inner = {"corrId": "inner", "version": dialect}
    register = "promise.register_callback" if new else "promise.register"
    kinds: dict[str, dict[str, Any]] = {
        "promise.get": {"id": id("p")},
        "promise.create": create,
        "promise.settle": settle,
        register: edge,
        "promise.register_listener" if new else "promise.subscribe": {"awaited": id("p"), "address": address(LISTENER)},
        "task.get": {"id": id("t")},
        "task.create": {"pid": id("w"), "ttl": 1000, "action": {"kind": "promise.create", "head": inner, "data": targeted}},
        "task.acquire": {**task, "pid": id("w"), "ttl": 1000},
        "task.release": task,
        "task.suspend": {**task, "actions": [{"kind": register, "head": inner, "data": edge}]},
        "task.fulfill": {**task, "action": {"kind": "promise.settle", "head": inner, "data": dict(settle, id=id("t"))}},
        "task.fence": {**task, "action": {"kind": "promise.create", "head": inner, "data": create}},
        "task.heartbeat": {"pid": id("w"), "tasks": [task]},
        "schedule.get": {"id": id("s")},
        "schedule.create": {
            "id": id("s"),
            "cron": "0 0 1 1 *",
            "promiseId": f"{id('s')}.{{{{.timestamp}}}}",
            "promiseTimeout": 1000,
            "promiseParam": {},
            "promiseTags": {},
        },
        "schedule.delete": {"id": id("s")},
    }
    if new:
        kinds |= {"task.halt": {"id": id("t")}, "task.continue": {"id": id("t")}}
    return kinds
