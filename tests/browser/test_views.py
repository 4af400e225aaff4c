"""Every view in a real browser: its content, accessibility in light and dark, the width of a phone, and that no stored script runs."""

from __future__ import annotations

import pytest

from browser import scene
from browser.pages import Opener, Ui
from browser.views import EVIL, VIEWS, View


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_a_view_shows_what_is_there_to_everyone(view: View, shop_page: Ui) -> None:
    page = shop_page.go(view.route)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 860})
    page.get_by_text(view.shows).first.wait_for()
    assert page.locator("main h1").count() == 1
    assert page.title().endswith("· Resonate")
    assert shop_page.axe() == []
    page.emulate_media(color_scheme="dark")
    assert shop_page.axe("color-contrast") == []
    page.set_viewport_size({"width": 360, "height": 740})
    page.evaluate("new Promise(requestAnimationFrame)")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, "the page is wider than a phone"
    assert shop_page.axe("target-size", "scrollable-region-focusable") == []
    shop_page.check()


def test_a_running_job_shows_its_report(shop_page: Ui) -> None:
    page = shop_page.go("job?id=encode-intro")
    page.get_by_text("pass 2 of 2: frame 3 906 of 6 300").wait_for()
    assert page.get_by_role("progressbar", name="Progress").get_attribute("value") == "0.62"
    lines = page.get_by_role("table", name="Log, newest first").locator("tbody td:last-child")
    assert lines.all_inner_texts() == [
        "pass 2 of 2: frame 3 906 of 6 300",
        "pass 1 of 2 is done",
        "intro.mov: 1920 x 1080, 4 min 12 s",
    ]
    assert shop_page.axe() == []
    page = shop_page.go("jobs?state=running")
    page.get_by_role("row", name="encode-intro").get_by_text("62 %").wait_for()
    shop_page.check()


def test_the_fields_of_a_form_are_level(shop_page: Ui) -> None:
    page = shop_page.go("enqueue")
    page.set_viewport_size({"width": 1280, "height": 860})
    page.get_by_label("Queue", exact=True).wait_for()
    boxes = [page.get_by_label(name, exact=True).bounding_box() for name in ("Type", "Queue", "Id")]
    assert len({(box["y"], box["height"]) for box in boxes if box}) == 1, boxes
    shop_page.check()


def test_stored_scripts_never_run(shop_page: Ui) -> None:
    ui = shop_page
    ui.page.set_viewport_size({"width": 1280, "height": 860})
    for view in EVIL:
        page = ui.go(view.route)
        page.get_by_text(view.shows).first.wait_for()
        assert page.evaluate("window.ran ?? null") is None
        assert page.locator("main script, main img, main [onerror]").count() == 0
    page = ui.go(EVIL[1].route)
    assert scene.SCRIPT in page.locator("main").inner_text(), "the script is shown as text"
    ui.check()


def test_an_empty_store_says_what_to_do(open_page: Opener, empty: str) -> None:
    ui = open_page(empty)
    ui.expected.append("404")  # ids that do not exist
    for view in VIEWS:
        page = ui.go(view.route)
        if view.name in ("job", "workflow", "queue"):
            page.locator("main [role=alert]").get_by_text("could not be read").wait_for()
            page.get_by_role("button", name="Try again").wait_for()
        elif view.name == "why":
            page.locator("main .why").wait_for()
        elif view.name != "enqueue":
            assert len(page.locator("main .empty p").first.inner_text()) > 20, view.name
            assert ui.axe("color-contrast", "heading-order", "region") == [], view.name


def test_an_address_without_a_view_says_so(open_page: Opener, empty: str) -> None:
    ui = open_page(empty)
    ui.page.goto(f"{empty}#/nowhere")
    ui.page.get_by_text("There is no such view").wait_for()
