"""Jobs that wait, in a browser: the page of one, the graph around it, and the actions on its branch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import resonate_core as rc
from browser import scene
from browser.pages import Opener, showing


@pytest.fixture
def film() -> Iterator[tuple[Any, str]]:
    """The graph of the film, served."""
    store = rc.Store(clock=rc.ManualClock(start=scene.START))
    scene.fill_film(store)
    with showing(store) as base:
        yield store, base


def test_the_page_shows_both_sides_and_the_graph(film: tuple[Any, str], open_page: Opener) -> None:
    ui = open_page(film[1])
    page = ui.go("job?id=film-7.cut")
    page.get_by_role("heading", name="Waits for 4 of 5").wait_for()
    page.get_by_text("If one of them fails, it is cancelled.").wait_for()
    waiting = page.locator("section, .card").filter(has=page.get_by_role("heading", name="Waited for by"))
    assert [text.split() for text in waiting.locator("li").all_inner_texts()] == [
        ["job", "film-7.upload", "waiting"],
        ["job", "film-7.mail", "waiting"],
    ]
    page.get_by_text("needs a person").wait_for()
    graph = page.locator("figure.machine").filter(has=page.locator("a"))
    graph.locator("a").first.wait_for()
    assert graph.locator("a").count() == 9 and graph.locator("path.taken").count() == 7
    assert ui.axe() == []
    page.emulate_media(color_scheme="dark")
    assert ui.axe("color-contrast") == []
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    page.set_viewport_size({"width": 1280, "height": 860})
    graph.locator("a", has_text="film-7.sound").click()
    page.locator("main h1", has_text="film-7.sound").wait_for()
    page.get_by_role("heading", name="Waited for 1").wait_for()


def test_the_branch_is_cancelled_after_it_was_tried(film: tuple[Any, str], open_page: Opener) -> None:
    store, base = film
    ui = open_page(base)
    page = ui.go("job?id=film-7.cut")
    page.locator(".head").get_by_role("button", name="Cancel the branch").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Try it first").click()
    dialog.get_by_text("On a fork of the store").wait_for()
    shown = " ".join(dialog.inner_text().split())
    for id, state in (("upload", "cancelled"), ("bill", "cancelled"), ("mail", "pending")):
        assert f"job film-7.{id} waiting → {state}" in shown, shown
    assert store.jobs.get("film-7.cut").state == "waiting"
    dialog.locator('button[type="submit"]').click()
    dialog.wait_for(state="detached")
    page.locator("main .lead .state", has_text="cancelled").wait_for()
    assert {name: store.jobs.get(f"film-7.{name}").state for name in ("upload", "bill", "mail")} == {
        "upload": "cancelled",
        "bill": "cancelled",
        "mail": "pending",
    }
    page = ui.go("job?id=film-7.bill")
    page.get_by_text("this began with film-7.cut (cancelled").wait_for()


def test_a_waiting_job_is_run_anyway_and_found_by_its_state(film: tuple[Any, str], open_page: Opener) -> None:
    store, base = film
    ui = open_page(base)
    page = ui.go("jobs?state=waiting")
    page.get_by_role("row", name="film-7.cut").get_by_text("waits for 4 others").wait_for()
    page.get_by_role("link", name="film-7.cut").click()
    page.locator(".head").get_by_role("button", name="Run anyway").click()
    page.get_by_role("dialog").locator('button[type="submit"]').click()
    page.locator("main .lead .state", has_text="pending").wait_for()
    assert store.jobs.get("film-7.cut").state == "pending"
