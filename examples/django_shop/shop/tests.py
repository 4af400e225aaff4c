"""Tests of the shop: ``python manage.py test``. No worker and no time passes: the store is in memory, on a clock that the tests move."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest import mock

from django.test import TestCase
from django.utils import timezone

from resonate_core.contrib.django.testing import FreshStore, enqueued, run_until_idle, travel

from .models import Mail, Order
from .tasks import send_receipt

TEA = {"email": "ann@example.org", "item": "tea"}


class OrderTests(FreshStore, TestCase):
    """An order and its task."""

    def test_the_receipt_of_an_order_is_sent(self) -> None:
        """The task runs, and its result can be read."""
        page = self.client.post("/orders/", TEA, follow=True)
        self.assertContains(page, "Receipt: Ready")
        run_until_idle()
        assert [mail.to for mail in Mail.objects.all()] == ["ann@example.org"]
        result = send_receipt.get_result(Order.objects.get().receipt)
        assert result.return_value == "receipt for ann@example.org"

    def test_an_order_that_is_refused_leaves_no_task(self) -> None:
        """Order, task and workflow exist together, or none of them."""
        answer = self.client.post("/orders/", {**TEA, "item": "nothing"})
        assert (answer.status_code, Order.objects.count(), enqueued()) == (400, 0, [])
        assert len(run_until_idle()) == 0

    def test_a_mail_server_that_is_away_is_tried_again(self) -> None:
        """Five retries, after 1, 2, 4, 8 and 16 s; the fifth attempt reaches it."""
        with travel() as clock:
            begun = clock.now
            self.client.post("/orders/", TEA)
            away = [ConnectionError("away")] * 4
            with mock.patch.object(Mail.objects, "create", side_effect=[*away, None]):
                runs = run_until_idle(until=timezone.now() + timedelta(hours=1)).runs
            mails = [(run.outcome, run.at - begun) for run in runs if run.type == send_receipt.module_path]
            assert mails == [("failed", 0), ("failed", 1000), ("failed", 3000), ("failed", 7000), ("completed", 15000)]


class WorkflowTests(FreshStore, TestCase):
    """The life of an order, a week of it in milliseconds."""

    def place(self) -> Order:
        """Places an order, and runs its workflow until it waits."""
        self.client.post("/orders/", TEA)
        run_until_idle()
        order: Order = Order.objects.get()
        return order

    def wait(self, order: Order, seconds: float = 10) -> Any:
        """What the page that waits answers."""
        return self.client.get(f"/orders/{order.pk}/wait/?seconds={seconds}")

    def test_an_order_is_shipped(self) -> None:
        """A person lets it be shipped after three days; the workflow awaits the mail with the parcel's number."""
        with travel() as clock:
            order = self.place()
            assert order.state == "charged"
            clock.advance(timedelta(days=3))
            self.client.post(f"/orders/{order.pk}/decide/", {"decision": "ship"})
            run_until_idle()
            assert self.wait(order).json() == {"state": "resolved", "result": f"shipped: parcel {order.pk:06}"}
            again = self.client.post(f"/orders/{order.pk}/decide/", {"decision": "cancel"})
            assert again.status_code == 409
        assert [mail.text[:8] for mail in Mail.objects.order_by("pk")] == ["Thank yo", "Your tea"]

    def test_an_order_that_nobody_decides_about_is_cancelled_after_a_week(self) -> None:
        """Until then, the page that waits reports that it is open."""
        with travel() as clock:
            begun = clock.now
            order = self.place()
            answer = self.wait(order, seconds=0)
            assert (answer.status_code, answer.json()) == (202, {"state": "open"})
            run_until_idle(advance=True)
            order.refresh_from_db()
            assert (order.state, self.wait(order).json()["result"]) == ("cancelled", "cancelled")
            assert timedelta(milliseconds=clock.now - begun) == timedelta(days=7)
