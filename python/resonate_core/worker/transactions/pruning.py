"""Old rows go."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import Any

from ...calls.values import Duration, milliseconds
from ...errors import Invalid
from .opening import opened_for
from .session import Refused, driven
from .statements import MOST_AT_ONCE, pruning

__all__ = ["prune_steps", "prune_steps_async"]

_MONTH = timedelta(days=30)


def prune_steps(session: Any, *, older_than: Duration = _MONTH) -> int:
    """Remove old rows of the table of exactly-once steps, in transactions of a thousand rows each.

    A row is needed from the commit of its step until the store has the record of the step: milliseconds, or after a crash the time
    until the workflow runs again. The age must be greater than any such pause: workers that are stopped, a queue that is paused, a
    workflow that was archived and runs again after its code was corrected. It must be greater than the retention of workflows (7 days),
    too: as long as the store keeps the records of a workflow, a backup of the store that is put back may lack the last of them, and
    then the rows are all that is left. A workflow that runs on after its row was removed repeats the effect.

    Args:
        session: As of `run_once`. It must not be in a transaction.
        older_than: The age, in ms or as a `timedelta`, by the clock of the database.

    Returns:
        How many rows were removed.

    Raises:
        Invalid: The age is negative, or the session is in a transaction.
        Unsupported: `session` is no session of a known kind, or it is for asyncio.
        Exception: What the database raises, such as that the table is missing.

    Example:
        >>> import sqlite3
        >>> from resonate_core.worker.transactions import prune_steps, steps_sql
        >>> shop = sqlite3.connect(":memory:")
        >>> _ = shop.executescript(steps_sql("sqlite"))
        >>> prune_steps(shop)
        0
        >>> shop.close()
    """
    return driven(_pruned(session, older_than, asynchronous=False))


async def prune_steps_async(session: Any, *, older_than: Duration = _MONTH) -> int:
    """Remove old rows of the table of exactly-once steps, on an asynchronous session; otherwise like `prune_steps`.

    Example:
        >>> import asyncio, aiosqlite
        >>> from resonate_core.worker.transactions import prune_steps_async, steps_sql
        >>> async def main():
        ...     async with aiosqlite.connect(":memory:") as shop:
        ...         await shop.executescript(steps_sql("sqlite"))
        ...         return await prune_steps_async(shop)
        >>> asyncio.run(main())
        0
    """
    return await _pruned(session, older_than, asynchronous=True)


async def _pruned(given: Any, older_than: Duration, *, asynchronous: bool) -> int:
    seconds = -(-milliseconds("older_than", older_than) // 1000)  # rounded up: SQLite keeps seconds
    removed = 0
    async with contextlib.AsyncExitStack() as stack:
        session = await opened_for(given, stack, asynchronous=asynchronous)
        while True:
            try:
                await session.begin()
            except Refused as refused:
                raise Invalid(str(refused)) from refused.__cause__
            try:
                gone = await session.change(pruning(session.dialect, seconds))
                await session.end_function()
                await session.commit()
            except BaseException:
                await session.rollback()
                raise
            removed += gone
            if gone < MOST_AT_ONCE:
                return removed
