"""`X-Forwarded-For` of any client decided about the address in an audit line: `1.2.3.4`, or `root by admin from 10.0.0.1`."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
from typing import Any

import httpx
import jwt
import pytest
import uvicorn

import resonate_core as rc
from resonate_core.asgi import AuthSettings, ServerSettings, UiSettings
from resonate_core.base.forwarded import client_address
from resonate_core.server.settings import Settings
from resonate_core.testing.servers import Listener
from resonate_core.ui import create_ui
from resonate_core.ui.principal import Principal
from server.live_server import serving
from ui.ui_client import PAGE, Client, client_of

SECRET = "a secret of thirty-two bytes, or more"
FORGED = [
    "1.2.3.4",
    "1.2.3.4:5000",
    "127.0.0.1",
    "root by admin from 10.0.0.1",
    "1.2.3.4, 5.6.7.8",
    "::1",
    "127.0.0.1\t200",
    "%s",
    "",
    "9" * 5000,
]


def address_and_log(store: rc.Store, headers: dict[str, str], caplog: Any, allow: list[str], sub: str = "ann") -> tuple[Any, str]:
    store.queues.set("q")
    tables = {"auth": AuthSettings(secret=SECRET), "server": ServerSettings(ui=True, forwarded_allow=allow)}
    bearer = {"authorization": f"Bearer {jwt.encode({'exp': 4_000_000_000, 'role': 'operate', 'sub': sub}, SECRET, 'HS256')}"}
    caplog.clear()
    with serving(store, **tables) as running, caplog.at_level(logging.INFO, "resonate_core.audit"):
        for method, path, body in (
            ("POST", "do", json.dumps({"kind": "queue.pause", "data": {"queue": "q"}})),
            ("GET", "audit", None),
        ):
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)) as connection:
                connection.request(method, f"/ui/api/{path}", body, {**bearer, **PAGE, **headers})
                answer = connection.getresponse()
                content = answer.read()
                assert answer.status == 200, content
    return json.loads(content)["items"][0]["from"], audited(caplog)[0]


def audited(caplog: Any) -> list[str]:
    """The lines of the audit, without those of other parts, which may come at any time."""
    return [record.getMessage() for record in caplog.records if record.name == "resonate_core.audit"]


@pytest.mark.parametrize("forged", FORGED, ids=lambda text: text[:20])
def test_the_address_is_that_of_the_peer(forged: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # a variable of uvicorn: no setting of this server
    store = rc.Store(clock=rc.ManualClock(0))
    for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded"):
        found, logged = address_and_log(store, {name: forged}, caplog, [])
        assert found == "127.0.0.1" and logged == "did queue.pause by ann from 127.0.0.1: 200"


@pytest.mark.parametrize(
    "given, expected",
    [
        ("203.0.113.9", "203.0.113.9"),
        ("1.2.3.4, 203.0.113.9", "203.0.113.9"),
        ("203.0.113.9, 127.0.0.1, 10.1.2.3", "203.0.113.9"),
        ("2001:db8::1", "2001:db8::1"),
        ("203.0.113.9:5000", "203.0.113.9"),
        ("[2001:db8::1]:5000", "2001:db8::1"),
        ("root by admin from 10.0.0.1", "127.0.0.1"),
        ("1.2.3.4, root by admin from 10.0.0.1", "127.0.0.1"),
        ("fe80::1%root by admin", "127.0.0.1"),
        ("127.0.0.1, 127.0.0.1", "127.0.0.1"),
        ("", "127.0.0.1"),
    ],
)
def test_a_configured_proxy_tells_the_address(given: str, expected: str, caplog: pytest.LogCaptureFixture) -> None:
    store = rc.Store(clock=rc.ManualClock(0))
    found, logged = address_and_log(store, {"X-Forwarded-For": given}, caplog, ["127.0.0.1", "10.0.0.0/8"])
    assert found == expected and logged == f"did queue.pause by ann from {expected}: 200"
    assert address_and_log(store, {"X-Forwarded-For": given}, caplog, ["10.0.0.0/8"])[0] == "127.0.0.1"


@pytest.mark.parametrize("allow", ["*", "proxy.example", "10.0.0.0/99", "0.0.0.0/0", "::/0"])
def test_a_proxy_is_a_network_and_never_everybody(allow: str) -> None:
    with pytest.raises(ValueError, match="forwarded_allow"):
        Settings(server=ServerSettings(forwarded_allow=[allow]))  # type: ignore[list-item]


def test_names_and_kinds_forge_no_line(caplog: pytest.LogCaptureFixture) -> None:
    store = rc.Store(clock=rc.ManualClock(0))
    name = "ann from 10.0.0.1: 200"
    assert address_and_log(store, {}, caplog, [], name)[1] == f'did queue.pause by "{name}" from 127.0.0.1: 200'
    with caplog.at_level(logging.INFO, "resonate_core.audit"):
        client_of(store).do("x by root from 10.0.0.1: 200", {})
    assert audited(caplog)[-1] == 'did "x by root from 10.0.0.1: 200" by tester from 127.0.0.1: 400'


def test_a_principal_of_an_app_has_the_address_of_the_peer_or_one_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    for given, expected in ((None, "127.0.0.1"), ("203.0.113.9", "203.0.113.9"), ("root by admin from 10.0.0.1", None)):
        app = create_ui(
            rc.Store(clock=rc.ManualClock(0)), role=lambda scope, given=given: Principal("operate", "ann", address=given)
        )
        ui = Client(app, headers={"x-forwarded-for": "1.2.3.4"})
        ui.do("queue.pause", {"queue": "q"})
        assert ui.see("audit")["items"][0]["from"] == expected


def test_uvicorn_as_it_is_by_default_forges_no_address() -> None:
    """A mounted dashboard, or `create_app`, under a server of one's own: uvicorn replaces the address of the peer by the header's."""
    store = rc.Store(clock=rc.ManualClock(0))
    store.queues.set("q")
    config = uvicorn.Config(create_ui(store, role="operate"), log_level="error", lifespan="off", ws="none")
    running = Listener(config.app, uvicorn.Server(config))
    try:
        for headers in ({"x-forwarded-for": "1.2.3.4"}, {"x-forwarded-for": "1.2.3.4:5000"}, {"x-forwarded-for": "[::2]:5"}, {}):
            with httpx.Client(base_url=f"http://127.0.0.1:{running.port}/", headers={**PAGE, **headers}, timeout=60) as page:
                assert page.post("api/do", json={"kind": "queue.pause", "data": {"queue": "q"}}).status_code == 200
                assert page.get("api/audit").json()["items"][0]["from"] == (None if headers else "127.0.0.1")
    finally:
        running.stop()


def test_client_address() -> None:
    assert client_address({"client": None, "headers": []}) is None
    assert client_address({"client": ("not an address", 5), "headers": []}) is None
    assert client_address({"client": ("::ffff:10.0.0.1", 5), "headers": []}) == "10.0.0.1"
    assert client_address({"client": ("1.2.3.4", 0), "headers": [(b"x-forwarded-for", b"1.2.3.4")]}) is None  # by uvicorn
    assert UiSettings().role is None
