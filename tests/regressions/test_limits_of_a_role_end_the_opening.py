"""Limits of time that a role, a database or a URL sets ended the opening of a store in PostgreSQL.

A store lifted them for its calls, after it had looked for its tables and made them. `transaction_timeout`, which PostgreSQL has since
version 17, was not lifted at all, nor was `lock_timeout` for readers. With limits of 1 ms, each of these cases fails for one.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

import pgbouncer
import postgres_server
import resonate_core as rc
from backends import PGBOUNCER, POSTGRES, require
from command_line import run_command
from postgres_schemas import without_children
from resonate_core._core import schema_versions
from resonate_core.calls.wakeup import Wakeup
from tiers import chess

FAR = 10**15
ROLE = f"limited_{os.getpid()}"
LIMITS = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "transaction_timeout"]
COUNT = 1000
_numbers = itertools.count(1)


class Place:
    """A new database, and a role that owns it."""

    def __init__(self) -> None:
        server = postgres_server.shared()
        self.name = f"limits_{os.getpid()}_{next(_numbers)}"
        self.plain = server.create_database(self.name)
        self.limits = [one for one in LIMITS if one != "transaction_timeout" or self.version >= 170000]
        server.execute(f"CREATE ROLE {ROLE} LOGIN; GRANT CREATE ON DATABASE {self.name} TO {ROLE}", self.name)
        self.of_role = self.plain.replace(f"//{postgres_server.USER}@", f"//{ROLE}@")

    @property
    def version(self) -> int:
        """That of the server, as PostgreSQL counts."""
        with psycopg.connect(self.plain) as connection:
            return connection.info.server_version

    def set(self, whose: str, *names: str) -> str:
        """Sets limits of 1 ms; returns the URL for which they hold."""
        if whose == "url":
            return f"{self.of_role}?options={quote(' '.join(f'-c {name}=1' for name in names))}"
        for name in names:
            of = f"ROLE {ROLE}" if whose == "role" else f"DATABASE {self.name}"
            postgres_server.shared().execute(f"ALTER {of} SET {name} = '1ms'")
        return self.of_role


@pytest.fixture
def place() -> Iterator[Place]:
    require(POSTGRES)
    made = Place()
    yield made
    server = postgres_server.shared()
    server.drop_database(made.name)
    server.execute(f"DROP ROLE {ROLE}")


def use(url: str, vacuums: bool = True) -> None:
    """Opens a store anew, and does long work in it."""
    with rc.Store(url, retry_timeout=1000) as store:
        store.promises.create_many((f"p{number}" for number in range(COUNT)), FAR)
        store.promises.resolve("p0")
        assert store.check() == []
        copy = store.snapshot()
        with store.fork() as forked:
            assert forked.promises.get("p0").state == "resolved"
        store.restore(copy)
        assert sum(store.counts()["promises"].values()) == COUNT
        store.promises.create("later", FAR)  # a commit of a later instant
        assert store.purge(settled_before=store.now) == 1
        store.views.index()
        if vacuums:
            store.vacuum()
    with rc.Store(url, read_only=True) as store:
        assert (store.check(), store.promises.get("p1").state) == ([], "pending")


@pytest.mark.parametrize(("limit", "whose"), chess(LIMITS, ["role", "database", "url"]))
def test_a_limit_of_1_ms(place: Place, whose: str, limit: str) -> None:
    if limit not in place.limits:
        pytest.skip(f"PostgreSQL {place.version // 10000} has no {limit}")
    use(place.set(whose, limit))


def test_all_limits_at_once(place: Place) -> None:
    use(place.set("role", *place.limits))


def test_a_migration(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    url = place.of_role
    rc.Store(url).close()
    *_, newest = schema_versions(url)
    older = (
        without_children("resonate")
        + "SET search_path TO resonate; DROP FUNCTION submit; DROP FUNCTION submission; UPDATE store_version SET version = 5"
    )
    for open_again in (lambda: rc.Store(url), lambda: run_command(capsys, "migrate", "--db", url)):
        postgres_server.shared().execute(f"ALTER DATABASE {place.name} RESET ALL")  # they hold for the next statement, too
        postgres_server.shared().execute(older, place.name)
        place.set("database", *place.limits)
        assert run_command(capsys, "migrate", "--db", url, "--dry-run", "--json").json["from"] == 5
        open_again()
        assert run_command(capsys, "migrate", "--db", url, "--dry-run", "--json").json["from"] == newest


def test_opening_waits_for_one_that_makes_the_tables(place: Place) -> None:
    """A wait for a lock, and the time between two statements of one transaction, are longer than 1 ms."""
    url = place.set("role", *place.limits)
    with psycopg.connect(place.plain) as other:
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended('resonate_core ' || 'resonate', 0))")
        opening = threading.Thread(target=lambda: rc.Store(url).close())
        opening.start()
        wait_for_a_lock(place)
    opening.join()
    with rc.Store(url) as store:
        assert store.check() == []


def wait_for_a_lock(place: Place) -> None:
    """Returns once a connection of a store waits for a lock, and has waited for longer than the limits."""
    waits = "SELECT FROM pg_stat_activity WHERE application_name = 'resonate_core' AND wait_event_type = 'Lock' AND state_change < now() - interval '0.1 s'"
    with psycopg.connect(place.plain, autocommit=True) as connection:
        end = time.monotonic() + 60
        while not connection.execute(waits).fetchall():
            assert time.monotonic() < end
            time.sleep(0.01)


@pytest.mark.parametrize("read_only", [False, True])
def test_readers_wait_for_a_lock_as_long_as_their_busy_timeout(place: Place, read_only: bool) -> None:
    url = place.of_role
    rc.Store(url).close()
    place.set("role", *place.limits)
    with rc.Store(url, read_only=read_only, busy_timeout=60_000) as store, psycopg.connect(place.plain) as other:
        other.execute("LOCK TABLE resonate.promises IN ACCESS EXCLUSIVE MODE")
        found: list[object] = []
        reading = threading.Thread(target=lambda: found.append(list(store.promises.search("*"))))
        reading.start()
        wait_for_a_lock(place)
        other.rollback()
        reading.join()
        assert found == [[]]
    with rc.Store(url, read_only=read_only, busy_timeout=1) as store, psycopg.connect(place.plain) as other:
        other.execute("LOCK TABLE resonate.promises IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(rc.StoreBusy, match="lock timeout"):
            store.promises.search("*")


def test_a_listener_stays(place: Place) -> None:
    """It stands idle between notices, and its session begins with the same limits."""
    url = place.set("role", *place.limits)
    with rc.Store(url) as store, contextlib.closing(Wakeup(store.watch)) as wakeup:
        wakeup.wait(60)  # it listens from now on, and reads earlier commits once
        wakeup.rearm(None)
        opened = rc.database_counts()["connections"]
        for number in range(3):
            make = "import sys, resonate_core as rc\nwith rc.Store(sys.argv[1]) as store: store.jobs.enqueue('t', id=sys.argv[2])"
            subprocess.run([sys.executable, "-c", make, url, f"j{number}"], check=True)
            wakeup.wait(60)
            wakeup.rearm(None)
        assert store.jobs.get("j2").state == "pending"
        assert rc.database_counts()["connections"] == opened


def test_commands(place: Place, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    url = place.set("role", *place.limits)
    assert run_command(capsys, "migrate", "--db", url).code == 0
    assert run_command(capsys, "promises", "create", "a", "--timeout", "1h", "--db", url).code == 0
    for arguments in (
        ["check", "--db", url],
        ["copy", url, str(tmp_path / "copy.db")],
        ["purge", "--older-than", "1d", "--yes", "--db", url],
    ):
        ran = run_command(capsys, *arguments)
        assert (ran.code, ran.err) == (0, ""), arguments


def behind_a_pooler(place: Place) -> str:
    """The sessions of the pool begin with the limits."""
    return f"{pgbouncer.shared().url_of_database(place.plain)}?prepared=no"


@pytest.mark.parametrize("limit", LIMITS)
def test_behind_a_pooler(place: Place, limit: str) -> None:
    """Each transaction has another session, which has the limits until the transaction lifts them."""
    require(PGBOUNCER)
    if limit not in place.limits:
        pytest.skip(f"PostgreSQL {place.version // 10000} has no {limit}")
    place.set("database", limit)
    url = behind_a_pooler(place)
    use(url, vacuums=limit not in ("statement_timeout", "transaction_timeout"))
    with rc.Store(url) as store:
        for number in range(100):
            store.promises.create(f"q{number}", FAR)
            assert store.promises.get(f"q{number}").state == "pending"
        assert store.check() == []
    pooled = pgbouncer.shared().url_of_database(place.plain)
    with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as other:
        for _ in range(2 * pgbouncer.CONNECTIONS):  # nothing is left behind for other clients of the pool
            assert limit_of(other, limit) == "1ms"


def limit_of(connection: psycopg.Connection[Any], limit: str) -> str:
    """Returns a limit of the session. On a slow machine a statement may reach `statement_timeout` itself, and is asked for again."""
    while True:
        with contextlib.suppress(psycopg.errors.QueryCanceled):
            (shown,) = connection.execute(f"SHOW {limit}").fetchone() or ("",)
            return str(shown)


@pytest.mark.parametrize("limit", ["statement_timeout", "transaction_timeout"])
def test_a_vacuum_behind_a_pooler_says_where_it_works(place: Place, limit: str) -> None:
    """VACUUM cannot run in a transaction that lifts a limit."""
    require(PGBOUNCER)
    if limit not in place.limits:
        pytest.skip(f"PostgreSQL {place.version // 10000} has no {limit}")
    with rc.Store(place.plain) as store:
        store.promises.create_many((f"p{number}" for number in range(30 * COUNT)), FAR)
    place.set("database", limit)
    with rc.Store(behind_a_pooler(place)) as store:
        with pytest.raises(rc.StoreError, match="behind a pooler the limits of the role apply to VACUUM: name the server itself"):
            store.vacuum()
        assert store.promises.get("p1").state == "pending"
    with rc.Store(place.plain) as store:
        store.vacuum()
