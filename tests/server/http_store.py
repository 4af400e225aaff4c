"""A store behind its HTTP server, with the interface of a store, so that the tests of the protocol also run over HTTP.

Every envelope passes through the whole app; calls without a request (the clock, snapshots) go to the store itself. For each response,
this module checks that it is JSON, and that its HTTP status is the one in its head.
"""

from __future__ import annotations

import asyncio
import atexit
import http.client
import json
import threading
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any, Protocol

from resonate_core import Store
from resonate_core.asgi import DeliverySettings, LimitSettings, PushSettings, ResonateApp, ServerSettings, create_app
from server.app_calls import Answer, call
from server.live_server import Live, live

__all__ = ["OVER_HTTP", "HttpStore", "app_of", "checked", "open_in_process", "open_over_a_socket"]

#: The protocol's own limits are tested here, not the server's.
LONGEST = 2**63 - 1
WIDE = LimitSettings(
    body_bytes=2**30,
    id_bytes=2**30,
    tags=2**20,
    list_length=2**20,
    nesting=1000,
    lease_ms=LONGEST,
    ttl_ms=LONGEST,
    delay_ms=LONGEST,
)


def app_of(store: Store) -> ResonateApp:
    """An app that only answers requests: the tests take messages and move time themselves."""
    return create_app(
        store,
        server=ServerSettings(debug=store.debug),
        limits=WIDE,
        push=PushSettings(enabled=False),
        delivery=DeliverySettings(enabled=False),
    )


def checked(answer: Answer) -> bytes:
    """Checks that a response is one of the protocol; returns its body."""
    assert answer.headers["content-type"] == "application/json", answer
    assert int(answer.headers["content-length"]) == len(answer.body), answer
    assert answer.body.isascii(), answer
    assert json.loads(answer.body)["head"]["status"] == answer.status, answer
    return answer.body


class Exchange(Protocol):
    """A way to send requests to an app."""

    def open(self, app: ResonateApp) -> None:
        """Starts the app."""

    def close(self, app: ResonateApp) -> None:
        """Stops the app."""

    def post(self, app: ResonateApp, bodies: Sequence[bytes]) -> list[Answer]:
        """Sends requests, at the same time where possible; returns the responses in order."""


class InProcess:
    """ASGI calls on an event loop that runs only during a call."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lives: dict[ResonateApp, AsyncExitStack] = {}
        atexit.register(self._loop.close)

    def open(self, app: ResonateApp) -> None:
        self._lives[app] = life = AsyncExitStack()
        self._loop.run_until_complete(life.enter_async_context(app.lifespan()))

    def close(self, app: ResonateApp) -> None:
        self._loop.run_until_complete(self._lives.pop(app).aclose())

    def post(self, app: ResonateApp, bodies: Sequence[bytes]) -> list[Answer]:
        if len(bodies) == 1:
            return [self._loop.run_until_complete(call(app, body=bodies[0]))]
        return self._loop.run_until_complete(self._together(app, bodies))

    async def _together(self, app: ResonateApp, bodies: Sequence[bytes]) -> list[Answer]:
        return list(await asyncio.gather(*(call(app, body=body) for body in bodies)))


class OverASocket:
    """One real server for all tests of a process, and for each app a connection that stays open."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._app: ResonateApp | None = None
        self._life: AsyncExitStack | None = None
        self._live: Live | None = None
        self._connection: http.client.HTTPConnection | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        assert self._app is not None and scope["type"] == "http"
        await self._app(scope, receive, send)

    def open(self, app: ResonateApp) -> None:
        if self._live is None:
            running = live(self)
            self._live = running.__enter__()
            atexit.register(running.__exit__, None, None, None)

    def _serve(self, app: ResonateApp | None) -> None:
        """Sets the app that the server serves: one at a time, since there is one connection."""
        assert self._live is not None
        if app is self._app:
            return
        if self._life is not None:
            self._live.run(self._life.aclose())
        self._app, self._life = app, None
        if self._connection is not None:
            self._connection.close()
        if app is not None:
            self._life = AsyncExitStack()
            self._live.run(self._life.enter_async_context(app.lifespan()))
            self._connection = http.client.HTTPConnection("127.0.0.1", self._live.port, timeout=60)

    def close(self, app: ResonateApp) -> None:
        if app is self._app:
            self._serve(None)

    def post(self, app: ResonateApp, bodies: Sequence[bytes]) -> list[Answer]:
        with self._lock:
            self._serve(app)
            return [self._one(body) for body in bodies]

    def _one(self, body: bytes) -> Answer:
        assert self._connection is not None
        self._connection.request("POST", "/", body)
        response = self._connection.getresponse()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())


class HttpStore:
    """A store whose envelopes go over HTTP.

    Args:
        exchange: The way to send them.
        store: The store behind the app.
    """

    def __init__(self, exchange: Exchange, store: Store) -> None:
        self._exchange = exchange
        self._store = store
        self._forks: list[HttpStore] = []
        self._app = app_of(store)
        exchange.open(self._app)

    def apply(self, envelope: Any, now: int | None = None, atomic: bool = False) -> Any:
        """Sends one envelope, or a list of them at once."""
        if isinstance(envelope, list):
            at_once = [self._dated(one, now) for one in envelope]
            # HTTP has no request for one atomic batch; and the store itself refuses debug operations in a batch.
            if atomic or (now is not None and None in at_once) or any(map(_debugs, envelope)):
                return self._store.apply(envelope, now=now, atomic=atomic)
            return [json.loads(text) for text in self._post([json.dumps(one).encode() for one in at_once])]
        dated = self._dated(envelope, now)
        if now is not None and dated is None:
            return self._store.apply(envelope, now=now)
        return json.loads(self._post([json.dumps(dated).encode()])[0])

    def apply_json(self, text: Any, now: int | None = None, atomic: bool = False) -> Any:
        """Sends envelopes given as text."""
        if now is not None or atomic:
            return self._store.apply_json(text, now=now, atomic=atomic)
        if isinstance(text, list):
            return self._post([_encoded(one) for one in text])
        return self._post([_encoded(text)])[0]

    def _dated(self, envelope: Any, now: int | None) -> Any:
        """Adds the instant at which the envelope is to run to its head; returns None if the head cannot have one."""
        if now is None:
            return envelope
        if not isinstance(envelope, dict) or not isinstance(envelope.get("head"), dict) or not self._store.debug:
            return None
        if envelope.get("kind") == "debug.tick" or "resonate:debug_time" in envelope["head"]:
            return None
        return {**envelope, "head": {**envelope["head"], "resonate:debug_time": now}}

    def _post(self, bodies: Sequence[bytes]) -> list[bytes]:
        return [checked(answer) for answer in self._exchange.post(self._app, bodies)] if bodies else []

    def fork(self, clock: Any = None) -> HttpStore:
        """Returns a copy of the store, behind its own app, which is closed with this one."""
        self._forks.append(HttpStore(self._exchange, self._store.fork(clock)))
        return self._forks[-1]

    def close(self) -> None:
        """Stops the app and closes the store."""
        for fork in self._forks:
            fork.close()
        self._exchange.close(self._app)
        self._store.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def _debugs(envelope: Any) -> bool:
    return isinstance(envelope, dict) and str(envelope.get("kind")).startswith("debug.")


def _encoded(text: bytes | str) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)


_exchanges: dict[type, Exchange] = {}


def _exchange(kind: type) -> Exchange:
    if kind not in _exchanges:
        _exchanges[kind] = kind()
    return _exchanges[kind]


def open_in_process(**options: Any) -> HttpStore:
    """An empty store in memory, behind the app."""
    return HttpStore(_exchange(InProcess), Store(None, **options))


def open_over_a_socket(**options: Any) -> HttpStore:
    """An empty store in memory, behind the app on a real server."""
    return HttpStore(_exchange(OverASocket), Store(None, **options))


OVER_HTTP = {"http": open_in_process, "socket": open_over_a_socket}
