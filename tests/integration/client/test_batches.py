"""Calls in asyncio that are sent at the same time share HTTP requests, and each has its own result or error."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

import resonate_core as rc
from server.live_server import serving

from .flaky_server import CUT, LOST, Flaky, flaky

FAR = 2**52

Aio = Any


@pytest.fixture
def store() -> rc.Store:
    return rc.Store(clock=rc.ManualClock(1000))


@pytest.fixture
def server(store: rc.Store) -> Iterator[Flaky]:
    with flaky(store) as made:
        made.batch = 100
        yield made


def run(url: str, main: Callable[[Aio], Awaitable[Any]], **options: Any) -> Any:
    """Runs `main` with a client that has had a response of the server, and so knows whether it accepts batches; returns the result."""

    async def connected() -> Any:
        async with rc.connect(url, **{"retry_for": 60, **options}).aio as client:
            with pytest.raises(rc.NotFound):
                await client.promises.get("nobody")
            return await main(client)

    return asyncio.run(connected())


def test_calls_of_one_moment_are_one_request(server: Flaky, store: rc.Store):
    async def main(client: Aio) -> Any:
        return await asyncio.gather(*(client.promises.create(f"p{n}", FAR, param=n) for n in range(100)))

    made = run(server.url, main)
    assert [promise.param.json() for promise in made] == list(range(100))
    assert server.sizes == [1, 100]
    assert len(store.promises.search(limit=1000)) == 100


def test_more_than_the_server_takes_are_several(server: Flaky):
    server.batch = 30

    async def main(client: Aio) -> Any:
        await asyncio.gather(*(client.promises.create(f"p{n}", FAR) for n in range(100)))

    run(server.url, main)
    assert sorted(server.sizes) == [1, 10, 30, 30, 30]


def test_large_calls_are_several_requests(server: Flaky):
    async def main(client: Aio) -> Any:
        await asyncio.gather(*(client.promises.create(f"p{n}", FAR, param="x" * 200_000) for n in range(6)))

    run(server.url, main)
    assert sum(server.sizes) == 7 and max(server.sizes) <= 2


def test_each_has_its_own_outcome(server: Flaky):
    async def main(client: Aio) -> Any:
        await client.promises.create("a", FAR)
        calls = client.promises.get("a"), client.promises.get("b"), client.promises.create("c", -1), client.promises.resolve("a", 7)
        return await asyncio.gather(*calls, return_exceptions=True)

    found, missing, invalid, resolved = run(server.url, main)
    assert found.id == "a"
    assert isinstance(missing, rc.NotFound)
    assert isinstance(invalid, rc.Invalid)
    assert resolved.value.json() == 7
    assert server.sizes == [1, 1, 4]


def test_before_the_first_answer_no_batch_is_sent(server: Flaky):
    async def main() -> None:
        async with rc.connect(server.url).aio as client:
            await asyncio.gather(*(client.promises.create(f"p{n}", FAR) for n in range(50)))

    asyncio.run(main())
    assert server.sizes[0] == 1
    assert sum(server.sizes) == 50 and len(server.sizes) < 50


def test_a_server_without_batches_gets_none(server: Flaky):
    server.batch = 1

    async def main(client: Aio) -> Any:
        await asyncio.gather(*(client.promises.create(f"p{n}", FAR) for n in range(50)))

    run(server.url, main)
    assert server.sizes == [1] * 51


@pytest.mark.parametrize("status", [400, 404, 405, 410, 413, 501])
def test_a_batch_that_nobody_takes_is_sent_one_by_one(server: Flaky, status: int):
    async def main(client: Aio) -> Any:
        for first in (0, 10):
            server.faults = [(status, {})] if first == 0 else []
            await asyncio.gather(*(client.jobs.enqueue("t", n) for n in range(first, first + 10)))

    run(server.url, main)
    assert server.sizes[:12] == [1, 10] + [1] * 10
    assert server.sizes[12:] == ([10] if status == 413 else [1] * 10), "only its size was wrong, or there are no batches"
    assert len(server.store.jobs.search(limit=1000)) == 20


@pytest.mark.parametrize("fault", [LOST, CUT, (502, {}), (504, {})])
def test_what_is_repeated_if_an_answer_is_lost(server: Flaky, fault: Any):
    """Only calls that are safe to run twice are; the others raise an error that says that they may have run."""

    async def main(client: Aio) -> Any:
        server.faults = [fault]
        calls = [client.promises.create(f"p{n}", FAR) for n in range(5)] + [client.jobs.enqueue("t", n) for n in range(5)]
        return await asyncio.gather(*calls, return_exceptions=True)

    found = run(server.url, main)
    assert [promise.id for promise in found[:5]] == [f"p{n}" for n in range(5)]
    assert all(isinstance(error, rc.errors.Unreachable) and error.executed for error in found[5:])
    assert len({id(error) for error in found[5:]}) == 5, "each caller has its own exception"


def test_a_busy_proxy_is_asked_again(server: Flaky):
    async def main(client: Aio) -> Any:
        server.faults = [(429, {"retry-after": "0"})]
        return await asyncio.gather(*(client.jobs.enqueue("t", n) for n in range(10)))

    assert len(run(server.url, main)) == len(server.store.jobs.search(limit=1000)) == 10


def test_a_call_that_is_cancelled_takes_no_other_with_it(server: Flaky):
    async def main(client: Aio) -> Any:
        tasks = [asyncio.ensure_future(client.promises.create(f"p{n}", FAR)) for n in range(10)]
        await asyncio.sleep(0)
        tasks[3].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = run(server.url, main)
    assert isinstance(found.pop(3), asyncio.CancelledError)
    assert [promise.id for promise in found] == [f"p{n}" for n in range(10) if n != 3]


def test_a_search_is_sent_alone(server: Flaky):
    async def main(client: Aio) -> Any:
        await asyncio.gather(client.promises.search(), client.promises.create("a", FAR), client.jobs.search(), client.queues.list())

    run(server.url, main)
    assert server.sizes == [1] * 5


def test_a_client_that_is_closed_fails_what_is_under_way():
    async def main(url: str) -> Any:
        client = rc.connect(url, retry_for=0).aio
        tasks = [asyncio.ensure_future(client.promises.get(f"p{n}")) for n in range(10)]
        await asyncio.sleep(0.05)
        await client.close()
        return await asyncio.gather(*tasks, return_exceptions=True)

    with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel accepts connections, and no process reads from them
        found = asyncio.run(main(f"http://127.0.0.1:{silent.getsockname()[1]}"))
    assert {type(error) for error in found} == {rc.errors.Unreachable}


def test_many_tasks_at_a_real_server():
    """Each task gets its own responses, in its own order."""
    with rc.Store() as store, serving(store) as live:

        async def one(client: Aio, name: str) -> list[int]:
            found = []
            for n in range(20):
                await client.promises.create(f"{name}.{n}", FAR)
                found.append((await client.promises.resolve(f"{name}.{n}", n)).value.json())
            return found

        async def main() -> Any:
            async with rc.connect(f"http://127.0.0.1:{live.port}").aio as client:
                return await asyncio.gather(*(one(client, f"t{n}") for n in range(32)))

        assert asyncio.run(main()) == [list(range(20))] * 32
