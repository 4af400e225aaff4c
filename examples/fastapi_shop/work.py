"""What happens to an order: a durable workflow with steps, a job, and an effect that happens exactly once."""

from __future__ import annotations

import logging
from datetime import timedelta

from resonate_core.worker import Worker, current_job
from resonate_core.workflow import sleep, step, transaction

from .orders import hand_over, record_mail, session, set_status

__all__ = ["fulfil", "worker", "workflow_id"]

log = logging.getLogger("fastapi_shop")
#: This long after a kill of a process, another one continues its jobs and workflows.
LEASE = timedelta(seconds=10)
#: When an email is tried again that has failed, or whose process was killed: after 1 s, 10 s, then every minute.
RETRIES = {"kind": "fixed", "intervals": [1_000, 10_000, 60_000]}

worker = Worker(queues="shop", lease=LEASE, grace=timedelta(seconds=5))


def workflow_id(order: str) -> str:
    """The id of an order's workflow, which is also the id of the promise of its result."""
    return f"order-{order}"


@step(retries=5)
async def pack(order: str) -> str:
    """A step: packs the parcel. If its process is killed it runs again, so it must be safe to run twice."""
    await set_status(order, "packed")
    return f"parcel of {order}"


@worker.task("order:mail", queue="shop", max_retries=5, retry_policy=RETRIES)
async def mail(order: str) -> str:
    """A job: sends the email. It has a queue and retries of its own, and any worker may run it."""
    await record_mail(order, f"Your order {order} is on its way.")
    attempt = current_job().attempt
    log.info("mailed %s in attempt %d", order, attempt)
    return f"mailed in attempt {attempt}"


@worker.workflow("order:fulfil", queue="shop")
async def fulfil(order: str) -> dict[str, str]:
    """The workflow. Each call is recorded: after a crash, another process continues with the next one."""
    parcel = await pack(order)
    await sleep(timedelta(seconds=0.2))  # the courier; this could be a month, and needs no process
    sent = await mail.call(order)
    parcels = await transaction(hand_over, session, order)  # exactly once: it counts
    return {"order": order, "parcel": parcel, "mail": sent, "parcels": str(parcels)}
