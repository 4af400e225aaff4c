"""The ASGI app: the protocol over HTTP (WIRE 1), for one store."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from starlette.middleware.cors import CORSMiddleware

from .._core import Envelope, RequestLimits, Store
from ..base.forwarded import PEER_IS_KNOWN
from ..base.release_delay import ENDS_OF_RUNS
from ..base.stopwatch import seconds
from ..calls.store_threads import open_apart
from ..errors import StoreBusy, StoreError
from .authorizer import REASONS, Authorizer
from .batcher import Answer
from .batches import LONG, answer_batch, portions
from .logs import TagWarnings
from .metrics import KINDS, Metrics
from .origins import JOB_STREAM, Origins, asks_for_a_page
from .pages import Pages
from .request_body import BodyRefused, discard_rest, read_body
from .runtime import Runtime
from .settings import Settings
from .stream_paths import queues_of, segments_after_poll
from .tracing import spans

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from ..ui.app import UiApp

__all__ = ["MOST_OF_A_BATCH", "ResonateApp"]

_log = logging.getLogger("resonate_core.server")

_JSON = (b"content-type", b"application/json")
_TEXT = (b"content-type", b"text/plain; charset=utf-8")
_LEGACY = ("/promises", "/tasks", "/schedules")
_BELOW_LEGACY = tuple(f"{path}/" for path in _LEGACY)
#: Pages that show only whether the server runs. Load balancers read them under any host name, so no origin is checked.
_OPEN_PAGES = ("/health", "/ready")
#: Seconds in which the body of a request must arrive.
_BODY_TIMEOUT = 30
_RETRY_AFTER = (b"retry-after", b"1")
_ONLY_POST = (405, b'{"error":"only POST is served here"}', (b"allow", b"POST"))
_ONLY_GET = (405, b'{"error":"only GET is served here"}', (b"allow", b"GET, HEAD"))
#: The path for several envelopes in one request.
_BATCH = "/batch"
#: The dashboard, and all below it.
_UI = "/ui"
_BELOW_UI = f"{_UI}/"
#: The most envelopes in one request: more of them would delay other requests.
MOST_OF_A_BATCH = 128
#: A header of each reply: a client sends no batch to a server without it.
_BATCHES = (b"resonate-batch", b"%d" % MOST_OF_A_BATCH)
#: The most queues of a stream; a claim has the same limit.
_MOST_QUEUES = 1000


class ResonateApp:
    """An ASGI app that serves one store; `resonate_core.asgi.create_app` makes it."""

    def __init__(self, store: Store | Callable[[], Store], settings: Settings) -> None:
        self.settings = settings
        self.random = Random()  # spreads the retries of pushes; a simulation seeds it
        self.peers_are_known = False  # whether the `client` of a scope is the peer, and comes from no header
        self._open: Callable[[], Store] | None = None
        self._opening: asyncio.Future[Store] | None = None  # for the first requests, if there is no lifespan
        self._store: Store | None = None
        self._runtime: Runtime | None = None
        self._spans = spans(settings.server.tracing)
        self._tag_warnings = TagWarnings()
        self._app: ASGIApp = self._dispatch
        if settings.server.cors_origins:
            self._app = CORSMiddleware(
                self._dispatch,
                allow_origins=settings.server.cors_origins,
                allow_methods=["GET", "POST"],
                allow_headers=["authorization", "content-type"],
            )
        if isinstance(store, Store):
            self._serve(store)
        else:
            self._open = store
            Authorizer(settings.auth, settings.server.debug, Metrics())  # a key that cannot be read is refused now

    def _serve(self, store: Store) -> None:
        """Make the parts that need the store."""
        settings = self.settings
        server, limits = settings.server, settings.limits
        self._store = store
        in_database = store.url is not None
        self.outcome_may_be_unknown = in_database  # the answer to a commit may be lost
        self.metrics = Metrics(in_database, server.metrics_queues)
        self._authorizer = Authorizer(settings.auth, server.debug, self.metrics)
        self._origins = Origins(server, self._authorizer.requires_tokens)
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
        store._limit_submissions(self._request_limits, limits.body_bytes)
        self._dashboard: UiApp | None = None
        if server.ui:
            from .dashboard import dashboard

            parts = (store, settings, self._authorizer, self._request_limits)
            self._dashboard = dashboard(*parts, self._current_runtime, self._run)
        self._pages = Pages(store, server, self._authorizer, self.metrics, self._current_runtime)

    @property
    def store(self) -> Store:
        """The store that it serves.

        Raises:
            RuntimeError: It was made of a path or a URL, and its lifespan has not begun or is over.
        """
        if self._store is None:
            raise RuntimeError("the store of this app is open only during its lifespan: enter app.lifespan(), or pass a Store")
        return self._store

    # -- life ---------------------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any = None) -> AsyncIterator[None]:
        """Run due steps and deliver messages while the block runs; for the lifespan of an app that mounts this one.

        If the app was made from a path or a URL, its store is opened here, and closed at the end. Without the lifespan, all this
        begins with the first request, and the store stays open.

        Raises:
            StoreError: The store cannot be opened.
        """
        if self._store is None and self._open is not None:
            self._serve(await open_apart(self._open))
        runtime = self._current_runtime()
        counting = None if self._dashboard is None else asyncio.ensure_future(self._dashboard.count_minutes())
        try:
            with contextlib.suppress(StoreError):  # if the store fails, the first tick logs it
                for problem in await runtime.executor.call(self.store.problems):
                    _log.warning("%s (%s): %s", problem.name, problem.id, problem.detail)
            yield
        finally:
            self._runtime = None
            if self._dashboard is not None and counting is not None:
                counting.cancel()
                await asyncio.gather(counting, return_exceptions=True)
                await self._dashboard.aclose()
            try:
                await runtime.stop()
            finally:
                if self._open is not None and self._store is not None:
                    closed, self._store = self._store, None
                    await asyncio.to_thread(closed.close)

    def end_streams(self) -> None:
        """End every stream, so that a server that stops does not wait for it. A poll stream first sends its queued messages."""
        if self._runtime is not None:
            self._runtime.end_streams()
        if self._dashboard is not None:
            self._dashboard.end_streams()

    async def _open_at_first_request(self, open: Callable[[], Store]) -> None:
        """Open the store without a lifespan. All requests that arrive meanwhile wait for it, even if the first one is cancelled."""
        opening = self._opening
        if opening is None or opening.done() or opening.get_loop() is not asyncio.get_running_loop():
            opening = self._opening = asyncio.ensure_future(open_apart(open))
        store = await asyncio.shield(opening)
        if self._store is None:
            self._opening = None
            self._serve(store)
        self._current_runtime()

    def _current_runtime(self) -> Runtime:
        runtime = self._runtime
        if runtime is not None and runtime.loop is asyncio.get_running_loop():
            return runtime
        if runtime is not None and not runtime.loop.is_closed():
            raise RuntimeError("this app runs on another event loop already; make one app for each")
        runtime = self._runtime = Runtime(
            self.store, self.settings, self.metrics, self.random, _BODY_TIMEOUT, self._authorizer.tenants
        )
        return runtime

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "http":
            if self._store is None and self._open is not None:
                await self._open_at_first_request(self._open)
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

    # A request that waits resumes through each coroutine on its path, so the path of most requests has few.
    def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> Coroutine[Any, Any, None]:
        path = scope["path"]
        root = scope.get("root_path", "")
        if root and path.startswith(root):
            path = path[len(root) :]
        if path not in _OPEN_PAGES and scope["method"] != "OPTIONS":
            refusal = self._origins.refusal(scope, path)
            if refusal is not None:
                return self._refuse_foreign(receive, send, path, *refusal)
        if path in ("/", ""):
            if scope["method"] == "POST":
                return self._post(scope, receive, send)
            if self._dashboard is not None and asks_for_a_page(scope):
                return _answer(send, 307, b"", (b"location", _below(root, path, _BELOW_UI)), (b"vary", b"accept"), _TEXT)
            return _answer(send, *_ONLY_POST)
        path = "/" + path.lstrip("/")  # a client whose URL ends with a slash requests //poll/...
        if path.startswith("/poll/"):
            return self._poll(scope, receive, send)
        if path == _BATCH:
            return self._post_batch(scope, receive, send) if scope["method"] == "POST" else _answer(send, *_ONLY_POST)
        if path == JOB_STREAM:
            return self._job_stream(scope, receive, send)
        if self._dashboard is not None and (path == _UI or path.startswith(_BELOW_UI)):
            known = {PEER_IS_KNOWN: self.peers_are_known}
            return self._dashboard({**scope, **known, "path": root + path, "root_path": root + _UI}, receive, send)
        if path in _LEGACY or path.startswith(_BELOW_LEGACY):
            return _answer(send, 410, b'{"error":"This endpoint is no longer supported. Please update to the latest SDK."}')
        if path in self._pages.paths:
            if scope["method"] not in ("GET", "HEAD"):
                return _answer(send, *_ONLY_GET)
            return self._pages.app({**scope, "path": path, "root_path": ""}, receive, send)
        return _answer(send, 404, b'{"error":"there is nothing at this path; the protocol is served by POST /"}')

    def _refuse_foreign(self, receive: Receive, send: Send, path: str, status: int, why: str) -> Coroutine[Any, Any, None]:
        self.metrics.refused.labels("host" if status == 421 else "origin").inc()
        _log.debug("a request was refused: %s", why)
        if path in ("/", "", _BATCH):
            return self._answer_unread(receive, send, status, why)
        return _answer(send, status, json.dumps({"error": why}).encode())

    # -- the protocol -------------------------------------------------------------------------------------------------

    async def _post(self, scope: Scope, receive: Receive, send: Send) -> None:
        runtime = self._current_runtime()
        try:
            body = await read_body(scope, receive, self.settings.limits.body_bytes, runtime.body_timeout)
        except BodyRefused as refused:
            await self._refuse_body(refused, receive, send)
            return
        if body is None:  # the client has disconnected
            return
        envelope = Envelope(body, self._request_limits)
        if envelope.records > LONG:
            del envelope  # it waits as its text, which takes less memory
            async with runtime.turn_of_long(1):
                status, reply = await self._reply(runtime, Envelope(body, self._request_limits), scope)
        else:
            status, reply = await self._reply(runtime, envelope, scope)
        headers = [_JSON, _BATCHES, (b"content-length", b"%d" % len(reply))]
        if status == 429:
            headers.append(_RETRY_AFTER)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": reply})

    async def _post_batch(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer several envelopes, one on each line, with one line for each."""
        runtime = self._current_runtime()
        try:
            body = await read_body(scope, receive, self.settings.limits.body_bytes, runtime.body_timeout)
        except BodyRefused as refused:
            await self._refuse_body(refused, receive, send)
            return
        if body is None:  # the client has disconnected
            return
        lines = body.removesuffix(b"\n").split(b"\n")
        if len(lines) > MOST_OF_A_BATCH:
            why = f"a batch must have 1 to {MOST_OF_A_BATCH} envelopes, got {len(lines)}"
            await _answer(send, 400, json.dumps({"error": why}).encode())
            return
        headers = ((b"content-type", b"application/x-ndjson"), _BATCHES)
        reply = functools.partial(self._reply, runtime, scope=scope)
        await answer_batch(send, headers, portions(lines, self._request_limits), runtime.turn_of_long, reply)

    async def _refuse_body(self, refused: BodyRefused, receive: Receive, send: Send) -> None:
        self.metrics.refused.labels(refused.limit).inc()
        await self._answer_unread(receive if refused.unread else None, send, refused.status, str(refused))

    async def _reply(self, runtime: Runtime, envelope: Envelope, scope: Scope) -> Answer:
        """Check the permission for one envelope, and run it."""
        started = seconds()
        kind = envelope.kind
        refusal = None
        if not envelope.refused:
            refusal = self._authorizer.refusal(envelope, scope)
            if refusal is None:
                self._tag_warnings.check(envelope)
        task_ids = envelope.ids if kind in ENDS_OF_RUNS else ()
        if self._spans is not None:
            with self._spans(envelope, scope) as set_status:
                status, reply = refusal or await self._run(runtime, envelope)
                set_status(status)
        else:
            status, reply = refusal or await self._run(runtime, envelope)
        self.metrics.answered(kind, status, seconds() - started)
        if task_ids and status == 200:
            runtime.damper.run_ended(kind, task_ids[0])
        if _log.isEnabledFor(logging.DEBUG):
            fields = {"kind": kind, "status": status, "corr_id": envelope.corr_id}
            _log.debug("%s answered with %d", kind if kind in KINDS else repr(kind), status, extra=fields)
        return status, reply

    async def _run(self, runtime: Runtime, envelope: Envelope) -> Answer:
        """Run a permitted request, unless too many are under way."""
        if runtime.in_flight >= self.settings.limits.requests_in_flight:
            self.metrics.refused.labels("in_flight").inc()
            return 429, envelope.refusal(429, "too many requests are under way; nothing was done, try again in a second")
        try:
            return await runtime.batcher.submit(envelope)
        except Exception as error:  # the batcher has logged it, once for the transaction
            return _failed(envelope, error, self.outcome_may_be_unknown)

    async def _answer_unread(self, receive: Receive | None, send: Send, status: int, why: str) -> None:
        """Refuse a request whose body was not read to its end, and close its connection.

        With `receive`, the rest of the body is discarded first: if a connection is closed while the client still sends, TCP resets it,
        and the client may not get the answer.
        """
        body = Envelope(b"", self._request_limits).refusal(status, why)
        if receive is None:
            await _answer(send, status, body, (b"connection", b"close"))
            return
        await _begin_answer(send, status, body, (b"connection", b"close"))
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await discard_rest(receive)
        await send({"type": "http.response.body", "body": b""})

    # -- poll ---------------------------------------------------------------------------------------------------------

    async def _poll(self, scope: Scope, receive: Receive, send: Send) -> None:
        runtime = self._current_runtime()
        if scope["method"] not in ("GET", "HEAD"):
            await _answer(send, *_ONLY_GET)
            return
        segments = segments_after_poll(scope)
        if segments is None:
            await _answer(send, 404, b'{"error":"a stream is at /poll/{group}/{id}"}')
            return
        prefix = self._authorizer.prefix_of_stream(scope)
        if isinstance(prefix, int):
            await _answer(send, prefix, b'{"error":"%s"}' % REASONS[prefix].encode())
            return
        if await self._may_open_stream(runtime, prefix, scope, send):
            with runtime.stream_places.taken(prefix):
                await runtime.poll.serve(*segments, prefix, receive, send)

    async def _may_open_stream(self, runtime: Runtime, prefix: str, scope: Scope, send: Send) -> bool:
        """Return whether a permitted stream can be opened; if not, answer the request."""
        if runtime.poll.closed or not runtime.stream_places.is_free(prefix):
            self.metrics.refused.labels("streams").inc()
            await _answer(send, 503, b'{"error":"Poll registration at capacity"}', _RETRY_AFTER)
            return False
        if scope["method"] == "HEAD":
            await _answer(send, 200, b"", (b"content-type", b"text/event-stream"))
            return False
        return True

    # -- jobs ---------------------------------------------------------------------------------------------------------

    async def _job_stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        runtime = self._current_runtime()
        if scope["method"] not in ("GET", "HEAD"):
            await _answer(send, *_ONLY_GET)
            return
        queues = queues_of(scope)
        if not 1 <= len(queues) <= _MOST_QUEUES:
            why = f"a stream is at {JOB_STREAM}?queue=NAME, with 1 to {_MOST_QUEUES} queues, got {len(queues)}"
            await _answer(send, 400, json.dumps({"error": why}).encode())
            return
        announced = self._authorizer.queues_of_stream(scope, queues)
        if isinstance(announced, int):
            await _answer(send, announced, b'{"error":"%s"}' % REASONS[announced].encode())
            return
        prefix = self._authorizer.prefix_of_stream(scope)
        assert isinstance(prefix, str), "a stream of jobs is permitted to the tokens that may open a poll stream"
        if await self._may_open_stream(runtime, prefix, scope, send):
            with runtime.stream_places.taken(prefix):
                await runtime.job_streams.serve(announced, receive, send)


def _below(root: str, path: str, place: str) -> bytes:
    """Return a place as a relative reference: a proxy may strip a part of the path that this app does not know."""
    if path:
        return place[1:].encode()
    return quote(f"{root.rpartition('/')[2]}{place}").encode()


def _failed(envelope: Envelope, error: Exception, outcome_may_be_unknown: bool) -> Answer:
    if isinstance(error, StoreBusy):
        return 429, envelope.refusal(429, "the store is busy; nothing was done, try again in a second")
    if outcome_may_be_unknown:
        return 500, envelope.refusal(500, "the store failed; the server's log says why, and whether anything was done")
    return 500, envelope.refusal(500, "the store failed and nothing was done; the server's log says why")


async def _answer(send: Callable[[Any], Any], status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    await _begin_answer(send, status, body, *headers)
    await send({"type": "http.response.body", "body": body})


async def _begin_answer(send: Callable[[Any], Any], status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", str(len(body)).encode())
    every = [*headers, length] if any(name == b"content-type" for name, _ in headers) else [_JSON, *headers, length]
    await send({"type": "http.response.start", "status": status, "headers": every})
