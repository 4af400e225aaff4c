"""A `def` workflow numbers its invoices by a counter in the memory of the process: a replay, and a restart, number them anew.

Fixed: a step takes the number, and the order is its key.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from resonate_core.worker import Worker
from resonate_core.workflow import blocking
from zoo.workflows.judging import Outside, Play, explored


async def buggy(world: Any) -> None:
    await explored(PLAY, world, mended=False)


async def fixed(world: Any) -> None:
    await explored(PLAY, world, mended=True)


def declare(worker: Worker, outside: Outside, mended: bool) -> Any:
    def next_number() -> int:
        outside.values["invoices"] = outside.values.get("invoices", 0) + 1
        return int(outside.values["invoices"])

    def number_of(order: str) -> int:
        return int(outside.values.setdefault(order, 1))

    @worker.workflow("order")
    def order(number: str) -> int:
        invoice = blocking.run(number_of, number) if mended else next_number()
        blocking.run(outside.does, f"invoice {invoice}", number)
        blocking.sleep(timedelta(days=1))
        return invoice

    return order


def holds(outside: Outside, state: str, result: Any) -> None:
    assert outside.effects == [f"invoice {result}"], f"{outside.effects}, and the ledger has invoice {result}"


PLAY = Play(declare, holds)
