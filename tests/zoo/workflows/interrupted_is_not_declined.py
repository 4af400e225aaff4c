"""A charge runs at most once. Its worker crashes, and the workflow takes the interrupted charge for one that was declined: the money is kept.

Fixed: it asks the bank whether it has charged, and charges with a key if not.
"""

from __future__ import annotations

import asyncio
from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import StepFailed, StepInterrupted, run, step
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    @step(at_most_once=True)
    async def charge(order: str) -> None:
        await asyncio.sleep(0.5)
        outside.does("charge")

    async def was_charged() -> bool:
        return "charge" in outside.effects

    @worker.workflow("order")
    async def order(number: str) -> str:
        try:
            await charge(number)
        except StepInterrupted:
            if not mended:
                return "declined"
            if not await run(was_charged):
                await run(outside.does, "charge", number)
        except StepFailed:
            return "declined"
        return "sold"

    return order


def holds(outside: Outside, state: str, result: Any) -> None:
    assert (outside.effects == ["charge"]) == (result == "sold"), f"the order is {result}, and {outside.effects}"


PLAY = Play(declare, holds)
