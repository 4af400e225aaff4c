"""`submit`: a request takes effect if and only if the transaction of its submitter commits, with each of the usual libraries."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import psycopg
import psycopg.rows
import pytest
import sqlalchemy
import sqlalchemy.ext.asyncio

import libpq
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
from postgres_urls import plain, schema_of


def submit(connection: Any, url: str, id: str) -> Any:
    return rc.submit(connection, "promise.create", promise(id), schema=schema_of(url))


@pytest.fixture
def store(postgres_url: str) -> Any:
    with rc.Store(postgres_url, clock=rc.ManualClock(0)) as opened:
        yield opened


def test_a_request_happens_if_and_only_if_its_transaction_commits(store: rc.Store, postgres_url: str) -> None:
    with psycopg.connect(plain(postgres_url)) as connection:
        submit(connection, postgres_url, "rolled-back")
        connection.rollback()
        submit(connection, postgres_url, "committed")
        assert ids(store) == []  # not yet
        connection.commit()
        assert ids(store) == ["committed"]
        submit(connection, postgres_url, "of a lost connection")
        connection.pgconn.finish()
    assert ids(store) == ["committed"]
    assert store.next_due() is None  # nothing waits any more


def test_a_process_that_dies_before_its_commit_submits_nothing(store: rc.Store, postgres_url: str) -> None:
    program = (
        "import os, sys, psycopg, resonate_core as rc\n"
        "connection = psycopg.connect(sys.argv[1])\n"
        "def create(id): rc.submit(connection, 'promise.create', {'id': id, 'timeoutAt': 10**15}, schema=sys.argv[2])\n"
        "create('a'); connection.commit()\n"
        "create('b'); os._exit(9)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, plain(postgres_url), schema_of(postgres_url)], check=False)
    assert done.returncode == 9
    assert ids(store) == ["a"]


def test_requests_run_once_in_the_order_of_their_submission(store: rc.Store, postgres_url: str) -> None:
    with psycopg.connect(plain(postgres_url)) as connection:
        for kind, data in created_and_settled(250):  # more than one tick takes at once
            rc.submit(connection, kind, data, schema=schema_of(postgres_url))
    store.tick()
    assert store.counts()["promises"]["resolved"] == 250
    assert store.problems() == []
    assert libpq.Connection(plain(postgres_url)).execute(f"SELECT count(*) FROM {schema_of(postgres_url)}.inbox") == [("0",)]


def test_a_refused_request_keeps_its_status_and_stops_nothing(store: rc.Store, postgres_url: str) -> None:
    store.promises.create("taken", FAR)
    store.promises.resolve("taken", "done")
    schema = schema_of(postgres_url)
    with psycopg.connect(plain(postgres_url)) as connection:
        refused = [rc.submit(connection, "task.acquire", {"id": "taken", "version": 0, "pid": "w", "ttl": 1}, schema=schema)]
        for text in texts_to_refuse():
            refused.append(connection.execute(f"SELECT {schema}.submit(%s::jsonb)", [text]).fetchone()[0])
        submit(connection, postgres_url, "after")
    assert ids(store) == ["after", "taken"]
    check_refused(store, refused)


@pytest.mark.parametrize(
    ("request_text", "rule"),
    [
        ("NULL", "request must be an object, got NULL"),
        ("'[]'", "request must be an object, got []"),
        ("'{\"data\": {}}'", "request.kind must be a string, got none"),
        ('\'{"kind": 1, "data": {}}\'', "request.kind must be a string, got 1"),
        ('\'{"kind": "promise.create"}\'', "request.data must be an object, got none"),
    ],
)
def test_the_shape_is_checked_at_once(store: rc.Store, postgres_url: str, request_text: str, rule: str) -> None:
    with (
        psycopg.connect(plain(postgres_url)) as connection,
        pytest.raises(psycopg.DataError, match=r"^" + rule.replace("[", r"\[")),
    ):
        connection.execute(f"SELECT {schema_of(postgres_url)}.submit({request_text})")


def test_a_role_that_submits_needs_no_table(store: rc.Store, postgres_url: str) -> None:
    schema, role = schema_of(postgres_url), f"submitter_{schema_of(postgres_url)}"
    with psycopg.connect(plain(postgres_url), autocommit=True) as connection:
        connection.execute(f"DROP ROLE IF EXISTS {role}; CREATE ROLE {role}; GRANT USAGE ON SCHEMA {schema} TO {role}")
        connection.execute(f"GRANT EXECUTE ON FUNCTION {schema}.submit(jsonb) TO {role}")
        try:
            connection.execute(f"SET ROLE {role}")
            # A table of its own with that name must not get the row.
            connection.execute("CREATE TEMP TABLE inbox (number bigint GENERATED ALWAYS AS IDENTITY, request text)")
            submit(connection, postgres_url, "a")
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(f"SELECT * FROM {schema}.inbox")
        finally:
            connection.execute(f"RESET ROLE; DROP TABLE pg_temp.inbox; DROP OWNED BY {role}; DROP ROLE {role}")
    assert ids(store) == ["a"]


def test_a_request_of_any_caller_comes_after_what_was_submitted(store: rc.Store, postgres_url: str) -> None:
    """A process that uses the store but never ticks runs submissions, too."""
    with psycopg.connect(plain(postgres_url)) as connection:
        submit(connection, postgres_url, "a")
    store.promises.create("b", FAR)
    assert store.promises.get("a").state == "pending"


def test_a_worker_gets_a_job_that_was_submitted(postgres_url: str) -> None:
    with rc.Store(postgres_url) as store, psycopg.connect(plain(postgres_url)) as connection:
        check_worker(store, connection, schema=schema_of(postgres_url))


def psycopg_connection(url: str) -> None:
    with psycopg.connect(plain(url), row_factory=psycopg.rows.dict_row) as connection:
        submit(connection, url, "a")
        with connection.cursor() as cursor:
            submit(cursor, url, "b")


def sqlalchemy_url(url: str, driver: str) -> str:
    return plain(url).replace("postgresql://", f"postgresql+{driver}://")


def django_connection(url: str) -> None:
    """Runs in a process of its own, because Django can be configured only once."""
    parts = urlsplit(url)
    settings = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path[1:],
        "USER": parts.username,
        "HOST": parts.hostname,
        "PORT": parts.port,
    }
    program = f"""
import json, sys, django, resonate_core as rc
from django.conf import settings
settings.configure(DATABASES={{"default": json.loads(sys.argv[1])}})
django.setup()
from django.db import connection, transaction
def create(id): rc.submit(connection, "promise.create", {{"id": id, "timeoutAt": {FAR}}}, schema={schema_of(url)!r})
with transaction.atomic():
    create("a")
try:
    with transaction.atomic():
        create("c")
        raise KeyError
except KeyError:
    create("b")
"""
    subprocess.run([sys.executable, "-c", program, json.dumps(settings)], check=True)


async def of_asyncpg(url: str) -> None:
    connection = await asyncpg.connect(plain(url))
    async with connection.transaction():
        await submit(connection, url, "a")
    transaction = connection.transaction()
    await transaction.start()
    await submit(connection, url, "c")
    await transaction.rollback()
    await connection.close()
    async with asyncpg.create_pool(plain(url), min_size=1, max_size=1) as pool, pool.acquire() as connection:
        await submit(connection, url, "b")


async def of_psycopg(url: str) -> None:
    async with await psycopg.AsyncConnection.connect(plain(url)) as connection:
        await submit(connection, url, "a")
        async with connection.cursor() as cursor:
            await submit(cursor, url, "b")


LIBRARIES = {
    "psycopg": psycopg_connection,
    "SQLAlchemy": lambda url: through_sqlalchemy(
        sqlalchemy.create_engine(sqlalchemy_url(url, "psycopg")), lambda connection, id: submit(connection, url, id)
    ),
    "Django": django_connection,
    "asyncpg": lambda url: asyncio.run(of_asyncpg(url)),
    "psycopg, asynchronous": lambda url: asyncio.run(of_psycopg(url)),
    "SQLAlchemy, asynchronous": lambda url: asyncio.run(
        through_async_sqlalchemy(
            sqlalchemy.ext.asyncio.create_async_engine(sqlalchemy_url(url, "asyncpg")),
            lambda connection, id: submit(connection, url, id),
        )
    ),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_connection_of(library: str, store: rc.Store, postgres_url: str) -> None:
    LIBRARIES[library](postgres_url)
    assert ids(store) == ["a", "b"]


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ({"kind": ""}, "kind must be the name of a request, got ''"),
        ({"kind": "promise.creat"}, "promise.creat"),
        ({"kind": "promise.get", "data": {"id": "a"}}, "a submitted request must change something"),
        ({"kind": "debug.reset", "data": {}}, "a submitted request must change something"),
        ({"data": {"id": "a"}}, "timeoutAt"),
        ({"data": []}, r"data must be a mapping, got \[\]"),
        ({"data": {"id": {1}}}, "data must hold what JSON can hold"),
        ({"schema": "a; b"}, "schema must be 1 to 63 of a-z, 0-9 and _, got 'a; b'"),
    ],
)
def test_what_is_no_request_is_refused_before_it_is_sent(arguments: dict[str, Any], rule: str) -> None:
    with pytest.raises(rc.Invalid, match=rule):
        rc.submit(**{"connection": None, "kind": "promise.create", "data": promise("a")} | arguments)


@pytest.mark.parametrize("connection", [None, object()])
def test_what_is_no_connection_is_refused(connection: object) -> None:
    with pytest.raises(rc.Unsupported, match="connection must be of sqlite3"):
        rc.submit(connection, "promise.create", promise("a"))
