"""A system that uses every part of a simulation, and the digest of its traces. Run as a program: ``simulated_shop.py FIRST LAST``."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from typing import Any

from resonate_core.testing import Choices
from resonate_core.testing.simulation import run_scenario
from resonate_core.worker import JobContext, Worker

shop = Worker(queues={"default": 3, "mail": 1}, concurrency=3)


@shop.task("order", max_retries=5)
async def order(name: str, job: JobContext) -> str:
    await asyncio.gather(*(asyncio.sleep(number) for number in range(3)))
    if job.attempt < 2:
        raise ValueError("again")
    await mail.delay_async(name)
    return "ok"


@shop.task("mail", queue="mail")
def mail(name: str) -> str:
    return name


async def timers(store: Any) -> None:
    for number in range(3):
        await store.aio.promises.create(f"timer-{number}", timeout=5000 + number, tags={"resonate:timer": "true"})
        await asyncio.sleep(1)
    await store.aio.result("timer-2")


async def scenario(world: Any) -> str:
    world.worker("a", shop)
    world.worker("b", shop)
    world.judge_histories()
    world.faults(
        lose_reply=0.05, lose_request=0.05, delay=0.1, duplicate=0.05, reorder=0.1, busy=0.02, partition=0.01, skew=0.3, crash=0.02
    )
    world.process("timers", timers)
    for number in range(3):
        await world.call(f"order-{number}", order, f"n{number}")
    states = [(await world.settled(f"order-{number}", within="10 days")).state for number in range(3)]
    return ",".join(states)


def digest(seed: int) -> str:
    choices = Choices.from_seed(seed)
    try:
        run = run_scenario(scenario, choices)
        lines = [*run.trace, run.value]
    except Exception as error:
        lines = [*error.__resonate_run__.trace, repr(error)]  # type: ignore[attr-defined]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


if __name__ == "__main__":
    print("\n".join(digest(seed) for seed in range(int(sys.argv[1]), int(sys.argv[2]))))
