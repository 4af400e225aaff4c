"""A token with a prefix could open every poll stream of a server: all others, the administrator too, were answered with 503.

The dashboard's streams of events were found first; these are their brothers.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any

from resonate_core import ManualClock, Store
from resonate_core.asgi import AuthSettings, LimitSettings, create_app
from resonate_core.server.streams import _MOST_IN_GRACE, Stream, Streams
from server.app_calls import call
from server.security_table import SECRET, token


def bearer(**claims: Any) -> dict[str, str]:
    return {"authorization": f"Bearer {token(claims)}"}


def test_a_prefix_has_places_of_its_own() -> None:
    async def main() -> None:
        with Store(clock=ManualClock(1000)) as store:
            app = create_app(store, auth=AuthSettings(secret=SECRET), limits=LimitSettings(streams=20, streams_of_prefix=4))
            async with app.lifespan():

                async def statuses(**claims: Any) -> list[int]:
                    prefix = claims.get("prefix", "")
                    paths = ["/poll/g/i", f"/jobs/claimable?queue={prefix}q"]
                    return [(await call(app, "HEAD", path, headers=bearer(**claims))).status for path in paths]

                places = app._current_runtime().stream_places
                with ExitStack() as open_streams:
                    for _ in range(4):
                        open_streams.enter_context(places.taken("b."))
                    assert await statuses(prefix="b.") == [503, 503]
                    assert await statuses(prefix="c.") == [200, 200] and await statuses(role="admin") == [200, 200]
                    for prefix in ("c.", "d.", "e.", "f."):
                        for _ in range(4):
                            if places.is_free(prefix):
                                open_streams.enter_context(places.taken(prefix))
                    assert await statuses(prefix="g.") == [503, 503]  # all tenants together
                    assert await statuses(role="admin") == [200, 200]
                    open_streams.enter_context(places.taken(""))
                    open_streams.enter_context(places.taken(""))
                    assert await statuses(role="admin") == [503, 503]
                assert await statuses(prefix="b.") == [200, 200]

    asyncio.run(main())


def test_ids_whose_stream_has_ended_are_bounded() -> None:
    streams = Streams(600, lambda: 0.0)
    for n in range(_MOST_IN_GRACE + 50):
        stream = Stream("g", f"id{n}", 1)
        streams.add(stream)
        streams.remove(stream)
    assert len(streams._grace_until) == _MOST_IN_GRACE
