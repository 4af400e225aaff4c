"""An address that did not answer was forgotten while a delivery to it was under way: its pauses began again with the shortest."""

from __future__ import annotations

import asyncio
import logging
import socket

import pytest

from resonate_core import Store
from resonate_core.asgi import PushSettings, create_app


def test_failures_go_on_counting(caplog: pytest.LogCaptureFixture) -> None:
    """A receiver that connects and does not answer, for longer than two of the longest pauses."""
    caplog.set_level(logging.WARNING, "resonate_core.delivery")

    def failures() -> list[int]:
        return [record.failures for record in caplog.records if record.name == "resonate_core.delivery"]  # type: ignore[attr-defined]

    async def main() -> None:
        with socket.socket() as silent, Store() as store:
            silent.bind(("127.0.0.1", 0))
            silent.listen(100)
            push = PushSettings(allow="127.0.0.0/8", first_retry=0.01, longest_retry=0.01, timeout=0.5)
            async with create_app(store, push=push).lifespan():
                store.promises.create("p", 10**15, tags={"resonate:external": "true"})
                store.promises.register_listener("p", f"http://127.0.0.1:{silent.getsockname()[1]}/")
                store.promises.resolve("p")
                while len(failures()) < 4:
                    await asyncio.sleep(0.001)

    asyncio.run(main())
    assert failures()[:4] == [1, 2, 3, 4]
