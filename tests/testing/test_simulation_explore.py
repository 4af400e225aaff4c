"""`explore` searches the runs of a simulated system, and shrinks and replays the one that fails."""

from __future__ import annotations

import asyncio

import pytest

from resonate_core.testing import Failure, ProcessStore, World, explore
from resonate_core.testing.exploration import explore as same
from resonate_core.worker import Worker


class Bank:
    def __init__(self) -> None:
        self.made: dict[str, int] = {}

    def charge(self, order: str) -> None:
        self.made[order] = self.made.get(order, 0) + 1

    def charges(self, order: str) -> int:
        return self.made.get(order, 0)


bank = Bank()


def make_worker(store: ProcessStore) -> Worker:
    worker = Worker(store)

    @worker.task("book")
    async def book_trip(order: str) -> str:
        bank.charge(order)
        await asyncio.sleep(1)
        return "booked"

    return worker


async def order(world: World) -> None:
    bank.made.clear()
    world.worker("a", make_worker)
    world.worker("b", make_worker)
    world.faults(lose_reply=0.05, crash=0.05)
    world.always("charged once", lambda: bank.charges("order-1") <= 1)
    await world.call("order-1", "book", "order-1")
    await world.settled("order-1", within="10 days")


def test_a_search_finds_shrinks_and_replays_a_double_charge():
    assert same is explore
    with pytest.raises(Failure, match="always 'charged once'") as raised:
        explore(order, runs=500, seed=1, shrink=300)
    failure = raised.value
    assert "attempt 1" in "\n".join(failure.story)
    assert "attempt 2" in failure.story[-1]
    assert 5 <= len(failure.story) <= 14
    with pytest.raises(Failure, match="always 'charged once'") as again:
        explore(order, replay=failure.token)
    assert again.value.story == failure.story
