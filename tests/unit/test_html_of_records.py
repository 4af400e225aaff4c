"""Records, batches, pages, lists and replays in a notebook: dates, decoded payloads, escaped text."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

import resonate_core as rc
from resonate_core import display

EVIL = "<script>alert(1)</script>"
NEW_YEAR = 1_767_225_600_000


@pytest.fixture
def store() -> rc.Store:
    return rc.Store(clock=rc.ManualClock(start=NEW_YEAR))


def failed(store: rc.Store, id: str) -> rc.Job:
    store.jobs.enqueue("mail", {"to": EVIL}, id=id, tags={"team": EVIL}, max_retries=3)
    (job,) = store.jobs.claim("default", worker="ann", lease=9000, start=1)
    store.clock.advance(1000)
    return store.jobs.fail(id, job.version, "Down", EVIL)


def test_a_job_with_its_attempts(store: rc.Store) -> None:
    html = failed(store, "m")._repr_html_()
    assert "<caption>Attempts</caption>" in html and "<td>2026-01-01T00:00:01.000Z</td>" in html
    assert "Down: &lt;script&gt;" in html and EVIL not in html


def test_a_waiting_job_names_what_it_waits_for(store: rc.Store) -> None:
    ids = [f"{EVIL}{number:03}" for number in range(150)]
    for id in ids:
        store.jobs.enqueue("parse", id=id)
    html = store.jobs.enqueue("pack", id="pack", after=ids)._repr_html_()
    assert "waits_for</td><td>150: &lt;script&gt;alert(1)&lt;/script&gt;000, " in html and EVIL not in html
    assert "waits_for" not in store.jobs.run("pack")._repr_html_()


def test_a_batch_of_jobs(store: rc.Store) -> None:
    failed(store, "m")
    store.jobs.enqueue("mail", id="n")
    html = store.jobs.search()._repr_html_()
    assert "JobBatch: 2 records" in html and EVIL not in html
    assert "{&quot;to&quot;: &quot;&lt;script&gt;" in html  # the payload itself, not its Base64
    assert "<td>1, the last failed</td>" in html and "<td>2026-01-01T00:00:00.000Z</td>" in html
    assert "<th>uniqueKey</th>" not in html  # no record has one


def test_pages_of_each_kind(store: rc.Store) -> None:
    store.tasks.create("t", pid="w", ttl=9000, timeout=99_000, target="poll://any@g", param=[1, 2])
    store.schedules.create("s", "0 3 * * *", promise_timeout=1000)
    assert "<td>[1, 2]</td>" in store.promises.search()._repr_html_()
    assert "2026-01-01T03:00:00.000Z" in store.schedules.search()._repr_html_()
    assert "TaskPage: 1 record" in store.tasks.search()._repr_html_()


def test_lists_of_records(store: rc.Store) -> None:
    store.promises.create(EVIL, timeout=1000, tags={"resonate:timer": "true"})
    fired = store.clock.advance(5000)
    html = str(display.list_html(fired))
    assert "Fired: 1 record" in html and "2026-01-01T00:00:01.000Z" in html and EVIL not in html
    store.promises.create("x", timeout=1000, tags={"resonate:target": "poll://any@g"})
    assert "Message: 1 record" in str(display.list_html(store.messages()))
    for other in ([], [1], [1, "a"], [fired[0], 1], [{"id": "a"}], [NEW_YEAR]):
        assert display.list_html(other) is None


def test_a_replay(store: rc.Store) -> None:
    trace = io.StringIO()
    with store.record(trace):
        store.promises.create("a", timeout=1000)
    lines = trace.getvalue().splitlines()
    assert "<td>True</td>" in display.replay_html(rc.replay(lines))
    forged = [line.replace('"id":"a"', '"id":"b"', 1) for line in lines]
    assert "<td>difference</td>" in display.replay_html(rc.replay(forged))


def test_a_long_diff_counts_the_rest(store: rc.Store) -> None:
    other = store.fork()
    other.promises.create_many([f"p{number:03}" for number in range(150)], 1000)
    html = rc.diff(store, other)._repr_html_()
    assert "150 added; 50 of them are not shown" in html and html.count("<tr>") == 101
    assert "no difference" in rc.diff(store, store.fork())._repr_html_()


def test_ipython_shows_lists_and_replays() -> None:
    program = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
import resonate_core as rc
show = shell.display_formatter.formatters["text/html"]
import io
clock, trace = rc.ManualClock(), io.StringIO()
store = rc.Store(clock=clock)
store.record(trace)
store.promises.create("a", timeout=1000, tags={"resonate:timer": "true"})
print("Fired: 1 record" in show(clock.advance(2000)), show([1, 2]), "Replay" in show(rc.replay(trace.getvalue().splitlines())))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == ["True", "None", "True"]


def test_display_is_not_imported_without_a_notebook() -> None:
    program = "import sys, resonate_core; print([name for name in sys.modules if 'display' in name or 'timeline' in name])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"
