"""`Origin: http://[` was a traceback in the dashboard in front of a server."""

from __future__ import annotations

import httpx
import pytest

import resonate_core as rc
from resonate_core.asgi import ServerSettings, create_app
from resonate_core.ui import create_ui
from resonate_core.ui.proxy import ServerUi
from ui.ui_client import Client

FOREIGN = [
    "http://[", "http://[::1", "http://]", "http://a:b", "http://localhost:99999", "http://\u2100", "//", "null", "", "http://",
    "http://evil.example", "ftp://127.0.0.1", "http://127.0.0.1:81", "http://[v1.x]", "http://127.0.0.1@evil.example",
]  # fmt: skip


@pytest.mark.parametrize("origin", FOREIGN)
def test_it_is_refused(origin: str) -> None:
    store = rc.Store(clock=rc.ManualClock(0))
    server = create_app(store, server=ServerSettings(ui=True))  # type: ignore[arg-type]
    sent = {"host": "127.0.0.1", "origin": origin.encode("utf-8")}
    for app in (ServerUi("http://server", transport=httpx.ASGITransport(server)), create_ui(store, role="operate")):
        answer = Client(app, headers=sent).do("queue.pause", {"queue": "mail"})  # type: ignore[arg-type]
        assert answer.status_code in (400, 403), answer.text
    front = Client(ServerUi("http://server", transport=httpx.ASGITransport(server)), headers=sent)  # type: ignore[arg-type]
    assert front.get("jobs").status_code in (400, 403)


@pytest.mark.parametrize("origin", ["http://127.0.0.1", "http://127.0.0.1:80", "HTTP://127.0.0.1", "https://127.0.0.1:80"])
def test_its_own_is_accepted(origin: str) -> None:
    store = rc.Store(clock=rc.ManualClock(0))
    store.jobs.enqueue("t", queue="mail")
    ui = Client(create_ui(store, role="operate"), headers={"host": "127.0.0.1:80", "origin": origin})
    assert ui.do("queue.pause", {"queue": "mail"}).status_code == 200
