"""A worker runs several jobs at once. Each reads the balance, awaits a check, and writes the balance that it has read: updates are lost.

Fixed: a lock around the two.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from resonate_core.worker import JobContext, Worker
from zoo.working import QUICK


async def buggy(world: Any) -> None:
    await deposits(world, locked=False)


async def fixed(world: Any) -> None:
    await deposits(world, locked=True)


async def deposits(world: Any, *, locked: bool) -> None:
    account: dict[str, Any] = {"balance": 0, "booked": set()}
    lock = asyncio.Lock()
    worker = Worker(concurrency=3)

    @worker.task("deposit", max_retries=50, retry_policy=QUICK)
    async def deposit(amount: int, job: JobContext) -> None:
        async with AsyncExitStack() as stack:
            if locked:
                await stack.enter_async_context(lock)
            balance = account["balance"]
            await asyncio.sleep(0.1)  # is it allowed?
            if job.id not in account["booked"]:
                account["booked"].add(job.id)
                account["balance"] = balance + amount

    world.worker("a", worker)
    world.faults(delay=0.2, busy=0.02)
    ids = [f"deposit-{number}" for number in range(3)]
    for id in ids:
        await world.call(id, deposit, 10)
        await world.sleep("1 s")
    for id in ids:
        await world.settled(id, within="1 day")
    assert account["balance"] == 30, f"the balance is {account['balance']}, deposited were 30"
