"""A server that pushes to an address that does not answer."""

from __future__ import annotations

import asyncio
import logging
import socket

import pytest

from resonate_core import Store
from resonate_core.asgi import PushSettings, create_app

#: Seconds after which the failures that are still missing will not come.
_PATIENCE = 60.0


def failed_pushes(
    caplog: pytest.LogCaptureFixture, settings: PushSettings, count: int, *, accepts: bool = False, seed: int | None = None
) -> list[logging.LogRecord]:
    """Pushes one message until it has failed this often; returns the records that the server logged about it.

    Args:
        accepts: The receiver accepts connections and does not answer; otherwise it refuses them.
        seed: Of the server's pauses.
    """
    caplog.set_level(logging.WARNING, "resonate_core.delivery")

    def logged() -> list[logging.LogRecord]:
        return [record for record in caplog.records if record.name == "resonate_core.delivery"]

    async def main() -> None:
        with socket.socket() as receiver, Store() as store:
            receiver.bind(("127.0.0.1", 0))
            if accepts:
                receiver.listen(100)
            app = create_app(store, push=settings)
            app.random.seed(seed)
            async with app.lifespan():
                store.promises.create("p", 10**15, tags={"resonate:external": "true"})
                store.promises.register_listener("p", f"http://127.0.0.1:{receiver.getsockname()[1]}/")
                store.promises.resolve("p")
                while len(logged()) < count:
                    await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(main(), _PATIENCE))
    return logged()
