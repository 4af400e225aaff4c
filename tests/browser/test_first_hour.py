"""What a new user stumbled over in the dashboard, view by view."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pytest

import resonate_core as rc
from browser import scene
from browser.pages import Opener, Shop, Ui, showing

MINUTE, HOUR = 60_000, 3_600_000
LONG = "nightly:export:customers:region-europe-west-4:part-000017-of-000240"
TRACE = """Traceback (most recent call last):
  File "/srv/.venv/lib/python3.13/site-packages/resonate_core/worker/execution.py", line 214, in run
    return await self._call(handler, payload)
  File "/usr/lib/python3.13/asyncio/threads.py", line 25, in to_thread
    return await loop.run_in_executor(None, func)
  File "/srv/shop/charges.py", line 88, in charge
    receipt = provider.charge(card=order.card, amount=order.amount, idempotency_key=f"{order.id}:{order.attempt}", currency="EUR")
  File "/srv/.venv/lib/python3.13/site-packages/httpx/_client.py", line 1014, in send
    response = self._send(request)
               ~~~~~~~~~~^^^^^^^^^
shop.errors.ProviderDown: 503"""


@pytest.fixture(scope="module")
def first() -> Iterator[Shop]:
    """A store of a first hour: two new queues, a job with a long report that failed, a workflow that waits."""
    clock = scene.clock()
    clock.advance_to(scene.START)
    store = rc.Store(clock=clock)
    with showing(store) as base:
        defaults = {
            "maxRetries": 5,
            "retryPolicy": {"kind": "exponential", "base": 1000, "factor": 2, "cap": HOUR},
            "timeout": MINUTE,
        }
        store.queues.set("fresh", defaults=defaults)
        store.jobs.enqueue_many("t", [None] * 3, queue="fresh", ids=["fresh-0", "fresh-1", LONG])
        for job in store.jobs.claim("fresh", 2, worker="elsewhere", lease=MINUTE, start=2):
            clock.advance(7)
            store.jobs.complete(job.id, job.version)
        store.jobs.enqueue("t", id=f"{LONG}:later", queue="fresh", process_in=MINUTE)
        store.jobs.enqueue(
            "report", id="chatty", queue="reports", max_retries=3, retry_policy={"kind": "fixed", "intervals": [MINUTE, 5 * MINUTE]}
        )
        (job,) = store.jobs.claim("reports", 1, worker="r-1", lease=HOUR, start=1)
        store.jobs.report(job.id, job.version, progress=0.4, lines=[f"row {n}" for n in range(60)])
        store.jobs.fail(job.id, job.version, "ProviderDown", "answered 503", TRACE)
        for id in ("order-1", "order/2 %"):
            claim = store.tasks.create(id, pid="w", ttl=MINUTE, timeout=HOUR, target=scene.SHOP)
            store.promises.create(f"{id}.pay", timeout=HOUR, tags={"resonate:origin": id, "resonate:external": "true"})
            store.tasks.suspend(id, claim.task.version, [f"{id}.pay"])
        yield Shop(store, clock, base)


@pytest.fixture
def page_of(first: Shop, open_page: Opener) -> Any:
    """Opens a view of the first hour: `page_of(route, **options of open_page)`."""
    return lambda route, **options: open_page(first.base, **options).go(route)


def test_a_dialogue_closes_when_one_goes_back(open_page: Opener, first: Shop) -> None:
    ui = open_page(first.base)
    page = ui.go("jobs")
    ui.go("job?id=chatty")
    for opens in (
        lambda: page.locator(".head").get_by_role("button", name="Cancel").click(),
        lambda: page.keyboard.press("?"),
    ):
        opens()
        page.get_by_role("dialog").wait_for()
        page.go_back()
        page.get_by_role("dialog").wait_for(state="detached")
        page.get_by_role("heading", name="Jobs", exact=True).wait_for()
        page.go_forward()
        page.get_by_role("heading", name="chatty").wait_for()
        assert page.get_by_role("dialog").count() == 0


def test_an_action_whose_dialogue_was_left_moves_no_page(own_shop: Shop, open_page: Opener) -> None:
    ui = open_page(own_shop.base)
    page = ui.go("overview")
    ui.go("job?id=import-20")
    held: list[Any] = []
    page.route("**/api/do", lambda route: held.append(route))
    page.locator(".head").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").locator('button[type="submit"]').click()
    page.get_by_role("dialog").get_by_text("Working…").wait_for()
    page.go_back()
    page.get_by_role("heading", name="Overview").wait_for()
    held[0].continue_()
    page.get_by_role("status").get_by_text("done").wait_for()
    assert page.url.endswith("#/overview"), "the list of jobs would be shown after the deletion"


@pytest.mark.parametrize(
    ("address", "heading"),
    [
        ("workflows/order-1", "order-1"),
        ("workflow/order-1", "order-1"),
        (f"workflows/{quote('order/2 %', safe='')}", "order/2 %"),
        ("jobs/chatty", "chatty"),
        ("queues/fresh", "fresh"),
        ("workflows/", "Workflows"),
        ("queues", "Queues"),
    ],
)
def test_an_address_of_one_record(page_of: Any, address: str, heading: str) -> None:
    assert page_of(address).locator("h1").inner_text() == heading


def test_an_address_with_a_lone_percent_sign_names_its_id(open_page: Opener, first: Shop) -> None:
    ui = open_page(first.base)
    ui.expected.append("404")
    assert "100%" in ui.go("jobs/100%").locator("main").inner_text()


def test_an_address_of_a_record_keeps_its_filters(page_of: Any) -> None:
    page = page_of("workflows/order-1?call=order-1.pay")
    page.locator("main dl.facts dd").first.get_by_text("order-1.pay").wait_for()


#: Keeps the texts of the last drawing of a chart in `window.drawn`: each drawing begins with an empty canvas.
CHART_TEXTS = """
window.drawn = [];
const canvas = CanvasRenderingContext2D.prototype;
const { fillText, clearRect } = canvas;
canvas.fillText = function (text, ...rest) { if (text) window.drawn.push(text); return fillText.call(this, text, ...rest); };
canvas.clearRect = function (...rest) { window.drawn.length = 0; return clearRect.call(this, ...rest); };
"""


def drawn(ui: Ui, route: str) -> list[str]:
    """The labels of the axes of the only chart of a view."""
    ui.page.add_init_script(CHART_TEXTS)
    page = ui.go(route)
    page.locator(".u-wrap canvas").first.wait_for()
    page.wait_for_function("window.drawn.length > 2")
    return list(page.evaluate("window.drawn"))


def test_the_axis_of_a_new_queue_names_each_day_once(open_page: Opener, first: Shop) -> None:
    texts = drawn(open_page(first.base), "queue?name=fresh")
    days = [text for text in texts if re.fullmatch(r"\d+ [A-Z][a-z]{2}", text)]
    assert days.count("1 Jan") == 1 and days[-1] == "1 Jan", texts
    assert len(days) == len(set(days))


def test_a_day_is_one_of_utc_in_every_time_zone(first: Shop) -> None:
    from browser import chromium

    def seen() -> tuple[list[str], str]:
        context = chromium.browser().new_context(timezone_id="America/Los_Angeles", locale="en-GB")
        try:
            ui = Ui(context.new_page(), first.base)
            texts = drawn(ui, "queue?name=fresh")
            ui.page.get_by_role("button", name="Attempts as a table").click()
            return texts, ui.page.get_by_role("table", name="Attempts").locator("tbody td").first.inner_text()
        finally:
            context.close()

    texts, first_row = chromium.within(seen)
    assert texts.count("1 Jan") == 1 and first_row == "2027-01-01"


def repeats(texts: list[str]) -> bool:
    """Whether a label stands twice; a time may, on another day that is named before it."""
    named = []
    day = ""
    for text in texts:
        if re.fullmatch(r"\d+ [A-Z][a-z]{2}", text):
            day = text
        named.append(f"{day} {text}" if ":" in text else text)
    return len(set(named)) != len(named)


def test_no_label_of_an_axis_is_repeated(shop_page: Ui) -> None:
    shop_page.page.set_viewport_size({"width": 1280, "height": 860})
    page = shop_page.go("overview")
    page.locator(".u-wrap canvas").first.wait_for()
    page.evaluate(f"() => {{{CHART_TEXTS}}}")
    labels = page.evaluate(
        """async () => {
        const { Chart } = await import("./modules/charts.js");
        const { html, render } = await import("./modules/vendor/htm-preact.js");
        const found = [];
        const room = document.createElement("div");
        room.style.width = "420px";
        document.body.append(room);
        const day = 86_400_000;
        for (const step of [60_000, 3_600_000, day])
          for (const count of [2, 3, 5, 24, 60])
            for (const [unit, most] of [["number", 1], ["number", 2], ["number", 7], ["number", 13_000], ["number", 3e6], ["ms", 1], ["ms", 900], ["ms", 45_000], ["ms", 700_000], ["ms", 4e6], ["ms", 3e8]]) {
              const at = Array.from({ length: count }, (_, place) => Date.UTC(2027, 0, 1) + place * step);
              const lines = [{ name: "x", label: "x", state: "running", values: at.map((_, place) => (most * (place + 1)) / count) }];
              window.drawn.length = 0;
              render(html`<${Chart} key=${step + unit + most + count} title="t" at=${at} lines=${lines} unit=${unit} bars=${step === day && unit === "number"} />`, room);
              while (window.drawn.length < 3) await new Promise((done) => setTimeout(done, 5));
              found.push([step, count, unit, most, [...window.drawn]]);
            }
        render(null, room);
        room.remove();
        return found;
      }"""
    )
    assert len(labels) == 165 and all(texts for *_, texts in labels)
    assert [(*case, texts) for *case, texts in labels if repeats(texts)] == []
    shop_page.check()


def test_what_is_due_next_names_each_id_once_and_stays_in_its_card(page_of: Any) -> None:
    page = page_of("overview")
    rows = page.locator("section", has_text="Due next").last.locator("li")
    assert rows.filter(has_text="of-000240:later").count() == 1
    for text in rows.all_inner_texts():
        for id in ("order-1", LONG[-10:], "chatty"):
            assert text.count(id) <= 1, text
    for width in (1280, 1100, 360):
        page.set_viewport_size({"width": width, "height": 860})
        wider = "[...document.querySelectorAll('.steps li')].filter((li) => li.scrollWidth > li.clientWidth || li.getBoundingClientRect().right > li.closest('section').getBoundingClientRect().right)"
        assert page.evaluate(f"{wider}.map((li) => li.textContent)") == []


def test_run_times_are_those_of_the_store_and_exact(page_of: Any) -> None:
    page = page_of("overview")
    figures = page.get_by_role("region", name="Figures").inner_text()
    assert "not measured yet" not in figures
    run = page.get_by_role("region", name="Figures").locator("div", has_text="Run time, mean").inner_text()
    assert re.search(r"Run time, mean\s+\d+ ms\s+3 attempts in 24 h", run), run


def test_a_report_leaves_the_attempts_on_the_first_screens(page_of: Any) -> None:
    page = page_of("job?id=chatty")
    attempts = page.get_by_role("heading", name="Attempts", exact=True).bounding_box()
    assert attempts["y"] < 2 * 860 / 2, "the 60 lines of the report have a height of their own"
    lines = page.get_by_role("group", name="Log, newest first")
    assert lines.evaluate("(list) => list.scrollHeight > list.clientHeight")
    assert page.get_by_role("table", name="Log, newest first").locator("tbody tr").count() == 60


def test_a_traceback_scrolls_sideways_and_folds_libraries(page_of: Any) -> None:
    page = page_of("job?id=chatty")
    trace = page.get_by_role("group", name="Error of attempt 1")
    assert trace.evaluate("(box) => box.scrollWidth > box.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    line = trace.get_by_text("idempotency_key")
    assert line.evaluate("(pre) => pre.getClientRects().length") == 1
    assert "charges.py" in trace.inner_text() and "shop.errors.ProviderDown: 503" in trace.inner_text()
    assert "execution.py" not in trace.inner_text(), "frames of libraries are folded"
    assert trace.locator("summary").all_inner_texts() == ["2 frames of libraries", "1 frame of libraries"]
    trace.locator("summary").first.click()
    trace.get_by_text("run_in_executor").wait_for()
    whole = trace.evaluate("(box) => [...box.querySelectorAll('pre')].map((pre) => pre.textContent).join('\\n')")
    assert whole == TRACE


def test_one_fact_has_one_time(page_of: Any) -> None:
    page = page_of("job?id=chatty")
    sentence = page.locator(".why .sentence")
    assert re.search(r"waits for retry 1 of 3 in (1 min|\d+ s) after ProviderDown", sentence.inner_text())
    assert page.locator(".why time").count() == 1
    assert "T10:" not in page.locator("main").inner_text()
    report = page.locator(".report")
    assert "reported" not in report.inner_text(), "the newest line has that instant"


@pytest.mark.parametrize("route", ["workflows", "workflow?id=order-1", "messages", "why", "why?id=order-1", "job?id=chatty"])
def test_no_view_shows_instants_as_programs_write_them(page_of: Any, route: str) -> None:
    assert not re.search(r"\d{4}-\d\d-\d\dT\d\d:", page_of(route).locator("main").inner_text())


def test_retry_policies_are_words(page_of: Any) -> None:
    facts = page_of("job?id=chatty").locator("dl.facts").first.inner_text()
    assert "after 1 min, then every 5 min" in facts and "{" not in facts
    limits = page_of("queue?name=fresh").locator("dl.facts").first.inner_text()
    assert "after 1 s, then 2 times as long, at most 1 h" in limits and "{" not in limits
    assert re.search(r"Timeout\s+1 min", limits) and "Max retries" in limits


def test_the_cells_of_a_row_stand_on_one_line(shop_page: Ui) -> None:
    shop_page.page.set_viewport_size({"width": 1280, "height": 860})
    for route in ("jobs", "workflows", f"job?id={scene.CARD}"):
        page = shop_page.go(route)
        middles = page.evaluate(
            """() => [...document.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td")].map((cell) => {
            const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
            for (let node = walker.nextNode(); node; node = walker.nextNode()) {
              const range = document.createRange();
              range.selectNodeContents(node);
              const box = range.getBoundingClientRect();
              if (node.textContent.trim() && box.height && box.height < 24) return (box.top + box.bottom) / 2;
            }
            return null;
          }).filter((middle) => middle !== null))"""
        )
        assert middles
        assert [max(row) - min(row) for row in middles if row and max(row) - min(row) >= 1.5] == [], route
    shop_page.check()


def test_the_list_of_workflows_says_what_each_waits_for(page_of: Any) -> None:
    page = page_of("workflows")
    row = page.get_by_role("row", name="order-1", exact=False).first
    assert row.get_by_text("suspended").count() == 1
    row.get_by_text("waits for order-1.pay").wait_for()
    page.get_by_text("waits for order/2 %.pay").wait_for()


def test_what_is_stuck_is_listed_without_a_question(own_shop: Shop, open_page: Opener) -> None:
    ui = open_page(own_shop.base)
    page = ui.go("why")
    table = page.get_by_role("table", name="Stuck now")
    for id in (scene.STUCK, scene.CARD, "imports"):
        table.get_by_role("row", name=id).get_by_text("needs a person").first.wait_for()
    table.get_by_role("link", name="imports").click()
    page.get_by_text("Queue imports is paused").wait_for()
    assert ui.axe() == []


def test_nothing_is_stuck_in_an_empty_store(open_page: Opener, empty: str) -> None:
    open_page(empty).go("why").get_by_text("Nothing is stuck").wait_for()


@pytest.mark.parametrize("dark", [False, True])
def test_on_a_phone_the_states_are_whole(page_of: Any, dark: bool) -> None:
    page = page_of("job?id=chatty", width=360, height=740, dark=dark)
    states = page.locator("section", has=page.get_by_role("heading", name="States"))
    assert states.locator("li").all_inner_texts() == ["pending", "claimed", "running", "retry"]
    cut = "[...document.querySelectorAll('main section')].filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    assert page.evaluate(cut) == 0
    page.set_viewport_size({"width": 1280, "height": 860})
    states.get_by_role("img").wait_for()
    assert states.locator("li").first.is_hidden()


@pytest.mark.parametrize("route", ["jobs", "workflows", "queues", "schedules", "messages", "groups"])
def test_on_a_phone_the_first_screen_shows_rows(shop: Shop, open_page: Opener, route: str) -> None:
    page = open_page(shop.base, width=360, height=740).go(route)
    first = page.locator("main tbody tr, main .empty").first.bounding_box()
    assert first["y"] < 740 / 2, "filters fill the first screen"


def test_on_a_phone_filters_open_and_are_counted(shop: Shop, open_page: Opener) -> None:
    page = open_page(shop.base, width=360, height=740).go("jobs?queue=mail")
    button = page.get_by_role("button", name="Filters (1)")
    assert button.get_attribute("aria-expanded") == "false" and page.get_by_label("Type", exact=True).is_hidden()
    button.click()
    page.get_by_label("Type", exact=True).fill("email:send")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Filters (2)").wait_for()
    page.set_viewport_size({"width": 1280, "height": 860})
    assert page.get_by_role("button", name="Filters (2)").is_hidden() and page.get_by_label("Type", exact=True).is_visible()


@pytest.mark.parametrize("width", [360, 700, 1280])
def test_the_labels_of_a_timeline_do_not_overlap(shop: Shop, open_page: Opener, width: int) -> None:
    page = open_page(shop.base, width=width).go(f"workflow?id={scene.STUCK}")
    page.locator(".rt-tick-text").first.wait_for()
    boxes = page.evaluate(
        "[...document.querySelectorAll('.rt-tick-text')].map((one) => one.getBoundingClientRect()).map(({ left, right }) => [left, right])"
    )
    assert len(boxes) >= 2
    assert all(before[1] < after[0] for before, after in pairwise(boxes)), boxes
