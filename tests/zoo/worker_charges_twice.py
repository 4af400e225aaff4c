"""A handler charges a card and returns. The worker crashes, or the reply of its completion is lost for long, and the job runs again.

Fixed: the bank is given the id of the job as an idempotency key. The whole system runs: two workers, a client, a network with faults.
"""

from __future__ import annotations

import asyncio
from typing import Any

from resonate_core.worker import JobContext, Worker
from zoo.working import QUICK


async def buggy(world: Any) -> None:
    await shop(world, with_key=False)


async def fixed(world: Any) -> None:
    await shop(world, with_key=True)


async def shop(world: Any, *, with_key: bool) -> None:
    charges: list[str] = []
    worker = Worker()

    @worker.task("charge", max_retries=50, retry_policy=QUICK)
    async def charge(amount: int, job: JobContext) -> str:
        await asyncio.sleep(1)  # the bank
        if not (with_key and job.id in charges):
            charges.append(job.id)
        return "charged"

    world.worker("a", worker)
    world.worker("b", worker)
    world.faults(lose_reply=0.02, crash=0.02)
    world.always("charged once", lambda: len(charges) <= 1)
    await world.call("order-1", charge, 30)
    await world.settled("order-1", within="1 day")
    assert charges == ["order-1"]
