"""The scenes of PROTOCOL 7: a promise in each trap, and each request on it."""

from __future__ import annotations

from collections.abc import Callable

from ..requests import ADDRESS, FAR, V26, Reply, Requests
from ..tables.traps import Cell

__all__ = ["DEAD", "DEADLINE", "DELAY", "NEEDS", "NEW", "REQUESTS", "TrapScene"]

DEADLINE = 100
DEAD = ("expired", "late", "timer", "untargeted", "inner dead", "settled")
NEW = ("target", "delay", "both")
DELAY = 600
NEEDS = {
    "task.release": "acquired",
    "task.suspend": "acquired",
    "task.fulfill": "acquired",
    "task.fence": "acquired",
    "task.heartbeat": "acquired",
    "task.heartbeat all": "acquired",
    "task.continue": "halted",
    "step: lease": "acquired",
    "task.get": "acquired",
    "task.search": "suspended",
    "callback by": "acquired",
}
"""The state in which the request would change p if p were alive."""


class TrapScene:
    """The promise p as the column says, and promises x and y and held tasks t and u that are alive.

    Attributes:
        now: The instant of the request, on a manual clock.

    Args:
        client: Sends the request.
        helper: Sends what the scene needs, in 2026-04-01 if the other side speaks it.
        cell: The request and the trap.
    """

    deadline = DEADLINE

    def __init__(self, client: Requests, helper: Requests, cell: Cell) -> None:
        self.client, self.helper, self.cell = client, helper, cell
        self.held = 1 if cell.version == V26 else 0
        self.now = DEADLINE

    def build(self) -> None:
        """Create what the scene needs, p as the last."""
        for id in ("x", "y", "gate"):
            self.helper.create(id, tags={"resonate:external": "true"}, now=0).must()
        for id in ("t", "u"):
            self.helper.task_create(id, ttl=FAR, pid="other", now=0).must()
        trap = self.cell.trap
        if trap not in NEW or (trap != "target" and not self.creates):
            self._lay(trap)
        if trap == "late":
            self.now = 1_000_000
        elif trap in ("settled", "inner", "delay", "both"):
            self.now = 50
        if trap == "settled":
            self.client.settle("p", value={"data": "eA=="}, now=self.now).must()

    @property
    def creates(self) -> bool:
        """Whether the request creates a promise from tags."""
        return self.cell.request in ("promise.create", "task.create", "task.fence create", "schedule.create")

    @property
    def strict(self) -> bool:
        """Whether the strict rules apply to the requests."""
        return self.cell.rules == "strict" and self.cell.version == V26

    @property
    def has_task(self) -> bool:
        """Whether p has a task in this trap."""
        return self.cell.trap not in ("untargeted", "inner dead", "inner") and not (self.cell.trap == "timer" and self.strict)

    def _lay(self, trap: str) -> None:
        tags = {}
        if trap in ("timer", "both"):
            tags["resonate:timer"] = "true"
        if trap == "untargeted":
            tags["resonate:external"] = "true"
        if trap == "delay":
            tags["resonate:delay"] = str(self.client.instant(DELAY))
        client = self.helper if trap.startswith("inner") else self.client
        timeout = FAR if trap in ("settled", "inner", "delay") else 9_000 if trap == "both" else self.deadline
        client.create("p", timeout, target=ADDRESS if self.has_task else None, tags=tags, now=0).must()
        if not self.has_task:
            return
        needs = "suspended" if trap == "awaiter" else NEEDS.get(self.cell.request, "pending")
        # In 2025-01-15, versions are counted from 0 while a task is held.
        held = 1 if self.helper.version == V26 else 0
        if needs in ("acquired", "suspended"):
            ttl = self.deadline if self.cell.request == "step: lease" else 10_000
            self.helper.acquire("p", 0, ttl=ttl, pid="w1", now=0).must()
        if needs == "suspended":
            self.helper.suspend("p", held, *(["x", "gate"] if trap == "awaiter" else ["gate"]), now=0).must()
        if needs == "halted":
            self.helper.halt("p", now=0).must()

    def tags(self) -> dict[str, str]:
        """The tags of the new promise."""
        return {
            "target": {"resonate:target": ""},
            "delay": {"resonate:target": ADDRESS, "resonate:delay": str(self.client.instant(DELAY))},
            "both": {"resonate:target": ADDRESS, "resonate:timer": "true"},
        }.get(self.cell.trap, {"resonate:target": ADDRESS})


def _target(trap: TrapScene) -> str:
    """The promise that the request acts on: x in column awaiter, else p."""
    return "x" if trap.cell.trap == "awaiter" else "p"


def _create(trap: TrapScene) -> Reply:
    return trap.client.create("p", 2_000, tags=trap.tags(), now=trap.now)


def _task_create(trap: TrapScene) -> Reply:
    return trap.client.task_create("p", 2_000, ttl=500, target=None, tags=trap.tags(), now=trap.now)


def _fence_create(trap: TrapScene) -> Reply:
    return trap.client.fence_create("t", trap.held, "p", 2_000, tags=trap.tags(), now=trap.now)


# fmt: off
REQUESTS: dict[str, Callable[[TrapScene], Reply]] = {
    "promise.get": lambda c: c.client.get("p", now=c.now),
    "promise.create": _create,
    "promise.settle": lambda c: c.client.settle(_target(c), "rejected", now=c.now),
    "callback on": lambda c: c.client.register(*(("y", "p") if c.cell.trap == "awaiter" else ("p", "t")), now=c.now),
    "callback by": lambda c: c.client.register("x", "p", now=c.now),
    "listener": lambda c: c.client.listen("p", now=c.now),
    "promise.search": lambda c: c.client.search("promise", now=c.now, id="p"),
    "task.get": lambda c: c.client.task("p", now=c.now),
    "task.create": _task_create,
    "task.acquire": lambda c: c.client.acquire("p", 0, now=c.now),
    "task.release": lambda c: c.client.release("p", c.held, now=c.now),
    "task.suspend": lambda c: c.client.suspend("p", c.held, "x", now=c.now),
    "task.suspend on": lambda c: c.client.suspend("t", c.held, "p", now=c.now),
    "task.fulfill": lambda c: c.client.fulfill("t" if c.cell.trap == "awaiter" else "p", c.held, now=c.now),
    "task.fence": lambda c: c.client.fence_create("p", c.held, "child", now=c.now),
    "task.fence create": _fence_create,
    "task.fence settle": lambda c: c.client.fence_settle("t", c.held, _target(c), "rejected", now=c.now),
    "task.heartbeat": lambda c: c.client.heartbeat("w1", ("p", c.held), now=c.now),
    "task.heartbeat all": lambda c: c.client.heartbeat("w1", now=c.now),
    "task.halt": lambda c: c.client.halt("p", now=c.now),
    "task.continue": lambda c: c.client.cont("p", now=c.now),
    "task.search": lambda c: c.client.search("task", now=c.now, id="p"),
    "schedule.create": lambda c: c.client.schedule("s", timeout=2_000, tags=c.tags(), now=c.now),
}
# fmt: on
