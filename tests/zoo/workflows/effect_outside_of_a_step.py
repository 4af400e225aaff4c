"""A `def` workflow writes to a ledger in its own code: each replay writes again.

Fixed: a step writes, with a key.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import blocking
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    @worker.workflow("order")
    def order(number: str) -> None:
        if mended:
            blocking.run(outside.does, "ledger", number)
        else:
            outside.does("ledger")
        blocking.sleep(timedelta(days=1))

    return order


def holds(outside: Outside, state: str, result: Any) -> None:
    assert outside.effects == ["ledger"], f"written {len(outside.effects)} times"


PLAY = Play(declare, holds)
