"""Which session a step runs on: recognized by its class, or opened by what the caller gave in its place."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

from ...base.caller_connections import behind, is_of
from ...errors import Unsupported
from .django_sessions import DjangoSession, is_alias
from .raw_sessions import AiosqliteSession, AsyncpgSession, AsyncPsycopgSession, PsycopgSession, SqliteSession
from .session import Session
from .sqlalchemy_sessions import SqlalchemyConnection, SqlalchemySession

__all__ = ["opened_for"]


def _of_django(given: Any, connection: Any) -> Session:
    return DjangoSession(given, connection.alias)


#: Module, class, and the session of it. The first one that fits is taken.
_SESSIONS: tuple[tuple[str, str, Callable[[Any, Any], Session]], ...] = (
    ("sqlalchemy.ext.asyncio", "AsyncSession", SqlalchemySession),
    ("sqlalchemy.ext.asyncio", "AsyncConnection", SqlalchemyConnection),
    ("sqlalchemy.orm", "Session", SqlalchemySession),
    ("sqlalchemy.engine", "Connection", SqlalchemyConnection),
    ("django.utils.connection", "ConnectionProxy", _of_django),
    ("django.db.backends.base.base", "BaseDatabaseWrapper", _of_django),
    ("sqlite3", "Connection", SqliteSession),
    ("aiosqlite", "Connection", AiosqliteSession),
    ("psycopg", "Connection", PsycopgSession),
    ("psycopg", "AsyncConnection", AsyncPsycopgSession),
    ("asyncpg", "Connection", AsyncpgSession),
    ("asyncpg.pool", "PoolConnectionProxy", AsyncpgSession),
)

#: Module, class, and the method that opens a session which must be closed; of a registry, the session of this thread or task.
_OPENERS: tuple[tuple[str, str, str], ...] = (
    ("sqlalchemy.engine", "Engine", "connect"),
    ("sqlalchemy.ext.asyncio", "AsyncEngine", "connect"),
    ("asyncpg", "Pool", "acquire"),
)
_REGISTRIES = (("sqlalchemy.orm", "scoped_session"), ("sqlalchemy.ext.asyncio", "async_scoped_session"))


async def opened_for(given: Any, stack: contextlib.AsyncExitStack, *, asynchronous: bool) -> Session:
    """The session that a caller gave, or that what it gave opens, for a function of one of both kinds.

    Args:
        given: A session or connection; an engine or a pool; the alias of a database of Django; or a function without arguments that
            returns a session, or a context manager of one, such as a sessionmaker.
        stack: Closes at its end what was opened here.
        asynchronous: Whether the function is.

    Raises:
        Unsupported: It is nothing of this kind, or of the other kind than the function, or its database is neither SQLite nor PostgreSQL.
    """
    session = await _opened(given, stack, "__aenter__" if asynchronous else "__enter__")
    if session.asynchronous is not asynchronous:
        face, function = ("an asynchronous", "an async def") if asynchronous else ("a synchronous", "a def")
        raise Unsupported(f"session must be {face} one, as its function is {function}, got {type(session.given).__qualname__}")
    return session


async def _opened(given: Any, stack: contextlib.AsyncExitStack, method: str) -> Session:
    if any(is_of(given, *kind) for kind in _REGISTRIES):
        given = given()
    known = _known(given)
    if known is not None:
        return known
    opens = _opener(given)
    if opens is None:
        raise _unknown(given)
    entered = await _entered(opens(), stack, method)
    known = _known(entered)
    if known is None:
        raise _unknown(entered)
    return known


def _known(given: Any) -> Session | None:
    if is_alias(given):
        return DjangoSession(given, given)
    for connection in behind(given):
        for module, name, make in _SESSIONS:
            if is_of(connection, module, name):
                return make(given, connection)
    return None


def _opener(given: Any) -> Callable[[], Any] | None:
    for module, name, method in _OPENERS:
        if is_of(given, module, name):
            opens: Callable[[], Any] = getattr(given, method)
            return opens
    return given if callable(given) and not isinstance(given, type) else None


async def _entered(made: Any, stack: contextlib.AsyncExitStack, method: str) -> Any:
    """The session that a context manager yields, which the stack leaves; anything else is the session itself."""
    if method == "__aenter__" and inspect.isawaitable(made) and not hasattr(made, method):
        made = await made
    if is_of(made, "sqlite3", "Connection"):  # as a context manager it only commits
        return stack.enter_context(contextlib.closing(made))
    if not hasattr(made, method):
        return made
    return await stack.enter_async_context(made) if method == "__aenter__" else stack.enter_context(made)


def _unknown(given: Any) -> Unsupported:
    shown = None if given is None else type(given).__qualname__
    return Unsupported(
        "session must be a session, connection, engine or sessionmaker of SQLAlchemy, a connection of sqlite3, aiosqlite, psycopg or "
        f"asyncpg, a pool of asyncpg, a database of Django, or a function that opens one of these, got {shown}"
    )
