"""Behind a pooler, temporary tables of another client stood in for those of a store, and acknowledged writes were lost.

The search path named the schema alone, so PostgreSQL looked into pg_temp first: an application with its own `CREATE TEMP TABLE promises`
on the same server connection got the promises of the store, and a domain `pg_temp.text` ran its CHECK in the store's transactions.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import backends
import libpq
import pgbouncer
import resonate_core as rc
from postgres_urls import schema_of

FAR = 10**15
HEAD = '"head": {"corrId": "1", "version": "2026-04-01"}'
SUBMITTED = f'{{"kind": "promise.create", {HEAD}, "data": {{"id": "s", "timeoutAt": {FAR}}}}}'
TABLES = [
    "promises",
    "schedules",
    "edges",
    "messages",
    "queues",
    "queue_hours",
    "queue_deltas",
    "counters",
    "writers",
    "inbox",
    "write_lock",
    "store_version",
]
OTHERS = {
    "tables": [f"CREATE TEMP TABLE {name} (LIKE {{schema}}.{name} INCLUDING ALL)" for name in TABLES],
    "one table": ["CREATE TEMP TABLE promises (LIKE {schema}.promises INCLUDING ALL)"],
    "tables with rows": [
        "CREATE TEMP TABLE write_lock (LIKE {schema}.write_lock INCLUDING ALL)",
        "INSERT INTO pg_temp.write_lock SELECT * FROM {schema}.write_lock",
        "CREATE TEMP TABLE counters (LIKE {schema}.counters INCLUDING ALL)",
        "INSERT INTO pg_temp.counters SELECT version, sequence, seen + 1000000000000000, dropped, jobs_made, messages FROM {schema}.counters",
    ],
    "a view": ["CREATE TEMP VIEW promises AS SELECT * FROM {schema}.promises WHERE false"],
    "sequences": [f"CREATE TEMP SEQUENCE {name}" for name in ("writer_ids", "shared_commits", "job_numbers")],
    "types": [
        f"CREATE DOMAIN pg_temp.{name} AS pg_catalog.{of} CHECK (VALUE IS NULL)"
        for name, of in (
            ("text", "text"),
            ("int8", "int8"),
            ("int4", "int4"),
            ("bool", "bool"),
            ("jsonb", "jsonb"),
            ("regclass", "regclass"),
        )
    ],
}


@pytest.fixture
def pooler(postgres_url: str) -> Iterator[pgbouncer.PgBouncer]:
    """One of its own, since what another client leaves on its connections would meet other tests."""
    backends.require(backends.PGBOUNCER)
    port = urlsplit(postgres_url).port
    assert port is not None
    with pgbouncer.running(port) as pooler:
        yield pooler


@pytest.mark.parametrize("name", OTHERS)
def test_a_store_finds_its_own_tables(pooler: pgbouncer.PgBouncer, postgres_url: str, name: str) -> None:
    schema = schema_of(postgres_url)
    with (
        rc.Store(postgres_url, clock=rc.ManualClock(1000)) as direct,
        rc.Store(pooler.url(postgres_url), clock=rc.ManualClock(1000)) as store,
    ):
        store.promises.create("before", FAR)
        with libpq.Connection(pooler.url_of_database(postgres_url)) as other:
            for _ in range(2 * pgbouncer.CONNECTIONS):  # each of them, since each transaction has another one
                for sql in OTHERS[name]:
                    try:
                        other.execute(f"BEGIN; {sql.format(schema=schema)}; COMMIT")
                    except libpq.SqlError:  # this connection has it by now
                        other.execute("ROLLBACK")
        for number in range(2 * pgbouncer.CONNECTIONS):
            store.promises.create(f"p{number}", FAR, tags={"resonate:target": "poll://any@w"})
            store.promises.resolve(f"p{number}")
            assert direct.promises.get(f"p{number}").state == "resolved"
            assert store.promises.get(f"p{number}").state == "resolved"
            store.jobs.enqueue("mail", queue=f"q{number}")
            assert store.jobs.claim([f"q{number}"], worker="w", lease=1000)
        with libpq.Connection(pooler.url_of_database(postgres_url)) as other:
            other.execute(f"SELECT {schema}.submit('{SUBMITTED}')")
        store.tick()
        assert direct.promises.get("s").state == "pending"
        assert direct.now == 1000
        with rc.Store(pooler.url(postgres_url), clock=rc.ManualClock(1000)) as second:  # opening looks at the version
            assert second.promises.get("before").state == "pending"
        assert store.check() == direct.check() == []


def test_a_schema_is_made_beside_temporary_tables(pooler: pgbouncer.PgBouncer, postgres_url: str) -> None:
    with libpq.Connection(pooler.url_of_database(postgres_url)) as other:
        for _ in range(2 * pgbouncer.CONNECTIONS):
            try:
                other.execute(
                    "BEGIN; CREATE TEMP TABLE store_version (one smallint, version bigint); CREATE TEMP TABLE promises (id text); COMMIT"
                )
            except libpq.SqlError:
                other.execute("ROLLBACK")
    with rc.Store(pooler.url(postgres_url)) as store:
        store.promises.create("a", FAR)
    with rc.Store(postgres_url) as direct:
        assert direct.promises.get("a").state == "pending"
