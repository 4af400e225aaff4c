"""The ASGI app: the protocol over HTTP (WIRE 1), for one store."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .._core import Envelope, RequestLimits, Store
from .._damper import ENDS_OF_RUNS, Damper
from .._stopwatch import seconds
from ..errors import StoreBusy, StoreError
from .batcher import Answer, Batcher
from .delivery import Delivery
from .driver import Driver
from .gate import Gate, header
from .late import Tasks
from .lines import Line
from .metrics import KINDS, Metrics
from .origins import Origins
from .poll import Poll
from .pushing import Push
from .readiness import summary
from .settings import AuthSettings, DeliverySettings, LimitSettings, PushSettings, ServerSettings, StreamSettings
from .tag_warnings import TagWarnings
from .tracing import spans

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from .._core import Message

__all__ = ["ResonateApp"]

_log = logging.getLogger("resonate_core.server")

_JSON = (b"content-type", b"application/json")
_LEGACY = ("/promises", "/tasks", "/schedules")
_BELOW_LEGACY = tuple(f"{path}/" for path in _LEGACY)
#: Pages that say nothing but whether there is a server: balancers ask for them by any name.
_OPEN_PAGES = ("/health", "/ready")
_REFUSED = {401: "Unauthorized", 403: "Forbidden"}
#: Seconds for which the body of a request is waited for, at least.
_BODY_PATIENCE = 30
#: How often every process of a server has looked at the store before a message goes to a stream that it does not prefer.
_TURNS_OF_OTHERS = 3
_RETRY_AFTER = (b"retry-after", b"1")


class _TooLarge(Exception):
    pass


class _Running:
    """What an app has on one event loop."""

    def __init__(self, app: ResonateApp) -> None:
        store, metrics = app.store, app.metrics
        self.loop = asyncio.get_running_loop()
        self.counting = store.watch(-1)
        self.damper = Damper(seconds)
        self.line = Line("resonate-store")
        self.acknowledging = Line("resonate-acknowledge")
        self.tasks = Tasks(_BODY_PATIENCE)
        interval = app.delivery.foreign_interval_ms / 1000 if store.path is not None else None
        self.driver = Driver(store, self.line.call, metrics, interval)
        self.batcher = Batcher(store, metrics, lambda: self.driver.behind, in_order=store.debug)
        self.deliveries = Delivery(store, self.acknowledging.call, metrics, self.driver.wake, self.damper, app.streams.grace)
        self.poll = Poll(self.deliveries, app.streams, metrics, app.server.url, app.elsewhere)
        self.deliveries.transports["poll"] = self.poll
        if app.push.enabled:
            push = Push(self.deliveries, app.push, metrics, app.server.url, app.delivery.part, app.delivery.parts, app.random)
            self.deliveries.transports["http"] = self.deliveries.transports["https"] = push
        self.driver.serve(self.deliveries)
        self.driving = self.loop.create_task(self.driver.run()) if app.delivery.enabled else None
        if self.driving is not None:
            self.driving.add_done_callback(_tell_failure)

    async def stop(self) -> None:
        """Lets what is under way finish: no answer and no delivered message is lost."""
        self.tasks.close()
        if self.driving is not None:
            self.driver.end()
            await asyncio.gather(self.driving, return_exceptions=True)
        await self.deliveries.close(patience=5)
        for line in (self.batcher, self.line, self.acknowledging):
            await self.loop.run_in_executor(None, line.close)


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
        self.random = Random()  # spreads the retries of pushes; a simulation seeds it
        self.metrics = Metrics()
        self._gate = Gate(auth, server.debug, self.metrics)
        self._origins = Origins(server, self._gate.asks)
        self._request_limits = RequestLimits(
            id_bytes=limits.id_bytes,
            tags=limits.tags,
            list_length=limits.list_length,
            nesting=limits.nesting,
            lease=limits.lease_ms,
            ttl=limits.ttl_ms,
            delay=limits.delay_ms,
            clock=store.clock,
        )
        self._running: _Running | None = None
        self._spans = spans(server.tracing)
        self._tag_warnings = TagWarnings()
        self._pages = ("/health", "/ready", "/metrics") if server.metrics else ("/health", "/ready")
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
        with contextlib.suppress(StoreError):  # a store that fails says so at the first tick
            for problem in await running.line.call(self.store.problems):
                _log.warning("%s (%s): %s", problem.name, problem.id, problem.detail)
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

    # Every coroutine on the way is gone through again each time a request waits, so the hot way has few.
    def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        path = scope["path"]
        root = scope.get("root_path", "")
        if root and path.startswith(root):
            path = path[len(root) :]
        if path not in _OPEN_PAGES and scope["method"] != "OPTIONS":
            foreign = self._origins.refusal(scope, path)
            if foreign is not None:
                return self._refuse_foreign(send, path, *foreign)
        if path in ("/", ""):
            if scope["method"] == "POST":
                return self._post(scope, receive, send)
            return _answer(send, 405, b'{"error":"only POST is served here"}', (b"allow", b"POST"))
        path = "/" + path.lstrip("/")  # clients that are given a URL with a slash at its end ask for //poll/...
        if path.startswith("/poll/"):
            return self._poll(scope, receive, send)
        if path in _LEGACY or path.startswith(_BELOW_LEGACY):
            return _answer(send, 410, b'{"error":"This endpoint is no longer supported. Please update to the latest SDK."}')
        if path in self._pages:
            if scope["method"] not in ("GET", "HEAD"):
                return _answer(send, 405, b'{"error":"only GET is served here"}', (b"allow", b"GET, HEAD"))
            return self._others({**scope, "path": path, "root_path": ""}, receive, send)
        return _answer(send, 404, b'{"error":"there is nothing at this path; the protocol is served by POST /"}')

    def _refuse_foreign(self, send: Send, path: str, status: int, why: str) -> Coroutine[Any, Any, None]:
        self.metrics.refused.labels("host" if status == 421 else "origin").inc()
        _log.debug("a request was refused: %s", why)
        if path in ("/", ""):
            return self._answer_unread(send, status, why)
        return _answer(send, status, json.dumps({"error": why}).encode())

    async def _health(self, request: Request) -> Response:
        return Response()

    async def _ready(self, request: Request) -> Response:
        running = self._here()
        try:
            problems = summary(await asyncio.wait_for(running.line.call(self.store.problems), 5))
        except (StoreError, asyncio.TimeoutError) as error:
            _log.warning("not ready: %s", error or "the store did not answer within 5 s")
            return _readiness(False, [{"name": "store", "detail": "the store does not answer; the server's log says why"}])
        driven = running.driving is None or not running.driving.done()
        if not driven or running.driver.problem is not None:
            problems.append({"name": "driver", "detail": "ticks and deliveries fail; the server's log says why"})
        return _readiness(driven, problems)

    async def _metrics(self, request: Request) -> Response:
        if not self.server.metrics_open:
            status = self._gate.status_of_metrics(request.scope)
            if status != 200:
                return JSONResponse({"error": _REFUSED[status]}, status)
        running = self._here()
        metrics, jobs = self.metrics, self.metrics.jobs
        try:
            counts = await running.line.call(self.store.outbox_counts)
            metrics.outbox.set(counts["waiting"])
            metrics.dropped.set(counts["dropped"])
            jobs.queues = await running.line.call(self.store.queues.stats)
            problems = await running.line.call(self.store.problems)
            metrics.set_aside.set(sum(problem.name == "schedule_set_aside" for problem in problems))
            metrics.clock_ahead.set(await running.line.call(lambda: self.store.clock_ahead) / 1000)
        except StoreError as error:  # what else there is says so
            _log.warning("metrics of what the store holds are as they were before: %s", error)
        jobs.attempts, jobs.entered = running.counting.job_attempts, running.counting.job_states
        self.metrics.streams.set(len(running.poll.streams))
        self.metrics.in_flight.set(running.batcher.in_flight)
        text, content_type = self.metrics.exposition()
        return Response(text, media_type=content_type)

    # -- the protocol -------------------------------------------------------------------------------------------------

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        running = self._here()
        # Who sends the rest of a request too slowly is cancelled by the watch over these.
        task = running.tasks.enter()
        try:
            message = await receive()
            body: bytes | None = message.get("body", b"") if message["type"] == "http.request" else None
            if message.get("more_body", False):
                body = await self._rest(body or b"", scope, receive)
            if body is not None and len(body) > self.limits.body_bytes:
                raise _TooLarge(f"the body has more than {self.limits.body_bytes} bytes, which is what is taken")
        except _TooLarge as error:
            self.metrics.refused.labels("body").inc()
            await self._answer_unread(send, 413, str(error))
            return
        except asyncio.CancelledError:
            if not running.tasks.was_late(task):
                raise
            self.metrics.refused.labels("slow").inc()
            await self._answer_unread(send, 408, f"the body did not come within {_BODY_PATIENCE} s")
            return
        finally:
            running.tasks.leave(task)
        if body is None:
            return  # who sent it went away before it was complete

        started = seconds()
        envelope = Envelope(body, self._request_limits)
        kind = envelope.kind
        refusal = None if envelope.refused else self._gate.judge(envelope, scope)
        task_ids = envelope.ids if kind in ENDS_OF_RUNS else ()
        if refusal is None and not envelope.refused:
            self._tag_warnings.look_at(envelope)
        if self._spans is not None:
            with self._spans(envelope, scope) as told:
                status, reply = refusal or await self._run(running, envelope)
                told(status)
        else:
            status, reply = refusal or await self._run(running, envelope)
        self.metrics.answered(kind, status, seconds() - started)
        if task_ids and status == 200:
            running.damper.run_ended(kind, task_ids[0])
        if _log.isEnabledFor(logging.DEBUG):
            told_more = {"kind": kind, "status": status, "corr_id": envelope.corr_id}
            _log.debug("%s answered with %d", kind if kind in KINDS else repr(kind), status, extra=told_more)
        headers = [_JSON, (b"content-length", b"%d" % len(reply))]
        if status == 429:
            headers.append(_RETRY_AFTER)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": reply})

    async def _run(self, running: _Running, envelope: Envelope) -> Answer:
        """Runs a request that may be made, if there is room for it."""
        if running.batcher.in_flight >= self.limits.requests_in_flight:
            self.metrics.refused.labels("in_flight").inc()
            return 429, envelope.refusal(429, "too many requests are under way; nothing was done, try again in a second")
        try:
            return await running.batcher.submit(envelope)
        except Exception as error:  # logged once, by the batcher
            return _failed(envelope, error)

    async def _answer_unread(self, send: Send, status: int, why: str) -> None:
        """Answers a request whose body was not read to its end, and asks for the end of its connection."""
        await _answer(send, status, Envelope(b"", self._request_limits).refusal(status, why), (b"connection", b"close"))

    async def _rest(self, first: bytes, scope: Scope, receive: Receive) -> bytes | None:
        limit = self.limits.body_bytes
        length = header(scope, b"content-length")
        if length is not None and length.isascii() and length.isdecimal() and (len(length) > 18 or int(length) > limit):
            raise _TooLarge(f"the body has {length[:18]} bytes; at most {limit} are taken")
        parts, size = [first], len(first)
        more = True
        while more and size <= limit:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
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
        prefix = self._gate.prefix_of_stream(scope)
        if isinstance(prefix, int):
            await _answer(send, prefix, b'{"error":"%s"}' % _REFUSED[prefix].encode())
            return
        if running.poll.closed or len(running.poll.streams) >= self.limits.streams:
            self.metrics.refused.labels("streams").inc()
            await _answer(send, 503, b'{"error":"Poll registration at capacity"}', _RETRY_AFTER)
            return
        if scope["method"] == "HEAD":
            await _answer(send, 200, b"", (b"content-type", b"text/event-stream"))
            return
        await running.poll.serve(*segments, prefix, receive, send)


def _readiness(ready: bool, problems: list[dict[str, str]]) -> Response:
    """Return the answer of /ready. It needs no token, so it holds no id, path or text of an error."""
    body = json.dumps({"ready": ready, "problems": problems}, separators=(",", ":"))
    return Response(body + "\n", 200 if ready else 503, media_type="application/json")


def _failed(envelope: Envelope, error: Exception) -> Answer:
    if isinstance(error, StoreBusy):
        return 429, envelope.refusal(429, "the store is busy; nothing was done, try again in a second")
    return 500, envelope.refusal(500, "the store failed and nothing was done; the server's log says why")


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
