"""A client waits for promises of a server."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import resonate_core as rc
from awaiting import until
from server.live_server import serving

from .flaky_server import flaky

SOON = 10**5


@pytest.fixture
def store() -> Iterator[rc.Store]:
    with rc.Store() as made:
        yield made


@pytest.fixture
def url(store: rc.Store) -> Iterator[str]:
    with serving(store) as live:
        yield f"http://127.0.0.1:{live.port}"


def later(store: rc.Store, id: str, value: Any) -> None:
    threading.Timer(0.2, lambda: store.promises.resolve(id, value)).start()


def test_a_thread_waits(store: rc.Store, url: str) -> None:
    with rc.connect(url) as client:
        client.promises.create("a", timeout=SOON)
        later(store, "a", 42)
        assert client.result("a", timeout=60) == 42
        assert client.wait("a").state == "resolved"


def test_threads_wait(store: rc.Store, url: str) -> None:
    store.promises.create_many([f"p{i}" for i in range(12)], 2**52)
    with rc.connect(url) as client, ThreadPoolExecutor(12) as pool:
        waits = [pool.submit(client.result, f"p{i}", timeout=60) for i in range(12)]
        for i in range(12):
            later(store, f"p{i}", i)
        assert [wait.result() for wait in waits] == list(range(12))


def test_tasks_wait_on_one_stream(store: rc.Store, url: str) -> None:
    ids = [f"p{i}" for i in range(30)]
    store.promises.create_many(ids, 2**52)

    async def main() -> list[Any]:
        async with rc.connect(url).aio as client:
            waits = [asyncio.create_task(client.result(id, timeout=60)) for id in ids for _ in range(2)]
            await asyncio.sleep(0.3)
            store.promises.settle_many(ids, list(range(30)))
            return await asyncio.gather(*waits)

    assert asyncio.run(main()) == [i for i in range(30) for _ in range(2)]


def test_the_job_of_a_worker(store: rc.Store, url: str) -> None:
    with rc.connect(url) as client:
        job = client.jobs.enqueue("add", [1, 2])
        [claimed] = client.jobs.claim("default", worker="w", lease=60_000, start=1)
        threading.Timer(0.2, lambda: store.jobs.complete(claimed.id, claimed.version, 3)).start()
        assert client.result(job.id, timeout=60) == 3


def test_the_deadline(store: rc.Store, url: str) -> None:
    with rc.connect(url) as client:
        client.promises.create("a", timeout=300)
        assert client.wait("a", timeout=60).state == "rejected_timedout"
        with pytest.raises(rc.Rejected, match='promise "a" is rejected_timedout'):
            client.result("a")


def test_the_limit(url: str) -> None:
    with rc.connect(url) as client:
        client.promises.create("a", timeout=SOON)
        with pytest.raises(TimeoutError, match=r'promise "a" is still pending after 0\.2 s'):
            client.wait("a", timeout=0.2)

    async def main() -> None:
        async with rc.connect(url).aio as client:
            with pytest.raises(TimeoutError, match=r'promise "a" is still pending after 0\.2 s'):
                await client.wait("a", timeout=0.2)

    asyncio.run(main())


def test_none(url: str) -> None:
    with rc.connect(url) as client, pytest.raises(rc.NotFound):
        client.wait("none")

    async def main() -> None:
        async with rc.connect(url).aio as client:
            with pytest.raises(rc.NotFound):
                await client.wait("none")

    asyncio.run(main())


def test_a_cancelled_wait_ends_its_stream(store: rc.Store, url: str) -> None:
    async def main() -> None:
        client = rc.connect(url).aio
        await client.promises.create("a", timeout=SOON)
        wait = asyncio.create_task(client.wait("a"))
        await asyncio.sleep(0.2)
        wait.cancel()
        with pytest.raises(asyncio.CancelledError):
            await wait
        await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})  # a request that was under way comes to its end
        await client.close()

    asyncio.run(main())


def test_a_server_without_streams_is_asked_again() -> None:
    with rc.Store() as store, flaky(store) as server:
        store.promises.create_many(["a", "b"], 2**52)
        with rc.connect(server.url) as client:
            later(store, "a", 1)
            assert client.result("a", timeout=60) == 1

        async def main() -> Any:
            async with rc.connect(server.url).aio as client:
                later(store, "b", 2)
                return await client.result("b", timeout=60)

        assert asyncio.run(main()) == 2


def test_streams_that_end_are_opened_again() -> None:
    with rc.Store() as store, serving(store, streams={"lifetime": 0.2}) as live:
        store.promises.create_many(["a", "b"], 2**52)
        url = f"http://127.0.0.1:{live.port}"
        with rc.connect(url) as client:
            threading.Timer(1, lambda: store.promises.resolve("a", 1)).start()
            assert client.result("a", timeout=60) == 1

        async def main() -> Any:
            async with rc.connect(url).aio as client:
                threading.Timer(1, lambda: store.promises.resolve("b", 2)).start()
                return await client.result("b", timeout=60)

        assert asyncio.run(main()) == 2
