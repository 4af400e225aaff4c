"""A transaction without a row: what a step is where no workflow runs."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import Invalid
from .opening import opened_for
from .session import Refused, awaited, driven, refuse_coroutine

__all__ = ["run_in_transaction", "run_in_transaction_async"]


def run_in_transaction(
    session: Any, function: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Run a function in a transaction of a session, and commit. Nothing prevents that it runs again.

    Args:
        session: As of `run_once`.
        function: As of `run_once`.
        args: Its arguments after the session.
        kwargs: Its arguments by name.

    Returns:
        What the function returns, as it is.

    Raises:
        Unsupported: `session` is no session of a known kind, or it is for asyncio.
        Invalid: It is in a transaction, or the function has ended the transaction or is asynchronous.
        Exception: What the function raises; nothing was committed.

    Example:
        >>> import sqlite3
        >>> from resonate_core.worker.transactions import run_in_transaction
        >>> shop = sqlite3.connect(":memory:")
        >>> run_in_transaction(shop, lambda shop, order: shop.in_transaction, ["7"]), shop.in_transaction
        (True, False)
        >>> shop.close()
    """
    if inspect.iscoroutinefunction(function):
        raise Invalid("function must be a def, got an async def: it needs an asynchronous session, and to be awaited")
    return driven(_run(session, function, args, kwargs or {}, asynchronous=False))


async def run_in_transaction_async(
    session: Any, function: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> Any:
    """Run an asynchronous function in a transaction of an asynchronous session; otherwise like `run_in_transaction`.

    Example:
        >>> import asyncio, aiosqlite
        >>> from resonate_core.worker.transactions import run_in_transaction_async
        >>> async def look(shop):
        ...     return shop.in_transaction
        >>> async def main():
        ...     async with aiosqlite.connect(":memory:") as shop:
        ...         return await run_in_transaction_async(shop, look)
        >>> asyncio.run(main())
        True
    """
    return await _run(session, function, args, kwargs or {}, asynchronous=True)


async def _run(
    given: Any, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], *, asynchronous: bool
) -> Any:
    async with contextlib.AsyncExitStack() as stack:
        session = await opened_for(given, stack, asynchronous=asynchronous)
        try:
            await session.begin()
        except Refused as refused:
            raise Invalid(str(refused)) from refused.__cause__
        try:
            returned = function(session.given, *args, **kwargs)
            value = await awaited(returned) if asynchronous else refuse_coroutine(returned)
            await session.end_function()
            await session.commit()
        except BaseException:
            await session.rollback()
            raise
        return value
