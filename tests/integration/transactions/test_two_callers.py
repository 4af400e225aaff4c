"""Two workers in one step at the same time: one runs it, the other waits and takes the result, or runs it if the first one fails."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, closing
from typing import Any

import psycopg
import pytest
import sqlalchemy.ext.asyncio

from integration.transactions.ways import KEY, WAYS, Database, Way, async_engine, named, over, synchronous
from resonate_core.worker.transactions import StepUnsettled


class Two:
    """A first caller that stays in its function until an event, and a second caller meanwhile."""

    def __init__(self, way: Way, database: Database, first_result: Any) -> None:
        self.ran: list[Any] = []
        inside, go_on = threading.Event(), threading.Event()

        def wait() -> None:
            inside.set()
            assert go_on.wait(60)

        with ThreadPoolExecutor(2) as pool:
            self.first: Future[Any] = pool.submit(
                way.run, database, way.function(self.ran, result=first_result, before=wait), "first"
            )
            assert inside.wait(60)
            self.second: Future[Any] = pool.submit(way.run, database, way.function(self.ran, result="of the second"), "second")
            time.sleep(0.3)  # the second one would be done by now
            self.second_waited = not self.second.done()
            go_on.set()


@over(WAYS)
def test_the_second_caller_takes_the_result_of_the_first(way: Way, database: Database) -> None:
    two = Two(way, database, "receipt")
    assert two.second_waited
    assert (two.first.result(), two.second.result()) == ("receipt", "receipt")
    assert (two.ran, database.count("effects")) == ([("first",)], 1)


@over(WAYS)
def test_the_second_caller_runs_the_step_if_the_first_fails(way: Way, database: Database) -> None:
    two = Two(way, database, ValueError("no stock"))
    assert two.second_waited
    with pytest.raises(ValueError, match="no stock"):
        two.first.result()
    assert two.second.result() == "of the second"
    assert (two.ran, database.count("effects")) == ([("first",), ("second",)], 1)


def _serializable(database: Database) -> Any:
    connection = psycopg.connect(database.url)
    connection.isolation_level = psycopg.IsolationLevel.SERIALIZABLE
    return connection


def _of_asyncpg(database: Database) -> AbstractAsyncContextManager[Any]:
    return async_engine(database, isolation_level="REPEATABLE READ")


SNAPSHOTS = [
    Way("postgres", "psycopg, serializable", synchronous(_serializable)),
    Way("postgres", "SQLAlchemy, repeatable read", _of_asyncpg, asynchronous=True, text=sqlalchemy.text),
]


@over(SNAPSHOTS)
def test_a_snapshot_that_is_older_than_the_row(way: Way, database: Database) -> None:
    two = Two(way, database, "receipt")
    assert (two.first.result(), two.second.result(), two.ran) == ("receipt", "receipt", [("first",)])


@over(SNAPSHOTS)
def test_what_the_database_rolls_back_because_of_another_transaction_is_tried_again(way: Way, database: Database) -> None:
    database.query("CREATE TABLE IF NOT EXISTS stock (left_over int); DELETE FROM stock; INSERT INTO stock VALUES (10)")
    ran: list[Any] = []

    def before() -> None:
        if not ran:
            ran.append("other")
            database.query("UPDATE stock SET left_over = left_over - 1")

    take = "UPDATE stock SET left_over = left_over - 1"
    assert way.run(database, way.function(ran, before=before, also=lambda session: session.execute(way.text(take)))) == "receipt"
    assert database.query("SELECT left_over FROM stock") == [("8",)]
    assert (ran, database.count("effects")) == (["other", (), ()], 1)


@over([named("postgres: psycopg")])
def test_it_is_not_tried_for_ever(way: Way, database: Database) -> None:
    ran: list[Any] = []
    with pytest.raises(psycopg.errors.SerializationFailure):
        way.run(database, way.function(ran, result=psycopg.errors.SerializationFailure("again and again")))
    assert (len(ran), database.count("effects")) == (5, 0)


@over([named("sqlite: sqlite3"), named("sqlite: aiosqlite")])
def test_a_file_that_stays_locked_leaves_the_step_unsettled(way: Way, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *args, **options: connect(*args, **{**options, "timeout": 0.05}))
    ran: list[Any] = []
    with closing(connect(str(database.path), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StepUnsettled, match="database is locked"):
            way.run(database, way.function(ran))
    assert (ran, database.count("effects")) == ([], 0)
    assert way.run(database, way.function(ran)) == "receipt"


@pytest.mark.all
def test_many_steps_at_once_on_one_pool(postgres_database: Database) -> None:
    """Each in a session of its own, so that branches of a workflow need no session for each."""
    way = named("postgres: SQLAlchemy, async_sessionmaker")
    postgres_database.query("DROP TABLE IF EXISTS resonate_steps, effects; CREATE TABLE effects (name text)")
    ran: list[Any] = []

    async def main() -> list[Any]:
        async with way.open(postgres_database) as session:
            steps = [way.once(session, way.function(ran), key=KEY._replace(step=str(number % 4))) for number in range(8)]
            return await asyncio.gather(*steps)

    assert asyncio.run(main()) == ["receipt"] * 8
    assert (len(ran), postgres_database.count("effects")) == (4, 4)
