"""The branches of a gather append to a list, and the workflow takes its first item: in a replay the branches end in another order.

Fixed: the results of the gather, which are in the order of its branches.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import gather, run, sleep
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    async def ask(vendor: str) -> str:
        await asyncio.sleep(0.02 if vendor == "slow" else 0.01)
        return vendor

    @worker.workflow("order")
    async def order(number: str) -> str:
        quotes: list[str] = []

        async def quote(vendor: str) -> str:
            found = await run(ask, vendor)
            quotes.append(found)
            return found

        answers = await gather(quote("slow"), quote("fast"))
        await run(outside.does, f"order at {answers[1] if mended else quotes[0]}", number)
        await sleep(timedelta(days=1))
        return answers[1] if mended else quotes[0]

    return order


def holds(outside: Outside, state: str, result: Any) -> None:
    assert outside.effects == [f"order at {result}"], f"{outside.effects}, and paid is {result}"


PLAY = Play(declare, holds)
