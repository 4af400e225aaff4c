"""Each row of the table of 2025-01-15 as scenes on a server."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..expectation import Expectation
from ..findings import NotJudged
from ..player import Scene, SceneClient
from ..requests import V25
from ..rules import CALLBACKS, LEASES, section
from ..tables.task_transitions_2025_01_15 import ROWS, STRUCK_OUT, Row
from .tasks_2025_01_15 import BUILD_TTL, TASK, Binding, RowScene, bindings

__all__ = ["scenes"]

_KINDS = {
    "TaskGet": "task.get",
    "TaskCreate": "task.create",
    "TaskAcquire": "task.acquire",
    "TaskRelease": "task.release",
    "TaskSuspend": "task.suspend",
    "TaskFence": "task.fence",
    "TaskHeartbeat": "task.heartbeat",
    "TaskFulfill": "task.fulfill",
}


def scenes(soon: int, thorough: bool) -> Iterator[Scene]:
    """The scenes of all rows.

    Args:
        soon: How long after the begin of a scene its leases end, if it waits for them, in ms.
        thorough: Whether a row is played with every combination of values of its symbols; else with the first and the last.
    """
    for row in ROWS:
        if row.number == STRUCK_OUT:
            continue
        played = list(bindings(row))
        for binding in played if thorough or len(played) < 3 else (played[0], played[-1]):
            waits = 2 * soon if row.condition == "t ≥ e" and row.before[0] == "a" else 0
            name = f"row {row.number} of 2025-01-15, {row.operation}, {_described(binding)}"
            yield Scene(_rule(row), name, V25, partial(_play, row, binding, soon), waits)


def _rule(row: Row) -> str:
    if row.operation in _KINDS:
        return section(_KINDS[row.operation])
    return LEASES if row.operation == "Tick" else CALLBACKS if row.before else section("promise.create")


def _described(binding: Binding) -> str:
    shown = "resumed" if binding.resumed else "invoked"
    other = f", version {binding.other:+}" if binding.other else ""
    variant = f", {binding.variant}" if binding.variant else ""
    return f"{shown}, {binding.queued} queued, {binding.cycles} acquisitions before{other}{variant}"


def _play(row: Row, binding: Binding, soon: int, client: SceneClient) -> Iterator[int]:
    if row.operation == "Tick" and row.before and row.before[0] == "p":
        raise NotJudged("only a message shows a dispatch: see PROTOCOL 5")
    expires = row.condition == "t ≥ e" and row.before[0] == "a"
    scene = RowScene(client, row, binding, soon if expires else BUILD_TTL)
    scene.build()
    expect = Expectation(client, f"row {row.number} of the table of 2025-01-15")
    if row.operation == "Tick":
        if expires:
            yield 2 * soon
        client.twin.steps_are_due()
    else:
        reply = scene.operate()
        if reply is not None:
            expect.status(reply, row.result)
    client.task(TASK)
    client.get(TASK)
    if row.after and row.after[0] in "pasf":
        _show_current(client)


def _show_current(client: SceneClient) -> None:
    """Acquire the task, if it is pending: in this dialect, only the reply shows why it runs."""
    shown = client.task(TASK)
    client.acquire(TASK, shown["task"]["version"])
