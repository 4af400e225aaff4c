"""A worker is cut off from the store for longer than its lease, and cancels its job. The upload is shielded from the cancellation: it ends
later, and overwrites what another worker wrote.

Fixed: the file server keeps the highest attempt of the job, and refuses a lower one.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

from resonate_core.worker import JobContext, Worker
from zoo.working import QUICK


async def buggy(world: Any) -> None:
    await publish(world, fenced=False)


async def fixed(world: Any) -> None:
    await publish(world, fenced=True)


async def publish(world: Any, *, fenced: bool) -> None:
    page = {"attempt": 0}
    older: list[int] = []

    async def upload(attempt: int) -> None:
        await asyncio.sleep(random.randint(1, 60))  # drawn from the choices of the run
        if attempt < page["attempt"]:
            if fenced:
                return
            older.append(attempt)
        page["attempt"] = attempt

    def make_worker(store: Any) -> Worker:
        worker = Worker(store, lease=10_000)

        @worker.task("render", max_retries=50, retry_policy=QUICK)
        async def render(job: JobContext) -> None:
            await asyncio.shield(upload(job.attempt))

        return worker

    world.worker("a", make_worker)
    world.worker("b", make_worker)
    world.faults(partition=0.05, longest_partition="2 min")
    world.always("no older page", lambda: not older)
    await world.call("page", "render")
    await world.settled("page", within="1 day")
    await world.sleep("5 min")
