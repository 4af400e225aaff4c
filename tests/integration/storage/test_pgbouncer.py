"""A store behind PgBouncer in transaction mode: each of its transactions may run on another connection to the server."""

from __future__ import annotations

import contextlib
import itertools
import time
from urllib.parse import urlsplit

import pytest

import backends
import libpq
import pgbouncer
import postgres_server
import resonate_core as rc
from postgres_proxy import Proxy, check_cut_commit

FAR = 10**15
SESSION = (
    "search_path",
    "synchronous_commit",
    "lock_timeout",
    "idle_in_transaction_session_timeout",
    "default_transaction_isolation",
)
"""The settings that a store sets for its transactions, or could."""


@pytest.fixture
def pooler() -> pgbouncer.PgBouncer:
    """The pooler of this process."""
    backends.require(backends.PGBOUNCER)
    return pgbouncer.shared()


def session_settings(connection: libpq.Connection) -> tuple[str | None, ...]:
    names = ", ".join(f"current_setting('{name}')" for name in SESSION)
    return connection.execute(f"SELECT {names}")[0]


def test_each_transaction_has_another_connection(postgres_url: str) -> None:
    """The tests behind a pooler rely on it. This one has its own pooler, because other tests end connections of the shared one."""
    backends.require(backends.PGBOUNCER)
    port = urlsplit(postgres_url).port
    assert port is not None
    with pgbouncer.running(port) as pooler:
        pooler.url(postgres_url)
        with libpq.Connection(pooler.url_of_database(postgres_url)) as client:
            backends_used = [client.execute("SELECT pg_backend_pid()")[0] for _ in range(2 * pgbouncer.CONNECTIONS)]
    assert len(set(backends_used)) >= pgbouncer.CONNECTIONS
    assert all(one != other for one, other in itertools.pairwise(backends_used))


def test_a_store_leaves_no_settings_on_the_connections_of_others(pooler: pgbouncer.PgBouncer, postgres_url: str) -> None:
    with rc.Store(pooler.url(postgres_url), clock=rc.ManualClock(0), durability="normal", busy_timeout=321) as store:
        for number in range(3 * pgbouncer.CONNECTIONS):
            store.promises.create(f"p{number}", FAR)
            assert len(store.promises.search()) == number + 1
        with libpq.Connection(postgres_server.shared().url(urlsplit(postgres_url).path[1:])) as other:
            untouched = session_settings(other)
        with libpq.Connection(pooler.url_of_database(postgres_url)) as client:
            seen = {session_settings(client) for _ in range(3 * pgbouncer.CONNECTIONS)}
    assert seen == {untouched}


def test_two_stores_share_a_pool(pooler: pgbouncer.PgBouncer) -> None:
    """Each uses its own schema, on whatever connection its transaction runs."""
    schemas = backends.schemas_of_postgres()
    names = [schemas.unused(), schemas.unused()]  # the stores make the tables, behind the pooler
    with contextlib.ExitStack() as open_ones:
        stores = [open_ones.enter_context(rc.Store(pooler.url(schemas.url(name)), clock=rc.ManualClock(0))) for name in names]
        for number in range(50):
            for which, store in enumerate(stores):
                store.promises.create(f"p{number}", FAR, param=which)
                assert store.promises.get(f"p{number}").param.json() == which
        for which, store in enumerate(stores):
            found = store.promises.search(limit=1000)
            assert [promise.param.json() for promise in found] == [which] * 50
            store.vacuum()
            assert store.check() == []


def test_a_url_that_lacks_the_parameter_for_a_pooler(pooler: pgbouncer.PgBouncer) -> None:
    """The error of the first call that fails names `prepared=no`; every call before it used the schema of its own store."""
    schemas = backends.schemas_of_postgres()
    urls = [pooler.url(schemas.url(schemas.unused())) for _ in range(2)]
    said = ""
    with contextlib.ExitStack() as open_ones:
        try:
            stores = [open_ones.enter_context(rc.Store(url.replace("&prepared=no", ""), clock=rc.ManualClock(0))) for url in urls]
            for number in range(50):
                for which, store in enumerate(stores):
                    store.promises.create(f"p{number}", FAR, param=which)
                    assert store.promises.get(f"p{number}").param.json() == which
        except rc.StoreError as error:
            said = str(error)
    assert "the URL needs prepared=no" in said


@pytest.mark.parametrize("cut", [None, 0, 1, 5, 40, 100])
def test_the_pooler_loses_its_connection_in_a_commit(postgres_url: str, cut: int | None) -> None:
    """This is the connection between the pooler and the server; `test_postgres_faults` cuts the one between the store and the pooler."""
    backends.require(backends.PGBOUNCER)
    proxy = Proxy(postgres_url, cut)
    with pgbouncer.running(proxy.port) as pooler:
        check_cut_commit(proxy, pooler.url(postgres_url))


def test_a_pooler_that_is_restarted(postgres_url: str) -> None:
    """The store connects again through another pooler on the same port."""
    backends.require(backends.PGBOUNCER)
    with contextlib.ExitStack() as ends:
        first = pgbouncer.running(postgres_server.shared().port)
        pooler = first.__enter__()
        store = ends.enter_context(rc.Store(pooler.url(postgres_url), clock=rc.ManualClock(0)))
        store.promises.create("before", FAR)
        first.__exit__(None, None, None)
        with pytest.raises(rc.StoreError, match="begin failed"):
            store.promises.create("p", FAR)
        with pgbouncer.running(postgres_server.shared().port, port=pooler.port):
            store.promises.create("after", FAR)
            assert {promise.id for promise in store.promises.search()} == {"before", "after"}


@pytest.mark.timeout(120)
def test_a_server_that_is_away_and_comes_back() -> None:
    """The pooler lets a client wait for `query_wait_timeout`, 120 s by default, then closes its connection."""
    backends.require(backends.PGBOUNCER)
    with postgres_server.running() as server:
        url = server.create_database("app")
        with (
            pgbouncer.running(server.port, more="query_wait_timeout = 1") as pooler,
            rc.Store(pooler.url(url), clock=rc.ManualClock(0)) as store,
        ):
            store.promises.create("a", FAR)
            server.stop()
            with pytest.raises(rc.StoreError, match=r"begin failed.*this call changed nothing"):
                store.promises.create("b", FAR)
            server.start()
            refusals = []
            while True:  # the pooler looks for the server again after `server_login_retry`
                try:
                    store.promises.create("c", FAR)
                    break
                except rc.StoreError as error:
                    refusals.append(str(error))
                    time.sleep(0.05)
            assert all("this call changed nothing" in refusal for refusal in refusals)
            assert [promise.id for promise in store.promises.search()] == ["a", "c"]
            assert store.check() == []
