"""Systems of the whole product, for the simulator: workers of jobs, our server with clients of it, and programs of the SDK."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from resonate_core.asgi import create_app
from resonate_core.testing import World
from resonate_core.worker import JobContext, Worker

__all__ = ["SCENARIOS", "calm_jobs", "durable_functions", "faulty_jobs", "server"]

CONCURRENCY = 2
FAR = 10**12


class Ledger:
    """Counts the attempts of one run: how often each job was started, and how many attempts a worker ran at once."""

    def __init__(self) -> None:
        self.starts: Counter[str] = Counter()
        self.running: Counter[str] = Counter()  # by worker
        self.most_running = 0

    def begin(self, job: JobContext) -> None:
        self.starts[job.id] += 1
        self.running[job.worker] += 1
        self.most_running = max(self.most_running, self.running[job.worker])

    def end(self, job: JobContext) -> None:
        self.running[job.worker] -= 1


def make_worker(ledger: Ledger) -> Callable[[Any], Worker]:
    def make(store: Any) -> Worker:
        worker = Worker(store, concurrency=CONCURRENCY)

        @worker.task("slow")
        async def slow(number: int, job: JobContext) -> int:
            ledger.begin(job)
            await asyncio.sleep(100)  # longer than a lease
            ledger.end(job)
            return number + 1

        @worker.task("flaky", max_retries=20)
        async def flaky(number: int, job: JobContext) -> int:
            ledger.begin(job)
            await asyncio.sleep(1)
            ledger.end(job)
            if job.attempt < 3:
                raise ValueError("again")
            return number + 1

        @worker.task("sync")
        def sync(number: int, job: JobContext) -> int:
            ledger.starts[job.id] += 1
            return number + 1

        @worker.task("report")
        async def report(job: JobContext) -> None:
            ledger.starts[job.id] += 1

        worker.periodic("*/10 * * * *", report, name="report")
        return worker

    return make


KINDS = ("slow", "flaky", "sync")


async def _run_jobs(world: World, within: str) -> Ledger:
    ledger = Ledger()
    for name in ("a", "b"):
        world.worker(name, make_worker(ledger))
    ids = [f"{kind}-{number}" for kind in KINDS for number in range(3)]
    for id in ids:
        await world.call(id, id.partition("-")[0], int(id[-1]))
    for id in ids:
        promise = await world.settled(id, within=within)
        assert (promise.state, promise.value.json()) == ("resolved", int(id[-1]) + 1), id
    starts = {id: ledger.starts[id] for id in ids}
    await world.sleep("21 min")
    assert starts == {id: ledger.starts[id] for id in ids}, "a job that is settled ran again"
    assert sum(id.startswith("report@") for id in ledger.starts) >= 2, "periodic jobs did not run"
    return ledger


async def calm_jobs(world: World) -> None:
    """Requests are only delayed: each attempt runs once, within the slots of its worker."""
    world.faults(delay=0.1, reorder=0.1)
    ledger = await _run_jobs(world, "20 min")
    expected = {"slow": 1, "flaky": 3, "sync": 1, "report@": 1}
    for id, count in ledger.starts.items():
        assert count == next(times for kind, times in expected.items() if id.startswith(kind)), f"{id} ran {count} times"
    assert ledger.most_running <= CONCURRENCY


async def faulty_jobs(world: World) -> None:
    """Workers crash, and requests and replies are lost: each job has its result in the end, and does not run after that."""
    world.faults(lose_reply=0.03, lose_request=0.03, delay=0.05, duplicate=0.03, reorder=0.05, busy=0.02, crash=0.01, skew=0.2)
    await _run_jobs(world, "10 days")


# -- the server -------------------------------------------------------------------------------------------------------------------------


async def _persistently(attempt: Callable[[], Awaitable[Any]], lossless: bool = False) -> Any:
    """Repeats a call after each error of the network. If nothing is lost, the server must answer in time, or close the connection."""
    import httpx

    while True:
        try:
            return await attempt()
        except httpx.TransportError as error:
            if lossless and isinstance(error, httpx.ReadTimeout):
                raise AssertionError("the server has not answered") from error
            await asyncio.sleep(1)


async def server(world: World) -> None:
    """Clients create and settle promises over HTTP; streams get every execute and every unblock."""
    executed: set[str] = set()
    unblocked: set[str] = set()
    unblocked_late: set[str] = set()
    settled: set[str] = set()
    ids = {client: [f"{client}-{number}" for number in range(2)] for client in ("x", "y", "z")}

    async def ask(kind: str, **data: Any) -> dict[str, Any]:
        corr = f"{kind} {data.get('id') or data.get('awaited')}"
        body = {"kind": kind, "head": {"corrId": corr, "version": "2026-04-01"}, "data": data}

        async def attempt() -> dict[str, Any]:
            reply: dict[str, Any] = (await world.http("server", timeout=20).post("/", json=body)).json()
            return reply

        reply: dict[str, Any] = await _persistently(attempt, lossless="z-" in corr)
        assert reply["head"]["corrId"] == corr, f"the reply to {corr} is that of {reply['head']['corrId']}"
        assert reply["head"]["status"] < 300, reply
        return reply["data"]

    async def one(id: str) -> None:
        await ask("promise.create", id=f"work-{id}", timeoutAt=FAR, param={}, tags={"resonate:target": "poll://any@workers"})
        await ask("promise.create", id=id, timeoutAt=FAR, param={}, tags={})
        await ask("promise.register_listener", awaited=id, address="poll://uni@listeners/l")
        await ask("promise.register_listener", awaited=id, address="poll://uni@late/l")
        await asyncio.sleep(5)
        await ask("promise.settle", id=id, state="resolved", value={"data": "MQ=="})
        assert world.store.promises.get(id).state == "resolved", f"{id} was acknowledged as settled"
        settled.add(id)

    async def client(name: str) -> None:
        await asyncio.gather(*(one(id) for id in ids[name]))

    async def read(path: str, take: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
        """Reads a stream whose connection breaks now and then, together with the event on its way."""

        async def attempt() -> None:
            async with world.http("server", timeout=None).stream("GET", path) as stream:
                async for line in stream.aiter_lines():
                    if line.startswith("data:"):
                        if random.random() < 0.2:
                            break
                        await take(json.loads(line[5:])["data"])

        while True:
            await _persistently(attempt)
            await asyncio.sleep(1)

    def noting(seen: set[str]) -> Callable[[dict[str, Any]], Awaitable[None]]:
        async def note(content: dict[str, Any]) -> None:
            seen.add(content["promise"]["id"])

        return note

    async def execute(content: dict[str, Any]) -> None:
        id = content["task"]["id"]
        executed.add(id)
        await ask("promise.settle", id=id, state="resolved", value={})

    async def late() -> None:
        """A stream that connects late: its messages wait for it."""
        await asyncio.sleep(60)
        await read("/poll/late/l", noting(unblocked_late))

    world.app("server", create_app)
    world.process("listener", read, "/poll/listeners/l", noting(unblocked))
    world.process("worker", read, "/poll/workers/w", execute)
    world.faults(lose_request=0.1, lose_reply=0.1, delay=0.1, duplicate=0.1, reorder=0.1, processes=["x", "y"])
    for name in ids:
        world.process(name, client, name)
    world.process("late listener", late)
    every = {id for part in ids.values() for id in part}
    world.eventually("every settle is acknowledged", lambda: settled == every, within="1 h")
    world.eventually("every unblock reaches its listener", lambda: unblocked == every, within="1 h")
    world.eventually("every unblock reaches a listener that connects late", lambda: unblocked_late == every, within="1 h")
    world.eventually("every execute reaches the worker", lambda: executed == {f"work-{id}" for id in every}, within="1 h")
    world.eventually("the outbox is empty", lambda: settled == every and not world.store.messages(), within="1 h")
    if random.random() < 0.5:
        await world.sleep(random.randrange(1, 20_000))
        world.crash("server")


# -- programs of the SDK ----------------------------------------------------------------------------------------------------------------


async def durable_functions(world: World) -> None:
    """A program of the SDK crashes and loses requests: its result is right, and no side effect happens twice for one key."""
    made: dict[str, int] = {}

    async def charge(ctx: Any, seats: int) -> int:
        return made.setdefault(f"charge-{seats}", seats + 1)

    async def book(ctx: Any, seats: int) -> int:
        first = await ctx.run(charge, seats)
        await ctx.sleep(timedelta(days=2))
        second: int = await ctx.rpc("charge", first)
        return first + second

    def register(resonate: Any) -> None:
        resonate.register(book)
        resonate.register(charge)

    for name in ("p", "q"):
        world.program(name, register)
    world.faults(lose_reply=0.05, lose_request=0.05, delay=0.1, crash=0.02, skew=0.2)
    await world.call("trip", "book", 5)
    promise = await world.settled("trip", within="3 days")
    assert (promise.state, promise.value.json()) == ("resolved", 13)
    assert made == {"charge-5": 6, "charge-6": 7}
    assert world.now >= 172_800_000


SCENARIOS = {each.__name__: each for each in (calm_jobs, faulty_jobs, server, durable_functions)}
