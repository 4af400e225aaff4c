"""A saga notes a booking once it is answered, and undoes what it has noted. A booking whose answer was lost is never given back.

Fixed: it notes a booking before it asks for it; to give back what is not booked has no effect.
"""

from __future__ import annotations

from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import StepFailed, run
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    seats = outside.values

    async def book(leg: str) -> None:
        seats[leg] = True
        outside.answers()

    async def give_back(leg: str) -> None:
        seats.pop(leg, None)

    @worker.workflow("trip")
    async def trip(number: str) -> str:
        noted: list[str] = []
        try:
            for leg in ("flight", "train"):
                if mended:
                    noted.append(leg)
                await run(book, leg)
                if not mended:
                    noted.append(leg)
        except StepFailed:
            for leg in reversed(noted):
                await run(give_back, leg)
            return "cancelled"
        return "booked"

    return trip


def holds(outside: Outside, state: str, result: Any) -> None:
    booked = [leg for leg in ("flight", "train") if leg in outside.values]
    assert booked == (["flight", "train"] if result == "booked" else []), f"the trip is {result}, and {booked} is booked"


PLAY = Play(declare, holds)
