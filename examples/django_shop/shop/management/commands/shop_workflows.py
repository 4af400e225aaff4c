"""`manage.py shop_workflows`: runs the workflows of the shop until a signal arrives. It needs Python 3.12 and the extra `sdk`."""

from __future__ import annotations

import asyncio
import signal
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand

from resonate_core.connection import Connection
from resonate_core.contrib.django import task_backends

from ...workflows import FUNCTIONS

#: How long a workflow of a process that died waits until another process continues it.
LEASE = timedelta(seconds=10)


class Command(BaseCommand):
    """Runs the workflows."""

    help = "Run the workflows of the shop."

    def handle(self, *args: Any, **options: Any) -> None:
        """Runs until SIGTERM or SIGINT."""
        asyncio.run(self.serve())

    async def serve(self) -> None:
        """Takes the workflows that wait, and continues them."""
        connection = Connection(task_backends["default"].store, group="shop")
        resonate = connection.resonate(ttl=LEASE)
        for function in FUNCTIONS:
            resonate.register(function)
        stopped = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
        await stopped.wait()
        await resonate.stop()
