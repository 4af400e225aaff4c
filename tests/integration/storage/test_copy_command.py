"""`resonate-core copy`: a whole store from a file or PostgreSQL into an empty file or schema."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import resonate_core as rc
from backends import POSTGRES, require, schemas_of_postgres
from conformance.job_scenes import populate, send_more_requests
from conformance.job_wire import JobClient
from homes import HOMES, Home
from postgres_urls import plain, schema_of
from resonate_core.cli import copying

FAR = 10**15
STORAGES = ("sqlite", POSTGRES.name)
DIRECTIONS = list(itertools.product(STORAGES, STORAGES))

Run = Callable[..., Any]


@pytest.fixture(params=DIRECTIONS, ids="-to-".join)
def homes(request: pytest.FixtureRequest) -> Iterator[tuple[Home, Home]]:
    """Where a store is copied from, and to: each pair of durable storages in turn."""
    if POSTGRES.name in request.param:
        require(POSTGRES)
    source, target = (HOMES[name](rc) for name in request.param)
    yield source, target
    source.end()
    target.end()


@pytest.fixture
def places(homes: tuple[Home, Home]) -> tuple[Any, Any]:
    """A place with jobs, tasks, schedules, callbacks, listeners and messages in every state, and a place without a store."""
    home, target = homes
    place = home.new_place()
    with home.open(place, clock=rc.ManualClock(0)) as store:
        populate(JobClient(store))
        store.promises.create("texts", FAR, param={"ü\0\1": "\U0001f375"}, headers={"a": "b"}, idempotency_key="k", tags={"x": "ü"})
        for id in ("sent", "queued", "held", "halted"):
            store.promises.create(id, FAR, tags={"resonate:target": f"poll://any@{id}"})
        store.take_messages(addresses=["poll://any@sent"])
        store.tasks.acquire("held", 0, pid="w", ttl=5000)
        store.tasks.halt("halted")
        store.promises.register_listener("texts", "https://example.com/hook")
        store.schedules.create("nightly", "0 3 * * *", promise_timeout=1000)
        store.schedules.create("every second", "* * * * * *", promise_id="s.{{.timestamp}}", promise_timeout=10)
        store.tick(7000)  # the lease has expired, and occurrences were created
    return place, target.new_place()


@pytest.mark.parametrize("storage", STORAGES)
def test_a_submitted_request_that_waits_is_not_lost(storage: str, tmp_path: Path, run: Run) -> None:
    if storage == POSTGRES.name:
        require(POSTGRES)
    home = HOMES[storage](rc)
    place = home.new_place()
    opened(place).close()
    connect = sqlite3.connect if storage == "sqlite" else lambda url: psycopg.connect(plain(url))
    with contextlib.closing(connect(place)) as connection:
        schema = "resonate" if storage == "sqlite" else schema_of(place)
        rc.submit(connection, "promise.create", {"id": "a", "timeoutAt": FAR}, schema=schema)
        connection.commit()
    ran = run("copy", place, tmp_path / "copy.db")
    assert ran.code == 5
    assert "FROM must have no submitted request that waits to run, got 1" in ran.err
    with opened(place) as store:
        assert store.submissions_waiting == 1
        store.tick()
        assert store.submissions_waiting == 0
    assert run("copy", place, tmp_path / "copy.db").code == 0
    with opened(tmp_path / "copy.db") as copy:
        assert copy.promises.get("a").state == "pending"
    home.end()


def opened(place: Any, **options: Any) -> Any:
    return rc.Store(place, clock=rc.ManualClock(0), **options)


def test_everything_is_copied(run: Run, places: tuple[Any, Any]) -> None:
    source, target = places
    with opened(source, read_only=True) as store:
        snapshot, digest, messages = store.snapshot(), store.digest(), [one.message for one in store.messages()]
    kinds = {"promises", "tasks", "jobs", "schedules", "queues", "messages"}
    ran = run("copy", source, target, "--json")
    assert (ran.code, ran.err) == (0, "")
    counted = {kind: ran.json[kind] for kind in kinds}
    assert counted == {kind: len(snapshot[kind]) for kind in kinds - {"tasks", "jobs"}} | {
        "tasks": sum("task" in one for one in snapshot["promises"]),
        "jobs": sum("job" in one for one in snapshot["promises"]),
    }
    assert min(counted.values()) > 1
    assert ran.json["digest"] == digest
    assert (ran.json["from"], ran.json["to"]) == (shown(source), shown(target))
    with opened(source) as old, opened(target) as new:
        assert (old.now, old.snapshot(), old.digest()) == (new.now, new.snapshot(), new.digest())
        assert old.snapshot() == snapshot, "the source is only read"
        assert [one.message for one in new.messages()] == messages
        assert new.check() == []


def shown(place: Any) -> str:
    """Returns a place without the user."""
    return str(place).replace("resonate@", "")


def test_both_continue_in_the_same_way(run: Run, places: tuple[Any, Any]) -> None:
    """Timers, leases, retries, schedules, limits and groups continue where they were."""
    source, target = places
    assert run("copy", source, target).code == 0
    with opened(source) as old, opened(target) as new:
        assert old.next_due() == new.next_due() is not None
        replies = [send_more_requests(JobClient(store), 7_000) for store in (old, new)]
        assert replies[0] == replies[1]
        steps = [[(one.kind, one.id, one.at, one.now) for one in store.clock.advance(120_000)] for store in (old, new)]
        assert steps[0] == steps[1] != []
        assert old.snapshot() == new.snapshot()
        assert [one["message"] for one in old.take_messages()] == [one["message"] for one in new.take_messages()]


def test_a_line_with_the_counts(run: Run, homes: tuple[Home, Home]) -> None:
    source, target = (home.new_place() for home in homes)
    with opened(source) as store:
        store.promises.create("a", FAR, tags={"resonate:target": "poll://any@g"})
    ran = run("copy", source, target)
    assert (ran.code, ran.out) == (
        0,
        f"{shown(target)}: 1 promise, 1 task, 0 jobs, 0 schedules, 0 queues, 1 message\n",
    )


RECORDS: dict[str, Callable[[rc.Store], object]] = {
    "promise": lambda store: store.promises.create("held", FAR),
    "schedule": lambda store: store.schedules.create("held", "@daily", promise_timeout=1000),
    "queue": lambda store: store.queues.set("held"),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_a_target_with_a_record_is_refused(run: Run, places: tuple[Any, Any], kind: str) -> None:
    source, target = places
    with opened(target) as store:
        RECORDS[kind](store)
        before = store.snapshot()
    ran = run("copy", source, target)
    assert (ran.code, ran.out) == (5, "")
    assert ran.err == f"TO must be a new file or an empty store, got {shown(target)} with {kind} 'held'\n"
    with opened(target) as store:
        assert store.snapshot() == before


def test_an_empty_store_that_was_used_is_a_target(run: Run, places: tuple[Any, Any]) -> None:
    source, target = places
    with rc.Store(target, clock=rc.ManualClock(10**12)) as store:
        store.promises.create("a", timeout=1000)
        store.promises.resolve("a")
        store.clock.advance(1000)
        assert store.purge(settled_before=store.now) == 1
    assert run("copy", source, target).code == 0
    with opened(source) as old, opened(target) as new:
        assert old.snapshot() == new.snapshot()


def test_a_copy_onto_itself_is_refused(run: Run, places: tuple[Any, Any]) -> None:
    assert run("copy", places[0], places[0]).code == 5


def broken(store: rc.Store) -> dict[str, Any]:
    """A snapshot that violates an invariant."""
    snapshot = store.snapshot()
    next(one for one in snapshot["promises"] if one["id"] == "texts")["settledAt"] = 5
    return snapshot


def test_a_state_that_violates_an_invariant_is_not_copied(run: Run, places: tuple[Any, Any]) -> None:
    source, target = places
    with opened(source) as store:
        store.restore(broken(store), check=False)
    ran = run("copy", source, target)
    assert (ran.code, ran.out) == (1, "")
    assert "texts" in ran.err
    with opened(target) as store:
        assert store.snapshot()["promises"] == []


def test_a_copy_that_differs_is_deleted(run: Run, places: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = places
    fill = copying._fill
    monkeypatch.setattr(copying, "_fill", lambda store, snapshot, digest, names: fill(store, snapshot, "other", names))
    ran = run("copy", source, target)
    assert (ran.code, ran.err) == (1, f"the copy in {shown(target)} differed from {shown(source)}, and was deleted\n")
    with opened(target) as store:
        assert store.counts() == {"promises": {}, "tasks": {}, "schedules": 0, "messages": 0}
        assert store.queues.list() == []


KILLED = """
import os, sys
from resonate_core.cli import copying, main
copying._fill = lambda *_: os._exit(9)
main(["copy", *sys.argv[1:]])
"""


def test_a_copy_that_was_killed_can_be_repeated(run: Run, places: tuple[Any, Any]) -> None:
    source, target = places
    done = subprocess.run([sys.executable, "-c", KILLED, str(source), str(target)], check=False, timeout=60)
    assert done.returncode == 9
    assert run("copy", source, target).code == 0
    with opened(source) as old, opened(target) as new:
        assert old.snapshot() == new.snapshot()


def test_the_source_may_be_in_use(run: Run, places: tuple[Any, Any]) -> None:
    source, target = places
    with opened(source) as other:
        other.promises.create("newest", FAR)
        assert run("copy", source, target).code == 0
        other.promises.create("too late", FAR)
    with opened(target) as store:
        assert store.promises.get("newest").state == "pending"
        with pytest.raises(rc.NotFound):
            store.promises.get("too late")


def test_a_source_that_does_not_exist(run: Run, tmp_path: Path) -> None:
    ran = run("copy", tmp_path / "none.db", tmp_path / "new.db")
    assert (ran.code, ran.out, list(tmp_path.iterdir())) == (3, "", [])
    assert "none.db" in ran.err


def test_places_that_are_neither_files_nor_databases(run: Run, tmp_path: Path) -> None:
    for name, arguments in (("FROM", ["redis://:s3cret@h/0", "b.db"]), ("TO", ["a.db", "redis://:s3cret@h/0"])):
        ran = run("copy", *arguments)
        assert (ran.code, ran.out) == (2, "")
        rule = "must be the path of a SQLite file or a URL sqlite:/// or postgresql://"
        assert ran.err == f"{name} {rule}, got 'redis://...@h/0'\n"


def test_a_schema_without_tables(run: Run, tmp_path: Path) -> None:
    require(POSTGRES)
    schemas = schemas_of_postgres()
    unmade = schemas.url(schemas.unused())
    with opened(tmp_path / "a.db") as store:
        store.promises.create("a", FAR)
    assert run("copy", unmade, tmp_path / "b.db").code == 3
    assert not (tmp_path / "b.db").exists()
    assert run("copy", tmp_path / "a.db", unmade).code == 0
    assert run("check", unmade).out == f"{shown(unmade)}: sound; 1 promise, 0 schedules, 0 messages\n"
