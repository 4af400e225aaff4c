"""A step with retries sends a mail. The mail server's answer is lost, and the retry sends the mail again.

Fixed: the mail has the order's id as its key, and the server does not send it twice.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import step
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    @step(retries=20, backoff=timedelta(seconds=1))
    async def mail(number: str) -> None:
        outside.does("mail", number if mended else None)
        outside.answers()

    @worker.workflow("order")
    async def order(number: str) -> None:
        await mail(number)

    return order


def holds(outside: Outside, state: str, result: Any) -> None:
    assert outside.effects == ["mail"], f"mailed {len(outside.effects)} times"


PLAY = Play(declare, holds)
