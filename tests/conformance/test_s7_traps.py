"""PROTOCOL 7: each cell of the matrix in traps.py is a test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import (
    ADDRESS,
    FAR,
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
from resonate_core.conformance.tables.traps import CELLS, REASONS, TRAPS, Cell

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
READS = ("promise.get", "promise.search", "task.get", "task.search")


class Trap:
    """A store with the promise p as the column says, and with promises x and y and held tasks t and u that are alive."""

    def __init__(self, store: Any, cell: Cell) -> None:
        self.store, self.cell = store, cell
        self.client = DialectClient(store, cell.version)
        self.held = 1 if cell.version == V26 else 0
        self.now = DEADLINE
        self.fired: list[Any] = []
        trap, new = cell.trap, DialectClient(store, V26)
        for id in ("x", "y", "gate"):
            new.create(id, tags={"resonate:external": "true"}, now=0).must()
        for id in ("t", "u"):
            new.task_create(id, ttl=FAR, pid="other", now=0).must()
        existing = trap not in NEW or (trap != "target" and not self.creates)
        if existing:
            self._lay(trap)
        if trap == "late":
            self.now = 1_000_000
        elif trap in ("settled", "inner", "delay", "both"):
            self.now = 50
        if trap == "settled":
            self.client.settle("p", value={"data": "eA=="}, now=self.now).must()
        forget_messages(store)
        self.before = rows_of(store)

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
            tags["resonate:delay"] = str(DELAY)
        client = DialectClient(self.store, V26) if trap.startswith("inner") else self.client
        timeout = FAR if trap in ("settled", "inner", "delay") else 9_000 if trap == "both" else DEADLINE
        client.create("p", timeout, target=ADDRESS if self.has_task else None, tags=tags, now=0).must()
        if not self.has_task:
            return
        needs = "suspended" if trap == "awaiter" else NEEDS.get(self.cell.request, "pending")
        admin = DialectClient(self.store, V26)
        if needs in ("acquired", "suspended"):
            ttl = DEADLINE if self.cell.request == "step: lease" else 10_000
            admin.acquire("p", 0, ttl=ttl, pid="w1", now=0).must()
        if needs == "suspended":
            admin.suspend("p", 1, *(["x", "gate"] if trap == "awaiter" else ["gate"]), now=0).must()
        if needs == "halted":
            admin.halt("p", now=0).must()

    def tags(self) -> dict[str, str]:
        """The tags of the new promise."""
        return {
            "target": {"resonate:target": ""},
            "delay": {"resonate:target": ADDRESS, "resonate:delay": str(DELAY)},
            "both": {"resonate:target": ADDRESS, "resonate:timer": "true"},
        }.get(self.cell.trap, {"resonate:target": ADDRESS})

    def send(self) -> Reply | None:
        """Sends the request, or runs the steps by a tick."""
        if self.cell.request.startswith("step:"):
            self._tick()
            return None
        return REQUESTS[self.cell.request](self)

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


def _target(trap: Trap) -> str:
    """The promise that the request acts on: x in column awaiter, else p."""
    return "x" if trap.cell.trap == "awaiter" else "p"


def _create(trap: Trap) -> Reply:
    return trap.client.create("p", 2_000, tags=trap.tags(), now=trap.now)


def _task_create(trap: Trap) -> Reply:
    return trap.client.task_create("p", 2_000, ttl=500, target=None, tags=trap.tags(), now=trap.now)


def _fence_create(trap: Trap) -> Reply:
    return trap.client.fence_create("t", trap.held, "p", 2_000, tags=trap.tags(), now=trap.now)


def _fulfill(trap: Trap) -> Reply:
    """In column awaiter p also awaits the promise of the held task t, which the request settles by fulfilling t."""
    if trap.cell.trap != "awaiter":
        return trap.client.fulfill("p", trap.held, now=trap.now)
    snapshot = trap.store.snapshot()
    for row in snapshot["promises"]:
        if row["id"] == "t":
            row["callbacks"] = ["p"]
    trap.store.restore(snapshot)
    return trap.client.fulfill("t", trap.held, now=trap.now)


# fmt: off
REQUESTS: dict[str, Callable[[Trap], Reply]] = {
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
    "task.fulfill": _fulfill,
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
    status, letter = (cell.code[:3], cell.code[3:]) if cell.code[0].isdigit() else ("", cell.code)
    if status:
        assert reply is not None and reply.status == int(status), reply
    if letter == "i400":
        assert reply is not None and reply.status == 200 and reply["action"]["head"]["status"] == 400
    elif letter:
        LETTERS[letter](trap, reply)
    if status in ("400", "404", "409", "422") or letter == "i400":
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
