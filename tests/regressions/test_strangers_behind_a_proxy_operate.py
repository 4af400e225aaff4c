"""`create_ui` behind a proxy on the same machine: requests of strangers came from a loopback address, so their role was `operate`."""

from __future__ import annotations

import http.client
import json
import logging
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

import resonate_core as rc
from resonate_core.asgi import ServerSettings, UiSettings
from resonate_core.cli.ui import _app
from resonate_core.http.host_names import is_own_name
from resonate_core.server.settings import Settings
from resonate_core.ui import create_ui
from resonate_core.ui.mounted import local_role
from server.live_server import live, serving

PAGE = {"content-type": "application/json", "x-resonate-ui": "1"}
#: Names that are on no list, of which each proxy has others.
LESS_KNOWN = [
    "X-ProxyUser-Ip",
    "X_Forwarded_For",
    "X-Scheme",
    "X-Amzn-Trace-Id",
    "Tailscale-User-Login",
    "Proxy-Connection",
    "CF-Ray",
    "CF-Visitor",
    "Fly-Region",
    "Fly-Forwarded-Port",
    "Fastly-SSL",
    "X-Envoy-Internal",
    "X-Azure-Ref",
    "X-AppEngine-Country",
    "X-Request-Id",
    "X-Vercel-Id",
    "X-Nf-Request-Id",
    "X-Amz-Cf-Id",
    "X-Goog-Iap-Jwt-Assertion",
    "X-Cloud-Trace-Context",
    "X-Varnish",
    "X-Traefik-Router",
    "X-Auth-Request-User",
    "Remote-User",
    "X-Ngrok-Id",
    "X-Some-Proxy-Of-Tomorrow",
    "X_Real_Ip",
    "Max-Forwards",
    "SSL_CLIENT_CERT",
]
#: What browsers and programs of this machine send.
OF_CLIENTS = {
    "a browser": "accept accept-encoding accept-language cache-control connection cookie dnt if-none-match origin pragma priority referer "
    "sec-ch-ua sec-ch-ua-mobile sec-ch-ua-platform sec-fetch-dest sec-fetch-mode sec-fetch-site sec-fetch-user sec-gpc te "
    "upgrade-insecure-requests user-agent",
    "a script of the page": "content-type content-length x-resonate-ui x-resonate-name authorization last-event-id x-requested-with",
    "a program": "accept accept-encoding user-agent connection expect transfer-encoding traceparent tracestate baggage upgrade "
    "http2-settings keep-alive range",
}
#: What proxies add, each alone.
FORWARDED: list[dict[str, str]] = [
    {"X-Forwarded-For": "203.0.113.9", "Via": "1.1 nginx"},
    {"X-Forwarded-For": "127.0.0.1"},
    {"X-Forwarded-For": ""},
    {"X-Forwarded-Host": "shop.example"},
    {"X-Forwarded-Proto": "https"},
    {"X-Forwarded-Prefix": "/"},
    {"Forwarded": "for=203.0.113.9"},
    {"Via": "1.1 caddy"},
    {"X-Real-IP": "203.0.113.9"},
    {"X-Original-Forwarded-For": "203.0.113.9"},
    {"CF-Connecting-IP": "203.0.113.9"},
    {"True-Client-IP": "203.0.113.9"},
    {"Fastly-Client-IP": "203.0.113.9"},
    {"X-Client-IP": "203.0.113.9"},
    {"X-Cluster-Client-IP": "203.0.113.9"},
    {"X-Envoy-External-Address": "203.0.113.9"},
    *({name: "x"} for name in LESS_KNOWN),
]


def store_with_a_job() -> rc.Store:
    store = rc.Store(clock=rc.ManualClock(0))
    store.jobs.enqueue("t", id="j")
    return store


def tried(port: int, path: str, headers: dict[str, str]) -> tuple[str, int, int]:
    """Returns the role of a request, the status of a view, and that of an action."""

    def ask(method: str, view: str, body: Any = None, more: dict[str, str] | None = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request(method, f"{path}/api/{view}", None if body is None else json.dumps(body), {**headers, **(more or {})})
        answer = connection.getresponse()
        found = answer.status, json.loads(answer.read())
        connection.close()
        return found

    role = ask("GET", "session")[1]["role"]
    return role, ask("GET", "jobs")[0], ask("POST", "do", {"kind": "job.delete", "data": {"id": "j"}}, PAGE)[0]


def test_a_mounted_dashboard_without_a_role_shows_nothing(caplog: pytest.LogCaptureFixture) -> None:
    store = store_with_a_job()
    with caplog.at_level(logging.WARNING, "resonate_core.ui"):
        app = Starlette(routes=[Mount("/ops", create_ui(store))])
    assert "create_ui was given no role" in caplog.text and "role=" in caplog.text
    with live(app) as running:
        for headers in ({}, *FORWARDED):
            assert tried(running.port, "/ops", headers) == ("none", 403, 403), headers
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)
        connection.request("GET", "/ops/api/jobs")
        assert "role=" in json.loads(connection.getresponse().read())["error"]
        connection.close()
    assert store.jobs.get("j").state == "pending"


def test_no_role_by_address_for_a_forwarded_request() -> None:
    """A server without tokens, and the command, whose user is on this machine."""
    store = store_with_a_job()
    with serving(store, server=ServerSettings(ui=True)) as running:
        for headers in FORWARDED:
            assert tried(running.port, "/ui", headers) == ("none", 403, 403), headers
        assert tried(running.port, "/ui", {}) == ("operate", 200, 200)


def test_no_role_by_address_for_a_forwarded_request_to_the_command(tmp_path: Any) -> None:
    with rc.Store(tmp_path / "a.db") as store:
        store.jobs.enqueue("t", id="j")
    app = _app(str(tmp_path / "a.db"), True, None, [], [])
    with live(app) as running:
        for headers in FORWARDED[:4]:
            assert tried(running.port, "", headers) == ("none", 403, 403), headers
        assert tried(running.port, "", {}) == ("operate", 200, 200)
        running.run(app.aclose())


@pytest.mark.parametrize("headers", FORWARDED, ids=str)
def test_local_role(headers: dict[str, str]) -> None:
    plain = [(b"host", b"localhost:8000")]
    sent = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    assert local_role({"server": ("127.0.0.1", 80), "client": ("127.0.0.1", 5), "headers": plain}) == "operate"
    assert local_role({"server": ("127.0.0.1", 80), "client": ("127.0.0.1", 5), "headers": plain + sent}) == "none"
    assert local_role({"server": ("127.0.0.1", 80), "client": ("203.0.113.9", 5), "headers": plain}) == "none"


@pytest.mark.parametrize("kind", OF_CLIENTS)
def test_the_headers_of_clients_say_nothing_of_proxies(kind: str) -> None:
    headers = [(b"host", b"localhost:8000"), *((name.encode(), b"x") for name in OF_CLIENTS[kind].split())]
    assert local_role({"server": ("127.0.0.1", 80), "client": ("127.0.0.1", 5), "headers": headers}) == "operate"


@pytest.mark.parametrize(
    "host", [b"", b"evil@127.0.0.1", b"127.0.0.1/x", b"127.0.0.1?x", b"127.0.0.1#x", b"127.0.0.1:x", b"[::1]x"]
)
def test_an_odd_host_is_no_name_of_this_machine(host: bytes) -> None:
    scope = {"server": ("127.0.0.1", 80), "client": ("127.0.0.1", 5), "headers": [(b"host", host)]}
    assert local_role(scope) == "none"
    assert not is_own_name(host.decode())


def test_a_role_that_was_said_holds_behind_a_proxy() -> None:
    with live(Starlette(routes=[Mount("/ops", create_ui(store_with_a_job(), role="read"))])) as running:
        assert tried(running.port, "/ops", FORWARDED[0]) == ("read", 200, 403)
    settings = Settings(server=ServerSettings(ui=True), ui=UiSettings(role="read"))
    with serving(store_with_a_job(), server=settings.server, ui=settings.ui) as running:
        assert tried(running.port, "/ui", FORWARDED[0]) == ("read", 200, 403)
