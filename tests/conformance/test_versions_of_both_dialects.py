"""The version of one task in both dialects (PROTOCOL 2)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.wire import ADDRESS, V25, V26, DialectClient, executes, stored_task

STEPS = """
event            | state     | n | 2026 | 2025
create           | pending   | 0 | 0    | 0
acquire          | acquired  | 1 | 1    | 0
release          | pending   | 1 | 1    | 1
acquire          | acquired  | 2 | 2    | 1
lease expiry     | pending   | 2 | 2    | 2
acquire          | acquired  | 3 | 3    | 2
suspend          | suspended | 3 | 3    | 2
resume           | pending   | 3 | 3    | 3
acquire          | acquired  | 4 | 4    | 3
halt             | halted    | 4 | 4    | 4
continue         | pending   | 4 | 4    | 4
acquire          | acquired  | 5 | 5    | 4
suspend again    | suspended | 5 | 5    | 4
halt             | halted    | 5 | 5    | 5
continue         | pending   | 5 | 5    | 5
acquire          | acquired  | 6 | 6    | 5
fulfill          | fulfilled | 6 | 6    | 6
"""


def _shown(store: Any, now: int) -> tuple[int, int]:
    new, old = (DialectClient(store, v).task("t", now=now).must()["task"] for v in (V26, V25))
    assert set(old) == {"id", "version"}
    return new["version"], old["version"]


@pytest.mark.parametrize("order", ["2026 only", "2025 only", "alternating", "alternating the other way"])
def test_one_life_in_both_views(store: Any, order: str) -> None:
    """Every event of one task's life, with requests of one dialect, or of both in turn."""
    clients = [DialectClient(store, V26), DialectClient(store, V25)]
    clients = {"2026 only": clients[:1], "2025 only": clients[1:], "alternating": clients}.get(order, clients[::-1])
    admin = DialectClient(store, V26)  # halt and continue exist only in this dialect
    for id in ("gate", "gate2"):
        admin.create(id, now=0).must()
    now = 0
    for i, line in enumerate(STEPS.strip().splitlines()[1:]):
        event, state, n, new, old = (c.strip() for c in line.split("|"))
        now += 1
        client = clients[i % len(clients)]
        if i:
            known = dict(zip((V26, V25), _shown(store, now), strict=True))[client.version]
        if event == "create":
            client.create("t", target=ADDRESS, now=now).must()
        elif event == "acquire":
            client.acquire("t", known, ttl=1_000, pid="w", now=now).must()
        elif event == "release":
            client.release("t", known, now=now).must()
        elif event == "lease expiry":
            now += 1_000
            store.tick(now=now)
        elif event.startswith("suspend"):
            client.suspend("t", known, "gate2" if event.endswith("again") else "gate", now=now).must()
        elif event == "resume":
            client.settle("gate", now=now).must()
        elif event == "fulfill":
            client.fulfill("t", known, now=now).must()
        elif event == "halt":
            admin.halt("t", now=now).must()
        elif event == "continue":
            admin.cont("t", now=now).must()
        else:
            raise AssertionError(event)
        task = stored_task(store, "t")
        assert task is not None and (task["state"], task["acquisitions"]) == (state, int(n)), event
        assert _shown(store, now) == (int(new), int(old)), event


def test_a_task_released_by_an_old_worker_is_acquired_by_a_new_one(store: Any) -> None:
    """A client presents the version that its dialect shows (2)."""
    old, new = DialectClient(store, V25), DialectClient(store, V26)
    new.create("t", target=ADDRESS).must()
    assert new.task("t")["task"]["version"] == old.task("t")["task"]["version"] == 0
    old.acquire("t", 0, pid="old").must()
    new.release("t", 0).must(409)
    old.release("t", 1).must(409)
    old.release("t", 0).must()
    answer = new.acquire("t", 1, pid="new").must()
    assert (answer["task"]["version"], answer["task"]["state"]) == (2, "acquired")
    old.fulfill("t", 2).must(409)
    assert old.fulfill("t", 1).must()["promise"]["state"] == "resolved"


def test_heartbeat_compares_the_shown_version(store: Any) -> None:
    """A heartbeat has the versions of its dialect (2, 3.15)."""
    old, new = DialectClient(store, V25), DialectClient(store, V26)
    new.task_create("t", ttl=1_000, pid="w", now=0).must()
    old.heartbeat("w", ("t", 1), now=10).must()
    assert stored_task(store, "t")["expiresAt"] == 1_000
    old.heartbeat("w", ("t", 0), now=20).must()
    assert stored_task(store, "t")["expiresAt"] == 1_020
    new.heartbeat("w", ("t", 0), now=30).must()
    assert stored_task(store, "t")["expiresAt"] == 1_020
    new.heartbeat("w", ("t", 1), now=40).must()
    assert stored_task(store, "t")["expiresAt"] == 1_040


@pytest.mark.parametrize("version", [V26, V25])
def test_a_message_carries_the_version_to_present(store: Any, version: str) -> None:
    """The next acquisition must present the version in the execute, invoke or resume message (5)."""
    client = DialectClient(store, version)
    for id in ("gate", "t"):
        client.create(id, target=ADDRESS if id == "t" else None).must()
    for expected in ("invoke", "invoke", "resume"):
        kind, id, n = executes(store, "t")[-1]
        assert kind == ("execute" if version == V26 else expected)
        reply = client.acquire(id, n, pid="w").must()
        held = reply["task"]["version"] if version == V26 else client.task(id)["task"]["version"]
        if n == 0:
            client.release(id, held).must()
        elif n == 1:
            client.suspend(id, held, "gate").must()
            client.settle("gate").must()


def test_born_dead_task_shows_zero_in_both(store: Any) -> None:
    """A promise that is settled when it is created has a fulfilled task with n = 0 (1.2)."""
    client = DialectClient(store)
    client.create("t", timeout=5, target=ADDRESS, now=10).must()
    assert stored_task(store, "t") == {"state": "fulfilled", "acquisitions": 0, "resumes": []}
    assert _shown(store, 10) == (0, 0)


def test_versions_are_compared_as_shown_up_to_int64(store: Any) -> None:
    """In both dialects the largest version is a mismatch and causes no overflow (8)."""
    new, old = DialectClient(store, V26), DialectClient(store, V25)
    new.task_create("t", pid="w").must()
    for client in (new, old):
        for version in (2**63 - 1, 2**62, 2):
            client.release("t", version).must(409)
            client.fulfill("t", version).must(409)
            client.heartbeat("w", ("t", version)).must()
        client.release("t", 2**63).must(400)
    new.release("t", 1).must()
