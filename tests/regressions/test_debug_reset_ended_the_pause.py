"""`debug.reset` ended the pause of `debug.start`, so a store that a test had paused began to tick by itself."""

from __future__ import annotations

from typing import Any

from conformance.wire import DialectClient


def test_only_debug_stop_ends_the_pause(store: Any) -> None:
    client = DialectClient(store)
    client.send("debug.start", {}).must()
    client.create("p").must()
    client.send("debug.reset", {}).must()
    assert store.paused
    client.get("p").must(404)
    client.send("debug.stop", {}).must()
    assert not store.paused


def test_a_reset_does_not_begin_one(store: Any) -> None:
    DialectClient(store).send("debug.reset", {}).must()
    assert not store.paused
