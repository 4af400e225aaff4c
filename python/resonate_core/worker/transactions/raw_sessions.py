"""Connections of drivers: sqlite3, aiosqlite, psycopg, asyncpg.

A savepoint tells whether the function has ended the transaction: the database forgets it then, and refuses to release it.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from contextlib import closing
from typing import Any, NamedTuple

from ...errors import Invalid
from .session import LEFT, Session, in_transaction
from .statements import Dialect, Statement

__all__ = ["AiosqliteSession", "AsyncPsycopgSession", "AsyncpgSession", "PsycopgSession", "SqliteSession"]

_SAVEPOINT = Statement("SAVEPOINT resonate_step")
_RELEASE = Statement("RELEASE SAVEPOINT resonate_step")


class _Done(NamedTuple):
    """What a statement did: how many rows it changed, and the first row that it returned."""

    changed: int
    first: tuple[Any, ...] | None


class _RawSession(Session):
    """A connection on which transactions are statements.

    Args:
        given: The connection as the caller gave it, perhaps in a wrapper.
        connection: The connection itself.
    """

    begins = Statement("BEGIN")

    def __init__(self, given: Any, connection: Any) -> None:
        self.given = given
        self._connection = connection

    @abstractmethod
    async def _run(self, statement: Statement) -> _Done:
        """Run a statement on a cursor of our own, whatever rows the connection makes."""

    async def begin(self) -> None:
        self._check_idle()
        await self._begin()
        try:
            await self._run(_SAVEPOINT)
        except BaseException:
            await self.rollback()
            raise

    def _check_idle(self) -> None:
        if self._connection.in_transaction:
            raise in_transaction()

    async def _begin(self) -> None:
        await self._run(self.begins)

    async def change(self, statement: Statement) -> int:
        return (await self._run(statement)).changed

    async def read(self, statement: Statement) -> tuple[Any, ...] | None:
        return (await self._run(statement)).first

    async def end_function(self) -> None:
        try:
            await self._run(_RELEASE)
        except Exception as error:
            raise Invalid(LEFT) from error

    async def commit(self) -> None:
        await self._run(Statement("COMMIT"))

    async def undo(self) -> None:
        await self._run(Statement("ROLLBACK"))


# -- SQLite ----------------------------------------------------------------------------------------------------------------------


def _named(name: str) -> str:
    return f":{name}"


class SqliteSession(_RawSession):
    """A `sqlite3.Connection`. IMMEDIATE makes a second writer wait, for as long as its `timeout` says."""

    asynchronous = False
    dialect: Dialect = "sqlite"
    begins = Statement("BEGIN IMMEDIATE")

    def _check_idle(self) -> None:
        if getattr(self._connection, "autocommit", True) is False:  # since Python 3.12
            raise in_transaction("a connection with autocommit=False always is in one, so open it with autocommit=True")
        super()._check_idle()

    async def _run(self, statement: Statement) -> _Done:
        sqlite3: Any = sys.modules["sqlite3"]
        with closing(sqlite3.Connection.cursor(self._connection, sqlite3.Cursor)) as cursor:
            cursor.row_factory = None
            cursor.execute(statement.marked(_named), dict(statement.values))
            return _Done(cursor.rowcount, cursor.fetchone())


class AiosqliteSession(_RawSession):
    """An `aiosqlite.Connection`."""

    asynchronous = True
    dialect: Dialect = "sqlite"
    begins = Statement("BEGIN IMMEDIATE")

    async def _run(self, statement: Statement) -> _Done:
        aiosqlite: Any = sys.modules["aiosqlite"]
        cursor = await aiosqlite.Connection.cursor(self._connection)
        try:
            cursor.row_factory = None
            await cursor.execute(statement.marked(_named), dict(statement.values))
            return _Done(cursor.rowcount, await cursor.fetchone())
        finally:
            await cursor.close()


# -- PostgreSQL ------------------------------------------------------------------------------------------------------------------


def _percent(name: str) -> str:
    return f"%({name})s"


class _PsycopgSession(_RawSession):
    """A connection of psycopg: unless it commits by itself, its first statement begins a transaction."""

    dialect: Dialect = "postgresql"

    def _check_idle(self) -> None:
        psycopg: Any = sys.modules["psycopg"]
        if self._connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            if self._connection.closed:
                raise psycopg.OperationalError("the connection is closed")
            raise in_transaction()

    async def _begin(self) -> None:
        if self._connection.autocommit:
            await super()._begin()


class PsycopgSession(_PsycopgSession):
    """A `psycopg.Connection`."""

    asynchronous = False

    async def _run(self, statement: Statement) -> _Done:
        psycopg: Any = sys.modules["psycopg"]
        with psycopg.Cursor(self._connection, row_factory=psycopg.rows.tuple_row) as cursor:
            cursor.execute(statement.marked(_percent), statement.values or None)
            return _Done(cursor.rowcount, cursor.fetchone() if cursor.description else None)


class AsyncPsycopgSession(_PsycopgSession):
    """A `psycopg.AsyncConnection`."""

    asynchronous = True

    async def _run(self, statement: Statement) -> _Done:
        psycopg: Any = sys.modules["psycopg"]
        async with psycopg.AsyncCursor(self._connection, row_factory=psycopg.rows.tuple_row) as cursor:
            await cursor.execute(statement.marked(_percent), statement.values or None)
            return _Done(cursor.rowcount, await cursor.fetchone() if cursor.description else None)


class AsyncpgSession(_RawSession):
    """A connection of asyncpg, or of its pool. A transaction is an object of it: it refuses one inside of a BEGIN that it has not seen."""

    asynchronous = True
    dialect: Dialect = "postgresql"
    _block: Any = None

    def _check_idle(self) -> None:
        if self._connection.is_in_transaction():
            raise in_transaction()

    async def _begin(self) -> None:
        self._block = self._connection.transaction()
        await self._block.start()

    async def commit(self) -> None:
        await self._block.commit()

    async def undo(self) -> None:
        await self._block.rollback()

    async def _run(self, statement: Statement) -> _Done:
        asyncpg: Any = sys.modules["asyncpg"]
        places = {name: f"${at}" for at, name in enumerate(statement.values, 1)}
        sql, values = statement.marked(places.__getitem__), statement.values.values()
        if sql.startswith("SELECT"):
            row = await self._connection.fetchrow(sql, *values, record_class=asyncpg.Record)
            return _Done(0, None if row is None else tuple(row))
        done = str(await self._connection.execute(sql, *values)).rpartition(" ")[2]  # such as INSERT 0 1
        return _Done(int(done) if done.isdigit() else 0, None)
