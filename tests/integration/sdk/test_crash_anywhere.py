"""Runs one program with a worker that dies at its n-th request, for every n: before the request, or before it gets the reply."""

from __future__ import annotations

from datetime import timedelta

import pytest

from programs import add, fibonacci, manual_store, nap, play
from resonate_core.connection import Connection


class Mortal(Connection):
    """A connection that crashes at its n-th request."""

    def __init__(self, *arguments, dies_at: int | None, after: bool, **options) -> None:
        super().__init__(*arguments, **options)
        self._dies_at = dies_at
        self._after = after
        self.requests = 0

    async def send(self, req: str, headers: dict[str, str] | None = None) -> str:
        self.requests += 1
        dies = self.requests == self._dies_at
        if dies and not self._after:
            self.crash()
        reply = await super().send(req, headers)
        if dies and self._after:
            self.crash()
            await self._die()
        return reply


async def flow(ctx) -> list:
    """A workflow with local, remote and detached calls and sleeps."""
    sleeping = [ctx.rpc("nap", seconds) for seconds in (30, 10)]
    first = await ctx.run(add, 1, 2)
    await ctx.sleep(timedelta(seconds=5))
    await ctx.options(timeout=timedelta(hours=1)).detached("nap", 60)
    numbers = await ctx.rpc("fibonacci", 4)
    return [first, numbers, *[await one for one in sleeping]]


def tell(dies_at: int | None, after: bool) -> tuple[object, int, int]:
    """Runs the program with a worker that dies; returns the result, the number of that worker's requests, and the instant."""
    store = manual_store()

    async def main():
        mortal = Mortal(store, pid="mortal", dies_at=dies_at, after=after)
        survivor = Connection(store, pid="survivor")
        clients = [connection.resonate(ttl=timedelta(seconds=8)) for connection in (mortal, survivor)]
        for client in clients:
            for function in (flow, nap, add, fibonacci):
                client.register(function)
        # The survivor creates the promise, so that it exists even if the other worker dies at its first request.
        result = await survivor.run_until(clients[1].rpc("flow", "flow"))
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


def test_without_a_crash():
    assert tell(dies_at=None, after=False) == (EXPECTED, REQUESTS, END)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("dies_at", range(1, REQUESTS + 1))
def test_a_crash_at_each_request(dies_at: int, after: bool):
    result, _, end = tell(dies_at, after)
    assert result == EXPECTED
    assert END <= end <= END + 60_000


def test_it_is_the_same_every_time():
    assert tell(7, True) == tell(7, True)
