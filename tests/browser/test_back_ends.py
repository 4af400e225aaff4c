"""A short tour of the dashboard on each storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from browser import scene
from browser.pages import Opener, showing


def test_the_dashboard_works_on_each_storage(make_store: Callable[..., Any], open_page: Opener) -> None:
    clock = scene.clock()
    store = make_store(clock=clock)
    scene.fill(store, clock, hours=2)
    with showing(store) as base:
        ui = open_page(base)
        page = ui.go()
        page.locator("main", has_text="imports").wait_for()
        for route, text in [
            ("jobs?state=archived", scene.CARD),
            ("workflows?id=order-10*", scene.STUCK),
            ("queues", "video"),
            ("workers", "encoder-1"),
            ("schedules", "heartbeat"),
            ("messages", scene.SHOP),
            ("groups", "ann"),
        ]:
            ui.go(route)
            page.locator("tbody tr", has_text=text).first.wait_for()
        ui.go(f"workflow?id={scene.STUCK}")
        page.get_by_text("needs a person").wait_for()
        page.locator(".advice").get_by_role("button", name="Run now").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_role("button", name="Try it first").click()
        dialog.get_by_text("Nothing was done").wait_for()
        assert store.jobs.get(scene.CARD).state == "archived"
        dialog.locator('button[type="submit"]').click()
        page.get_by_text("needs a person").wait_for(state="detached")
        assert store.jobs.get(scene.CARD).state == "pending"
        ui.check()
        page.close()
