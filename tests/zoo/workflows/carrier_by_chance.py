"""The code of a workflow chooses a carrier by `random`: a replay chooses another one, and pays it for a parcel of the first one.

Fixed: the choice is a step.
"""

from __future__ import annotations

import random
from datetime import timedelta
from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import run, sleep
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


CARRIERS = [f"carrier {number}" for number in range(40)]


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    def ship(number: str, carrier: str) -> None:
        outside.does("parcel", number)
        outside.values.setdefault(number, carrier)

    def pay(number: str, carrier: str) -> None:
        right = carrier == outside.values[number]
        outside.does("pays for it" if right else "pays another carrier", f"payment of {number}")

    async def deliver(number: str, carrier: str) -> None:
        await run(ship, number, carrier)
        await sleep(timedelta(days=1))
        await run(pay, number, carrier)

    if mended:

        @worker.workflow("order")
        async def order(number: str) -> None:
            await deliver(number, await run(random.choice, CARRIERS))
    else:

        @worker.workflow("order")
        async def order(number: str) -> None:
            await deliver(number, random.choice(CARRIERS))

    return order


def holds(outside: Outside, state: str, result: Any) -> None:
    assert outside.effects == ["parcel", "pays for it"], f"a parcel, and it {outside.effects[-1]}"


PLAY = Play(declare, holds)
