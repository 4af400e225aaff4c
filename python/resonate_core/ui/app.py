"""The ASGI app of the dashboard: its page, its views as JSON, its actions and its events."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from .._core import Envelope, RequestLimits
from ..base.log_lines import escape_lines
from ..errors import ResonateError, StoreBusy, StoreError
from ..http.judged_headers import is_foreign_site, is_same_origin, judged
from . import jobs, lookups, messages, overview, pytest_export, queues, schedules, stuck, travel, workers, workflows
from .access import Refused, StoreAccess
from .action_endpoint import need_operator, parsed, run_action
from .dashboard import Dashboard
from .events import Ticker
from .files import Assets
from .parameters import BadParameter, Parameters
from .principal import Principal
from .receiving import MOST_UPLOADS, read_body
from .redaction import Redaction
from .rooms import DASHBOARD, Room, RoomPlaces, Turns, room_of

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

__all__ = ["ACTS", "HEADERS", "READS", "UiApp", "relative_path"]

_log = logging.getLogger("resonate_core.ui")
escape_lines(_log.name)

#: Sent with every response.
HEADERS: list[tuple[bytes, bytes]] = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
        b"form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
]
_JSON = (b"content-type", b"application/json")
_NO_STORE = (b"cache-control", b"no-store")

View = Callable[[StoreAccess, Parameters, Dashboard], dict[str, Any]]
#: Views of a store as it is, or as of an event of a recording.
VIEWS: dict[str, View] = {
    "overview": overview.overview,
    "due": overview.due_view,
    "queues": queues.queues,
    "queue": queues.queue,
    "groups": queues.groups,
    "jobs": jobs.jobs,
    "jobs/count": jobs.count,
    "jobs/graph": jobs.graph,
    "job": jobs.job,
    "workflows": workflows.workflows,
    "workflow": workflows.workflow,
    "promise": workflows.promise,
    "tasks": workflows.tasks,
    "schedules": schedules.schedules,
    "workers": workers.workers,
    "messages": messages.messages,
    "why": lookups.why,
    "stuck": stuck.stuck,
    "find": lookups.find,
}
#: Views of the dashboard itself.
OTHERS: dict[str, View] = {
    "audit": lookups.audit,
    "travel": travel.travels,
    "travel/steps": travel.steps_view,
    "travel/state": travel.state_view,
    "travel/diff": travel.diff_view,
}
#: Every name below `api/` that takes a GET, and every one that takes a POST.
READS: frozenset[str] = frozenset((*VIEWS, *OTHERS, "session", "events", "travel/pytest"))
ACTS: frozenset[str] = frozenset(("do", "travel", "travel/fork"))
#: The most characters of an error that are searched for redacted values and answered.
_MOST_WHY = 4096
#: Seconds between two looks at the minutes that have ended.
_MINUTE = 60
#: The number of threads for views, which may scan, of tenants and of the others, and for actions and uploads. A room has all but one.
_READS, _OWN_READS, _ACTS, _UPLOADS = 2, 3, 2, 2


class UiApp:
    """An ASGI app that serves one dashboard below the path where it is mounted.

    Args:
        dashboard: The dashboard.
        who: Returns who sends a request, or the status that refuses it, 401 or 403.
        requires_token: Whether a token is required.
        limits: The limits of a request.
        run: Runs a request that may change the store, in the calling thread; by default the store does.
        origins: Further origins of the page itself, for example behind a proxy.
    """

    def __init__(
        self,
        dashboard: Dashboard,
        who: Callable[[Scope], Principal | int],
        *,
        requires_token: bool = False,
        limits: RequestLimits | None = None,
        run: Callable[[Envelope], tuple[int, bytes]] | None = None,
        origins: frozenset[str] = frozenset(),
    ) -> None:
        self.dashboard = dashboard
        self._who = who
        self._requires_token = requires_token
        self._limits = limits
        self._run = run
        self._origins = origins
        self._assets = Assets()
        self._reads = Turns("resonate-ui", _READS, _OWN_READS)
        self._acts = Turns("resonate-ui-actions", _ACTS)
        self._uploads = Turns("resonate-ui-uploads", _UPLOADS)
        self._requests = RoomPlaces(dashboard.options.requests, "ui.requests", "requests to the dashboard", 429)
        self._arriving = RoomPlaces(MOST_UPLOADS, "uploads", "recordings on their way", 429)
        self._ticker: Ticker | None = None
        self._has_indexes = dashboard.read_only  # a dashboard that only reads changes no file

    # --- ASGI ---------------------------------------------------------------------------------------------------------------

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI."""
        if scope["type"] == "lifespan":
            await _lifespan(self, receive, send)
            return
        if scope["type"] != "http":
            raise NotImplementedError(f"ASGI scope {scope['type']!r} is not served")
        path = relative_path(scope)
        if path is None:
            name = scope.get("root_path", "").rstrip("/").rsplit("/", 1)[-1]
            await _answer(send, 307, b"", (b"location", f"{name}/".encode()))
        elif path == "api" or path.startswith("api/"):
            await self._api(path[4:], scope, receive, send)
        else:
            await self._file(path, scope, send)

    def end_streams(self) -> None:
        """End every stream of events: the server stops. Call it on the event loop."""
        if self._ticker is not None:
            self._ticker.end()

    async def count_minutes(self) -> None:
        """Count the minutes also while no page is open, until it is cancelled."""
        while True:
            await asyncio.wrap_future(self._reads.submit(DASHBOARD, self.dashboard.minutes.look))
            await asyncio.sleep(_MINUTE)

    async def aclose(self) -> None:
        """End the streams, and wait for the requests under way."""
        self.end_streams()
        if self._ticker is not None:
            await self._ticker.closed()
        for turns in (self._reads, self._acts, self._uploads):
            await asyncio.to_thread(turns.shutdown)

    async def _file(self, path: str, scope: Scope, send: Send) -> None:
        found = self._assets.response(path, scope["method"], scope["headers"])
        if found is None:
            await _error(send, 404, "there is nothing at this path")
        elif scope["method"] not in ("GET", "HEAD"):
            await _error(send, 405, "only GET is served here", (b"allow", b"GET, HEAD"))
        else:
            status, content, headers = found
            await _answer(send, status, content, *headers)

    # --- JSON ---------------------------------------------------------------------------------------------------------------

    async def _api(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        redaction = Redaction(self.dashboard.rules)
        try:
            headers = judged(scope["headers"])
            if isinstance(headers, str):
                raise Refused(400, headers)
            if is_foreign_site(headers.get(b"sec-fetch-site", b"")):
                raise Refused(403, "a page of another origin must not use this dashboard")
            principal = self._identified(name, scope)
            if not self._has_indexes:
                self._has_indexes = True
                self._acts.submit(DASHBOARD, self._make_indexes)
            if scope["method"] in ("GET", "HEAD"):
                await self._get(name, principal, redaction, scope, receive, send)
            elif scope["method"] == "POST":
                await self._post(name, principal, redaction, scope, receive, send)
            else:
                await _error(send, 405, "only GET and POST are served here", (b"allow", b"GET, HEAD, POST"))
        except (Refused, BadParameter, ResonateError) as error:
            status, why = _refusal(error)
            more = ((b"retry-after", b"1"),) if status in (429, 503) else ()
            await _error(send, status, redaction.document(redaction.text(why[:_MOST_WHY])), *more)
        except Exception:
            _log.exception("a request to the dashboard failed: %s", name)
            await _error(send, 500, "the dashboard failed; the server's log says why")

    def _make_indexes(self) -> None:
        """Once, in a thread: without them, the newest jobs and workflows are found by sorting all of them (decision 34)."""
        try:
            self.dashboard.store.views.index()
        except ResonateError as error:
            _log.warning("the newest jobs and workflows have no index, and large stores answer slowly: %s", error)

    def _identified(self, name: str, scope: Scope) -> Principal:
        found = self._who(scope)
        if isinstance(found, int):
            if name == "session" and found == 401 and _header(scope, b"authorization") is None:
                return Principal("none")  # the page learns from it that a token is required
            raise Refused(found, "Unauthorized" if found == 401 else "Forbidden")
        if self.dashboard.read_only and found.may("operate"):
            return replace(found, role="read")
        return found

    async def _get(self, name: str, who: Principal, redaction: Redaction, scope: Scope, receive: Receive, send: Send) -> None:
        if name == "session":
            access = self._access(who, redaction)
            await self._show(
                who, lambda: overview.session(access, self.dashboard, requires_token=self._requires_token), scope, send
            )
            return
        self._need_read(who)
        given = Parameters(scope.get("query_string", b""))
        if name == "events":
            await self._events(who, scope, receive, send)
            return
        if name == "travel/pytest":
            await self._story(who, redaction, given, send)
            return
        view = VIEWS.get(name) or OTHERS.get(name)
        if view is None:
            raise Refused(404, f"there is no view {name!r}")
        await self._show(who, lambda: redaction.document(self._viewed(name, view, who, redaction, given)), scope, send)

    async def _show(self, who: Principal, make: Callable[[], dict[str, Any]], scope: Scope, send: Send) -> None:
        """Answer with a view. The request has its place until the client has read the answer, which may be large."""
        with self._requests.taken(room_of(who)):
            made = await self._turn(who, lambda: _dumped(make()), self._reads)
            await _answer(send, 200, b"" if scope["method"] == "HEAD" else made, _JSON, _NO_STORE)

    def _viewed(self, name: str, view: View, who: Principal, redaction: Redaction, given: Parameters) -> dict[str, Any]:
        self.dashboard.minutes.look()
        access = self._access(who, redaction)
        id = given.text("travel")
        owner = (who.owner, name, id)
        if given.cursor is not None:
            given = given.at(self.dashboard.cursors.open(given.cursor, owner))
        if id is not None and name not in OTHERS:
            recording = travel.recording_of(access, id, self.dashboard)
            access = StoreAccess(recording.state(travel.place(recording, given)), who, redaction)
        made = view(access, given, self.dashboard)
        if isinstance(made.get("next"), str):
            made["next"] = self.dashboard.cursors.seal(made["next"], owner)
        return made

    async def _story(self, who: Principal, redaction: Redaction, given: Parameters, send: Send) -> None:
        def write() -> bytes:
            access = self._access(who, redaction)
            recording = travel.recording_of(access, given.need("travel"), self.dashboard)
            if who.prefix:
                raise Refused(403, "a story as a test needs a token without a prefix")
            return pytest_export.pytest_code(access, recording, travel.place(recording, given)).encode()

        disposition = (b"content-disposition", b'attachment; filename="test_story.py"')
        with self._requests.taken(room_of(who)):
            made = await self._turn(who, write, self._reads)
            await _answer(send, 200, made, (b"content-type", b"text/x-python; charset=utf-8"), disposition, _NO_STORE)

    async def _events(self, who: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        if self._ticker is None:
            self._ticker = Ticker(self.dashboard.store, self._looked, self.dashboard.options.streams)
        if scope["method"] == "HEAD":
            await _answer(send, 200, b"", (b"content-type", b"text/event-stream"), _NO_STORE)
            return
        await self._ticker.serve(who, HEADERS, receive, send)

    async def _looked(self, room: Room, function: Callable[[], Any]) -> Any:
        return await asyncio.wrap_future(self._reads.submit(room, function))

    async def _post(self, name: str, who: Principal, redaction: Redaction, scope: Scope, receive: Receive, send: Send) -> None:
        if name not in ACTS:
            raise Refused(405 if name in READS else 404, "only do, travel and travel/fork take a POST")
        # The role is judged before headers and the body are read: a stranger causes no work that grows with the request.
        if name == "do":
            await self._call(who, lambda: need_operator(who, self.dashboard))
        else:
            self._need_read(who)
        self._check_page(scope, "application/x-ndjson" if name == "travel" else "application/json")
        room = room_of(who)
        with self._requests.taken(room):
            with self._arriving.taken(room) if name == "travel" else nullcontext():
                made = await self._posted(name, who, redaction, scope, receive)
            await _answer(send, 200, _dumped(made), _JSON, _NO_STORE)

    async def _posted(self, name: str, who: Principal, redaction: Redaction, scope: Scope, receive: Receive) -> Any:
        body = await read_body(name, receive)
        access = self._access(who, redaction)
        if name == "do":
            return await self._turn(who, lambda: redaction.document(run_action(access, parsed(body), self.dashboard)), self._acts)
        if name == "travel":
            title = unquote(_header(scope, b"x-resonate-name") or "recording")
            return await self._turn(who, lambda: travel.opened(access, body, title[:80], self.dashboard), self._uploads)
        return await self._turn(who, lambda: travel.fork(access, parsed(body), self.dashboard), self._uploads)

    def _check_page(self, scope: Scope, content_type: str) -> None:
        """Refuse what a page of another origin could send: it cannot choose these headers without being asked first."""
        given = (_header(scope, b"content-type") or "").partition(";")[0].strip().lower()
        if given != content_type:
            raise Refused(415, f"content-type must be {content_type}, got {given[:80]!r}")
        if _header(scope, b"x-resonate-ui") != "1":
            raise Refused(403, "the header x-resonate-ui: 1 is missing")
        origin = _header(scope, b"origin")
        own = origin in self._origins or is_same_origin(origin or "", _header(scope, b"host"), scope.get("scheme", "http"))
        if origin is not None and not own:
            raise Refused(403, f"Origin must be that of this dashboard, got {origin[:200]!r}")

    def _need_read(self, who: Principal) -> None:
        if not who.may("read"):
            raise Refused(403, self.dashboard.no_role or "Forbidden")

    def _access(self, who: Principal, redaction: Redaction) -> StoreAccess:
        return StoreAccess(self.dashboard.store, who, redaction, self._limits, self._run)

    async def _call(self, who: Principal, function: Callable[[], Any]) -> Any:
        """Run a function beside the event loop, unless too many of the same room wait."""
        with self._requests.taken(room_of(who)):
            return await self._turn(who, function, self._reads)

    async def _turn(self, who: Principal, function: Callable[[], Any], turns: Turns) -> Any:
        return await asyncio.wrap_future(turns.submit(room_of(who), function))


def _refusal(error: Exception) -> tuple[int, str]:
    if isinstance(error, Refused):
        return error.status, str(error)
    if isinstance(error, BadParameter):
        return 400, str(error)
    if isinstance(error, StoreBusy):
        return 429, "the store is busy; try again in a second"
    if isinstance(error, StoreError):
        _log.error("the store failed: %s", error)
        return 500, "the store failed; the server's log says why"
    status = getattr(error, "status", 500)
    return (status if 400 <= status < 500 else 500), str(error)


def relative_path(scope: Scope) -> str | None:
    """Return the path below the place where the app is mounted, without the slash; None for that place itself without a slash."""
    path, root = scope["path"], scope.get("root_path", "").rstrip("/")
    if root and path.startswith(root):
        path = path[len(root) :]
    return path[1:] if path.startswith("/") else None if root and not path else path


def _header(scope: Scope, name: bytes) -> str | None:
    for given, value in scope["headers"]:
        if given == name:
            text: str = value.decode("latin-1")
            return text
    return None


def _dumped(made: Mapping[str, Any]) -> bytes:
    # Markup in texts stays text even where a browser is made to read this as a page.
    text = json.dumps(made, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").encode()


async def _answer(send: Callable[[Any], Awaitable[None]], status: int, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    every = [*HEADERS, *headers, (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": every})
    await send({"type": "http.response.body", "body": body})


async def _error(send: Callable[[Any], Awaitable[None]], status: int, why: str, *headers: tuple[bytes, bytes]) -> None:
    await _answer(send, status, _dumped({"error": why, "status": status}), _JSON, _NO_STORE, *headers)


async def _lifespan(app: UiApp, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await app.aclose()
    await send({"type": "lifespan.shutdown.complete"})
