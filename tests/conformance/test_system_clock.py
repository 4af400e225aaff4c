"""A store on the system's clock: the rules of PROTOCOL 4 and 8 for a clock that cannot be set."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import ADDRESS, V25, DialectClient, executes, stored

pytestmark = pytest.mark.not_of_the_model("it has no other clock than a manual one")

Make = Callable[..., Any]
EXT = {"resonate:external": "true"}


@pytest.fixture
def system_store(make_store: Make) -> Any:
    """An empty store on the system's clock."""
    import resonate_core

    return make_store(clock=resonate_core.SystemClock())


def test_system_clock_is_unix_time_in_ms(system_store: Any) -> None:
    before = time.time_ns() // 1_000_000
    created = DialectClient(system_store).create("p", timeout=2**50).must()["promise"]["createdAt"]
    assert before <= created <= time.time_ns() // 1_000_000 + 1


def test_system_clock_never_runs_backwards(system_store: Any) -> None:
    seen = [system_store.now for _ in range(1_000)]
    assert seen == sorted(seen)


@pytest.mark.parametrize("now", [0, 10**15])
def test_system_clock_refuses_an_instant(system_store: Any, refused: Any, now: int) -> None:
    DialectClient(system_store).create("p", timeout=2**50, now=now).must(400)
    with pytest.raises(refused):
        system_store.tick(now=now)
    assert system_store.snapshot()["promises"] == []


def test_system_clock_has_debug_off_by_default(system_store: Any) -> None:
    for kind in ("start", "stop", "reset", "tick", "snap"):
        DialectClient(system_store).send(f"debug.{kind}", {"time": 5}).must(403)
    DialectClient(system_store, V25).send("debug.snap", {}).must(400)


def test_system_clock_judges_debug_time_and_ignores_it(system_store: Any) -> None:
    client = DialectClient(system_store)
    data = {"id": "p", "timeoutAt": 2**50}
    client.send("promise.create", data, **{"resonate:debug_time": "5"}).must(400)
    assert client.send("promise.create", data, **{"resonate:debug_time": 5}).must()["promise"]["createdAt"] > 10**12


def test_system_clock_fires_what_became_due(system_store: Any) -> None:
    client = DialectClient(system_store)
    client.create("t", timeout=2**50, target=ADDRESS).must()
    client.create("p", timeout=system_store.now + 500, tags=EXT).must()
    while system_store.now < stored(system_store, "p")["timeoutAt"]:
        time.sleep(0.005)
    assert [(f.kind, f.id) for f in system_store.tick()] == [("promise_timeout", "p")]
    assert executes(system_store) == [("execute", "t", 0)]
    assert client.get("p")["promise"]["settledAt"] == stored(system_store, "p")["timeoutAt"]
