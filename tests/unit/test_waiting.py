"""Waiting for a promise of a store in this process."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

import resonate_core as rc
from awaiting import until
from homes import Home

SOON = 10**5
"""A deadline that no test reaches, in ms from now."""


@pytest.fixture
def live(make_store: Callable[..., rc.Store]) -> rc.Store:
    """A store on the system's clock, or on that of its database."""
    return make_store(clock=None)


@contextmanager
def soon(action: Callable[[], Any], delay: float = 0.1) -> Iterator[None]:
    """Runs a function in another thread after a delay in seconds, in which the block has begun to wait."""
    timer = threading.Timer(delay, action)
    timer.start()
    try:
        yield
    finally:
        timer.join()


def test_a_settlement_of_this_process_ends_the_wait_of_a_thread(live: rc.Store) -> None:
    live.promises.create("a", timeout=SOON)
    with soon(lambda: live.promises.resolve("a", 42)):
        promise = live.wait("a", timeout=60)
    assert (promise.state, promise.value.json()) == ("resolved", 42)
    assert live.wait("a", timeout=0) == promise


def test_a_settlement_ends_the_waits_of_tasks(live: rc.Store) -> None:
    async def main() -> list[Any]:
        aio = live.aio
        ids = [f"p{i}" for i in range(20)]
        for id in ids:
            await aio.promises.create(id, timeout=SOON)
        waits = [asyncio.create_task(aio.wait(id, timeout=60)) for id in ids for _ in range(3)]
        await asyncio.sleep(0.05)
        for number, id in enumerate(ids):
            await aio.promises.resolve(id, number)
        return [promise.value.json() for promise in await asyncio.gather(*waits)]

    assert asyncio.run(main()) == [number for number in range(20) for _ in range(3)]


def test_the_result_of_a_job(live: rc.Store) -> None:
    live.jobs.enqueue("add", id="j")
    [job] = live.jobs.claim("default", worker="w", lease=60_000, start=1)
    with soon(lambda: live.jobs.complete("j", job.version, {"sum": 3})):
        assert live.result("j", timeout=60) == {"sum": 3}
    assert asyncio.run(live.aio.result("j")) == {"sum": 3}


@pytest.mark.parametrize(
    ("settle", "words"),
    [
        (lambda store: store.promises.reject("a", {"code": "NoStock", "message": "sold out"}), "is rejected: NoStock: sold out"),
        (lambda store: store.promises.reject("a", b"\xff"), "is rejected"),
        (lambda store: store.promises.cancel("a", "changed my mind"), "is rejected_canceled: changed my mind"),
    ],
)
def test_a_rejected_promise_raises(live: rc.Store, settle: Callable[[rc.Store], Any], words: str) -> None:
    live.promises.create("a", timeout=SOON)
    settle(live)
    for result in (lambda: live.result("a"), lambda: asyncio.run(live.aio.result("a"))):
        with pytest.raises(rc.Rejected) as raised:
            result()
        assert str(raised.value) == f'promise "a" {words}'
        assert raised.value.promise.id == "a"


def test_a_promise_that_does_not_exist(live: rc.Store) -> None:
    for wait in (lambda: live.wait("none"), lambda: asyncio.run(live.aio.wait("none"))):
        with pytest.raises(rc.NotFound, match='promise "none" does not exist'):
            wait()


@pytest.mark.parametrize("way", ["thread", "task"])
def test_a_promise_that_is_deleted_meanwhile(live: rc.Store, way: str) -> None:
    said = ""
    for number, delay in enumerate((0.1, 1, 10)):  # a slow machine may delete it before the wait has begun
        id = f"j{number}"
        live.jobs.enqueue("t", id=id)
        with soon(partial(live.jobs.delete, id), delay), pytest.raises(rc.NotFound) as raised:
            live.wait(id, timeout=60) if way == "thread" else asyncio.run(live.aio.wait(id, timeout=60))
        said = str(raised.value)
        if "does not exist" not in said:
            break
    assert f'promise "{id}" was deleted while it was awaited' in said


@pytest.mark.parametrize("timeout", [0.05, timedelta(milliseconds=50), 0])
def test_the_time_of_a_wait_is_limited(live: rc.Store, timeout: float | timedelta) -> None:
    live.promises.create("a", timeout=SOON)
    for wait in (lambda: live.wait("a", timeout=timeout), lambda: asyncio.run(live.aio.wait("a", timeout=timeout))):
        with pytest.raises(TimeoutError, match='promise "a" is still pending after 0'):
            wait()


@pytest.mark.parametrize(
    ("timeout", "error"), [(-1, rc.Invalid), ("soon", TypeError), (True, TypeError), (float("nan"), rc.Invalid)]
)
def test_a_limit_that_is_none(live: rc.Store, timeout: Any, error: type[Exception]) -> None:
    live.promises.create("a", timeout=SOON)
    for wait in (lambda: live.wait("a", timeout=timeout), lambda: asyncio.run(live.aio.wait("a", timeout=timeout))):
        with pytest.raises(error, match="timeout must be"):
            wait()


def test_a_deadline_ends_the_wait(live: rc.Store) -> None:
    live.promises.create("a", timeout=200)
    live.promises.create("b", timeout=200)
    assert live.wait("a", timeout=60).state == "rejected_timedout"
    assert asyncio.run(live.aio.wait("b", timeout=60)).state == "rejected_timedout"


@pytest.mark.parametrize("tags", [{}, {"resonate:timer": "true"}])
def test_a_moved_manual_clock_ends_the_wait(make_store: Callable[..., rc.Store], tags: dict[str, str]) -> None:
    clock = rc.ManualClock(0)
    store = make_store(clock=clock)
    state = "resolved" if tags else "rejected_timedout"
    store.promises.create("a", timeout=1000, tags=tags)
    with soon(lambda: clock.advance(1000)):
        assert store.wait("a", timeout=60).state == state
    store.promises.create("b", timeout=1000, tags=tags)
    with soon(lambda: clock.advance(1000)):
        assert asyncio.run(store.aio.wait("b", timeout=60)).state == state


def test_a_cancelled_wait_leaves_nothing(live: rc.Store) -> None:
    async def main() -> None:
        await live.aio.promises.create("a", timeout=SOON)
        with suppress(TimeoutError):  # the first wait for a store in PostgreSQL starts a listener, which has a pipe
            await live.aio.wait("a", timeout=0.01)
        await until(is_alone)
        before = pipes()
        waits = [asyncio.create_task(live.aio.wait("a")) for _ in range(50)]
        await until(lambda: pipes() > before)
        await asyncio.sleep(0.1)
        assert pipes() == before + 2  # the two ends of one pipe, for all
        for wait in waits:
            wait.cancel()
        assert await asyncio.gather(*waits, return_exceptions=True)
        await until(lambda: is_alone() and pipes() == before)

    def is_alone() -> bool:
        return asyncio.all_tasks() == {asyncio.current_task()}

    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("the system does not list descriptors")
    gc.collect()  # pipes of tests before this one
    asyncio.run(main())


def pipes() -> int:
    """The number of ends of pipes that this process has open."""
    found = 0
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the listing
            found += os.readlink(f"/proc/self/fd/{descriptor}").startswith("pipe:")
    return found


def test_a_closed_store_ends_the_waits(live: rc.Store) -> None:
    live.promises.create("a", timeout=SOON)
    with soon(live.close), pytest.raises(rc.Closed):
        live.wait("a", timeout=60)


def test_a_closed_store_ends_the_waits_of_tasks(live: rc.Store) -> None:
    live.promises.create("a", timeout=SOON)
    with soon(live.close), pytest.raises(rc.Closed):
        asyncio.run(live.aio.wait("a", timeout=60))


def test_many_threads_wait(live: rc.Store) -> None:
    live.promises.create_many([f"p{i}" for i in range(16)], 2**52)
    with ThreadPoolExecutor(16) as pool:
        waits = [pool.submit(live.wait, f"p{i}", timeout=60) for i in range(16)]
        live.promises.settle_many([f"p{i}" for i in range(16)], list(range(16)))
        assert [wait.result().value.json() for wait in waits] == list(range(16))


PROGRAM = """
import sys, time
import resonate_core as rc
with rc.Store(sys.argv[1]) as store:
    for line in sys.stdin:
        store.promises.resolve(line.strip(), time.time())
"""


def test_a_settlement_of_another_process_ends_the_wait(home: Home) -> None:
    place = home.new_place()
    with home.open(place) as store:
        program = subprocess.Popen([sys.executable, "-c", PROGRAM, str(place)], stdin=subprocess.PIPE, text=True)
        try:
            assert program.stdin is not None
            stdin = program.stdin
            for number, wait in enumerate(
                (lambda id: store.wait(id, timeout=60), lambda id: asyncio.run(store.aio.wait(id, timeout=60)))
            ):
                id = f"p{number}"
                store.promises.create(id, timeout=SOON)

                def settle(id: str = id) -> None:
                    stdin.write(f"{id}\n")
                    stdin.flush()

                with soon(settle):
                    assert wait(id).value.json() <= time.time()
        finally:
            program.communicate()
        assert program.returncode == 0
