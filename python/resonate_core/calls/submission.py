"""Requests that take effect if and only if the caller's own transaction commits.

The request is written into a table of the store, on the caller's connection. The store runs it after the commit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from typing import Any

from .._core import sqlite_library, submission_problem
from ..base.caller_connections import Number, write_on
from ..errors import Invalid, Unsupported
from .call import VERSION, envelope

__all__ = ["DEFAULT_SCHEMA", "submit"]

#: The schema of a store whose URL names none.
DEFAULT_SCHEMA = "resonate"
_SCHEMA = re.compile(r"[a-z0-9_]{1,63}")


def submit(connection: Any, kind: str, data: Mapping[str, Any], *, schema: str = DEFAULT_SCHEMA, version: str = VERSION) -> Number:
    """Write a request to the store on a connection of the caller's, in its present transaction.

    If the transaction commits, the store runs the request once, after all requests that were committed before it was submitted. If
    the transaction is rolled back, nothing happens. The shape of the request is checked at once. A request that the store refuses
    when it runs it (as with status 409) is kept with the status, and `Store.problems` lists it; later requests run.

    The connection must be one to the database of the store: for PostgreSQL of psycopg, psycopg2, asyncpg, SQLAlchemy (also a session)
    or Django; for a file of sqlite3, aiosqlite, SQLAlchemy or Django. Subclasses are accepted, scoped sessions, connections from a
    pool and those that a tracer has wrapped, with any row factory. With an asynchronous one, await the result. On PostgreSQL its role
    needs USAGE on the store's schema and EXECUTE on the schema's function ``submit``, which its owner grants. The tables must be there:
    the first process that opens the store makes them. A request has at most 16 MiB; the process that runs it applies its own limits.

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
    except RecursionError:
        raise Invalid("data must be nested less deeply: Python does not write such JSON") from None
    problem = submission_problem(request)
    if problem is not None:
        raise Invalid(problem)
    return write_on(connection, lambda in_file, parameter: _statement(in_file, schema, parameter), request)


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
    """The statement that writes a request. `parameter` is how the connection's library marks the request."""
    if not in_file:
        return f'SELECT "{schema}".submit(CAST(CAST({parameter} AS text) AS jsonb)) AS number'
    _refuse_other_library()
    if schema != DEFAULT_SCHEMA:
        raise Invalid(f"schema must be {DEFAULT_SCHEMA!r} for a file, which has no schemas, got {schema!r}")
    return f"INSERT INTO resonate_inbox (request) VALUES ({parameter})"
