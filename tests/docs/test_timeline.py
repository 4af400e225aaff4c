"""The picture of a recording: its parts, and the error if it cannot be drawn."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time

import pytest
from figures import axes_of, bars, colour_of, explained, rows
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle

import resonate_core as rc
from resonate_core.timeline.style import BAND

SECOND = 1000
DAY = 86_400_000
TARGET = {"resonate:target": "poll://any@workers"}


@pytest.fixture
def trace() -> io.StringIO:
    """A parent that waits for a child, whose first worker crashes."""
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock, check=True)
    trace = io.StringIO()
    store.record(trace)
    store.tasks.create("parent", pid="ann", ttl=30 * SECOND, timeout=90 * SECOND, target="poll://any@workers")
    store.tasks.fence_create("parent", 1, "child", timeout=90 * SECOND, tags=TARGET)
    store.tasks.suspend("parent", 1, ["child"])
    store.tasks.acquire("child", 0, pid="bob", ttl=10 * SECOND)
    clock.advance(12 * SECOND)
    store.tasks.acquire("child", 1, pid="cleo", ttl=30 * SECOND)
    clock.advance(8 * SECOND)
    store.tasks.fulfill("child", 2, "done")
    clock.advance(20 * SECOND)
    store.promises.create("other", timeout=5)
    return trace


def test_rows_bars_and_legend(trace: io.StringIO) -> None:
    figure = rc.display.timeline(trace, title="A story")
    assert rows(figure) == ["parent", "child", "other"]
    assert axes_of(figure).get_title(loc="left") == "A story"
    assert axes_of(figure).get_xlabel() == "seconds"
    assert {"held by bob", "held by cleo", "suspended", "lease expired", "dispatched", "settled for its awaiter"} <= explained(
        figure
    )
    assert bars(figure, colour_of("ann")) == []  # a lease of no time at all is a tick
    assert {"held by ann", "pending", "resolved"} <= explained(figure)
    assert [line.get_xdata().tolist() for line in axes_of(figure).lines if line.get_color() == colour_of("ann")] == [[0, 0]]
    assert bars(figure, colour_of("bob")) == [(0, 10)]
    assert bars(figure, colour_of("cleo")) == [(12, 20)]
    assert bars(figure, BAND) == [(0, 40), (0, 20)]
    assert len([patch for patch in axes_of(figure).patches if isinstance(patch, FancyArrowPatch)]) == 1


def test_it_shows_itself_in_a_notebook_and_saves(trace: io.StringIO, tmp_path) -> None:
    figure = rc.display.timeline(trace)
    assert "<svg" in figure._repr_svg_()
    figure.savefig(tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 5000


def test_a_part_of_it(trace: io.StringIO) -> None:
    figure = rc.display.timeline(trace, ids="c*", start=11 * SECOND, end=15 * SECOND)
    assert rows(figure) == ["child"]
    assert bars(figure, colour_of("cleo")) == [(12, 15)]  # in the colour that the whole picture has too
    assert explained(figure) == {"held by cleo", "pending"}  # the state of then, not the last
    assert "lease expired" not in explained(figure)


def test_on_axes_of_somebody_else(trace: io.StringIO) -> None:
    figure = Figure()
    above, below = figure.subplots(2, 1)
    assert rc.display.timeline(trace, ax=below) is figure
    assert [label.get_text() for label in below.get_yticklabels()] == ["parent", "child", "other"]
    assert not above.patches


def test_dates_where_the_clock_shows_dates() -> None:
    clock = rc.ManualClock(start=1_767_225_600_000)
    store = rc.Store(clock=clock)
    trace = io.StringIO()
    store.record(trace)
    store.schedules.create("nightly", "0 2 * * *", promise_timeout=SECOND, tags={"resonate:timer": "true"})
    clock.advance(10 * DAY)
    figure = rc.display.timeline(trace)
    assert axes_of(figure).get_xlabel() == "UTC"
    assert rows(figure) == ["nightly"]  # the row contains its promises
    assert rows(rc.display.timeline(trace, ids="nightly.*")) == [f"nightly.{1_767_232_800_000 + day * DAY}" for day in range(10)]
    assert rows(rc.display.timeline(store)) == ["nightly"]


def test_thousands_of_marks_and_promises_are_thinned() -> None:
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock)
    trace = io.StringIO()
    store.record(trace)
    store.promises.create("nobody takes it", timeout=9 * DAY, tags=TARGET)
    store.schedules.create("often", "* * * * *", promise_timeout=SECOND, tags={"resonate:timer": "true"})
    store.promises.create_many([f"p{number:03}" for number in range(100)], 5)
    clock.advance(DAY)
    began = time.process_time()
    figure = rc.display.timeline(trace)
    assert time.process_time() - began < 10
    assert len(axes_of(figure).lines) < 1500
    assert rows(figure) == ["nobody takes it", "often × 1,440", "p# × 100"]
    assert {"number that run", "failed"} <= explained(figure)


def test_rows_beyond_the_most_are_counted() -> None:
    store = rc.Store(clock=rc.ManualClock(start=0))
    for first in "abcdefgh":
        for second in "abcdefgh":
            store.promises.create(first + second, timeout=5)
    figure = rc.display.timeline(store)
    assert len(rows(figure)) == 60
    assert "(4 more rows are not shown)" in axes_of(figure).get_xlabel()
    figure = rc.display.timeline(store, most_rows=63)
    assert "(1 more row is not shown)" in axes_of(figure).get_xlabel()
    with pytest.raises(rc.errors.Invalid, match="most_rows must be at least 1, got 0"):
        rc.display.timeline(store, most_rows=0)


def test_each_of_twenty_workers_has_its_look_in_every_picture() -> None:
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock)
    trace = io.StringIO()
    store.record(trace)
    for number in range(20):
        store.jobs.enqueue("t", id=f"j{number:02}")
        store.jobs.claim("default", worker=f"worker-{number}", lease=99 * SECOND, start=1)
    clock.advance(9 * SECOND)
    store.promises.create("last", timeout=5)
    figure = rc.display.timeline(trace)
    assert {"held by worker-0", "held by worker-15", "and 4 more workers"} <= explained(figure)
    drawn = [patch for patch in axes_of(figure).patches if isinstance(patch, Rectangle) and round(patch.get_height(), 2) == 0.4]
    looks = [(bar.get_facecolor(), bar.get_hatch()) for bar in drawn]
    assert len(set(looks)) == len(looks) == 20
    one = rc.display.timeline(trace, ids="j07")
    assert bars(one, colour_of("worker-7")) == [(0, 9)] and (0, 9) in bars(figure, colour_of("worker-7"))


def test_a_deleted_schedule_that_is_made_again() -> None:
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock)
    trace = io.StringIO()
    store.record(trace)
    for _ in range(2):
        store.schedules.create("s", "* * * * *", promise_timeout=SECOND)
        clock.advance(90 * SECOND)
        store.schedules.delete("s")
        clock.advance(90 * SECOND)
    (row,) = rc.display.timeline_data(trace, ids="s")["rows"]
    assert row["changes"] == [[0, "active"], [90_000, "deleted"], [180_000, "active"], [270_000, "deleted"]]


def test_what_the_story_says(trace: io.StringIO) -> None:
    events = [
        {"at": 12 * SECOND, "end": 20 * SECOND, "kind": "outage", "text": "power cut"},
        {"at": 3 * SECOND, "text": "a note"},
    ]
    figure = rc.display.timeline(trace, events=events)
    assert {"power cut", "a note"} <= {text.get_text() for text in axes_of(figure).texts}
    assert [event["text"] for event in figure.data["events"]] == ["a note", "power cut"]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"text": "x"}, "at of event 0 must be Unix ms or an aware datetime, got None"),
        ({"at": 5}, "text and kind of event 0 must be text, got None and 'note'"),
        ({"at": 5, "text": "x", "end": 4}, "end of event 0 must be at least 5, got 4"),
        ({"at": 5, "text": "x", "color": "red"}, "members of event 0 must be at, end, kind, text, worker, id, got 'color'"),
    ],
)
def test_what_is_no_event(trace: io.StringIO, event: dict[str, object], message: str) -> None:
    with pytest.raises(rc.errors.Invalid, match=re.escape(message)):
        rc.display.timeline(trace, events=[event])


def test_an_empty_store_and_awkward_ids() -> None:
    store = rc.Store(clock=rc.ManualClock())
    assert [text.get_text() for text in axes_of(rc.display.timeline(store)).texts] == ["nothing to show"]
    store.promises.create("cost: 5$ or 6$", timeout=5)
    store.promises.create("x" * 80, timeout=5)
    figure = rc.display.timeline(store)
    figure._repr_svg_()
    assert rows(figure) == [r"cost: 5\$ or 6\$", "x" * 18 + "…" + "x" * 9]


def test_what_is_no_trace() -> None:
    with pytest.raises(rc.errors.Invalid, match="trace line 1"):
        rc.display.timeline(["no trace"])


def test_without_matplotlib_it_says_what_to_install() -> None:
    program = """
import sys
sys.modules["matplotlib"] = None
import resonate_core as rc
try:
    rc.display.timeline([])
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith(
        "timeline draws with matplotlib, which is not installed: install the extra resonate-core[notebook]"
    )
