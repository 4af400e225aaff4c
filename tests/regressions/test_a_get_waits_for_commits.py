"""Reads had to wait in one line with the writes: while a write waited for the disk or another process, every read waited too."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core import Envelope, RequestLimits
from resonate_core.server.batcher import Answer, Batcher
from resonate_core.server.metrics import Metrics

PATIENCE = 60
HEAD = {"corrId": "1", "version": "2026-04-01"}


def request(kind: str, **data: Any) -> dict[str, Any]:
    return {"kind": kind, "head": HEAD, "data": data}


@contextmanager
def a_write_that_waits(store: rc.Store, name: str) -> Iterator[None]:
    """Another connection has the file's write lock, and a create of this store waits for it."""
    other = sqlite3.connect(str(store.path), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    writing = threading.Thread(target=store.promises.create, args=(name, 10**15))
    writing.start()
    time.sleep(0.2)  # normally enough to reach the lock; if not, the reads below have less to wait for
    try:
        yield
        assert writing.is_alive(), "the create did not wait: nothing was tried"
    finally:
        other.execute("ROLLBACK")
        other.close()
        writing.join()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[rc.Store]:
    with rc.Store(tmp_path / "a.db", clock=rc.ManualClock(1000), busy_timeout=PATIENCE * 1000) as made:
        made.promises.create("a", 10**15)
        made.promises.create("b", 2000)
        yield made


def test_reads_go_on_while_a_write_waits(store: rc.Store) -> None:
    with a_write_that_waits(store, "late-0"):
        pass  # the first read beside a writer opens its connection under the lock
    list(store.promises.search())
    store.check()
    with a_write_that_waits(store, "late-1"):
        assert store.promises.get("a").id == "a"
        assert store.queues.stats() == []
        assert store.queues.list() == []
        assert [one.id for one in store.promises.search()] == ["a", "b", "late-0"]
        assert store.apply(request("promise.get", id="late-1"))["head"]["status"] == 404
        answers = store.apply([request("promise.get", id=name) for name in ("a", "b", "nobody", "late-0")])
        assert [one["head"]["status"] for one in answers] == [200, 200, 404, 200]
        assert store.apply(request("promise.get", id=5))["head"]["status"] == 400
    assert store.promises.get("late-1").state == "pending"


def test_what_is_read_beside_a_write_is_shown_as_of_now(store: rc.Store) -> None:
    store.check()
    store.apply(request("promise.get", id="a"), now=3000)
    with a_write_that_waits(store, "late"):
        assert store.promises.get("b").state == "rejected_timedout"


def test_a_read_sees_every_write_that_was_answered(store: rc.Store) -> None:
    """Other threads write all the time, so most of the reads run beside a write."""
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            store.promises.create(f"other-{number}", 10**15)
            number += 1

    others = [threading.Thread(target=write) for _ in range(2)]
    for one in others:
        one.start()
    try:
        for i in range(300):
            store.promises.create(f"own-{i}", 10**15)
            assert store.promises.get(f"own-{i}").state == "pending"
            store.promises.resolve(f"own-{i}", i)
            assert store.promises.get(f"own-{i}").state == "resolved"
    finally:
        stop.set()
        for one in others:
            one.join()
    assert store.check() == []


class SlowCommits:
    """A store whose writes wait until the test releases them."""

    def __init__(self, store: rc.Store) -> None:
        self.store = store
        self.path, self.shared = store.path, store.shared
        self.go = threading.Event()

    def run(self, envelopes: list[Envelope]) -> list[Answer]:
        if not all(one.read for one in envelopes):
            assert self.go.wait(PATIENCE)
        return self.store.run(envelopes)


def test_a_server_answers_reads_while_a_write_waits(store: rc.Store) -> None:
    def envelope(kind: str, **data: Any) -> Envelope:
        return Envelope(json.dumps(request(kind, **data)).encode(), RequestLimits())

    async def main() -> None:
        slow = SlowCommits(store)
        batcher = Batcher(slow, Metrics())  # type: ignore[arg-type]
        write = batcher.submit(envelope("promise.create", id="c", timeoutAt=10**15))
        await asyncio.sleep(0.05)
        reads = [batcher.submit(envelope("promise.get", id=name)) for name in ("a", "c", "b")]
        assert [(await asyncio.wait_for(one, PATIENCE))[0] for one in reads] == [200, 404, 200]
        assert not write.done() and batcher.in_flight == 1
        slow.go.set()
        assert (await write)[0] == 200
        assert batcher.in_flight == 0
        batcher.close()

    asyncio.run(main())
