"""Where no workflow runs, a step is a transaction without a row."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from integration.transactions.ways import EFFECT, WAYS, Database, Way, named, over
from resonate_core.errors import Invalid, Unsupported
from resonate_core.worker.transactions import run_in_transaction, run_in_transaction_async


async def run(way: Way, session: Any, function: Any, *args: Any) -> Any:
    if way.asynchronous:
        return await run_in_transaction_async(session, function, args)
    return run_in_transaction(session, function, args)


@over(WAYS)
def test_it_commits_or_leaves_nothing(way: Way, database: Database) -> None:
    ran: list[Any] = []
    result = object()

    async def main() -> None:
        async with way.open(database) as session:
            for _ in range(2):
                assert await run(way, session, way.function(ran, result=result), "7") is result
            with pytest.raises(ValueError, match="no stock"):
                await run(way, session, way.function(ran, result=ValueError("no stock")))

    asyncio.run(main())
    assert (ran, database.count("effects")) == ([("7",), ("7",), ()], 2)
    assert database.query(TABLES[way.name]) == []


TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE name = 'resonate_steps'",
    "postgres": "SELECT tablename FROM pg_tables WHERE tablename = 'resonate_steps'",
}


@over([named("sqlite: sqlite3"), named("postgres: psycopg")])
def test_what_is_refused(way: Way, database: Database) -> None:
    async def nothing(session: Any) -> None:
        raise AssertionError("it ran")

    async def main() -> None:
        async with way.open(database) as session:
            with pytest.raises(Invalid, match="function must be a def, got an async def"):
                run_in_transaction(session, nothing)
            with pytest.raises(Invalid, match="function must return its result, got a coroutine"):
                run_in_transaction(session, lambda session: nothing(session))
            with pytest.raises(Invalid, match="must leave its transaction open"):
                run_in_transaction(session, lambda session: session.commit())
            with pytest.raises(Unsupported, match="session must be an asynchronous one"):
                await run_in_transaction_async(session, nothing)
            session.execute(EFFECT)
            with pytest.raises(Invalid, match="the session must not be in a transaction"):
                run_in_transaction(session, lambda session: None)

    asyncio.run(main())
