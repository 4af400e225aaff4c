"""A message that was not pushed was "tried again in 335 s" where `push.longest_retry` was 300: the jitter came after the limit."""

from __future__ import annotations

import asyncio
import logging
import socket

import pytest

from resonate_core import Store
from resonate_core.asgi import PushSettings, create_app


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("first", "longest"), [(0.01, 0.03), (0.03, 0.02)])
def test_no_pause_is_longer(caplog: pytest.LogCaptureFixture, seed: int, first: float, longest: float) -> None:
    """What the log says is what is waited for; those at the limit differ all the same."""
    print(f"seed {seed}")
    caplog.set_level(logging.WARNING, "resonate_core.delivery")

    def pauses() -> list[float]:
        return [record.seconds for record in caplog.records if record.name == "resonate_core.delivery"]  # type: ignore[attr-defined]

    async def main() -> None:
        with socket.socket() as nobody, Store() as store:
            nobody.bind(("127.0.0.1", 0))  # and does not listen
            push = PushSettings(allow="127.0.0.0/8", first_retry=first, longest_retry=longest)
            app = create_app(store, push=push)
            app.random.seed(seed)
            async with app.lifespan():
                store.promises.create("p", 10**15, tags={"resonate:external": "true"})
                store.promises.register_listener("p", f"http://127.0.0.1:{nobody.getsockname()[1]}/")
                store.promises.resolve("p")
                while len(pauses()) < 25:
                    await asyncio.sleep(0.001)

    asyncio.run(main())
    waited = pauses()
    assert max(waited) <= longest, waited
    assert min(waited) >= 0.8 * min(first, longest)
    at_the_limit = waited[5:]
    assert min(at_the_limit) >= 0.8 * longest and len(set(at_the_limit)) == len(at_the_limit)
