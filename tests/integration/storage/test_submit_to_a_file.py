"""A store in the file of an application: `submit` in the application's transactions, and two programs' tables side by side."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiosqlite
import pytest
import sqlalchemy
import sqlalchemy.ext.asyncio
import sqlalchemy.orm

import resonate_core as rc
import resonate_core.worker
from integration.storage.submissions import (
    FAR,
    check_refused,
    check_worker,
    created_and_settled,
    ids,
    promise,
    texts_to_refuse,
    through_async_sqlalchemy,
    through_sqlalchemy,
)
from older_files import give_older_schema

APPLICATION = """
PRAGMA user_version = 3;
PRAGMA application_id = 1234;
CREATE TABLE messages (id INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE schedules (id TEXT);
CREATE INDEX messages_by_body ON messages (body);
INSERT INTO messages (body) VALUES ('hello');
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file of an application, without a store's tables."""
    path = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.executescript(APPLICATION)
    return path


@pytest.fixture
def store(path: Path) -> Iterator[rc.Store]:
    with rc.Store(path, clock=rc.ManualClock(0)) as opened:
        yield opened


@pytest.fixture
def shop(path: Path, store: rc.Store) -> Iterator[sqlite3.Connection]:
    """A connection of the application, opened after the store has made its tables."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        yield connection


def submit(connection: Any, id: str) -> Any:
    return rc.submit(connection, "promise.create", promise(id))


def all_rows(path: Path) -> list[Any]:
    with contextlib.closing(sqlite3.connect(path)) as file:
        return [
            file.execute("PRAGMA user_version").fetchone(),
            file.execute("PRAGMA application_id").fetchone(),
            file.execute("SELECT * FROM messages").fetchall(),
            file.execute("SELECT name, sql FROM sqlite_schema WHERE tbl_name IN ('messages', 'schedules')").fetchall(),
        ]


def test_the_application_keeps_its_tables(path: Path) -> None:
    before = all_rows(path)
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
        store.schedules.create("s", cron="* * * * *", promise_id="s.{{.timestamp}}", promise_timeout=1000)
    assert all_rows(path) == before
    assert rc.check_file(path) == []
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        assert (ids(store), [one.id for one in store.schedules.search()]) == (["a"], ["s"])
        store.backup(path.with_name("copy.db"))
        assert store.check() == []
    assert all_rows(path.with_name("copy.db")) == before


def test_an_application_may_add_its_tables_later(tmp_path: Path) -> None:
    """A framework also sets `user_version` in its own migrations."""
    path = tmp_path / "app.db"
    rc.Store(path, clock=rc.ManualClock(0)).close()
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.executescript(APPLICATION)
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
    assert rc.check_file(path) == []
    assert rc.Store(path, read_only=True, clock=rc.ManualClock(0)).promises.get("a").state == "pending"
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute("CREATE INDEX promises_by_me ON resonate_promises (state)")
    assert rc.check_file(path) == ["schema: promises_by_me does not belong to a store"]


def test_a_file_of_an_earlier_release_becomes_one_for_both(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    with rc.Store(path, clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
    give_older_schema(path, 5)
    with rc.Store(path, clock=rc.ManualClock(0)) as store, contextlib.closing(sqlite3.connect(path)) as file:
        with file:
            submit(file, "b")
        assert ids(store) == ["a", "b"]
    assert rc.check_file(path) == []


@pytest.mark.parametrize("name", ["resonate_queues", "promises_by_due"])
def test_a_name_that_both_need(path: Path, name: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as file:
        file.execute(f"CREATE TABLE {name} (a)")
    before = path.read_bytes()
    with pytest.raises(rc.StoreError, match=f'a store needs the name "{name}", which is in use in this file'):
        rc.Store(path)
    assert path.read_bytes() == before


def test_a_read_only_store_makes_no_tables(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(rc.StoreError, match="it contains no store, and a read-only store creates no tables"):
        rc.Store(path, read_only=True)
    assert path.read_bytes() == before


def test_a_request_happens_if_and_only_if_its_transaction_commits(store: rc.Store, shop: sqlite3.Connection) -> None:
    submit(shop, "rolled-back")
    shop.rollback()
    submit(shop, "committed")
    shop.execute("INSERT INTO messages (body) VALUES ('with it')")
    assert list(store.promises.search("*")) == []  # not yet
    shop.commit()
    assert store.next_due() is not None
    assert ids(store) == ["committed"]
    assert store.next_due() is None  # nothing waits any more
    assert shop.execute("SELECT count(*) FROM resonate_inbox").fetchone() == (0,)


@pytest.mark.parametrize("journal", ["", "; connection.execute('PRAGMA synchronous = OFF')"])
def test_a_process_that_dies_before_its_commit_submits_nothing(store: rc.Store, path: Path, journal: str) -> None:
    program = (
        "import os, sys, sqlite3, resonate_core as rc\n"
        f"connection = sqlite3.connect(sys.argv[1]){journal}\n"
        "def create(id):\n"
        "    connection.execute('INSERT INTO messages (body) VALUES (?)', [id])\n"
        "    rc.submit(connection, 'promise.create', {'id': id, 'timeoutAt': 10**15})\n"
        "create('a'); connection.commit()\n"
        "create('b'); os._exit(9)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, str(path)], check=False).returncode == 9
    assert ids(store) == ["a"]
    with contextlib.closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT body FROM messages").fetchall() == [("hello",), ("a",)]


def test_requests_run_once_in_the_order_of_their_submission(store: rc.Store, shop: sqlite3.Connection) -> None:
    numbers = [rc.submit(shop, kind, data) for kind, data in created_and_settled(250)]  # more than one tick takes at once
    shop.commit()
    assert numbers == list(range(1, 501))
    store.tick()
    assert store.counts()["promises"]["resolved"] == 250
    assert store.problems() == []
    assert submit(shop, "later") == 501  # a number is never used again


def test_a_refused_request_keeps_its_status_and_stops_nothing(store: rc.Store, shop: sqlite3.Connection) -> None:
    store.promises.create("taken", FAR)
    store.promises.resolve("taken", "done")
    refused = [rc.submit(shop, "task.acquire", {"id": "taken", "version": 0, "pid": "w", "ttl": 1})]
    for text in texts_to_refuse():
        refused.append(shop.execute("INSERT INTO resonate_inbox (request) VALUES (?)", [text]).lastrowid or 0)
    submit(shop, "after")
    shop.commit()
    assert ids(store) == ["after", "taken"]
    check_refused(store, refused)
    with shop:
        shop.execute("DELETE FROM resonate_inbox WHERE status IS NOT NULL")  # dealt with
    assert store.problems() == []


@pytest.mark.parametrize("text", ["[]", '{"data": {}}', '{"kind": 1, "data": {}}', '{"kind": "promise.create"}', "{", "", "\0"])
def test_sql_that_writes_no_request(store: rc.Store, shop: sqlite3.Connection, text: str) -> None:
    with shop:
        number = shop.execute("INSERT INTO resonate_inbox (request) VALUES (?)", [text]).lastrowid
        submit(shop, "after")
    assert ids(store) == ["after"]
    (problem,) = store.problems()
    assert (problem.id, problem.detail[:17]) == (str(number), "refused with 400:")
    with pytest.raises(sqlite3.IntegrityError, match="NOT NULL constraint failed"):
        shop.execute("INSERT INTO resonate_inbox (request) VALUES (NULL)")


def test_a_text_that_is_no_utf_8(store: rc.Store, shop: sqlite3.Connection) -> None:
    with shop:
        number = shop.execute("INSERT INTO resonate_inbox (request) VALUES (CAST(x'ff' AS TEXT))").lastrowid
        submit(shop, "after")
    assert ids(store) == ["after"]
    assert [problem.id for problem in store.problems()] == [str(number)]


def test_a_request_of_any_caller_comes_after_what_was_submitted(store: rc.Store, shop: sqlite3.Connection) -> None:
    with shop:
        submit(shop, "a")
    store.promises.create("b", FAR)
    assert store.promises.get("a").state == "pending"


def test_an_open_transaction_of_the_application_makes_a_writer_wait(path: Path, shop: sqlite3.Connection) -> None:
    with rc.Store(path, clock=rc.ManualClock(0), busy_timeout=50) as store:
        submit(shop, "a")
        with pytest.raises(rc.StoreBusy, match="another process has held it for at least 50 ms"):
            store.promises.create("b", FAR)
        shop.commit()
        store.promises.create("b", FAR)
        assert ids(store) == ["a", "b"]


def test_reset_and_restore_leave_the_application_alone(path: Path, store: rc.Store, shop: sqlite3.Connection) -> None:
    before = all_rows(path)
    store.promises.create("a", FAR)
    kept = store.snapshot()
    store.promises.create("b", FAR)
    store.restore(kept)
    assert ids(store) == ["a"]
    store.vacuum()
    assert all_rows(path) == before


def test_a_worker_gets_a_job_that_was_submitted(path: Path) -> None:
    with rc.Store(path) as store, contextlib.closing(sqlite3.connect(path)) as shop:
        check_worker(store, shop)


def sqlite3_connection(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        with connection:
            submit(connection, "a")
            submit(connection.cursor(), "b")
        submit(connection, "c")


def autocommitted(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        submit(connection, "a")
        connection.execute("BEGIN")
        submit(connection, "c")
        connection.execute("ROLLBACK")
        submit(connection, "b")


def django_connection(path: Path) -> None:
    """Runs in a process of its own, because Django can be configured only once."""
    program = f"""
import sys, django, resonate_core as rc
from django.conf import settings
settings.configure(DATABASES={{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]}}}})
django.setup()
from django.db import connection, transaction
def create(id, on=connection): return rc.submit(on, "promise.create", {{"id": id, "timeoutAt": {FAR}}})
with transaction.atomic():
    create("a")
try:
    with transaction.atomic():
        create("c")
        raise KeyError
except KeyError:
    with connection.cursor() as cursor:
        create("b", cursor)
"""
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)


async def of_aiosqlite(path: Path) -> None:
    async with aiosqlite.connect(path) as connection:
        await submit(connection, "a")
        async with connection.cursor() as cursor:
            await submit(cursor, "b")
        await connection.commit()
        await submit(connection, "c")


LIBRARIES = {
    "sqlite3": sqlite3_connection,
    "sqlite3, autocommit": autocommitted,
    "SQLAlchemy": lambda path: through_sqlalchemy(sqlalchemy.create_engine(f"sqlite:///{path}"), submit),
    "Django": django_connection,
    "aiosqlite": lambda path: asyncio.run(of_aiosqlite(path)),
    "SQLAlchemy, asynchronous": lambda path: asyncio.run(
        through_async_sqlalchemy(sqlalchemy.ext.asyncio.create_async_engine(f"sqlite+aiosqlite:///{path}"), submit)
    ),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_connection_of(library: str, store: rc.Store, path: Path) -> None:
    LIBRARIES[library](path)
    assert ids(store) == ["a", "b"]


def test_a_file_has_no_schemas(shop: sqlite3.Connection) -> None:
    with pytest.raises(rc.Invalid, match="schema must be 'resonate' for a file, which has no schemas, got 'other'"):
        rc.submit(shop, "promise.create", {"id": "a", "timeoutAt": FAR}, schema="other")


def test_another_copy_of_the_library(shop: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resonate_core.calls.submission._source_id", lambda: "2026-01-01 of another build")
    with pytest.raises(rc.Unsupported, match=r"got another copy \(2026-01-01 of another build\): two copies lose"):
        submit(shop, "a")


def test_a_file_without_a_store(tmp_path: Path) -> None:
    with (
        contextlib.closing(sqlite3.connect(tmp_path / "empty.db")) as connection,
        pytest.raises(sqlite3.OperationalError, match="no such table: resonate_inbox"),
    ):
        submit(connection, "a")
