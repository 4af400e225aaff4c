"""`resonate.submit` was executable by PUBLIC: a role of a report, with USAGE and SELECT, submitted `job.cancel`, and the next tick cancelled
the payments. What a store makes gives PUBLIC nothing, in a new schema and after a migration, which names the roles that lose the right."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest

import postgres_server
import resonate_core as rc
from backends import POSTGRES, require
from postgres_schemas import without_children

FAR = 10**15
CANCEL = '{"kind": "job.cancel", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"type": "pay"}}'
ROLES = ("bi", "Till Nr. 1", "app", "nobody", "granted")
DATABASE = "shared_by_roles"

OF_PUBLIC = """
WITH objects (kind, name, acl) AS (
  SELECT CASE relkind WHEN 'S' THEN 'sequence' ELSE 'table' END, relname, coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r'
    END::"char", relowner)) FROM pg_class WHERE relnamespace = 'resonate'::regnamespace AND relkind IN ('r', 'v', 'm', 'S', 'p', 'f')
  UNION ALL SELECT 'column', attname, attacl FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = 'resonate'::regnamespace AND attacl IS NOT NULL
  UNION ALL SELECT 'function', proname, coalesce(proacl, acldefault('f', proowner)) FROM pg_proc WHERE pronamespace = 'resonate'::regnamespace
  UNION ALL SELECT 'type', typname, coalesce(typacl, acldefault('T', typowner)) FROM pg_type
    WHERE typnamespace = 'resonate'::regnamespace AND typelem = 0
  UNION ALL SELECT 'schema', nspname, coalesce(nspacl, acldefault('n', nspowner)) FROM pg_namespace WHERE nspname = 'resonate'
)
SELECT kind, name, privilege_type FROM objects, aclexplode(acl) WHERE grantee = 0 ORDER BY 1, 2
"""
"""The privileges of PUBLIC on what is in the schema, by the catalogue: a NULL acl is the default of its kind of object."""


@pytest.fixture
def server() -> Iterator[postgres_server.PostgresServer]:
    require(POSTGRES)
    server = postgres_server.shared()
    with server.database_in_turn(DATABASE):
        for role in ROLES:
            server.execute(f'DROP ROLE IF EXISTS "{role}"; CREATE ROLE "{role}" LOGIN', DATABASE)
        yield server
        for role in ROLES:
            server.execute(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"', DATABASE)


def as_role(server: postgres_server.PostgresServer, role: str) -> psycopg.Connection:
    connection = psycopg.connect(server.url(DATABASE), autocommit=True)
    connection.execute(f'SET SESSION AUTHORIZATION "{role}"')
    return connection


def let_read(server: postgres_server.PostgresServer, role: str) -> None:
    server.execute(
        f'GRANT USAGE ON SCHEMA resonate TO "{role}"; GRANT SELECT ON ALL TABLES IN SCHEMA resonate TO "{role}"', DATABASE
    )


def give_schema_of_version_6(server: postgres_server.PostgresServer) -> None:
    server.execute(
        without_children("resonate") + "GRANT EXECUTE ON FUNCTION resonate.submit(jsonb), resonate.submission(jsonb) TO PUBLIC; "
        "ALTER TABLE resonate.inbox DROP CONSTRAINT IF EXISTS inbox_request_bytes; UPDATE resonate.store_version SET version = 6",
        DATABASE,
    )


def test_a_role_that_reads_submits_nothing(server: postgres_server.PostgresServer) -> None:
    with rc.Store(server.url(DATABASE)) as store:
        store.jobs.enqueue("pay", id="payment")
        let_read(server, "bi")
        with as_role(server, "bi") as connection:
            assert connection.execute("SELECT count(*) FROM resonate.promises").fetchone() == (1,)
            writes = [
                f"SELECT resonate.submit('{CANCEL}')",
                f"SELECT resonate.submission('{CANCEL}')",
                f"INSERT INTO resonate.inbox (request) VALUES ('{CANCEL}')",
                "UPDATE resonate.promises SET state = 0",
                "DELETE FROM resonate.promises",
                "TRUNCATE resonate.promises",
                "SELECT nextval('resonate.writer_ids')",
                "SELECT FROM resonate.write_lock FOR UPDATE",
                "DO $$ BEGIN LOCK TABLE resonate.write_lock IN EXCLUSIVE MODE; END $$",
                "CREATE TABLE resonate.more ()",
                "CREATE FUNCTION resonate.submission(a json) RETURNS text LANGUAGE sql AS 'SELECT 1'",
                "CREATE TEMP TABLE of_ours (one resonate.promises)",
            ]
            for sql in writes:
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(sql)
        store.tick()
        assert store.jobs.get("payment").state == "pending"


@pytest.mark.parametrize("how", ["new", "migrated"])
def test_public_has_nothing(server: postgres_server.PostgresServer, how: str) -> None:
    """Default privileges of the owner may give PUBLIC rights on each new object."""
    for what in ("TABLES", "SEQUENCES", "FUNCTIONS", "TYPES"):
        server.execute(f"ALTER DEFAULT PRIVILEGES GRANT ALL ON {what} TO PUBLIC", DATABASE)
    with rc.Store(server.url(DATABASE)) as store:
        store.promises.create("a", FAR)
    if how == "migrated":
        give_schema_of_version_6(server)
        server.execute(
            "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA resonate TO PUBLIC; GRANT UPDATE (status) ON resonate.inbox TO PUBLIC; "
            "GRANT USAGE ON SEQUENCE resonate.writer_ids TO PUBLIC",
            DATABASE,
        )
        assert len(server.execute(OF_PUBLIC, DATABASE)) > 10
        rc.Store(server.url(DATABASE)).close()
    assert server.execute(OF_PUBLIC, DATABASE) == []


def test_a_migration_names_the_roles_that_lose_the_right(
    server: postgres_server.PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    url = server.url(DATABASE)
    with caplog.at_level(logging.WARNING, "resonate_core"):
        rc.Store(url).close()
        assert caplog.messages == []
        for role in ("bi", "Till Nr. 1", "granted"):
            let_read(server, role)
        give_schema_of_version_6(server)
        server.execute("GRANT EXECUTE ON FUNCTION resonate.submit(jsonb) TO granted", DATABASE)
        rc.Store(url).close()
    (said,) = caplog.messages
    assert "took the right to submit requests from PUBLIC, so these roles lost it: Till Nr. 1, bi. " in said
    grant = 'GRANT EXECUTE ON FUNCTION "resonate".submit(jsonb) TO "Till Nr. 1", bi;'
    assert said.endswith(grant)
    server.execute(grant, DATABASE)
    with as_role(server, "bi") as connection:
        rc.submit(connection, "promise.create", {"id": "a", "timeoutAt": FAR})
    caplog.clear()
    with caplog.at_level(logging.WARNING, "resonate_core"), rc.Store(url) as store:
        store.tick()
        assert store.promises.get("a").state == "pending"
    assert caplog.messages == []


def test_the_command_prints_the_roles(server: postgres_server.PostgresServer) -> None:
    url = server.url(DATABASE)
    rc.Store(url).close()
    let_read(server, "bi")
    give_schema_of_version_6(server)
    command = [sys.executable, "-m", "resonate_core", "migrate", "--db", url]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stderr.endswith('GRANT EXECUTE ON FUNCTION "resonate".submit(jsonb) TO bi;\n')


def test_an_owner_who_had_revoked_the_right_is_told_nothing(
    server: postgres_server.PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    url = server.url(DATABASE)
    rc.Store(url).close()
    let_read(server, "bi")
    give_schema_of_version_6(server)
    server.execute("REVOKE EXECUTE ON FUNCTION resonate.submit(jsonb) FROM PUBLIC", DATABASE)
    rc.Store(url).close()
    assert caplog.messages == []


def test_a_role_that_may_submit_touches_no_table(server: postgres_server.PostgresServer) -> None:
    with rc.Store(server.url(DATABASE)) as store:
        server.execute(
            "GRANT USAGE ON SCHEMA resonate TO app; GRANT EXECUTE ON FUNCTION resonate.submit(jsonb) TO app; CREATE SCHEMA app AUTHORIZATION app",
            DATABASE,
        )
        with as_role(server, "app") as connection:
            # Its own objects of the same names, before ours on its path, and its settings must not change what the function does.
            connection.execute("CREATE TABLE app.inbox (number bigint GENERATED ALWAYS AS IDENTITY, request text)")
            connection.execute("CREATE FUNCTION app.jsonb_typeof(jsonb) RETURNS text LANGUAGE sql AS $$SELECT 'object'$$")
            connection.execute("SET search_path TO app, pg_catalog, resonate; SET default_transaction_read_only = off")
            rc.submit(connection, "promise.create", {"id": "a", "timeoutAt": FAR})
            with pytest.raises(psycopg.DataError, match="request must be an object"):
                connection.execute("SELECT resonate.submit('[]')")
            for sql in ("SELECT FROM resonate.inbox", "SELECT resonate.submission('{}')", "DELETE FROM resonate.promises"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(sql)
            assert connection.execute("SELECT count(*) FROM app.inbox").fetchone() == (0,)
        store.tick()
        assert store.promises.get("a").state == "pending"


def test_a_role_that_inserts_into_the_inbox_stops_nothing(server: postgres_server.PostgresServer) -> None:
    """It can write any text, number and status; the store refuses what is no request, and runs the others."""
    with rc.Store(server.url(DATABASE)) as store:
        server.execute("GRANT USAGE ON SCHEMA resonate TO app; GRANT INSERT ON resonate.inbox TO app", DATABASE)
        with as_role(server, "app") as connection:
            insert = "INSERT INTO resonate.inbox (number, request, status, error) OVERRIDING SYSTEM VALUE VALUES (%s, %s, %s, %s)"
            for number, text, status, error in (
                (-5, "no json", None, None),
                (0, "{" * 100_000, None, "x"),
                (2**63 - 1, '{"kind": "promise.create"}', None, None),
                (2**62, "refused by nobody", 99_999, None),
                (7, "refused by nobody", -1, "x" * 100_000),
            ):
                connection.execute(insert, (number, text, status, error))
            with pytest.raises(psycopg.errors.CheckViolation):
                connection.execute(insert, (1, "A" * 17_000_000, None, None))
        with psycopg.connect(server.url(DATABASE)) as connection:
            rc.submit(connection, "promise.create", {"id": "a", "timeoutAt": FAR})
        store.tick()
        assert store.promises.get("a").state == "pending"
        problems = store.problems()
        assert len(problems) == 5 and all(len(problem.detail) < 1100 for problem in problems)


def test_a_role_that_chooses_numbers_takes_none_of_others(server: postgres_server.PostgresServer) -> None:
    """Numbers of the next requests, taken by OVERRIDING SYSTEM VALUE, kept them waiting while the transaction was open, and then refused
    them: each row is numbered by the sequence."""
    with rc.Store(server.url(DATABASE)) as store:
        server.execute("GRANT USAGE ON SCHEMA resonate TO app; GRANT INSERT ON resonate.inbox TO app", DATABASE)
        taken = (
            "INSERT INTO resonate.inbox (number, request) OVERRIDING SYSTEM VALUE SELECT n, '{}' FROM generate_series(1, 200) AS n"
        )
        with as_role(server, "app") as connection, psycopg.connect(server.url(DATABASE)) as shop:
            shop.execute("SET statement_timeout = '60s'")
            connection.execute("BEGIN")
            connection.execute(taken)
            rc.submit(shop, "promise.create", {"id": "while open", "timeoutAt": FAR})
            connection.execute("COMMIT")
            for number in range(10):
                rc.submit(shop, "promise.create", {"id": f"after {number}", "timeoutAt": FAR})
            shop.commit()
            numbers = [row[0] for row in shop.execute("SELECT number FROM resonate.inbox").fetchall()]
        assert len(set(numbers)) == len(numbers) == 211
        store.tick()
        assert {promise.id for promise in store.promises.search()} == {"while open", *(f"after {number}" for number in range(10))}


def test_the_migration_numbers_the_rows_of_an_older_schema(server: postgres_server.PostgresServer) -> None:
    """Requests that wait keep their numbers, and run before those that come later."""
    with rc.Store(server.url(DATABASE)):
        pass
    with psycopg.connect(server.url(DATABASE), autocommit=True) as shop:
        older = "DROP TRIGGER IF EXISTS number_submission ON resonate.inbox; DROP FUNCTION IF EXISTS resonate.number_submission"
        shop.execute(without_children("resonate"))
        shop.execute(
            f"{older}; ALTER TABLE resonate.inbox DROP CONSTRAINT inbox_request_bytes; UPDATE resonate.store_version SET version = 6"
        )
        rc.submit(shop, "promise.create", {"id": "a", "timeoutAt": FAR, "tags": {"n": "first"}})
        with rc.Store(server.url(DATABASE)) as store:
            rc.submit(shop, "promise.create", {"id": "a", "timeoutAt": FAR, "tags": {"n": "second"}})
            store.tick()
            assert dict(store.promises.get("a").tags) == {"n": "first"}
            assert store.check() == []
