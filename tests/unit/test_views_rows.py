"""`Store.views.rows`: a part of the state, in the form of a snapshot; `Store.views.index`."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

import resonate_core as rc

MakeStore = Callable[..., rc.Store]
TARGET = "poll://any@g"


def a_store(make_store: MakeStore) -> rc.Store:
    """Awaiters, listeners, a job, a schedule and messages."""
    store = make_store(clock=rc.ManualClock())
    store.tasks.create("caller", timeout=100_000, pid="p", ttl=50_000, target=TARGET)
    store.promises.create("awaited", timeout=90_000)
    store.tasks.suspend("caller", 1, ["awaited"])
    store.promises.register_listener("awaited", "poll://uni@g/w")
    store.promises.create("settled", timeout=90_000)
    store.promises.register_listener("settled", "poll://uni@g/w")
    store.promises.resolve("settled", 1)
    store.promises.create("waits", timeout=90_000, tags={"resonate:target": TARGET})
    store.jobs.enqueue("t", {"n": 1}, id="job", queue="q")
    store.schedules.create("s", cron="* * * * *", promise_id="x", promise_timeout=1000)
    return store


@pytest.mark.parametrize("ids", [["awaited", "caller"], ["settled"], ["waits", "job"], ["s", "nobody"], []])
def test_rows_are_those_of_a_snapshot(make_store: MakeStore, ids: list[str]) -> None:
    store = a_store(make_store)
    whole, part = store.snapshot(), store.views.rows([*ids, *ids])
    for name in ("promises", "schedules", "messages"):
        assert part[name] == [one for one in whole[name] if one["id"] in ids], name
    assert {name: part[name] for name in ("format", "now", "queues")} == {name: whole[name] for name in ("format", "now", "queues")}


def test_a_part_can_be_restored(make_store: MakeStore) -> None:
    store = a_store(make_store)
    scratch = rc.Store(clock=rc.ManualClock())
    scratch.restore(store.views.rows(["caller", "awaited"]), check=False)  # the queues count jobs that are not in it
    scratch.promises.resolve("awaited", 2)
    assert scratch.tasks.get("caller").state == "pending"
    assert store.tasks.get("caller").state == "suspended"


def test_too_many_ids(make_store: MakeStore) -> None:
    store = make_store()
    assert store.views.rows([str(number) for number in range(1000)])["promises"] == []
    with pytest.raises(rc.Invalid, match=r"ids must be at most 1000, got 1001"):
        store.views.rows([str(number) for number in range(1001)])


def test_edges_have_a_limit(make_store: MakeStore) -> None:
    """However many wait for one promise, a reading of it has a bound, and says what it left out."""
    store = make_store(clock=rc.ManualClock())
    store.jobs.enqueue("t", id="one")
    ids = [f"w{number:04}" for number in range(1200)]
    store.jobs.enqueue_many("t", range(1200), ids=ids, after=["one"])
    for number in range(3):
        store.promises.register_listener("one", f"poll://uni@g/w{number}")
    whole = store.views.rows(["one", "w0007"])
    assert "cut" not in whole and whole["promises"][0]["callbacks"] == ids
    for edges, callbacks, listeners in ((0, 0, 0), (2, 2, 2), (3, 3, 3), (1199, 1199, 3)):
        part = store.views.rows(["one", "w0007"], edges=edges)
        assert part["promises"][0]["callbacks"] == ids[:callbacks], edges
        assert len(part["promises"][0]["listeners"]) == listeners
        assert part["cut"] == {"one": {"callbacks": 1200, "listeners": 3, "keptBy": 0}}, edges
        assert part["promises"][1] == whole["promises"][1]
    assert store.views.rows(["one"], edges=1200) == {**store.views.rows(["one"]), "cut": {}}
    for edges in (-1, 10_001):
        with pytest.raises(rc.Invalid, match=r"edges must be 0\.\.10000"):
            store.views.rows([], edges=edges)
    assert store.check() == []


def test_what_one_awaits_among_others(make_store: MakeStore) -> None:
    store = a_store(make_store)
    store.jobs.enqueue("t", id="later", after=["job", "waits"])
    assert store.views.awaited_of("later", ["waits", "awaited", "nobody", "job"]) == ["waits", "job"]
    assert store.views.awaited_of("caller", ["awaited", "settled"]) == ["awaited"]
    assert store.views.awaited_of("nobody", ["awaited"]) == store.views.awaited_of("later", []) == []
    with pytest.raises(rc.Invalid, match=r"among must be at most 1000, got 1001"):
        store.views.awaited_of("later", [str(number) for number in range(1001)])


def test_the_indexes_change_no_answer(make_store: MakeStore) -> None:
    store = make_store(clock=rc.ManualClock())
    for number in range(30):
        store.clock.advance(1000)  # type: ignore[attr-defined]
        store.jobs.enqueue("t", id=f"j{number}", queue=f"q{number % 3}")
        store.promises.create(f"p{number}", timeout=10**9)

    def read() -> list[object]:
        pages: list[object] = []
        for find in (store.views.jobs, store.views.promises):
            cursor = None
            while True:
                page = find(limit=7, cursor=cursor)
                pages.append([one.id for one in page])
                cursor = page.cursor
                if cursor is None:
                    break
        return pages

    before, digest = read(), store.digest()
    assert before[0] == [f"j{number}" for number in range(29, 22, -1)]
    store.views.index()
    store.views.index()
    assert read() == before and store.digest() == digest
    assert store.check() == []


def test_a_file_with_the_indexes_is_sound_and_reads_by_them(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with rc.Store(path, clock=rc.ManualClock()) as store:
        store.jobs.enqueue("t", queue="q")
        store.views.index()
        store.jobs.enqueue("t", queue="q")
    assert rc.check_file(path) == []
    with contextlib.closing(sqlite3.connect(path)) as file:
        query = "SELECT id FROM resonate_promises WHERE queue = 'q' ORDER BY created_at DESC, id DESC LIMIT 5"
        plan = " ".join(str(row) for row in file.execute(f"EXPLAIN QUERY PLAN {query}"))
    assert "resonate_newest_jobs" in plan and "TEMP B-TREE" not in plan
    with rc.Store(path, read_only=True) as reader, pytest.raises(rc.ReadOnly):
        reader.views.index()
    with rc.Store(path, clock=rc.ManualClock()) as again:
        assert len(again.views.jobs(queue="q")) == 2
