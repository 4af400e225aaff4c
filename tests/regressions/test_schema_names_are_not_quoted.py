"""A schema whose name is a reserved word, or begins with a digit, was a syntax error, although its alphabet is the documented one.

A schema that was renamed kept the function `submit` of its old name: when another store had that name, requests came into its inbox.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import pgbouncer
import postgres_server
import resonate_core as rc
from backends import PGBOUNCER, POSTGRES, require
from postgres_schemas import without_children
from resonate_core._core import schema_versions
from resonate_core.worker import Worker

FAR = 10**15
NAMES = ["order", "user", "all", "2024", "1a", "_", "0", "select", "a" * 63]


@pytest.fixture
def database() -> Iterator[str]:
    require(POSTGRES)
    with postgres_server.shared().database_in_turn("names") as url:
        yield url


def submit(database: str, schema: str, id: str) -> None:
    with psycopg.connect(database) as connection:
        rc.submit(connection, "promise.create", {"id": id, "timeoutAt": FAR}, schema=schema)


def use(url: str, database: str, schema: str) -> None:
    """Uses all that names the schema."""
    with rc.Store(url) as store, rc.Store(url) as other:
        store.promises.create("a", FAR)
        submit(database, schema, "b")
        assert store.tick() is not None
        assert [promise.id for promise in other.promises.search("*")] == ["a", "b"]
        assert (store.url or "").endswith(f"?schema={schema}")
        store.vacuum()
        ran: list[Any] = []
        worker = Worker(store)
        task = worker.task("t")(ran.append)
        with psycopg.connect(database) as connection:
            task.submit(connection, 1, schema=schema)
        store.tick()
        assert len(list(store.jobs.search())) == 1
        assert store.check() == []
    with rc.Store(url, read_only=True) as store:
        assert store.promises.get("b").state == "pending"
    assert schema_versions(url)[1] == schema_versions(url)[2]


@pytest.mark.parametrize("schema", NAMES)
def test_any_documented_name(database: str, schema: str) -> None:
    use(f"{database}?schema={schema}", database, schema)


def test_behind_a_pooler(database: str) -> None:
    require(PGBOUNCER)
    use(pgbouncer.shared().url(f"{database}?schema=order"), database, "order")


def test_notices_name_the_schema(database: str) -> None:
    with rc.Store(f"{database}?schema=2order") as store, psycopg.connect(database, autocommit=True) as listener:
        listener.execute("LISTEN resonate_core")
        store.jobs.enqueue("t")
        (notice,) = listener.notifies(timeout=60, stop_after=1)
        assert notice.payload.split()[0] == "2order"  # then what became claimable


@pytest.mark.parametrize("schema", ["pg_temp", "pg_catalog", "pg_mine", "information_schema"])
def test_the_names_of_postgres_itself(database: str, schema: str) -> None:
    with pytest.raises(rc.Invalid, match="schema must not begin with pg_ or be information_schema"):
        rc.Store(f"{database}?schema={schema}")


def test_a_renamed_schema_gets_its_own_requests(database: str) -> None:
    server = postgres_server.shared()
    rc.Store(f"{database}?schema=ten_a").close()
    server.execute("ALTER SCHEMA ten_a RENAME TO ten_old", "names")
    with rc.Store(f"{database}?schema=ten_a") as new:
        submit(database, "ten_old", "for-old")
        server.execute('SET search_path TO ten_a; SELECT ten_old.submit(\'{"kind": "promise.get", "data": {}}\')', "names")
        submit(database, "ten_a", "for-new")
        new.tick()
        assert [promise.id for promise in new.promises.search("*")] == ["for-new"]
    with rc.Store(f"{database}?schema=ten_old") as old:
        old.tick()
        assert [promise.id for promise in old.promises.search("*")] == ["for-old"]
        assert len(old.problems()) == 1


def test_a_store_whose_schema_was_renamed_makes_no_new_one(database: str) -> None:
    """It would continue without its promises."""
    server = postgres_server.shared()
    with rc.Store(f"{database}?schema=moved") as store:
        store.promises.create("a", FAR)
        server.execute("ALTER SCHEMA moved RENAME TO elsewhere", "names")
        server.terminate_backends("names")
        with pytest.raises(rc.StoreError, match="its tables are gone: the schema was dropped or renamed while the store was open"):
            store.promises.create("b", FAR)
        assert server.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'moved'", "names") == [("0",)]
        server.execute("ALTER SCHEMA elsewhere RENAME TO moved", "names")
        assert store.promises.create("b", FAR).state == "pending"


def test_an_older_schema_gets_the_new_function_and_keeps_its_grants(database: str) -> None:
    server = postgres_server.shared()
    rc.Store(f"{database}?schema=older").close()
    server.execute(
        without_children("older")
        + """
        CREATE OR REPLACE FUNCTION older.submit(request jsonb) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
        SET search_path TO older, pg_temp AS $$ BEGIN INSERT INTO inbox (request) VALUES ($1::text); RETURN 1; END $$;
        DROP FUNCTION older.submission(jsonb);
        REVOKE EXECUTE ON FUNCTION older.submit(jsonb) FROM PUBLIC;
        UPDATE older.store_version SET version = 5
        """,
        "names",
    )
    rc.Store(f"{database}?schema=older").close()
    server.execute("ALTER SCHEMA older RENAME TO oldest", "names")
    rc.Store(f"{database}?schema=older").close()
    submit(database, "oldest", "a")
    with rc.Store(f"{database}?schema=oldest") as store:
        store.tick()
        assert store.promises.get("a").state == "pending"
    granted = "SELECT has_function_privilege('pg_monitor', 'oldest.submit(jsonb)', 'EXECUTE')"
    assert server.execute(granted, "names") == [("f",)]
