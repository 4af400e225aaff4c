"""Tables of another system in the schema `resonate` gave an SQL error of a table that exists, and a table `store_version` of its own was
read as ours. A role that may not create schemas could not make the tables in one that was there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import postgres_server
import resonate_core as rc
from backends import POSTGRES, require
from postgres_schemas import without_children
from resonate_core._core import schema_versions

FAR = 10**15
CATALOGUE = """
SELECT string_agg(n.nspname || '.' || c.relname, ' ' ORDER BY c.oid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname NOT LIKE 'pg%' AND n.nspname <> 'information_schema'
"""
OTHERS = {
    "tables": (
        "CREATE TABLE resonate.promises (id text PRIMARY KEY); CREATE TABLE resonate.schedules (id text)",
        "promises, schedules",
    ),
    "a version of its own": (
        "CREATE TABLE resonate.store_version (version text); INSERT INTO resonate.store_version VALUES ('v7')",
        "store_version",
    ),
    "an index": ("CREATE TABLE resonate.t (a int); CREATE INDEX promises_by_due ON resonate.t (a)", "promises_by_due"),
    "a view": ("CREATE VIEW resonate.counters AS SELECT 1", "counters"),
    "a type": ("CREATE TYPE resonate.edges AS ENUM ('a')", "edges"),
    "a function": ("CREATE FUNCTION resonate.submit(a jsonb) RETURNS int LANGUAGE sql AS 'SELECT 1'", "submit"),
}


@pytest.fixture
def server() -> Iterator[postgres_server.PostgresServer]:
    require(POSTGRES)
    server = postgres_server.shared()
    with server.database_in_turn("shared_by_two"):
        yield server


@pytest.mark.parametrize("other", OTHERS)
def test_it_is_refused_and_nothing_changes(server: postgres_server.PostgresServer, other: str) -> None:
    made, names = OTHERS[other]
    server.execute(f"CREATE SCHEMA resonate; {made}", "shared_by_two")
    before = server.execute(CATALOGUE, "shared_by_two")
    url = server.url("shared_by_two")
    with pytest.raises(rc.StoreError) as refused:
        rc.Store(url)
    assert f'names that another program uses in the schema "resonate" ({names}), so nothing was changed: name another' in str(
        refused.value
    )
    with pytest.raises(rc.StoreError, match="it has no tables, and a read-only store creates none"):
        rc.Store(url, read_only=True)
    assert schema_versions(url)[1] is None
    assert server.execute(CATALOGUE, "shared_by_two") == before
    with rc.Store(f"{url}?schema=another") as store:
        assert store.promises.create("a", FAR).state == "pending"


def test_a_function_beside_tables_of_an_older_release_is_kept(server: postgres_server.PostgresServer) -> None:
    """The migration to version 6 replaced a function `submission` of the application."""
    url = server.url("shared_by_two")
    with rc.Store(url) as store:
        store.promises.create("a", FAR)
    server.execute("DROP FUNCTION resonate.submit; DROP FUNCTION resonate.submission", "shared_by_two")
    server.execute(without_children("resonate") + "UPDATE resonate.store_version SET version = 5", "shared_by_two")
    server.execute(
        "CREATE FUNCTION resonate.submission(request jsonb) RETURNS text LANGUAGE sql AS 'SELECT 1::text'; "
        "CREATE FUNCTION resonate.submit(request jsonb) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
        "shared_by_two",
    )
    with pytest.raises(rc.StoreError) as refused:
        rc.Store(url)
    assert 'another program uses in the schema "resonate" (submission), so nothing was changed: rename them, or' in str(
        refused.value
    )
    assert server.execute("SELECT resonate.submission('{}'), version FROM resonate.store_version", "shared_by_two") == [("1", "5")]
    server.execute("ALTER FUNCTION resonate.submission RENAME TO submission_of_forms", "shared_by_two")
    with rc.Store(url) as store:
        assert store.promises.get("a").state == "pending"


def test_other_names_in_a_schema_do_no_harm(server: postgres_server.PostgresServer) -> None:
    server.execute(
        "CREATE TABLE public.orders (id text); CREATE FUNCTION public.submit(a int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "shared_by_two",
    )
    with rc.Store(server.url("shared_by_two", schema="public")) as store:
        assert store.promises.create("a", FAR).state == "pending"


def test_a_role_without_create_on_the_database(server: postgres_server.PostgresServer) -> None:
    server.execute(
        "DROP ROLE IF EXISTS tenant; CREATE ROLE tenant LOGIN; REVOKE CREATE ON DATABASE shared_by_two FROM PUBLIC; "
        "CREATE SCHEMA tenant_a AUTHORIZATION tenant; CREATE SCHEMA of_others",
        "shared_by_two",
    )
    url = server.url("shared_by_two").replace("postgresql://resonate@", "postgresql://tenant@")
    try:
        with rc.Store(f"{url}?schema=tenant_a") as store:
            store.promises.create("a", FAR)
        with rc.Store(f"{url}?schema=tenant_a") as store:
            assert store.promises.get("a").state == "pending"
        with pytest.raises(rc.StoreError, match="permission denied for database"):
            rc.Store(f"{url}?schema=tenant_b")
        with pytest.raises(rc.StoreError, match="permission denied for schema"):
            rc.Store(f"{url}?schema=of_others")
    finally:
        server.execute("DROP OWNED BY tenant CASCADE; DROP ROLE tenant", "shared_by_two")
