"""Live updates: a change in the store appears without a reload, except while the page is hidden or paused; they resume after an outage."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.routing import Mount

from browser.pages import Opener, Shop
from resonate_core.ui import create_ui
from server.live_server import live

HIDE = """(hidden) => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_what_changes_appears_by_itself(own_shop: Shop, open_page: Opener) -> None:
    ui = open_page(own_shop.base)
    page = ui.go("jobs?queue=video")
    page.locator(".live.on").wait_for()
    own_shop.store.jobs.enqueue("video:encode", id="brand-new", queue="video")
    page.locator("tbody tr", has_text="brand-new").wait_for()
    own_shop.store.jobs.cancel("brand-new")
    page.locator("tbody tr", has_text="brand-new").locator(".state", has_text="cancelled").wait_for()


def test_a_hidden_or_paused_page_asks_for_nothing(own_shop: Shop, open_page: Opener) -> None:
    ui = open_page(own_shop.base)
    page = ui.go("jobs?queue=video")
    page.locator(".live.on").wait_for()
    for leave, back in [
        (lambda: page.evaluate(HIDE, True), lambda: page.evaluate(HIDE, False)),
        (lambda: page.keyboard.press("p"), lambda: page.keyboard.press("p")),
    ]:
        leave()
        page.locator(".live.paused").wait_for()
        asked: list[str] = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        name = f"while-away-{len(own_shop.store.jobs.search(queue='video'))}"
        own_shop.store.jobs.enqueue("video:encode", id=name, queue="video")
        page.wait_for_timeout(700)
        assert asked == []
        assert page.locator("tbody tr", has_text=name).count() == 0
        back()
        page.locator("tbody tr", has_text=name).wait_for()


def test_a_server_that_comes_back_is_found_again(own_shop: Shop, open_page: Opener) -> None:
    ui = open_page(own_shop.base)
    ui.expected += ["net::ERR", "Failed to load resource"]
    page = ui.go("jobs?queue=video")
    page.locator(".live.on").wait_for()
    for asked in ("**/api/**", "**/api/events"):
        page.route(asked, lambda route: route.abort())
    page.evaluate(HIDE, True)
    page.evaluate(HIDE, False)
    page.locator(".live.off").wait_for()
    page.evaluate("location.hash = '#/queues'")
    page.get_by_role("alert").get_by_text("The server cannot be reached").wait_for()
    page.unroute("**/api/**")  # but not the stream, which would load the view before the button is clicked
    page.get_by_role("button", name="Try again").click()
    page.locator("tbody tr", has_text="imports").wait_for()
    page.unroute("**/api/events")
    page.locator(".live.on").wait_for()


def test_the_dashboard_works_below_any_path(own_shop: Shop, open_page: Opener) -> None:
    with live(Starlette(routes=[Mount("/ops/jobs", create_ui(own_shop.store, role="read"))])) as running:
        ui = open_page(f"http://127.0.0.1:{running.port}/ops/jobs/")
        ui.go("queues").locator("tbody tr", has_text="imports").wait_for()
        ui.check()
        ui.page.close()
