"""`debug.reset` ended the pause of `debug.start`, so that a store which a test had paused began to tick by itself."""

from __future__ import annotations

from typing import Any

from conformance.wire import Door


def test_only_debug_stop_ends_the_pause(store: Any) -> None:
    door = Door(store)
    door.send("debug.start", {}).must()
    door.create("p").must()
    door.send("debug.reset", {}).must()
    assert store.paused
    door.get("p").must(404)
    door.send("debug.stop", {}).must()
    assert not store.paused


def test_a_reset_does_not_begin_one(store: Any) -> None:
    Door(store).send("debug.reset", {}).must()
    assert not store.paused
