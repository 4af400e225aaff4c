"""Real servers for tests: uvicorn as `resonate-core serve` sets it up, in a thread, on a free port of 127.0.0.1."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterator
from typing import Any

import pytest

from resonate_core import Store
from resonate_core.asgi import ResonateApp
from resonate_core.server.run import _Server, _uvicorn_config, make_app
from resonate_core.server.settings import Settings
from resonate_core.testing.servers import Listener

__all__ = ["Live", "live", "serving"]


class Live(Listener):
    """A running server of any ASGI app."""

    def __init__(self, app: Any, settings: Settings) -> None:
        super().__init__(app, _Server(_config(settings, app), app if isinstance(app, ResonateApp) else _NoStreams()))


class _NoStreams:
    def end_streams(self) -> None:
        """Does nothing: this app has no streams."""


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
