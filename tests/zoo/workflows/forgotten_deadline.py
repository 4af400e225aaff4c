"""A workflow waits for the customer's answer without a timeout: if none comes, the reserved seat is never sold.

Fixed: no answer in three days counts as no.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import receive
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    @worker.workflow("order")
    async def order(number: str) -> str:
        if mended:
            return await receive("answer", type=str, timeout=timedelta(days=3), default="no")
        return await receive("answer", type=str)

    return order


def holds(outside: Outside, state: str, result: Any) -> None:
    assert result == "no"


PLAY = Play(declare, holds)
