"""A step enqueues a job by `delay`: if its worker crashes before the step is recorded, it enqueues the job again.

Fixed: `start` makes a child job, whose id is that of the call.
"""

from __future__ import annotations

from typing import Any

from resonate_core.worker import JobContext, Worker
from resonate_core.workflow import run
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    @worker.task("label", max_retries=50)
    async def label(order: str, job: JobContext) -> None:
        outside.does("label", job.id)

    async def enqueue(order: str) -> None:
        await label.delay_async(order)

    @worker.workflow("order")
    async def order(number: str) -> None:
        if mended:
            await label.call(number)
        else:
            await run(enqueue, number)

    return order


def holds(outside: Outside, state: str, result: Any) -> None:
    assert len(outside.effects) <= 1, f"{len(outside.effects)} labels"


PLAY = Play(declare, holds)
