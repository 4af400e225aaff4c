"""Requests that take effect if and only if the caller's own transaction commits.

The request is written into a table of the store, on the caller's connection. The store runs it after the commit.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Coroutine, Mapping
from contextlib import closing, nullcontext
from typing import Any

from ._core import submission_problem
from ._server_client import VERSION, envelope
from .errors import Invalid, Unsupported

__all__ = ["submit"]

_SCHEMA = re.compile(r"[a-z0-9_]{1,63}")


def submit(
    connection: Any, kind: str, data: Mapping[str, Any], *, schema: str = "resonate", version: str = VERSION
) -> int | Coroutine[Any, Any, int]:
    """Write a request to the store on a connection of the caller's, in its present transaction.

    If the transaction commits, the store runs the request once, after all requests that were committed before it was submitted. If
    the transaction is rolled back, nothing happens. The shape of the request is checked at once. A request that the store refuses
    when it runs it (as with status 409) is kept with the status, and `Store.problems` lists it; later requests run.

    The connection must be one to the database of the store: of psycopg, psycopg2, asyncpg, SQLAlchemy (also a session) or Django. With
    an asynchronous one, await the result. Its role needs USAGE on the store's schema. The tables must be there: the first process that
    opens the store makes them.

    Args:
        connection: An open connection, session or cursor.
        kind: Of the request, such as ``promise.create`` or ``job.enqueue`` (PROTOCOL 5, JOBS 5).
        data: Its data, as on the wire.
        schema: The schema of the store.
        version: The dialect of the request.

    Returns:
        The number of the request; it rises in the order in which requests run.

    Raises:
        Invalid: The request, or the name of the schema, breaks a rule; nothing was written.
        Unsupported: The connection is of another kind.

    Example:
        >>> rc.submit(None, "promise.create", {"id": "order:1", "timeoutAt": 2_000_000_000_000})
        Traceback (most recent call last):
        resonate_core.errors.Unsupported: connection must be one of psycopg, psycopg2, asyncpg, SQLAlchemy or Django, got None
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
    call = f"SELECT {schema}.submit({{}}) AS number"
    if library == "sqlalchemy":
        from sqlalchemy import text

        statement = text(call.format("CAST(:request AS jsonb)"))
        if inspect.iscoroutinefunction(connection.execute):
            return _scalar_of(connection.execute(statement, {"request": request}))
        return int(connection.execute(statement, {"request": request}).scalar_one())
    if library == "asyncpg" and hasattr(connection, "is_in_transaction"):  # a pool has none: its connections are not the caller's
        return _number_of(connection.fetchval(call.format("$1::text::jsonb"), request))
    call = call.format("%s::text::jsonb")
    if hasattr(connection, "execute") and inspect.iscoroutinefunction(connection.execute):
        return _row_of(connection, call, request)
    if library == "sqlite3" or not (hasattr(connection, "cursor") or hasattr(connection, "fetchone")):
        shown = None if connection is None else type(connection).__qualname__
        raise Unsupported(f"connection must be one of psycopg, psycopg2, asyncpg, SQLAlchemy or Django, got {shown}")
    is_cursor = not hasattr(connection, "cursor")
    with nullcontext(connection) if is_cursor else closing(connection.cursor()) as cursor:
        cursor.execute(call, [request])
        return _number_in(cursor.fetchone())


def _number_in(row: Any) -> int:
    """The number in a row, whatever the connection makes of its rows."""
    return int(row["number"] if isinstance(row, Mapping) else row[0])


async def _number_of(answer: Any) -> int:
    return int(await answer)


async def _scalar_of(result: Any) -> int:
    return int((await result).scalar_one())


async def _row_of(connection: Any, call: str, request: str) -> int:
    cursor = await connection.execute(call, [request])
    return _number_in(await cursor.fetchone())
