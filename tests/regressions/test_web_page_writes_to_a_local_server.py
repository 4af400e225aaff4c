"""Any page in a browser could write to a server on its machine: a browser sends a POST of text/plain without asking, and the server ran it.

With a name of its own for 127.0.0.1 (DNS rebinding) a page could read the responses, too.
"""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from resonate_core.asgi import AuthSettings, PushSettings, ServerSettings, create_app
from server.app_calls import call
from server.live_server import serving
from server.security_table import SECRET, envelope, token

CREATE = json.dumps(envelope("promise.create", {"id": "p", "timeoutAt": 10**15})).encode()
HERE = "http://127.0.0.1:8001"


def ask(
    method: str = "POST", target: str = "/", address: str = "127.0.0.1", scheme: str = "http", server: Any = None, **headers: str
):
    """Returns the status, and whether the promise was created."""
    sent = {
        "Content-Type": "text/plain",
        "Host": "127.0.0.1:8001",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    auth = AuthSettings(secret=SECRET) if "Authorization" in sent else None
    with Store(clock=ManualClock(1000)) as store:
        app = create_app(store, server=ServerSettings(**(server or {})), auth=auth, push=PushSettings(enabled=False))

        async def at(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "scheme": scheme, "server": (address, 8001)}, receive, send)

        async def asked() -> Any:
            async with app.lifespan():
                return await call(at, method, target, CREATE, sent)

        answer = asyncio.run(asked())
        made = store.snapshot()["promises"] != []
        assert made == (method == "POST" and answer.status == 200), answer
        return answer


@pytest.mark.parametrize(
    "method_and_target", [("POST", "/"), ("GET", "/poll/workers/w1"), ("GET", "/metrics"), ("GET", "/nothing")]
)
@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "http://127.0.0.1:8002",
        "http://127.0.0.1",
        "http://localhost:8001",
        "file://",
        "x",
        "http://[",
        "",
    ],
)
def test_a_foreign_origin_is_refused(method_and_target: tuple[str, str], origin: str) -> None:
    answer = ask(*method_and_target, Origin=origin)
    assert answer.status == 403, answer
    assert f"got {origin!r}" in json.dumps(answer.json()).replace('\\"', '"')


@pytest.mark.parametrize(
    ("origin", "given"),
    [
        (HERE, {}),
        ("http://localhost:8001", {"Host": "localhost:8001"}),
        ("http://[::1]:8001", {"Host": "[::1]:8001", "address": "::1"}),
        ("https://app.example", {"server": {"cors_origins": ["https://app.example"]}}),
        ("https://any.example", {"server": {"cors_origins": ["*"]}}),
        ("https://shop.example", {"server": {"url": "https://shop.example/resonate"}}),
        # A proxy in front that has TLS, and one that leaves the port out.
        ("https://shop.example", {"Host": "shop.example", "address": "10.0.0.5"}),
        ("https://shop.example:443", {"Host": "shop.example", "address": "10.0.0.5"}),
        ("https://shop.example", {"Host": "shop.example", "address": "10.0.0.5", "scheme": "https"}),
    ],
)
def test_the_own_and_the_allowed_origins_are_served(origin: str, given: dict[str, Any]) -> None:
    assert ask(Origin=origin, **given).status == 200


def test_an_origin_without_tls_is_not_that_with_it() -> None:
    assert ask(Origin="http://shop.example", Host="shop.example", address="10.0.0.5", scheme="https").status == 403


@pytest.mark.parametrize("address", ["127.0.0.1", "127.3.2.1", "::1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8001", "127.0.0.1.evil.example:8001", "localhost.evil.example", "8.8.8.8", "[::2]", "["]
)
def test_a_foreign_host_on_a_loopback_address_is_refused(address: str, host: str) -> None:
    for origin in ({}, {"Origin": f"http://{host}"}):
        answer = ask(Host=host, address=address, **origin)
        assert answer.status == 421, answer
    assert "server.hosts" in answer.json()["data"] and answer.headers["connection"] == "close"
    assert ask("GET", "/poll/workers/w1", Host=host, address=address).status == 421


@pytest.mark.parametrize(
    "given",
    [
        {"Host": "LOCALHOST:8001"},
        {"Host": "localhost."},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.2:1"},
        {"Host": "[::1]:8001"},
        {"Host": "resonate.localhost"},
        {"Host": "host.docker.internal:8001"},
        {"Host": "resonate:8001"},
        {"Host": ""},
        {"Host": "shop.example", "server": {"hosts": ["shop.example"]}},
        {"Host": "Shop.Example:8001", "server": {"hosts": ["SHOP.example"]}},
        {"Host": "evil.example", "server": {"hosts": ["*"]}},
        {"Host": "shop.example", "server": {"url": "https://shop.example"}},
        {"Host": "evil.example", "address": "10.0.0.5"},
        {"Host": "evil.example", "Authorization": f"Bearer {token({'role': 'admin'})}"},
    ],
)
def test_names_that_are_meant_are_served(given: dict[str, Any]) -> None:
    assert ask(**given).status == 200


def test_named_hosts_hold_everywhere() -> None:
    """Once the accepted names are configured, others are refused, on any address, and with tokens too."""
    hosts = {"hosts": ["shop.example"]}
    assert ask(Host="evil.example", address="10.0.0.5", server=hosts).status == 421
    assert ask(Host="evil.example", server=hosts, Authorization=f"Bearer {token({'role': 'admin'})}").status == 421
    assert ask(Host="shop.example", address="10.0.0.5", server=hosts).status == 200


@pytest.mark.parametrize("page", ["/health", "/ready"])
def test_probes_ask_by_any_name(page: str) -> None:
    assert ask("GET", page, Host="evil.example", Origin="https://evil.example").status == 200


@pytest.mark.parametrize(("site", "status"), [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)])
def test_a_stream_is_no_picture(site: str, status: int) -> None:
    """A browser sends no Origin for what a page embeds; the page would take the messages of a group."""
    assert ask("HEAD", "/poll/workers/w1", Sec_Fetch_Site=site).status == status


def test_what_published_clients_send_is_served() -> None:
    """They send no Origin, and as Host the configured one; over a real socket, with text/plain too."""
    with Store(clock=ManualClock(1000)) as store, serving(store) as live:
        for n, headers in enumerate(
            ({}, {"Content-Type": "text/plain"}, {"Sec-Fetch-Mode": "cors"}, {"Host": f"localhost:{live.port}"})
        ):
            assert _post(live.port, n, headers) == 200
        assert _post(live.port, 9, {"Content-Type": "text/plain", "Origin": "https://evil.example"}) == 403
        assert _post(live.port, 9, {"Content-Type": "text/plain", "Host": "evil.example"}) == 421
        assert [one["id"] for one in store.snapshot()["promises"]] == ["p0", "p1", "p2", "p3"]
        value = live.app.metrics.registry.get_sample_value
        assert value("resonate_refused_total", {"reason": "origin"}) == value("resonate_refused_total", {"reason": "host"}) == 1


def _post(port: int, n: int, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    body = json.dumps(envelope("promise.create", {"id": f"p{n}", "timeoutAt": 10**15}))
    connection.request("POST", "/", body, headers)
    status = connection.getresponse().status
    connection.close()
    return status
