"""What happens to an order: a workflow, which continues at the same place after its process has died."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from resonate_core.contrib.django import workflow
from resonate_core.workflow import step
from resonate_core.workflow.blocking import receive, result, transaction

from .models import Order
from .tasks import send_parcel_number

__all__ = ["fulfil"]

#: Days in which a person decides.
DAYS = 7


@workflow("order:fulfil")
def fulfil(number: int) -> str:
    """Fulfils an order. Each call is recorded, and what is recorded does not run again."""
    charge(number)
    decision = receive("decision", type=str, timeout=timedelta(days=DAYS), default="cancel")
    if decision != "ship":
        cancel(number)
        return "cancelled"
    mail = transaction(ship, "default", number)
    return f"shipped: {result(mail, type=str)}"


@step(retries=5)
def charge(number: int) -> None:
    """Charges the card. If its process dies it may run again: a bank gets the number of the order as its key."""
    Order.objects.filter(pk=number).update(state="charged")


@step(retries=5)
def cancel(number: int) -> None:
    """Gives the money back."""
    Order.objects.filter(pk=number).update(state="cancelled")


def ship(database: Any, number: int) -> str:
    """Ships exactly once: the state, the task and the note that both are done are one transaction. Returns the id of the task."""
    Order.objects.filter(pk=number).update(state="shipped")
    task_id: str = send_parcel_number.enqueue(number).id
    return task_id
