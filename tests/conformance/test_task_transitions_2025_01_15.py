"""The 80 rows of the table of 2025-01-15, each tested with requests of the dialect 2025-01-15 (PROTOCOL 2).

A row is run once for every combination of values that the dialect can reach: current = Invoke or Resume, with and without
queued resumes, several versions, several wrong versions, instants at and long after the expiry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import FAR, V25, V26, DialectClient, Reply, executes, forget_messages, stored_task
from resonate_core.conformance.scenes.tasks_2025_01_15 import (
    BUILD_TTL,
    NEXT,
    REQUEST_TTL,
    TASK,
    Binding,
    RowScene,
    bindings,
)
from resonate_core.conformance.tables.task_transitions_2025_01_15 import ROWS, STRUCK_OUT, Row

DEFAULT_TTL = 5_000
"""The value of l for a task that was never acquired (PROTOCOL 2.1)."""


def as_table(task: dict[str, Any] | None) -> tuple[Any, ...]:
    """Converts a stored task to the table's ⟨state, e, l, v, c, R⟩.

    The stored n is the number of acquisitions, the table's v the number of acquisitions that ended; so v = n - 1 while the
    task is acquired or suspended. The stored resumes include the current awaited id until the task is acquired, the table's R
    never does. In a pending task, l is the ttl of the last acquisition. Suspended and fulfilled tasks have ⊥ as in the table.
    """
    if task is None:
        return ()
    state = task["state"]
    assert state in ("pending", "acquired", "suspended", "fulfilled"), "the table knows no halted tasks"
    current = task.get("current")
    if state == "fulfilled":
        assert task["resumes"] == [] and current is None
        return ("f", "⊥", "⊥", "⊥", "⊥", [])
    if state == "suspended":
        assert task["resumes"] == [] and current is None
        return ("s", "⊥", "⊥", task["acquisitions"] - 1, "⊥", [])
    running = state == "acquired"
    return (
        "a" if running else "p",
        task["expiresAt"] if running else task["retryAt"],
        task["ttl"] if running else task.get("lastTtl", DEFAULT_TTL),
        task["acquisitions"] - (1 if running else 0),
        "Invoke" if current is None else ("Resume", current),
        [r for r in task["resumes"] if r != current],
    )


class Scene(RowScene):
    """A store with the task of one row in its state before, at the instant `t`."""

    def __init__(self, store: Any, row: Row, binding: Binding) -> None:
        super().__init__(DialectClient(store, V25), row, binding)
        self.store = store
        self.build()
        self.before = as_table(stored_task(store, TASK))
        forget_messages(store)
        self.later()

    def operate(self) -> Reply | None:
        """Runs the row's operation at `t` and checks its reply; returns the reply, or None for an operation without a result."""
        if self.row.operation == "Tick":
            _tick(self)
            return None
        reply = super().operate()
        if self.row.operation in CHECKS:
            assert reply is not None
            CHECKS[self.row.operation](self, reply)
        return reply


def _got(scene: Scene, reply: Reply) -> None:
    if reply.status == 200:
        assert reply.data == {"task": {"id": TASK, "version": scene.version}}


def _created(scene: Scene, reply: Reply) -> None:
    if scene.before:
        assert set(reply.data) == {"promise"}
    else:
        assert reply["task"] == {"id": TASK, "version": 0}


def _acquired(scene: Scene, reply: Reply) -> None:
    if reply.status == 200:
        current = scene.before[4]
        assert reply["kind"] == ("invoke" if current == "Invoke" else "resume")
        assert reply["data"]["invoked"]["id"] == TASK
        assert reply["data"].get("awaited", {}).get("id") == (None if current == "Invoke" else current[1])


def _fenced(scene: Scene, reply: Reply) -> None:
    state = scene.client.get("child", now=scene.t)
    if reply.status == 200:
        assert reply["action"]["head"]["status"] == 200
        assert state["promise"]["state"] == ("resolved" if scene.binding.variant == "settle" else "pending")
    elif scene.binding.variant == "settle":
        assert state["promise"]["state"] == "pending"
    else:
        state.must(404)


CHECKS: dict[str, Callable[[Scene, Reply], None]] = {
    "TaskGet": _got,
    "TaskCreate": _created,
    "TaskAcquire": _acquired,
    "TaskFence": _fenced,
}


def _tick(scene: Scene) -> None:
    e = scene.before[1] if scene.before else "⊥"
    if e == "⊥":
        scene.t += 1_000_000
    elif scene.row.condition == "t < e":
        scene.t = e - 1
    else:
        scene.t = e + (50_000 if scene.binding.variant == "late" else 0)
    scene.store.tick(now=scene.t)


def evaluate(scene: Scene) -> tuple[Any, ...]:
    """Returns the row's state after, with its symbols replaced by their values."""
    row, before = scene.row, scene.before or ("⊥", "⊥", DEFAULT_TTL, 0, "Invoke", [])
    if not row.after:
        return ()
    _, e, ttl, v, c, r = before
    if row.result == 200 and row.operation in ("TaskAcquire", "TaskCreate") and row.after[0] == "a" and "t+l" in row.after:
        ttl = REQUEST_TTL
    elif row.before and row.before[0] == "s" and row.after[0] == "p":
        ttl = BUILD_TTL
    resume: Any = c
    if row.operation == "TaskSuspend" and row.result == 300:
        resume = ("Resume", "p2")
    elif row.operation == "Enqueue" and c == "⊥":
        resume = ("Resume", NEXT)
    symbols: list[dict[str, Any]] = [
        {},
        {"e": e, "t+l": scene.t + ttl if ttl != "⊥" else None},
        {"l": ttl},
        {"v": v, "v+1": v + 1 if v != "⊥" else None, "0": 0},
        {"c": c, "Invoke": "Invoke", "Resume": resume, "c'": ("Resume", r[0]) if r else None},
        {"R": r, "∅": [], "R'": r[1:], "R::Resume": [*r, NEXT]},
    ]
    return tuple("⊥" if text == "⊥" else symbols[i].get(text, text) for i, text in enumerate(row.after))


@pytest.mark.parametrize("row", [r for r in ROWS if r.number != STRUCK_OUT], ids=lambda r: r.name)
def test_row(make_store: Callable[..., Any], row: Row) -> None:
    """Checks the result, the state after and the message of one row, for every combination of values."""
    runs = 0
    for binding in bindings(row):
        runs += 1
        scene = Scene(make_store(retry_timeout="ttl"), row, binding)
        context = f"row {row.number} with {binding}, before {scene.before}"
        if row.before:
            assert scene.before[0] == row.before[0], context
        reply = scene.operate()
        assert (reply.status if reply else None) == row.result, (context, reply)
        after = as_table(stored_task(scene.store, TASK))
        assert after == evaluate(scene), context
        sent = executes(scene.store, TASK)
        expected = [] if row.sends is None else [(row.sends.lower(), TASK, after[3])]
        assert sent == expected, context
        assert_versions_of_both_dialects(scene)
    assert runs


def assert_versions_of_both_dialects(scene: Scene) -> None:
    """Checks that both dialects show the same stored task, each with its own version (PROTOCOL 2)."""
    task = stored_task(scene.store, TASK)
    old, new = (DialectClient(scene.store, v).task(TASK, now=scene.t) for v in (V25, V26))
    if task is None:
        assert (old.status, new.status) == (404, 404)
        return
    n = task["acquisitions"]
    assert new["task"]["version"] == n and new["task"]["state"] == task["state"]
    assert old["task"] == {"id": TASK, "version": n - 1 if task["state"] in ("acquired", "suspended") else n}


def test_row_67_no_request_reaches_it(make_store: Callable[..., Any]) -> None:
    """Row 67 is struck out: an awaiter without a task may register; it gets neither a task nor a message (PROTOCOL 8)."""
    store = make_store(retry_timeout="ttl")
    client = DialectClient(store, V25)
    for id in ("awaiter", "awaited"):
        client.create(id, now=1_000).must()
    client.register("awaited", "awaiter", now=1_001).must()
    client.settle("awaited", now=1_002).must()
    assert stored_task(store, "awaiter") is None
    assert executes(store) == []
    client.task("awaiter", now=1_003).must(404)
    awaited = next(p for p in store.snapshot()["promises"] if p["id"] == "awaited")
    assert awaited["callbacks"] == [], "the callback is consumed all the same"
    client.register("awaited", "nobody", now=1_004).must(404)
    assert client.get("awaiter")["promise"]["timeoutAt"] == FAR


def test_the_table_is_whole() -> None:
    """The table has all 80 rows in order. Each row is run, except row 67, which no request reaches."""
    assert [r.number for r in ROWS] == list(range(1, 81))
    assert all(list(bindings(r)) for r in ROWS if r.number != STRUCK_OUT)
