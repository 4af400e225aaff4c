"""The faults that a simulation makes between a process and the store."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.testing import Choices
from resonate_core.testing.simulation import Faults, HistoryBroken, PropertyBroken, Run, run_scenario, simulate
from resonate_core.testing.simulation.linearizability import Operation, judge
from resonate_core.testing.simulation.spans import span


def simplest(scenario: Any) -> Run:
    return run_scenario(scenario, Choices.from_tape([]))


def outcome_of(sync: bool, **faults: Any) -> tuple[str, int]:
    """Returns what a process gets for one request that cannot be repeated, and the number of promises then."""

    async def program(store: Any) -> str:
        try:
            if sync:
                store.jobs.enqueue("t")
            else:
                await store.aio.jobs.enqueue("t")
        except rc.errors.ResonateError as error:
            return f"{type(error).__name__}: {error}"
        return "done"

    async def scenario(world):
        seen = []

        async def main(store: Any) -> None:
            seen.append(await program(store))

        world.faults(crash=0, **faults)
        world.process("p", main)
        await world.sleep("2 min")
        return seen[0], sum(each["counts"]["pending"] for each in world.store.queues.stats())

    return simulate(scenario, seed=1).value


@pytest.mark.parametrize("sync", [True, False])
def test_a_lost_request_is_not_executed_and_one_with_a_lost_reply_is(sync):
    assert outcome_of(sync, lose_request=1.0) == ("Unreachable: no reply to job.enqueue (simulated: the request was lost)", 0)
    assert outcome_of(sync, lose_reply=1.0) == ("Unreachable: no reply to job.enqueue (simulated: the reply was lost)", 1)
    assert outcome_of(sync) == ("done", 1)


def test_a_doubled_request_is_executed_twice():
    assert outcome_of(True, duplicate=1.0) == ("done", 2)


def test_a_busy_store_executes_nothing():
    assert outcome_of(True, busy=1.0) == ("StoreBusy: the store was busy (simulated)", 0)
    assert outcome_of(False, busy=1.0)[1] == 0


def test_a_request_that_can_be_repeated_is_repeated():
    async def program(store: Any) -> None:
        await store.aio.promises.create("p", timeout=10**9)

    async def scenario(world):
        world.faults(lose_reply=0.6, lose_request=0.2, busy=0.1)
        world.process("p", program)
        await world.sleep("2 min")
        return world.store.promises.get("p").state

    assert {simulate(scenario, seed=seed).value for seed in range(20)} == {"pending"}


def test_delays_reorder_the_requests_of_two_tasks():
    def first_of(seed: int) -> str:
        async def scenario(world):
            async def main(store: Any) -> None:
                await asyncio.gather(*(store.aio.promises.create(name, timeout=10**9) for name in "ab"))

            world.faults(delay=0.5, longest_delay="2 s")
            world.process("p", main)
            await world.sleep("1 min")
            created = {name: world.store.promises.get(name).created_at for name in "ab"}
            return min(created, key=lambda name: created[name])

        return simulate(scenario, seed=seed).value

    assert {first_of(seed) for seed in range(20)} == {"a", "b"}


def test_a_partition_lasts_and_ends():
    async def program(store: Any) -> None:
        await store.aio.promises.create("p", timeout=10**9)

    async def scenario(world):
        world.process("idle", world.sleep, "1 hour")
        world.process("p", program)
        world.partition("p", lasting="10 s")
        await world.sleep("9 s")
        with pytest.raises(rc.errors.NotFound):
            world.store.promises.get("p")
        await world.sleep("30 s")
        inside = world.store.promises.get("p").created_at
        with world.partition("idle"), pytest.raises(rc.errors.Invalid, match="got 'q'"):
            world.partition("q")
        return inside

    run = simplest(scenario)
    assert run.value >= 10_000
    assert "p: partitioned from the store for 10000 ms" in "\n".join(run.story)
    assert "p: the partition ends" in "\n".join(run.story)


def test_a_skewed_clock_moves_what_a_process_reads():
    read = []

    async def program(store: Any) -> None:
        await asyncio.sleep(10)
        read.append(store.now)
        await store.aio.promises.create("p", timeout=1000)

    async def scenario(world):
        world.process("p", program)
        world.skew("p", "5 s", behind=True)
        await world.sleep("11 s")
        return world.store.promises.get("p")

    promise = simplest(scenario).value
    assert read == [5000]
    assert (promise.created_at, promise.timeout_at, promise.state) == (6000, 6000, "rejected_timedout")


def test_faults_are_checked():
    faults = Faults().with_options(lose_reply=0.5, restart=timedelta(seconds=30), longest_delay="2 min", processes="a")
    assert (faults.restart, faults.longest_delay, faults.processes) == (30_000, 120_000, frozenset("a"))
    assert faults.concern("a")
    assert not faults.concern("b")
    with pytest.raises(rc.errors.Invalid, match="crash must be a probability from 0 to 1, got 2"):
        faults.with_options(crash=2)
    with pytest.raises(TypeError, match="there is no fault crashes; there are busy, crash,"):
        faults.with_options(crashes=0.1)
    with pytest.raises(
        rc.errors.Invalid, match="timeout must be a number and a unit such as '10 days', '5 s' or '250 ms', got 'soon'"
    ):
        faults.with_options(timeout="soon")


@pytest.mark.parametrize(
    ("given", "ms"),
    [
        ("10 days", 864_000_000),
        ("1.5s", 1500),
        ("2 weeks", 1_209_600_000),
        (7, 7),
        (timedelta(minutes=1), 60_000),
        ("3 min", 180_000),
    ],
)
def test_durations_are_numbers_texts_and_timedeltas(given, ms):
    assert span("within", given) == ms


def test_durations_that_are_none_are_refused():
    with pytest.raises(TypeError, match="within must be milliseconds, a timedelta or a text"):
        span("within", None)  # type: ignore[arg-type]
    with pytest.raises(rc.errors.Invalid, match="within must be at least 0 ms, got -1 ms"):
        span("within", -1)


# -- properties -------------------------------------------------------------------------------------------------------------------------


def test_what_must_always_hold_is_checked_after_each_step():
    async def scenario(world):
        balance = [0]
        world.always("no debt", lambda: balance[0] >= 0)
        await world.sleep("1 s")
        balance[0] = -1
        await world.sleep("1 s")
        balance[0] = 0

    with pytest.raises(PropertyBroken, match="always 'no debt': it does not hold at t=1000"):
        simplest(scenario)


def test_what_must_hold_some_time_keeps_the_run_going():
    async def scenario(world, late: int = 30):
        done = []
        asyncio.get_running_loop().call_later(late, done.append, 1)
        world.eventually("done", lambda: done, within="1 min")

    assert simplest(scenario).now == 30_000

    async def too_late(world):
        await scenario(world, 90)

    with pytest.raises(PropertyBroken, match="eventually 'done': it did not hold within 60000 ms, until t=60000"):
        simplest(too_late)


def test_the_invariants_of_the_store_are_checked():
    async def scenario(world):
        assert world.store.check() == []
        snapshot = world.store.snapshot()
        assert snapshot["promises"] == []

    simplest(scenario)


def test_an_order_explains_a_history_or_there_is_none():
    async def scenario(world):
        world.judge_histories()
        world.faults(lose_reply=0.1, lose_request=0.1, delay=0.3, duplicate=0.1, crash=0.01)

        async def client(store: Any, number: int) -> None:
            for _ in range(4):
                await store.aio.promises.create("p", timeout_at=10**12, param=1)
                with contextlib.suppress(rc.errors.ResonateError):
                    await store.aio.promises.resolve("p", number)
                await store.aio.promises.get("p")

        for number in range(3):
            world.process(f"c{number}", client, number)
        await world.sleep("3 min")
        return world

    for seed in range(5):
        assert simulate(scenario, seed=seed).value._histories.judged == 1


def test_an_answer_that_is_too_old_is_found():
    class Register:
        def __init__(self, value: int = 0) -> None:
            self.value = value

        def fork(self) -> Register:
            return Register(self.value)

        def state(self) -> int:
            return self.value

        def apply(self, request: Any) -> int:
            self.value = request if request is not None else self.value
            return self.value

    write = Operation("a", 0, 1, 1, 1)
    assert judge([write, Operation("b", 2, 3, None, 1)], Register()) == [write, Operation("b", 2, 3, None, 1)]
    with pytest.raises(HistoryBroken, match="no order of these 2 requests"):
        judge([write, Operation("b", 2, 3, None, 0)], Register())
    lost = Operation("a", 0, None, 1)
    assert len(judge([lost, Operation("b", 2, 3, None, 0)], Register())) == 1  # never executed
    assert len(judge([lost, Operation("b", 2, 3, None, 1)], Register())) == 2  # executed, without an answer
