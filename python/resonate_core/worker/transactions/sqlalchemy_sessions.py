"""Sessions and connections of SQLAlchemy, synchronous and asynchronous."""

from __future__ import annotations

import sys
from typing import Any

from ...errors import Invalid
from .session import LEFT, Refused, Session, awaited, in_transaction
from .statements import Statement, dialect_of

__all__ = ["SqlalchemyConnection", "SqlalchemySession"]


def _text(statement: Statement) -> Any:
    return sys.modules["sqlalchemy"].text(statement.marked(lambda name: f":{name}"))


class SqlalchemyConnection(Session):
    """A `Connection` or `AsyncConnection`.

    Args:
        given: The connection as the caller gave it, perhaps in a wrapper.
        connection: The connection itself.
    """

    def __init__(self, given: Any, connection: Any) -> None:
        self.given = given
        self._connection = connection
        self._face = connection
        self._face_of(connection)
        self._block: Any = None

    def _face_of(self, face: Any) -> None:
        self.asynchronous = hasattr(face, "sync_connection") or hasattr(face, "sync_session")
        self.dialect = dialect_of(self._bind(face).dialect.name)

    def _bind(self, face: Any) -> Any:
        return face

    async def begin(self) -> None:
        self._check_idle()
        block = self._face.begin()
        self._block = await block if self.asynchronous else block
        try:
            await self._connect()
            if _commits_by_itself(self._connection):
                raise Refused("the session must not have the isolation level AUTOCOMMIT, which has no transactions")
        except BaseException:
            await self.rollback()
            raise

    def _check_idle(self) -> None:
        if self._face.in_transaction():
            raise in_transaction("commit or roll back first, or give an engine or a sessionmaker")

    async def _connect(self) -> None:
        """Get the connection on which statements run."""

    async def change(self, statement: Statement) -> int:
        return int((await awaited(self._connection.execute(_text(statement), dict(statement.values)))).rowcount)

    async def read(self, statement: Statement) -> tuple[Any, ...] | None:
        row = (await awaited(self._connection.execute(_text(statement), dict(statement.values)))).first()
        return None if row is None else tuple(row)

    async def end_function(self) -> None:
        if not self._block.is_active:
            raise Invalid(LEFT)

    async def commit(self) -> None:
        await awaited(self._block.commit())

    async def undo(self) -> None:
        await awaited(self._face.rollback())


class SqlalchemySession(SqlalchemyConnection):
    """A `Session` or `AsyncSession`. Its own `execute` may be a subclass's, which warns or returns something else."""

    def _bind(self, face: Any) -> Any:
        return face.get_bind(clause=_text(Statement("SELECT 1")))

    def _check_idle(self) -> None:
        super()._check_idle()
        session = getattr(self._face, "sync_session", self._face)
        outer = getattr(self._bind(self._face), "in_transaction", None)
        # SQLAlchemy's own pages undo a test by this mode: a program that sets it knows that a savepoint commits nothing.
        if outer is not None and outer() and session.join_transaction_mode != "create_savepoint":
            raise in_transaction(
                'that of its connection would have to be committed, too. In a test, join_transaction_mode="create_savepoint"'
            )

    async def _connect(self) -> None:
        self._connection = await awaited(self._face.connection(bind_arguments={"clause": _text(Statement("SELECT 1"))}))

    async def undo(self) -> None:
        """A session that raises in a listener of its commit can only be closed: a closed session may be used again."""
        try:
            await super().undo()
        except Exception:
            await awaited(self._face.close())

    async def end_function(self) -> None:
        """The SQL of objects that the function has added runs now, so that an error of it is the function's."""
        if self._block.is_active:
            await awaited(self._face.flush())
        await super().end_function()


def _commits_by_itself(connection: Any) -> bool:
    level = getattr(connection, "sync_connection", connection).get_execution_options().get("isolation_level")
    if level is None:
        level = getattr(connection.dialect, "_on_connect_isolation_level", None)
    return bool(level == "AUTOCOMMIT")
