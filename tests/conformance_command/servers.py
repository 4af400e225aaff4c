"""The servers that the command is run against: right ones on each storage, and one with planted faults."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

from conformance_command.faulty import Faulty
from resonate_core import Store
from resonate_core.server.run import make_app
from resonate_core.server.settings import Settings
from server.live_server import live


@contextlib.contextmanager
def behind(store: Store, make: Any) -> Iterator[str]:
    """Serves `make(app)`, an app before that of a store; gives the URL."""
    app = make_app(Settings(), store)
    with live(make(app)) as running:
        life = AsyncExitStack()
        running.run(life.enter_async_context(app.lifespan()))
        try:
            yield f"http://127.0.0.1:{running.port}"
        finally:
            running.run(life.aclose())


@contextlib.contextmanager
def faulty(*faults: str) -> Iterator[str]:
    """A server with planted faults."""
    with Store() as store, behind(store, lambda app: Faulty(app, faults)) as url:
        yield url
