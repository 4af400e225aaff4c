"""A search that read every row held the server's queue of requests and the store's lock; writes waited for it."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core import Envelope, RequestLimits
from resonate_core.server.batcher import Answer, Batcher
from resonate_core.server.metrics import Metrics

PATIENCE = 60


def envelope(kind: str, **data: Any) -> Envelope:
    head = {"corrId": "c", "version": "2026-04-01"}
    return Envelope(json.dumps({"kind": kind, "head": head, "data": data}).encode(), RequestLimits())


class SlowSearches:
    """A store whose searches wait until the test releases them."""

    def __init__(self) -> None:
        self.store = rc.Store(clock=rc.ManualClock(1000))
        self.path, self.shared = self.store.path, self.store.shared
        self.go = threading.Event()

    def run(self, envelopes: list[Envelope]) -> list[Answer]:
        if any(one.search for one in envelopes):
            assert self.go.wait(PATIENCE)
        return self.store.run(envelopes)


def test_a_server_answers_writes_while_searches_run() -> None:
    async def main() -> None:
        slow = SlowSearches()
        batcher = Batcher(slow, Metrics())  # type: ignore[arg-type]
        searches = [batcher.submit(envelope("promise.search")) for _ in range(5)]
        for i in range(3):
            created = await asyncio.wait_for(batcher.submit(envelope("promise.create", id=f"p{i}", timeoutAt=10**15)), PATIENCE)
            assert created[0] == 200
        assert batcher.in_flight == 5 and not any(search.done() for search in searches)
        slow.go.set()
        for search in searches:
            assert len(json.loads((await search)[1])["data"]["promises"]) == 3
        assert batcher.in_flight == 0
        batcher.close()

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["promise.search", "task.search", "schedule.search", "job.search"])
def test_every_search_is_known_as_one(kind: str) -> None:
    assert envelope(kind).search and not envelope("promise.get", id="a").search


@pytest.mark.parametrize("stored", ["memory", "sqlite"])
def test_a_long_search_sees_one_state_while_others_write(stored: str, tmp_path: Path) -> None:
    """At any instant exactly one of 3,000 promises is pending; each commit makes it another one."""
    store = rc.Store(None if stored == "memory" else tmp_path / "a.db", clock=rc.ManualClock(1000), durability="normal")
    count = 3_000
    head = {"corrId": "1", "version": "2026-04-01"}

    def create(i: int) -> dict[str, Any]:
        return {"kind": "promise.create", "head": head, "data": {"id": f"p{i:05}", "timeoutAt": 10**15}}

    def settle(i: int) -> dict[str, Any]:
        return {"kind": "promise.settle", "head": head, "data": {"id": f"p{i:05}", "state": "resolved"}}

    with store:
        for i in range(count):
            store.apply([create(i), settle(i)] if i < count - 1 else [create(i)])
        stop = threading.Event()

        def move() -> None:
            at = count - 1
            while not stop.is_set():
                store.apply([create(at + 1), settle(at)])
                at += 1

        moving = threading.Thread(target=move)
        moving.start()
        try:
            before = ""
            for _ in range(20):
                found = [one.id for one in store.promises.search(state="pending")]
                assert len(found) == 1, found
                assert found[0] >= before, "a search is not behind what another one has seen"
                before = found[0]
        finally:
            stop.set()
            moving.join()


@pytest.mark.parametrize("stored", ["memory", "sqlite"])
def test_a_search_sees_what_its_caller_has_written(stored: str, tmp_path: Path) -> None:
    store = rc.Store(None if stored == "memory" else tmp_path / "a.db", clock=rc.ManualClock(1000))
    with store:
        store.promises.create_many([f"p{i:05}" for i in range(1_500)], 10**15)
        for i in range(1_500, 1_530):
            store.promises.create(f"p{i:05}", 10**15, tags={"newest": str(i)})
            assert [one.id for one in store.promises.search(tags={"newest": str(i)})] == [f"p{i:05}"]
        store.clock.advance(10**15)  # type: ignore[attr-defined]
        assert len(list(store.promises.search(state="pending"))) == 0
