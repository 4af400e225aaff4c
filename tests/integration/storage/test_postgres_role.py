"""docs/postgresql.md: a role without CREATE uses a store whose tables exist, with the privileges that the page names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import libpq
import resonate_core as rc
from conformance.job_scenes import populate, send_more_requests
from conformance.job_wire import JobClient
from postgres_server import USER, shared

PAGE = Path(__file__).parents[3] / "docs" / "postgresql.md"
ROLE = "resonate_app"


@pytest.fixture
def url(postgres_url: str) -> Iterator[str]:
    """The URL of a store for a role that has only the privileges of the page's statements."""
    database, schema = postgres_url.rpartition("/")[2].split("?schema=")
    role = f"{ROLE}_{database}_{schema}"
    (statements,) = re.findall(r"^```sql\n(CREATE ROLE.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    ours = re.sub(rf"\b{ROLE}\b", role, re.sub(r"\bresonate\b", schema, statements))
    rc.Store(postgres_url, clock=rc.ManualClock(0)).close()
    server = shared()
    server.execute(ours, database)
    yield postgres_url.replace(f"//{USER}@", f"//{role}@")
    server.execute(f"DROP OWNED BY {role}; DROP ROLE {role}", database)


def test_the_role_can_do_everything(url: str) -> None:
    with rc.Store(url, clock=rc.ManualClock(0)) as store, rc.Store(clock=rc.ManualClock(0)) as other:
        clients = [JobClient(one) for one in (store, other)]
        for client in clients:
            populate(client)
        assert send_more_requests(clients[0]) == send_more_requests(clients[1])
        assert store.digest() == other.digest()
        assert len(store.take_messages()) == len(other.take_messages())
        assert store.purge(settled_before=store.now) == other.purge(settled_before=other.now)
        store.restore(other.snapshot())
        assert store.check() == []
        assert store.snapshot() == other.snapshot()


def test_the_role_can_open_again(url: str, run: Callable[..., Any]) -> None:
    for _ in range(2):
        with rc.Store(url) as store:
            store.promises.create("a", 10**15)
    assert run("check", url).code == 0
    assert ": up to date, schema version" in run("migrate", "--db", url).out


def test_the_role_cannot_change_the_schema(url: str) -> None:
    schema = url.rpartition("=")[2]
    with libpq.Connection(url.partition("?")[0]) as connection:
        for sql in (
            f"CREATE TABLE {schema}.more ()",
            f"DROP TABLE {schema}.promises",
            f"TRUNCATE {schema}.promises",
            "CREATE SCHEMA more",
        ):
            with pytest.raises(libpq.SqlError, match=r"permission denied|must be owner"):
                connection.execute(sql)
    with pytest.raises(rc.StoreError, match="permission denied"):
        rc.Store(url.replace(f"={schema}", "=another"))
