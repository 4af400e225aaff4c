"""/ready and /metrics asked the store on the thread of the ticks: behind a tick that took long, /ready was a 503, and /metrics waited. A
scrape that took long kept ticks waiting."""

from __future__ import annotations

import asyncio
import threading

import resonate_core as rc
from resonate_core.asgi import PushSettings, create_app
from server.app_calls import call


def test_they_have_a_thread_of_their_own() -> None:
    async def main() -> None:
        ended = threading.Event()
        with rc.Store(clock=rc.ManualClock(1000)) as store:
            app = create_app(store, push=PushSettings(enabled=False))
            async with app.lifespan():
                ticking = app._current_runtime().executor.call(lambda: ended.wait(60))
                try:
                    answers = [await call(app, "GET", page) for page in ("/ready", "/metrics")]
                    assert not ticking.done()
                finally:
                    ended.set()
                    await ticking
                assert [answer.status for answer in answers] == [200, 200]

    asyncio.run(main())
