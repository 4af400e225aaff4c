"""Audit lines were shown by the name of their sender: two tenants whose tokens have no `sub`, or the same one, read each other's."""

from __future__ import annotations

import time
from typing import Any

import jwt
import pytest

import resonate_core as rc
from resonate_core.asgi import AuthSettings, ServerSettings, create_app
from resonate_core.ui.app import UiApp
from resonate_core.ui.dashboard import Dashboard
from resonate_core.ui.options import UiOptions
from resonate_core.ui.principal import Principal
from ui.ui_client import Client

SECRET = "a secret of thirty-two bytes, or more"


def clients(app: Any) -> Any:
    def of(**claims: Any) -> Client:
        token = jwt.encode({"exp": int(time.time()) + 3600, **claims}, SECRET, "HS256")
        return Client(app, "/ui/", {"authorization": f"Bearer {token}"})

    return of


@pytest.mark.parametrize("sub", [{}, {"sub": "ann"}, {"sub": "ann", "iss": "x"}, {"sub": ""}])
def test_lines_of_another_prefix_are_not_shown(sub: dict[str, str]) -> None:
    store = rc.Store(clock=rc.ManualClock(0))
    of = clients(create_app(store, auth=AuthSettings(secret=SECRET), server=ServerSettings(ui=True)))  # type: ignore[arg-type]
    a, b = of(prefix="a.", **sub), of(prefix="b.", role="read", **sub)
    assert a.do("job.enqueue", {"type": "t", "id": "a.secret-order-77"}).json()["audit"] == 1
    assert a.do("job.enqueue", {"type": "t", "id": "b.no"}).status_code == 403
    of(role="admin", **sub).do("job.cancel", {"id": "a.secret-order-77"})
    of(role="none", prefix="b.", **sub).do("job.cancel", {"id": "a.secret-order-77"})
    assert b.do("job.cancel", {"id": "b.1"}).status_code == 403
    shown = b.see("audit")
    assert "secret-order" not in str(shown) and [line["kind"] for line in shown["items"]][:1] != []
    assert (
        all(line["prefix"] == "b." for line in shown["items"]) and shown["items"][0]["number"] <= 2
    )  # how many others have: unknown
    assert [line["target"]["id"] for line in a.see("audit")["items"]] == ["b.no", "a.secret-order-77"]
    assert [line["number"] for line in a.see("audit")["items"]] == [2, 1]
    assert of(prefix="a.", role="read", sub="bob").see("audit")["items"] == a.see("audit")["items"]  # colleagues
    for other in ("a", "a.s", "a.b.", "A."):
        assert of(prefix=other, role="read", **sub).see("audit")["items"] == [], other
    everything = of(role="admin").see("audit")["items"]
    assert len(everything) >= 4 and [line["number"] for line in everything] == list(range(len(everything), 0, -1))


def test_a_page_of_the_audit_tells_nothing_of_others() -> None:
    dashboard = Dashboard(rc.Store(clock=rc.ManualClock(0)), UiOptions())
    who = {prefix: Principal("operate", prefix=prefix) for prefix in ("a.", "b.", "")}
    ui = {prefix: Client(UiApp(dashboard, lambda scope, one=one: one)) for prefix, one in who.items()}
    answers = []
    for noise in (0, 5):
        for _ in range(noise):
            ui["a."].do("job.cancel", {"id": "a.none"})
        for number in range(3):
            ui["b."].do("job.cancel", {"id": f"b.{number}"})
        pages, cursor = [], None
        while True:
            page = ui["b."].see("audit", limit=2, **({} if cursor is None else {"cursor": cursor}))
            pages.append([(line["number"], line["target"]["id"]) for line in page["items"]])
            cursor = page["next"]
            if cursor is None:
                break
        answers.append(pages)
    assert answers == [
        [[(3, "b.2"), (2, "b.1")], [(1, "b.0")]],
        [[(6, "b.2"), (5, "b.1")], [(4, "b.0"), (3, "b.2")], [(2, "b.1"), (1, "b.0")]],
    ]


def test_numbers_of_many_prefixes_are_bounded() -> None:
    dashboard = Dashboard(rc.Store(clock=rc.ManualClock(0)), UiOptions(audit_kept=10))
    for number in range(3000):
        assert dashboard.audit.add(0, Principal("operate", prefix=f"{number}."), "x", {}, 400, False, None) == 1
    assert len(dashboard.audit._of_prefix) < 1100
