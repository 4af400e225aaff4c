"""`create_ui(URL)` dropped the prefix of a `Principal`, so that its user had all rights of the token, and showed a role beyond it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import httpx
import jwt
import pytest

import resonate_core as rc
from resonate_core.asgi import AuthSettings, ResonateApp, ServerSettings
from resonate_core.server.settings import Settings
from resonate_core.ui import create_ui
from resonate_core.ui.principal import Principal
from resonate_core.ui.proxy import ServerUi
from ui.ui_client import Client

SECRET = "a secret of thirty-two bytes, or more"
ADMIN = jwt.encode({"exp": 4_000_000_000, "role": "admin"}, SECRET, "HS256")
READER = jwt.encode({"exp": 4_000_000_000, "role": "read"}, SECRET, "HS256")


def ui_of(role: Callable[[Any], Any], token: str = ADMIN) -> Client:
    store = rc.Store(clock=rc.ManualClock(0))
    store.jobs.enqueue("t", id="a.j")
    server = ResonateApp(store, Settings(auth=AuthSettings(secret=SECRET), server=ServerSettings(ui=True)))  # type: ignore[arg-type]
    return Client(ServerUi("http://server", token, transport=httpx.ASGITransport(server), role=role))


@pytest.mark.parametrize(
    "restricted",
    [
        Principal("operate", "bob", prefix="b."),
        Principal("read", prefix="b."),
        Principal("none", prefix="b."),
        Principal("operate", restrict=lambda envelope: False),
        Principal("operate", "bob", issuer="shop"),
    ],
    ids=["operate and a prefix", "read and a prefix", "none and a prefix", "restrict", "an issuer"],
)
def test_what_is_not_passed_on_is_refused(restricted: Principal, caplog: pytest.LogCaptureFixture) -> None:
    ui = ui_of(lambda scope: restricted)
    with caplog.at_level(logging.ERROR, "resonate_core.ui"):
        for view in ("session", "jobs", "audit", "events"):
            assert ui.get(view).status_code == 403, view
        assert ui.get("job", id="a.j").status_code == 403
        assert ui.do("job.cancel", {"id": "a.j"}).status_code == 403
    lines = [record.getMessage() for record in caplog.records if record.name == "resonate_core.ui"]
    assert len(lines) == 1 and "the Principal that role returns must have no" in lines[0]


@pytest.mark.parametrize("broken", ["admin", None, True, ["operate"], Principal("admin")], ids=str)  # type: ignore[arg-type]
def test_no_role_is_a_failure_of_the_app(broken: Any) -> None:
    ui = ui_of(lambda scope: broken)
    assert ui.get("session").status_code == 500 and ui.do("job.cancel", {"id": "a.j"}).status_code == 500


@pytest.mark.parametrize(
    ("given", "token", "shown"),
    [
        ("operate", ADMIN, "operate"),
        ("read", ADMIN, "read"),
        ("none", ADMIN, "none"),
        ("operate", READER, "read"),
        ("read", READER, "read"),
    ],
)
@pytest.mark.parametrize("form", [lambda role: role, lambda role: Principal(role, "bob")], ids=["text", "principal"])
def test_the_role_that_holds_is_shown(given: Any, token: str, shown: str, form: Callable[[Any], Any]) -> None:
    ui = ui_of(lambda scope: form(given), token)
    session = ui.see("session")
    assert (session["role"], session["features"]["preview"]) == (shown, shown == "operate")
    assert session["requiresToken"] is True
    assert ui.get("jobs").status_code == (401 if given == "none" else 200)
    assert ui.do("job.cancel", {"id": "a.j"}, preview=True).status_code == (
        200 if shown == "operate" else 403 if given == "operate" else 401
    )


@pytest.mark.parametrize("store", ["http://127.0.0.1:1", rc.Store(clock=rc.ManualClock(0))], ids=["a server", "a store"])
def test_a_role_that_is_none_is_refused_at_once(store: Any) -> None:
    for role in (Principal("operate", prefix="b."), 5, "admin"):
        with pytest.raises(ValueError, match="role must be one of none, read, operate, or a function"):
            create_ui(store, role=role, token="t" if isinstance(store, str) else None)  # type: ignore[arg-type]
