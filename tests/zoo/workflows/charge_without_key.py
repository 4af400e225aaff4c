"""A step charges a card. The worker crashes after the charge and before its record, and the step charges again.

Fixed: the bank gets a key that was recorded before.
"""

from __future__ import annotations

from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import run, uuid4
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    @worker.workflow("order")
    async def order(number: str) -> str:
        key = str(await uuid4()) if mended else None
        await run(outside.does, "charge", key)
        return "charged"

    return order


def holds(outside: Outside, state: str, result: Any) -> None:
    assert outside.effects == ["charge"], f"charged {len(outside.effects)} times"


PLAY = Play(declare, holds)
