"""The same programs on the system clock. Durations are short, and the tests check only the order of events."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from datetime import timedelta

import pytest
from resonate_base.error import ConnectorError

import resonate_core as rc
from programs import add, play, worker
from resonate_core.connection import Connection, Stalled


async def doze(ctx, milliseconds: int) -> str:
    """Sleeps once, for some milliseconds."""
    await ctx.sleep(timedelta(milliseconds=milliseconds))
    return "awake"


def test_a_sleep_takes_real_time():
    async def main():
        store = rc.Store(check=True)
        connection, resonate = worker(store, doze)
        began = time.monotonic()
        assert await resonate.run("d", doze, 300).result() == "awake"
        assert 0.25 < time.monotonic() - began < 5
        assert await connection.run_until(resonate.run("e", doze, 10)) == "awake"
        await resonate.stop()

    play(main())


def test_what_another_thread_does_to_the_store_is_seen():
    async def approval(ctx) -> str:
        return await ctx.promise(timeout=timedelta(minutes=5))

    async def main():
        store = rc.Store(check=True)
        _, resonate = worker(store, approval)
        handle = resonate.run("order", approval)
        while not store.promises.search(id="order:1"):
            await asyncio.sleep(0.01)
        await asyncio.to_thread(store.promises.resolve, "order:1", "yes")
        assert await handle.result() == "yes"
        await resonate.stop()

    play(main())


class Counted(rc.Store):
    """A store that remembers how many steps each tick ran."""

    ran: list[int]

    def tick(self, *args, **keywords):
        fired = super().tick(*args, **keywords)
        self.ran.append(len(fired))
        return fired


def test_a_backlog_of_due_steps_does_not_hold_the_event_loop():
    async def main():
        store = Counted()
        store.ran = []
        store.promises.create_many([f"p{number}" for number in range(2000)], store.now + 300, tags={"resonate:external": "true"})
        await asyncio.sleep(0.35)
        _, resonate = worker(store, add)
        while store.next_due() is not None:
            await asyncio.sleep(0.01)
        assert sum(store.ran) >= 1900 and max(store.ran) < 1000, store.ran
        await resonate.stop()

    play(main())


def test_a_crashed_worker_is_replaced_within_its_lease():
    async def main():
        store = rc.Store(check=True)
        started = asyncio.Event()

        async def stuck(ctx) -> str:
            started.set()
            await asyncio.Event().wait()
            return "never"

        async def fine(ctx) -> str:
            return "taken over"

        first, client1 = worker(store, pid="first", ttl=timedelta(seconds=2))
        client1.register(stuck, name="job")
        client1.run("j", "job")
        await started.wait()
        await asyncio.sleep(2.5)  # longer than the lease: heartbeats renew it
        assert store.tasks.get("j").version == 1
        first.crash()
        _, client2 = worker(store, pid="second")
        client2.register(fine, name="job")
        assert await (await client2.get("j")).result() == "taken over"
        await client1.stop()
        await client2.stop()

    play(main())


def test_a_task_that_nobody_can_run_does_not_spin(caplog):
    async def main():
        store = rc.Store(check=True)
        connection, resonate = worker(store, add)
        resonate.rpc("lost", "no_such_function")
        await asyncio.sleep(0.55)
        assert 2 <= store.tasks.get("lost").version <= 7
        await resonate.stop()

    play(main())


def test_time_cannot_be_moved():
    async def main():
        connection = Connection(rc.Store())
        with pytest.raises(RuntimeError, match="system time"):
            await connection.advance(1)
        await connection.settle()
        with pytest.raises(Stalled, match="not done within"):
            await connection.run_until(asyncio.Event().wait(), limit=50)

    play(main())


def test_the_ticker_stops_with_the_last_worker_and_survives_errors():
    async def main():
        store = rc.Store()
        connection, resonate = worker(store, doze)
        errors = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
        await asyncio.sleep(0.01)
        exchange = connection.exchange
        exchange.store = _Sick(store, failures=2)
        assert await resonate.run("d", doze, 200).result() == "awake"
        assert [str(context["exception"]) for context in errors] == ["out of order", "out of order"]
        await resonate.stop()
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1

    play(main())


class _Sick:
    """A store whose next ticks fail."""

    def __init__(self, store: rc.Store, failures: int) -> None:
        self._store = store
        self._failures = failures

    def tick(self, **limit):
        if self._failures:
            self._failures -= 1
            raise OSError("out of order")
        return self._store.tick(**limit)

    def __getattr__(self, name):
        return getattr(self._store, name)


def test_a_transaction_of_the_same_loop_on_the_file_of_the_store_can_commit(tmp_path):
    """The calls of a worker wait for the lock of the file in a thread; in the loop's, the transaction could never end."""

    async def main():
        with rc.Store(tmp_path / "app.db") as store, closing(sqlite3.connect(tmp_path / "app.db", isolation_level=None)) as app:
            _, resonate = worker(store, add)
            app.execute("CREATE TABLE orders (id TEXT)")
            app.execute("BEGIN IMMEDIATE")
            app.execute("INSERT INTO orders VALUES ('a')")
            running = asyncio.ensure_future(resonate.run("sum", add, 1, 2).result())
            await asyncio.sleep(0.2)  # the request is made now
            assert not running.done()
            app.execute("COMMIT")
            assert await running == 3
            await resonate.stop()
            assert len(asyncio.all_tasks()) == 1

    play(main())


def test_a_worker_that_crashes_while_its_request_runs_gets_no_reply(tmp_path):
    async def main():
        with rc.Store(tmp_path / "app.db") as store, closing(sqlite3.connect(tmp_path / "app.db", isolation_level=None)) as app:
            connection, resonate = worker(store, add)
            await asyncio.sleep(0)
            app.execute("BEGIN IMMEDIATE")
            create = {"id": "a", "timeoutAt": 2**62, "param": {}, "tags": {"resonate:external": "true"}}
            head = {"corrId": "1", "version": "2026-04-01"}
            sending = asyncio.ensure_future(connection.send(json.dumps({"kind": "promise.create", "head": head, "data": create})))
            await asyncio.sleep(0.1)
            connection.crash()
            app.execute("COMMIT")
            with pytest.raises(ConnectorError):
                await sending
            assert store.promises.get("a").state == "pending"  # the request had its effect
            await resonate.stop()

    play(main())
