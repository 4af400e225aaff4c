"""A workflow starts a child job, and tells the customer that the parcel is packed without waiting for it: the child fails.

Fixed: it awaits the child.
"""

from __future__ import annotations

from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import StepFailed, run
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    @worker.task("pack", max_retries=0)
    async def pack(order: str) -> None:
        outside.answers()
        outside.values["packed"] = True

    @worker.workflow("order")
    async def order(number: str) -> str:
        packing = pack.start(number)
        if mended:
            try:
                await packing
            except StepFailed:
                return "sold out"
        await run(outside.does, "mail: packed", number)
        return "packed"

    return order


def holds(outside: Outside, state: str, result: Any) -> None:
    assert result == "sold out" or outside.values.get("packed"), "the customer is told that it is packed"


PLAY = Play(declare, holds, faults={"processes": ["a", "b"]})
