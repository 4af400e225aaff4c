"""A submitted request of 40 MB was accepted, run and read back whole, whatever the limits of the server were."""

from __future__ import annotations

import contextlib
import json
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import psycopg
import pytest

import resonate_core as rc
from integration.storage.submissions import FAR, promise
from postgres_urls import plain, schema_of
from resonate_core.server.app import ResonateApp
from resonate_core.server.settings import Settings

MB = 1_000_000
HEAD = {"corrId": "1", "version": "2026-04-01"}
"""A request's head."""


class Inbox:
    """The store of a test, and connections of an application to its database."""

    def __init__(self, store: rc.Store, url: str | None) -> None:
        self.store = store
        self.url = url

    @contextlib.contextmanager
    def connected(self) -> Iterator[Any]:
        opening: AbstractContextManager[Any]
        opening = psycopg.connect(plain(self.url)) if self.url else contextlib.closing(sqlite3.connect(str(self.store.path)))
        with opening as connection:
            yield connection
            connection.commit()

    def submit(self, kind: str, data: dict[str, Any]) -> None:
        with self.connected() as connection:
            rc.submit(connection, kind, data, schema=schema_of(self.url) if self.url else "resonate")

    def insert(self, text: str, times: int = 1) -> None:
        """As another program, without `submit`."""
        with self.connected() as connection:
            table, mark = (f"{schema_of(self.url)}.inbox", "%s") if self.url else ("resonate_inbox", "?")
            for _ in range(times):
                connection.execute(f"INSERT INTO {table} (request) VALUES ({mark})", (text,))

    def rows(self) -> list[tuple[Any, ...]]:
        with self.connected() as connection:
            table = f"{schema_of(self.url)}.inbox" if self.url else "resonate_inbox"
            return list(connection.execute(f"SELECT status, length(request), error FROM {table} ORDER BY number"))


@pytest.fixture(params=["sqlite", "postgres"])
def inbox(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Inbox]:
    if request.param == "sqlite":
        with rc.Store(tmp_path / "app.db", clock=rc.ManualClock(0)) as store:
            yield Inbox(store, None)
    else:
        url = request.getfixturevalue("postgres_url")
        with rc.Store(url, clock=rc.ManualClock(0)) as store:
            yield Inbox(store, url)


def served(store: rc.Store, **limits: int) -> ResonateApp:
    """A server of the store, with these limits in its settings."""
    return ResonateApp(store, Settings.model_validate({"limits": limits}) if limits else Settings())


def refused(inbox: Inbox) -> tuple[int, str]:
    """The status and the error of the one refused request, after a tick that also runs a sound one."""
    inbox.submit("promise.create", promise("after"))
    inbox.store.tick()
    assert inbox.store.promises.get("after").state == "pending"
    ((status, length, error),) = inbox.rows()
    assert length <= 2 * MB and len(error) < 1100
    (problem,) = inbox.store.problems()
    assert problem.detail == f"refused with {status}: {error}"
    return status, error


def test_submit_refuses_what_is_too_large(inbox: Inbox) -> None:
    for large in ({**promise("a"), "param": {"data": "A" * 40 * MB}}, promise("a" * 40 * MB)):
        with pytest.raises(rc.Invalid, match=r"^request must have at most 16777216 bytes, got 40\d+"):
            inbox.submit("promise.create", large)
    assert inbox.rows() == []


def test_the_function_refuses_what_is_too_large(postgres_url: str) -> None:
    rc.Store(postgres_url).close()
    text = json.dumps({"kind": "promise.create", "head": HEAD, "data": {**promise("a"), "param": {"data": "A" * 40 * MB}}})
    with (
        psycopg.connect(plain(postgres_url)) as connection,
        pytest.raises(psycopg.errors.ProgramLimitExceeded, match="request must have at most 16777216 bytes, got 40"),
    ):
        connection.execute(f"SELECT {schema_of(postgres_url)}.submit(%s::jsonb)", [text])
    with psycopg.connect(plain(postgres_url)) as connection, pytest.raises(psycopg.DataError) as error:
        connection.execute(f"SELECT {schema_of(postgres_url)}.submit(%s::jsonb)", [json.dumps(["A" * MB])])
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(("limits", "size"), [({}, 3 * MB), ({"body_bytes": 100_000}, 150_000)])
def test_a_server_runs_nothing_beyond_its_limit_of_a_body(inbox: Inbox, limits: dict[str, int], size: int) -> None:
    served(inbox.store, **limits)
    inbox.submit("promise.create", {**promise("a"), "param": {"data": "A" * size}})
    status, error = refused(inbox)
    assert status == 413
    assert error.startswith(f"request must have at most {limits.get('body_bytes', 2 << 20)} bytes (limits.body_bytes), got ")
    assert inbox.rows()[0][1] == 1000, "what was too large is not kept whole"
    with pytest.raises(rc.NotFound):
        inbox.store.promises.get("a")


BEYOND: dict[str, tuple[str, dict[str, Any], dict[str, int], str]] = {
    "id_bytes": ("promise.create", promise("a" * 2049), {}, "id must have at most 2048 bytes, got 2049"),
    "tags": (
        "promise.create",
        {**promise("a"), "tags": {str(n): "" for n in range(257)}},
        {},
        "tags must have at most 256 entries",
    ),
    "nesting": (
        "promise.create",
        {**promise("a"), "more": json.loads("[" * 70 + "]" * 70)},
        {},
        "the JSON nests deeper than 64 levels",
    ),
    "lease_ms": (
        "job.claim",
        {"queues": ["q"], "worker": "w", "lease": 2000, "count": 1},
        {"lease_ms": 1000},
        "lease must be at most 1000 ms (limits.lease_ms of this server), got 2000",
    ),
    "delay_ms": (
        "job.enqueue",
        {"type": "t", "processAt": 2001},
        {"delay_ms": 2000},
        "processAt must be at most 2000 ms ahead, which is 2000 (limits.delay_ms of this server), got 2001",
    ),
    "body of a job": (
        "job.enqueue",
        {"type": "t", "payload": {"data": "A" * 3000}},
        {"body_bytes": 2048},
        "request must have at most 2048 bytes (limits.body_bytes), got ",
    ),
}


@pytest.mark.parametrize("name", BEYOND)
def test_the_other_limits_of_a_server_hold(inbox: Inbox, name: str) -> None:
    kind, data, limits, error = BEYOND[name]
    served(inbox.store, **limits)
    inbox.submit(kind, data)
    status, said = refused(inbox)
    assert (status, said[: len(error)]) == (413 if "body" in name else 400, error)


def test_a_store_without_a_server_has_the_limits_of_size(inbox: Inbox) -> None:
    inbox.submit("promise.create", {**promise("a"), "param": {"data": "A" * 3 * MB}})
    inbox.submit("promise.create", promise("a" * 5000))
    inbox.submit("job.enqueue", {"type": "t", "id": "late", "processAt": FAR - 1})  # its durations are not limited
    inbox.store.tick()
    assert [status for status, _, _ in inbox.rows()] == [413, 400]
    assert inbox.store.jobs.get("late").state == "scheduled"


def test_a_request_within_the_limits_runs(inbox: Inbox) -> None:
    served(inbox.store, body_bytes=5 * MB)
    inbox.submit("promise.create", {**promise("a"), "param": {"data": "A" * 4 * MB}})
    inbox.store.tick()
    assert (inbox.rows(), inbox.store.promises.get("a").state) == ([], "pending")


def test_large_texts_of_other_programs_cost_a_tick_little_memory(inbox: Inbox) -> None:
    """150 texts of 1.5 MB, none of which is a request."""
    inbox.insert("A" * 1_500_000, times=150)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    inbox.store.tick()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 150_000  # KiB
    assert {status for status, _, _ in inbox.rows()} == {400}
    assert inbox.store.next_due() is None


def test_a_long_error_of_another_program_is_cut_and_a_missing_one_is_empty(inbox: Inbox) -> None:
    with inbox.connected() as connection:
        table = f"{schema_of(inbox.url)}.inbox" if inbox.url else "resonate_inbox"
        connection.execute(f"INSERT INTO {table} (request, status) VALUES ('x', 400)")
        connection.execute(f"INSERT INTO {table} (request, status, error) VALUES ('x', 400, '{'é' * 5_000}')")
    assert [problem.detail for problem in inbox.store.problems()] == ["refused with 400: ", f"refused with 400: {'é' * 1000}"]
    assert inbox.url or rc.check_file(inbox.store.path or "") == []


def insert_many(inbox: Inbox, count: int) -> Callable[[], int]:
    """Inserts small requests; returns a function that counts those that wait."""
    text = json.dumps({"kind": "promise.settle", "head": HEAD, "data": {"id": "none", "state": "resolved"}})
    with inbox.connected() as connection:
        if inbox.url:
            table = f"{schema_of(inbox.url)}.inbox"
            connection.execute(f"INSERT INTO {table} (request) SELECT %s FROM generate_series(1, {count})", (text,))
        else:
            connection.executemany("INSERT INTO resonate_inbox (request) VALUES (?)", [(text,)] * count)
    return lambda: sum(status is None for status, _, _ in inbox.rows())


def test_a_request_runs_a_bounded_number_of_submissions(inbox: Inbox) -> None:
    waiting = insert_many(inbox, 1000)
    inbox.store.promises.create("a", FAR)
    assert waiting() == 900
    inbox.store.tick()
    assert waiting() == 0
