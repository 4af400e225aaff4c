"""Settings of a URL, a role or a database changed what a store in PostgreSQL does.

`client_encoding` garbled texts in silence. A default isolation level of `repeatable read` or `serializable` made a transaction that had
waited for another writer fail: half of all calls. Limits of time ended transactions that the store lets wait.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from urllib.parse import quote

import psycopg
import pytest

import pgbouncer
import postgres_server
import resonate_core as rc
from backends import PGBOUNCER, POSTGRES, require

FAR = 10**15
SETTINGS = {
    "default_transaction_isolation": "serializable",
    "default_transaction_deferrable": "on",
    "client_encoding": "LATIN1",
    "standard_conforming_strings": "off",
    "bytea_output": "escape",
    "DateStyle": "SQL, DMY",
    "IntervalStyle": "sql_standard",
    "TimeZone": "Asia/Kathmandu",
    "search_path": "pg_catalog",
    "row_security": "off",
    "statement_timeout": "500",
    "lock_timeout": "1",
    "idle_in_transaction_session_timeout": "200",
    "idle_session_timeout": "300",
    "enable_indexscan": "off",
    "synchronous_commit": "off",
    "array_nulls": "off",
    "transform_null_equals": "on",
    "session_replication_role": "replica",
    "exit_on_error": "on",
    "client_min_messages": "debug5",
    "enable_nestloop": "off",
    "plan_cache_mode": "force_custom_plan",
    "extra_float_digits": "-15",
    "quote_all_identifiers": "on",
    "check_function_bodies": "off",
}

PROGRAM = """
import sys, resonate_core as rc
with rc.Store(sys.argv[1], busy_timeout=60_000) as store:
    for number in range(40):
        store.promises.create(f"{sys.argv[2]}:é:{number}", 10**15)
        store.jobs.enqueue("t", id=f"{sys.argv[2]}-{number}")
        store.promises.resolve(f"{sys.argv[2]}:é:{number}")
"""


@pytest.fixture
def database() -> Iterator[str]:
    """The URL of a new database."""
    require(POSTGRES)
    with postgres_server.shared().database_in_turn("settings") as url:
        yield url


def set_all(url: str, settings: dict[str, str]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for name, value in settings.items():
            connection.execute(f"ALTER DATABASE settings SET {name} = '{value}'")


def count(url: str) -> int:
    with rc.Store(url) as store:
        return sum(store.counts()["promises"].values())


def texts(url: str) -> list[str]:
    with rc.Store(url) as store:
        return [promise.id for promise in store.promises.search("*")]


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "EUC_JP"])
def test_a_client_encoding_in_the_url_changes_no_text(database: str, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = quote(f"-c client_encoding={encoding}")
    with rc.Store(f"{database}?client_encoding={encoding}") as store:
        store.promises.create("p:é", FAR, param="あ")
        assert store.promises.get("p:é").param.json() == "あ"
    with rc.Store(f"{database}?options={options}") as store:
        store.promises.create("q:é", FAR)
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    assert texts(database) == ["p:é", "q:é"]
    with psycopg.connect(f"{database}?client_encoding=UTF8") as connection:
        assert connection.execute("SELECT id FROM resonate.promises ORDER BY id").fetchall() == [("p:é",), ("q:é",)]


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
def test_writers_wait_for_each_other_at_any_level(database: str, level: str) -> None:
    set_all(database, {"default_transaction_isolation": level})
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM, database, name]) for name in "abc"]  # all make the tables, too
    assert [one.wait(300) for one in running] == [0, 0, 0]
    assert count(database) == 240


def test_nor_does_a_level_in_the_options(database: str) -> None:
    url = f"{database}?options={quote('-c default_transaction_isolation=serializable')}"
    with rc.Store(url) as one, rc.Store(url) as other:
        threads = [
            threading.Thread(target=lambda store=store, name=name: [store.promises.create(f"{name}{n}", FAR) for n in range(40)])
            for store, name in ((one, "a"), (other, "b"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(list(one.promises.search("*"))) == 80


def test_every_setting_of_a_role_at_once(database: str) -> None:
    set_all(database, SETTINGS)
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM, database, name]) for name in "ab"]
    assert [one.wait(300) for one in running] == [0, 0]
    with rc.Store(database) as store:
        assert (sum(store.counts()["promises"].values()), store.check()) == (160, [])
        with psycopg.connect(database) as connection:
            connection.execute("SET idle_in_transaction_session_timeout = 0; SET statement_timeout = 0; SET lock_timeout = 0")
            connection.commit()
            rc.submit(connection, "promise.create", {"id": "é:submitted", "timeoutAt": FAR})
        store.tick()
        assert store.promises.get("é:submitted").state == "pending"
        store.vacuum()
    with rc.Store(database, read_only=True) as store:
        assert store.promises.get("é:submitted").state == "pending"


def test_the_limits_of_a_role_are_not_those_of_a_store(database: str) -> None:
    """A writer waits for as long as its busy_timeout says."""
    set_all(database, {"statement_timeout": "100", "lock_timeout": "100", "idle_in_transaction_session_timeout": "1000"})
    with rc.Store(database, busy_timeout=60_000) as store, psycopg.connect(database, autocommit=True) as other:
        other.execute("SET idle_in_transaction_session_timeout = 0; SET statement_timeout = 0; SET lock_timeout = 0")
        other.execute("BEGIN")
        other.execute("SELECT FROM resonate.write_lock FOR UPDATE")
        release = threading.Timer(0.5, lambda: other.execute("ROLLBACK"))
        release.start()
        store.promises.create("a", FAR)  # StoreBusy after 100 ms
        release.join()


@pytest.mark.parametrize(
    ("of_role", "busy_timeout", "limit"),
    [
        ("0", 5000, "2s"),
        ("1500", 5000, "1500ms"),
        ("1500", 3000, "1200ms"),
        ("60000", 60_000, "2s"),
        ("10", 5000, "1s"),
        ("0", 10, "1s"),
    ],
)
@pytest.mark.parametrize("pooled", [False, True])
def test_a_writer_stands_still_no_longer_than_the_role_allows(
    database: str, of_role: str, busy_timeout: int, limit: str, pooled: bool
) -> None:
    """The store sets a limit of its own for each transaction that writes, which replaced a smaller one."""
    if pooled:
        require(PGBOUNCER)
    rc.Store(database).close()
    set_all(database, {"idle_in_transaction_session_timeout": of_role})
    with psycopg.connect(database, autocommit=True) as other:
        other.execute("SET idle_in_transaction_session_timeout = 0")
        other.execute("CREATE TABLE resonate.limits (seen text)")
        other.execute(
            "CREATE FUNCTION resonate.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO resonate.limits VALUES "
            "(current_setting('idle_in_transaction_session_timeout')); RETURN NEW; END $$"
        )
        other.execute("CREATE TRIGGER see BEFORE INSERT ON resonate.counters FOR EACH ROW EXECUTE FUNCTION resonate.see()")
        with rc.Store(pgbouncer.shared().url(database) if pooled else database, busy_timeout=busy_timeout) as store:
            store.promises.create("a", FAR)
        assert other.execute("SELECT DISTINCT seen FROM resonate.limits").fetchall() == [(limit,)]


def test_an_error_ends_no_session_and_messages_are_not_printed(database: str, capfd: pytest.CaptureFixture[str]) -> None:
    """With `exit_on_error` a wait for another writer that took too long was "server closed the connection unexpectedly"."""
    set_all(database, {"exit_on_error": "on"})
    with rc.Store(database, busy_timeout=10) as store:
        with psycopg.connect(database) as other:
            other.execute("SELECT FROM resonate.write_lock FOR UPDATE")
            with pytest.raises(rc.StoreBusy):
                store.promises.create("a", FAR)
        assert store.promises.create("a", FAR).state == "pending"
    set_all(database, {"client_min_messages": "debug5"})
    rc.Store(database).close()
    assert capfd.readouterr().err == ""


def test_behind_a_pooler(database: str) -> None:
    require(PGBOUNCER)
    set_all(database, {"default_transaction_isolation": "serializable", "client_encoding": "LATIN1"})
    url = pgbouncer.shared().url(f"{database}?schema=pooled")
    assert "prepared=no" in url
    running = [subprocess.Popen([sys.executable, "-c", PROGRAM, url, name]) for name in "ab"]
    assert [one.wait(300) for one in running] == [0, 0]
    assert count(url) == 160


def test_a_database_that_is_set_read_only_stays_so(database: str) -> None:
    """Someone has set that on purpose."""
    rc.Store(database).close()
    set_all(database, {"default_transaction_read_only": "on"})
    with rc.Store(database) as store:
        with pytest.raises(rc.ReadOnly, match="the server is a standby or read-only; this call changed nothing"):
            store.promises.create("a", FAR)
        assert list(store.promises.search("*")) == []
    with pytest.raises(rc.ReadOnly, match="read-only"):
        rc.Store(f"{database}?schema=other")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_of_another_encoding_is_refused(encoding: str) -> None:
    require(POSTGRES)
    server, name = postgres_server.shared(), f"encoded_{encoding.lower()}"
    server.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(rc.StoreError, match=f"the encoding of the database must be UTF8, got {encoding}: make another"):
            rc.Store(server.url(name))
        assert server.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'resonate'", name) == [("0",)]
    finally:
        with contextlib.suppress(RuntimeError):
            server.drop_database(name)
