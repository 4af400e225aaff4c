"""A role with CREATE on the database made the schema `resonate` before the store did, and granted it to the store's role. The store made
its tables there. The owner of the schema then put a view in the place of a table, and its functions ran with the rights of the store.

A store refuses a schema, or tables, of a role that it has no reason to trust: any but its own, one that it is a member of, the owner of
the database, a superuser and the one that the URL names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import libpq
import pgbouncer
import postgres_server
import resonate_core as rc
from backends import PGBOUNCER, POSTGRES, require
from resonate_core._core import schema_versions

DATABASE = f"of_others_{os.getpid()}"
#: The store's role, another one, the owner of the database, and a group of the store's role.
STORE, DEV, ADMIN, TEAM = (f"{name}_{os.getpid()}" for name in ("store", "dev", "admin", "team"))
FAR = 10**15


class Place:
    """A database with these roles."""

    def __init__(self) -> None:
        self.server = postgres_server.shared()
        for role in (STORE, DEV, ADMIN, TEAM):
            self.server.execute(f"DROP ROLE IF EXISTS {role}; CREATE ROLE {role} LOGIN")
        self.server.execute(f"GRANT {TEAM} TO {STORE}")
        self.server.execute(f"CREATE DATABASE {DATABASE} OWNER {ADMIN}")
        self.server.execute(f"GRANT CREATE ON DATABASE {DATABASE} TO {STORE}, {DEV}, {TEAM}")

    def url(self, role: str = STORE, **parameters: str) -> str:
        """The URL of the database for a role."""
        return self.server.url(DATABASE, **parameters).replace(f"//{postgres_server.USER}@", f"//{role}@")

    def execute(self, role: str, sql: str) -> list[tuple[str | None, ...]]:
        """Runs SQL as a role."""
        with libpq.Connection(self.url(role)) as connection:
            return connection.execute(sql)

    def drop(self) -> None:
        """Drops the database and the roles."""
        self.server.drop_database(DATABASE)
        for role in (STORE, DEV, ADMIN, TEAM):
            self.server.execute(f"DROP ROLE {role}")


@pytest.fixture
def place() -> Iterator[Place]:
    require(POSTGRES)
    place = Place()
    yield place
    place.drop()


def _works(url: str) -> None:
    for _ in range(2):
        with rc.Store(url) as store:
            store.promises.create("a", FAR)
            assert store.promises.get("a").state == "pending"


def _refused(url: str, role: str) -> None:
    for opens in (rc.Store, lambda url: rc.Store(url, read_only=True), schema_versions):
        with pytest.raises(rc.StoreError, match=f'must be .*, got "{role}", which could run code with the rights of this store'):
            opens(url)


@pytest.mark.parametrize("grants", ["", f"GRANT ALL ON SCHEMA resonate TO {STORE}"], ids=["no right", "all rights"])
def test_an_empty_schema_of_another_role(place: Place, grants: str) -> None:
    place.execute(DEV, f"CREATE SCHEMA resonate; {grants}")
    _refused(place.url(), DEV)
    assert place.server.execute("SELECT count(*) FROM pg_class WHERE relnamespace = 'resonate'::regnamespace", DATABASE) == [("0",)]
    _works(place.url(schema="another"))


def test_a_store_that_another_role_made(place: Place) -> None:
    """Its tables, triggers and views are all of that role."""
    rc.Store(place.url(DEV)).close()
    place.execute(
        DEV,
        f"GRANT ALL ON SCHEMA resonate TO {STORE}; GRANT ALL ON ALL TABLES IN SCHEMA resonate TO {STORE}; "
        f"GRANT ALL ON ALL SEQUENCES IN SCHEMA resonate TO {STORE}",
    )
    _refused(place.url(), DEV)
    _refused(place.server.url(DATABASE), DEV)  # a superuser is a member of every role, and has the most to lose
    _works(place.url(owner=DEV))  # the operator has decided to trust it


@pytest.mark.parametrize("owner", [STORE, ADMIN, TEAM, "a superuser"], ids=["own", "owner of the database", "group", "superuser"])
def test_a_schema_that_an_administrator_made(place: Place, owner: str) -> None:
    if owner == TEAM and int(str(place.server.execute("SHOW server_version_num")[0][0])) < 150_000:
        pytest.skip("before version 15 a role can make any other its member, so membership is no reason to trust it")
    creates = f"CREATE SCHEMA resonate; GRANT ALL ON SCHEMA resonate TO {STORE}"
    if owner == "a superuser":
        place.server.execute(creates, DATABASE)
    else:
        place.execute(owner, creates)
    _works(place.url())


def test_a_table_of_another_role(place: Place) -> None:
    place.server.execute(f"CREATE SCHEMA resonate; GRANT ALL ON SCHEMA resonate TO {STORE}, {DEV}", DATABASE)
    _works(place.url())
    place.server.execute(f"ALTER TABLE resonate.inbox OWNER TO {DEV}", DATABASE)
    _refused(place.url(), DEV)


def test_a_view_in_place_of_a_table(place: Place) -> None:
    """As after an attack on an earlier release: the owner of the schema is another one by now."""
    place.server.execute(f"CREATE SCHEMA resonate; GRANT ALL ON SCHEMA resonate TO {STORE}", DATABASE)
    _works(place.url())
    place.execute(STORE, "ALTER TABLE resonate.inbox RENAME TO inbox0; CREATE VIEW resonate.inbox AS SELECT * FROM resonate.inbox0")
    for opens in (rc.Store, schema_versions):
        with pytest.raises(rc.StoreError, match=r"resonate\.inbox must be a table of a store, got another object"):
            opens(place.url())


def test_a_version_that_is_code(place: Place) -> None:
    """Not even the version is read from a schema of another role: a view would compute it with the rights of the store."""
    place.execute(
        DEV,
        f"CREATE SCHEMA resonate; GRANT ALL ON SCHEMA resonate TO {STORE}; CREATE TABLE resonate.taken (who text); "
        "GRANT ALL ON resonate.taken TO PUBLIC; CREATE FUNCTION resonate.evil() RETURNS bigint LANGUAGE sql AS "
        "$$INSERT INTO resonate.taken VALUES (current_user); SELECT 1::bigint$$; "
        "CREATE VIEW resonate.store_version AS SELECT 1::smallint AS one, resonate.evil() AS version; "
        "GRANT ALL ON resonate.store_version TO PUBLIC",
    )
    _refused(place.url(), DEV)
    assert place.execute(DEV, "SELECT * FROM resonate.taken") == []


def test_behind_a_pooler(place: Place) -> None:
    require(PGBOUNCER)
    place.execute(DEV, f"CREATE SCHEMA resonate; GRANT ALL ON SCHEMA resonate TO {STORE}")
    url = pgbouncer.shared().url(place.url())
    _refused(url, DEV)
    _works(f"{url}&schema=another")
