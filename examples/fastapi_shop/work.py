"""What happens to an order: jobs, and a durable workflow that enqueues and awaits them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from resonate.context import Context
from resonate.resonate import Resonate as Client

from resonate_core import Store
from resonate_core.connection import Connection
from resonate_core.worker import JobContext, Worker

from .orders import record_mail, set_status

__all__ = ["start", "worker", "workflow_id", "workflows"]

log = logging.getLogger("fastapi_shop")
#: This long after a kill of a process, another one continues its jobs and workflows.
LEASE = timedelta(seconds=10)
#: When a job is tried again that has failed, or whose process was killed: after 1 s, 10 s, then every minute.
RETRIES = {"kind": "fixed", "intervals": [1_000, 10_000, 60_000]}

worker = Worker(queues="shop", lease=LEASE, grace=timedelta(seconds=5))


def workflow_id(order: str) -> str:
    """The id of an order's workflow, which is also the id of the promise of its result."""
    return f"order-{order}"


# -- jobs: each has an effect, and is retried by its queue ------------------------------------------------------------------


@worker.task("order:start", queue="shop", retry_policy=RETRIES)
async def start(order: str) -> str:
    """Begins the workflow of an order. A second attempt finds the workflow, and begins nothing."""
    client = await _client.get()  # waits for it, if this process has just started
    _client.put_nowait(client)
    return await client.run(workflow_id(order), fulfil, order).id()  # from here on, its promise is in the store


@worker.task("order:pack", queue="shop", retry_policy=RETRIES)
async def pack(order: str) -> str:
    """Packs the parcel."""
    await set_status(order, "packed")
    return f"parcel of {order}"


@worker.task("order:mail", queue="shop", max_retries=5, retry_policy=RETRIES)
async def mail(order: str, job: JobContext) -> str:
    """Sends the email of an order."""
    await record_mail(order, f"Your order {order} is on its way.")
    log.info("mailed %s in attempt %d", order, job.attempt)
    return f"mailed in attempt {job.attempt}"


@worker.task("order:ship", queue="shop", retry_policy=RETRIES)
async def ship(order: str) -> None:
    """Hands the parcel to the courier."""
    await set_status(order, "shipped")


# -- the workflow -----------------------------------------------------------------------------------------------------------


async def fulfil(ctx: Context, order: str) -> dict[str, str]:
    """The workflow. Each step is recorded: after a crash, another process continues with the next one."""
    parcel = await run_job(ctx, "order:pack", order)
    await ctx.sleep(timedelta(seconds=0.2))  # the courier; this could be a month, and needs no process
    sent = await run_job(ctx, "order:mail", order)
    await run_job(ctx, "order:ship", order)
    return {"order": order, "parcel": parcel, "mail": sent}


async def run_job(ctx: Context, type: str, order: str) -> str:
    """Enqueues a job with the id of a promise, which the job settles, and awaits that."""
    promise = ctx.promise(timeout=timedelta(days=7))
    await ctx.run(enqueue, await promise.id(), type, order)
    result: str = await promise
    return result


async def enqueue(ctx: Context, id: str, type: str, order: str) -> None:
    """A step: a repeated one finds the job."""
    await worker.tasks[type].enqueue_async(order, id=id)


# -- where workflows run ----------------------------------------------------------------------------------------------------


_client: asyncio.Queue[Client] = asyncio.Queue(1)  # holds it while `workflows` runs


@asynccontextmanager
async def workflows(store: Store) -> AsyncIterator[None]:
    """Run the workflows of this process, until it is left."""
    client = Connection(store, group="shop").resonate(ttl=LEASE)
    for function in (fulfil, enqueue):
        client.register(function)
    client.start()
    _client.put_nowait(client)
    try:
        yield
    finally:
        _client.get_nowait()
        await client.stop()
