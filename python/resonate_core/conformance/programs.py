"""Random programs of requests from a seed, on a few ids, run on a server and on the model."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from .player import Scene, SceneClient
from .requests import FAR, LISTENER, V25, V26

__all__ = ["REQUESTS_EACH", "scenes"]

REQUESTS_EACH = 40
"""The number of requests of one program: afterwards most of its promises are settled, and other ids are used."""
_PROMISES = ("p0", "p1", "p2")
_TASKS = ("t0", "t1", "t2")
_IDS = (*_PROMISES, *_TASKS, "nobody")
_PIDS = ("w1", "w2")
_TTL = 3_600_000
_STATES = ("resolved", "rejected", "rejected_canceled")
_VALUES: tuple[dict[str, Any], ...] = ({}, {"data": "eA=="}, {"data": ""}, {"headers": {}}, {"headers": {"a": "b"}, "data": "é"})
_BROKEN: tuple[Any, ...] = (None, 1.0, -1, 2**63, "", "\0", True, [], {})
"""Values that no id may have: a program must not leave its prefix."""


def scenes(dialects: tuple[str, ...], seed: int, requests: int) -> Iterator[Scene]:
    """Yield programs with this many requests in total; each begins in one dialect, and uses the others now and then."""
    for number in range(max(1, -(-requests // REQUESTS_EACH))):
        dialect = dialects[number % len(dialects)]
        name = f"random program {number} of seed {seed}"
        yield Scene("random programs", name, dialect, partial(_play, dialects, f"{seed}.{number}"))


def _play(dialects: tuple[str, ...], seed: str, client: SceneClient) -> None:
    chance = random.Random(seed)
    clients = [client, *(client.other(version) for version in dialects if version != client.version)]
    for _ in range(REQUESTS_EACH):
        one = clients[0] if chance.random() < 0.8 else chance.choice(clients)
        request = RandomRequest(one, chance)
        if chance.random() < 0.06:
            request.broken()
        else:
            request.step()


class RandomRequest:
    """One random request.

    Args:
        client: Sends it.
        chance: The source of its choices.
    """

    def __init__(self, client: SceneClient, chance: random.Random) -> None:
        self.client, self.chance = client, chance
        rows = client.twin.model.snapshot()["promises"]
        self.tasks = {row["id"]: row["task"] for row in rows if "task" in row}

    def step(self) -> None:
        """Send a well-formed request, which often succeeds."""
        steps = list(_STEPS)
        if self.client.version == V26:
            steps += _NEW_STEPS
        self.chance.choice(steps)(self)

    def broken(self) -> None:
        """Send a request with one member missing, or with a wrong type or value."""
        client, chance = self.client, self.chance
        kinds: list[tuple[str, dict[str, Any]]] = [
            ("promise.get", {"id": client.id("p0")}),
            ("promise.create", client.create_data("p0")),
            ("promise.settle", {"id": client.id("p0"), "state": "resolved", "value": {}}),
            ("task.acquire", {"id": client.id("t0"), "version": 0, "pid": client.id("w1"), "ttl": _TTL}),
            ("task.release", {"id": client.id("t0"), "version": 0}),
            ("task.heartbeat", {"pid": client.id("w1"), "tasks": [{"id": client.id("t0"), "version": 0}]}),
        ]
        kind, data = chance.choice(kinds)
        name = chance.choice(list(data))
        if chance.random() < 0.3:
            del data[name]
        else:
            data[name] = chance.choice(_BROKEN)
        client.send(kind, data)

    # ---- choices

    def version_of(self, name: str) -> int:
        """Return a version of a task: usually the current one."""
        task = self.tasks.get(self.client.id(name), {"state": "pending", "acquisitions": 0})
        held = task["state"] in ("acquired", "suspended")
        current = int(task["acquisitions"]) - (1 if self.client.version == V25 and held else 0)
        return max(0, current + self.chance.choice((0, 0, 0, 0, 0, -1, 1)))

    def pick_task(self, *states: str) -> str:
        """Return a task, usually in one of these states."""
        fitting = [name for name in _TASKS if self.tasks.get(self.client.id(name), {}).get("state") in states]
        return self.chance.choice(fitting if fitting and self.chance.random() < 0.85 else [*_TASKS, "p0", "nobody"])

    def pick(self) -> str:
        """Any id."""
        return self.chance.choice(_IDS)

    def tags(self) -> dict[str, str]:
        """Tags of a new promise."""
        return self.chance.choice(
            ({}, {}, {"resonate:external": "true"}, {"resonate:timer": "true"}, {"resonate:branch": "b"}, {"resonate:delay": "1"})
        )

    def key(self, name: str) -> dict[str, Any]:
        """Return an idempotency key, or None."""
        return self.chance.choice(({}, {}, {}, {name: "k1"}, {name: "k2"}))

    def value(self) -> dict[str, Any]:
        """A value."""
        return self.chance.choice(_VALUES)

    # ---- requests

    def create(self) -> None:
        """promise.create."""
        if self.chance.random() < 0.5:
            self.client.create(self.chance.choice(_PROMISES), tags=self.tags(), param=self.value(), **self.key("ikc"))
        else:
            target = self.chance.choice(("poll://any@workers", "poll://any@workers", ""))
            timeout = self.chance.choice((FAR, FAR, FAR, -10_000))
            self.client.create(self.chance.choice(_TASKS), timeout, target=target, tags=self.tags(), param=self.value())

    def settle(self) -> None:
        """promise.settle."""
        state = self.chance.choice((*_STATES, *_STATES, "rejected_timedout"))
        self.client.settle(self.pick(), state, self.value(), **self.key("iku"))

    def register(self) -> None:
        """promise.register_callback, or promise.register."""
        self.client.register(self.pick(), self.pick())

    def listen(self) -> None:
        """promise.register_listener, or promise.subscribe."""
        self.client.listen(self.pick(), self.chance.choice((LISTENER, LISTENER, "no address")))

    def task_create(self) -> None:
        """task.create."""
        name, tags = self.pick(), self.chance.choice(({}, {}, self.tags()))
        target = self.chance.choice(("poll://any@workers", "poll://any@workers", "poll://any@workers", None))
        self.client.task_create(name, ttl=_TTL, pid=self.chance.choice(_PIDS), target=target, tags=tags)

    def acquire(self) -> None:
        """task.acquire."""
        name = self.pick_task("pending")
        self.client.acquire(name, self.version_of(name), _TTL, self.chance.choice(_PIDS))

    def release(self) -> None:
        """task.release."""
        name = self.pick_task("acquired")
        self.client.release(name, self.version_of(name))

    def suspend(self) -> None:
        """task.suspend."""
        name = self.pick_task("acquired")
        self.client.suspend(name, self.version_of(name), *(self.pick() for _ in range(self.chance.choice((0, 1, 1, 2)))))

    def fulfill(self) -> None:
        """task.fulfill."""
        name = self.pick_task("acquired")
        self.client.fulfill(name, self.version_of(name), self.chance.choice(_STATES), self.value(), **self.key("iku"))

    def fence(self) -> None:
        """task.fence."""
        name = self.pick_task("acquired")
        if self.chance.random() < 0.5:
            self.client.fence_create(name, self.version_of(name), self.pick(), tags=self.tags())
        else:
            self.client.fence_settle(name, self.version_of(name), self.pick(), self.chance.choice(_STATES))

    def heartbeat(self) -> None:
        """task.heartbeat."""
        names = [self.pick_task("acquired") for _ in range(self.chance.choice((0, 1, 2)))]
        self.client.heartbeat(self.chance.choice(_PIDS), *((name, self.version_of(name)) for name in names))

    def get(self) -> None:
        """promise.get."""
        self.client.get(self.pick())

    def get_task(self) -> None:
        """task.get."""
        self.client.task(self.pick())

    def halt(self) -> None:
        """task.halt."""
        self.client.halt(self.pick_task("pending", "acquired", "suspended"))

    def cont(self) -> None:
        """task.continue."""
        self.client.cont(self.pick_task("halted"))

    def search(self) -> None:
        """promise.search or task.search."""
        self.client.search(self.chance.choice(("promise", "task")), limit=self.chance.choice((1, 3, 100)))


_Request = RandomRequest
_STEPS: tuple[Callable[[RandomRequest], None], ...] = (
    *(_Request.create, _Request.create, _Request.settle, _Request.get, _Request.get_task, _Request.register, _Request.listen),
    *(_Request.task_create, _Request.acquire, _Request.acquire, _Request.release, _Request.suspend, _Request.suspend),
    *(_Request.fulfill, _Request.fence, _Request.heartbeat),
)
_NEW_STEPS: tuple[Callable[[RandomRequest], None], ...] = (_Request.halt, _Request.cont, _Request.search)
