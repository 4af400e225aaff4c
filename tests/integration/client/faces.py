"""The typed calls of a store, of `store.aio` and of clients, called in one way."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import resonate_core as rc
from server.live_server import serving

__all__ = ["FACES"]


class _Awaiting:
    """Runs each coroutine function of an asynchronous object in its own event loop."""

    def __init__(self, target: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._target, self._loop = target, loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        if not callable(found):
            return _Awaiting(found, self._loop)

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._loop.run_until_complete(found(*args, **kwargs))

        return call


@contextlib.contextmanager
def _loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    try:
        yield loop
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()


@contextlib.contextmanager
def _aio(store: rc.Store) -> Iterator[Any]:
    with _loop() as loop:
        yield _Awaiting(store.aio, loop)


@contextlib.contextmanager
def _client(store: rc.Store) -> Iterator[Any]:
    with serving(store) as live, rc.connect(f"http://127.0.0.1:{live.port}") as client:
        yield client


@contextlib.contextmanager
def _client_aio(store: rc.Store) -> Iterator[Any]:
    with serving(store) as live, _loop() as loop:
        client = rc.connect(f"http://127.0.0.1:{live.port}").aio
        yield _Awaiting(client, loop)
        loop.run_until_complete(client.close())


FACES: dict[str, Callable[[rc.Store], contextlib.AbstractContextManager[Any]]] = {
    "aio": _aio,
    "client": _client,
    "client.aio": _client_aio,
}
