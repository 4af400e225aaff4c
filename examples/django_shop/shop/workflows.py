"""What runs in `manage.py shop_workflows`: durable functions of the Resonate SDK, which continue where they were after a crash."""

from __future__ import annotations

import base64
import json
from datetime import timedelta
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction

from resonate_core.contrib.django import submit

from .models import Order
from .tasks import send_parcel_number

#: Days in which a person decides.
DAYS = 7


def as_value(value: Any) -> dict[str, str]:
    """A value as it is in a request: JSON in base64."""
    return {"data": base64.b64encode(json.dumps(value).encode()).decode()}


def start(order: Order) -> None:
    """Starts the workflow of an order, in the transaction of the caller."""
    call = {"func": "fulfil", "args": [order.pk], "kwargs": {}, "version": 1}
    lifetime = timedelta(days=DAYS + 1)
    submit(
        "promise.create",
        {
            "id": order.workflow,
            "timeoutAt": round((order.placed_at + lifetime).timestamp() * 1000),
            "param": as_value(call),
            "tags": {"resonate:target": "poll://any@shop", "resonate:origin": order.workflow, "resonate:branch": order.workflow},
        },
    )


def decide(order: Order, word: str) -> None:
    """Tells the workflow what a person has decided, in the transaction of the caller."""
    submit("promise.settle", {"id": order.decision, "state": "resolved", "value": as_value(word)})


async def fulfil(ctx: Any, number: int) -> str:
    """Fulfils an order: each step runs once, whatever process dies in between."""
    await ctx.run(charge, number)
    decision = ctx.promise(timeout=timedelta(days=DAYS))
    await ctx.run(ask, number, await decision.id())
    if await decision != "ship":
        await ctx.run(cancel, number)
        return "cancelled"
    mail = ctx.promise(timeout=timedelta(days=1))
    await ctx.run(ship, number, await mail.id())
    return f"shipped: {await mail}"


async def charge(ctx: Any, number: int) -> None:
    """Charges the card."""
    await Order.objects.filter(pk=number).aupdate(state="charged")


async def ask(ctx: Any, number: int, decision: str) -> None:
    """Lets a person decide, on the page of the order."""
    await Order.objects.filter(pk=number).aupdate(decision=decision)


async def cancel(ctx: Any, number: int) -> None:
    """Gives the money back."""
    await Order.objects.filter(pk=number).aupdate(state="cancelled")


async def ship(ctx: Any, number: int, mail: str) -> None:
    """Marks the order and enqueues the mail in one transaction; the workflow awaits the task by its id."""

    def in_one_transaction() -> None:
        with transaction.atomic():
            Order.objects.filter(pk=number).update(state="shipped")
            send_parcel_number.using(result_id=mail).enqueue(number)

    await sync_to_async(in_one_transaction)()


FUNCTIONS = (fulfil, charge, ask, cancel, ship)
