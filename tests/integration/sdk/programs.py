"""Helpers and durable functions for several tests of the SDK. They do not wait for real time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import resonate_core as rc
from resonate_core.connection import Connection

SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000


def play(program: Coroutine[Any, Any, Any]) -> Any:
    """Runs a program that takes no real time; a program that hangs fails by a timeout."""

    async def bounded() -> Any:
        async with asyncio.timeout(60):
            return await program

    return asyncio.run(bounded())


def manual_store(**options: Any) -> rc.Store:
    """Returns a store on a manual clock at 0 that checks every invariant after every step."""
    return rc.Store(clock=rc.ManualClock(0), check=True, **options)


def worker(store: rc.Store, *functions: Any, group: str = "default", pid: str | None = None, **options: Any) -> Any:
    """Returns a connection and the SDK's client on it, with functions registered."""
    connection = Connection(store, group=group, pid=pid)
    resonate = connection.resonate(**options)
    for function in functions:
        resonate.register(function)
    return connection, resonate


async def add(ctx, a: int, b: int) -> int:
    """A leaf."""
    return a + b


async def fibonacci(ctx, n: int) -> int:
    """Calls itself, alternating between a local and a remote child."""
    if n < 2:
        return n
    local = ctx.run(fibonacci, n - 1)
    remote = ctx.rpc("fibonacci", n - 2)
    return await local + await remote


async def nap(ctx, seconds: int) -> str:
    """Sleeps once."""
    await ctx.sleep(timedelta(seconds=seconds))
    return f"slept {seconds} s"
