"""When the manual clock moves, how far, and when it does not move."""

from __future__ import annotations

import asyncio
import re
import threading
from datetime import timedelta

import pytest
from resonate.retry import Never

import resonate_core as rc
from programs import DAY, HOUR, MINUTE, add, manual_store, nap, play, worker
from resonate_core.connection import Connection, Stalled


def test_time_does_not_move_by_itself():
    store = manual_store()

    async def main():
        connection, resonate = worker(store, nap)
        handle = resonate.run("n", nap, 60)
        await connection.settle()
        assert (handle.done(), store.now) == (False, 0)
        store.clock.advance(59_999)
        await connection.settle()
        assert not handle.done()
        store.clock.advance(1)
        await connection.settle()
        assert handle.done()
        await resonate.stop()

    play(main())


def test_after_the_clock_was_moved_by_hand_a_plain_await_is_enough():
    async def main():
        store = manual_store()
        connection, resonate = worker(store, nap)
        handle = resonate.run("n", nap, 60)
        await connection.settle()
        store.clock.advance(timedelta(minutes=1))
        assert await handle.result() == "slept 60 s"
        await resonate.stop()

    play(main())


def test_advance_lets_programs_run_at_every_instant_on_the_way():
    store = manual_store()
    seen = []

    async def steps(ctx) -> None:
        for _ in range(3):
            await ctx.sleep(timedelta(minutes=10))
            if store.now not in seen:
                seen.append(store.now)

    async def main():
        connection, resonate = worker(store, steps)
        resonate.run("s", steps)
        fired = await connection.advance(HOUR)
        assert store.now == HOUR
        assert [f.at for f in fired if f.kind == "promise_timeout"] == [10 * MINUTE, 20 * MINUTE, 30 * MINUTE]
        await resonate.stop()

    play(main())
    assert seen == [10 * MINUTE, 20 * MINUTE, 30 * MINUTE]


def test_waiting_for_nothing_is_an_error_that_says_so():
    async def main():
        store = manual_store()
        connection, resonate = worker(store, add)
        await connection.settle()
        with pytest.raises(Stalled, match="nothing is left to happen"):
            await connection.run_until(asyncio.get_running_loop().create_future())
        store.promises.create("p", 10**9, tags={"resonate:target": "poll://any@nobody"})
        with pytest.raises(Stalled, match=r"not done by t=60000, the limit"):
            await connection.run_until(await resonate.get("p"), limit=timedelta(minutes=1))
        assert store.now <= MINUTE
        await resonate.stop()

    play(main())


def test_a_coroutine_that_was_given_up_is_cancelled():
    ended = []

    async def forever():
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def main():
        connection = Connection(manual_store())
        await connection.start()
        with pytest.raises(Stalled):
            await connection.run_until(forever())
        await asyncio.sleep(0)
        await connection.stop()

    play(main())
    assert ended == [True]


def test_work_in_a_thread_holds_time_where_it_is():
    store = manual_store()
    go = threading.Event()
    instants = []

    async def slow(ctx) -> str:
        await asyncio.to_thread(go.wait)
        instants.append(store.now)
        return "done"

    async def main():
        connection, resonate = worker(store, slow, nap)
        resonate.run("n", nap, 60)
        handle = resonate.run("s", slow)
        asyncio.get_running_loop().call_later(0.2, go.set)
        assert await connection.run_until(handle) == "done"
        await resonate.stop()

    play(main())
    assert instants == [0]


def test_a_function_that_waits_for_another_promise_does_not_hold_time():
    async def main():
        store = manual_store()
        connection, resonate = worker(store, nap)

        async def outer(ctx) -> str:
            return await resonate.run("inner", nap, 60).result()

        resonate.register(outer)
        assert await connection.run_until(resonate.run("outer", outer)) == "slept 60 s"
        assert store.now == MINUTE
        await resonate.stop()

    play(main())


def test_hold_keeps_time_where_it_is():
    store = manual_store()

    async def main():
        connection, resonate = worker(store, nap)
        resonate.run("n", nap, 60)

        async def outside() -> int:
            with connection.hold():
                await asyncio.sleep(0.1)
            return store.now

        assert await connection.run_until(outside()) == 0
        await resonate.stop()

    play(main())


def test_sleep_is_rounded_up_to_the_millisecond():
    store = manual_store()

    async def main():
        connection, resonate = worker(store, nap)
        await connection.settle()
        await connection.sleeper(0)
        sleeping = asyncio.ensure_future(connection.sleeper(90.0005))
        await connection.advance(timedelta(seconds=90))
        assert not sleeping.done()
        await connection.advance(1)
        assert sleeping.done()
        await resonate.stop()

    play(main())


def test_time_is_driven_by_one_call_at_a_time():
    store = manual_store()

    async def main():
        connection, resonate = worker(store, nap)

        async def meddler(ctx) -> str:
            with pytest.raises(RuntimeError, match="a durable function cannot"):
                await connection.advance(1)
            return "caught"

        resonate.register(meddler)
        assert await connection.run_until(resonate.run("m", meddler)) == "caught"

        async def nested() -> None:
            await connection.settle()

        with pytest.raises(RuntimeError, match="drives the clock already"):
            await connection.run_until(nested())
        both = [connection.run_until(resonate.run(f"n{n}", nap, n)) for n in (20, 10)]
        assert await asyncio.gather(*both) == ["slept 20 s", "slept 10 s"]
        await resonate.stop()

    play(main())
    assert store.now == 20_000


def test_a_task_that_nobody_can_run_is_an_error_that_names_it(caplog):
    async def main():
        store = manual_store()
        connection, resonate = worker(store, add)
        handle = resonate.rpc("lost", "no_such_function")
        with pytest.raises(Stalled, match="'lost' was offered and released"):
            await connection.run_until(handle)
        await resonate.stop()

    play(main())
    assert "no_such_function" in caplog.text


def test_a_task_that_one_of_two_workers_can_run_gets_there():
    async def main():
        store = manual_store()
        first, client1 = worker(store, add, pid="first")
        second, client2 = worker(store, nap, pid="second")
        assert await first.run_until(client1.rpc("n", "nap", 1)) == "slept 1 s"
        assert await first.run_until(client1.rpc("a", "add", 1, 2)) == 3
        assert second.pid == "second"
        await client1.stop()
        await client2.stop()

    play(main())


def test_one_clock_for_two_stores():
    clock = rc.ManualClock(0)
    stores = [rc.Store(clock=clock, check=True) for _ in range(2)]

    async def main():
        clients = [worker(store, nap) for store in stores]
        handles = [resonate.run("n", nap, 60) for _, resonate in clients]
        for connection, _ in clients:
            await connection.settle()
        assert await clients[0][0].run_until(handles[0]) == "slept 60 s"
        assert await clients[1][0].run_until(handles[1]) == "slept 60 s"
        for _, resonate in clients:
            await resonate.stop()

    play(main())
    assert clock.now == MINUTE


def test_the_same_program_twice_does_the_same_to_the_letter(tmp_path):
    async def flow(ctx, name: str) -> list:
        naps = [ctx.rpc("nap", seconds) for seconds in (5, 3600, 60)]
        total = await ctx.run(add, 1, 2)
        await ctx.detached("nap", 7)
        return [name, total, *[await one for one in naps]]

    def once(path) -> tuple:
        store = manual_store()
        recording = store.record(path)

        async def main():
            connection, resonate = worker(store, flow, nap, add, retry_policy=Never())
            _, other = worker(store, flow, nap, add, retry_policy=Never())
            await resonate.schedule("hourly", "*/20 * * * *", "nap", args=(1,))
            handles = [resonate.run(name, flow, name) for name in ("x", "y")]
            results = await connection.run_until(asyncio.gather(*(handle.result() for handle in handles)))
            await connection.advance(DAY // 4)
            await resonate.stop()
            await other.stop()
            return results

        results = play(main())
        recording.close()
        assert rc.replay(path).ok
        # The SDK chooses its correlation ids at random; otherwise the traces are equal.
        return results, store.snapshot(), re.sub(r"sr-[0-9a-f]{32}", "sr-", path.read_text())

    first, second = once(tmp_path / "first"), once(tmp_path / "second")
    assert first == second
    assert len(first[2].splitlines()) > 100
    assert first[0][0] == ["x", 3, "slept 5 s", "slept 3600 s", "slept 60 s"]


@pytest.mark.parametrize("wrong", [-1, timedelta(seconds=-1)])
def test_a_duration_is_not_negative(wrong):
    async def main():
        with pytest.raises(ValueError, match="at least 0 ms"):
            await Connection(manual_store()).advance(wrong)

    play(main())


@pytest.mark.parametrize("wrong", [1.5, "1", True, None])
def test_a_duration_is_an_int_or_a_timedelta(wrong):
    async def main():
        with pytest.raises(TypeError, match="timedelta"):
            await Connection(manual_store()).advance(wrong)

    play(main())


def never_answers(ctx) -> None:
    """Fails at each attempt."""
    raise ConnectionError("no answer")


async def asks(ctx) -> None:
    """Waits for a step that never succeeds."""
    await ctx.run(never_answers)


@pytest.mark.parametrize("how", ["run_until", "advance", "advance_to"])
def test_retries_without_end_are_an_error_that_names_the_task_and_its_attempts(how: str):
    store = manual_store()

    async def main():
        connection, resonate = worker(store, asks, never_answers, pid="a")
        handle = resonate.options(timeout=timedelta(days=400)).run("asks", asks)
        driven = {
            "run_until": lambda: connection.run_until(handle, rounds=200),
            "advance": lambda: connection.advance(timedelta(days=300), rounds=200),
            "advance_to": lambda: connection.advance_to(300 * DAY, rounds=200),
        }
        with pytest.raises(Stalled) as stalled:
            await driven[how]()
        await resonate.stop()
        return str(stalled.value)

    message = play(main())
    assert message.startswith("retries kept the clock busy for 200 rounds, from t=0 to t=")
    assert re.search(r"task 'asks' on 'a' has failed \d+ times and waits \d+ s for its next attempt at t=\d+", message)
    assert message.endswith("retry_policy= of the client or of the function bounds the attempts; rounds= sets this limit")
    assert HOUR < store.now < DAY


def test_the_limit_of_retries_is_counted_only_while_a_function_waits_for_its_next_attempt():
    """A program that sleeps, or a schedule, may take longer than the limit."""
    store = manual_store()

    async def naps(ctx) -> str:
        for _ in range(30):
            await ctx.sleep(timedelta(minutes=1))
        return "awake"

    async def main():
        connection, resonate = worker(store, naps)
        result = await connection.run_until(resonate.run("naps", naps), rounds=1)
        await resonate.stop()
        return result

    assert play(main()) == "awake"


def test_without_a_limit_retries_end_with_the_promise():
    store = manual_store()

    async def main():
        connection, resonate = worker(store, asks, never_answers)
        with pytest.raises(Exception, match="timeout"):
            await connection.run_until(resonate.options(timeout=timedelta(hours=3)).run("asks", asks), rounds=None)
        for wrong in (0, -1):
            with pytest.raises(ValueError, match=f"rounds must be at least 1 or None, got {wrong}"):
                await connection.advance(1000, rounds=wrong)
        await resonate.stop()

    play(main())
    assert store.now >= 3 * HOUR
