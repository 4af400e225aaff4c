"""A store that is too large to be read as a whole: what its views, previews and reasons still tell."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.ui import sizes
from ui.ui_client import Client, client_of, scene


@pytest.fixture
def large(store: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A store of the scene, which counts as large."""
    scene(store)
    monkeypatch.setattr(sizes, "SMALL", 0)
    return store


def test_nothing_reads_the_whole_state(large: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rc.Store, "snapshot", lambda *given: pytest.fail("the whole state was read"))
    ui = client_of(large)
    for view, answer in ui.every_view():
        assert answer.status_code == 200, (view, answer.text)


def test_a_preview_reads_the_rows_that_it_needs(large: Any) -> None:
    ui, digest = client_of(large), large.digest()
    shown = ui.do("job.run", {"id": "archived"}, preview=True, horizonMs=0).json()
    assert "job archived: archived → pending" in [change["text"] for change in shown["changes"]]
    assert shown["scope"]["complete"] is True
    woken = ui.do("promise.settle", {"id": "flow.1", "state": "resolved"}, preview=True, horizonMs=0).json()
    assert "task flow: suspended → pending" in [change["text"] for change in woken["changes"]]
    assert large.digest() == digest


def test_reasons(large: Any) -> None:
    assert rc.why(large, "flow").sentence.startswith("Task flow is suspended: it waits for flow.1")
    assert rc.why(large, "archived").stuck and rc.why(large, "later").next is not None


def test_a_dashboard_makes_the_indexes_of_its_lists(tmp_path: Any) -> None:
    names = "SELECT name FROM sqlite_schema WHERE name LIKE 'resonate_newest%' ORDER BY name"
    path = tmp_path / "a.db"
    with rc.Store(path, clock=rc.ManualClock()) as store, contextlib.closing(sqlite3.connect(path)) as file:
        scene(store)
        assert file.execute(names).fetchall() == []
        ui = client_of(store)
        ui.see("overview")
        asyncio.run(ui.app.aclose())
        assert file.execute(names).fetchall() == [("resonate_newest_jobs",), ("resonate_newest_roots",)]


@pytest.mark.full
@pytest.mark.parametrize("number", [1_000_000])
def test_answer_times(number: int, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the answer times of the indexed views at a million jobs; a time is no assertion."""
    with rc.Store(tmp_path / "large.db", durability="normal") as store:
        for start in range(0, number, 10_000):
            payloads = [{"to": f"user{n}@example.org", "n": n} for n in range(start, start + 10_000)]
            store.jobs.enqueue_many("send", payloads, queue=f"q{start // 10_000 % 20}")
        ui = client_of(store)
        for view, query in LARGE_VIEWS:
            times = []
            for _ in range(5):
                began = time.perf_counter()
                assert ui.get(view, **query).status_code == 200, view
                times.append(time.perf_counter() - began)
            with capsys.disabled():
                print(f"{view} {query}: {1000 * sorted(times)[2]:.0f} ms")


LARGE_VIEWS: list[tuple[str, dict[str, Any]]] = [
    ("overview", {}),
    ("queues", {}),
    ("queue", {"name": "q1"}),
    ("jobs", {}),
    ("jobs", {"queue": "q1"}),
    ("jobs", {"state": "pending"}),
    ("jobs", {"arg": "n=7"}),
    ("job", {"id": "job:00000000000003e8"}),
    ("workflows", {}),
    ("schedules", {}),
    ("workers", {}),
    ("messages", {}),
    ("why", {"id": "job:00000000000003e8"}),
    ("find", {"q": "job:00000000000003e8"}),
]


def test_the_views_of_the_measurement_exist(store: Any) -> None:
    store.jobs.enqueue_many("send", list(range(1001)), queue="q1")
    ui: Client = client_of(store)
    for view, query in LARGE_VIEWS:
        assert ui.get(view, **query).status_code == 200, (view, query)
