"""Programs of PyPI ``resonate-sdk`` on a `Store`, in this process, without a server.

A `Connection` is both the SDK's ``Network`` and its ``Source``: the store answers requests directly, and the messages of its
outbox are delivered to the worker that serves their address. Time is the store's: on a `resonate_core.ManualClock`, the SDK's
deadlines, retries and heartbeats use that clock too, so that a month of ``ctx.sleep`` takes no real time and is repeatable.

Example:
    >>> import asyncio, datetime
    >>> import resonate_core as rc
    >>> from resonate_core.connection import Connection
    >>> async def reminder(ctx, text):
    ...     await ctx.sleep(datetime.timedelta(days=30))
    ...     return f"30 days later: {text}"
    >>> async def main():
    ...     connection = Connection(rc.Store(clock=rc.ManualClock()))
    ...     resonate = connection.resonate()
    ...     resonate.register(reminder)
    ...     handle = resonate.options(timeout=datetime.timedelta(days=60)).run("note", reminder, "pay the rent")
    ...     print(await connection.run_until(handle))
    ...     await resonate.stop()
    >>> asyncio.run(main())
    30 days later: pay the rent

The package itself imports without the SDK and on every Python; a `Connection` needs ``resonate-sdk`` (extra ``sdk``)
and Python 3.12.
"""

from __future__ import annotations

from .client import Connection
from .sdk import SdkMissing
from .timekeeper import Stalled

__all__ = ["Connection", "SdkMissing", "Stalled"]
