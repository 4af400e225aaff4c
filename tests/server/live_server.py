"""Real servers for tests: uvicorn as `resonate-core serve` sets it up, in a thread, on a free port of 127.0.0.1."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import socket
import threading
from collections.abc import Coroutine, Iterator
from typing import Any

import pytest

from resonate_core import Store
from resonate_core.asgi import ResonateApp
from resonate_core.server.run import _Server, _uvicorn_config, make_app
from resonate_core.server.settings import Settings

__all__ = ["Live", "live", "serving"]


class Live:
    """A running server.

    Attributes:
        port: Where it listens.
        app: What it serves.
        server: uvicorn's object.
        loop: Its event loop.
    """

    def __init__(self, app: Any, settings: Settings) -> None:
        self.app = app
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.port: int = self._listening.getsockname()[1]
        self.loop: asyncio.AbstractEventLoop
        self.server = _Server(_config(settings, app), app if isinstance(app, ResonateApp) else _NoStreams())
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._serve, name=f"server on {self.port}", daemon=True)
        self._thread.start()
        self._started.wait()

    def _serve(self) -> None:
        async def main() -> None:
            self.loop = asyncio.get_running_loop()
            serving = asyncio.ensure_future(self.server.serve([self._listening]))
            while not self.server.started and not serving.done():
                await asyncio.sleep(0.001)
            self._started.set()
            await serving

        loop = (self.server.config.get_loop_factory() or asyncio.new_event_loop)()
        try:
            loop.run_until_complete(main())
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            loop.close()
            self._started.set()

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Runs something on the server's loop and returns what it gives."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout=60)

    def stop(self) -> None:
        """Stops it gracefully and waits until it has."""
        self.server.should_exit = True
        self._thread.join(timeout=60)
        assert not self._thread.is_alive(), "the server does not stop"
        self._listening.close()


class _NoStreams:
    def end_streams(self) -> None:
        """There are none."""


def _config(settings: Settings, app: Any) -> Any:
    config = _uvicorn_config(settings, app)
    if not isinstance(app, ResonateApp):
        config.lifespan = "off"
    return config


@contextlib.contextmanager
def live(app: Any, settings: Settings | None = None) -> Iterator[Live]:
    """Serves an app for as long as the block runs."""
    running = Live(app, settings or Settings())
    try:
        yield running
    finally:
        running.stop()


@contextlib.contextmanager
def serving(store: Store, **tables: Any) -> Iterator[Live]:
    """Serves a store as `resonate-core serve` would with these tables of settings."""
    settings = Settings(**tables)
    with live(make_app(settings, store), settings) as running:
        yield running


@contextlib.contextmanager
def serving_with(parser: str, monkeypatch: pytest.MonkeyPatch, store: Store, **tables: Any) -> Iterator[Live]:
    """Serves a store with a parser of uvicorn: `httptools`, or `h11`, which uvicorn uses if httptools is not installed."""
    if parser == "h11":
        find = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "httptools" else find(name, *more))
    with serving(store, **tables) as running:
        assert any(parser in base.__module__ for base in running.server.config.http_protocol_class.__mro__)
        yield running
