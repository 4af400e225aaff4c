"""`store.aio.wait(id, timeout=0)` raised TimeoutError for a promise that is settled; `store.wait` returns it."""

from __future__ import annotations

import asyncio

import pytest

import resonate_core as rc


@pytest.fixture
def store() -> rc.Store:
    store = rc.Store()
    store.promises.create("pending", timeout=3_600_000)
    store.promises.create("settled", timeout=3_600_000)
    store.promises.resolve("settled", {"answer": 42})
    return store


def test_a_settled_promise_is_returned(store: rc.Store) -> None:
    async def ask() -> tuple[str, object]:
        return (await store.aio.wait("settled", timeout=0)).state, await store.aio.result("settled", timeout=0)

    assert asyncio.run(ask()) == ("resolved", {"answer": 42})


def test_a_pending_one_is_a_timeout(store: rc.Store) -> None:
    async def ask() -> None:
        with pytest.raises(TimeoutError, match='promise "pending" is still pending after 0 s'):
            await store.aio.wait("pending", timeout=0)

    asyncio.run(ask())
    with pytest.raises(TimeoutError, match='promise "pending" is still pending after 0 s'):
        store.wait("pending", timeout=0)


def test_beside_another_wait_for_the_same_promise(store: rc.Store) -> None:
    """The shared watcher has read it before; its settlement since then is seen, whatever the watcher does."""

    async def ask() -> list[str]:
        other = asyncio.create_task(store.aio.wait("pending", timeout=60))
        await asyncio.sleep(0.05)
        store.promises.resolve("pending", 1)
        found = await store.aio.wait("pending", timeout=0)
        return [found.state, (await other).state]

    assert asyncio.run(ask()) == ["resolved", "resolved"]


def test_the_error_for_an_unknown_promise_stays(store: rc.Store) -> None:
    async def ask() -> None:
        with pytest.raises(rc.NotFound):
            await store.aio.wait("unknown", timeout=0)

    asyncio.run(ask())
