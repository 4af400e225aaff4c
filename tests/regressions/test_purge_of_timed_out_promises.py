"""A promise that timed out while nothing waited for it was never purged: no step had settled it, so its row said pending."""

from __future__ import annotations

from typing import Any


def test_a_promise_that_timed_out_is_purged(store: Any) -> None:
    store.clock.advance_to(10)
    store.promises.create("timed out", 30)
    store.promises.create("timer", 30, tags={"resonate:timer": "true"})
    store.promises.create("later", 60)
    store.promises.create("pending", 1000)
    store.promises.create("resolved", 1000)
    store.promises.resolve("resolved")
    store.clock.advance_to(100)
    assert store.purge(settled_before=30) == 1  # that which was resolved at 10
    assert store.purge(settled_before=31) == 2
    assert {promise.id for promise in store.promises.search()} == {"later", "pending"}
    assert store.purge(settled_before=100) == 1
    assert [promise.id for promise in store.promises.search()] == ["pending"]
    assert store.promises.create("timed out", 1000).state == "pending"
