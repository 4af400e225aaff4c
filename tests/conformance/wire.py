"""Envelopes for tests: builds requests, and checks the form of every reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

V26 = "2026-04-01"
V25 = "2025-01-15"
DIALECTS = (V26, V25)
FAR = 10**12
"""A deadline that no test reaches."""
ADDRESS = "poll://any@workers"
"""The target of the tests' tasks."""
LISTENER = "poll://uni@clients/c1"
"""A listener's address that both rule sets accept."""

STATUSES = {
    V26: {200, 300, 400, 401, 403, 404, 409, 422, 429, 500},
    V25: {200, 300, 400, 401, 403, 404, 409, 429, 500},
}


@dataclass(frozen=True)
class Reply:
    """A reply whose form was checked: its status and its data."""

    status: int
    data: Any

    def __getitem__(self, key: str) -> Any:
        """Returns a member of the data."""
        return self.data[key]

    def must(self, status: int = 200) -> Reply:
        """Returns itself if it has this status; otherwise fails the test."""
        assert self.status == status, f"expected {status}, got {self.status}: {self.data!r}"
        return self


def request(kind: str, data: Any, version: str = V26, corr: str = "c1", **head: Any) -> dict[str, Any]:
    """Returns a full request envelope."""
    return {"kind": kind, "head": {"corrId": corr, "version": version, **head}, "data": data}


def checked_reply(envelope: dict[str, Any], answer: dict[str, Any]) -> Reply:
    """Checks the rules that every answer to a well-formed envelope meets, and returns it as a Reply."""
    assert set(answer) == {"kind", "head", "data"}, answer
    assert set(answer["head"]) == {"corrId", "status", "version"}, answer
    assert answer["kind"] == envelope["kind"], answer
    assert answer["head"]["corrId"] == envelope["head"]["corrId"], answer
    assert answer["head"]["version"] == envelope["head"]["version"], answer
    status = answer["head"]["status"]
    assert type(status) is int and status in STATUSES[envelope["head"]["version"]], answer
    if status not in (200, 300):
        assert isinstance(answer["data"], str) and answer["data"], answer
    return Reply(status, answer["data"])


def tags_of(target: str | None = None, tags: dict[str, str] | None = None) -> dict[str, str]:
    """Returns tags with the target among them."""
    return {**({"resonate:target": target} if target is not None else {}), **(tags or {})}


class DialectClient:
    """A client of a store in one dialect: a method for each request, with defaults that succeed.

    Attributes:
        store: The store under test.
        version: The dialect of every request.
    """

    def __init__(self, store: Any, version: str = V26) -> None:
        self.store = store
        self.version = version

    def send(self, kind: str, data: Any, now: int | None = None, **head: Any) -> Reply:
        """Sends one request and checks the form of the reply."""
        envelope = request(kind, data, self.version, **head)
        return checked_reply(envelope, self.store.apply(envelope, now=now))

    # --- promises -----------------------------------------------------------------------------------------------
    def get(self, id: str, now: int | None = None) -> Reply:
        """promise.get."""
        return self.send("promise.get", {"id": id}, now)

    def create_data(
        self, id: str, timeout: int = FAR, target: str | None = None, tags: dict[str, str] | None = None, **more: Any
    ) -> dict[str, Any]:
        """The data of a promise.create."""
        return {"id": id, "timeoutAt": timeout, "param": {}, "tags": tags_of(target, tags), **more}

    def create(self, id: str, timeout: int = FAR, now: int | None = None, **more: Any) -> Reply:
        """promise.create."""
        return self.send("promise.create", self.create_data(id, timeout, **more), now)

    def settle(self, id: str, state: str = "resolved", value: Any = None, now: int | None = None, **more: Any) -> Reply:
        """promise.settle."""
        data = {"id": id, "state": state, "value": {} if value is None else value, **more}
        return self.send("promise.settle", data, now)

    def register(self, awaited: str, awaiter: str, now: int | None = None) -> Reply:
        """promise.register_callback, or promise.register in the older dialect."""
        kind = "promise.register_callback" if self.version == V26 else "promise.register"
        return self.send(kind, {"awaited": awaited, "awaiter": awaiter}, now)

    def listen(self, awaited: str, address: str = LISTENER, now: int | None = None) -> Reply:
        """promise.register_listener, or promise.subscribe in the older dialect."""
        kind = "promise.register_listener" if self.version == V26 else "promise.subscribe"
        return self.send(kind, {"awaited": awaited, "address": address}, now)

    # --- tasks --------------------------------------------------------------------------------------------------
    def action(self, kind: str, data: Any) -> dict[str, Any]:
        """An inner request of task.create, suspend, fulfill or fence."""
        return request(kind, data, self.version, "inner")

    def task(self, id: str, now: int | None = None) -> Reply:
        """task.get."""
        return self.send("task.get", {"id": id}, now)

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
        return self.send("task.create", {"pid": pid, "ttl": ttl, "action": action}, now)

    def acquire(self, id: str, version: int = 0, ttl: int = 10_000, pid: str = "w1", now: int | None = None) -> Reply:
        """task.acquire."""
        return self.send("task.acquire", {"id": id, "version": version, "pid": pid, "ttl": ttl}, now)

    def release(self, id: str, version: int, now: int | None = None) -> Reply:
        """task.release."""
        return self.send("task.release", {"id": id, "version": version}, now)

    def suspend(self, id: str, version: int, *awaited: str, now: int | None = None) -> Reply:
        """task.suspend on the awaited ids, with the task as the awaiter of each."""
        kind = "promise.register_callback" if self.version == V26 else "promise.register"
        actions = [self.action(kind, {"awaited": a, "awaiter": id}) for a in awaited]
        return self.send("task.suspend", {"id": id, "version": version, "actions": actions}, now)

    def fulfill(
        self, id: str, version: int, state: str = "resolved", value: Any = None, now: int | None = None, **more: Any
    ) -> Reply:
        """task.fulfill."""
        data = {"id": id, "state": state, "value": {} if value is None else value, **more}
        return self.send("task.fulfill", {"id": id, "version": version, "action": self.action("promise.settle", data)}, now)

    def fence(self, id: str, version: int, kind: str, data: Any, now: int | None = None) -> Reply:
        """task.fence."""
        return self.send("task.fence", {"id": id, "version": version, "action": self.action(kind, data)}, now)

    def fence_create(self, id: str, version: int, inner: str, timeout: int = FAR, now: int | None = None, **more: Any) -> Reply:
        """task.fence with a promise.create."""
        return self.fence(id, version, "promise.create", self.create_data(inner, timeout, **more), now)

    def fence_settle(self, id: str, version: int, inner: str, state: str = "resolved", now: int | None = None) -> Reply:
        """task.fence with a promise.settle."""
        return self.fence(id, version, "promise.settle", {"id": inner, "state": state, "value": {}}, now)

    def heartbeat(self, pid: str, *tasks: tuple[str, int], now: int | None = None) -> Reply:
        """task.heartbeat."""
        return self.send("task.heartbeat", {"pid": pid, "tasks": [{"id": i, "version": v} for i, v in tasks]}, now)

    def halt(self, id: str, now: int | None = None) -> Reply:
        """task.halt."""
        return self.send("task.halt", {"id": id}, now)

    def cont(self, id: str, now: int | None = None) -> Reply:
        """task.continue."""
        return self.send("task.continue", {"id": id}, now)

    # --- searches and schedules -----------------------------------------------------------------------------------
    def search(self, noun: str, now: int | None = None, **data: Any) -> Reply:
        """promise.search, task.search or schedule.search."""
        return self.send(f"{noun}.search", data, now)

    def found(self, noun: str, now: int | None = None, **data: Any) -> list[str]:
        """The ids of one page of a search."""
        return [r["id"] for r in self.search(noun, now, **data).must()[f"{noun}s"]]

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
            "id": id,
            "cron": cron,
            "promiseId": template,
            "promiseTimeout": timeout,
            "promiseParam": {},
            "promiseTags": tags or {},
            **more,
        }
        return self.send("schedule.create", data, now)


def held(version: str, n: int = 1) -> int:
    """The version that a dialect shows for a task that was acquired n times and is acquired or suspended."""
    return n if version == V26 else n - 1


# --- stored rows, from the snapshot ----------------------------------------------------------------------------------
def stored(store: Any, id: str) -> dict[str, Any]:
    """Returns the stored row of a promise."""
    rows = [p for p in store.snapshot()["promises"] if p["id"] == id]
    assert rows, f"no stored promise {id!r}"
    return rows[0]


def stored_task(store: Any, id: str) -> dict[str, Any] | None:
    """Returns the stored task of a promise, or None."""
    return next((p.get("task") for p in store.snapshot()["promises"] if p["id"] == id), None)


def stored_schedule(store: Any, id: str) -> dict[str, Any]:
    """Returns the stored row of a schedule."""
    return next(s for s in store.snapshot()["schedules"] if s["id"] == id)


EXECUTES = ("execute", "invoke", "resume")


def executes(store: Any, id: str | None = None) -> list[tuple[str, str, int]]:
    """Returns (kind, task, version) of the execute, invoke and resume messages in the outbox."""
    return [
        (m["kind"], m["id"], m["version"])
        for m in store.snapshot()["messages"]
        if m["kind"] in EXECUTES and (id is None or m["id"] == id)
    ]


def unblocks(store: Any) -> list[tuple[str, str, str]]:
    """Returns (kind, promise, address) of the unblock and notify messages in the outbox."""
    return [(m["kind"], m["id"], m["address"]) for m in store.snapshot()["messages"] if m["kind"] not in EXECUTES]


def forget_messages(store: Any) -> None:
    """Empties the outbox."""
    store.take_messages()


def rows_of(store: Any) -> dict[str, Any]:
    """Returns all stored rows, without the clock. A failed request must not change them."""
    return {k: v for k, v in store.snapshot().items() if k != "now"}
