"""Many workflows in several workers at once: without a crash, each step has its effect once, whatever wakes and parks meanwhile."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.errors import StoreError
from resonate_core.worker import JobContext, Worker
from resonate_core.worker.store_client import StoreClient
from resonate_core.workflow import blocking, first, gather, receive, run, sleep, step
from server.live_server import serving


class Effects:
    """What steps did, by workflow and step."""

    def __init__(self) -> None:
        self.done: Counter[str] = Counter()
        self._lock = threading.Lock()

    def note(self, key: str) -> str:
        with self._lock:
            self.done[key] += 1
        return key

    def twice(self) -> dict[str, int]:
        return {key: count for key, count in self.done.items() if count != 1}


def shop(worker: Worker, effects: Effects) -> None:
    """Registers two workflows and a task."""

    @step
    async def slow(key: str) -> str:
        await asyncio.sleep(random.random() / 100)
        return effects.note(key)

    @worker.task("child", queue="shop")
    def child(key: str) -> str:
        return effects.note(key)

    async def branch(id: str, name: str) -> list[Any]:
        found = [await slow(f"{id} {name} 1"), await receive(name, type=str)]
        if name == "a":
            await sleep(len(id))
        return [*found, await run(effects.note, f"{id} {name} 2")]

    @worker.workflow("async", queue="shop")
    async def w(job: JobContext) -> list[Any]:
        handle = child.start(f"{job.id} child")
        both = await gather(branch(job.id, "a"), branch(job.id, "b"))
        winner = await first(receive("c", type=str), sleep(60_000))
        return [len(both), list(winner), await handle, await slow(f"{job.id} last")]

    @worker.workflow("def", queue="shop")
    def d(job: JobContext) -> list[Any]:
        handles = [blocking.start(effects.note, f"{job.id} {number}") for number in range(3)]
        called = child.call(f"{job.id} child")
        blocking.gather(*handles)
        messages = [blocking.receive(name, type=str) for name in "abc"]
        return [messages, called.result(), blocking.run(effects.note, f"{job.id} last")]


def play(store: rc.Store, workers: list[Worker], effects: Effects, count: int) -> None:
    """Runs workflows of both kinds to their ends, and sends their messages in a random order."""
    ids = [f"{kind}-{number}" for kind in ("async", "def") for number in range(count)]
    for worker in workers:
        shop(worker, effects)
    for worker in workers:
        worker.__enter__()
    try:
        for id in ids:
            workers[0].enqueue(id.partition("-")[0], id=id)
        messages = [(id, topic) for id in ids for topic in "abc"]
        random.shuffle(messages)
        for id, topic in messages:
            store.workflows.send(id, topic, topic)
        for id in ids:
            found = store.result(id, timeout=120)
            expected = (
                [2, [0, "c"], f"{id} child", f"{id} last"] if id[0] == "a" else [["a", "b", "c"], f"{id} child", f"{id} last"]
            )
            assert found == expected
    finally:
        for worker in workers:
            worker.__exit__()
    assert effects.twice() == {}


@pytest.mark.parametrize("kind", ["memory", "sqlite", "url"])
def test_two_workers(kind: str, tmp_path: Path) -> None:
    effects = Effects()
    path = None if kind == "memory" else tmp_path / "jobs.db"
    options: dict[str, Any] = {"queues": "shop", "poll_interval": 20, "concurrency": 5}
    with rc.Store(path, durability="normal") as store:
        if kind != "url":
            play(store, [Worker(store, name=name, **options) for name in ("one", "two")], effects, 30)
            return
        with serving(store) as live:
            workers = [Worker(f"http://127.0.0.1:{live.port}", name=name, **options) for name in ("one", "two")]
            play(store, workers, effects, 12)
            for worker in workers:
                worker.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_store_that_fails_now_and_then(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that fails is sent again, and answers what was recorded: no step runs a second time."""
    effects, turn = Effects(), iter(range(10**9))

    def fails(method: str, after: bool) -> None:
        plain = getattr(StoreClient, method)

        def failing(self: StoreClient, *args: Any) -> Any:
            number = next(turn)
            if number % 5 == 0:
                raise StoreError("the disk is full")
            found = plain(self, *args)
            if after and number % 7 == 0:
                raise StoreError("the answer is lost")
            return found

        async def failing_async(self: StoreClient, *args: Any) -> Any:
            number = next(turn)
            if number % 5 == 0:
                raise StoreError("the disk is full")
            found = await plain(self, *args)
            if number % 7 == 0:
                raise StoreError("the answer is lost")
            return found

        monkeypatch.setattr(StoreClient, method, failing_async if asyncio.iscoroutinefunction(plain) else failing)

    for method in ("send", "send_async", "record", "record_async"):
        fails(method, True)
    fails("history", False)
    fails("promises", False)
    monkeypatch.setattr("resonate_core.worker.workflows.asking._FIRST_RETRY", 0.001)
    path = None if kind == "memory" else tmp_path / "jobs.db"
    with rc.Store(path, durability="normal") as store:
        play(store, [Worker(store, name="one", queues="shop", poll_interval=20)], effects, 8)
