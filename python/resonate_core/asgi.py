"""The Resonate server as an ASGI app, to run alone or mounted into another (extra ``server``).

Example:
    >>> import asyncio, httpx
    >>> import resonate_core as rc
    >>> from resonate_core.asgi import create_app
    >>> async def main():
    ...     app = create_app(rc.Store())
    ...     async with app.lifespan(), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
    ...         head = {"corrId": "1", "version": "2026-04-01"}
    ...         request = {"kind": "promise.get", "head": head, "data": {"id": "nobody"}}
    ...         return (await client.post("http://server/", json=request)).json()["data"]
    >>> asyncio.run(main())
    'promise "nobody" does not exist'
"""

from __future__ import annotations

from ._core import Store
from .server.app import ResonateApp
from .server.settings import (
    AuthSettings,
    DeliverySettings,
    LimitSettings,
    PushSettings,
    ServerSettings,
    Settings,
    StreamSettings,
)

__all__ = [
    "AuthSettings",
    "DeliverySettings",
    "LimitSettings",
    "PushSettings",
    "ResonateApp",
    "ServerSettings",
    "Settings",
    "StreamSettings",
    "create_app",
]


def create_app(
    store: Store,
    *,
    server: ServerSettings | None = None,
    auth: AuthSettings | None = None,
    limits: LimitSettings | None = None,
    streams: StreamSettings | None = None,
    push: PushSettings | None = None,
    delivery: DeliverySettings | None = None,
) -> ResonateApp:
    """Makes the app that serves a store over HTTP: both protocol dialects, poll streams, health and metrics.

    While it runs it ticks the store and delivers its messages. That begins with ASGI's lifespan; an app that this one is
    mounted into enters `ResonateApp.lifespan` in its own, else it begins with the first request.

    Args:
        store: What is served. It stays open when the app stops.
        server: Of its fields `url`, `cors_origins`, `metrics`, `metrics_open`, `debug` and `tracing` mean something here.
        auth: Tokens; without a key nobody is asked for one.
        limits: What a request and a client may take.
        streams: Lifetimes of poll streams.
        push: Delivery to http and https addresses. Only public addresses are called unless `allow` says otherwise.
        delivery: Whether this app ticks and delivers at all.

    Raises:
        TypeError: `store` is no Store, such as the path of one.
        ValueError: A key cannot be read, or an algorithm does not fit it.
    """
    if not isinstance(store, Store):
        kind = type(store).__name__
        raise TypeError(f"store must be a Store, got {kind}; open one and close it after the app: create_app(Store('shop.db'))")
    return ResonateApp(
        store,
        server or ServerSettings(),
        auth or AuthSettings(),
        limits or LimitSettings(),
        streams or StreamSettings(),
        push or PushSettings(),
        delivery or DeliverySettings(),
    )
