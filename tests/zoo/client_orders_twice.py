"""A client sends an order, gets no reply for two seconds, and sends it again under a new id: the first one had arrived.

Fixed: the client chooses the id once.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import resonate_core as rc
from resonate_core.worker import Worker
from zoo.working import QUICK


async def buggy(world: Any) -> None:
    await orders(world, new_id=True)


async def fixed(world: Any) -> None:
    await orders(world, new_id=False)


async def orders(world: Any, *, new_id: bool) -> None:
    shipped: list[str] = []
    worker = Worker()

    @worker.task("ship", max_retries=50, retry_policy=QUICK)
    async def ship(sku: str) -> None:
        if sku not in shipped:
            shipped.append(sku)

    async def buy(store: Any) -> None:
        for number in range(20):
            sku = f"tea {number}" if new_id else "tea 0"
            order = store.aio.jobs.enqueue("ship", {"sku": sku}, id=f"order-{number if new_id else 0}", retry_policy=QUICK)
            with contextlib.suppress(asyncio.TimeoutError, rc.Unreachable):
                await asyncio.wait_for(order, timeout=2)
                return

    world.worker("a", worker)
    world.process("buyer", buy, restarts=False)
    world.faults(lose_reply=0.03, lose_request=0.03, busy=0.03)
    world.eventually("shipped", lambda: bool(shipped), within="1 day")
    world.always("shipped once", lambda: len(shipped) <= 1)
    await world.sleep("1 hour")
