"""Strict rules applied to requests of 2025-01-15: a timer with a target, an address `local://here` and a repeated awaited were a 400.

The strict column of PROTOCOL 2.1 is about 2026-04-01. A request of 2025-01-15 follows its own documents under either set of rules, and the
rows that it stores are valid. Two rows of the column are in its documents, too, and apply since `test_strict_departs_from_2025.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, V25, V26, DialectClient, request, stored, stored_task

Make = Callable[..., Any]
TIMER = {"resonate:timer": "true", "resonate:target": ADDRESS}


@pytest.fixture
def strict(make_store: Make) -> Any:
    return make_store(rules="strict")


def test_a_timer_with_a_target(strict: Any) -> None:
    old = DialectClient(strict, V25)
    old.create("p", timeout=100, tags=TIMER, now=0).must()
    old.task_create("t", timeout=100, tags=TIMER, now=0).must()
    old.schedule("s", tags=TIMER, timeout=100_000, now=0).must()
    strict.tick(now=60_000)
    assert stored_task(strict, "s.60000")["retryAt"] == 160_000
    assert stored(strict, "p")["state"] == "resolved"
    assert strict.check() == [], "what the older dialect may store is sound"
    DialectClient(strict, V26).create("q", tags=TIMER).must(400)


def test_a_timer_with_a_target_comes_back_from_a_snapshot(strict: Any, make_store: Make) -> None:
    DialectClient(strict, V25).create("p", timeout=100, tags=TIMER, now=0).must()
    copy = make_store(rules="strict")
    copy.restore(strict.snapshot())
    assert copy.check() == []


def test_an_address_of_any_scheme(strict: Any) -> None:
    old = DialectClient(strict, V25)
    old.create("p").must()
    old.listen("p", "local://here").must()
    DialectClient(strict, V26).listen("p", "local://here").must(400)


def test_the_same_awaited_twice(strict: Any) -> None:
    old = DialectClient(strict, V25)
    old.create("x").must()
    old.task_create("t").must()
    old.suspend("t", 0, "x", "x").must()
    assert stored(strict, "x")["callbacks"] == ["t"]


def test_a_heartbeat_without_a_list(strict: Any) -> None:
    old = DialectClient(strict, V25)
    old.task_create("t", ttl=1_000, now=0).must()
    old.heartbeat("w1", now=500).must()
    DialectClient(strict, V26).heartbeat("w1", now=700).must()
    assert stored_task(strict, "t")["expiresAt"] == 1_000


def test_a_fenced_action_that_its_own_rules_refuse(strict: Any) -> None:
    old = DialectClient(strict, V25)
    old.task_create("t").must()
    old.fence("t", 0, "promise.create", {"id": "p", "timeoutAt": -1}).must(400)
    inner = old.fence_create("t", 0, "p", tags=TIMER).must()["action"]
    assert inner["head"]["status"] == 200


@pytest.mark.parametrize("version", [V25, V26])
def test_the_outer_dialect_of_a_fence_chooses_the_rules(strict: Any, version: str) -> None:
    DialectClient(strict, V26).task_create("t").must()
    other = V26 if version == V25 else V25
    action = request("promise.create", {"id": "p", "timeoutAt": FAR, "tags": TIMER}, other)
    data = {"id": "t", "version": 0 if version == V25 else 1, "action": action}
    inner = DialectClient(strict, version).send("task.fence", data).must()["action"]
    assert inner["head"]["status"] == (200 if version == V25 else 400)


@pytest.mark.parametrize("version", [V25, V26])
def test_tags_of_what_a_schedule_makes(strict: Any, version: str) -> None:
    DialectClient(strict, version).schedule("s", tags={"a": "b"}, now=0).must()
    strict.tick(now=60_000)
    assert stored(strict, "s.60000")["tags"] == {"a": "b"}
