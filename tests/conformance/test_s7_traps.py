"""PROTOCOL 7: each cell of the matrix in traps.py is a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import (
    LISTENER,
    V25,
    V26,
    DialectClient,
    Reply,
    executes,
    forget_messages,
    rows_of,
    stored,
    stored_task,
)
from resonate_core.conformance.scenes.traps import DEAD, DEADLINE, DELAY, REQUESTS, TrapScene
from resonate_core.conformance.tables.traps import CELLS, REASONS, TRAPS, Cell

READS = ("promise.get", "promise.search", "task.get", "task.search")


class Trap(TrapScene):
    """A scene in a store."""

    def __init__(self, store: Any, cell: Cell) -> None:
        super().__init__(DialectClient(store, cell.version), DialectClient(store, V26), cell)
        self.store = store
        self.fired: list[Any] = []
        self.build()
        forget_messages(store)
        self.before = rows_of(store)

    def send(self) -> Reply | None:
        """Sends the request, or runs the steps by a tick."""
        if self.cell.request.startswith("step:"):
            self._tick()
            return None
        if self.cell.request == "task.fulfill" and self.cell.trap == "awaiter":
            self._await_t()
        return REQUESTS[self.cell.request](self)

    def _await_t(self) -> None:
        """Makes p also await the promise of the held task t, which the request settles by fulfilling t."""
        snapshot = self.store.snapshot()
        for row in snapshot["promises"]:
            if row["id"] == "t":
                row["callbacks"] = ["p"]
        self.store.restore(snapshot)

    def _tick(self) -> None:
        now = {"delay": DELAY - 1, "both": 5_000}.get(self.cell.trap, self.now)
        if self.cell.request == "step: deadline":
            if self.cell.trap == "awaiter":
                self._let_x_expire()
            now = {"both": 9_000, "inner": 10**9, "settled": 10**9}.get(self.cell.trap, now)
        self.now = max(now, self.store.now)
        self.fired = self.store.tick(now=self.now)

    def _let_x_expire(self) -> None:
        snapshot = self.store.snapshot()
        for row in snapshot["promises"]:
            if row["id"] == "x":
                row["timeoutAt"] = DEADLINE
        self.store.restore(snapshot)


def shown_promise(cell: Cell, reply: Reply) -> dict[str, Any]:
    """The promise record in a reply."""
    data = reply.data
    if cell.request == "promise.search":
        return data["promises"][0]
    if cell.request.startswith("task.fence"):
        assert data["action"]["head"]["status"] == 200, data
        data = data["action"]["data"]
    return data["promise"]


def verdict(trap: Trap) -> dict[str, Any]:
    """The members that every reply must show of a dead or settled p."""
    name = trap.cell.trap
    if name == "settled":
        return {"state": "resolved", "settledAt": 50, "data": "eA=="}
    return {"state": "resolved" if name == "timer" else "rejected_timedout", "settledAt": DEADLINE, "data": ""}


def assert_dead(trap: Trap, record: dict[str, Any]) -> None:
    """Checks that a record of p shows the verdict."""
    expected = verdict(trap)
    shown = {"state": record["state"], "settledAt": record.get("settledAt"), "data": record["value"].get("data", "")}
    assert shown == expected


@pytest.mark.parametrize("cell", [c for c in CELLS if not c.meaningless], ids=lambda c: c.name)
def test_trap(make_store: Callable[..., Any], cell: Cell) -> None:
    """Checks the reply, the rows that are stored after it, and then every other reply that shows p."""
    trap = Trap(make_store(rules=cell.rules), cell)
    reply = trap.send()
    assert (reply.status if reply else None) == cell.status, reply
    if cell.letter == "i400":
        assert reply is not None and reply["action"]["head"]["status"] == 400
    elif cell.letter:
        LETTERS[cell.letter](trap, reply)
    if cell.status in (400, 404, 409, 422) or cell.letter == "i400":
        kept = [p for p in rows_of(trap.store)["promises"] if p["id"] != "p"]
        assert kept == [p for p in trap.before["promises"] if p["id"] != "p"], "a failed request changes nothing"
    if cell.trap in DEAD:
        assert_dead_everywhere(trap)
    assert trap.store.check() == []


def assert_dead_everywhere(trap: Trap) -> None:
    """Checks that stored rows, searches and both dialects show p as dead, for every kind of request."""
    store, cell = trap.store, trap.cell
    row = stored(store, "p")
    if cell.request in READS:
        assert rows_of(store) == trap.before, "a read stores nothing"
    elif cell.trap == "inner dead":
        assert (row["state"], row["external"]) == ("pending", False), "no step for an internal promise, no edge on a dead one"
    else:
        assert_dead(trap, row)
        if trap.has_task:
            assert set(row["task"]) == {"state", "acquisitions", "resumes"} and row["task"]["state"] == "fulfilled"
    assert row["callbacks"] == [] and row["listeners"] == []
    assert executes(store, "p") == []
    assert all("p" not in stored(store, id)["callbacks"] for id in ("x", "y"))
    for version in (V26, V25):
        assert_dead(trap, DialectClient(store, version).get("p").must()["promise"])
    new = DialectClient(store, V26)
    assert "p" not in new.found("promise", state="pending")
    assert "p" in new.found("promise", state=verdict(trap)["state"])
    for state in ("pending", "acquired", "suspended", "halted"):
        assert "p" not in new.found("task", state=state)
    if trap.has_task:
        assert new.task("p").must()["task"]["state"] == "fulfilled"


def _shows_verdict(trap: Trap, reply: Reply) -> None:
    assert_dead(trap, shown_promise(trap.cell, reply))


def _shows_pending(trap: Trap, reply: Reply) -> None:
    assert shown_promise(trap.cell, reply)["state"] == "pending"
    edge = {"callback on": ("callbacks", ["t"]), "listener": ("listeners", [{"address": LISTENER, "dialect": trap.cell.version}])}
    if trap.cell.request in edge:
        member, expected = edge[trap.cell.request]
        assert stored(trap.store, "p")[member] == expected and stored(trap.store, "p")["external"] is True


def _task_fulfilled(trap: Trap, reply: Reply) -> None:
    task = reply["tasks"][0] if trap.cell.request == "task.search" else reply["task"]
    assert task["state"] == "fulfilled" and task["resumes"] == 0 and "pid" not in task and "ttl" not in task
    if trap.cell.request == "task.create":
        assert reply["preload"] == []
        assert_dead(trap, reply["promise"])


def _settled_by_it(trap: Trap, reply: Reply) -> None:
    record = shown_promise(trap.cell, reply)
    assert record["settledAt"] == trap.now and record["state"] != "pending"


def _no_edge(trap: Trap, reply: Reply) -> None:
    record = shown_promise(trap.cell, reply)
    assert record["state"] == "pending"
    assert "p" not in stored(trap.store, record["id"])["callbacks"]
    assert executes(trap.store, "p") == []


def _not_renewed(trap: Trap, _reply: Reply) -> None:
    assert "expiresAt" not in stored(trap.store, "p")["task"]


def _not_found(_trap: Trap, reply: Reply) -> None:
    assert reply["tasks"] == []


def _not_woken(trap: Trap, _reply: Reply | None) -> None:
    settled = "t" if trap.cell.request == "task.fulfill" else "x"
    assert stored(trap.store, settled)["state"] != "pending" and stored(trap.store, settled)["callbacks"] == []
    assert_dead(trap, stored(trap.store, "p"))
    assert stored_task(trap.store, "p") == {"state": "fulfilled", "acquisitions": 1, "resumes": []}
    assert executes(trap.store, "p") == []


def _delayed(trap: Trap, _reply: Reply | None) -> None:
    assert executes(trap.store, "p") == [] and stored_task(trap.store, "p")["retryAt"] == DELAY
    trap.store.tick(now=DELAY)
    assert len(executes(trap.store, "p")) == 1


def _never_sent(trap: Trap, _reply: Reply | None) -> None:
    store = trap.store
    while store.next_due() is not None and store.next_due() <= 200_000:
        store.tick(now=max(store.now, store.next_due()))
    made = [p for p in store.snapshot()["promises"] if "resonate:timer" in p["tags"]]
    assert made and {(p["state"], p["settledAt"] == p["timeoutAt"], p["task"]["state"]) for p in made} == {
        ("resolved", True, "fulfilled")
    }
    assert executes(store) == []


def _timeout_alone(trap: Trap, _reply: None) -> None:
    assert [(f.kind, f.id, f.at) for f in trap.fired] == [("promise_timeout", "p", DEADLINE)]


def _quiet(trap: Trap, _reply: None) -> None:
    assert [f for f in trap.fired if f.id == "p"] == []


LETTERS: dict[str, Callable[[Trap, Any], None]] = {
    "v": _shows_verdict,
    "p": _shows_pending,
    "f": _task_fulfilled,
    "s": _settled_by_it,
    "n": _no_edge,
    "h": _not_renewed,
    "x": _not_found,
    "a": _not_woken,
    "d": _delayed,
    "b": _never_sent,
    "t": _timeout_alone,
    "q": _quiet,
}


def test_the_matrix_is_whole() -> None:
    """Every cell is a test or has a reason why not, and every request of both dialects has its row."""
    rows = {v: {c.request for c in CELLS if c.version == v} for v in (V26, V25)}
    assert rows[V26] == {*REQUESTS, "step: lease", "step: dispatch", "step: deadline"}
    assert rows[V26] - rows[V25] == {"promise.search", "task.halt", "task.continue", "task.search"}
    counts = Counter((c.version, c.meaningless) for c in CELLS)
    assert len(CELLS) == len(TRAPS) * 2 * (26 + 22)
    assert {c.code for c in CELLS if c.meaningless} <= set(REASONS)
    assert counts[(V26, False)] + counts[(V26, True)] == len(TRAPS) * 2 * 26
    assert sum(not c.meaningless for c in CELLS) == 712


def test_an_edge_on_a_promise_that_settles_in_the_same_batch(make_store: Callable[..., Any]) -> None:
    """One transaction settles a promise, then registers a listener and a callback on it; both see the settlement."""
    store = make_store()
    client = DialectClient(store)
    client.create("p").must()
    client.task_create("t").must()
    requests = [
        ("promise.settle", {"id": "p", "state": "resolved"}),
        ("promise.register_listener", {"awaited": "p", "address": LISTENER}),
        ("promise.register_callback", {"awaited": "p", "awaiter": "t"}),
    ]
    answers = store.apply([client.action(*r) for r in requests])
    assert [a["data"]["promise"]["state"] for a in answers] == ["resolved"] * 3
    assert stored(store, "p")["callbacks"] == stored(store, "p")["listeners"] == []
    assert stored_task(store, "t")["resumes"] == [] and store.messages() == []
