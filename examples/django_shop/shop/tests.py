"""Tests of the shop: ``python manage.py test``. No worker and no time passes: the store is in memory, on a clock that the tests move."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from unittest import mock

from asgiref.sync import async_to_sync, sync_to_async
from django.test import TestCase

from resonate_core.connection import Connection
from resonate_core.contrib.django import task_backends
from resonate_core.contrib.django.testing import FreshStore, enqueued, run_until_idle, travel

from .models import Mail, Order
from .tasks import send_receipt
from .workflows import FUNCTIONS

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
                runs = run_until_idle(advance=True).runs
            assert [run.outcome for run in runs] == ["failed"] * 4 + ["completed"]
            assert clock.now - begun == 15000


class WorkflowTests(FreshStore, TestCase):
    """The life of an order, a week of it in milliseconds."""

    @asynccontextmanager
    async def workflows(self) -> AsyncIterator[Connection]:
        """Runs workflows as `manage.py shop_workflows` does."""
        connection = Connection(task_backends["default"].store, group="shop")
        resonate = connection.resonate()
        for function in FUNCTIONS:
            resonate.register(function)
        yield connection
        await resonate.stop()

    def post(self, path: str, data: dict[str, str]) -> Any:
        """Posts a form; then what it has enqueued runs."""
        answer = self.client.post(path, data)
        run_until_idle()
        return answer

    def test_an_order_is_shipped(self) -> None:
        """A person lets it be shipped after three days; the workflow awaits the mail with the parcel's number."""

        async def story() -> None:
            with travel():
                await sync_to_async(self.post)("/orders/", TEA)
                async with self.workflows() as connection:
                    await connection.advance(timedelta(days=3))
                    order = await Order.objects.aget()
                    assert order.state == "charged"
                    await sync_to_async(self.post)(f"/orders/{order.pk}/decide/", {"decision": "ship"})
                    await connection.settle()
                    await sync_to_async(run_until_idle)()
                    await connection.settle()
                answer = await self.async_client.get(f"/orders/{order.pk}/wait/")
                assert answer.json() == {"state": "resolved", "result": f"shipped: parcel {order.pk:06}"}
                again = await sync_to_async(self.post)(f"/orders/{order.pk}/decide/", {"decision": "cancel"})
                assert again.status_code == 409

        async_to_sync(story)()
        assert [mail.text[:8] for mail in Mail.objects.order_by("pk")] == ["Thank yo", "Your tea"]

    def test_an_order_that_nobody_decides_about_is_open_until_its_deadline(self) -> None:
        """The page that waits reports that it is open."""

        async def story() -> None:
            with travel():
                await sync_to_async(self.post)("/orders/", TEA)
                async with self.workflows() as connection:
                    await connection.settle()
                    order = await Order.objects.aget()
                    answer = await self.async_client.get(f"/orders/{order.pk}/wait/?seconds=0")
                    assert (answer.status_code, answer.json()) == (202, {"state": "open"})

        async_to_sync(story)()
