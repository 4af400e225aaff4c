"""A workflow waits an hour for a payment, then gives the seat to others. A payment that comes in between is taken, and no code looks at it.

Fixed: it closes the page for payments, looks a last time, and pays back.
"""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta
from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import receive, run
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


HOUR = timedelta(hours=1)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    async def release() -> None:
        await asyncio.sleep(60)
        outside.values["closed"] = True

    async def close() -> None:
        outside.values["closed"] = True

    async def pay_back() -> None:
        outside.values["paid"] = False

    @worker.workflow("seat")
    async def seat(number: str) -> str:
        paid = await receive("paid", type=bool, timeout=HOUR, default=False)
        if paid:
            return "sold"
        if mended:
            await run(close)
            if await receive("paid", type=bool, timeout=0, default=False):
                await run(pay_back)
        await run(release)
        return "released"

    return seat


def pay(store: Any, outside: Outside, mended: bool) -> None:
    if not outside.values.get("closed") and not outside.values.get("paid"):
        outside.values["paid"] = True
        store.workflows.send("workflow-1", "paid", True, key="payment")


async def customer(world: Any, outside: Outside, mended: bool) -> None:
    await asyncio.sleep(60 * random.randint(55, 64))
    pay(world.store, outside, mended)


def holds(outside: Outside, state: str, result: Any) -> None:
    assert bool(outside.values.get("paid")) == (result == "sold"), (
        f"the seat is {result}, and paid: {outside.values.get('paid', False)}"
    )


PLAY = Play(declare, holds, people=pay, customer=customer)
