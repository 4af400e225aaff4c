"""Every state × request of a task in dialect 2026-04-01, from the table in transitions_2026_04_01.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, DialectClient, Reply, executes, forget_messages, stored, stored_task
from resonate_core.conformance.scenes.tasks_2026_04_01 import DEADLINE, REQUESTS, STALE, TASK, prepare, send
from resonate_core.conformance.tables.transitions_2026_04_01 import CELLS, STATES, Cell

RETRY = 5_000


def run(client: DialectClient, cell: Cell, version: int, now: int) -> Reply | None:
    """Sends the cell's request or runs its step; returns the reply of a request."""
    if cell.event == "step: awaited settles":
        client.settle("awaited", now=now).must()
        if cell.state == "suspended":
            return None
        client.settle("gate", now=now).must()
        return None
    if cell.event == "step: retry or lease is due":
        due = client.store.next_due()
        client.store.tick(now=max(due, now) if due is not None and due < DEADLINE else now)
        return None
    if cell.event == "step: deadline":
        client.store.tick(now=DEADLINE)
        return None
    return send(client, cell.event, version, now)


@pytest.mark.parametrize("cell", CELLS, ids=lambda c: c.name)
@pytest.mark.parametrize("cycles", [0, 2], ids=["fresh", "used"])
def test_transition(make_store: Callable[..., Any], cell: Cell, cycles: int) -> None:
    """Checks status, state after, version and message of one cell."""
    store = make_store(retry_timeout=RETRY)
    client = DialectClient(store)
    if cell.event == "promise.register_callback on":
        client.create("awaiter", target=ADDRESS, now=50).must()
    version = prepare(client, cell.state, cycles)
    before = stored_task(store, TASK)
    forget_messages(store)
    reply = run(client, cell, version, 1_000)
    assert (reply.status if reply else None) == cell.status, reply
    after = stored_task(store, TASK)
    if cell.after in ("absent", "plain"):
        assert after is None
        return
    assert after is not None
    assert after["state"] == cell.after
    n = before["acquisitions"] if before else 0
    entered = cell.after == "acquired" and cell.state != "acquired"
    assert after["acquisitions"] == n + (1 if entered else 0)
    assert executes(store, TASK) == ([("execute", TASK, after["acquisitions"])] if cell.sends else [])
    if reply is not None and reply.status in (404, 409, 422):
        assert after == before, "a failed request changes nothing"
    if cell.after == "fulfilled":
        assert set(after) == {"state", "acquisitions", "resumes"} and after["resumes"] == []
        assert stored(store, TASK)["state"] != "pending"


def test_the_table_has_every_state_and_request() -> None:
    """No cell is missing."""
    assert len(CELLS) == len(STATES) * (len(REQUESTS) + len(STALE) + 3)
    assert {c.event for c in CELLS} >= set(REQUESTS) | set(STALE)


def test_timers_of_each_state(store: Any) -> None:
    """A task has pid, ttl and lease only while acquired, retryAt only while pending, and lastTtl until fulfilled (1, 6)."""
    client = DialectClient(store)
    client.create("gate", now=0).must()
    client.create(TASK, target=ADDRESS, now=0).must()
    assert stored_task(store, TASK) == {"state": "pending", "acquisitions": 0, "retryAt": 5_000, "resumes": []}
    client.acquire(TASK, 0, 700, "w", now=10).must()
    lease = {"state": "acquired", "acquisitions": 1, "pid": "w", "ttl": 700, "expiresAt": 710, "lastTtl": 700, "resumes": []}
    assert stored_task(store, TASK) == lease
    client.heartbeat("w", (TASK, 1), now=20).must()
    assert stored_task(store, TASK) == {**lease, "expiresAt": 720}
    client.suspend(TASK, 1, "gate", now=30).must()
    assert stored_task(store, TASK) == {"state": "suspended", "acquisitions": 1, "lastTtl": 700, "resumes": []}
    client.settle("gate", now=40).must()
    resumed = {"state": "pending", "acquisitions": 1, "lastTtl": 700, "retryAt": 5_040, "resumes": ["gate"], "current": "gate"}
    assert stored_task(store, TASK) == resumed
    client.halt(TASK, now=50).must()
    halted = {k: v for k, v in resumed.items() if k != "retryAt"} | {"state": "halted"}
    assert stored_task(store, TASK) == halted
    client.cont(TASK, now=60).must()
    assert stored_task(store, TASK) == {**resumed, "retryAt": 5_060}
    client.acquire(TASK, 1, 800, now=70).must()
    task = stored_task(store, TASK)
    assert task is not None and task["resumes"] == [] and task["current"] == "gate" and task["acquisitions"] == 2
    client.fulfill(TASK, 2, now=80).must()
    assert stored_task(store, TASK) == {"state": "fulfilled", "acquisitions": 2, "resumes": []}


def test_lease_expiry_keeps_the_version_and_sends_again(store: Any) -> None:
    """An expired lease makes the task pending with the same version; the next acquisition raises it (PROTOCOL 3.10)."""
    client = DialectClient(store)
    client.task_create(TASK, FAR, ttl=1_000, now=0).must()
    assert executes(store) == []
    store.tick(now=1_000)
    assert executes(store) == [("execute", TASK, 1)]
    task = stored_task(store, TASK)
    assert task == {"state": "pending", "acquisitions": 1, "lastTtl": 1_000, "retryAt": 6_000, "resumes": []}
    client.acquire(TASK, 0, now=1_001).must(409)
    assert client.acquire(TASK, 1, pid="w2", now=1_001).must()["task"]["version"] == 2
