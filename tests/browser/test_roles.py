"""Roles and tokens: a reader sees no actions and is refused; a token is asked for, stays in its tab, and is in no address."""

from __future__ import annotations

from typing import Any

import resonate_core as rc
from browser import scene
from browser.pages import Opener, Shop, showing
from browser.views import VIEWS
from resonate_core.ui import UiOptions
from resonate_core.ui.app import UiApp
from resonate_core.ui.dashboard import Dashboard
from resonate_core.ui.principal import Principal
from server.live_server import live

ACTIONS = [
    "Run now",
    "Edit and run again",
    "Cancel",
    "Archive",
    "Delete",
    "Pause",
    "Resume",
    "Limits",
    "Halt",
    "Settle",
    "Enqueue a job",
    "Enqueue…",
    "Try it first",
]
POST = """async ([kind, data]) => {
  const reply = await fetch("api/do", { method: "POST", headers: { "content-type": "application/json", "x-resonate-ui": "1" }, body: JSON.stringify({ kind, data }) });
  return reply.status;
}"""


def test_who_may_read_sees_everything_and_changes_nothing(shop: Shop, open_page: Opener) -> None:
    with showing(shop.store, role="read") as base:
        ui = open_page(base)
        ui.expected.append("403")
        before = shop.store.digest()
        for view in VIEWS:
            page = ui.go(view.route)
            found = [name for name in ACTIONS if page.get_by_role("button", name=name, exact=True).count()]
            assert found == [], f"{view.name} offers {found}"
            assert page.get_by_role("checkbox").count() == 0
        for kind, data in [
            ("job.run", {"id": scene.CARD}), ("job.cancel", {"id": scene.CARD}), ("job.delete", {"state": "completed"}), ("job.enqueue", {"type": "x"}),
            ("queue.pause", {"queue": "mail"}), ("promise.settle", {"id": scene.STUCK, "state": "resolved"}), ("task.halt", {"id": "order-1044"}),
            ("schedule.delete", {"id": "heartbeat"}), ("bulk", {"kind": "job.run", "ids": [scene.CARD]}),
        ]:  # fmt: skip
            assert page.evaluate(POST, [kind, data]) == 403, kind
        assert shop.store.digest() == before
        ui.check()
        page.close()


def token_app(store: Any) -> UiApp:
    """A dashboard that requires a token: `look` may read, `work` may also act."""
    roles = {"Bearer look": Principal("read", "ann"), "Bearer work": Principal("operate", "bea")}

    def who(scope: Any) -> Principal | int:
        given = dict(scope["headers"]).get(b"authorization")
        return 401 if given is None else roles.get(given.decode(), 401)

    return UiApp(Dashboard(store, UiOptions()), who, requires_token=True)


def test_a_token_is_asked_for_and_kept_in_this_tab(open_page: Opener) -> None:
    clock = scene.clock()
    store = rc.Store(clock=clock)
    scene.fill(store, clock, hours=2)
    app = token_app(store)
    with live(app) as running:
        ui = open_page(f"http://127.0.0.1:{running.port}/")
        ui.expected.append("401")
        page = ui.page
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(ui.base)
        page.get_by_role("heading", name="Sign in").wait_for()
        assert ui.axe() == []
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("alert").wait_for()
        page.get_by_label("Token").fill("look")
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Overview").wait_for()
        page.get_by_text("You may read as ann").wait_for()
        page.locator(".live.on").wait_for()
        page.reload()
        page.get_by_role("heading", name="Overview").wait_for()
        assert [url for url in asked if "look" in url or "wrong" in url] == []
        assert page.evaluate("[document.cookie, JSON.stringify({ ...localStorage })].filter((kept) => kept.includes('look'))") == []
        other = page.context.new_page()
        other.goto(ui.base)
        other.get_by_role("heading", name="Sign in").wait_for()
        other.close()
        ui.check()
        page.close()
