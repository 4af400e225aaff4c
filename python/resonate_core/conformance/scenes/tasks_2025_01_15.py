"""The scenes of the table of 2025-01-15: how a task comes into each state, and each operation on it, with requests of that dialect.

A row is played once for every combination of values that the dialect can reach: current = Invoke or Resume, with and without queued
resumes, several versions, several wrong versions, instants at and long after the expiry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..requests import ADDRESS, Reply, Requests
from ..tables.task_transitions_2025_01_15 import Row

__all__ = ["BUILD_TTL", "NEXT", "REQUESTS", "REQUEST_TTL", "TASK", "Binding", "RowScene", "bindings"]

TASK = "task"
NEXT = "next"
"""A pending promise that every task of these scenes awaits; its settlement is Enqueue(Resume)."""
BUILD_TTL = 7_000
REQUEST_TTL = 9_000


@dataclass(frozen=True)
class Binding:
    """The values of a row's symbols in one run.

    Attributes:
        resumed: Whether c is Resume (else Invoke).
        queued: How many resumes wait in R.
        cycles: How many acquisitions were released before.
        other: The difference between v' and v (0: the row has no v').
        variant: One of the ways in which an operation may be sent.
    """

    resumed: bool = False
    queued: int = 0
    cycles: int = 0
    other: int = 0
    variant: str = ""


class RowScene:
    """The task of one row in its state before, and the requests of the row.

    Attributes:
        t: The instant of the last request, on a manual clock.
        version: The task's version, as this dialect shows it.

    Args:
        client: Sends the requests.
        row: The row.
        binding: The values of its symbols.
        ttl: The duration of the lease in the state before.
    """

    def __init__(self, client: Requests, row: Row, binding: Binding, ttl: int = BUILD_TTL) -> None:
        self.client, self.row, self.binding, self.ttl = client, row, binding, ttl
        self.t = 1_000
        self.version = 0

    def build(self) -> None:
        """Bring the task into the state before."""
        if self.row.before:
            self._build(self.row.before[0])
        elif self.binding.variant == "promise alone":
            self.client.create(TASK, now=self.later()).must()

    def later(self) -> int:
        """The next instant."""
        self.t += 1
        return self.t

    def _settled(self, id: str) -> str:
        """Creates a promise, registers the task as its awaiter, and settles it; returns its id."""
        self.client.create(id, now=self.later()).must()
        self.client.register(id, TASK, now=self.later()).must()
        self.client.settle(id, now=self.later()).must()
        return id

    def _acquire(self, version: int, ttl: int = BUILD_TTL) -> None:
        self.client.acquire(TASK, version, ttl, now=self.later()).must()

    def _build(self, state: str) -> None:
        client, binding = self.client, self.binding
        client.create(NEXT, now=self.later()).must()
        client.create(TASK, target=ADDRESS, now=self.later()).must()
        client.register(NEXT, TASK, now=self.later()).must()
        version = 0
        for _ in range(binding.cycles):
            self._acquire(version)
            client.release(TASK, version, now=self.later()).must()
            version += 1
        if binding.resumed:
            client.create("reason", now=self.later()).must()
            self._acquire(version)
            client.suspend(TASK, version, "reason", now=self.later()).must()
            client.settle("reason", now=self.later()).must()
            version += 1
        if state in "asf":
            self._acquire(version, self.ttl)
        for i in range(binding.queued):
            self._settled(f"queued{i}")
        if state == "s":
            client.create("gate", now=self.later()).must()
            client.suspend(TASK, version, "gate", now=self.later()).must()
        if state == "f":
            client.fulfill(TASK, version, now=self.later()).must()
            version += 1
        self.version = version

    def operate(self) -> Reply | None:
        """Send the row's request at `t`; return its reply, or None for an operation without a result."""
        return REQUESTS[self.row.operation](self)

    @property
    def asked(self) -> int:
        """The version that the request presents."""
        return (self.version if self.row.before else 0) + self.binding.other


def _suspend(scene: RowScene) -> Reply:
    awaited = ["p1", "p2"]
    for id in awaited:
        scene.client.create(id, now=scene.t).must()
    if scene.binding.variant == "settled":
        scene.client.settle("p2", now=scene.t).must()
    return scene.client.suspend(TASK, scene.asked, *awaited, now=scene.t)


def _fence(scene: RowScene) -> Reply:
    if scene.binding.variant == "settle":
        scene.client.create("child", now=scene.t).must()
        return scene.client.fence_settle(TASK, scene.asked, "child", now=scene.t)
    return scene.client.fence_create(TASK, scene.asked, "child", now=scene.t)


def _enqueue(scene: RowScene) -> None:
    if scene.row.arguments[0] == "Invoke":
        scene.client.create(TASK, target=ADDRESS, now=scene.t).must()
    else:
        scene.client.settle(NEXT, now=scene.t).must()


REQUESTS: dict[str, Callable[[RowScene], Reply | None]] = {
    "TaskGet": lambda scene: scene.client.task(TASK, now=scene.t),
    "TaskCreate": lambda scene: scene.client.task_create(TASK, ttl=REQUEST_TTL, now=scene.t),
    "TaskAcquire": lambda scene: scene.client.acquire(TASK, scene.asked, REQUEST_TTL, "w2", now=scene.t),
    "TaskRelease": lambda scene: scene.client.release(TASK, scene.asked, now=scene.t),
    "TaskSuspend": _suspend,
    "TaskFence": _fence,
    "TaskHeartbeat": lambda scene: scene.client.heartbeat("w1", (TASK, scene.asked), now=scene.t),
    "TaskFulfill": lambda scene: scene.client.fulfill(TASK, scene.asked, now=scene.t),
    "Enqueue": _enqueue,
}
"""The request of each operation; a tick has none."""


def bindings(row: Row) -> Iterator[Binding]:
    """Yield every combination of values of a row's symbols that requests can reach."""
    if not row.before:
        yield Binding()
        if row.result == 404 or row.operation == "Tick":
            yield Binding(variant="promise alone")
        return
    state, c, r = row.before[0], row.before[4], row.before[5]
    variants = [""]
    if row.operation == "TaskSuspend":
        settled = ["settled"] if row.condition != "Pend(p)" else []
        variants = [*settled, ""] if row.condition != "Settled(p)" else settled
    elif row.operation == "TaskFence":
        variants = ["create", "settle"]
    elif row.condition == "t ≥ e":
        variants = ["", "late"]
    for resumed in {"Invoke": (False,), "Resume": (True,)}.get(c, (False, True)):
        for cycles in (0, 2):
            for queued in {"∅": (0,), "c'::R'": (1, 3)}.get(r, (0, 2)):
                others: tuple[int, ...] = (0,)
                if "v'" in row.arguments:
                    shown = cycles + resumed
                    others = (1, 100, -1) if shown else (1, 100)
                elif state == "f":
                    others = (0, -1)
                for other in others:
                    for variant in variants:
                        yield Binding(resumed, queued, cycles, other, variant)
