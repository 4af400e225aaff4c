"""A workflow reads the balance in a step and writes it in another one: what other workflows have written in between is lost.

Fixed: one step adds.
"""

from __future__ import annotations

import asyncio
from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import run, uuid4
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    account = outside.values

    async def read() -> int:
        await asyncio.sleep(0.01)
        return int(account.get("balance", 0))

    async def write(balance: int) -> None:
        await asyncio.sleep(0.01)
        account["balance"] = balance

    async def add(amount: int, key: str) -> None:
        await asyncio.sleep(0.01)
        if key not in outside.keys:
            outside.keys.add(key)
            account["balance"] = int(account.get("balance", 0)) + amount

    @worker.workflow("deposit")
    async def deposit(number: str) -> None:
        if mended:
            await run(add, 10, str(await uuid4()))
        else:
            await run(write, await run(read) + 10)

    return deposit


def holds(outside: Outside, state: str, result: Any) -> None:
    assert outside.values["balance"] == 10 * PLAY.orders, f"the balance is {outside.values['balance']}"


PLAY = Play(declare, holds, orders=2)
