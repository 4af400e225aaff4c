"""Commits that raise: what the database says then decides, not the error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
import sqlalchemy
import sqlalchemy.orm

from integration.transactions.ways import EFFECT, JSON, KEY, POSTGRES, Database, Way, engine, named, over
from postgres_proxy import Proxy
from resonate_core.worker.transactions import StepUnsettled, run_once, run_once_async

PSYCOPG = over([named("postgres: psycopg")])


def place(session: Any) -> str:
    session.execute(EFFECT)
    return "placed"


def place_by_sqlalchemy(session: Any) -> str:
    session.execute(sqlalchemy.text(EFFECT))
    return "placed"


@over(POSTGRES)
def test_a_commit_that_the_database_refuses_is_the_failure_of_the_step(way: Way, database: Database) -> None:
    database.query("DROP TABLE effects; CREATE TABLE effects (name text UNIQUE DEFERRABLE INITIALLY DEFERRED); " + EFFECT)
    ran: list[Any] = []
    with pytest.raises(Exception, match="duplicate key value violates unique constraint") as caught:
        way.run(database, way.function(ran))
    assert not isinstance(caught.value, StepUnsettled)
    assert (len(ran), database.count("effects"), database.count("resonate_steps")) == (1, 1, 0)


@pytest.fixture
def proxied(request: pytest.FixtureRequest, database: Database) -> Any:
    """Makes a proxy that cuts the next commit after so many bytes of its answer; None: the commit does not arrive."""
    made: list[Proxy] = []

    def cut(after: int | None) -> Proxy:
        database.query("DROP TABLE IF EXISTS resonate_steps")
        made.append(Proxy(database.url, after))
        return made[-1]

    yield cut
    for each in made:
        each.close()


@PSYCOPG
@pytest.mark.parametrize("answered", [None, 0])
def test_a_commit_without_an_answer_leaves_the_step_unsettled(
    answered: int | None, way: Way, database: Database, proxied: Callable[..., Proxy]
) -> None:
    proxy = proxied(answered)
    with psycopg.connect(proxy.url) as connection:
        run_once(connection, KEY._replace(step="1"), place, **JSON)  # makes the table
        proxy.armed = True
        with pytest.raises(StepUnsettled, match="its commit was not answered"):
            run_once(connection, KEY, place, **JSON)
        with pytest.raises(StepUnsettled, match="connection is closed"):
            run_once(connection, KEY, place, **JSON)
    assert proxy.done
    ran: list[Any] = []
    assert way.run(database, way.function(ran), name="place") == ("receipt" if answered is None else "placed")
    assert (len(ran), database.count("effects")) == (1 if answered is None else 0, 2)


@PSYCOPG
def test_the_same_with_asyncio(way: Way, database: Database, proxied: Callable[..., Proxy]) -> None:
    proxy = proxied(0)

    async def place(session: Any) -> str:
        await session.execute(EFFECT)
        return "placed"

    async def main() -> None:
        async with await psycopg.AsyncConnection.connect(proxy.url) as connection:
            await run_once_async(connection, KEY._replace(step="1"), place, name="place", **JSON)
            proxy.armed = True
            with pytest.raises(StepUnsettled, match="its commit was not answered"):
                await run_once_async(connection, KEY, place, name="place", **JSON)

    asyncio.run(main())
    assert way.run(database, way.function([]), name="place") == "placed"
    assert database.count("effects") == 2


@pytest.mark.parametrize("way", ["sqlite", "postgres"])
def test_what_runs_after_a_commit_and_raises_changes_nothing(
    way: str, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    def complain(session: Any) -> None:
        raise RuntimeError("the mail was not sent")

    with engine(database) as made:
        sessions = sqlalchemy.orm.sessionmaker(made)
        run_once(sessions, KEY._replace(step="1"), place_by_sqlalchemy, **JSON)
        sqlalchemy.event.listen(sessions, "after_commit", complain)
        assert run_once(sessions, KEY, place_by_sqlalchemy, **JSON) == "placed"
    assert "the commit of step 3 of" in caplog.text and "the mail was not sent" in caplog.text
    assert database.count("effects") == 2


@pytest.mark.parametrize("way", ["sqlite", "postgres"])
def test_what_runs_before_a_commit_and_raises_is_the_failure_of_the_step(way: str, database: Database) -> None:
    def refuse(session: Any) -> None:
        raise RuntimeError("not today")

    with engine(database) as made:
        sessions = sqlalchemy.orm.sessionmaker(made)
        run_once(sessions, KEY._replace(step="1"), place_by_sqlalchemy, **JSON)  # makes the table
        sqlalchemy.event.listen(sessions, "before_commit", refuse)
        with pytest.raises(RuntimeError, match="not today"):
            run_once(sessions, KEY, place_by_sqlalchemy, **JSON)
    assert (database.count("effects"), database.count("resonate_steps")) == (1, 1)


@pytest.mark.parametrize("label", ["asyncpg", "psycopg, asynchronous", "SQLAlchemy, AsyncSession", "SQLAlchemy, AsyncEngine"])
@PSYCOPG
def test_a_cancelled_task_leaves_nothing(label: str, way: Way, database: Database) -> None:
    asynchronous = named(f"postgres: {label}")

    async def main() -> None:
        inside = asyncio.Event()

        async def wait(session: Any) -> None:
            await session.execute(asynchronous.text(EFFECT))
            inside.set()
            await asyncio.sleep(60)

        async with asynchronous.open(database) as session:
            task = asyncio.create_task(asynchronous.once(session, wait))
            await inside.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert (database.count("effects"), database.count("resonate_steps")) == (0, 0)
    assert way.run(database, way.function([])) == "receipt"


@PSYCOPG
def test_a_connection_that_is_lost_in_the_function(way: Way, database: Database) -> None:
    """The function's own error: nothing was committed."""
    end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with pytest.raises(psycopg.OperationalError):
        way.run(database, way.function([], before=lambda: database.query(end) and None))
    assert (database.count("effects"), database.count("resonate_steps")) == (0, 0)
