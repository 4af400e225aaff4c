"""Programs of the published SDK, unmodified, on a store with a manual clock."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from resonate.error import ApplicationError, ResonateTimeoutError
from resonate.retry import Constant, Never
from resonate.types import Value

from programs import DAY, HOUR, MINUTE, add, fibonacci, manual_store, nap, play, worker


def test_a_function_runs_and_its_promise_is_stored():
    store = manual_store()

    async def main():
        connection, resonate = worker(store, add)
        assert await connection.run_until(resonate.run("sum", add, 2, 3)) == 5
        await resonate.stop()

    play(main())
    assert store.now == 0
    promise = store.promises.get("sum")
    assert (promise.state, promise.created_at, promise.settled_at) == ("resolved", 0, 0)
    assert promise.tags["resonate:target"] == "poll://any@default"
    assert store.tasks.get("sum").state == "fulfilled"
    assert store.check() == []


def test_nested_local_and_remote_calls():
    store = manual_store()

    async def main():
        connection, resonate = worker(store, fibonacci)
        assert await connection.run_until(resonate.run("fib", fibonacci, 7)) == 13
        await resonate.stop()

    play(main())
    assert store.now == 0
    assert {promise.state for promise in store.promises.search(limit=1000)} == {"resolved"}


def test_a_call_needs_no_driver_where_no_time_passes():
    async def main():
        _, resonate = worker(manual_store(), fibonacci)
        assert await resonate.run("fib", fibonacci, 5).result() == 5
        await resonate.stop()

    play(main())


def test_a_sleep_of_thirty_days_takes_thirty_days_of_the_store_and_no_real_time():
    store = manual_store()

    async def main():
        connection, resonate = worker(store, nap)
        handle = resonate.options(timeout=timedelta(days=40)).run("month", nap, 30 * DAY // 1000)
        assert await connection.run_until(handle) == "slept 2592000 s"
        await resonate.stop()

    play(main())
    assert store.now == 30 * DAY
    assert store.promises.get("month").settled_at == 30 * DAY


def test_concurrent_roots_wake_in_the_order_of_their_deadlines():
    store = manual_store()
    woken = []

    async def sleeper(ctx, name: str, hours: int) -> int:
        await ctx.sleep(timedelta(hours=hours))
        woken.append((name, store.now // HOUR))
        return hours

    async def main():
        connection, resonate = worker(store, sleeper)
        handles = [resonate.run(name, sleeper, name, hours) for name, hours in [("a", 3), ("b", 1), ("c", 2), ("d", 1)]]
        assert await connection.run_until(asyncio.gather(*(h.result() for h in handles))) == [3, 1, 2, 1]
        await resonate.stop()

    play(main())
    assert woken == [("b", 1), ("d", 1), ("c", 2), ("a", 3)]


def test_siblings_that_sleep_side_by_side_take_the_longest_of_them():
    store = manual_store()

    async def parent(ctx) -> list[str]:
        futures = [ctx.rpc("nap", seconds) for seconds in (60, 30, 45)]
        return [await future for future in futures]

    async def main():
        connection, resonate = worker(store, nap, parent)
        assert await connection.run_until(resonate.run("p", parent)) == ["slept 60 s", "slept 30 s", "slept 45 s"]
        await resonate.stop()

    play(main())
    assert store.now == MINUTE


def test_a_person_decides_through_the_store():
    store = manual_store()

    async def approval(ctx) -> str:
        question = ctx.promise(timeout=timedelta(days=7))
        await question.id()
        return f"{await question} it"

    async def main():
        connection, resonate = worker(store, approval)
        handle = resonate.options(timeout=timedelta(days=8)).run("order", approval)
        await connection.settle()
        assert not handle.done()
        assert store.promises.get("order:1").state == "pending"
        await connection.advance(2 * DAY)
        assert not handle.done()
        store.promises.resolve("order:1", "ship")
        assert await connection.run_until(handle) == "ship it"
        await resonate.stop()

    play(main())
    assert store.now == 2 * DAY


def test_a_person_decides_through_the_sdk():
    async def approval(ctx) -> dict:
        return await ctx.promise(timeout=timedelta(days=7))

    async def main():
        connection, resonate = worker(manual_store(), approval)
        handle = resonate.run("order", approval)
        await connection.settle()
        await resonate.promises.resolve("order:1", Value(data={"answer": 42}))
        assert await connection.run_until(handle) == {"answer": 42}
        await resonate.stop()

    play(main())


def test_nobody_decides():
    store = manual_store()

    async def approval(ctx) -> str:
        try:
            return await ctx.promise(timeout=timedelta(hours=7))
        except Exception as error:
            return f"nobody answered ({type(error).__name__})"

    async def main():
        connection, resonate = worker(store, approval)
        answer = await connection.run_until(resonate.run("order", approval))
        assert answer.startswith("nobody answered")
        await resonate.stop()

    play(main())
    assert store.now == 7 * HOUR


def test_a_detached_call_outlives_its_caller():
    store = manual_store()
    done = []

    async def later(ctx, text: str) -> None:
        await ctx.sleep(timedelta(hours=5))
        done.append((text, store.now))

    async def caller(ctx) -> str:
        return await ctx.detached("later", "sent")

    async def main():
        connection, resonate = worker(store, later, caller)
        child = await connection.run_until(resonate.run("caller", caller))
        assert (store.now, done) == (0, [])
        assert child.startswith("caller:d")
        await connection.run_until(await resonate.get(child))
        await resonate.stop()

    play(main())
    assert done == [("sent", 5 * HOUR)]


def test_a_schedule_fires_each_hour_and_stops_when_deleted():
    store = manual_store()
    runs = []

    async def report(ctx, name: str) -> None:
        runs.append((name, store.now, ctx.info.id))

    async def main():
        connection, resonate = worker(store, report)
        schedule = await resonate.schedule("hourly", "0 * * * *", "report", args=("usage",))
        fired = await connection.advance(timedelta(hours=3))
        assert [f.at for f in fired if f.kind == "schedule"] == [HOUR, 2 * HOUR, 3 * HOUR]
        await schedule.delete()
        await connection.advance(timedelta(hours=3))
        await resonate.stop()

    play(main())
    assert runs == [("usage", n * HOUR, f"hourly-{n * HOUR}") for n in (1, 2, 3)]
    assert store.now == 6 * HOUR


def test_an_error_of_a_function_is_raised_where_it_is_waited_for():
    async def broken(ctx):
        raise ValueError("no such customer")

    async def main():
        connection, resonate = worker(manual_store(), broken, retry_policy=Never())
        with pytest.raises(ValueError, match="no such customer"):
            await connection.run_until(resonate.run("b", broken))
        await resonate.stop()

    play(main())


def test_retries_wait_in_the_time_of_the_store_and_keep_their_lease():
    store = manual_store()
    attempts = []

    def flaky(ctx) -> str:
        attempts.append(store.now)
        if len(attempts) < 5:
            raise ConnectionError("try again")
        return "at last"

    async def main():
        # 50 s between attempts and a lease of 60 s: only the heartbeats, every 30 s, keep the lease through all attempts.
        connection, resonate = worker(store, flaky, retry_policy=Constant(delay=50, max_retries=9))
        assert await connection.run_until(resonate.run("f", flaky)) == "at last"
        await resonate.stop()

    play(main())
    assert attempts == [0, 50_000, 100_000, 150_000, 200_000]
    assert store.tasks.get("f").version == 1


def test_a_root_that_misses_its_deadline_times_out_at_it():
    store = manual_store()

    async def main():
        connection, resonate = worker(store, nap)
        handle = resonate.options(timeout=timedelta(minutes=1)).run("n", nap, 3600)
        with pytest.raises(ResonateTimeoutError):
            await connection.run_until(handle)
        await resonate.stop()

    play(main())
    assert store.now == MINUTE


def test_a_cancelled_promise_is_an_error_of_its_handle():
    async def main():
        connection, resonate = worker(manual_store(), nap)
        handle = resonate.run("n", nap, 3600)
        await connection.settle()
        await resonate.promises.cancel("n", Value())
        with pytest.raises(ApplicationError, match="canceled"):
            await connection.run_until(handle)
        await resonate.stop()

    play(main())


def test_groups_take_only_their_own_work():
    store = manual_store()
    ran = []

    async def step(ctx, name: str) -> str:
        ran.append((name, ctx.get_dependency(str)))
        return name

    async def flow(ctx) -> list[str]:
        return [
            await ctx.options(target="cpu").rpc("step", "one"),
            await ctx.options(target="gpu").rpc("step", "two"),
        ]

    async def main():
        connection, resonate = worker(store, flow)
        clients = [resonate]
        for group in ("cpu", "gpu"):
            _, client = worker(store, step, group=group)
            client.with_dependency(group)
            clients.append(client)
        assert await connection.run_until(resonate.run("flow", flow)) == ["one", "two"]
        for client in clients:
            await client.stop()

    play(main())
    assert ran == [("one", "cpu"), ("two", "gpu")]


def test_a_client_without_sources_sends_and_a_worker_works():
    store = manual_store()

    async def main():
        connection, resonate = worker(store, add)
        sender, client = worker(store, group="senders", sources=[], subscription_refresh_secs=1.0)
        assert not sender.receives
        handle = client.options(target="default").rpc("sum", "add", 1, 2)
        assert await sender.run_until(handle) == 3
        await client.stop()
        await resonate.stop()

    play(main())
    assert store.now <= 1000
