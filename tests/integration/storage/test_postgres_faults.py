"""Faults between a store and its PostgreSQL server: each call is repeated, or raises a clear error and changes nothing."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

import pytest

import backends
import libpq
import pgbouncer
import postgres_server
import resonate_core as rc
from postgres_proxy import Proxy, check_cut_commit
from postgres_urls import plain, schema_of
from tiers import every

FAR = 10**15


WAYS = [backends.POSTGRES, backends.PGBOUNCER]


@pytest.fixture(params=WAYS, ids=lambda way: way.name)
def url(request: pytest.FixtureRequest, postgres_url: str) -> str:
    """The URL of a new store on the shared server: directly, and behind a pooler."""
    backends.require(request.param)
    return pgbouncer.shared().url(postgres_url) if request.param is backends.PGBOUNCER else postgres_url


@contextlib.contextmanager
def own_server(way: backends.BackEnd, *, durable: bool = False) -> Iterator[tuple[postgres_server.PostgresServer, str]]:
    """A server that the test may stop, and the URL of a store on it: directly, and behind a pooler."""
    backends.require(way)
    with postgres_server.running(durable=durable) as server, contextlib.ExitStack() as more:
        server.create_database("app")
        url = server.url("app", schema="store")
        yield server, more.enter_context(pgbouncer.running(server.port)).url(url) if way is backends.PGBOUNCER else url


@pytest.mark.parametrize("cut", [None, 0, 1, 5, 40, 100])
def test_a_connection_that_is_lost_in_a_commit(url: str, cut: int | None) -> None:
    """The store asks on a new connection whether the commit succeeded, and the reply agrees."""
    proxy = Proxy(url, cut)
    check_cut_commit(proxy, proxy.url, looks="prepared=no" in url)


class LosesTheFirstQuery(Proxy):
    COMMIT = b"store_version"


def test_a_connection_that_is_lost_while_a_store_opens(postgres_url: str) -> None:
    """A pooler may hand out a connection that the server has just ended; opening a store failed then."""
    proxy = LosesTheFirstQuery(postgres_url, None)
    proxy.armed = True
    with rc.Store(proxy.url, clock=rc.ManualClock(0)) as store:
        assert proxy.done
        assert store.promises.create("a", FAR).state == "pending"
    proxy.close()


def test_commits_that_a_failover_lost_while_the_connection_stayed(postgres_url: str) -> None:
    """Behind a pooler, a store keeps its connection when a standby that lacks the last commits takes over."""
    clock = rc.ManualClock(0)
    with rc.Store(postgres_url, clock=clock) as store, rc.Store(postgres_url, clock=clock) as other:
        store.promises.create("a", FAR)
        admin = libpq.Connection(plain(postgres_url))
        admin.execute(f"SET search_path TO {schema_of(postgres_url)}")
        admin.execute("CREATE TEMP TABLE p AS TABLE promises; CREATE TEMP TABLE c AS TABLE counters")
        assert store.promises.resolve("a").state == "resolved"
        admin.execute(
            "DELETE FROM promises; INSERT INTO promises SELECT * FROM p; DELETE FROM counters; INSERT INTO counters SELECT * FROM c"
        )
        other.promises.create("b", FAR)  # one commit in the place of the lost one
        assert store.promises.get("a").state == "pending"


def test_a_session_that_gets_the_schema_of_another_store() -> None:
    """This happens behind a pooler in transaction mode, if the URL lacks `prepared=no`. No row of the other store is read or written."""
    backends.require(backends.POSTGRES)
    schemas = backends.schemas_of_postgres()
    other_schema = schemas.unused()
    own_url = schemas.url(schemas.unused())  # no other test gets its trigger
    with rc.Store(schemas.url(other_schema), clock=rc.ManualClock(0)) as other:
        other.promises.create("a", FAR, param="other")
        with rc.Store(own_url, clock=rc.ManualClock(0)) as store:
            store.promises.create("a", FAR, param="own")
            admin = libpq.Connection(plain(own_url))
            admin.execute(
                f"""SET search_path TO {schema_of(own_url)};
                CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN PERFORM set_config('search_path', '{other_schema}', false); RETURN NULL; END $$;
                CREATE TRIGGER leave AFTER INSERT ON counters EXECUTE FUNCTION leave()"""
            )
            store.promises.create("b", FAR)
            with pytest.raises(rc.StoreError, match=f'in the schema "{other_schema}"; this call changed nothing.*prepared=no'):
                store.promises.resolve("a")
            assert store.promises.resolve("a").param.json() == "own", "the next call has a new connection"
        assert other.promises.get("a").state == "pending"


def test_a_backend_that_is_terminated_between_two_calls(url: str, postgres_url: str) -> None:
    with rc.Store(url, clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
        admin = libpq.Connection(plain(postgres_url))
        killed = admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'resonate_core' "
            "AND datname = current_database()"
        )
        assert killed
        store.promises.create("b", FAR)
        assert [promise.id for promise in store.promises.search()] == ["a", "b"]
        admin.close()


def test_another_process_that_stands_still_in_a_transaction(url: str) -> None:
    """A writer waits for it for at most its busy_timeout; a reader does not wait."""
    with rc.Store(url, clock=rc.ManualClock(0), busy_timeout=200) as store:
        store.promises.create("a", FAR)
        other = libpq.Connection(plain(url))
        other.execute(f"BEGIN; SELECT * FROM {schema_of(url)}.write_lock FOR UPDATE")
        waited = rc.database_counts()["lock_timeouts"]
        with pytest.raises(rc.StoreBusy, match=r"lock timeout.*this call changed nothing"):
            store.promises.create("b", FAR)
        assert rc.database_counts()["lock_timeouts"] == waited + 1
        assert store.promises.get("a").state == "pending"
        other.execute("ROLLBACK")
        store.promises.create("b", FAR)
        other.close()


@pytest.mark.parametrize("way", every(2, WAYS), ids=lambda way: way.name)
def test_a_server_that_is_restarted_at_once_loses_nothing_that_was_answered(way: backends.BackEnd) -> None:
    with own_server(way, durable=True) as (server, url), rc.Store(url, clock=rc.ManualClock(0)) as store:
        for turn in range(3):
            store.promises.create_many([f"p{turn}-{number}" for number in range(10)], timeout_at=FAR)
            server.restart()
        assert len(store.promises.search(limit=1000)) == 30
        assert store.check() == []


def test_a_server_that_is_away_is_named_and_found_again() -> None:
    with own_server(backends.POSTGRES) as (server, url), rc.Store(url, clock=rc.ManualClock(0)) as store:
        store.promises.create("a", FAR)
        server.stop()
        with pytest.raises(rc.StoreError, match="begin failed"):
            store.promises.create("b", FAR)
        with pytest.raises(rc.StoreError, match="open failed"):
            rc.Store(url)
        server.start()
        store.promises.create("c", FAR)
        assert [promise.id for promise in store.promises.search()] == ["a", "c"]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:s3cret@[::1/db",
        "postgresql://u:s3cret@[::1]x/db",
        "postgresql://u:s3cret%zz@h/db",
        "postgresql://h/db?password=s3cret%zz",
    ],
)
def test_a_url_that_cannot_be_read_shows_no_password(url: str) -> None:
    with pytest.raises(rc.Invalid, match="path_or_url must be a URL that PostgreSQL's client accepts: ") as refused:
        rc.Store(url)
    assert "s3cret" not in str(refused.value)


def test_tables_of_a_newer_release_are_refused(postgres_url: str) -> None:
    rc.Store(postgres_url, clock=rc.ManualClock(0)).close()
    with contextlib.closing(libpq.Connection(plain(postgres_url))) as admin:
        ((newest,),) = admin.execute(f"SELECT version FROM {schema_of(postgres_url)}.store_version")
        admin.execute(f"UPDATE {schema_of(postgres_url)}.store_version SET version = 99")
        try:
            with pytest.raises(rc.StoreError, match=f"its schema version must be at most {newest}, got 99"):
                rc.Store(postgres_url)
        finally:
            admin.execute(f"UPDATE {schema_of(postgres_url)}.store_version SET version = {newest}")


def test_parent_and_child_go_on_after_a_fork(url: str) -> None:
    with rc.Store(url, clock=rc.ManualClock(0)) as store:
        store.promises.create("before", FAR)
        child = os.fork()
        if child == 0:
            try:
                store.promises.create("child", FAR)
            finally:
                os._exit(0)
        store.promises.create("parent", FAR)
        assert os.waitpid(child, 0)[1] == 0
        store.promises.create("after", FAR)
        assert [promise.id for promise in store.promises.search()] == ["after", "before", "child", "parent"]


def test_a_store_without_prepared_statements(postgres_url: str) -> None:
    with (
        rc.Store(f"{postgres_url}&prepared=no", clock=rc.ManualClock(0)) as store,
        rc.Store(postgres_url, clock=rc.ManualClock(0)) as other,
    ):
        for number in range(10):
            (store if number % 2 else other).promises.create(f"p{number}", FAR, param=number)
        assert [promise.param.json() for promise in store.promises.search()] == list(range(10))
        assert store.digest() == other.digest() and store.check() == []


def test_many_processes_may_make_the_tables_at_once() -> None:
    backends.require(backends.POSTGRES)
    schemas = backends.schemas_of_postgres()
    url = schemas.url(schemas.unused())
    errors: list[Exception] = []

    def open_one(number: int) -> None:
        try:
            with rc.Store(url, clock=rc.ManualClock(0)) as store:
                store.promises.create(f"p{number}", FAR)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=open_one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with rc.Store(url, read_only=True, clock=rc.ManualClock(0)) as store:
        assert len(store.promises.search()) == 8
        with pytest.raises(rc.ReadOnly):
            store.promises.create("x", FAR)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("?schema=", 'schema must be 1 to 63 of a-z, 0-9 and _, got ""'),
        ("?schema=A-b", 'schema must be 1 to 63 of a-z, 0-9 and _, got "A-b"'),
        ("?prepared=maybe", 'prepared must be yes or no, got "maybe"'),
        ("?connect_timeout=soon", 'connect_timeout must be a number of seconds, at least 1, got "soon"'),
        ("?what=1", 'invalid URI query parameter: "what"'),
    ],
)
def test_a_url_that_makes_no_sense_is_refused(end: str, words: str) -> None:
    backends.require(backends.POSTGRES)
    with pytest.raises(rc.Invalid) as raised:
        rc.Store(f"postgresql://user:secret@127.0.0.1:1/app{end}")
    assert words in str(raised.value) and "secret" not in str(raised.value)


def test_a_password_is_shown_nowhere(postgres_url: str) -> None:
    with_password = (
        postgres_url.replace("@", ":t0p@", 1) if "@" in postgres_url else postgres_url.replace("://", "://resonate:t0p@", 1)
    )
    with rc.Store(with_password, clock=rc.ManualClock(0)) as store:
        assert "t0p" not in repr(store) and "t0p" not in store.url
    with pytest.raises(rc.StoreError) as raised:
        rc.Store("postgresql://user:t0p@127.0.0.1:1/app")
    assert "t0p" not in str(raised.value) and "127.0.0.1:1" in str(raised.value)
