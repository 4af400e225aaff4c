"""A store that is too large to be read as a whole: the parts of its views, previews and reasons that still work."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from types import SimpleNamespace
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.explain import large_stores
from resonate_core.ui.access import StoreAccess
from resonate_core.ui.options import UiOptions
from resonate_core.ui.principal import Principal
from resonate_core.ui.redaction import Redaction, RedactionRules
from ui.ui_client import Client, client_of, scene

#: States of which the jobs have an index by id.
INDEXED = ("scheduled", "claimed", "retry", "archived")


@pytest.fixture
def large(store: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A store of the scene, treated as large."""
    scene(store)
    monkeypatch.setattr(large_stores, "SMALL", 0)
    return store


def test_nothing_reads_the_whole_state(large: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rc.Store, "snapshot", lambda *given: pytest.fail("the whole state was read"))
    ui = client_of(large)
    for view, answer in ui.every_view():
        assert answer.status_code == 200, (view, answer.text)


def test_no_view_searches_jobs_by_what_has_no_index(large: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """`job.search` by such a state or by a group examines every job, which takes 0.8 s for a million of them."""
    searched: list[dict[str, Any]] = []
    send = StoreAccess.ask_all

    def ask_all(access: StoreAccess, requests: Any) -> Any:
        searched.extend(data for kind, data in requests if kind == "job.search" and data.get("state") not in INDEXED)
        return send(access, requests)

    monkeypatch.setattr(StoreAccess, "ask_all", ask_all)
    large.queues.set("likes", groups={"size": 10, "grace": 1000, "maxDelay": 1000})
    large.jobs.enqueue("like", id="liked", queue="likes", group="ann")
    large.jobs.enqueue("send", id="behind", queue="narrow")
    large.queues.set("narrow", concurrency=1)
    large.jobs.claim("narrow", worker="w", lease=1000)
    large.jobs.enqueue("send", id="waits", queue="narrow")
    ui = client_of(large)
    ids = [job.id for job in large.jobs.search(limit=1000)]
    for view, query in [*((view, {"id": id}) for view in ("job", "why") for id in ids), ("queue", {"name": "narrow"})]:
        assert ui.get(view, **query).status_code == 200, (view, query)
    assert ui.see("job", id="liked")["group"]["size"] == 1
    assert "limit of 1" in ui.see("why", id="waits")["sentence"]
    for view, answer in ui.every_view():
        assert answer.status_code == 200, (view, answer.text)
    assert searched == []


def test_one_reading_of_rows_serves_the_levels_of_all_queues(large: Any) -> None:
    names = [f"rated{number}" for number in range(5)]
    for name in names:
        large.queues.set(name, rate={"limit": 2, "per": 1000})
        large.jobs.enqueue("send", queue=name)
        large.jobs.claim(name, worker="w", lease=1000)

    class Counted:
        readings = 0

        def __getattr__(self, name: str) -> Any:
            return getattr(large, name)

        @property
        def views(self) -> Any:
            return SimpleNamespace(rows=self._rows)

        def _rows(self, ids: Any, edges: int) -> Any:
            Counted.readings += 1
            return large.views.rows(ids, edges=edges)

    access: Any = StoreAccess(Counted(), Principal("read"), Redaction(RedactionRules(UiOptions())))  # type: ignore[arg-type]
    assert all("level" in access.level_of(name) for name in names)
    assert access.level_of("none") == {}
    assert Counted.readings == 1


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
    """Prints the response times of the indexed views at a million jobs; a time is not asserted."""
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
    ("stuck", {}),
    ("workflows", {"state": "pending"}),
    ("find", {"q": "job:00000000000003e8"}),
]


def test_the_views_of_the_measurement_exist(store: Any) -> None:
    store.jobs.enqueue_many("send", list(range(1001)), queue="q1")
    ui: Client = client_of(store)
    for view, query in LARGE_VIEWS:
        assert ui.get(view, **query).status_code == 200, (view, query)
