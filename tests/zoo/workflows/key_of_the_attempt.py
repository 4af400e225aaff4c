"""A step draws its idempotency key itself: another attempt, after a crash, has another key, and the bank charges again.

Fixed: the workflow draws the key, which is recorded.
"""

from __future__ import annotations

import uuid
from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import step, uuid4
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    @step(retries=2)
    async def charge(key: str | None) -> None:
        outside.does("charge", key or str(uuid.uuid4()))

    @worker.workflow("order")
    async def order(number: str) -> None:
        await charge(str(await uuid4()) if mended else None)

    return order


def holds(outside: Outside, state: str, result: Any) -> None:
    assert outside.effects == ["charge"], f"charged {len(outside.effects)} times"


PLAY = Play(declare, holds)
