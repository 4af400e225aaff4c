"""`resonate-core ui URL` took a request with two `Origin` headers: one of them was checked, and another reader sees the other. Each header by
which a request is judged may be there once: 400 otherwise, at every door of the dashboard and of the server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

import resonate_core as rc
from resonate_core.asgi import AuthSettings, ServerSettings
from resonate_core.cli.ui import _app, _own_names_only
from resonate_core.ui import create_ui
from server.live_server import live, serving
from server.raw_http import connected
from server.tokens import SECRET, by_hand

ADMIN = by_hand({"alg": "HS256"}, {"exp": 4_000_000_000, "role": "admin"})
DO = json.dumps({"kind": "job.delete", "data": {"id": "j"}}).encode()
PAIRS: list[tuple[str, str, str]] = [
    ("Origin", "http://evil.example", "http://127.0.0.1:{port}"),
    ("Origin", "http://127.0.0.1:{port}", "http://evil.example"),
    ("Origin", "http://127.0.0.1:{port}", "http://127.0.0.1:{port}"),
    ("Host", "127.0.0.1:{port}", "evil.example"),
    ("Host", "evil.example", "127.0.0.1:{port}"),
    ("Sec-Fetch-Site", "same-origin", "cross-site"),
    ("Sec-Fetch-Site", "cross-site", "same-origin"),
    ("x-resonate-ui", "0", "1"),
    ("x-resonate-ui", "1", "0"),
    ("Authorization", "Bearer x", "Bearer {token}"),
    ("Authorization", "Bearer {token}", "Bearer x"),
    ("authorization", "Basic eDp5", "Bearer {token}"),
]


def asked(port: int, method: str, path: str, pair: tuple[str, str, str] | None, more: list[str]) -> int:
    """Returns the status of a request with a doubled header."""
    name, *values = pair or ("Accept", "*/*")
    name, values = name, [value.format(port=port, token=ADMIN) for value in values]
    lines = [f"{name}: {value}" for value in values]
    if name != "Host":
        lines.append(f"Host: 127.0.0.1:{port}")
    lines += [one for one in more if not one.lower().startswith(f"{name.lower()}:")]
    body = DO if method == "POST" else b""
    if body:
        lines += ["content-type: application/json", *(["x-resonate-ui: 1"] if name != "x-resonate-ui" else [])]
    with connected(port) as connection:
        connection.send("\r\n".join([f"{method} {path} HTTP/1.1", *lines, f"content-length: {len(body)}", "", ""]).encode() + body)
        return int(connection.until(b"\r\n").split()[1])


def all_are_refused(port: int, prefix: str, more: list[str], store: rc.Store | None = None) -> None:
    doors = [("GET", f"{prefix}/api/jobs"), ("GET", f"{prefix}/api/session"), ("POST", f"{prefix}/api/do")]
    for pair in PAIRS:
        for method, path in doors:
            assert asked(port, method, path, pair, more) == 400, (method, path, pair)
    if store is not None:
        assert store.jobs.get("j").state == "pending"
    assert asked(port, "GET", f"{prefix}/api/jobs", None, more) == 200


def with_a_job(store: rc.Store) -> rc.Store:
    store.jobs.enqueue("t", id="j")
    return store


@pytest.mark.parametrize("tokens", [False, True])
def test_a_server_and_the_dashboard_before_it(tokens: bool) -> None:
    store = with_a_job(rc.Store(clock=rc.ManualClock(0)))
    auth = AuthSettings(secret=SECRET) if tokens else AuthSettings()  # type: ignore[arg-type]
    more = [f"Authorization: Bearer {ADMIN}"] if tokens else []
    with serving(store, server=ServerSettings(ui=True), auth=auth) as server:
        all_are_refused(server.port, "/ui", more, store)
        for path in ("/", "/batch"):
            assert asked(server.port, "POST", path, PAIRS[-1], more) == 400
            assert asked(server.port, "POST", path, PAIRS[3], more) == 400
        app: Any = _app(f"http://127.0.0.1:{server.port}", False, None, [], [])
        with live(app) as before:
            all_are_refused(before.port, "", more, store)
            before.run(app.aclose())
        with live(_own_names_only(app)) as before:
            all_are_refused(before.port, "", more, store)
            before.run(app.aclose())


def test_a_mounted_app() -> None:
    store = with_a_job(rc.Store(clock=rc.ManualClock(0)))
    with live(Starlette(routes=[Mount("/ops", create_ui(store, role="operate"))])) as running:
        all_are_refused(running.port, "/ops", [], store)


def test_a_site_in_capitals_is_a_foreign_one() -> None:
    store = with_a_job(rc.Store(clock=rc.ManualClock(0)))
    with serving(store, server=ServerSettings(ui=True)) as server:
        app: Any = _app(f"http://127.0.0.1:{server.port}", False, None, [], [])
        with live(app) as before:
            for port, path in ((server.port, "/ui/api/jobs"), (before.port, "/api/jobs"), (server.port, "/poll/any/1")):
                assert asked(port, "GET", path, None, ["Sec-Fetch-Site: Cross-Site"]) == 403, path
            before.run(app.aclose())
