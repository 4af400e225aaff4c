"""The speed of simulated systems, in processor time: ``python -m bench.simulation``."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable
from typing import Any

import resonate_core as rc
from resonate_core.testing import World, simulate
from resonate_core.worker import Worker

#: Read before a simulation replaces the clocks of the module.
_processor_time = time.process_time


class Jobs:
    """No-op jobs of an asynchronous handler.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.done = 0
        self.took = 0.0
        self.steps = 0

    def fill(self, store: Any) -> None:
        """Enqueue them, and begin to measure."""
        self.done = 0
        for _ in range(self.count // 100):
            store.jobs.enqueue_many("job", [{}] * 100)
        self.began = _processor_time()

    def worker(self, store: Any) -> Worker:
        """Return a worker that runs them, and stops after the last one."""
        worker = Worker(store)

        @worker.task("job")
        async def job() -> None:
            self.done += 1
            if self.done == self.count:
                self.took = _processor_time() - self.began
                worker.stop()

        return worker

    def simulated(self, workers: int) -> float:
        """Return the runs per second of processor time in a simulation."""

        async def scenario(world: World) -> None:
            self.fill(world.store)
            for number in range(workers):
                world.worker(f"w{number}", self.worker)
            while self.done < self.count:
                await world.sleep("1 s")

        self.steps = simulate(scenario, seed=1).steps
        return self.count / self.took

    def real(self) -> float:
        """Return the runs per second of processor time of a worker in asyncio."""
        store = rc.Store()
        self.fill(store)
        asyncio.run(self.worker(store).serve())
        return self.count / self.took


def steps_per_second(run: Callable[[Callable[[], Any]], Any], times: int = 5000) -> float:
    """Return how often per second of processor time ten tasks yield."""

    async def yields() -> None:
        for _ in range(times):
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(yields() for _ in range(10)))

    began = _processor_time()
    run(main)
    return 10 * times / (_processor_time() - began)


def runs_per_second(count: int = 100) -> float:
    """Return the runs of a small scenario per second of processor time."""

    def make(store: Any) -> Worker:
        worker = Worker(store)

        @worker.task("book")
        async def book() -> None:
            await asyncio.sleep(1)

        return worker

    async def scenario(world: World) -> None:
        world.worker("a", make)
        world.worker("b", make)
        world.faults(lose_reply=0.05, crash=0.02)
        await world.call("order-1", "book")
        await world.settled("order-1", within="10 days")

    began = _processor_time()
    for seed in range(count):
        simulate(scenario, seed=seed)
    return count / (_processor_time() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    best: dict[str, float] = {}

    def note(name: str, value: float) -> None:
        best[name] = max(best.get(name, 0.0), value)

    for _ in range(given.rounds):
        jobs = Jobs(given.jobs)
        note("job runs, a worker in asyncio", jobs.real())
        note("job runs, 1 simulated worker (target 10,000)", jobs.simulated(1))
        note("job runs, 10 simulated workers", jobs.simulated(10))
        note("steps of 10 simulated workers", jobs.steps / jobs.took)
        note("steps of 10 tasks, asyncio", steps_per_second(lambda program: asyncio.run(program())))
        note("steps of 10 tasks, simulated", steps_per_second(lambda program: simulate(lambda world: program())))
        note("runs of a scenario of 2 workers, a job and faults", runs_per_second())
    for name, value in best.items():
        print(f"{name:50} {value:>12,.0f} per second of processor time")


if __name__ == "__main__":
    main()
