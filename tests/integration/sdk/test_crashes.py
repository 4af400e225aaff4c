"""Workers that die, and workers that take over their tasks."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from resonate_base.error import ConnectorError

import resonate_core as rc
from programs import DAY, MINUTE, SECOND, add, manual_store, nap, play, worker
from resonate_core.connection import Connection


def test_another_worker_takes_over_when_the_lease_lapses():
    store = manual_store()
    ran = []

    async def main():
        workers = {}

        def charge(ctx) -> str:
            ran.append(("charge", ctx.get_dependency(str), store.now))
            return "paid"

        async def ship(ctx) -> str:
            name = ctx.get_dependency(str)
            ran.append(("ship", name, store.now))
            if name == "first":
                workers["first"].crash()
                await asyncio.sleep(0)
                ran.append(("unreachable", name, store.now))
            return "shipped"

        async def order(ctx) -> list[str]:
            return [await ctx.run(charge), await ctx.run(ship)]

        for name in ("first", "second"):
            workers[name], client = worker(store, order, pid=name)
            client.with_dependency(name)
            workers[name + " client"] = client
        workers["first client"].run("order-1", order)
        await workers["second"].settle()
        assert store.tasks.get("order-1").state == "acquired"
        handle = await workers["second client"].get("order-1")
        assert await workers["second"].run_until(handle) == ["paid", "shipped"]
        await workers["first client"].stop()
        await workers["second client"].stop()

    play(main())
    # The charge was recorded and is not repeated; the ship was not recorded, and runs again one lease (60 s) later.
    assert ran == [("charge", "first", 0), ("ship", "first", 0), ("ship", "second", MINUTE)]
    assert store.now == MINUTE
    assert store.tasks.get("order-1").version == 2


def test_a_crash_during_a_sleep_costs_nothing():
    store = manual_store()

    async def main():
        first, client1 = worker(store, nap, pid="first")
        second, client2 = worker(store, nap, pid="second")
        client1.run("n", nap, 3600)
        await first.advance(timedelta(minutes=10))
        first.crash()
        assert await second.run_until(await client2.get("n")) == "slept 3600 s"
        await client1.stop()
        await client2.stop()

    play(main())
    assert store.now == 3600 * SECOND


def test_the_last_worker_dies_and_one_that_comes_days_later_goes_on():
    store = manual_store()

    async def main():
        first, client1 = worker(store, nap, pid="first")
        client1.options(timeout=timedelta(days=30)).run("n", nap, 2 * 86_400)
        await first.settle()
        first.crash()
        await client1.stop()
        store.clock.advance(10 * DAY)
        assert store.promises.get("n").state == "pending"
        second, client2 = worker(store, nap, pid="second")
        assert await second.run_until(await client2.get("n")) == "slept 172800 s"
        await client2.stop()

    play(main())
    assert store.now == 10 * DAY


def test_a_crashed_worker_sends_nothing_any_more():
    store = manual_store()

    async def main():
        connection, resonate = worker(store, add)
        await connection.settle()
        connection.crash()
        with pytest.raises(ConnectorError, match="crashed"):
            await resonate.promises.get("anything")
        with pytest.raises(ConnectorError, match="crashed"):
            await resonate.run("sum", add, 1, 2).id()
        await resonate.stop()
        assert "crashed" in repr(connection)

    play(main())
    assert len(store.promises.search()) == 0


def test_a_crash_in_a_function_that_never_awaits_again_loses_only_what_was_not_recorded():
    store = manual_store()

    async def main():
        first, client1 = worker(store, pid="first")
        runs = []

        def step(ctx) -> int:
            runs.append(len(first.store.messages()))
            if len(runs) == 1:
                first.crash()
            return len(runs)

        second, client2 = worker(store, step, pid="second")
        client1.register(step)
        client1.run("s", step)
        await second.settle()
        assert await second.run_until(await client2.get("s")) == 2
        await client1.stop()
        await client2.stop()

    play(main())
    assert store.now == MINUTE


def test_a_worker_whose_store_fails_releases_nothing_silently():
    class Broken(Exception):
        pass

    async def main():
        store = manual_store()
        connection = Connection(store)
        connection.store = _Failing(store, Broken("disk full"))
        with pytest.raises(ConnectorError, match="disk full"):
            await connection.send("{}")

    play(main())


class _Failing:
    """A store whose requests fail."""

    def __init__(self, store: rc.Store, error: Exception) -> None:
        self._store = store
        self._error = error

    def apply_json(self, request):
        raise self._error

    def __getattr__(self, name):
        return getattr(self._store, name)
