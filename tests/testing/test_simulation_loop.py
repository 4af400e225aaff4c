"""The event loop of a simulation: the next callback is drawn, time jumps, and the rules of asyncio hold."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any

import pytest

from resonate_core.testing import Choices
from resonate_core.testing.simulation import NotSimulated, Run, Stuck, run_scenario, simulate


def simplest(scenario: Any, **options: Any) -> Run:
    """A run in which every choice is the simplest one: there are no faults, and the oldest callback is the next."""
    return run_scenario(scenario, Choices.from_tape([]), **options)


def test_the_simplest_order_is_that_of_asyncio():
    async def main(world=None):
        order: list[str] = []

        async def work(name: str) -> None:
            for step in range(3):
                order.append(f"{name}{step}")
                await asyncio.sleep(0)

        loop = asyncio.get_running_loop()
        loop.call_soon(order.append, "soon")
        await asyncio.gather(work("a"), work("b"), work("c"))
        loop.call_later(0.002, order.append, "late")
        loop.call_later(0.001, order.append, "early")
        await asyncio.sleep(0.01)
        return order

    assert simplest(main).value == asyncio.run(main())


def test_tasks_run_in_many_orders_and_callbacks_in_one():
    tasks, callbacks = set(), set()

    async def scenario(world):
        seen: list[int] = []
        ran: list[int] = []

        async def work(number: int) -> None:
            ran.append(number)

        loop = asyncio.get_running_loop()
        for number in range(4):
            loop.call_soon(seen.append, number)
        await asyncio.gather(*(work(number) for number in range(4)))
        await asyncio.sleep(0.001)
        tasks.add(tuple(ran))
        callbacks.add(tuple(seen))

    for seed in range(60):
        simulate(scenario, seed=seed)
    assert len(tasks) > 12  # of 24
    assert callbacks == {(0, 1, 2, 3)}


def test_time_jumps_to_what_is_next():
    async def scenario(world):
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(3600.5)
        assert world.now == 3_600_500
        assert asyncio.get_running_loop().time() - began == 3600.5
        await world.sleep("10 days")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 2)
        return world.now

    run = simplest(scenario)
    assert run.value == 3_600_500 + 864_000_000 + 2000
    assert run.steps < 50


def test_due_steps_of_the_store_run_at_their_instants():
    async def scenario(world):
        world.store.promises.create("t", timeout=500, tags={"resonate:timer": "true"})
        await world.sleep(499)
        before = world.store.promises.get("t").state
        await world.sleep(2)
        return before, world.store.promises.get("t").state, world.store.promises.get("t").settled_at

    assert simplest(scenario).value == ("pending", "resolved", 500)


def test_a_fraction_of_a_microsecond_is_no_endless_loop():
    async def scenario(world):
        loop = asyncio.get_running_loop()
        until = loop.time() + 0.0000004 + 0.1
        while loop.time() < until:
            await asyncio.sleep(until - loop.time())

    assert simplest(scenario, most_steps=100).steps < 20


def test_a_scenario_that_waits_for_nothing_is_stuck():
    async def scenario(world):
        await asyncio.Event().wait()

    with pytest.raises(Stuck, match="nothing will ever happen again after t=0"):
        simplest(scenario)


def test_a_process_that_never_waits_ends_the_run():
    async def scenario(world):
        while True:
            await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="more than 500 steps"):
        simplest(scenario, most_steps=500)


def test_sets_of_tasks_and_futures_have_one_order():
    async def scenario(world):
        loop = asyncio.get_running_loop()
        made = [loop.create_task(asyncio.sleep(1), name=str(number)) for number in range(20)]
        futures = [loop.create_future() for _ in range(20)]
        order = [task.get_name() for task in set(made)], [futures.index(each) for each in set(futures)]
        await asyncio.wait(made)
        return order

    first = simplest(scenario).value
    ballast = [object() for _ in range(1000)]  # other addresses
    assert simplest(scenario).value == first
    assert ballast


def test_functions_of_executors_run_as_steps():
    async def scenario(world):
        loop = asyncio.get_running_loop()
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)
        return await asyncio.to_thread(sum, [1, 2]), await loop.run_in_executor(None, max, 3, 4)

    assert simplest(scenario).value == (3, 4)


def test_an_error_of_a_callback_is_the_failure_of_the_run():
    def broken() -> None:
        raise KeyError("callback")

    async def scenario(world):
        asyncio.get_running_loop().call_soon(broken)
        await world.sleep(1)

    with pytest.raises(KeyError, match="callback"):
        simplest(scenario)


def test_what_is_cancelled_does_not_run():
    async def scenario(world):
        loop, ran = asyncio.get_running_loop(), []
        loop.call_soon(ran.append, 1).cancel()
        timer = loop.call_later(1, ran.append, 2)
        loop.call_soon(ran.append, 3)
        timer.cancel()
        task = loop.create_task(asyncio.sleep(5))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await world.sleep("1 min")
        return ran, task.cancelled()

    assert simplest(scenario).value == ([3], True)


def test_asynchronous_generators_work():
    async def numbers():
        for number in range(3):
            await asyncio.sleep(1)
            yield number

    async def scenario(world):
        async for number in numbers():
            if number == 1:
                break
        return [number async for number in numbers()], world.now

    assert simplest(scenario).value == ([0, 1, 2], 5000)


def test_a_pipe_of_the_process_wakes_and_a_socket_is_refused():
    async def scenario(world):
        loop = asyncio.get_running_loop()
        reader, writer = os.pipe()
        read = loop.create_future()
        loop.add_reader(reader, lambda: (loop.remove_reader(reader), read.set_result(os.read(reader, 9))))
        loop.call_later(1, os.write, writer, b"!")
        heard = await read
        os.close(reader)
        os.close(writer)
        with socket.socket() as real, pytest.raises(NotSimulated, match=r"no pipe(.|\n)*test_simulation_loop.py:\d+"):
            loop.add_reader(real, print)
        with pytest.raises(NotSimulated, match="create_connection"):
            await loop.create_connection(asyncio.Protocol, "example.org", 80)
        return heard

    assert simplest(scenario).value == b"!"


def test_a_simulation_runs_inside_of_another_event_loop():
    async def scenario(world):
        await world.sleep("1 day")
        return world.now

    async def notebook():
        outer = asyncio.get_running_loop()
        value = simplest(scenario).value
        assert asyncio.get_running_loop() is outer
        await asyncio.sleep(0)
        return value

    assert asyncio.run(notebook()) == 86_400_000
