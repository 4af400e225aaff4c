"""Requests of one dialect: a method for each, with defaults that succeed.

The scenes of the tables are written with them, so that the tests play the scenes on a store with a manual clock, and the judge of a
server plays the same scenes over HTTP.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

__all__ = ["ADDRESS", "DIALECTS", "FAR", "LISTENER", "V25", "V26", "Reply", "Requests", "held", "request", "tags_of"]

V26 = "2026-04-01"
V25 = "2025-01-15"
DIALECTS = (V26, V25)
FAR = 10**12
"""A deadline that no scene reaches."""
ADDRESS = "poll://any@workers"
"""The target of tasks."""
LISTENER = "poll://uni@clients/c1"
"""A listener's address that both rule sets accept."""


@dataclass(frozen=True)
class Reply:
    """A reply whose form was checked: its status and its data."""

    status: int
    data: Any

    def __getitem__(self, key: str) -> Any:
        """Return a member of the data."""
        return self.data[key]

    def must(self, status: int = 200) -> Reply:
        """Return itself if it has this status.

        Raises:
            AssertionError: It has another one.
        """
        assert self.status == status, f"expected {status}, got {self.status}: {self.data!r}"
        return self


def request(kind: str, data: Any, version: str = V26, corr: str = "c1", **head: Any) -> dict[str, Any]:
    """A full request envelope."""
    return {"kind": kind, "head": {"corrId": corr, "version": version, **head}, "data": data}


def tags_of(target: str | None = None, tags: dict[str, str] | None = None) -> dict[str, str]:
    """Returns tags with the target among them."""
    return {**({"resonate:target": target} if target is not None else {}), **(tags or {})}


def held(version: str, n: int = 1) -> int:
    """The version that a dialect shows for a task that was acquired n times and is acquired or suspended."""
    return n if version == V26 else n - 1


class Requests(ABC):
    """Requests in one dialect.

    Attributes:
        version: The dialect of every request.
    """

    def __init__(self, version: str = V26) -> None:
        self.version = version

    @abstractmethod
    def send(self, kind: str, data: Any, now: int | None = None, **head: Any) -> Reply:
        """Send one request, as of `now` if the other side has a manual clock; return its checked reply."""

    def id(self, name: str) -> str:
        """Return the id for a name in a scene: the name itself, unless a subclass adds a prefix."""
        return name

    def instant(self, ms: int) -> int:
        """Return the instant for a number in a scene: the number itself, unless a subclass counts from another instant."""
        return ms

    def address(self, address: str) -> str:
        """Return the address for an address in a scene."""
        return address

    def tags(self, target: str | None = None, tags: dict[str, str] | None = None) -> dict[str, str]:
        """Return the tags of a promise that a scene creates."""
        return tags_of(target, tags)

    def filters(self, data: dict[str, Any]) -> dict[str, Any]:
        """Return the filters of a search that finds the rows of a scene."""
        return data

    # --- promises -----------------------------------------------------------------------------------------------
    def get(self, id: str, now: int | None = None) -> Reply:
        """promise.get."""
        return self.send("promise.get", {"id": self.id(id)}, now)

    def create_data(
        self, id: str, timeout: int = FAR, target: str | None = None, tags: dict[str, str] | None = None, **more: Any
    ) -> dict[str, Any]:
        """The data of a promise.create."""
        return {"id": self.id(id), "timeoutAt": self.instant(timeout), "param": {}, "tags": self.tags(target, tags), **more}

    def create(self, id: str, timeout: int = FAR, now: int | None = None, **more: Any) -> Reply:
        """promise.create."""
        return self.send("promise.create", self.create_data(id, timeout, **more), now)

    def settle(self, id: str, state: str = "resolved", value: Any = None, now: int | None = None, **more: Any) -> Reply:
        """promise.settle."""
        data = {"id": self.id(id), "state": state, "value": {} if value is None else value, **more}
        return self.send("promise.settle", data, now)

    def register(self, awaited: str, awaiter: str, now: int | None = None) -> Reply:
        """promise.register_callback, or promise.register in the older dialect."""
        kind = "promise.register_callback" if self.version == V26 else "promise.register"
        return self.send(kind, {"awaited": self.id(awaited), "awaiter": self.id(awaiter)}, now)

    def listen(self, awaited: str, address: str = LISTENER, now: int | None = None) -> Reply:
        """promise.register_listener, or promise.subscribe in the older dialect."""
        kind = "promise.register_listener" if self.version == V26 else "promise.subscribe"
        return self.send(kind, {"awaited": self.id(awaited), "address": self.address(address)}, now)

    # --- tasks --------------------------------------------------------------------------------------------------
    def action(self, kind: str, data: Any) -> dict[str, Any]:
        """An inner request of task.create, suspend, fulfill or fence."""
        return request(kind, data, self.version, "inner")

    def task(self, id: str, now: int | None = None) -> Reply:
        """task.get."""
        return self.send("task.get", {"id": self.id(id)}, now)

    def task_create(
        self,
        id: str,
        timeout: int = FAR,
        ttl: int = 10_000,
        pid: str = "w1",
        target: str | None = ADDRESS,
        now: int | None = None,
        **more: Any,
    ) -> Reply:
        """task.create."""
        action = self.action("promise.create", self.create_data(id, timeout, target, **more))
        return self.send("task.create", {"pid": self.id(pid), "ttl": ttl, "action": action}, now)

    def acquire(self, id: str, version: int = 0, ttl: int = 10_000, pid: str = "w1", now: int | None = None) -> Reply:
        """task.acquire."""
        return self.send("task.acquire", {"id": self.id(id), "version": version, "pid": self.id(pid), "ttl": ttl}, now)

    def release(self, id: str, version: int, now: int | None = None) -> Reply:
        """task.release."""
        return self.send("task.release", {"id": self.id(id), "version": version}, now)

    def suspend(self, id: str, version: int, *awaited: str, now: int | None = None) -> Reply:
        """task.suspend on the awaited ids, with the task as the awaiter of each."""
        kind = "promise.register_callback" if self.version == V26 else "promise.register"
        actions = [self.action(kind, {"awaited": self.id(a), "awaiter": self.id(id)}) for a in awaited]
        return self.send("task.suspend", {"id": self.id(id), "version": version, "actions": actions}, now)

    def fulfill(
        self, id: str, version: int, state: str = "resolved", value: Any = None, now: int | None = None, **more: Any
    ) -> Reply:
        """task.fulfill."""
        data = {"id": self.id(id), "state": state, "value": {} if value is None else value, **more}
        return self.send(
            "task.fulfill", {"id": self.id(id), "version": version, "action": self.action("promise.settle", data)}, now
        )

    def fence(self, id: str, version: int, kind: str, data: Any, now: int | None = None) -> Reply:
        """task.fence."""
        return self.send("task.fence", {"id": self.id(id), "version": version, "action": self.action(kind, data)}, now)

    def fence_create(self, id: str, version: int, inner: str, timeout: int = FAR, now: int | None = None, **more: Any) -> Reply:
        """task.fence with a promise.create."""
        return self.fence(id, version, "promise.create", self.create_data(inner, timeout, **more), now)

    def fence_settle(self, id: str, version: int, inner: str, state: str = "resolved", now: int | None = None) -> Reply:
        """task.fence with a promise.settle."""
        return self.fence(id, version, "promise.settle", {"id": self.id(inner), "state": state, "value": {}}, now)

    def heartbeat(self, pid: str, *tasks: tuple[str, int], now: int | None = None) -> Reply:
        """task.heartbeat."""
        return self.send(
            "task.heartbeat", {"pid": self.id(pid), "tasks": [{"id": self.id(i), "version": v} for i, v in tasks]}, now
        )

    def halt(self, id: str, now: int | None = None) -> Reply:
        """task.halt."""
        return self.send("task.halt", {"id": self.id(id)}, now)

    def cont(self, id: str, now: int | None = None) -> Reply:
        """task.continue."""
        return self.send("task.continue", {"id": self.id(id)}, now)

    # --- searches and schedules -----------------------------------------------------------------------------------
    def search(self, noun: str, now: int | None = None, **data: Any) -> Reply:
        """promise.search, task.search or schedule.search."""
        return self.send(f"{noun}.search", self.filters(data), now)

    def schedule(
        self,
        id: str,
        cron: str = "* * * * *",
        template: str = "{{.id}}.{{.timestamp}}",
        timeout: int = FAR,
        tags: dict[str, str] | None = None,
        now: int | None = None,
        **more: Any,
    ) -> Reply:
        """schedule.create."""
        data = {
            "id": self.id(id),
            "cron": cron,
            "promiseId": self.id(template),
            "promiseTimeout": timeout,
            "promiseParam": {},
            "promiseTags": self.tags(None, tags),
            **more,
        }
        return self.send("schedule.create", data, now)
