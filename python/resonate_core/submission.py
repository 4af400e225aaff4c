"""Requests that take effect if and only if the caller's own transaction commits.

The request is written into a table of the store, on the caller's connection. The store runs it after the commit.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Coroutine, Mapping
from contextlib import closing, nullcontext
from functools import cache
from typing import Any

from ._core import sqlite_library, submission_problem
from ._server_client import VERSION, envelope
from .errors import Invalid, Unsupported

__all__ = ["submit"]

#: The schema of a store whose URL names none.
DEFAULT_SCHEMA = "resonate"
_SCHEMA = re.compile(r"[a-z0-9_]{1,63}")


def submit(
    connection: Any, kind: str, data: Mapping[str, Any], *, schema: str = DEFAULT_SCHEMA, version: str = VERSION
) -> int | Coroutine[Any, Any, int]:
    """Write a request to the store on a connection of the caller's, in its present transaction.

    If the transaction commits, the store runs the request once, after all requests that were committed before it was submitted. If
    the transaction is rolled back, nothing happens. The shape of the request is checked at once. A request that the store refuses
    when it runs it (as with status 409) is kept with the status, and `Store.problems` lists it; later requests run.

    The connection must be one to the database of the store: for PostgreSQL of psycopg, psycopg2, asyncpg, SQLAlchemy (also a session)
    or Django; for a file of sqlite3, aiosqlite, SQLAlchemy or Django. With an asynchronous one, await the result. On PostgreSQL its
    role needs USAGE on the store's schema. The tables must be there: the first process that opens the store makes them.

    Args:
        connection: An open connection, session or cursor.
        kind: Of the request, such as ``promise.create`` or ``job.enqueue`` (PROTOCOL 5, JOBS 5).
        data: Its data, as on the wire.
        schema: The schema of the store in PostgreSQL; a file has none.
        version: The dialect of the request.

    Returns:
        The number of the request; it rises in the order in which requests run.

    Raises:
        Invalid: The request, or the name of the schema, breaks a rule; nothing was written.
        Unsupported: The connection is of another kind.

    Example:
        >>> import contextlib, pathlib, sqlite3, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "shop.db"
        ...     with rc.Store(path) as store, contextlib.closing(sqlite3.connect(path)) as shop:
        ...         _ = shop.execute("CREATE TABLE orders (id TEXT)")
        ...         with shop:
        ...             _ = shop.execute("INSERT INTO orders VALUES ('order:1')")
        ...             _ = rc.submit(shop, "job.enqueue", {"type": "mail", "payload": {"data": "Im9yZGVyOjEi"}})
        ...         _ = store.tick()
        ...         [job.payload.json() for job in store.jobs.search()]
        ['order:1']
    """
    if not isinstance(kind, str) or not kind:
        raise Invalid(f"kind must be the name of a request, got {kind!r}")
    if not isinstance(data, Mapping):
        raise Invalid(f"data must be a mapping, got {data!r}")
    if not isinstance(schema, str) or not _SCHEMA.fullmatch(schema):
        raise Invalid(f"schema must be 1 to 63 of a-z, 0-9 and _, got {schema!r}")
    try:
        request = json.dumps(envelope(kind, dict(data), "0", version), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Invalid(f"data must hold what JSON can hold: {error}") from None
    problem = submission_problem(request)
    if problem is not None:
        raise Invalid(problem)
    return _send(connection, schema, request)


def _send(connection: Any, schema: str, request: str) -> int | Coroutine[Any, Any, int]:
    library = type(connection).__module__.partition(".")[0]
    if library == "sqlalchemy":
        from sqlalchemy import text

        bind = connection.get_bind() if hasattr(connection, "get_bind") else connection
        clause = text(_statement(bind.dialect.name == "sqlite", schema, ":request"))
        if inspect.iscoroutinefunction(connection.execute):
            return _scalar_of(connection.execute(clause, {"request": request}))
        return int(connection.execute(clause, {"request": request}).scalar_one())
    if library == "asyncpg" and hasattr(connection, "is_in_transaction"):  # a pool has none: its connections are not the caller's
        return _number_of(connection.fetchval(_statement(False, schema, "$1"), request))
    of_sqlite = library in ("sqlite3", "aiosqlite")
    statement = _statement(of_sqlite or _vendor(connection) == "sqlite", schema, "?" if of_sqlite else "%s")
    if library == "aiosqlite" or (hasattr(connection, "execute") and inspect.iscoroutinefunction(connection.execute)):
        return _row_of(connection, statement, request)
    makes_cursors = callable(getattr(connection, "cursor", None))
    if not (makes_cursors or hasattr(connection, "fetchone")):
        shown = None if connection is None else type(connection).__qualname__
        raise Unsupported(f"connection must be of sqlite3, aiosqlite, psycopg, asyncpg, SQLAlchemy or Django, got {shown}")
    with closing(connection.cursor()) if makes_cursors else nullcontext(connection) as cursor:
        cursor.execute(statement, [request])
        return _number_in(cursor.fetchall()[0])


def _refuse_other_library() -> None:
    """Refuse a connection whose SQLite library does not know the locks of the stores of this process.

    Raises:
        Unsupported: It is another copy of the library, and a store of this process has a file open.
    """
    ours, open_files = sqlite_library()
    if open_files and (other := _source_id()) != ours:
        raise Unsupported(
            f"connection must use the SQLite library of resonate_core ({ours}) while a store of this process has a file open, got another "
            f"copy ({other}): two copies lose each other's locks. Open the store in another process, or use a Python that is built "
            "with the system's SQLite"
        )


@cache
def _source_id() -> str:
    """The source id of Python's SQLite library, which Django, SQLAlchemy and aiosqlite use, too."""
    import sqlite3  # few callers need it

    with closing(sqlite3.connect(":memory:")) as connection:
        return str(connection.execute("SELECT sqlite_source_id()").fetchone()[0])


def _statement(in_file: bool, schema: str, parameter: str) -> str:
    """The statement that writes a request and returns its number. `parameter` is how the connection's library marks the request."""
    if not in_file:
        return f"SELECT {schema}.submit(CAST(CAST({parameter} AS text) AS jsonb)) AS number"
    _refuse_other_library()
    if schema != DEFAULT_SCHEMA:
        raise Invalid(f"schema must be {DEFAULT_SCHEMA!r} for a file, which has no schemas, got {schema!r}")
    return f"INSERT INTO resonate_inbox (request) VALUES ({parameter}) RETURNING number"


def _vendor(connection: Any) -> str | None:
    """The database of a connection or cursor of Django."""
    return getattr(getattr(connection, "db", connection), "vendor", None)


def _number_in(row: Any) -> int:
    """The number in a row, whatever the connection makes of its rows."""
    return int(row["number"] if isinstance(row, Mapping) else row[0])


async def _number_of(answer: Any) -> int:
    return int(await answer)


async def _scalar_of(result: Any) -> int:
    return int((await result).scalar_one())


async def _row_of(connection: Any, statement: str, request: str) -> int:
    cursor = await connection.execute(statement, [request])
    return _number_in(next(iter(await cursor.fetchall())))
