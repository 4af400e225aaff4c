"""Writes the request of `submit` on a connection of the caller's, of any of the usual libraries.

A connection is recognized by its class, or one of that class's bases, among those of libraries that the program has imported. How the
program makes its connections and rows does not matter. No row is read that a row factory has made, because an error
after the request was written would be worse than a refusal before it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import closing
from typing import Any

from ..errors import Unsupported

__all__ = ["Number", "StatementOf", "behind", "is_of", "write_on"]

#: The number of a request; of an asynchronous connection, to await.
Number = int | Coroutine[Any, Any, int]
#: Returns the statement that writes a request: into a file or a database, with the mark of a parameter.
StatementOf = Callable[[bool, str], str]
_Way = Callable[[Any, StatementOf, str], Number]


def write_on(connection: Any, statement: StatementOf, request: str) -> Number:
    """Write a request on a connection, session or cursor, in its transaction.

    Args:
        connection: Of one of the libraries below.
        statement: Returns the statement, or raises before anything is written.
        request: The request as JSON.

    Returns:
        Its number; of an asynchronous connection a coroutine that writes and returns it.

    Raises:
        Unsupported: The connection is of another kind; nothing was written.
    """
    connection, *others = behind(connection)
    for known in (connection, *others):
        way = _way_of(known)
        if way is not None:
            return way(known, statement, request)
    make = getattr(connection, "cursor", None)
    if callable(make) and not inspect.iscoroutinefunction(make):  # a wrapper that passes calls on, say
        cursor: Any = make()
        way = _way_of(_unwrapped(cursor))
        if way is not None:
            with closing(cursor):
                return way(_unwrapped(cursor), statement, request)
    shown = None if connection is None else type(connection).__qualname__
    raise Unsupported(
        f"connection must be of sqlite3, aiosqlite, psycopg, psycopg2, asyncpg, SQLAlchemy or Django, got {shown}; a pool or an engine is "
        "none, since a request belongs to the transaction of one connection"
    )


def behind(given: Any) -> tuple[Any, Any]:
    """The objects that may be the connection which a caller gave, perhaps in a wrapper.

    A wrapper that passes attributes on has the method of the connection, which knows its object.
    """
    connection = _unwrapped(given)
    return connection, getattr(getattr(connection, "execute", None), "__self__", None)


def _unwrapped(connection: Any) -> Any:
    """The object behind proxies, which claim its class (those of wrapt, with which tracers wrap connections)."""
    while type(connection) is not getattr(connection, "__class__", None) and hasattr(connection, "__wrapped__"):
        connection = connection.__wrapped__
    return connection


def is_of(connection: Any, module: str, name: str) -> bool:
    """Whether it is an instance of this class. A library that was not imported has made no connection, and is not imported here."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(connection, kind)


def _way_of(connection: Any) -> _Way | None:
    """How a request is written on it."""
    return next((way for module, name, way in _WAYS if is_of(connection, module, name)), None)


def _library(name: str) -> Any:
    """A library that has made a connection, and so was imported."""
    return sys.modules[name]


def _in_file(vendor: str) -> bool:
    """Whether a database of this name is a file.

    Raises:
        Unsupported: A store cannot be in such a database.
    """
    if vendor not in ("sqlite", "postgresql"):
        raise Unsupported(f"connection must be to SQLite or PostgreSQL, got one to {vendor}")
    return vendor == "sqlite"


# -- SQLAlchemy, whose rows are its own ------------------------------------------------------------------------------------------


def _clause_of(connection: Any, statement: StatementOf) -> Any:
    bind = connection.get_bind() if hasattr(connection, "get_bind") else connection
    in_file = _in_file(bind.dialect.name)
    return _library("sqlalchemy").text(statement(in_file, ":request") + (" RETURNING number" if in_file else ""))


def _of_sqlalchemy(connection: Any, statement: StatementOf, request: str) -> int:
    return int(connection.execute(_clause_of(connection, statement), {"request": request}).scalar_one())


def _of_sqlalchemy_session(session: Any, statement: StatementOf, request: str) -> int:
    """Subclasses have an `execute` of their own, which may warn or return something else: the session's connection has not."""
    clause = _clause_of(session, statement)
    connection = session.connection(bind_arguments={"clause": clause})
    return int(connection.execute(clause, {"request": request}).scalar_one())


def _of_async_sqlalchemy(connection: Any, statement: StatementOf, request: str) -> Number:
    return _scalar_of(connection.execute, _clause_of(connection, statement), request)


def _of_async_sqlalchemy_session(session: Any, statement: StatementOf, request: str) -> Number:
    clause = _clause_of(session, statement)

    async def execute(clause: Any, parameters: Mapping[str, str]) -> Any:
        connection = await session.connection(bind_arguments={"clause": clause})
        return await connection.execute(clause, parameters)

    return _scalar_of(execute, clause, request)


async def _scalar_of(execute: Callable[[Any, Mapping[str, str]], Any], clause: Any, request: str) -> int:
    return int((await execute(clause, {"request": request})).scalar_one())


def _of_scoped_session(registry: Any, statement: StatementOf, request: str) -> Number:
    return write_on(registry(), statement, request)


def _of_pooled_connection(fairy: Any, statement: StatementOf, request: str) -> Number:
    return write_on(fairy.dbapi_connection, statement, request)


# -- Django ----------------------------------------------------------------------------------------------------------------------


def _of_django(connection: Any, statement: StatementOf, request: str) -> int:
    """On a cursor that Django makes: it refuses to write in a transaction that is broken."""
    in_file = _in_file(connection.vendor)
    with connection.cursor() as cursor:
        cursor.execute(statement(in_file, "%s"), [request])
        return int(cursor.lastrowid if in_file else _first_of(cursor))


def _of_django_cursor(cursor: Any, statement: StatementOf, request: str) -> int:
    return _of_django(cursor.db, statement, request)


def _first_of(cursor: Any) -> Any:
    row = cursor.fetchone()
    return row["number"] if isinstance(row, Mapping) else row[0]


# -- SQLite ----------------------------------------------------------------------------------------------------------------------


def _of_sqlite3(connection: Any, statement: StatementOf, request: str) -> int:
    """The number of a request is the id of its row."""
    sqlite3, sql = _library("sqlite3"), statement(True, "?")
    with closing(sqlite3.Connection.cursor(connection, sqlite3.Cursor)) as cursor:
        cursor.execute(sql, (request,))
        return int(cursor.lastrowid or 0)


def _of_aiosqlite(connection: Any, statement: StatementOf, request: str) -> Number:
    aiosqlite, sql = _library("aiosqlite"), statement(True, "?")

    async def write() -> int:
        cursor = await aiosqlite.Connection.cursor(connection)
        try:
            await cursor.execute(sql, (request,))
            return int(cursor.lastrowid or 0)
        finally:
            await cursor.close()

    return write()


def _of_aiosqlite_cursor(cursor: Any, statement: StatementOf, request: str) -> Number:
    sql = statement(True, "?")

    async def write() -> int:
        await cursor.execute(sql, (request,))
        return int(cursor.lastrowid)

    return write()


# -- PostgreSQL ------------------------------------------------------------------------------------------------------------------


def _of_psycopg(connection: Any, statement: StatementOf, request: str) -> int:
    """On a cursor of our own, whatever cursors and rows the connection makes."""
    psycopg, sql = _library("psycopg"), statement(False, "%s")
    with psycopg.Cursor(connection, row_factory=psycopg.rows.tuple_row) as cursor:
        cursor.execute(sql, (request,))
        return int(cursor.fetchone()[0])


def _of_async_psycopg(connection: Any, statement: StatementOf, request: str) -> Number:
    psycopg, sql = _library("psycopg"), statement(False, "%s")

    async def write() -> int:
        async with psycopg.AsyncCursor(connection, row_factory=psycopg.rows.tuple_row) as cursor:
            await cursor.execute(sql, (request,))
            return int((await cursor.fetchone())[0])

    return write()


def _of_psycopg2(connection: Any, statement: StatementOf, request: str) -> int:
    library = _library("psycopg2.extensions")
    if connection.async_:
        raise Unsupported("connection of psycopg2 must not be asynchronous: use one of psycopg or asyncpg")
    sql = statement(False, "%s")
    with closing(library.connection.cursor(connection, cursor_factory=library.cursor)) as cursor:
        cursor.execute(sql, (request,))
        return int(cursor.fetchone()[0])


def _of_asyncpg(connection: Any, statement: StatementOf, request: str) -> Number:
    asyncpg, sql = _library("asyncpg"), statement(False, "$1")

    async def write() -> int:
        return int((await asyncpg.Connection.fetchrow(connection, sql, request, record_class=asyncpg.Record))[0])

    return write()


def _of_cursor(cursor: Any, statement: StatementOf, request: str) -> Number:
    """On the cursor's connection: what the cursor has read so far stays."""
    return write_on(cursor.connection, statement, request)


#: Module, class and the way. SQLAlchemy's own session before its base, and so on: the first one that fits is taken.
_WAYS: tuple[tuple[str, str, _Way], ...] = (
    ("sqlalchemy.orm", "scoped_session", _of_scoped_session),
    ("sqlalchemy.ext.asyncio", "async_scoped_session", _of_scoped_session),
    ("sqlalchemy.ext.asyncio", "AsyncSession", _of_async_sqlalchemy_session),
    ("sqlalchemy.ext.asyncio", "AsyncConnection", _of_async_sqlalchemy),
    ("sqlalchemy.orm", "Session", _of_sqlalchemy_session),
    ("sqlalchemy.engine", "Connection", _of_sqlalchemy),
    ("sqlalchemy.pool", "PoolProxiedConnection", _of_pooled_connection),
    ("django.utils.connection", "ConnectionProxy", _of_django),
    ("django.db.backends.base.base", "BaseDatabaseWrapper", _of_django),
    ("django.db.backends.utils", "CursorWrapper", _of_django_cursor),
    ("sqlite3", "Connection", _of_sqlite3),
    ("sqlite3", "Cursor", _of_cursor),
    ("aiosqlite", "Connection", _of_aiosqlite),
    ("aiosqlite", "Cursor", _of_aiosqlite_cursor),
    ("psycopg", "Connection", _of_psycopg),
    ("psycopg", "Cursor", _of_cursor),
    ("psycopg", "AsyncConnection", _of_async_psycopg),
    ("psycopg", "AsyncCursor", _of_cursor),
    ("psycopg2.extensions", "connection", _of_psycopg2),
    ("psycopg2.extensions", "cursor", _of_cursor),
    ("asyncpg", "Connection", _of_asyncpg),
    ("asyncpg.pool", "PoolConnectionProxy", _of_asyncpg),
)
