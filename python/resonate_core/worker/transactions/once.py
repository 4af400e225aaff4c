"""One step, exactly once: its effects, its row and its result are one transaction."""

from __future__ import annotations

import contextlib
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from ...errors import Invalid, ResonateError
from .key import StepKey
from .opening import opened_for
from .problems import AnotherStep, StepUnsettled
from .session import Refused, Session, awaited, driven, refuse_coroutine
from .statements import TABLE, creation, existence, insertion, keeping, lookup, steps_sql

__all__ = ["run_once", "run_once_async"]

_T = TypeVar("_T")
_log = logging.getLogger("resonate_core.worker")

#: How often a transaction is tried that the database has rolled back because of another one.
_TRIES = 5
#: The SQLSTATE of such transactions: serialization_failure and deadlock_detected.
_ROLLED_BACK = frozenset({"40001", "40P01"})


def run_once(
    session: Any,
    key: StepKey,
    function: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    encode: Callable[[Any], str | bytes],
    decode: Callable[[str], _T],
    name: str | None = None,
) -> _T:
    """Run a function in a transaction of a session, unless an attempt with this key has committed before.

    The transaction inserts the row of the key, runs the function, keeps the result in the row, and commits. A second caller with this
    key waits for the first one: in PostgreSQL at the row, in SQLite at the file, as long as its timeout says. If the transaction is
    rolled back, by an exception of the function or a crash, there is no row. The table is made if it is missing.

    After a deadlock, or a serialization failure of PostgreSQL, the transaction is tried again, five times in all.

    Args:
        session: A `Session`, `Connection`, `Engine` or `sessionmaker` of SQLAlchemy; a connection of sqlite3 or psycopg; the alias of
            a database of Django, or a connection of it; or a function that opens one of these, which is closed afterwards. It must not
            be in a transaction.
        key: Of the step.
        function: A `def`. It gets the session first, and must neither commit nor roll back.
        args: Its further arguments.
        kwargs: Its arguments by name.
        encode: Makes JSON of the result, before the commit.
        decode: Reads the JSON. The caller gets what it returns also from the attempt that ran the function.
        name: Of the function, in the row; by default its qualified name.

    Returns:
        The result of the attempt that has committed.

    Raises:
        StepUnsettled: Neither is known that the step took effect, nor that it did not. This is no failure of the step.
        AnotherStep: A function with another name has committed with this key.
        Unsupported: `session` is no session of a known kind, or it is for asyncio.
        Invalid: The function has ended the transaction, or is asynchronous.
        Exception: What the function, `encode` or `decode` raises; nothing was committed. An exception of `decode` in a later attempt is
            about a result that was committed.

    Example:
        >>> import json, pathlib, sqlite3, tempfile
        >>> from resonate_core.worker.transactions import StepKey, run_once
        >>> def place(shop, order):
        ...     print("places", order)
        ...     shop.execute("INSERT INTO orders VALUES (?)", (order,))
        ...     return {"placed": order}
        >>> key = StepKey("order-7", created_at=0, restarts=0, step="3")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     shop = sqlite3.connect(pathlib.Path(folder) / "shop.db")
        ...     _ = shop.execute("CREATE TABLE orders (id TEXT)")
        ...     run_once(shop, key, place, ["7"], encode=json.dumps, decode=json.loads)
        ...     run_once(shop, key, place, ["7"], encode=json.dumps, decode=json.loads)
        ...     shop.close()
        places 7
        {'placed': '7'}
        {'placed': '7'}
    """
    if inspect.iscoroutinefunction(function):
        raise Invalid("function must be a def, got an async def: it needs an asynchronous session, and to be awaited")
    return driven(_Once(key, function, args, kwargs, encode, decode, name).on(session, asynchronous=False))


async def run_once_async(
    session: Any,
    key: StepKey,
    function: Callable[..., Any],
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    encode: Callable[[Any], str | bytes],
    decode: Callable[[str], _T],
    name: str | None = None,
) -> _T:
    """Run an asynchronous function exactly once, on an asynchronous session; otherwise like `run_once`.

    Args:
        session: An `AsyncSession`, `AsyncConnection`, `AsyncEngine` or `async_sessionmaker` of SQLAlchemy; a connection of aiosqlite,
            of asyncpg or an `AsyncConnection` of psycopg; a pool of asyncpg; or a function that opens one of these.
        key: As of `run_once`.
        function: An `async def`.
        args: As of `run_once`.
        kwargs: As of `run_once`.
        encode: As of `run_once`.
        decode: As of `run_once`.
        name: As of `run_once`.

    Raises:
        StepUnsettled: And others, as of `run_once`. If the task is cancelled during the commit, the outcome is not known, either.

    Example:
        >>> import asyncio, json
        >>> import aiosqlite
        >>> from resonate_core.worker.transactions import StepKey, run_once_async
        >>> async def place(shop, order):
        ...     await shop.execute("CREATE TABLE orders (id TEXT)")
        ...     return order
        >>> async def main():
        ...     async with aiosqlite.connect(":memory:") as shop:
        ...         key = StepKey("order-7", created_at=0, restarts=0, step="3")
        ...         return await run_once_async(shop, key, place, ["7"], encode=json.dumps, decode=json.loads)
        >>> asyncio.run(main())
        '7'
    """
    return await _Once(key, function, args, kwargs, encode, decode, name).on(session, asynchronous=True)


class _Once(Generic[_T]):
    """One call of `run_once`."""

    def __init__(
        self,
        key: StepKey,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None,
        encode: Callable[[Any], str | bytes],
        decode: Callable[[str], _T],
        name: str | None,
    ) -> None:
        self._key = key
        self._function = function
        self._args = args
        self._kwargs = kwargs or {}
        self._encode = encode
        self._decode = decode
        self._name = name or str(getattr(function, "__qualname__", type(function).__qualname__))

    async def on(self, given: Any, *, asynchronous: bool) -> _T:
        """Open the session, run the step, close the session."""
        stack = contextlib.AsyncExitStack()
        try:
            session = await self._opened(given, stack, asynchronous)
            value = await self._tried(session)
        except BaseException as error:
            await stack.__aexit__(type(error), error, error.__traceback__)
            raise
        try:
            await stack.aclose()
        except Exception:
            _log.warning("the session of %s has raised when it was closed", self._key, exc_info=True)
        return value

    async def _opened(self, given: Any, stack: contextlib.AsyncExitStack, asynchronous: bool) -> Session:
        try:
            return await opened_for(given, stack, asynchronous=asynchronous)
        except ResonateError:
            raise
        except Exception as error:
            raise self._unsettled(f"its session cannot be opened: {error!r}") from error

    async def _tried(self, session: Session) -> _T:
        for left in reversed(range(_TRIES)):
            try:
                return await self._attempt(session)
            except Exception as error:
                if left == 0 or not _was_rolled_back(error):
                    raise
        raise AssertionError("unreachable")

    async def _attempt(self, session: Session) -> _T:
        stored = await self._claimed(session)
        if stored is not None:
            return self._decode(stored)
        try:
            value = await self._ran(session)
        except BaseException:
            await session.rollback()
            raise
        try:
            await session.commit()
        except BaseException as error:
            await session.rollback()
            if not isinstance(error, Exception):
                raise
            await self._settle(session, error)
        return value

    async def _ran(self, session: Session) -> _T:
        """Run the function in the open transaction, and keep its result."""
        returned = self._function(session.given, *self._args, **self._kwargs)
        returned = await awaited(returned) if session.asynchronous else refuse_coroutine(returned)
        await session.end_function()
        text = _as_text(self._encode(returned))
        value = self._decode(text)
        await session.change(keeping(self._key, text))
        return value

    # -- the row -----------------------------------------------------------------------------------------------------------------

    async def _claimed(self, session: Session) -> str | None:
        """Begin the transaction that has inserted the row, and return None; or return the result in the row, without a transaction."""
        try:
            return await self._inserted(session)
        except ResonateError:
            raise
        except Refused as refused:
            raise self._unsettled(str(refused)) from refused.__cause__
        except Exception as error:
            problem = error
        if not await self._table_is_there(session, problem):
            await self._make_table(session)
        elif (found := await self._found(session, problem)) is not None:  # a snapshot of PostgreSQL cannot see it, and fails
            return found
        try:
            return await self._inserted(session)  # another program may have made the table meanwhile
        except ResonateError:
            raise
        except Exception as error:
            raise self._unsettled(f"its row cannot be written: {error!r}") from error

    async def _inserted(self, session: Session) -> str | None:
        await session.begin()
        try:
            if await session.change(insertion(self._key, self._name)):
                return None
            row = await session.read(lookup(self._key))
        except BaseException:
            await session.rollback()
            raise
        await session.rollback()
        if row is None:
            raise self._unsettled("its row was removed meanwhile")
        return self._result_in(row)

    async def _found(self, session: Session, problem: Exception) -> str | None:
        """The result in the row, read in a transaction of its own."""
        try:
            await session.begin()
            try:
                row = await session.read(lookup(self._key))
            finally:
                await session.rollback()
        except Exception:
            raise self._unsettled(f"its row cannot be read: {problem!r}") from problem
        return None if row is None else self._result_in(row)

    def _result_in(self, row: tuple[Any, ...]) -> str:
        name, result = _as_text(row[0]), row[1]
        if name != self._name:
            message = f"{self._key} has run {name}, and now is {self._name}: a step that has run must keep its function"
            raise AnotherStep(message, name, self._name)
        if result is None:
            raise self._unsettled(
                f"{name} has committed the transaction itself, and how it went on is not known. Look at its effects: to run it again, "
                f"delete its row of {TABLE} (id {self._key.digest}); otherwise write its result there, as JSON"
            )
        return _as_text(result)

    async def _settle(self, session: Session, error: Exception) -> None:
        """After a commit that has raised: return if it took effect, and raise the error if it did not.

        Insert the row again. This waits until the database has ended the transaction of the commit.
        """
        try:
            stored = await self._inserted(session)
            if stored is None:
                await session.rollback()
        except Exception:
            raise self._unsettled(f"its commit was not answered: {error!r}") from error
        if stored is None:
            raise error
        _log.warning("the commit of %s took effect, and has raised", self._key, exc_info=error)

    # -- the table ---------------------------------------------------------------------------------------------------------------

    async def _table_is_there(self, session: Session, problem: Exception) -> bool:
        try:
            await session.begin()
            try:
                row = await session.read(existence(session.dialect))
            finally:
                await session.rollback()
        except Exception:
            raise self._unsettled(f"its row cannot be written: {problem!r}") from problem
        return row is not None and row[0] is not None

    async def _make_table(self, session: Session) -> None:
        try:
            await session.begin()
            try:
                for statement in creation(session.dialect):
                    await session.change(statement)
                await session.end_function()
                await session.commit()
            except BaseException:
                await session.rollback()
                raise
        except Exception as error:
            if await self._table_is_there(session, error):  # another program has made it at the same time
                return
            raise self._unsettled(
                f"the table {TABLE} is missing, and cannot be made here: {error!r}. Run these statements as the owner of the tables, and "
                f"grant the application's role SELECT, INSERT, UPDATE and DELETE on it:\n{steps_sql(session.dialect)}"
            ) from error

    def _unsettled(self, problem: str) -> StepUnsettled:
        return StepUnsettled(f"{self._key} is not settled: {problem}")


def _as_text(text: Any) -> str:
    return bytes(text).decode() if isinstance(text, (bytes, bytearray, memoryview)) else str(text)


def _was_rolled_back(error: Exception) -> bool:
    """Whether the database has rolled the transaction back because of another one: that is how PostgreSQL says it to each library."""
    each: BaseException | None = error
    for _ in range(4):  # our error, SQLAlchemy's or Django's, the driver's
        if each is None:
            return False
        if {getattr(each, "sqlstate", None), getattr(each, "pgcode", None)} & _ROLLED_BACK:
            return True
        each = each.__cause__
    return False
