"""The data of the interactive timeline, the page that contains it, and the slider that moves a fork."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.history import History
from resonate_core.notebook.js_bundle import bundle, stylesheet
from resonate_core.timeline.data import record_history, worker_colour
from resonate_core.timeline.fork_slider import MovedFork

SECOND, DAY = 1000, 86_400_000
TIMER = {"resonate:timer": "true"}
EVIL = "</script><script>alert(1)</script><!--"


@pytest.fixture
def clock() -> rc.ManualClock:
    return rc.ManualClock(start=0)


@pytest.fixture
def store(clock: rc.ManualClock) -> rc.Store:
    return rc.Store(clock=clock)


@pytest.fixture
def trace(store: rc.Store) -> io.StringIO:
    recorded = io.StringIO()
    store.record(recorded)
    return recorded


def row(data: dict[str, Any], id: str) -> dict[str, Any]:
    (found,) = [row for row in data["rows"] if row["id"] == id]
    return found


def test_what_a_row_says(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    task = store.tasks.create("parent", pid="ann", ttl=30 * SECOND, timeout=90 * SECOND, target="poll://any@g").task
    store.tasks.fence_create("parent", task.version, "child", timeout=20 * SECOND, tags=TIMER)
    store.tasks.suspend("parent", task.version, ["child"])
    store.jobs.enqueue("mail", id="m", queue="q", max_retries=0)
    (job,) = store.jobs.claim("q", worker="bob", lease=9 * SECOND, start=1)
    clock.advance(SECOND)
    store.jobs.fail("m", job.version, "Down")
    clock.advance(30 * SECOND)
    store.promises.resolve("parent", 1)
    data = rc.display.timeline_data(trace, title="T")
    json.dumps(data)
    assert (data["format"], data["source"], data["title"], data["start"], data["end"], data["dates"]) == (
        "resonate-timeline/1",
        "recording",
        "T",
        0,
        31 * SECOND,
        False,
    )
    parent = row(data, "parent")
    assert (parent["kind"], parent["deadline"], parent["changes"]) == (
        "task",
        90 * SECOND,
        [[0, "pending"], [31 * SECOND, "resolved"]],
    )
    assert parent["spans"] == [
        {"state": "acquired", "start": 0, "end": 0, "worker": "ann"},
        {"state": "suspended", "start": 0, "end": 20 * SECOND},
        {"state": "pending", "start": 20 * SECOND, "end": 31 * SECOND},
    ]
    assert row(data, "child")["parent"] == "parent" and row(data, "child")["changes"][-1] == [20 * SECOND, "resolved"]
    assert data["wakes"] == [[20 * SECOND, "child", "parent"]]
    mail = row(data, "m")
    assert (mail["kind"], mail["type"], mail["queue"], mail["deadline"]) == ("job", "mail", "q", None)
    assert mail["spans"][1] == {
        "state": "running",
        "start": 0,
        "end": SECOND,
        "worker": "bob",
        "attempt": 1,
        "outcome": "failed",
        "code": "Down",
    }
    assert mail["spans"][-1] == {"state": "archived", "start": SECOND, "end": None}
    assert data["leftOut"] == {"rows": 0, "marks": 0, "wakes": 0} and data["notes"] == []


def test_an_id_that_is_enqueued_again_has_all_its_states(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    for _ in range(2):
        store.jobs.enqueue("t", id="j", lifecycle="asynq")
        (job,) = store.jobs.claim("default", worker="ann", lease=SECOND)
        clock.advance(500)
        store.jobs.complete("j", job.version)
        clock.advance(500)
    changes = row(rc.display.timeline_data(trace), "j")["changes"]
    assert changes == [[0, "pending"], [500, "completed"], [1000, "pending"], [1500, "completed"]]


def test_records_of_a_server_make_the_same_rows_as_a_store(store: rc.Store, clock: rc.ManualClock) -> None:
    store.jobs.enqueue("mail", id="m", max_retries=3, retry_policy={"kind": "fixed", "intervals": [5 * SECOND]})
    (job,) = store.jobs.claim("default", worker="bob", lease=9 * SECOND, start=1)
    clock.advance(SECOND)
    store.jobs.fail("m", job.version, "Down")
    store.tasks.create("t", pid="ann", ttl=30 * SECOND, timeout=90 * SECOND, target="poll://any@g")
    store.promises.create("p", timeout=500)
    store.schedules.create("s", "* * * * *", promise_timeout=SECOND)
    clock.advance(2 * SECOND)
    history = record_history(
        store.now,
        promises=[store.promises.get(id).to_dict() for id in ("t", "p")],
        tasks=[store.tasks.get("t").to_dict(), {"id": "of-nobody", "state": "pending"}],
        jobs=[store.jobs.get("m").to_dict()],
        schedules=[store.schedules.get("s").to_dict()],
    )
    data, whole = rc.display.timeline_data(history), rc.display.timeline_data(store)
    assert (data["source"], whole["source"]) == ("records", "store")
    for id in ("m", "p", "s", "t"):
        assert row(data, id) == row(whole, id)
    assert row(data, "p")["changes"] == [[1000, "pending"], [1500, "rejected_timedout"]]


def test_folds_count_what_happens_over_time(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    for number in range(10):
        store.jobs.enqueue("mail", id=f"m{number}", max_retries=0, on_exhausted="failed")
        (job,) = store.jobs.claim("default", worker="bob", lease=9 * SECOND, start=1)
        clock.advance(SECOND)
        if number % 2:
            store.jobs.fail(job.id, job.version, "Down")
        else:
            store.jobs.complete(job.id, job.version)
    (fold,) = rc.display.timeline_data(trace)["folds"]
    assert (fold["label"], fold["kind"], fold["members"], fold["states"]) == ("mail", "type", 10, {"completed": 5, "failed": 5})
    assert (sum(fold["done"]), sum(fold["failed"])) == (5, 5)
    assert sum(fold["running"]) * fold["step"] == pytest.approx(10 * SECOND, rel=0.01)
    assert sum(fold["waiting"]) == 0
    assert len(fold["running"]) == len(fold["done"]) <= 241


def test_a_span_is_shared_among_the_buckets_it_covers(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    for number in range(4):
        store.jobs.enqueue("t", id=f"j{number}", process_in=number * SECOND)
    clock.advance(1000 * SECOND)
    store.promises.create("end", timeout=5)
    (fold,) = rc.display.timeline_data(trace)["folds"]
    assert fold["step"] == 5 * SECOND
    assert fold["waiting"][0] == pytest.approx(4) and set(fold["waiting"][1:200]) == {4.0}


def test_rows_beyond_the_most_are_told(store: rc.Store, trace: io.StringIO) -> None:
    store.promises.create_many([f"p{number}" for number in range(30)], 5)
    store.promises.create("alone", timeout=5)
    data = rc.display.timeline_data(trace, most_rows=10)
    assert len(data["rows"]) == 10 and "alone" in [one["id"] for one in data["rows"]]
    assert data["leftOut"]["rows"] == 21
    assert data["notes"] == ["21 of 31 rows are not shown; the folded rows count them"]
    assert data["folds"][0]["members"] == 30


def test_what_has_trouble_is_kept(store: rc.Store, trace: io.StringIO) -> None:
    for number in range(30):
        job = store.jobs.enqueue("t", id=f"j{number:02}", max_retries=0)
        (job,) = store.jobs.claim("default", worker="w", lease=SECOND, start=1)
        (store.jobs.fail if number == 29 else store.jobs.complete)(job.id, job.version, "x")
    data = rc.display.timeline_data(trace, most_rows=3)
    assert [one["id"] for one in data["rows"]] == ["j00", "j01", "j29"]


def test_thousands_of_marks(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    store.schedules.create("often", "* * * * *", promise_timeout=SECOND, tags=TIMER)
    clock.advance(DAY)
    data = rc.display.timeline_data(trace)
    assert len(row(data, "often")["marks"]) <= 401
    assert data["leftOut"]["marks"] > 1000 and "marks that stand close to others are not shown" in data["notes"][0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"start": 5, "end": 4}, "end must be at least start, 5, got 4"), ({"most_rows": 0}, "most_rows must be at least 1, got 0")],
)
def test_what_is_refused(store: rc.Store, arguments: dict[str, int], message: str) -> None:
    with pytest.raises(rc.errors.Invalid, match=re.escape(message)):
        rc.display.timeline_data(store, **arguments)


def test_an_event_at_a_date() -> None:
    at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    (event,) = rc.display.timeline_data([], events=[{"at": at, "text": "x", "worker": None}])["events"]
    assert event == {"at": 1_767_225_600_000, "kind": "note", "text": "x"}


def test_the_colour_of_a_name_never_changes() -> None:
    assert [worker_colour(name) for name in ("ann", "bob", "w1", "é", "")] == [5, 6, 11, 7, 11]
    counts = [0] * 16
    for number in range(1600):
        counts[worker_colour(f"worker-{number}")] += 1
    assert min(counts) > 50


def test_a_page_allows_its_own_script_and_nothing_else(store: rc.Store, tmp_path: Path) -> None:
    store.promises.create(EVIL, timeout=5, tags={"resonate:target": EVIL})
    page = rc.display.export_html(store, tmp_path / "page.html", title=EVIL)
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
    assert "alert(1)</script>" not in page and page.count("<script") == 2
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert (
        policy is not None and "default-src &#x27;none&#x27;" in policy[1] and "unsafe" not in policy[1] and "http" not in policy[1]
    )
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    for text in (script, style):
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy[1]
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert json.loads(data)["rows"][0]["id"] == EVIL
    assert not re.search(r"\b(src|href)=|style=\"|\bon\w+=\"|https?://(?!www\.w3\.org)", page.replace(data, ""))


def test_a_figure_exports_with_its_picture(store: rc.Store) -> None:
    store.promises.create("a", timeout=5)
    figure = rc.display.timeline(store, title="T")
    page = figure.export_html()
    assert "<noscript><?xml" in page or ("<noscript>" in page and "<svg" in page)
    assert figure._repr_html_().startswith("<div><svg") and figure._repr_png_().startswith(b"\x89PNG")
    again = rc.display.export_html(figure.data, title="Another")
    assert "<title>Another</title>" in again


def test_a_bundle_has_no_import_and_each_module_once() -> None:
    script = bundle("timeline_widget.js")
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    assert script.count('views["timeline.js"] = ') == script.count('views["timeline_time.js"] = ') == 1
    assert script.index('views["timeline_time.js"] = ') < script.index('views["timeline.js"] = ')
    assert "@import" not in stylesheet("timeline.css", "diff.css")


def test_a_page_needs_no_extra(tmp_path: Path) -> None:
    program = """
import sys
for name in ("matplotlib", "anywidget", "traitlets", "IPython"):
    sys.modules[name] = None
import resonate_core as rc
store = rc.Store(clock=rc.ManualClock())
store.promises.create("a", timeout=5)
print(len(rc.display.export_html(store)) > 10_000)
try:
    rc.display.explore(store)
except ModuleNotFoundError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    said = done.stdout.splitlines()
    assert said[0] == "True"
    assert said[1].startswith("the interactive timeline needs anywidget, which is not installed: install the extra")


def test_a_fork_moves_to_and_fro_and_the_store_never(store: rc.Store, clock: rc.ManualClock, trace: io.StringIO) -> None:
    clock.advance(SECOND)
    store.promises.create("a", timeout=10 * SECOND, tags=TIMER)
    store.schedules.create("s", "* * * * *", promise_timeout=SECOND)
    digest = store.digest()
    fork = MovedFork(store, DAY, trace)
    assert fork(None)["fork_at"] == store.now and fork(None)["next_due"] == 11 * SECOND
    later = fork(store.now + 3_600_000)
    assert later["fork_at"] == store.now + 3_600_000 and later["problem"] == ""
    assert [change["id"] for change in later["diff"]["items"] if change["change"] == "changed"] == ["a", "s"]
    assert row(later["data"], "a")["changes"] == [[1000, "pending"], [11_000, "resolved"]]
    assert fork.fork.promises.get("a").state == "resolved"
    back = fork(store.now + 5 * SECOND)
    assert fork.fork.promises.get("a").state == "pending" and back["diff"]["items"] == []
    assert fork(10**15)["fork_at"] == store.now + DAY  # not beyond the horizon
    assert fork(0)["fork_at"] == store.now
    assert store.digest() == digest and store.promises.get("a").state == "pending"
    with pytest.raises(rc.errors.Invalid, match="horizon must be at least 1 ms, got 0"):
        MovedFork(store, 0)


def test_the_fork_of_a_file_with_the_system_s_clock(tmp_path: Path) -> None:
    with rc.Store(tmp_path / "a.db") as store:
        store.promises.create("a", timeout=60 * SECOND, tags=TIMER)
        fork = MovedFork(store, DAY)
        fork(store.now + 3_600_000)
        assert (fork.fork.promises.get("a").state, store.promises.get("a").state) == ("resolved", "pending")


def test_a_widget_of_a_store_moves_its_fork(store: rc.Store) -> None:
    store.promises.create("a", timeout=10 * SECOND, tags=TIMER)
    widget = rc.display.explore(store, DAY)
    seen: list[int] = []
    widget.observe(lambda change: seen.append(change["new"]), names="fork_at")
    widget.fork_at = 20 * SECOND
    assert widget.fork.promises.get("a").state == "resolved"
    assert widget.diff["counts"]["changed"] == 1 and widget.data["end"] == 20 * SECOND
    widget.fork.promises.create("mine", timeout=5)
    widget.refresh()
    assert "mine" in [item["id"] for item in widget.diff["items"]]
    assert "<title>" in widget.export_html()
    assert "<svg" in str(widget._repr_html_()) and "mine" in str(widget._repr_html_())
    plain = rc.display.timeline([]).widget()
    assert plain.horizon is None and plain.fork is None


def test_a_timeline_shows_itself_with_all_its_forms(store: rc.Store) -> None:
    store.promises.create("a", timeout=5)
    from IPython.core.formatters import DisplayFormatter

    shown, _ = DisplayFormatter(active_types=["text/html", "image/png", "image/svg+xml", "text/plain"]).format(
        rc.display.timeline(store)
    )
    assert {"application/vnd.jupyter.widget-view+json", "text/html", "image/png", "image/svg+xml", "text/plain"} <= shown.keys()
    other = store.fork()
    other.promises.resolve("a", EVIL)
    difference = rc.diff(store, other)
    shown, _ = DisplayFormatter().format(difference)
    assert "application/vnd.jupyter.widget-view+json" in shown
    assert "<td>promise</td><td>a</td><td>changed</td>" in shown["text/html"] and "<script>" not in shown["text/html"]
    assert "pending → resolved" in shown["text/html"]


def test_without_anywidget_the_picture_is_shown(store: rc.Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("timeline.widget", "notebook.diff_widget"):
        monkeypatch.setitem(sys.modules, f"resonate_core.{name}", None)
    figure = rc.display.timeline(store)
    assert figure._repr_mimebundle_() == {} and "<svg" in figure._repr_html_()
    assert rc.diff(store, store.fork())._repr_mimebundle_() == {}


def test_a_history_is_made_once(store: rc.Store, trace: io.StringIO) -> None:
    store.promises.create("a", timeout=5)
    history = History(trace)
    assert rc.display.timeline_data(history)["rows"] == rc.display.timeline_data(trace)["rows"]
