"""The dashboard asks for its indexes. PostgreSQL refuses that to a role that does not own the tables, even if the indexes exist."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import pgbouncer
import postgres_server
import resonate_core as rc
from backends import PGBOUNCER, POSTGRES, require

ROLE = f"no_owner_{os.getpid()}"


@pytest.fixture
def url() -> Iterator[str]:
    """The URL of a new database."""
    require(POSTGRES)
    server = postgres_server.shared()
    with server.database_in_turn("indexes") as url:
        yield url
    server.execute(f"DROP ROLE IF EXISTS {ROLE}")


def test_a_role_that_owns_no_table(url: str) -> None:
    rc.Store(url).close()
    postgres_server.shared().execute(
        f"CREATE ROLE {ROLE} LOGIN; GRANT USAGE ON SCHEMA resonate TO {ROLE};"
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA resonate TO {ROLE};"
        f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA resonate TO {ROLE}",
        "indexes",
    )
    with rc.Store(url.replace(f"//{postgres_server.USER}@", f"//{ROLE}@")) as store:
        with pytest.raises(rc.StoreError, match="must be owner of table promises"):
            store.views.index()
        store.promises.create("a", 10**15)  # its transaction has ended
        with rc.Store(url) as owned:
            owned.views.index()
        store.views.index()
        assert [one.id for one in store.views.promises()] == ["a"]


def test_behind_a_pooler(url: str) -> None:
    require(PGBOUNCER)
    with rc.Store(pgbouncer.shared().url(url)) as store:
        for _ in range(2):
            store.views.index()
            store.promises.create("a", 10**15)
    indexes = "SELECT indexname FROM pg_indexes WHERE schemaname = 'resonate' AND indexname LIKE 'newest%' ORDER BY 1"
    assert postgres_server.shared().execute(indexes, "indexes") == [("newest_jobs",), ("newest_roots",)]
