"""The table of steps: made if it is missing, named with its statements if that is not allowed, the same for each library; old rows go."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from contextlib import closing
from datetime import timedelta
from typing import Any

import psycopg
import pytest
import sqlalchemy
import sqlalchemy.ext.asyncio

import resonate_core as rc
from integration.transactions.ways import EFFECT, JSON, KEY, WAYS, Database, Way, engine, named, over
from resonate_core.errors import Invalid, Unsupported
from resonate_core.worker.transactions import StepUnsettled, prune_steps, prune_steps_async, run_once, steps_sql, steps_table

ROLE = f"app_without_rights_{os.getpid()}"


@pytest.fixture
def role(postgres_database: Database) -> Any:
    """A role that owns nothing, and may make no tables."""
    drop = f"DROP OWNED BY {ROLE}; DROP ROLE {ROLE}"
    postgres_database.query(
        f"CREATE ROLE {ROLE} LOGIN; REVOKE CREATE ON SCHEMA public FROM public; GRANT USAGE ON SCHEMA public TO {ROLE}"
    )
    yield postgres_database.url.replace("//resonate@", f"//{ROLE}@", 1)
    postgres_database.query(drop)


def place(session: Any) -> str:
    session.execute(EFFECT)
    return "placed"


@pytest.mark.parametrize("way", ["postgres"])
def test_the_rights_of_a_role(database: Database, role: str) -> None:
    database.query(f"GRANT INSERT ON effects TO {ROLE}")
    with psycopg.connect(role) as connection:
        with pytest.raises(StepUnsettled, match="the table resonate_steps is missing, and cannot be made here") as caught:
            run_once(connection, KEY, place, **JSON)
        assert steps_sql("postgresql") in str(caught.value) and isinstance(
            caught.value.__cause__, psycopg.errors.InsufficientPrivilege
        )
        database.query(steps_sql("postgresql"))
        with pytest.raises(StepUnsettled, match=r"its row cannot be (written|read).*permission denied for table resonate_steps"):
            run_once(connection, KEY, place, **JSON)
        database.query(f"GRANT SELECT, INSERT, UPDATE ON resonate_steps TO {ROLE}")
        assert [run_once(connection, KEY, place, **JSON) for _ in range(2)] == ["placed", "placed"]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            prune_steps(connection)
        database.query(f"GRANT DELETE ON resonate_steps TO {ROLE}")
        assert prune_steps(connection, older_than=0) == 1
    assert database.count("effects") == 1


@pytest.mark.parametrize("way", ["sqlite"])
def test_a_file_for_reading_only(database: Database) -> None:
    with (
        closing(sqlite3.connect(f"file:{database.path}?mode=ro", uri=True)) as connection,
        pytest.raises(StepUnsettled, match="readonly database"),
    ):
        run_once(connection, KEY, place, **JSON)


@pytest.mark.parametrize("way", ["postgres"])
def test_two_that_make_the_table_at_once(database: Database) -> None:
    """Of two statements CREATE TABLE IF NOT EXISTS at the same time, PostgreSQL refuses one."""

    async def one(number: int) -> Any:
        return await asyncio.to_thread(
            run_once, lambda: psycopg.connect(database.url), KEY._replace(step=str(number)), place, **JSON
        )

    async def main() -> list[Any]:
        return await asyncio.gather(*map(one, range(8)))

    assert asyncio.run(main()) == ["placed"] * 8
    assert (database.count("effects"), database.count("resonate_steps")) == (8, 8)


def columns(made: Any) -> Any:
    inspected = sqlalchemy.inspect(made)
    found = [
        (each["name"], str(each["type"].as_generic()).partition("(")[0], each["nullable"])
        for each in inspected.get_columns("resonate_steps")
    ]
    indexes = [(each["name"], each["column_names"]) for each in inspected.get_indexes("resonate_steps")]
    return found, inspected.get_pk_constraint("resonate_steps")["constrained_columns"], indexes


@pytest.mark.parametrize("way", ["sqlite", "postgres"])
def test_the_table_of_sqlalchemy_is_that_of_the_statements(way: str, database: Database) -> None:
    metadata = sqlalchemy.MetaData(schema="elsewhere")
    table = steps_table(metadata)
    assert steps_table(metadata) is table and table.schema is None
    with engine(database) as made:
        with made.begin() as connection:
            for statement in steps_sql("sqlite" if way == "sqlite" else "postgresql").split(";")[:-1]:
                connection.execute(sqlalchemy.text(statement))
        by_hand = columns(made)
        database.query("DROP TABLE resonate_steps")
        metadata.create_all(made)
        assert columns(made) == by_hand
        metadata.create_all(made)

        def insert(session: Any) -> None:
            session.execute(sqlalchemy.text(EFFECT))

        for _ in range(2):
            run_once(made, KEY, insert, **JSON)
    assert (database.count("effects"), database.count("resonate_steps")) == (1, 1)


def test_sql_of_another_database() -> None:
    with pytest.raises(Unsupported, match="must be SQLite or PostgreSQL, got mysql"):
        steps_sql("mysql")  # type: ignore[arg-type]


@pytest.mark.parametrize("way", ["sqlite"])
def test_a_store_in_the_same_file(database: Database) -> None:
    with rc.Store(str(database.path), clock=rc.ManualClock()) as store:
        store.promises.create("a", 1000)
        assert run_once(lambda: sqlite3.connect(str(database.path)), KEY, place, **JSON) == "placed"
        store.promises.resolve("a", 1)
        assert store.check() == []
    assert rc.check_file(str(database.path)) == []


def _age(database: Database, days: int) -> str:
    return f"CURRENT_TIMESTAMP - interval '{days} days'" if database.path is None else f"datetime('now', '-{days} days')"


@over(WAYS)
def test_old_rows_go(way: Way, database: Database) -> None:
    ran: list[Any] = []

    async def main() -> None:
        async with way.open(database) as session:

            async def pruned(**options: Any) -> int:
                if way.asynchronous:
                    return await prune_steps_async(session, **options)
                return prune_steps(session, **options)

            for step in ("1", "2", "3"):
                await way.once(session, way.function(ran), key=KEY._replace(step=step))
            assert await pruned(older_than=timedelta(minutes=1)) == 0
            database.query(f"UPDATE resonate_steps SET created_at = {_age(database, 31)} WHERE step = '1'")
            database.query(f"UPDATE resonate_steps SET created_at = {_age(database, 29)} WHERE step = '2'")
            assert await pruned() == 1
            assert await pruned(older_than=timedelta(days=28)) == 1
            assert await pruned(older_than=0) == 1

    asyncio.run(main())
    assert database.count("resonate_steps") == 0


@over([named("sqlite: sqlite3"), named("postgres: psycopg")])
def test_many_old_rows_go_in_several_transactions(way: Way, database: Database) -> None:
    dialect: Any = "sqlite" if database.path else "postgresql"
    for statement in steps_sql(dialect).split(";")[:-1]:
        database.query(statement)
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)"
    database.query(f"{numbers} INSERT INTO resonate_steps (id, job, step, name) SELECT 'id ' || i, 'a', '1', 'f' FROM n")

    async def main() -> int:
        async with way.open(database) as session:
            return prune_steps(session, older_than=0)

    assert asyncio.run(main()) == 2500


@pytest.mark.parametrize("way", ["sqlite"])
def test_what_prune_refuses(database: Database) -> None:
    with closing(sqlite3.connect(str(database.path))) as connection:
        with pytest.raises(Invalid, match="older_than must be at least 0 ms, got -1 ms"):
            prune_steps(connection, older_than=-1)
        with pytest.raises(sqlite3.OperationalError, match="no such table: resonate_steps"):
            prune_steps(connection)
        connection.execute(EFFECT)
        with pytest.raises(Invalid, match="the session must not be in a transaction"):
            prune_steps(connection)
        with pytest.raises(Unsupported, match="session must be an asynchronous one"):
            asyncio.run(prune_steps_async(connection))
