"""Processes of a simulation: workers, programs and coroutines run unchanged, crash without running `finally`, and restart."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import warnings
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.testing import Choices
from resonate_core.testing.simulation import ProcessStore, PropertyBroken, Run, run_scenario, simulate
from resonate_core.worker import JobContext, Worker


def simplest(scenario: Any) -> Run:
    return run_scenario(scenario, Choices.from_tape([]))


def greeter(store: Any) -> Worker:
    worker = Worker(store)

    @worker.task("greet")
    async def greet(name: str) -> str:
        await asyncio.sleep(2)
        return f"hello {name}"

    @worker.task("add")
    def add(a: int, b: int) -> int:
        return a + b

    return worker


def test_handlers_of_both_kinds_run():
    async def scenario(world):
        world.worker("a", greeter)
        await world.call("g", "greet", "ada")
        await world.call("s", "add", 1, b=2)
        results = [(await world.settled(id, within="1 min")).value.json() for id in ("g", "s")]
        return results, world.now

    assert simplest(scenario).value == (["hello ada", 3], 2000)


shop = Worker(queues=["default", "mail"])


@shop.task("order", max_retries=3, retry_policy={"kind": "fixed", "intervals": [1000]})
async def order(name: str, job: JobContext) -> str:
    if job.attempt == 1:
        raise ValueError("again")
    await mail.delay_async(name)
    return f"{name} by {job.worker}"


@shop.task("mail", queue="mail")
def mail(name: str) -> str:
    return f"mail to {name}"


def test_a_worker_of_a_module_runs_in_several_processes_at_once():
    async def scenario(world):
        world.worker("a", shop)
        world.worker("b", shop)
        for number in range(8):
            await world.call(f"o{number}", order, f"n{number}")
        done = [(await world.settled(f"o{number}", within="1 min")).value.json() for number in range(8)]
        await world.sleep("1 s")
        return {text.partition(" by ")[2] for text in done}, world.store.queues.get("mail")["name"]

    workers: set[str] = set()
    for seed in range(10):
        found, queue = simulate(scenario, seed=seed).value
        workers |= found
        assert queue == "mail"
    assert workers == {"a", "b"}
    assert not shop.is_bound


def test_idle_workers_cost_nothing_for_ten_days():
    async def scenario(world):
        for number in range(10):
            world.worker(f"w{number}", greeter)
        await world.sleep("10 days")
        await world.call("g", "greet", "ada")
        await world.settled("g", within="1 min")

    assert simplest(scenario).steps < 500


def test_a_lease_is_renewed_while_a_handler_runs():
    ran = []

    def slow(store: Any) -> Worker:
        worker = Worker(store, lease=3000)

        @worker.task("slow")
        async def run() -> None:
            ran.append(1)
            await asyncio.sleep(300)

        return worker

    async def scenario(world):
        world.worker("a", slow)
        world.worker("b", slow)
        await world.call("s", "slow")
        await world.settled("s", within="10 min")

    simulate(scenario, seed=3)
    assert ran == [1]


def test_nothing_of_a_crashed_process_runs_any_more():
    left: list[str] = []

    @contextlib.contextmanager
    def managed(name: str):
        try:
            yield
        finally:
            left.append(f"manager {name}")

    @contextlib.asynccontextmanager
    async def managed_async(name: str):
        try:
            yield
        finally:
            left.append(f"async manager {name}")

    async def numbers():
        try:
            while True:
                yield 1
                await asyncio.sleep(1)
        finally:
            left.append("generator")

    async def inner(name: str) -> None:
        try:
            with managed(name):
                async with managed_async(name), contextlib.AsyncExitStack() as stack:
                    stack.enter_context(managed(f"{name} of a stack"))
                    async for _ in numbers():
                        pass
        except BaseException as error:
            left.append(f"{name} got {error!r}")
            raise
        finally:
            left.append(f"finally of {name}")

    async def program() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(inner("one"), inner("two"), asyncio.wait_for(inner("three"), 100_000))

    async def scenario(world):
        world.process("p", program)
        await world.sleep("5 s")
        asyncio.get_running_loop().create_task(inner("of the scenario itself"))
        await world.sleep("5 s")
        world.crash("p")
        gc.collect()
        await world.sleep("10 min")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(scenario, seed=1)
        gc.collect()
    assert left == []


def test_a_crash_between_two_statements_leaves_the_first():
    did: list[str] = []

    async def program(store: ProcessStore) -> None:
        did.append("before")
        await store.aio.promises.create("p", timeout=60_000)
        did.append("after")

    async def scenario(world):
        world.faults(crash=1.0, restart=None)
        world.process("p", program)
        await world.sleep("1 min")
        return world.store.counts()["promises"]

    outcomes = {tuple(sorted(simulate(scenario, seed=seed).value.items())) for seed in range(20)}
    assert len(outcomes) == 2  # the crash was before the request, or after it
    assert set(did) == {"before"}


def test_a_crashed_process_restarts_and_its_job_runs_again():
    charges: list[str] = []

    def make(store: Any) -> Worker:
        worker = Worker(store, lease=10_000)

        @worker.task("charge")
        async def charge(card: str) -> None:
            charges.append(card)
            await asyncio.sleep(5)

        return worker

    async def scenario(world):
        world.worker("a", make)
        await world.call("c", "charge", "visa")
        await world.sleep("1 s")
        world.crash("a")
        await world.settled("c", within="10 min")

    run = simplest(scenario)
    assert charges == ["visa", "visa"]
    assert [line.split("  ")[1] for line in run.story if "crash" in line or "again" in line] == ["a: crashes", "a: starts again"]
    assert any("the lease of job c expires" in line for line in run.story)
    assert [event["kind"] for event in run.events] == ["crash", "deploy"]


def test_a_double_charge_is_found_and_a_mended_one_is_not():
    def scenario_of(idempotent: bool) -> Any:
        async def scenario(world):
            charges: dict[str, int] = {}

            def make(store: Any) -> Worker:
                worker = Worker(store, lease=10_000)

                @worker.task("book")
                async def book(order: str) -> str:
                    if not idempotent or order not in charges:
                        charges[order] = charges.get(order, 0) + 1
                    await asyncio.sleep(1)
                    return "booked"

                return worker

            world.worker("a", make)
            world.worker("b", make)
            world.faults(lose_reply=0.05, crash=0.05)
            world.always("charged once", lambda: charges.get("order-1", 0) <= 1)
            await world.call("order-1", "book", "order-1")
            await world.settled("order-1", within="10 days")

        return scenario

    failed = None
    for seed in range(200):
        try:
            simulate(scenario_of(idempotent=False), seed=seed)
        except PropertyBroken as error:
            failed = error
            break
    assert failed is not None
    assert "charged once" in str(failed)
    run = failed.__resonate_run__
    assert any("claims and starts order-1, attempt 2" in line for line in run.story)
    for seed in range(60):
        simulate(scenario_of(idempotent=True), seed=seed)


def test_a_process_that_loses_the_store_is_started_again_and_one_with_a_bug_fails_the_run():
    starts: list[int] = []

    async def unlucky(store: ProcessStore) -> None:
        starts.append(1)
        if len(starts) < 3:
            store.promises.create("p", timeout=1000)  # a request that is made once

    async def lost(world):
        starts.clear()
        world.faults(lose_request=1.0)
        world.process("p", unlucky)
        await world.sleep("5 min")

    simulate(lost, seed=1)
    assert len(starts) == 3

    async def broken() -> None:
        raise KeyError("bug")

    async def scenario(world):
        world.process("p", broken)
        await world.sleep("1 s")

    with pytest.raises(KeyError, match="bug"):
        simplest(scenario)


def test_processes_have_names_of_their_own():
    async def twice(world):
        world.process("p", world.sleep, 5)
        world.process("p", world.sleep, 5)

    with pytest.raises(rc.errors.Invalid, match="name must be one that no other process has, got 'p'"):
        simplest(twice)

    async def unknown(world):
        world.process("p", world.sleep, 5)
        world.crash("q")

    with pytest.raises(rc.errors.Invalid, match="name must be one of the processes p, got 'q'"):
        simplest(unknown)

    async def no_worker(world):
        world.worker("a", lambda: 5)

    with pytest.raises(TypeError, match="make_worker must return a Worker, got 5"):
        simplest(no_worker)

    async def no_task(world):
        await world.call("x", "nothing")

    with pytest.raises(rc.errors.Invalid, match="what must be a task"):
        simplest(no_task)


def test_a_job_that_does_not_settle_says_how_it_stands():
    async def scenario(world):
        world.worker("a", greeter)
        await world.call("g", "greet", "ada")
        world.crash("a")
        await world.settled("g", within="1 ms")

    with pytest.raises(AssertionError, match=r"'g' is not settled within 1 ms: Job\(id='g'.*"):
        simplest(scenario)


def test_waits_end_with_a_deadline_that_no_step_marks():
    async def waiting(store: ProcessStore) -> None:
        ended.append((await store.aio.wait("p")).state)
        with pytest.raises(TimeoutError):
            await store.aio.wait("later", timeout=5)

    ended: list[str] = []

    async def scenario(world):
        world.store.promises.create_many(["p", "q"], 10 * 86_400_000)
        world.store.promises.create("later", timeout=10**12)
        world.process("w", waiting)
        direct = (await world.store.aio.wait("q")).state
        await world.settled("p", within="1 s")
        await world.sleep("10 s")
        return direct

    run = simplest(scenario)
    assert run.value == "rejected_timedout"
    assert ended == ["rejected_timedout"]
    assert run.steps < 100


def test_a_run_leaves_no_open_descriptor():
    async def scenario(world):
        for name in "abc":
            world.worker(name, greeter)
        await world.sleep("1 s")
        world.crash("a")
        await world.sleep("2 min")

    def descriptors() -> int:
        return len(os.listdir("/dev/fd"))

    simulate(scenario)
    gc.disable()
    try:
        before = descriptors()
        for seed in range(5):
            simulate(scenario, seed=seed)
        assert descriptors() == before
    finally:
        gc.enable()
