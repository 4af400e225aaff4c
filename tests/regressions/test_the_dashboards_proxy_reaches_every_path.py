"""`resonate-core ui URL` sent any path to the server with its token: `/api/%2e%2e/%2e%2e/metrics`, and the protocol at the root."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from typing import Any

import httpx
import jwt
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

import resonate_core as rc
from resonate_core.asgi import AuthSettings, ResonateApp, ServerSettings, UiSettings, create_app
from resonate_core.cli.ui import _app, _own_names_only
from resonate_core.server.settings import Settings
from resonate_core.ui import create_ui
from resonate_core.ui.proxy import ServerUi
from server.app_calls import call, scope_of
from server.live_server import live, serving
from ui.ui_client import PAGE, VIEWS, Client, scene

SECRET = "a secret of thirty-two bytes, or more"
ADMIN = jwt.encode({"exp": 4_000_000_000, "role": "admin"}, SECRET, "HS256")
ENVELOPE = {"kind": "job.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "archived"}}

UP = [
    "%2e%2e",
    "..",
    "%2E%2e",
    ".%2e",
    "%252e%252e",
    "..;",
    "%2e%2e;x",
    "..%2f",
    "%2e%2e%2f",
    "..%5c",
    "..\\",
    "%c0%ae%c0%ae",
    "\u2025",
]
TARGETS = [
    *(f"/api/{up}/{up}/metrics" for up in UP),
    *(f"/api/{up}/{up}/" for up in UP),
    "/api/jobs/../../../metrics",
    "/api/jobs/%2e%2e/%2e%2e/%2e%2e/metrics",
    "/api%2f..%2f..%2fmetrics",
    "/api//metrics",
    "/api/%2fmetrics",
    "/api/%2f%2f127.0.0.1/metrics",
    "//api/jobs",
    "/api/\\\\127.0.0.1\\metrics",
    "/api/jobs;/../../metrics",
    "/api/jobs%3f/../../../metrics",
    "/api/jobs%23",
    "/api/jobs%00",
    "/api/jobs/",
    "/api/",
    "/api",
    "/api/debug",
    "/api/travel/pytest/../../../../metrics",
    "/api/JOBS",
    "/api/none",
]


class Upstream(ResonateApp):
    """A server that notes what reaches it."""

    def __init__(self, store: rc.Store, settings: Settings) -> None:
        super().__init__(store, settings)
        self.seen: list[tuple[str, str, bytes, dict[bytes, bytes]]] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.seen.append((scope["method"], scope["raw_path"].decode(), scope["query_string"], dict(scope["headers"])))
        await super().__call__(scope, receive, send)


@pytest.fixture
def store() -> rc.Store:
    made = rc.Store(clock=rc.ManualClock(0))
    scene(made)
    return made


@contextlib.contextmanager
def front(store: rc.Store, wrapped: bool) -> Iterator[tuple[int, Upstream]]:
    """Serves a server with tokens, and in front of it the command's app with an administrator's token."""
    settings = Settings(auth=AuthSettings(secret=SECRET), server=ServerSettings(ui=True))  # type: ignore[arg-type]
    upstream = Upstream(store, settings)
    with live(upstream, settings) as watched:
        app: Any = _app(f"http://127.0.0.1:{watched.port}", False, ADMIN, [], [])
        with live(_own_names_only(app) if wrapped else app) as running:
            try:
                yield running.port, upstream
            finally:
                running.run(app.aclose())


def ask(port: int, method: str, target: str, body: Any = None, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        connection._encode_request = lambda request: request.encode("utf-8")  # type: ignore[attr-defined]
        connection._validate_path = lambda url: None  # type: ignore[attr-defined]
        connection.request(method, target, None if body is None else json.dumps(body), headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.mark.parametrize("wrapped", [True, False])
def test_no_other_path_is_reached(store: rc.Store, wrapped: bool) -> None:
    with front(store, wrapped) as (port, upstream):
        for target in TARGETS:
            for form in (target, f"http://127.0.0.1:{port}{target}"):
                for method, body in (("GET", None), ("POST", ENVELOPE)):
                    status, content = ask(port, method, form, body, PAGE if body else {})
                    assert status in (400, 404, 405), (method, form, status, content[:200])
                    assert b"resonate_" not in content and b"password" not in content
        assert upstream.seen == []
        assert ask(port, "GET", "/api/jobs")[0] == 200 and len(upstream.seen) == 1


def test_methods_and_headers_by_list(store: rc.Store) -> None:
    own = {"cookie": "session=1", "authorization": "Bearer mine", "x-resonate-name": "n", "if-none-match": "x"}
    smuggled = {  # no browser sends these by itself, so the token is not for them either
        **own, "x-http-method-override": "DELETE", "x-original-url": "/metrics", "x-rewrite-url": "/metrics", "transfer-encoding-x": "y",
    }  # fmt: skip
    with front(store, False) as (port, upstream):
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"):
            assert ask(port, method, "/api/jobs")[0] in (400, 404, 405), method
        for name in ("jobs", "session", "audit", "events"):
            assert ask(port, "POST", f"/api/{name}", {}, PAGE)[0] == 405
        for name in ("do", "travel/fork"):
            assert ask(port, "GET", f"/api/{name}")[0] == 405
        assert upstream.seen == []
        assert ask(port, "GET", "/api/jobs?state=archived", None, own)[0] == 200
        method, path, query, headers = upstream.seen.pop()
        assert (method, path, query) == ("GET", "/ui/api/jobs", b"state=archived")
        assert headers[b"authorization"] == f"Bearer {ADMIN}".encode()
        assert headers.keys() <= {b"host", b"accept", b"accept-encoding", b"connection", b"user-agent", b"authorization"}
        assert ask(port, "GET", "/api/jobs", None, {**smuggled, "forwarded": "for=9.9.9.9"})[0] == 401
        _, _, _, headers = upstream.seen.pop()
        assert headers[b"authorization"] == b"Bearer mine" and headers[b"via"] == b"1.1 resonate-core"
        assert headers.keys() & {name.encode() for name in (*smuggled, "forwarded")} == {b"authorization"}


@pytest.mark.parametrize(
    "query", ["id=a b", "id=a#b", "id=%0d%0aX:1", "id=a&id=%26x%3D1", "id=http://127.0.0.1/", "id=\u00e9", "id=%zz", "?a=1?b"]
)
def test_a_query_stays_a_query(store: rc.Store, query: str) -> None:
    """The server is asked for a view with the query of this text and for nothing else."""
    upstream = Upstream(store, Settings(server=ServerSettings(ui=True), ui=UiSettings(role="read")))
    app = ServerUi("http://server", transport=httpx.ASGITransport(upstream))
    answer = Client(app).app

    async def asked() -> int:
        scope = {**scope_of("GET", "/api/jobs"), "query_string": query.encode()}
        found: list[int] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            found.extend([message["status"]] if "status" in message else [])

        await answer(scope, receive, send)
        return found[0]

    import asyncio

    assert asyncio.run(asked()) in (200, 400)
    for method, path, sent, _ in upstream.seen:
        assert (method, path) == ("GET", "/ui/api/jobs")
        assert sent.isascii() and not set(sent) & set(b' #\r\n\t?<>"\\')


def rc_app(store: rc.Store) -> Any:
    return create_app(store, server=ServerSettings(ui=True), ui=UiSettings(role="read"))  # type: ignore[arg-type]


def test_an_app_that_is_not_wrapped_checks_names(store: rc.Store) -> None:
    """A page under a name of its own (DNS rebinding) does not get what the token shows."""
    with front(store, False) as (port, upstream):
        for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:80", "x@evil.example", "[::2]"):
            status, content = ask(port, "GET", "/api/jobs", None, {"host": host})
            assert status == 421 and b"Host must be a name of this machine" in content, host
        assert upstream.seen == []
        for host in ("localhost", "127.0.0.1:80", "[::1]:80"):
            assert ask(port, "GET", "/api/jobs", None, {"host": host})[0] == 200, host
        for host in ("machine", "a.localhost"):  # no page has such a name, but it may be one for other machines
            assert ask(port, "GET", "/api/jobs", None, {"host": host})[0] == 401, host


def test_names_that_are_given_are_accepted(store: rc.Store) -> None:
    for hosts, status in (((), 421), (("shop.example",), 200), (("*",), 200), (("other.example",), 421)):
        app = ServerUi("http://server", transport=httpx.ASGITransport(rc_app(store)), hosts=hosts)
        assert Client(app, headers={"host": "shop.example:8000"}).get("jobs").status_code == status, hosts
    with pytest.raises(ValueError, match="hosts is for the URL of a server"):
        create_ui(store, role="read", hosts=["shop.example"])


@pytest.mark.parametrize("headers", [{"x-forwarded-for": "203.0.113.9"}, {"via": "1.1 nginx"}, {"x-real-ip": "203.0.113.9"}])
def test_strangers_get_neither_the_token_nor_the_role_of_this_machine(store: rc.Store, headers: dict[str, str]) -> None:
    with front(store, False) as (port, upstream):
        assert ask(port, "GET", "/api/jobs", None, headers)[0] == 401
        assert b"authorization" not in upstream.seen[-1][3]
        assert ask(port, "GET", "/api/jobs", None, {**headers, "authorization": f"Bearer {ADMIN}"})[0] == 200
    with serving(store, server=ServerSettings(ui=True)) as server:  # without tokens: its role is by the address
        app = create_ui(f"http://127.0.0.1:{server.port}")
        with live(Starlette(routes=[Mount("/ops", app)])) as running:
            assert ask(running.port, "GET", "/ops/api/jobs", None, headers)[0] == 403
            assert ask(running.port, "GET", "/ops/api/jobs")[0] == 200
            running.run(app.aclose())


def test_the_role_that_an_app_gives_decides_about_the_token(store: rc.Store) -> None:
    settings = Settings(auth=AuthSettings(secret=SECRET), server=ServerSettings(ui=True))  # type: ignore[arg-type]
    server = ResonateApp(store, settings)

    def role(scope: Any) -> Any:
        return dict(scope["headers"]).get(b"x-user", b"none").decode()

    app = ServerUi("http://server", ADMIN, transport=httpx.ASGITransport(server), role=role)
    for given, read, act in (("none", 401, 401), ("read", 200, 401), ("operate", 200, 200)):
        ui = Client(app, headers={"x-user": given, "x-forwarded-for": "203.0.113.9"})
        assert ui.get("jobs").status_code == read, given
        assert ui.do("queue.pause", {"queue": "mail"}).status_code == act, given
    assert isinstance(create_ui("http://server", token=ADMIN, role="read"), ServerUi)
    with pytest.raises(ValueError, match="the server decides"):
        create_ui("http://server", role="read")


def test_every_view_is_passed_on(store: rc.Store) -> None:
    ui = Client(ServerUi("http://server", transport=httpx.ASGITransport(rc_app(store))))
    for view, answer in ui.every_view():
        assert answer.status_code == 200, (view, answer.text)
    assert len(VIEWS) > 20


def test_a_session_of_the_server_belongs_to_no_client() -> None:
    """A cookie that the server, or a proxy before it, sets for one client is not sent for another."""
    seen: list[dict[bytes, bytes]] = []

    async def upstream(scope: Any, receive: Any, send: Any) -> None:
        seen.append(dict(scope["headers"]))
        headers = [(b"set-cookie", b"session=of-ann; Path=/"), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})

    ui = Client(ServerUi("http://server.example", transport=httpx.ASGITransport(upstream)))
    answers = ui.requests([("GET", "api/jobs", None, {})] * 2)
    assert len(seen) == 2 and all(b"cookie" not in headers for headers in seen)
    assert all("set-cookie" not in answer.headers for answer in answers)


def test_the_bodies_of_gets_are_dropped() -> None:
    import asyncio

    seen: list[Any] = []

    async def upstream(scope: Any, receive: Any, send: Any) -> None:
        seen.append((await receive()).get("body", b""))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": b"{}"})

    app = ServerUi("http://server.example", transport=httpx.ASGITransport(upstream))
    assert asyncio.run(call(app, "GET", "/api/jobs", b"POST / HTTP/1.1")).status == 200
    assert seen == [b""]
