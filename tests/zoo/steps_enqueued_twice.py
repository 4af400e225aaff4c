"""A handler enqueues the next step with an id of its attempt: an attempt that is repeated enqueues the step again.

Fixed: the id of the next step is made from the id of the job.
"""

from __future__ import annotations

from typing import Any

from resonate_core.worker import JobContext, Worker
from zoo.working import QUICK


async def buggy(world: Any) -> None:
    await pipeline(world, by_attempt=True)


async def fixed(world: Any) -> None:
    await pipeline(world, by_attempt=False)


async def pipeline(world: Any, *, by_attempt: bool) -> None:
    labels: dict[str, int] = {}
    worker = Worker()

    @worker.task("label", max_retries=50, retry_policy=QUICK)
    async def label(order: str, job: JobContext) -> None:
        labels[job.id] = 1

    @worker.task("pack", max_retries=50, retry_policy=QUICK)
    async def pack(order: str, job: JobContext) -> None:
        suffix = f".{job.attempt}" if by_attempt else ""
        await label.enqueue_async({"order": order}, id=f"{job.id}.label{suffix}")

    world.worker("a", worker)
    world.worker("b", worker)
    world.faults(lose_reply=0.02, crash=0.02)
    world.always("one label an order", lambda: len(labels) <= 1)
    await world.call("order-1", pack, "tea")
    await world.settled("order-1", within="1 day")
    world.eventually("a label", lambda: bool(labels), within="1 day")
