"""Programs of the SDK, web apps and our own server in a simulation, and a store that loses its power."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.testing import Choices
from resonate_core.testing.simulation import Run, run_scenario, simulate


def simplest(scenario: Any) -> Run:
    return run_scenario(scenario, Choices.from_tape([]))


# -- the SDK ----------------------------------------------------------------------------------------------------------------------------

needs_sdk = pytest.mark.skipif(sys.version_info < (3, 12), reason="the SDK needs Python 3.12")


async def reserve(ctx: Any, seats: int) -> int:
    return seats + 1


async def book_trip(ctx: Any, seats: int) -> int:
    first = await ctx.run(reserve, seats)
    await ctx.sleep(timedelta(days=2))
    second: int = await ctx.rpc("reserve", first)
    return first + second


def register(resonate: Any) -> None:
    resonate.register(book_trip)
    resonate.register(reserve)


@needs_sdk
def test_durable_functions_survive_crashes_and_lost_requests():
    async def scenario(world):
        world.program("p", register)
        world.program("q", register)
        world.faults(lose_reply=0.05, lose_request=0.05, delay=0.1, crash=0.02, partition=0.01, skew=0.2)
        await world.call("trip-1", book_trip, 5)
        promise = await world.settled("trip-1", within="10 days")
        return promise.state, promise.value.json(), world.now

    crashes = 0
    for seed in range(12):
        run = simulate(scenario, seed=seed)
        state, value, now = run.value
        assert (state, value) == ("resolved", 13)
        assert now >= 172_800_000
        crashes += sum("crashes" in line for line in run.story)
    assert crashes > 0


@needs_sdk
def test_two_days_of_a_durable_function_take_few_steps_and_one_order():
    async def scenario(world):
        world.program("p", register)
        await world.call("trip-1", "book_trip", 5)
        return (await world.settled("trip-1", within="10 days")).value.json()

    run = simulate(scenario, seed=1, twice=True)
    assert run.value == 13
    assert run.steps < 500


# -- apps -------------------------------------------------------------------------------------------------------------------------------


def make_app(store: rc.Store[Any]) -> Any:
    from fastapi import FastAPI

    app = FastAPI()

    @app.post("/orders/{id}")
    async def create(id: str) -> dict[str, str]:
        await store.aio.promises.create(id, timeout=10**9)
        await asyncio.sleep(1)
        return {"id": id}

    @app.get("/orders/{id}")
    def read(id: str) -> dict[str, str]:
        return {"state": store.promises.get(id).state}

    return app


def test_an_app_answers_crashes_and_restarts():
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("fastapi")

    async def scenario(world):
        world.app("web", make_app)
        client = world.http("web")
        await world.sleep(1)
        created = (await client.post("/orders/o1")).json()
        asyncio.get_running_loop().call_later(0.5, world.crash, "web")
        with pytest.raises(httpx.ReadError, match="the server crashed"):
            await client.post("/orders/o2")
        with pytest.raises(httpx.ConnectError, match="the server is down"):
            await client.get("/orders/o1")
        await world.sleep("2 min")
        return created, (await client.get("/orders/o1")).json(), (await client.get("/orders/o2")).json()

    assert simulate(scenario, seed=1, twice=True).value == ({"id": "o1"}, {"state": "pending"}, {"state": "pending"})


def test_a_browser_asks_again_when_an_answer_is_lost():
    httpx = pytest.importorskip("httpx")
    pytest.importorskip("fastapi")

    async def scenario(world):
        tries: list[str] = []

        async def browser() -> None:
            client = world.http("web")
            while True:
                try:
                    tries.append((await client.post("/orders/o1")).json()["id"])
                    return
                except httpx.TransportError as error:
                    tries.append(type(error).__name__)
                    await asyncio.sleep(1)

        world.app("web", make_app)
        world.faults(lose_request=0.2, lose_reply=0.2, delay=0.2, duplicate=0.1, processes="browser")
        world.process("browser", browser)
        await world.sleep("1 min")
        return tries

    ends = [simulate(scenario, seed=seed).value for seed in range(15)]
    assert {each[-1] for each in ends} == {"o1"}
    assert any("ReadTimeout" in each for each in ends)


def test_an_app_object_is_served_as_it_is():
    pytest.importorskip("httpx")

    async def hello(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        request = await receive()
        await send({"type": "http.response.start", "status": 201, "headers": [(b"x-a", b"b")]})
        for part in (b"got ", request["body"]):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"!"})

    async def scenario(world):
        client = world.http(hello)
        await world.sleep(1)
        response = await client.put("/x?y=1", content=b"data")
        return response.status_code, response.headers["x-a"], response.text

    assert simplest(scenario).value == (201, "b", "got data!")


def test_the_server_delivers_to_a_stream():
    pytest.importorskip("httpx")
    from resonate_core.asgi import create_app

    async def scenario(world):
        world.app("server", create_app)
        client = world.http("server")
        await world.sleep(1)
        head = {"corrId": "1", "version": "2026-04-01"}
        missing = await client.post("/", json={"kind": "promise.get", "head": head, "data": {"id": "none"}})
        async with client.stream("GET", "/poll/g/x", timeout=None, headers={"accept": "text/event-stream"}) as stream:
            world.store.promises.create("t", timeout=60_000, tags={"resonate:target": "poll://any@g"})
            async for line in stream.aiter_lines():
                if line.startswith("data"):
                    break
        return missing.json()["head"]["status"], '"id":"t"' in line

    assert simulate(scenario, seed=1, twice=True).value == (404, True)


def test_a_doubled_request_for_a_stream_leaves_one_stream_open():
    pytest.importorskip("httpx")
    opened, closed = [], []

    async def ticker(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await receive()
        opened.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"tick", "more_body": True})
        assert (await receive())["type"] == "http.disconnect"
        closed.append(scope["path"])

    async def scenario(world):
        client = world.http(ticker)
        within: list[tuple[int, int]] = []

        async def reader() -> None:
            async with client.stream("GET", "/stream") as stream:
                assert await anext(stream.aiter_bytes()) == b"tick"
                await world.sleep("1 s")
                within.append((len(opened), len(closed)))

        await world.sleep(1)
        world.faults(duplicate=1.0)
        world.process("reader", reader)
        await world.sleep("2 s")
        return within, len(closed)

    assert simulate(scenario, seed=1).value == ([(2, 1)], 2)


# -- power ------------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("durability", ["full", "normal"])
def test_a_loss_of_power_loses_only_commits_that_were_not_synced(durability):
    async def writer(store: Any) -> None:
        for number in range(10_000):
            await store.aio.promises.create(f"{store.now}-{number}", timeout=10**9)
            await asyncio.sleep(0.1)

    async def scenario(world):
        world.on_disk(durability)
        world.process("writer", writer)
        losses = []
        for _ in range(2):
            await world.sleep("2 s")
            before = world.store.counts()["promises"]["pending"]
            lost = world.power_cut()
            assert world.store.counts()["promises"].get("pending", 0) == before - lost
            assert world.store.check() == []
            losses.append(lost)
            await world.sleep("61 s")
        return losses

    losses = [lost for seed in range(3) for lost in simulate(scenario, seed=seed).value]
    assert (max(losses) > 0) is (durability == "normal")


def test_a_loss_of_power_needs_a_file():
    async def in_memory(world):
        world.power_cut()

    async def too_late(world):
        world.store.promises.create("p", timeout=1000)
        world.on_disk()

    with pytest.raises(rc.errors.Invalid, match=r"call on_disk\(\) first"):
        simplest(in_memory)
    with pytest.raises(rc.errors.Invalid, match="on_disk must be called before the store is used"):
        simplest(too_late)


def test_workers_go_on_after_a_loss_of_power():
    from resonate_core.worker import Worker

    def make(store: Any) -> Worker:
        worker = Worker(store)

        @worker.task("work")
        async def work(number: int) -> int:
            await asyncio.sleep(5)
            return number

        return worker

    async def scenario(world):
        world.on_disk("full")
        world.worker("a", make)
        world.worker("b", make)
        for number in range(5):
            await world.call(f"j{number}", "work", number)
        await world.sleep("2 s")
        world.power_cut("a")
        return [(await world.settled(f"j{number}", within="10 min")).value.json() for number in range(5)]

    for seed in range(3):
        assert simulate(scenario, seed=seed).value == list(range(5))
