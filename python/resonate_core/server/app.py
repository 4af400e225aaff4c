"""The ASGI app: the protocol over HTTP (WIRE 1), for one store."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .._core import Envelope, RequestLimits, Store
from .._stopwatch import seconds
from ..errors import StoreBusy, StoreError
from .auth import Authenticator, Identity, Unauthorized, bearer
from .batcher import Batcher
from .delivery import Delivery
from .driver import Driver
from .metrics import Metrics
from .poll import Poll
from .pushing import Push
from .settings import AuthSettings, DeliverySettings, LimitSettings, PushSettings, ServerSettings, StreamSettings
from .tracing import spans

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from .._core import Message

__all__ = ["ResonateApp"]

_log = logging.getLogger("resonate_core.server")

_JSON = (b"content-type", b"application/json")
_LEGACY = ("/promises", "/tasks", "/schedules")
#: Seconds for which the rest of a request is waited for.
_BODY_PATIENCE = 30
#: How often every process of a server has looked at the store before a message goes to a stream that it does not prefer.
_TURNS_OF_OTHERS = 3
_RETRY_AFTER = (b"retry-after", b"1")


class _TooLarge(Exception):
    pass


class _Gone(Exception):
    """The client went away before its request was complete."""


class _Running:
    """What an app has on one event loop."""

    def __init__(self, app: ResonateApp) -> None:
        store, metrics = app.store, app.metrics
        self.loop = asyncio.get_running_loop()
        self.threads = ThreadPoolExecutor(2, thread_name_prefix="resonate-store")
        self.batcher = Batcher(store, metrics)
        call = functools.partial(self.loop.run_in_executor, self.threads)
        interval = app.delivery.foreign_interval_ms / 1000 if store.path is not None else None
        self.driver = Driver(store, call, metrics, interval)
        self.deliveries = Delivery(store, call, metrics, self.driver.wake)
        self.poll = Poll(self.deliveries, app.streams, metrics, app.server.url, app.elsewhere)
        self.deliveries.transports["poll"] = self.poll
        if app.push.enabled:
            push = Push(self.deliveries, app.push, metrics, app.server.url, app.delivery.part, app.delivery.parts)
            self.deliveries.transports["http"] = self.deliveries.transports["https"] = push
        self.driver.serve(self.deliveries)
        self.driving = self.loop.create_task(self.driver.run()) if app.delivery.enabled else None
        if self.driving is not None:
            self.driving.add_done_callback(_tell_failure)

    async def stop(self) -> None:
        """Lets what is under way finish: no answer and no delivered message is lost."""
        if self.driving is not None:
            self.driving.cancel()
            await asyncio.gather(self.driving, return_exceptions=True)
        await self.deliveries.close(patience=5)
        await self.loop.run_in_executor(None, self.batcher.close)
        self.threads.shutdown()


def _tell_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        _log.critical("ticks and deliveries ended: %s", task.exception(), exc_info=task.exception())


class ResonateApp:
    """An ASGI app that serves one store; `resonate_core.asgi.create_app` makes it."""

    def __init__(
        self,
        store: Store,
        server: ServerSettings,
        auth: AuthSettings,
        limits: LimitSettings,
        streams: StreamSettings,
        push: PushSettings,
        delivery: DeliverySettings,
    ) -> None:
        self.store = store
        self.server = server
        self.limits = limits
        self.streams = streams
        self.push = push
        self.delivery = delivery
        self.metrics = Metrics()
        self._authenticator = Authenticator(auth) if auth.enabled else None
        self._request_limits = RequestLimits(
            id_bytes=limits.id_bytes, tags=limits.tags, list_length=limits.list_length, nesting=limits.nesting
        )
        self._running: _Running | None = None
        self._spans = spans(server.tracing)
        self._others = Starlette(
            routes=[
                Route("/health", self._health),
                Route("/ready", self._ready),
                *([Route("/metrics", self._metrics)] if server.metrics else []),
            ]
        )
        self._app: ASGIApp = self._dispatch
        if server.cors_origins:
            self._app = CORSMiddleware(
                self._dispatch,
                allow_origins=server.cors_origins,
                allow_methods=["GET", "POST"],
                allow_headers=["authorization", "content-type"],
            )

    # -- life ---------------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncIterator[None]:
        """Ticks and delivers while it is entered; for the lifespan of an app that this one is mounted into.

        Without it that begins with the first request.
        """
        running = self._here()
        try:
            yield
        finally:
            self._running = None
            await running.stop()

    def elsewhere(self, message: Message) -> float:
        """For how many seconds more another process of this server may have the stream that a message prefers."""
        if self.delivery.parts == 1:
            return 0.0
        until = message.queued_at + _TURNS_OF_OTHERS * self.delivery.foreign_interval_ms
        return max(0.0, (until - self.store.now) / 1000)

    def end_streams(self) -> None:
        """Ends every poll stream, each after what waits in it: a server that is about to stop need not wait for them."""
        if self._running is not None:
            self._running.poll.end_all()

    def _here(self) -> _Running:
        running = self._running
        if running is None or running.loop.is_closed():
            running = self._running = _Running(self)
        elif running.loop is not asyncio.get_running_loop():
            raise RuntimeError("this app runs on another event loop already; make one app for each")
        return running

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "http":
            await self._app(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        else:
            raise NotImplementedError(f"ASGI scope {scope['type']!r} is not served")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with contextlib.AsyncExitStack() as life:
            try:
                await life.enter_async_context(self.lifespan())
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                raise
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    # -- routes -------------------------------------------------------------------------------------------------------

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        root = scope.get("root_path", "")
        if root and path.startswith(root):
            path = path[len(root) :]
        if path in ("/", ""):
            if scope["method"] == "POST":
                await self._post(scope, receive, send)
            else:
                await _answer(send, 405, b'{"error":"only POST is served here"}', (b"allow", b"POST"))
            return
        path = "/" + path.lstrip("/")  # clients that are given a URL with a slash at its end ask for //poll/...
        if path.startswith("/poll/"):
            await self._poll(scope, receive, send)
        elif path in _LEGACY or path.startswith(tuple(legacy + "/" for legacy in _LEGACY)):
            await _answer(send, 410, b'{"error":"This endpoint is no longer supported. Please update to the latest SDK."}')
        elif path in ("/health", "/ready", "/metrics"):
            await self._others({**scope, "path": path, "root_path": ""}, receive, send)
        else:
            await _answer(send, 404, b'{"error":"there is nothing at this path; the protocol is served by POST /"}')

    async def _health(self, request: Request) -> Response:
        return Response()

    async def _ready(self, request: Request) -> Response:
        running = self._here()
        try:
            await asyncio.wait_for(running.loop.run_in_executor(running.threads, self.store.next_due), 5)
        except (StoreError, asyncio.TimeoutError) as error:
            _log.warning("not ready: %s", error or "the store did not answer within 5 s")
            return Response(status_code=503)
        if running.driving is not None and running.driving.done():
            return Response(status_code=503)
        return Response()

    async def _metrics(self, request: Request) -> Response:
        if self._authenticator is not None and not self.server.metrics_open:
            identity = self._identify(request.headers.get("authorization"))
            if identity is None or not identity.unrestricted:
                self.metrics.refused.labels("metrics").inc()
                return JSONResponse(
                    {"error": "Unauthorized" if identity is None else "Forbidden"}, 401 if identity is None else 403
                )
        running = self._here()
        counts = await running.loop.run_in_executor(running.threads, self.store.outbox_counts)
        self.metrics.outbox.set(counts["waiting"])
        self.metrics.dropped.set(counts["dropped"])
        self.metrics.streams.set(len(running.poll.streams))
        self.metrics.in_flight.set(running.batcher.in_flight)
        text, content_type = self.metrics.exposition()
        return Response(text, media_type=content_type)

    # -- the protocol -------------------------------------------------------------------------------------------------

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        running = self._here()
        try:
            body = await self._body(scope, receive)
        except _Gone:
            return
        except _TooLarge as error:
            self.metrics.refused.labels("body").inc()
            envelope = Envelope(b"", self._request_limits)
            await _answer(send, 413, envelope.refusal(413, str(error)), (b"connection", b"close"))
            return
        except asyncio.TimeoutError:
            envelope = Envelope(b"", self._request_limits)
            await _answer(send, 408, envelope.refusal(408, f"the rest of the body did not come within {_BODY_PATIENCE} s"))
            return
        started = seconds()
        envelope = Envelope(body, self._request_limits)
        kind = envelope.kind
        if self._spans is None:
            status, reply = await self._admit(running, envelope, scope)
        else:
            with self._spans(envelope, scope) as told:
                status, reply = await self._admit(running, envelope, scope)
                told(status)
        self.metrics.answered(kind, status, seconds() - started)
        if _log.isEnabledFor(logging.DEBUG):
            told_more = {"kind": kind, "status": status, "corr_id": envelope.corr_id}
            _log.debug("%s answered with %d", kind, status, extra=told_more)
        if status == 429:
            await _answer(send, status, reply, _RETRY_AFTER)
        else:
            await _answer(send, status, reply)

    async def _admit(self, running: _Running, envelope: Envelope, scope: Scope) -> tuple[int, bytes]:
        """Judges a request, and runs it if it may; status and reply."""
        if not envelope.refused:
            refusal = self._refuse(envelope, scope)
            if refusal is not None:
                return refusal
        if running.batcher.in_flight >= self.limits.requests_in_flight:
            self.metrics.refused.labels("in_flight").inc()
            return 429, envelope.refusal(429, "too many requests are under way; nothing was done, try again in a second")
        try:
            return await running.batcher.submit(envelope)
        except StoreBusy:
            return 429, envelope.refusal(429, "the store is busy; nothing was done, try again in a second")
        except Exception:  # logged once, by the batcher
            return 500, envelope.refusal(500, "the store failed and nothing was done; the server's log says why")

    def _refuse(self, envelope: Envelope, scope: Scope) -> tuple[int, bytes] | None:
        """401 or 403, where a request may not be made; narrows what a restricted one finds by itself."""
        identity: Identity | None = None
        if self._authenticator is not None:
            identity = self._identify(envelope.auth, scope)
            if identity is None:
                self.metrics.refused.labels("unauthorized").inc()
                return 401, envelope.refusal(401, "Unauthorized")
            if identity.prefix is None and not identity.admin:
                return self._forbid(envelope, "Forbidden")
        if envelope.debug:
            if not self.server.debug:
                return self._forbid(envelope, "Debug operations are disabled")
            if identity is not None and not identity.unrestricted:
                return self._forbid(envelope, "Forbidden")
        elif identity is not None and not identity.unrestricted:
            if not identity.may_touch(envelope.ids):
                return self._forbid(envelope, "Forbidden")
            envelope.restrict(identity.prefix or "")
            envelope.forget_debug_time()
        if not self.server.debug:
            envelope.forget_debug_time()
        return None

    def _forbid(self, envelope: Envelope, why: str) -> tuple[int, bytes]:
        self.metrics.refused.labels("forbidden").inc()
        return 403, envelope.refusal(403, why)

    def _identify(self, token: str | None, scope: Scope | None = None) -> Identity | None:
        """Who sent it: by `token`, or the Authorization header of `scope`, or of the text itself where there is no scope."""
        assert self._authenticator is not None
        try:
            if scope is None:
                token = bearer(token)
            elif token is None:
                token = bearer(_header(scope, b"authorization"))
            return self._authenticator.identify(token)
        except Unauthorized as error:
            _log.debug("a token was refused: %s", error)
            return None

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        limit = self.limits.body_bytes
        length = _header(scope, b"content-length")
        if length is not None and length.isdigit() and int(length) > limit:
            raise _TooLarge(f"the body has {int(length)} bytes; at most {limit} are taken")
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        body: bytes = message.get("body", b"")
        if message.get("more_body", False):
            body = await asyncio.wait_for(self._rest(body, limit, receive), _BODY_PATIENCE)
        if len(body) > limit:
            raise _TooLarge(f"the body has more than {limit} bytes; at most {limit} are taken")
        return body

    async def _rest(self, first: bytes, limit: int, receive: Receive) -> bytes:
        parts, size = [first], len(first)
        more = True
        while more and size <= limit:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            part = message.get("body", b"")
            parts.append(part)
            size += len(part)
            more = message.get("more_body", False)
        return b"".join(parts)

    # -- poll ---------------------------------------------------------------------------------------------------------

    async def _poll(self, scope: Scope, receive: Receive, send: Send) -> None:
        running = self._here()
        if scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 405, b'{"error":"only GET is served here"}', (b"allow", b"GET, HEAD"))
            return
        segments = _segments_after_poll(scope)
        if segments is None:
            await _answer(send, 404, b'{"error":"a stream is at /poll/{group}/{id}"}')
            return
        prefix = ""
        if self._authenticator is not None:
            identity = self._identify(None, scope)
            if identity is None:
                self.metrics.refused.labels("unauthorized").inc()
                await _answer(send, 401, b'{"error":"Unauthorized"}')
                return
            if identity.prefix is None and not identity.admin:
                self.metrics.refused.labels("forbidden").inc()
                await _answer(send, 403, b'{"error":"Forbidden"}')
                return
            prefix = "" if identity.admin else identity.prefix or ""
        if running.poll.closed or len(running.poll.streams) >= self.limits.streams:
            self.metrics.refused.labels("streams").inc()
            await _answer(send, 503, b'{"error":"Poll registration at capacity"}', _RETRY_AFTER)
            return
        if scope["method"] == "HEAD":
            await _answer(send, 200, b"", (b"content-type", b"text/event-stream"))
            return
        await running.poll.serve(*segments, prefix, receive, send)


def _header(scope: Scope, name: bytes) -> str | None:
    for given, value in scope["headers"]:
        if given == name:
            text: str = value.decode("latin-1")
            return text
    return None


def _segments_after_poll(scope: Scope) -> tuple[str, str] | None:
    """Group and id, decoded one by one: an id may hold a slash that is written %2F."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    path = raw.split(b"?", 1)[0].decode("latin-1")
    at = path.find("/poll/", max(0, len(scope.get("root_path", "")) - 1))
    segments = path[at + len("/poll/") :].split("/")
    if at < 0 or len(segments) != 2 or not all(segments):
        return None
    return unquote(segments[0]), unquote(segments[1])


async def _answer(send: Callable[[Any], Any], status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", str(len(body)).encode())
    every = [*headers, length] if any(name == b"content-type" for name, _ in headers) else [_JSON, *headers, length]
    await send({"type": "http.response.start", "status": status, "headers": every})
    await send({"type": "http.response.body", "body": body})
