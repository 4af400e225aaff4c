"""A thread in a long tick took the store's lock again and again, and other threads waited until it was done.

A promise that woke 100,000 awaiters delayed a create by 2 s.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc

LISTENERS = 30_000
#: Of more than a hundred transactions of that tick. Where the lock is fair there is a create between any two of them, as far as the
#: system gives the creating thread its share.
LEAST = 10


@pytest.mark.parametrize("stored", ["memory", "sqlite"])
def test_others_use_the_store_between_the_transactions_of_a_long_tick(stored: str, tmp_path: Path) -> None:
    store = rc.Store(None if stored == "memory" else tmp_path / "a.db", clock=rc.ManualClock(1000), durability="normal")
    with store:
        store.promises.create("p", 10**15, tags={"resonate:external": "true"})
        head = {"corrId": "1", "version": "2026-04-01"}
        store.apply(
            [
                {"kind": "promise.register_listener", "head": head, "data": {"awaited": "p", "address": f"poll://uni@g/{i}"}}
                for i in range(LISTENERS)
            ]
        )
        store.promises.resolve("p")
        fired: list[Any] = []
        ticking = threading.Thread(target=lambda: fired.extend(store.tick()))
        ticking.start()
        created = 0
        while ticking.is_alive():
            store.promises.create(f"c{created}", 10**15)
            created += 1
        ticking.join()
        drained_by_requests = store.outbox_counts()["waiting"] - len(fired)
        assert len(fired) > 0 and store.outbox_counts()["waiting"] == LISTENERS
        assert created >= LEAST, f"{created} creates beside {len(fired)} steps; {drained_by_requests} steps followed requests"
