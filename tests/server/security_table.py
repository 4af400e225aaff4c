"""Which token may run which operation, as data and as a table.

    python tests/server/security_table.py

A token with a prefix ("tenant1.") is tried on its own ids and on others. If an operation names several ids, each of them in turn is
one of the others.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import jwt

from resonate_core import ManualClock, Store
from resonate_core.asgi import AuthSettings, DeliverySettings, PushSettings, ResonateApp, ServerSettings, create_app
from server.app_calls import Answer, call

V26, V25 = "2026-04-01", "2025-01-15"
SECRET = "a secret of the tests, thirty-two bytes or more"
FAR = 10**15
OWN, OTHER = "tenant1.", "tenant2."
TARGET = {"resonate:target": "poll://any@workers"}


def token(claims: dict[str, Any], secret: str = SECRET, algorithm: str = "HS256") -> str:
    """A token that does not expire."""
    return jwt.encode({"exp": 4_000_000_000, **claims}, secret, algorithm)


def _unsigned() -> str:
    return jwt.encode({"exp": 4_000_000_000, "role": "admin"}, None, "none")


def _changed() -> str:
    """Returns a token with the claims of another one and its own signature, which is then wrong."""
    header, _, signature = token({"prefix": OWN}).split(".")
    return f"{header}.{token({'role': 'admin'}).split('.')[1]}.{signature}"


#: Name, token, and kind of bearer: unknown (401), without rights (403), restricted to OWN, sharing (OWN and the queues), or free.
TOKENS: list[tuple[str, str | None, str]] = [
    ("none", None, "unknown"),
    ("garbage", "not.a.token", "unknown"),
    ("expired", token({"role": "admin", "exp": 1000}), "unknown"),
    ("wrong key", token({"role": "admin"}, secret="another secret, thirty-two bytes or more"), "unknown"),
    ("alg none", _unsigned(), "unknown"),
    ("forged", _changed(), "unknown"),
    ("no claim", token({}), "without rights"),
    ("role user", token({"role": "user"}), "without rights"),
    ("prefix 5", token({"prefix": 5}), "without rights"),
    ("tenant1.", token({"prefix": OWN}), "restricted"),
    ("queues", token({"prefix": OWN, "queues": ["sha*"]}), "sharing"),
    ("no queues", token({"prefix": OWN, "queues": {"shared": True}}), "without rights"),
    ('prefix ""', token({"prefix": ""}), "free"),
    ("admin", token({"role": "admin"}), "free"),
]


@dataclass(frozen=True)
class Operation:
    """One request, and the owner of the ids in it.

    Attributes:
        name: Its name in the table.
        scope: "open" to all, "own" ids, ids of "other"s among them, own ids in a "shared" queue, ids "found" by a filter, or for an
            "administrator" only.
        status: The status for a permitted bearer.
        envelope: The body of a POST; None for a GET.
        target: The path of a GET.
    """

    name: str
    scope: str
    status: int
    envelope: dict[str, Any] | None = None
    target: str = "/"

    def expected(self, bearer: str) -> int:
        """Returns the expected status for a token."""
        if self.scope == "open":
            return self.status
        if bearer == "unknown":
            return 401
        if bearer == "without rights" or (bearer in ("restricted", "sharing") and self.scope in ("other", "administrator")):
            return 403
        if bearer == "restricted" and self.scope == "shared":
            return 403
        return self.status


def world() -> Store:
    """The same rows for both tenants: promises, tasks in each state, a schedule; all in one branch and held by one pid."""
    store = Store(clock=ManualClock(1000), debug=True)
    branch = {"resonate:branch": "shared"}
    for half in (OWN, OTHER):
        for name in ("p", "q", "settled"):
            store.promises.create(half + name, FAR, tags={"resonate:external": "true", **branch})
        store.promises.resolve(half + "settled", f"secret of {half}")
        for name in ("t", "acquired", "halted"):
            store.promises.create(half + name, FAR, tags={**TARGET, **branch})
        store.tasks.acquire(half + "acquired", 0, pid="w", ttl=5000)
        store.tasks.halt(half + "halted")
        store.schedules.create(half + "s", "@hourly", promise_id=half + "{{.timestamp}}", promise_timeout=FAR)
        _add_jobs(store, half)
    return store


def _add_jobs(store: Store, half: str) -> None:
    """Adds jobs in the states that the requests need, in a queue that both tenants use; and the tenant's own queue with a job."""
    for name in ("claimed", "running", "failed"):
        store.jobs.enqueue("t", id=half + name, queue="shared", priority=1)
        (job,) = store.jobs.claim("shared", worker="w", lease=5000)
        assert job.id == half + name
        if name != "claimed":
            store.jobs.start(job.id, 1)
    store.jobs.fail(half + "failed", 1, "E", retryable=False)
    for name in ("j", "k"):
        store.jobs.enqueue("t", id=half + name, queue="shared")
    steps = [{"id": f"{half}running:{name}", "state": "resolved"} for name in ("done", "from")]
    store.apply(envelope("job.record", {"id": half + "running", "version": 1, "steps": steps}))
    store.queues.set(half + "queue")
    store.jobs.enqueue("t", id=half + "mine", queue=half + "queue")


def envelope(kind: str, data: Any, version: str = V26) -> dict[str, Any]:
    """Returns a request without a token."""
    return {"kind": kind, "head": {"corrId": "c", "version": version}, "data": data}


def _create(id: str, tags: dict[str, str] | None = None) -> dict[str, Any]:
    return {"id": id, "timeoutAt": FAR, "param": {}, "tags": tags or {}}


def _act(kind: str, data: Any) -> dict[str, Any]:
    return {"kind": kind, "head": {"corrId": "i", "version": V26}, "data": data}


# Makes the data of a request, given the prefixes of its first and its second id.
Make = Callable[[str, str], Any]


def _kinds(version: str) -> Iterator[tuple[str, str, int, Make]]:
    """Yields the name of the second id ("" if there is only one), the kind, the status and the data."""
    new = version == V26
    held = 1 if new else 0  # the version that the dialect shows of a task acquired once
    register = "promise.register_callback" if new else "promise.register"
    settled = {"state": "resolved", "value": {}}
    yield "", "promise.get", 200, lambda a, b: {"id": a + "p"}
    yield "", "promise.create", 200, lambda a, b: _create(a + "new")
    yield "", "promise.settle", 200, lambda a, b: {"id": a + "p", **settled}
    yield "awaiter", register, 200, lambda a, b: {"awaited": a + "p", "awaiter": b + "acquired"}
    listen = "promise.register_listener" if new else "promise.subscribe"
    yield "", listen, 200, lambda a, b: {"awaited": a + "p", "address": "poll://uni@g/me"}
    yield "", "task.get", 200, lambda a, b: {"id": a + "t"}
    yield "", "task.create", 200, lambda a, b: {"pid": "w", "ttl": 9, "action": _act("promise.create", _create(a + "new", TARGET))}
    yield "", "task.acquire", 200, lambda a, b: {"id": a + "t", "version": 0, "pid": "w", "ttl": 9}
    yield "", "task.release", 200, lambda a, b: {"id": a + "acquired", "version": held}
    # fmt: off
    yield "an awaited", "task.suspend", 200, lambda a, b: {"id": a + "acquired", "version": held, "actions": [
        _act(register, {"awaited": half + "p", "awaiter": a + "acquired"}) for half in dict.fromkeys((a, b))]}
    # fmt: on
    yield (
        "",
        "task.fulfill",
        200,
        lambda a, b: {"id": a + "acquired", "version": held, "action": _act("promise.settle", {"id": a + "acquired", **settled})},
    )  # fmt: skip
    for inner, data in (("create", _create), ("settle", lambda id: {"id": id, **settled})):
        yield f"fenced {inner}", "task.fence", 200, lambda a, b, inner=inner, data=data: {
            "id": a + "acquired", "version": held, "action": _act(f"promise.{inner}", data(b + "q"))
        }  # fmt: skip
    yield "a task", "task.heartbeat", 200, lambda a, b: {
        "pid": "w", "tasks": [{"id": half + "acquired", "version": held} for half in dict.fromkeys((a, b))]
    }  # fmt: skip
    if new:
        yield "", "task.halt", 200, lambda a, b: {"id": a + "t"}
        yield "", "task.continue", 200, lambda a, b: {"id": a + "halted"}
    yield "", "schedule.get", 200, lambda a, b: {"id": a + "s"}
    for kind in ("schedule.pause", "schedule.resume", "schedule.delete"):
        yield "", kind, 200, lambda a, b: {"id": a + "s"}
    yield "promiseId", "schedule.create", 200, lambda a, b: {
        "id": a + "new", "cron": "@hourly", "promiseId": b + "{{.timestamp}}", "promiseTimeout": 5, "promiseParam": {}, "promiseTags": {}
    }  # fmt: skip


def _job_kinds() -> Iterator[tuple[str, str, int, Make]]:
    """The same for jobs and queues. A queue's name is an id for requests that change the queue or read its state."""

    def job(id: str, half: str, **more: Any) -> dict[str, Any]:
        return {"id": id, "queue": half + "queue", "type": "t", **more}

    def claimed(half: str, name: str) -> dict[str, Any]:
        return {"id": half + name, "version": 1}

    def each(a: str, b: str, make: Callable[[str], Any]) -> list[Any]:
        return [make(half) for half in dict.fromkeys((a, b))]

    yield "uniqueKey", "job.enqueue", 200, lambda a, b: job(a + "new", a, uniqueKey=b + "key")
    yield "queue", "job.enqueue", 200, lambda a, b: job(a + "new", b)
    yield "after", "job.enqueue", 200, lambda a, b: job(a + "new", a, after=[b + "j"])
    yield "a job", "job.enqueue_many", 200, lambda a, b: {"jobs": each(a, b, lambda half: job(half + "new", a))}
    yield "a queue", "job.enqueue_many", 200, lambda a, b: {"jobs": [job(a + "new", a), job(a + "newer", b)]}
    yield "a queue", "job.claim", 200, lambda a, b: {"queues": each(a, b, lambda half: half + "queue"), "worker": "w", "lease": 5}
    yield "", "job.search", 200, lambda a, b: {"queue": a + "queue"}
    yield "", "job.report", 200, lambda a, b: {**claimed(a, "running"), "progress": 0.5, "lines": ["half"]}
    yield "", "job.cancel", 200, lambda a, b: {"queue": a + "queue"}
    for kind, state in (("job.run", "archived"), ("job.archive", "pending"), ("job.delete", "pending")):
        yield "", kind, 200, lambda a, b, state=state: {"queue": a + "queue", "state": state}
    yield "queue", "schedule.create", 200, lambda a, b: {
        "id": a + "new", "cron": "@hourly", "promiseId": a + "{{.timestamp}}", "promiseTimeout": 5, "job": {"type": "t", "queue": b + "queue"}
    }  # fmt: skip
    yield "", "job.get", 200, lambda a, b: {"id": a + "j"}
    yield "", "job.start", 200, lambda a, b: claimed(a, "claimed")
    yield "a job", "job.heartbeat", 200, lambda a, b: {"worker": "w", "jobs": each(a, b, lambda half: claimed(half, "running"))}
    yield "a job", "job.start_many", 200, lambda a, b: {"jobs": each(a, b, lambda half: claimed(half, "claimed"))}
    yield "", "job.complete", 200, lambda a, b: claimed(a, "running")
    yield "a job", "job.complete_many", 200, lambda a, b: {"jobs": each(a, b, lambda half: claimed(half, "running"))}
    yield "", "job.fail", 200, lambda a, b: {**claimed(a, "running"), "error": {"code": "E"}}
    yield "", "job.release", 200, lambda a, b: claimed(a, "claimed")
    yield "", "job.snooze", 200, lambda a, b: {**claimed(a, "running"), "delay": 5}
    yield "awaits", "job.suspend", 200, lambda a, b: {**claimed(a, "running"), "awaits": [b + "j"]}
    yield "parent", "job.enqueue", 200, lambda a, b: job(a + "new", a, parent=claimed(b, "running"))
    yield "", "job.record", 200, lambda a, b: {**claimed(a, "running"), "steps": [{"id": a + "running:new"}]}
    yield "", "job.receive", 200, lambda a, b: {**claimed(a, "running"), "step": a + "running:new", "topic": "t"}
    yield "", "job.send", 200, lambda a, b: {"id": a + "j", "topic": "t"}
    yield "", "job.history", 200, lambda a, b: {"id": a + "running"}
    yield "", "job.start_over", 200, lambda a, b: claimed(a, "running")
    yield "newId", "job.fork", 200, lambda a, b: {"id": a + "running", "from": a + "running:from", "newId": b + "new"}
    yield "", "job.cancel", 200, lambda a, b: {"id": a + "running"}
    yield "", "job.run", 200, lambda a, b: {"id": a + "failed"}
    yield "", "job.archive", 200, lambda a, b: {"id": a + "j"}
    yield "", "job.delete", 200, lambda a, b: {"id": a + "j"}
    yield "", "job.stats", 200, lambda a, b: {"queue": a + "queue"}
    yield "", "queue.set", 200, lambda a, b: {"queue": a + "queue", "weight": 5}
    yield "", "queue.get", 200, lambda a, b: {"queue": a + "queue"}
    yield "", "queue.pause", 200, lambda a, b: {"queue": a + "queue"}
    yield "", "queue.resume", 200, lambda a, b: {"queue": a + "queue"}


def _of_ids() -> Iterator[Operation]:
    for version in (V26, V25):
        for second, kind, status, make in (*_kinds(version), *_job_kinds()):
            name = f"{version[:4]} {kind}" + (f" ({second})" if second.startswith("fenced") or "queue" in second else "")
            yield Operation(f"{name}: own", "own", status, envelope(kind, make(OWN, OWN), version))
            yield Operation(f"{name}: others'", "other", status, envelope(kind, make(OTHER, OTHER), version))
            if second:
                yield Operation(f"{name}: {second} of others", "other", status, envelope(kind, make(OWN, OTHER), version))
                yield Operation(f"{name}: all but {second} of others", "other", status, envelope(kind, make(OTHER, OWN), version))
    schedule = {"id": OWN + "new", "cron": "@hourly", "promiseTimeout": 5}
    for template, scope in (
        ("{{.id}}.{{.timestamp}}", "own"),
        ("tenant1.{{.id}}", "own"),
        ("{{.timestamp}}", "other"),
        ("tenant{{.timestamp}}", "other"),
        ("x{{.id}}", "other"),
    ):
        yield Operation(
            f"2026 schedule.create: promiseId {template}",
            scope,
            200,
            envelope("schedule.create", {**schedule, "promiseId": template}),
        )
    for half, scope in ((OWN, "own"), (OTHER, "other")):
        job = {"queue": OWN + "queue", "type": "t", "group": "shared", "uniqueKey": half + "key"}
        data = {**schedule, "promiseId": OWN + "{{.timestamp}}", "job": job}
        yield Operation(f"2026 schedule.create: a job with a key, {scope}", scope, 200, envelope("schedule.create", data))


def _steps_of_others() -> Iterator[Operation]:
    """A step whose id does not begin with that of its job is refused anyway; a token that may not name it learns nothing else."""
    own, others = {"id": OWN + "running", "version": 1}, {"id": OTHER + "running", "version": 1}
    for job, half in ((own, OTHER), (others, OWN)):
        for kind, data in (
            ("job.record", {**job, "steps": [{"id": half + "running:new"}]}),
            ("job.receive", {**job, "step": half + "running:new", "topic": "t"}),
        ):
            yield Operation(f"2026 {kind}: a step of {half} in a job of {job['id']}", "other", 400, envelope(kind, data))
    steps = [{"id": f"{half}running:new"} for half in (OWN, OTHER)]
    yield Operation("2026 job.record: one step of others", "other", 400, envelope("job.record", {**own, "steps": steps}))
    without = {"type": "t", "queue": OWN + "queue", "parent": own}
    yield Operation("2026 job.enqueue: a child without an id", "other", 200, envelope("job.enqueue", without))


def _jobs_without_ids() -> Iterator[Operation]:
    """A job enqueued without an id gets one that begins with "job:"; a filter finds the tenant's own jobs only."""
    given, left_out = {"id": OWN + "new", "type": "t"}, {"type": "t"}
    yield Operation("2026 job.enqueue: without an id", "other", 200, envelope("job.enqueue", left_out))
    many = envelope("job.enqueue_many", {"jobs": [given, left_out]})
    yield Operation("2026 job.enqueue_many: one without an id", "other", 200, many)
    keys = envelope("job.enqueue_many", {"jobs": [given, {"id": OWN + "x", "type": "t", "uniqueKey": OTHER + "key"}]})
    yield Operation("2026 job.enqueue_many: a uniqueKey of others", "other", 200, keys)
    for kind, data in (
        ("job.search", {}),
        ("job.cancel", {"type": "t"}),
        ("job.cancel", {"group": "shared"}),
        ("job.run", {"state": "archived"}),
        ("job.archive", {"state": "pending"}),
        ("job.delete", {"state": "pending"}),
        ("job.stats", {}),
        ("queue.list", {}),
    ):
        filter = " of a group" if "group" in data else ""
        yield Operation(f"2026 {kind}: all that there are{filter}", "found", 200, envelope(kind, data))


def _jobs_in_shared_queues() -> Iterator[Operation]:
    """Every token may use `default`; the claim `queues` names the others that it may use. To use a queue is not to change or read it."""
    for queue, scope in (("default", "own"), ("shared", "shared"), (OTHER + "queue", "other")):
        job = {"type": "t"} if queue == "default" else {"type": "t", "queue": queue}
        schedule = {"id": OWN + "new", "cron": "@hourly", "promiseTimeout": 5, "promiseId": OWN + "{{.timestamp}}", "job": job}
        for kind, data in (
            ("job.enqueue", {"id": OWN + "new", **job}),
            (
                "job.enqueue_many",
                {"jobs": [{"id": OWN + "new", "type": "t", "queue": OWN + "queue"}, {"id": OWN + "newer", **job}]},
            ),
            ("job.claim", {"queues": [OWN + "queue", queue], "count": 100, "worker": "w", "lease": 5}),
            ("job.search", {"queue": queue}),
            ("job.cancel", {"queue": queue}),
            ("job.run", {"queue": queue, "state": "archived"}),
            ("job.archive", {"queue": queue, "state": "pending"}),
            ("job.delete", {"queue": queue, "state": "pending"}),
            ("schedule.create", schedule),
        ):
            yield Operation(f"2026 {kind}: own jobs in the queue {queue}", scope, 200, envelope(kind, data))
    for kind in ("job.stats", "queue.get", "queue.pause", "queue.resume", "queue.set"):
        yield Operation(f"2026 {kind}: a queue of all", "other", 200, envelope(kind, {"queue": "shared"}))


def _others() -> Iterator[Operation]:
    for kind in ("promise.search", "task.search", "schedule.search"):
        yield Operation(f"2026 {kind}", "found", 200, envelope(kind, {}))
    for version in (V26, V25):
        yield Operation(
            f"{version[:4]} task.heartbeat: empty list",
            "found",
            200,
            envelope("task.heartbeat", {"pid": "w", "tasks": []}, version),
        )
    for kind, data in (("start", {}), ("stop", {}), ("reset", {}), ("snap", {}), ("tick", {"time": 5000})):
        yield Operation(f"2026 debug.{kind}", "administrator", 200, envelope(f"debug.{kind}", data))
    yield Operation("GET /poll/{group}/{id}", "found", 200, target="/poll/workers/w1")
    for queues, scope in (
        ((OWN + "queue",), "own"),
        ((OWN + "queue", "default"), "own"),
        ((OWN + "queue", "shared"), "shared"),
        ((OWN + "queue", OTHER + "queue"), "other"),
        (("default",), "other"),
    ):
        target = "/jobs/claimable?" + "&".join(f"queue={queue}" for queue in queues)
        yield Operation(f"GET /jobs/claimable of {', '.join(queues)}", scope, 200, target=target)
    yield Operation("GET /metrics", "administrator", 200, target="/metrics")
    yield Operation("GET /health", "open", 200, target="/health")
    yield Operation("GET /ready", "open", 200, target="/ready")
    yield Operation("GET /promises/x", "open", 410, target="/promises/x")
    yield Operation("GET /elsewhere", "open", 404, target="/elsewhere")


OPERATIONS = [*_of_ids(), *_steps_of_others(), *_jobs_without_ids(), *_jobs_in_shared_queues(), *_others()]


def app_of(store: Store) -> ResonateApp:
    """The app under test, with tokens and debug operations."""
    return create_app(
        store,
        server=ServerSettings(debug=True),
        auth=AuthSettings(secret=SECRET),
        push=PushSettings(enabled=False),
        delivery=DeliverySettings(enabled=False),
    )


async def answer(app: ResonateApp, operation: Operation, token: str | None, place: str = "header") -> Answer:
    """Sends an operation, with its token in the ``Authorization`` header or in ``head.auth``; returns the response."""
    headers = {"Authorization": f"Bearer {token}"} if token is not None and place == "header" else {}
    if operation.envelope is None:
        return await call(app, "GET", operation.target, headers=headers)
    sent = dict(operation.envelope)
    if place == "head" and token is not None:
        sent["head"] = {**sent["head"], "auth": token}
    return await call(app, body=json.dumps(sent).encode(), headers=headers)


class Worlds:
    """Stores with the same rows for each request. A request that changes nothing leaves its store to the next one."""

    def __init__(self) -> None:
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Worlds:
        await self._begin()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._open.aclose()

    async def _begin(self) -> None:
        self._store = self._open.enter_context(world())
        self._app = app_of(self._store)
        await self._open.enter_async_context(self._app.lifespan())
        self._whole = self._store.snapshot()

    async def answer(self, operation: Operation, token: str | None, place: str = "header") -> tuple[Answer, bool]:
        """Sends an operation; returns the response, and whether the rows changed."""
        return await self.judge(lambda app: answer(app, operation, token, place))

    async def judge(self, ask: Callable[[ResonateApp], Awaitable[Answer]]) -> tuple[Answer, bool]:
        """Calls a function with the app; returns the response, and whether the rows changed."""
        given = await ask(self._app)
        changed = self._store.snapshot() != self._whole
        if changed:
            await self._open.aclose()
            await self._begin()
        return given, changed


async def cell(operation: Operation, token: str | None, place: str = "header") -> tuple[Answer, bool]:
    """Sends an operation to a new store; returns the response, and whether the rows changed."""
    async with Worlds() as worlds:
        return await worlds.answer(operation, token, place)


async def _print() -> None:
    width = max(len(operation.name) for operation in OPERATIONS)
    print(" " * width, *(name for name, _, _ in TOKENS), sep=" | ")
    async with Worlds() as worlds:
        for operation in OPERATIONS:
            cells = [str((await worlds.answer(operation, token))[0].status).center(max(3, len(name))) for name, token, _ in TOKENS]
            print(operation.name.ljust(width), *cells, sep=" | ")


if __name__ == "__main__":
    asyncio.run(_print())
