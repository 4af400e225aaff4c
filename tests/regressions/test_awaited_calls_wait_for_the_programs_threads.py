"""Awaited calls of a store ran in the event loop's default executor: in a program whose threads were all busy they stopped for as long."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
import warnings
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.calls import store_threads
from resonate_core.contrib.starlette import Resonate
from resonate_core.worker import Worker
from resonate_core.worker.environment import Environment, Target, open_client
from resonate_core.worker.job_source import JobSource
from server.live_server import serving
from tiers import chess

Calls = dict[str, Callable[[rc.Store, str], Awaitable[Any]]]

CALLS: Calls = {
    "typed": lambda store, url: store.aio.promises.resolve("a"),
    "several": lambda store, url: asyncio.gather(*(store.aio.promises.get("a") for _ in range(300))),
    "apply_async": lambda store, url: store.apply_async({"kind": "promise.get", "head": HEAD, "data": {"id": "a"}}),
    "search": lambda store, url: store.aio.promises.search("*"),
    "wait": lambda store, url: resolved(store, store.aio.wait("a")),
    "result": lambda store, url: resolved(store, store.aio.result("a")),
    "enqueue_async": lambda store, url: Worker(store).task("t")(print).enqueue_async(1),
    "enqueue_many_async": lambda store, url: Worker(store).task("t")(print).enqueue_many_async([1, 2]),
    "delay_async": lambda store, url: Worker(store).task("t")(lambda n: n).delay_async(1),
    "url": lambda store, url: over_url(url),
    "enqueue_async over a URL": lambda store, url: enqueued(url),
    "tick_soon": lambda store, url: ticked(store),
    "problems": lambda store, url: found_ready(store),
}
HEAD = {"corrId": "1", "version": "2026-04-01"}


async def resolved(store: rc.Store, waiting: Awaitable[Any]) -> None:
    task = asyncio.ensure_future(waiting)
    await asyncio.sleep(0.01)
    store.promises.resolve("a")
    await task


async def over_url(url: str) -> None:
    async with rc.connect(url).aio as client:
        await client.promises.get("a")


async def enqueued(url: str) -> None:
    worker = Worker(url)
    await worker.task("t")(print).enqueue_async(1)
    worker.close()


async def ticked(store: rc.Store) -> None:
    resonate = Resonate(store)
    async with resonate.lifespan():
        resonate.tick_soon()
        assert resonate._ticking is not None
        await resonate._ticking


async def found_ready(store: rc.Store) -> None:
    resonate = Resonate(store)
    async with resonate.lifespan():
        assert await resonate.problems() == []


@pytest.mark.parametrize(("call", "durable"), chess(CALLS, [False, True]))
def test_a_call_needs_no_thread_of_the_program(call: str, durable: bool, tmp_path: Path):
    released = threading.Event()

    async def main(store: rc.Store, url: str) -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        held = loop.run_in_executor(None, released.wait)
        try:
            await asyncio.wait_for(CALLS[call](store, url), 60)
        finally:
            released.set()
            await held

    with rc.Store(tmp_path / "a.db" if durable else None) as store, serving(store) as live:
        store.promises.create("a", timeout=600_000)
        asyncio.run(main(store, f"http://127.0.0.1:{live.port}"))


OPENING: dict[str, Callable[[Worker], Awaitable[Any]]] = {
    "enqueue_async": lambda worker: worker.task("t")(print).enqueue_async(1),
    "enqueue_many_async": lambda worker: worker.task("t")(print).enqueue_many_async([1, 2]),
    "delay_async": lambda worker: worker.task("t")(lambda n: n).delay_async(1),
    "several": lambda worker: asyncio.gather(*(worker.task(f"t{n}")(print).enqueue_async(1) for n in range(50))),
}


@pytest.mark.parametrize("call", OPENING)
def test_the_loop_does_not_wait_while_the_store_of_a_worker_is_opened(call: str, tmp_path: Path):
    """A first awaited call opened it in the loop: a database out of reach held the whole program up, at each call."""
    ticked, opened = threading.Event(), []

    def connect(target: Target, *options: Any) -> JobSource:
        assert ticked.wait(60), "the loop waits for the connection"
        opened.append(target)
        return open_client(target, *options)

    async def main(worker: Worker) -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        released = threading.Event()
        held = loop.run_in_executor(None, released.wait)
        calls = asyncio.ensure_future(OPENING[call](worker))
        for _ in range(10):  # it has asked for the connection
            await asyncio.sleep(0)
        ticked.set()
        try:
            await asyncio.wait_for(calls, 60)
        finally:
            released.set()
            await held

    worker = Worker(tmp_path / "a.db", environment=Environment(connect=connect))
    asyncio.run(main(worker))
    assert len(opened) == 1
    worker.close()


def test_a_store_that_could_not_be_opened_is_tried_again(tmp_path: Path):
    failures = iter([rc.errors.StoreError("out of reach")])

    def connect(target: Target, *options: Any) -> JobSource:
        for failure in failures:
            raise failure
        return open_client(target, *options)

    async def main(worker: Worker) -> None:
        task = worker.task("t")(print)
        with pytest.raises(rc.errors.StoreError, match="out of reach"):
            await task.enqueue_async(1)
        assert (await task.enqueue_async(1)).state == "pending"

    worker = Worker(tmp_path / "a.db", environment=Environment(connect=connect))
    asyncio.run(main(worker))
    worker.close()


def test_a_cancelled_call_leaves_the_opening_to_the_others(tmp_path: Path):
    ticked = threading.Event()

    def connect(target: Target, *options: Any) -> JobSource:
        assert ticked.wait(60)
        return open_client(target, *options)

    async def main(worker: Worker) -> None:
        task = worker.task("t")(print)
        first, second = (asyncio.ensure_future(task.enqueue_async(1)) for _ in range(2))
        for _ in range(10):
            await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        ticked.set()
        assert (await asyncio.wait_for(second, 60)).state == "pending"

    worker = Worker(tmp_path / "a.db", environment=Environment(connect=connect))
    asyncio.run(main(worker))
    worker.close()


def threads_of_stores() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name.startswith(("resonate-store", "resonate-messages"))}


def until(what: Callable[[], bool]) -> None:
    for _ in range(3000):
        if what():
            return
        time.sleep(0.01)
    raise AssertionError("it does not happen")


async def use(store: rc.Store, calls: int) -> None:
    await asyncio.gather(*(store.aio.promises.create(f"{n}", timeout=600_000) for n in range(calls)))
    await asyncio.gather(*(store.aio.promises.get(f"{n}") for n in range(calls)))


def test_the_threads_are_few_and_end_with_the_store():
    before, released = threads_of_stores(), threading.Event()

    async def main(client: JobSource) -> int:
        calls = [asyncio.ensure_future(client.apart(released.wait)) for _ in range(200)]
        await asyncio.sleep(0)  # each has asked for a thread
        try:
            return len([each for each in threads_of_stores() - before if each.name.startswith("resonate-store")])
        finally:
            released.set()
            await asyncio.gather(*calls)

    store = rc.Store()
    assert 0 < asyncio.run(main(Worker(store).client)) <= 4
    asyncio.run(use(store, 200))
    made = threads_of_stores() - before
    assert made
    store.close()
    del store
    gc.collect()
    until(lambda: not made & threads_of_stores())


def test_calls_over_a_url_wait_for_the_network_together():
    """They had the four threads of a store: 100 requests of 50 ms took longer than with the default executor."""
    together = threading.Barrier(32)

    async def main(client: JobSource) -> None:
        await asyncio.gather(*(client.apart(lambda: together.wait(60)) for _ in range(32)))

    worker = Worker("http://127.0.0.1:9")
    asyncio.run(main(worker.client))
    worker.close()


def test_a_closed_store_says_so():
    store = rc.Store()
    asyncio.run(use(store, 1))
    store.close()
    with pytest.raises(rc.errors.Closed):
        asyncio.run(use(store, 1))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_threads_of_its_own():
    store = rc.Store()
    asyncio.run(use(store, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if child == 0:
        try:
            asyncio.run(asyncio.wait_for(store.aio.promises.get("1"), 60))
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_while_threads_are_made_makes_its_own(monkeypatch: pytest.MonkeyPatch):
    """A lock was held meanwhile, in the child for ever."""
    making, go_on = threading.Event(), threading.Event()

    class Slow(store_threads.OwnThreads):
        def __init__(self, *args: Any) -> None:
            making.set()
            assert go_on.wait(60)
            super().__init__(*args)

    store = rc.Store()
    with monkeypatch.context() as patch:
        patch.setattr(store_threads, "OwnThreads", Slow)
        other = threading.Thread(target=asyncio.run, args=(use(rc.Store(), 1),))
        other.start()
        assert making.wait(60)
    store.promises.create("1", timeout=600_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork beside threads
        child = os.fork()
    if child == 0:
        signal.alarm(60)  # ends it, if it hangs
        try:
            asyncio.run(store.aio.promises.get("1"))
        except BaseException:
            os._exit(1)
        os._exit(0)
    go_on.set()
    other.join()
    assert os.waitpid(child, 0)[1] == 0
