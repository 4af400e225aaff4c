"""Submitted requests with long lists ran in one transaction, up to 8 MiB of them, and looked for each id by a statement of its own.

55 `job.enqueue_many` of 10,000 jobs were one commit: all other processes got `StoreBusy` for 86 s. A heartbeat of 10,000 ids took a second,
of which another request needs a hundredth. The work of a transaction is counted in records.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psycopg
import pytest

import resonate_core as rc
from postgres_urls import plain, schema_of


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "app.db") if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@contextlib.contextmanager
def submitting(url: str) -> Iterator[Callable[[str, dict[str, Any]], None]]:
    is_url = url.startswith("postgres")
    opening: AbstractContextManager[Any]
    opening = psycopg.connect(plain(url)) if is_url else contextlib.closing(sqlite3.connect(url))
    with opening as connection:
        yield lambda kind, data: rc.submit(connection, kind, data, schema=schema_of(url) if is_url else "resonate")
        connection.commit()


def enqueued(url: str) -> int:
    """Counted by another process: the present rows of the table."""
    if url.startswith("postgres"):
        with psycopg.connect(plain(url)) as connection:
            (row,) = connection.execute(f"SELECT count(*) FROM {schema_of(url)}.promises").fetchall()
    else:
        with contextlib.closing(sqlite3.connect(url)) as connection:
            (row,) = connection.execute("SELECT count(*) FROM resonate_promises").fetchall()
    return int(row[0])


def test_a_request_runs_a_bounded_part_of_them(url: str) -> None:
    """Each request first runs submissions: as many as name 2,000 records, or one that names more."""
    with rc.Store(url, clock=rc.ManualClock(0)) as store:
        with submitting(url) as submit:
            for number in range(6):
                submit("job.enqueue_many", {"jobs": [{"type": f"m{number}"}] * 700})
            submit("job.enqueue_many", {"jobs": [{"type": "long"}] * 3000})
            submit("promise.create", {"id": "last", "timeoutAt": 10**15})
        seen = []
        for number in range(6):
            store.promises.create(f"p{number}", 10**15)
            seen.append(enqueued(url) - number - 1)
        assert seen == [1400, 2800, 4200, 7200, 7201, 7201]
        assert store.submissions_waiting == 0


def test_a_tick_runs_all_of_them_in_order(url: str) -> None:
    with rc.Store(url, clock=rc.ManualClock(0)) as store:
        with submitting(url) as submit:
            submit("promise.create", {"id": "a", "timeoutAt": 10**15})
            for _ in range(3):
                submit("task.heartbeat", {"pid": "p", "tasks": [{"id": f"none{n}", "version": 1} for n in range(1500)]})
                submit("job.enqueue_many", {"jobs": [{"type": "m", "id": f"j{n}"} for n in range(1500)]})
            submit("promise.settle", {"id": "a", "state": "resolved", "value": {}})
        store.tick()
        assert store.promises.get("a").state == "resolved"
        assert enqueued(url) == 1501
        assert store.submissions_waiting == 0 and store.problems() == []


def test_a_refused_request_does_not_count(url: str) -> None:
    with rc.Store(url, clock=rc.ManualClock(0)) as store:
        with submitting(url) as submit:
            for _ in range(3):
                submit("job.enqueue_many", {"jobs": [{"type": "m"}] * 10_001})
            submit("promise.create", {"id": "a", "timeoutAt": 10**15})
        store.promises.create("b", 10**15)
        assert store.promises.get("a").state == "pending"
        assert len(store.problems()) == 3
