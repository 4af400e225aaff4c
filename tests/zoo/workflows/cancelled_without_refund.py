"""A workflow pays back in its cleanup. It is cancelled while it waits, and then no cleanup runs.

Fixed: the customer's regret is a message, and the workflow pays back when it comes.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import receive, run, sleep
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    @worker.workflow("order")
    async def order(number: str) -> str:
        await run(outside.does, "charge", "charge")
        if mended:
            if await receive("regret", type=bool, timeout=timedelta(days=1), default=False):
                await run(outside.does, "refund", "refund")
                return "cancelled"
            return "shipped"
        try:
            await sleep(timedelta(days=1))
        except asyncio.CancelledError:
            outside.does("refund", "refund")
            raise
        return "shipped"

    return order


def regret(store: Any, outside: Outside, mended: bool) -> None:
    if "charge" in outside.effects and store.jobs.get("workflow-1").state == "waiting":
        if mended:
            store.workflows.send("workflow-1", "regret", True, key="regret")
        else:
            store.workflows.cancel("workflow-1")


def holds(outside: Outside, state: str, result: Any) -> None:
    if state == "cancelled" or result == "cancelled":
        assert outside.effects == ["charge", "refund"], f"the order is cancelled, and the customer has {outside.effects}"


PLAY = Play(declare, holds, people=regret)
