"""The libraries and kinds of sessions on which exactly-once steps are tested, each on an application's database with a table `effects`."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiosqlite
import asyncpg
import psycopg
import pytest
import sqlalchemy
import sqlalchemy.ext.asyncio
import sqlalchemy.orm

import libpq
from resonate_core.worker.transactions import StepKey, run_once, run_once_async

KEY = StepKey("order-7", 1_000, 0, "3")
EFFECT = "INSERT INTO effects VALUES ('done')"
JSON: dict[str, Any] = {"encode": json.dumps, "decode": json.loads}


@dataclass
class Database:
    """The database of an application: a file, or one on the shared PostgreSQL server."""

    path: Path | None = None
    url: str = ""

    def query(self, sql: str) -> list[Any]:
        """Runs SQL on a connection of its own."""
        if self.path is None:
            with libpq.Connection(self.url) as connection:
                return connection.execute(sql)
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            return connection.execute(sql).fetchall()

    def count(self, table: str) -> int:
        """How many rows a table has; none if it is missing."""
        try:
            return int(self.query(f"SELECT count(*) FROM {table}")[0][0])
        except (libpq.SqlError, sqlite3.OperationalError):
            return 0

    def sqlalchemy_url(self, asynchronous: bool) -> str:
        if self.path is not None:
            return f"sqlite{'+aiosqlite' if asynchronous else ''}:///{self.path}"
        return self.url.replace("postgresql", f"postgresql+{'asyncpg' if asynchronous else 'psycopg'}", 1)


@dataclass
class Way:
    """A kind of session.

    Attributes:
        name: The storage: its tests on PostgreSQL are of a later tier.
        label: The library and the kind.
        open: A context manager of what is given as the session.
        asynchronous: Whether it is for asyncio.
        text: What the library's `execute` takes for SQL.
        reopens: Whether each step opens a session of its own.
    """

    name: str
    label: str
    open: Callable[[Database], contextlib.AbstractAsyncContextManager[Any]]
    asynchronous: bool = False
    text: Callable[[str], Any] = field(default=str)
    reopens: bool = False

    def __str__(self) -> str:
        return f"{self.name}: {self.label}"

    def function(
        self,
        ran: list[Any],
        *,
        result: Any = "receipt",
        before: Callable[[], None] | None = None,
        also: Callable[[Any], Any] | None = None,
    ) -> Callable[..., Any]:
        """The function of a step: notes that it ran, inserts an effect, and returns or raises the result.

        Args:
            ran: Gets the arguments of each run.
            result: The result of the function; an exception is raised.
            before: Called before the effect.
            also: Called with the session after the effect; its result is awaited.
        """

        def end() -> Any:
            if isinstance(result, BaseException):
                raise result
            return result

        def charge(session: Any, *args: Any, **kwargs: Any) -> Any:
            if before is not None:
                before()
            session.execute(self.text(EFFECT))
            ran.append((*args, *kwargs.values()))
            if also is not None:
                also(session)
            return end()

        async def charge_async(session: Any, *args: Any, **kwargs: Any) -> Any:
            if before is not None:
                await asyncio.to_thread(before)
            await session.execute(self.text(EFFECT))
            ran.append((*args, *kwargs.values()))
            if also is not None:
                await also(session)
            return end()

        return charge_async if self.asynchronous else charge

    async def once(self, session: Any, function: Callable[..., Any], *args: Any, key: StepKey = KEY, **options: Any) -> Any:
        """Runs a step on an open session."""
        given = {"name": "charge", **JSON, **options}
        if self.asynchronous:
            return await run_once_async(session, key, function, args, **given)
        return run_once(session, key, function, args, **given)

    def run(self, database: Database, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Opens a session, and runs a step on it."""

        async def main() -> Any:
            async with self.open(database) as session:
                return await self.once(session, function, *args, **options)

        return asyncio.run(main())


def synchronous(open_it: Callable[[Database], contextlib.AbstractContextManager[Any]]) -> Callable[[Database], Any]:
    @contextlib.asynccontextmanager
    async def opened(database: Database) -> AsyncIterator[Any]:
        with open_it(database) as session:
            yield session

    return opened


@contextlib.contextmanager
def engine(database: Database, **options: Any) -> Iterator[Any]:
    made = sqlalchemy.create_engine(database.sqlalchemy_url(asynchronous=False), **options)
    try:
        yield made
    finally:
        made.dispose()


@contextlib.asynccontextmanager
async def async_engine(database: Database, **options: Any) -> AsyncIterator[Any]:
    made = sqlalchemy.ext.asyncio.create_async_engine(database.sqlalchemy_url(asynchronous=True), **options)
    try:
        yield made
    finally:
        await made.dispose()


@contextlib.contextmanager
def of_engine(database: Database, *, make: Callable[[Any], Any]) -> Iterator[Any]:
    with engine(database) as made:
        given = make(made)
        with given if hasattr(given, "__enter__") else contextlib.nullcontext(given) as session:
            yield session


@contextlib.asynccontextmanager
async def of_async_engine(database: Database, *, make: Callable[[Any], Any]) -> AsyncIterator[Any]:
    async with async_engine(database) as made:
        given = make(made)
        if hasattr(given, "__aenter__"):
            async with given as session:
                yield session
        else:
            yield given


def of_sqlalchemy(name: str) -> Iterator[Way]:
    def way(label: str, make: Callable[[Any], Any], **options: Any) -> Way:
        opened = functools.partial(of_engine, make=make)
        return Way(name, f"SQLAlchemy, {label}", synchronous(opened), text=sqlalchemy.text, **options)

    def async_way(label: str, make: Callable[[Any], Any], **options: Any) -> Way:
        opened = functools.partial(of_async_engine, make=make)
        return Way(name, f"SQLAlchemy, {label}", opened, asynchronous=True, text=sqlalchemy.text, **options)

    yield way("Session", sqlalchemy.orm.Session)
    yield way("Connection", lambda engine: engine.connect())
    yield way("Engine", lambda engine: engine, reopens=True)
    yield way("sessionmaker", sqlalchemy.orm.sessionmaker, reopens=True)
    yield async_way("AsyncSession", sqlalchemy.ext.asyncio.AsyncSession)
    yield async_way("AsyncConnection", lambda engine: engine.connect())
    yield async_way("AsyncEngine", lambda engine: engine, reopens=True)
    yield async_way("async_sessionmaker", sqlalchemy.ext.asyncio.async_sessionmaker, reopens=True)


@contextlib.asynccontextmanager
async def of_asyncpg(database: Database) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(database.url)
    try:
        yield connection
    finally:
        await connection.close()


@contextlib.asynccontextmanager
async def of_async_psycopg(database: Database) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(database.url) as connection:
        yield connection


@contextlib.asynccontextmanager
async def of_async_connect(database: Database) -> AsyncIterator[Any]:
    yield lambda: psycopg.AsyncConnection.connect(database.url)


SQLITE = [
    Way("sqlite", "sqlite3", synchronous(lambda database: closing(sqlite3.connect(str(database.path))))),
    Way(
        "sqlite",
        "sqlite3 without implicit transactions",
        synchronous(lambda d: closing(sqlite3.connect(str(d.path), isolation_level=None))),
    ),
    Way(
        "sqlite",
        "a function of sqlite3",
        synchronous(lambda d: contextlib.nullcontext(lambda: sqlite3.connect(str(d.path)))),
        reopens=True,
    ),
    Way("sqlite", "aiosqlite", lambda database: aiosqlite.connect(str(database.path)), asynchronous=True),
    *of_sqlalchemy("sqlite"),
]
POSTGRES = [
    Way("postgres", "psycopg", synchronous(lambda database: psycopg.connect(database.url))),
    Way("postgres", "psycopg, autocommit", synchronous(lambda database: psycopg.connect(database.url, autocommit=True))),
    Way(
        "postgres",
        "psycopg, a function",
        synchronous(lambda d: contextlib.nullcontext(lambda: psycopg.connect(d.url))),
        reopens=True,
    ),
    Way("postgres", "psycopg, asynchronous", of_async_psycopg, asynchronous=True),
    Way("postgres", "psycopg, an asynchronous function", of_async_connect, asynchronous=True, reopens=True),
    Way("postgres", "asyncpg", of_asyncpg, asynchronous=True),
    Way(
        "postgres",
        "asyncpg, a pool",
        lambda database: asyncpg.create_pool(database.url, min_size=1),
        asynchronous=True,
        reopens=True,
    ),
    *of_sqlalchemy("postgres"),
]
WAYS = [*SQLITE, *POSTGRES]


def named(label: str) -> Way:
    return next(way for way in WAYS if str(way) == label)


def over(ways: list[Way]) -> Any:
    return pytest.mark.parametrize("way", ways, ids=str)
