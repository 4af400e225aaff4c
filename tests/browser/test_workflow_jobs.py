"""Workflows of a worker, in a browser: the list, the steps of one, and what a person does to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import resonate_core as rc
from browser import flows, scene
from browser.flows import FAILED, MAIN, RUNS
from browser.pages import Opener, showing


@pytest.fixture
def onboarding() -> Iterator[tuple[Any, str]]:
    """Three workflows, served."""
    store = rc.Store(clock=rc.ManualClock(start=scene.START - 1000))
    flows.fill(store)
    with showing(store) as base:
        yield store, base


def calls(page: Any) -> list[list[str]]:
    """Returns the texts of the nodes of the tree."""
    return [text.split("\n") for text in page.locator(".tree .node").all_inner_texts()]


def test_the_list_has_workflows_of_workers_and_of_sdks(onboarding: tuple[Any, str], open_page: Opener) -> None:
    store, base = onboarding
    store.promises.create("sdk-1", timeout=scene.DAY, param={"func": "checkout", "args": []}, tags={"resonate:target": scene.SHOP})
    ui = open_page(base)
    page = ui.go("workflows")
    rows = page.locator("tbody tr")
    assert [row.split("\t")[0].strip() for row in rows.all_inner_texts()] == ["sdk-1", RUNS, MAIN, FAILED]
    running = page.get_by_role("row", name=RUNS)
    running.get_by_text("running", exact=True).wait_for()
    assert "attempt 2 of step send_welcome" in running.inner_text() and "1 step" in running.inner_text()
    assert "BadAddress: bob@example.org is unknown" in page.get_by_role("row", name=FAILED).inner_text()
    page.get_by_role("group", name="States").get_by_role("button", name="rejected").click()
    page.locator("tbody tr", has_text=MAIN).wait_for(state="detached")
    page.get_by_role("row", name=FAILED).wait_for()
    assert rows.count() == 1
    assert ui.axe() == []
    page.get_by_role("link", name=FAILED).click()
    page.locator("main h1", has_text=FAILED).wait_for()
    page.locator("main .lead .state", has_text="failed").wait_for()


def test_steps_have_names_results_durations_and_attempts(onboarding: tuple[Any, str], open_page: Opener) -> None:
    ui = open_page(onboarding[1])
    page = ui.go(f"workflow?id={MAIN}")
    page.locator(".rt-plot g[role=option]").first.wait_for(state="attached")
    text = "\n".join(" ".join(line) for line in calls(page))
    for part in (
        'resolved create_account onboard-ada:2 {"id":4711} 2.3 s',
        'resolved send_welcome onboard-ada:3 "250 ok" in attempt 2 1.8 s',
        "resolved retry send_welcome onboard-ada:3:1 after ConnectionError: mx.example.org does not answer",
        'resolved avatar:draw onboard-ada:4 {"png":12044} 9 s',
        "pending receive click onboard-ada:5:0:1 waits for a message of topic click",
    ):
        assert part in text, (part, text)
    assert page.locator(".tree .node.muted b").count() == 0, "the library's own records are grey"
    assert "uuid4" in page.locator(".tree .node.muted").inner_text()
    labels = [label.get_attribute("title") for label in page.locator(".rt-label").all()]
    assert [title.split()[0] for title in labels if title] == [
        MAIN,
        "create_account",
        "send_welcome",
        "avatar:draw",
        "receive",
        "sleep",
    ]
    page.get_by_role("treeitem", name="send_welcome, resolved").first.locator(".node").first.click()
    card = page.locator("section.card").filter(has=page.get_by_role("heading", name="send_welcome"))
    facts = " ".join(card.inner_text().split())
    assert "Attempts 2" in facts and "after 1.8 s" in facts and "startedAt" not in page.inner_text("main")
    page.get_by_text("succeeded").wait_for()
    assert ui.axe() == []
    page.emulate_media(color_scheme="dark")
    assert ui.axe("color-contrast") == []
    for width in (1440, 390, 360):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, width


def test_a_running_workflow_says_which_step_runs(onboarding: tuple[Any, str], open_page: Opener) -> None:
    page = open_page(onboarding[1]).go(f"workflow?id={RUNS}")
    sentence = page.locator(".why .sentence").inner_text()
    assert "attempt 2 of step send_welcome (onboard-eve:2) runs since 8 s ago, after ConnectionError: mx.example.org" in sentence
    page.get_by_role("link", name="Open the job").click()
    page.get_by_text("step send_welcome (onboard-eve:2), attempt 2: runs since").wait_for()
    page.get_by_role("link", name="Open the workflow").click()
    page.get_by_role("heading", name="Calls").wait_for()


def test_a_failed_step(onboarding: tuple[Any, str], open_page: Opener) -> None:
    page = open_page(onboarding[1]).go(f"workflow?id={FAILED}&call={FAILED}:1")
    card = page.locator("section.card").filter(has=page.get_by_role("heading", name="send_welcome"))
    assert "Error\nBadAddress: bob@example.org is unknown" in card.inner_text()
    assert page.locator(".head button.button").all_inner_texts() == ["Fork"], "no message and no end for one that has ended"


def test_a_message_is_sent_after_it_was_tried(onboarding: tuple[Any, str], open_page: Opener) -> None:
    store, base = onboarding
    page = open_page(base).go(f"workflow?id={MAIN}")
    page.locator(".head").get_by_role("button", name="Send a message").click()
    dialog = page.get_by_role("dialog")
    assert dialog.get_by_label("Topic").input_value() == "click", "that of its open receive"
    dialog.get_by_label("Message (JSON)").fill("{not json")
    dialog.get_by_role("button", name="Try it first").click()
    dialog.get_by_text("must be JSON").wait_for()
    dialog.get_by_label("Message (JSON)").fill('{"ip": "::1"}')
    dialog.get_by_role("button", name="Try it first").click()
    dialog.get_by_text("Nothing was done").wait_for()
    shown = " ".join(dialog.inner_text().split())
    assert f"promise {MAIN}:5:0:1 pending → resolved" in shown and f"job {MAIN} waiting → pending" in shown, shown
    assert store.promises.get(f"{MAIN}:5:0:1").state == "pending"
    dialog.locator('button[type="submit"]').click()
    dialog.wait_for(state="detached")
    page.locator("main .lead .state", has_text="pending").wait_for()
    assert store.promises.get(f"{MAIN}:5:0:1").value.json() == {"ip": "::1"}


def test_a_fork_from_the_chosen_step(onboarding: tuple[Any, str], open_page: Opener) -> None:
    store, base = onboarding
    page = open_page(base).go(f"workflow?id={MAIN}&call={MAIN}:4")
    page.locator(".head").get_by_role("button", name="Fork").click()
    dialog = page.get_by_role("dialog")
    assert dialog.get_by_label("From the step").input_value() == f"{MAIN}:4"
    dialog.get_by_label("Id of the fork").fill("again")
    dialog.get_by_role("button", name="Try it first").click()
    dialog.get_by_text("Nothing was done").wait_for()
    assert "promise again:3 resolved" in " ".join(dialog.inner_text().split()) and list(store.jobs.search("again*")) == []
    dialog.locator('button[type="submit"]').click()
    page.locator("main h1", has_text="again").wait_for()
    page.get_by_role("treeitem", name="send_welcome, resolved").first.wait_for()
    assert store.jobs.get("again").state == "pending" and store.jobs.get(MAIN).state == "waiting"
    assert store.check() == []


def test_a_workflow_is_cancelled_after_it_was_tried(onboarding: tuple[Any, str], open_page: Opener) -> None:
    store, base = onboarding
    page = open_page(base).go(f"workflow?id={MAIN}")
    page.locator(".head").get_by_role("button", name="Cancel").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Try it first").click()
    dialog.get_by_text("Nothing was done").wait_for()
    assert f"job {MAIN} waiting → cancelled" in " ".join(dialog.inner_text().split())
    dialog.get_by_role("button", name="Cancel the workflow").click()
    page.locator("main .lead .state", has_text="cancelled").wait_for()
    assert store.jobs.get(MAIN).state == "cancelled"


def test_who_may_only_read_has_no_actions(open_page: Opener) -> None:
    store = rc.Store(clock=rc.ManualClock(start=scene.START - 1000))
    flows.fill(store)
    with showing(store, role="read") as base:
        page = open_page(base).go(f"workflow?id={MAIN}")
        page.get_by_role("treeitem", name="sleep, pending").wait_for()
        assert page.locator(".head button.button").count() == 0
