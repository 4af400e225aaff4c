"""The Resonate server as an ASGI app, to run alone or mounted into another (extra ``server``).

Example:
    >>> import asyncio, httpx
    >>> import resonate_core as rc
    >>> from resonate_core.asgi import create_app
    >>> async def main():
    ...     app = create_app(rc.Store())
    ...     async with app.lifespan(), httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
    ...         head = {"corrId": "1", "version": "2026-04-01"}
    ...         request = {"kind": "promise.get", "head": head, "data": {"id": "none"}}
    ...         return (await client.post("http://server/", json=request)).json()["data"]
    >>> asyncio.run(main())
    'promise "none" does not exist'
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

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
    UiSettings,
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
    "UiSettings",
    "create_app",
]


def create_app(
    store: Store | str | os.PathLike[str],
    *,
    server: ServerSettings | None = None,
    auth: AuthSettings | None = None,
    limits: LimitSettings | None = None,
    streams: StreamSettings | None = None,
    push: PushSettings | None = None,
    delivery: DeliverySettings | None = None,
    ui: UiSettings | None = None,
) -> ResonateApp:
    """Create the app that serves a store over HTTP: both protocol dialects, poll streams, health and metrics.

    While it runs, it ticks the store and delivers its messages. This begins with ASGI's lifespan. An app that mounts this one
    enters `ResonateApp.lifespan` in its own lifespan; otherwise this begins with the first request.

    Args:
        store: The store to serve, the path of a file, or the URL of a database. A Store stays open when the app stops. A path or a
            URL is opened when the lifespan begins, in the process that serves, and closed when it ends: a program that imports the
            app opens nothing, and an ASGI server may fork its workers or start them again.
        server: Only its fields `url`, `cors_origins`, `hosts`, `metrics`, `metrics_open`, `metrics_queues`, `metrics_otel`, `ui`, `debug`
            and `tracing` have an effect.
        auth: Tokens; without a key no token is required.
        limits: Limits of a request and of all clients.
        streams: Lifetimes of poll streams.
        push: Delivery to http and https addresses. Only public addresses and those in `allow` are called.
        delivery: Whether this app ticks and delivers.
        ui: What the dashboard shows and permits; `server.ui` turns it on.

    Raises:
        TypeError: `store` is none of these.
        ValueError: A key cannot be read, or an algorithm does not fit it.

    Example:
        >>> import asyncio
        >>> from resonate_core.asgi import create_app
        >>> app = create_app("shop.db")
        >>> async def main():
        ...     async with app.lifespan():
        ...         return app.store.path is not None
        >>> asyncio.run(main())
        True
    """
    if not isinstance(store, (Store, str, os.PathLike)):
        raise TypeError(f"store must be a Store, the path of one or the URL of a database, got {type(store).__name__}")
    tables: dict[str, Any] = {
        "server": server,
        "auth": auth,
        "limits": limits,
        "streams": streams,
        "push": push,
        "delivery": delivery,
        "ui": ui,
    }
    given = {name: table for name, table in tables.items() if table is not None}
    settings = Settings.model_construct(None, **given)  # without validation, which would read the environment
    return ResonateApp(store if isinstance(store, Store) else partial(Store, store), settings)
