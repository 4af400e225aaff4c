"""What a second new user stumbled over in the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import resonate_core as rc
from browser import scene
from browser.pages import Opener, Shop, showing

SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000
LINE = "row 17: " + "a value that does not fit " * 20 + "END"


@pytest.fixture(scope="module")
def second() -> Iterator[Shop]:
    """A job that reported a long line and waits for its retry, one that is scheduled, a batch, and workflows that wait, are halted, or ended."""
    clock = scene.clock()
    store = rc.Store(clock=clock)
    with showing(store) as base:
        store.jobs.enqueue("t", id="again", queue="q", retry_policy={"kind": "fixed", "intervals": [5 * MINUTE]})
        (job,) = store.jobs.claim("q", 1, worker="w", lease=HOUR, start=1)
        store.jobs.report(job.id, job.version, lines=LINE)
        store.jobs.fail(job.id, job.version, "Down")
        store.jobs.enqueue("t", id="later", queue="q", process_in=2 * HOUR - 20 * SECOND)
        store.queues.set("likes", groups={"size": 10, "grace": HOUR})
        store.jobs.enqueue("t", id="like", queue="likes", group="ann")
        for id in ("waits", "halted", "ended"):
            store.tasks.create(id, pid="w", ttl=DAY, timeout=2 * DAY, target=scene.SHOP)
        store.tasks.halt("halted")
        clock.advance(9 * SECOND)
        store.tasks.fulfill("ended", 1, None)
        yield Shop(store, clock, base)


@pytest.fixture
def page_of(second: Shop, open_page: Opener) -> Any:
    return lambda route, **options: open_page(second.base, **options).go(route)


@pytest.mark.parametrize("width", [1440, 390])
def test_a_long_line_of_a_report_is_read_whole(page_of: Any, width: int) -> None:
    page = page_of("job?id=again", width=width)
    cell = page.get_by_role("table", name="Log, newest first").locator("td").last
    assert cell.evaluate("(cell) => cell.scrollWidth <= cell.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    room, line = page.locator(".report").bounding_box(), cell.bounding_box()
    assert line["width"] > 0.6 * room["width"], "the instants need less room than the lines"


def test_a_workflow_that_has_not_ended_took_no_time(page_of: Any) -> None:
    page = page_of("workflows")
    rows = page.get_by_role("table", name="Workflows, newest first")
    took = [rows.get_by_role("row", name=id, exact=False).locator('[data-label="Took"]').inner_text() for id in ("waits", "ended")]
    assert took == ["", "9 s"], "that of the other one is when it was created"


def test_a_halted_workflow_is_told_to_people(page_of: Any) -> None:
    row = page_of("workflows").get_by_role("row", name="halted", exact=False)
    assert "halted, until a person continues it" in row.inner_text() and "`" not in row.inner_text()


def test_the_types_of_a_queue_are_those_of_unfinished_jobs(page_of: Any) -> None:
    page_of("queue?name=q").get_by_role("heading", name="Unfinished jobs by type").wait_for()


def test_what_is_due_says_what_happens_to_a_job(page_of: Any) -> None:
    rows = page_of("overview").locator("section", has_text="Due next").last.locator("li").all_inner_texts()
    texts = [" ".join(row.split()) for row in rows]
    for step in ("retry again", "make later pending", "make the batch of like ready"):
        assert any(text.endswith(f" {step}") for text in texts), texts


def test_distances_of_time_are_rounded(page_of: Any) -> None:
    page = page_of("jobs")
    assert "in 2 h" in page.get_by_role("row", name="later", exact=False).inner_text()
    ends = [
        1_000,
        1_600,
        59_400,
        59_600,
        89_000,
        91_000,
        59.4 * MINUTE,
        59.6 * MINUTE,
        23.4 * HOUR,
        23.6 * HOUR,
        47 * HOUR,
        500 * DAY,
    ]
    texts = page.evaluate(
        """async (ends) => {
          const { relative } = await import("./modules/format.js");
          return ends.flatMap((end) => [relative(end, 0), relative(0, end)]);
        }""",
        ends,
    )
    words = ["1 s", "2 s", "59 s", "1 min", "1 min", "2 min", "59 min", "1 h", "23 h", "1 d", "2 d", "1.4 y"]
    assert texts == [text for word in words for text in (f"in {word}", f"{word} ago")]
