"""Databases of Django: by their alias, since each thread has a connection of its own."""

from __future__ import annotations

import sys
from typing import Any

from ...errors import Invalid
from .session import LEFT, Refused, Session, in_transaction
from .statements import Statement, dialect_of

__all__ = ["DjangoSession", "is_alias"]


def is_alias(given: object) -> bool:
    """Whether this is the alias of a database in the settings of a program that has imported Django's databases."""
    django: Any = sys.modules.get("django.db")
    return isinstance(given, str) and django is not None and given in django.connections


class DjangoSession(Session):
    """A database of Django, on the connection of this thread.

    Args:
        given: The alias, or a connection of any thread. For a connection, the function gets that of this thread.
        alias: The alias.
    """

    asynchronous = False

    def __init__(self, given: Any, alias: str) -> None:
        django: Any = sys.modules["django.db"]
        self._connection = django.connections[alias]
        self._alias = alias
        self.given = given if isinstance(given, str) else self._connection
        self.dialect = dialect_of(self._connection.vendor)
        self._block: Any = None

    async def begin(self) -> None:
        connection = self._connection
        if not connection.in_atomic_block:
            if not connection.get_autocommit():
                raise Refused("the database must have AUTOCOMMIT, so that the outermost atomic() block commits")
            connection.close_if_unusable_or_obsolete()  # as between two requests
        block = sys.modules["django.db.transaction"].atomic(self._alias, durable=True)
        try:
            block.__enter__()
        except RuntimeError as error:
            raise in_transaction("call the step outside of atomic()") from error
        self._block = block

    async def change(self, statement: Statement) -> int:
        with self._connection.cursor() as cursor:
            cursor.execute(*self._marked(statement))
            return int(cursor.rowcount)

    async def read(self, statement: Statement) -> tuple[Any, ...] | None:
        with self._connection.cursor() as cursor:
            cursor.execute(*self._marked(statement))
            row = cursor.fetchone()
            return None if row is None else tuple(row)

    def _marked(self, statement: Statement) -> tuple[str, dict[str, Any] | None]:
        return statement.marked(lambda name: f"%({name})s"), dict(statement.values) or None

    async def end_function(self) -> None:
        connection = self._connection
        if connection.needs_rollback or not connection.atomic_blocks or connection.atomic_blocks[-1] is not self._block:
            raise Invalid(LEFT)

    async def commit(self) -> None:
        block, self._block = self._block, None
        block.__exit__(None, None, None)

    async def undo(self) -> None:
        block, self._block = self._block, None
        if block is not None:
            error = Invalid("rolled back")
            block.__exit__(Invalid, error, None)
