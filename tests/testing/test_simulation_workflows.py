"""Workflows in a simulated system: crashes at every request, lost answers, clocks that differ, and what a crash must not run."""

from __future__ import annotations

import asyncio
import gc
from datetime import timedelta
from typing import Any

import pytest

from resonate_core.testing import Failure, ProcessStore, World, crash_at_every_request, explore, simulate
from resonate_core.worker import Worker
from resonate_core.workflow import blocking, gather, receive, run, sleep, step

FAULTS = {
    "lose_reply": 0.05,
    "lose_request": 0.05,
    "crash": 0.03,
    "delay": 0.1,
    "duplicate": 0.05,
    "busy": 0.05,
    "skew": 0.3,
    "partition": 0.01,
}


class Shop:
    """A shop with a workflow of each kind."""

    def __init__(self, with_key: bool = True) -> None:
        self.with_key = with_key
        self.charged: list[str] = []
        self.left: list[str] = []

    def charge(self, order: str) -> str:
        if not (self.with_key and order in self.charged):
            self.charged.append(order)
        return f"receipt of {order}"

    def make_worker(self, store: ProcessStore) -> Worker:
        worker = Worker(store)

        @step(retries=3)
        async def charge(order: str) -> str:
            await asyncio.sleep(0.5)
            return self.charge(order)

        @worker.task("pack", max_retries=100)
        async def pack(order: str) -> str:
            await asyncio.sleep(2)
            return f"parcel of {order}"

        @worker.workflow("async")
        async def fulfil(order: str) -> list[Any]:
            try:
                receipt = await charge(order)
                parcel, label = await gather(pack.call(order), run("label of {}".format, order))
                await sleep(timedelta(days=1))
                return [receipt, parcel, label, await receive("approval", type=str, timeout=timedelta(days=9), default="no")]
            finally:
                self.left.append("async")

        @worker.workflow("def")
        def fulfil_here(order: str) -> list[Any]:
            receipt = blocking.run(self.charge, order)
            parcel, label = blocking.gather(pack.start(order), blocking.start("label of {}".format, order))
            blocking.sleep(timedelta(days=1))
            return [receipt, parcel, label, blocking.receive("approval", type=str, timeout=timedelta(days=9), default="no")]

        return worker

    async def scenario(self, world: World, kind: str, **faults: Any) -> Any:
        """Run one order with two workers."""
        world.worker("a", self.make_worker)
        world.worker("b", self.make_worker)
        world.faults(**faults)
        await world.call("w", kind, "7")
        await world.sleep("2 days")
        world.store.jobs.send("w", "approval", "yes", key="mail")
        found = (await world.settled("w", within="60 days")).value.json()
        assert found == ["receipt of 7", "parcel of 7", "label of 7", "yes"]
        return found


@pytest.mark.parametrize("kind", ["async", "def"])
def test_workflows_run_with_all_faults(kind: str) -> None:
    for seed in range(60):
        shop = Shop()
        simulate(lambda world, shop=shop: shop.scenario(world, kind, **FAULTS), seed=seed)
        assert shop.charged == ["7"]


@pytest.mark.parametrize("kind", ["async", "def"])
def test_the_same_seed_gives_the_same_run(kind: str) -> None:
    for seed in range(10):
        simulate(lambda world: Shop().scenario(world, kind, **FAULTS), seed=seed, twice=True)


@pytest.mark.parametrize("kind", ["async", "def"])
def test_a_crash_at_every_request(kind: str) -> None:
    """In the first round before each request, then before or after it, with other schedules."""

    async def scenario(world: World) -> None:
        shop = Shop()
        await shop.scenario(world, kind, crash=0.01)
        assert shop.charged == ["7"]

    assert crash_at_every_request(scenario, rounds=3).runs > 40


@pytest.mark.parametrize("kind", ["async", "def"])
def test_a_crash_between_an_effect_and_its_record_is_found(kind: str) -> None:
    async def scenario(world: World) -> None:
        shop = Shop(with_key=False)
        await shop.scenario(world, kind, crash=0.01)
        assert shop.charged == ["7"], "charged twice"

    with pytest.raises(Failure, match="charged twice") as caught:
        explore(scenario, search="crash_everywhere", runs=300, seed=1, shrink=50)
    assert any("crashes before" in line and "job.record" in line for line in caught.value.story)


def test_a_crash_runs_no_code_of_a_workflow_that_waits() -> None:
    """A workflow that is parked when its process crashes is gone: no `finally` of it runs, not even when it is freed."""
    shop = Shop()

    async def scenario(world: World) -> None:
        world.worker("a", shop.make_worker)
        await world.call("w", "async", "7")
        await world.sleep("10 min")
        assert world.store.jobs.get("w").state == "waiting"
        world.crash("a")
        await world.sleep("1 s")
        gc.collect()
        assert shop.left == []

    simulate(scenario)
    gc.collect()
    assert shop.left == []


def test_a_worker_that_stops_unwinds_what_waits() -> None:
    shop = Shop()

    async def serve(store: ProcessStore) -> None:
        worker = shop.make_worker(store)
        serving = asyncio.ensure_future(worker.serve())
        await asyncio.sleep(600)
        worker.stop()
        await serving

    async def scenario(world: World) -> None:
        world.process("a", serve)
        world.store.jobs.enqueue("async", "7", id="w", lifecycle="workflow")
        await world.sleep("20 min")
        assert world.store.jobs.get("w").state == "waiting"
        assert shop.left == ["async"]

    simulate(scenario)
