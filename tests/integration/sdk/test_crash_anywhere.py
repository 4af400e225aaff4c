"""Runs one program with a worker that crashes at its n-th request, for every n: before the request, or before it gets the reply."""

from __future__ import annotations

from datetime import timedelta

import pytest

from programs import add, fibonacci, manual_store, nap, play
from resonate_core.connection import Connection
from resonate_core.testing import Choices, CrashingConnection, Failure, crash_at_every_request, explore


async def flow(ctx) -> list:
    """A workflow with local, remote and detached calls and sleeps."""
    sleeping = [ctx.rpc("nap", seconds) for seconds in (30, 10)]
    first = await ctx.run(add, 1, 2)
    await ctx.sleep(timedelta(seconds=5))
    await ctx.options(timeout=timedelta(hours=1)).detached("nap", 60)
    numbers = await ctx.rpc("fibonacci", 4)
    return [first, numbers, *[await one for one in sleeping]]


def tell(choices: Choices, functions=(flow, nap, add, fibonacci)) -> tuple[object, int, int]:
    """Runs the program with a worker that may crash; returns the result, the number of that worker's requests, and the instant."""
    store = manual_store()

    async def main():
        mortal = CrashingConnection(choices, store, pid="mortal")
        survivor = Connection(store, pid="survivor")
        clients = [connection.resonate(ttl=timedelta(seconds=8)) for connection in (mortal, survivor)]
        for client in clients:
            for function in functions:
                client.register(function)
        # The survivor creates the promise, so that it exists even if the other worker crashes at its first request.
        result = await survivor.run_until(clients[1].rpc("flow", "flow"))
        if len(functions) > 1:
            everything = store.promises.search("flow:d*")[0].id
            await survivor.run_until(await clients[1].get(everything))
        for client in clients:
            await client.stop()
        assert store.check() == []
        return result, mortal.requests, store.now

    return play(main())


EXPECTED = [3, 3, "slept 30 s", "slept 10 s"]
REQUESTS = 39
END = 65_000


def survives(choices: Choices) -> None:
    """The program gives its result, at most a minute later."""
    result, _, end = tell(choices)
    assert result == EXPECTED
    assert END <= end <= END + 60_000


def test_without_a_crash():
    assert tell(Choices.from_tape([])) == (EXPECTED, REQUESTS, END)


def test_a_crash_before_and_after_each_request():
    assert crash_at_every_request(survives).runs == 1 + 2 * REQUESTS


def test_it_is_the_same_every_time():
    tape = [0] * 13 + [1]
    runs = [Choices.from_tape(tape) for _ in range(2)]
    assert tell(runs[0]) == tell(runs[1])
    assert runs[0].drawn == runs[1].drawn
    assert runs[0].story == runs[1].story


charges: list[str] = []


def charge(ctx) -> None:
    """A step that is not idempotent."""
    charges.append("order")


def charging(choices: Choices) -> None:
    """Charges in a step of a workflow. A crash after the charge, before the step is recorded, charges again."""
    charges.clear()

    async def flow(ctx) -> str:
        await ctx.run(charge)
        return "shipped"

    tell(choices, (flow,))
    assert len(charges) == 1, f"charged {len(charges)} times"


def test_a_double_charge_is_found_with_its_story():
    with pytest.raises(Failure, match="charged 2 times") as found:
        crash_at_every_request(charging)
    story = found.value.story
    assert sum("mortal crashes" in line for line in story) == 1
    with pytest.raises(Failure) as again:
        explore(charging, replay=found.value.token)
    assert again.value.story == story
