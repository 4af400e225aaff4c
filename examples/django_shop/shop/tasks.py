"""What runs in `manage.py resonate_worker`."""

from __future__ import annotations

from resonate_core.contrib.django import task

from .models import Mail, Order


@task(queue_name="mail", priority=10, max_retries=5, retry_policy={"kind": "exponential", "base": 1000})
def send_receipt(number: int) -> str:
    """Mails the receipt; if the mail server is away, it is tried again after 1, 2, 4, 8 and 16 s."""
    order = Order.objects.get(pk=number)
    Mail.objects.create(to=order.email, text=f"Thank you for your order of {order.item}.")
    return f"receipt for {order.email}"


@task(queue_name="mail")
def send_parcel_number(number: int) -> str:
    """Mails the number of the parcel."""
    order = Order.objects.get(pk=number)
    Mail.objects.create(to=order.email, text=f"Your {order.item} is on its way: parcel {number:06}.")
    return f"parcel {number:06}"
