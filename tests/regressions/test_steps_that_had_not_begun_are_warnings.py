"""A step with a timeout whose job was lost, or whose process crashed in a simulation, just before it began left a warning that its coroutine
was never awaited."""

from __future__ import annotations

import gc
import warnings

from resonate_core.testing import World, explore
from resonate_core.worker import Worker
from resonate_core.workflow import step


def test_a_step_with_a_timeout() -> None:
    async def world_of(world: World) -> None:
        def make(store: object) -> Worker:
            worker = Worker(store, lease=10_000)

            @step(timeout=5_000)
            async def work() -> None:
                await world.sleep(1)

            @worker.workflow("flow")
            async def flow() -> None:
                for _ in range(5):
                    await work()

            return worker

        world.worker("a", make)
        world.faults(crash=0.2)
        world.store.jobs.enqueue("flow", None, id="a", lifecycle="workflow")
        await world.settled("a", within="10 days")

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        explore(world_of, runs=40, seed=1)
        gc.collect()
    assert [str(one.message) for one in seen] == []
