"""Actions on one job, many jobs, queues, promises, tasks and schedules: tried on a fork first, done, or refused."""

from __future__ import annotations

import re
from typing import Any

from browser import scene
from browser.pages import Opener, Shop, Ui


def act(ui: Ui, button: str, done: str, *, inside: Any = None, exact: bool = True) -> None:
    """Opens an action, confirms it, and waits for the message of the page."""
    (inside or ui.page).get_by_role("button", name=button, exact=exact).first.click()
    dialog = ui.page.get_by_role("dialog")
    dialog.locator('button[type="submit"]').click()
    dialog.wait_for(state="detached")
    ui.page.locator(".toast", has_text=done).first.wait_for()


def test_an_action_is_tried_first_and_then_done(own_shop: Shop, open_page: Opener) -> None:
    ui = open_page(own_shop.base)
    page = ui.go(f"job?id={scene.CARD}")
    before = own_shop.store.digest()
    page.locator(".head").get_by_role("button", name="Run now").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Try it first").click()
    dialog.get_by_text("On a fork of the store").wait_for()
    shown = dialog.inner_text()
    assert "archived" in shown and "pending" in shown and "Nothing was done" in shown
    assert ui.axe() == []
    assert own_shop.store.digest() == before, "the store is as it was"
    dialog.get_by_label("and in").select_option(label="the next day")
    dialog.locator('button[type="submit"]').click()
    dialog.wait_for(state="detached")
    page.locator("main .lead .state", has_text="pending").wait_for()
    assert own_shop.store.jobs.get(scene.CARD).state == "pending"
    page = ui.go("audit")
    rows = page.locator("tbody tr")
    rows.first.wait_for()
    assert "tried first" not in rows.first.inner_text()
    assert "tried first" in rows.nth(1).inner_text()


def test_a_refusal_says_why(own_shop: Shop, open_page: Opener) -> None:
    ui = open_page(own_shop.base)
    ui.expected.append("409")
    page = ui.go(f"job?id={scene.CARD}")
    page.locator(".head").get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Try it first").click()
    dialog.get_by_text("It would be refused (409)").wait_for()
    dialog.locator('button[type="submit"]').click()
    dialog.get_by_role("alert").get_by_text("await").wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert own_shop.store.jobs.get(scene.CARD).state == "archived"


def test_selected_jobs_and_all_that_match(own_shop: Shop, open_page: Opener) -> None:
    ui = open_page(own_shop.base)
    page = ui.go("jobs?queue=imports&id=import-*&state=pending")
    for id in ("import-18", "import-19"):
        page.get_by_role("checkbox", name=f"Select {id}").check()
    act(ui, "Cancel", "Cancel: 2 jobs", inside=page.locator(".bulk"))
    assert {own_shop.store.jobs.get(id).state for id in ("import-18", "import-19")} == {"cancelled"}
    page = ui.go("jobs?queue=imports&state=pending")
    page.get_by_label("Action on all that match").select_option(label="Archive")
    dialog = page.get_by_role("dialog")
    assert "queue imports" in dialog.inner_text()
    dialog.locator('button[type="submit"]').click()
    page.locator(".toast", has_text="Archive: 11 jobs").wait_for()
    assert len(own_shop.store.jobs.search(queue="imports", state="archived")) == 11


def test_filters_stand_in_the_address(own_shop: Shop, open_page: Opener) -> None:
    ui = open_page(own_shop.base)
    page = ui.go("jobs")
    page.get_by_label("Queue", exact=True).fill("imports")
    page.keyboard.press("Enter")
    page.wait_for_url("**queue=imports**")
    page.get_by_label("Tag", exact=True).fill("tenant=globex")
    page.keyboard.press("Enter")
    page.wait_for_url("**tag=tenant%3Dglobex**")
    page.locator(".table-foot", has_text="1 job on this page").wait_for()
    page.get_by_role("button", name="archived", exact=False).first.click()
    page.get_by_text("No job matches").wait_for()
    page.go_back()
    page.locator("tbody tr").first.wait_for()
    assert page.get_by_label("Queue", exact=True).input_value() == "imports"
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Argument", exact=True).fill("amount=4200")
    page.keyboard.press("Enter")
    page.locator(".table-foot", has_text="1 job on this page").wait_for()  # the whole table has the row as well
    page.locator("tbody tr", has_text=scene.CARD).wait_for()
    assert page.locator("tbody tr").count() == 1
    page.get_by_role("button", name="Clear").click()
    page.locator(".table-foot", has_text="50 jobs on this page").wait_for()
    page.get_by_label("Error", exact=True).fill("answered 503")
    page.keyboard.press("Enter")
    page.locator(".table-foot", has_text="50 jobs on this page").wait_for(state="hidden")
    page.locator("tbody tr", has_text=scene.CARD).wait_for()


def test_a_filter_typed_right_after_a_clear_is_kept(own_shop: Shop, open_page: Opener) -> None:
    """A text typed before the page had read its own changed address was lost, and no row was filtered."""
    page = open_page(own_shop.base).go("jobs?queue=imports")
    page.locator(".table-foot", has_text="jobs on this page").wait_for()
    page.evaluate(
        """() => {
            [...document.querySelectorAll(".filters button")].find((one) => one.textContent === "Clear").click();
            const field = document.querySelector("#filter-arg");
            field.value = "amount=4200";
            field.dispatchEvent(new Event("input", { bubbles: true }));
        }"""
    )
    page.locator(".table-foot", has_text="50 jobs on this page").wait_for()
    assert page.get_by_label("Argument", exact=True).input_value() == "amount=4200"
    assert page.get_by_label("Queue", exact=True).input_value() == ""
    page.get_by_label("Argument", exact=True).press("Enter")
    page.locator(".table-foot", has_text="1 job on this page").wait_for()


def test_pages_go_on_by_cursor(own_shop: Shop, open_page: Opener) -> None:
    own_shop.store.jobs.enqueue_many("noop", range(60), queue="many", ids=[f"many-{n:02}" for n in range(60)])
    ui = open_page(own_shop.base)
    page = ui.go("jobs?queue=many&limit=25")
    seen = page.locator("tbody a[data-open]").all_inner_texts()
    page.keyboard.press("n")
    page.wait_for_url("**cursor=**")
    page.locator("tbody tr", has_text="many-34").wait_for()
    seen += page.locator("tbody a[data-open]").all_inner_texts()
    page.get_by_role("button", name="Next page").click()
    page.locator(".table-foot", has_text="10 jobs on this page").wait_for()
    seen += page.locator("tbody a[data-open]").all_inner_texts()
    assert seen == [f"many-{n:02}" for n in reversed(range(60))]
    page.get_by_role("button", name="First page").click()
    page.locator("tbody tr", has_text="many-59").wait_for()


def test_a_payload_is_edited_and_run_again(own_shop: Shop, open_page: Opener) -> None:
    ui = open_page(own_shop.base)
    page = ui.go(f"job?id={scene.CARD}")
    page.get_by_role("button", name="Edit and run again").click()
    dialog = page.get_by_role("dialog")
    field = dialog.get_by_label("Payload (JSON)")
    assert '"amount": 4200' in field.input_value()
    field.fill('{"amount": ')
    dialog.locator('button[type="submit"]').click()
    dialog.get_by_text("Payload must be JSON").wait_for()
    field.fill('{"order": "order-1042", "amount": 4000}')
    dialog.locator('button[type="submit"]').click()
    page.locator(".toast", has_text="Enqueued").wait_for()
    (job,) = own_shop.store.jobs.search(queue="payments", state="pending")
    assert job.payload.json() == {"order": "order-1042", "amount": 4000}
    page.locator("main h1", has_text=job.id).wait_for()


def test_a_job_is_enqueued_by_a_form(own_shop: Shop, open_page: Opener) -> None:
    ui = open_page(own_shop.base)
    page = ui.go("jobs")
    page.keyboard.press("c")
    page.locator("main h1", has_text="Enqueue a job").wait_for()
    page.get_by_role("button", name="Enqueue…").click()
    page.get_by_text("Type must not be empty").wait_for()
    assert page.evaluate("document.activeElement.id") == "field-type"
    page.get_by_label("Type", exact=True).fill("email:send")
    page.get_by_label("Payload (JSON)").fill('{"to": "bea@example.org"}')
    page.get_by_label("Id", exact=True).fill("by-hand")
    page.get_by_label("Delay (ms)").fill("60000")
    page.get_by_label("Tags").fill("tenant=acme, team=blue")
    page.get_by_role("button", name="Enqueue…").click()
    page.get_by_role("dialog").locator('button[type="submit"]').click()
    page.locator("main h1", has_text="by-hand").wait_for()
    job = own_shop.store.jobs.get("by-hand")
    assert (job.state, job.payload.json(), job.tags) == ("scheduled", {"to": "bea@example.org"}, {"tenant": "acme", "team": "blue"})


def test_a_queue_is_paused_resumed_and_limited(own_shop: Shop, open_page: Opener) -> None:
    store = own_shop.store
    ui = open_page(own_shop.base)
    page = ui.go("queue?name=mail")
    act(ui, "Pause", "Pause mail: done")
    assert store.queues.get("mail")["paused"]
    page.locator(".lead", has_text="Paused").wait_for()
    act(ui, "Resume", "Resume mail: done", inside=page.locator(".head"))
    assert not store.queues.get("mail")["paused"]
    page.get_by_role("button", name="Limits").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Concurrency").fill("3")
    dialog.get_by_label("Rate: jobs").fill("10")
    dialog.locator('button[type="submit"]').click()
    dialog.wait_for(state="detached")
    queue = store.queues.get("mail")
    assert (queue["concurrency"], queue["rate"]["limit"], queue["rate"]["per"]) == (3, 10, 1000)


def test_workflows_are_halted_resumed_settled_and_cancelled(own_shop: Shop, open_page: Opener) -> None:
    store = own_shop.store
    ui = open_page(own_shop.base)
    page = ui.go("workflow?id=order-1044")
    act(ui, "Halt", "Halt order-1044: done", inside=page.locator(".head"))
    assert store.tasks.get("order-1044").state == "halted"
    act(ui, "Resume", "Resume order-1044: done", inside=page.locator(".head"))
    assert store.tasks.get("order-1044").state == "pending"
    page.locator(".head").get_by_role("button", name="Settle").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Value (JSON)").fill('{"paid": true}')
    dialog.get_by_role("button", name="Try it first").click()
    dialog.get_by_role("heading", name="At once").wait_for()
    dialog.locator('button[type="submit"]').click()
    dialog.wait_for(state="detached")
    promise = store.promises.get("order-1044")
    assert (promise.state, promise.value.json()) == ("resolved", {"paid": True})
    page.locator(".head .state", has_text="resolved").wait_for()
    assert page.locator(".head").get_by_role("button", name="Settle").count() == 0
    ui.go("workflow?id=order-1043")
    act(ui, "Cancel", "Cancel order-1043: done", inside=page.locator(".head"))
    assert store.promises.get("order-1043").state == "rejected_canceled"


def test_a_schedule_is_run_and_deleted(own_shop: Shop, open_page: Opener) -> None:
    store = own_shop.store
    ui = open_page(own_shop.base)
    page = ui.go("schedules")
    before = len(store.jobs.search(type="report:build"))
    row = page.locator("tbody tr", has_text="nightly-report")
    act(ui, "Run now", "Run nightly-report now: done", inside=row)
    assert len(store.jobs.search(type="report:build")) == before + 1
    act(ui, "Delete", "Delete nightly-report: done", inside=row)
    row.wait_for(state="detached")
    assert [one.id for one in store.schedules.search()] == ["heartbeat"]


def test_a_schedule_is_paused_and_resumed(own_shop: Shop, open_page: Opener) -> None:
    store = own_shop.store
    ui = open_page(own_shop.base)
    page = ui.go("schedules")
    row = page.locator("tbody tr", has_text="nightly-report")
    act(ui, "Pause", "Pause nightly-report: done", inside=row)
    row.locator(".pill", has_text="paused").wait_for()
    assert store.schedules.get("nightly-report").paused
    assert ui.axe() == []
    act(ui, "Resume", "Resume nightly-report: done", inside=row)
    row.locator(".pill", has_text="paused").wait_for(state="detached")
    assert not store.schedules.get("nightly-report").paused


def test_advice_on_a_stuck_workflow_mends_it(own_shop: Shop, open_page: Opener) -> None:
    ui = open_page(own_shop.base)
    page = ui.go(f"why?id={scene.STUCK}")
    page.get_by_text("needs a person").wait_for()
    assert re.search(rf"waits for {scene.CARD}", page.locator("main .why .sentence").inner_text())
    act(ui, "Run now", "done", inside=page.locator(".advice"))
    assert own_shop.store.jobs.get(scene.CARD).state == "pending"
    page.get_by_text("needs a person").wait_for(state="detached")
