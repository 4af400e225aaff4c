"""Programs of the published SDK and workflows of this package call each other, on one store and a manual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import timedelta
from typing import Any

import pytest
from resonate.error import ApplicationError, ResonateTimeoutError
from resonate.retry import Never

import resonate_core as rc
from programs import DAY, HOUR, MINUTE, manual_store, play
from resonate_core.connection import Connection
from resonate_core.testing import Choices, CrashingConnection, World, crash_at_every_request, simulate
from resonate_core.worker import JobError, Worker
from resonate_core.workflow import StepFailed, receive, rpc, sleep
from worker.mortal_client import Crash, Given, Mortal

effects: list[str] = []


async def drive(connection: Connection, worker: Any, what: Awaitable[Any]) -> Any:
    """Lets both run, and moves the clock when both wait for it, until the awaitable is done."""
    store, task = connection.store, asyncio.ensure_future(what)
    for _ in range(500):
        before = store.digest()
        await connection.settle()
        await worker.run_until_idle_async()
        await connection.settle()
        if task.done():
            return task.result()
        if store.digest() == before:
            due = store.next_due()
            assert due is not None, "nothing is due"
            await connection.advance_to(due)
    raise AssertionError("it does not end")


def shop(store: rc.Store | Given, name: str = "shop-1") -> Worker:
    """A worker of this package that serves the group shop, and calls the group sdk."""
    worker = Worker(store, name=name, target_group="shop", lease=8000)

    @worker.workflow("order:fulfil")
    async def fulfil(order: str, cents: int = 5) -> dict[str, Any]:
        await sleep(timedelta(days=1))
        return {"order": order, "cents": cents, "price": await rpc("price", order, target="sdk", type=int)}

    @worker.workflow("order:approve")
    async def approve(order: str) -> str:
        return await receive("approval", type=str)

    @worker.workflow("order:careful")
    async def careful(func: str, target: str) -> list[str]:
        try:
            await rpc(func, "tea", target=target, timeout=timedelta(minutes=1))
        except StepFailed as error:
            return [error.code, error.message]
        except TimeoutError:
            return ["timeout"]
        return ["no error"]

    @worker.task("charge", max_retries=3, retry_on=OSError)  # a crash is retried in any case
    def charge(order: str, *, currency: str = "EUR") -> str:
        effects.append(order)
        if order == "none":
            raise JobError("CardDeclined", "no money", {"left": 3}, retryable=False)
        if order == "broken":
            raise ValueError("broken card")
        return f"{order} in {currency}"

    return worker


async def price(ctx, order: str) -> int:
    """A function of the SDK."""
    return 42


async def hopeless(ctx, what: str) -> None:
    """Fails."""
    raise ValueError(f"no {what} left")


async def buy(ctx, order: str) -> dict[str, Any]:
    """Calls a workflow of ours, and a job with keywords."""
    here = ctx.options(target="shop", timeout=timedelta(days=9))
    return {"fulfilled": await here.rpc("order:fulfil", order), "charged": await here.rpc("charge", order, currency="USD")}


async def errors(ctx, *calls: list[Any]) -> list[str]:
    """Collects the errors of calls of ours."""
    found = []
    for func, *args in calls:
        try:
            await ctx.options(target="shop").rpc(func, *args)
        except ApplicationError as error:
            found.append(str(error))
    return found


def client(connection: Connection, **options: Any) -> Any:
    """The SDK's client with all functions."""
    made = connection.resonate(retry_policy=Never(), **options)
    for function in (price, hopeless, buy, errors):
        made.register(function)
    return made


class Both:
    """A store with a program of the SDK and a worker of ours."""

    def __init__(self) -> None:
        effects.clear()
        self.store = manual_store()
        self.connection = Connection(self.store, group="sdk", pid="sdk-1")
        self.sdk = client(self.connection)
        self.worker = shop(self.store)

    async def result(self, handle: Any) -> Any:
        return await drive(self.connection, self.worker, handle.result())

    async def __aenter__(self) -> Both:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.sdk.stop()
        assert self.store.check() == []


def test_each_calls_the_other() -> None:
    async def main() -> None:
        async with Both() as both:
            handle = both.sdk.options(timeout=timedelta(days=10)).run("o", buy, "tea")
            assert await both.result(handle) == {
                "fulfilled": {"order": "tea", "cents": 5, "price": 42},
                "charged": "tea in USD",
            }
            assert both.store.now == DAY
            assert both.store.jobs.get("o:1:1").state == both.store.jobs.get("o:2:1").state == "completed"
            tree = {id: both.store.promises.get(id).tags["resonate:origin"] for id in ("o:1", "o:1:1", "o:1:1:2", "o:2:1")}
            assert set(tree.values()) == {"o"}, "one tree"

    play(main())


def test_errors_of_ours() -> None:
    async def main() -> None:
        async with Both() as both:
            calls = [["charge", "none"], ["charge", "broken"], ["charge"], ["charge", 5], ["order:fulfil", "7", 5, 5]]
            assert await both.result(both.sdk.run("e", errors, *calls)) == [
                "no money",
                "ValueError: broken card",
                "charge: missing a required argument: 'order'",
                "payload of a job of type 'charge': order: Expected `str`, got `int`",
                "order:fulfil: too many positional arguments",
            ]
            with pytest.raises(ApplicationError, match="no money"):
                await both.result(both.sdk.options(target="shop").rpc("root", "charge", "none"))

    play(main())


def test_errors_of_theirs() -> None:
    async def main() -> None:
        async with Both() as both:
            for target, expected in (("sdk", ["ApplicationError", "no tea left"]), ("nobody", ["timeout"])):
                handle = both.sdk.options(target="shop").rpc(f"c-{target}", "order:careful", "hopeless", target)
                assert await both.result(handle) == expected
            assert both.store.now == MINUTE

    play(main())


def test_timeouts_and_cancellations_go_down() -> None:
    async def main() -> None:
        async with Both() as both:
            store, here = both.store, both.sdk.options(target="shop", timeout=timedelta(hours=1))
            late = here.rpc("late", "order:approve", "tea")
            with pytest.raises(ResonateTimeoutError):
                await both.result(late)
            assert store.now == HOUR and store.jobs.get("late:1").state == "failed"

            gone = here.rpc("gone", "order:approve", "tea")
            await gone.id()
            await both.connection.settle()
            await both.worker.run_until_idle_async()
            store.promises.cancel("gone")
            await both.worker.run_until_idle_async()
            assert store.jobs.get("gone:1").state == "cancelled"

            ours = here.rpc("ours", "order:approve", "tea")
            await ours.id()
            await both.worker.run_until_idle_async()
            store.jobs.cancel("ours:1")
            with pytest.raises(ApplicationError, match="Promise canceled"):
                await both.result(ours)
            assert store.promises.get("ours").state == "rejected_canceled"

    play(main())


def test_an_archived_workflow_goes_on_when_it_is_run() -> None:
    async def main() -> None:
        async with Both() as both:
            handle = both.sdk.options(target="shop", timeout=timedelta(days=3)).rpc("a", "order:approve", "tea")
            await handle.id()
            await both.worker.run_until_idle_async()
            both.store.jobs.archive("a:1")
            await both.connection.advance(timedelta(days=1))
            both.store.jobs.run("a:1")
            both.store.workflows.send("a:1", "approval", "yes")
            assert await both.result(handle) == "yes"

    play(main())


@pytest.mark.parametrize("apart", [False, True])
def test_ours_crashes_before_and_after_each_request(apart: bool) -> None:
    """A workflow of ours is called by the SDK and calls the SDK; its worker crashes, and another one continues."""

    async def main(**crash: Any) -> int:
        async with Both() as both:
            client = Mortal(both.store, **crash, apart=apart)
            mortal, lives = shop(Given(client), "mortal"), [True]

            class First:
                """The mortal worker until it has crashed, then the other one."""

                async def run_until_idle_async(self) -> Any:
                    if lives:
                        try:
                            return await mortal.run_until_idle_async()
                        except Crash:
                            lives.clear()
                    return await both.worker.run_until_idle_async()

            handle = both.sdk.options(timeout=timedelta(days=10)).run("o", buy, "tea")
            result = await drive(both.connection, First(), handle.result())
            assert result == {"fulfilled": {"order": "tea", "cents": 5, "price": 42}, "charged": "tea in USD"}
            assert DAY <= both.store.now < DAY + 10 * MINUTE
            return client.requests

    requests = play(main())
    assert requests > 15
    for at in range(requests):
        for before in (True, False):
            play(main(at=at, before=before))


def told(choices: Choices) -> tuple[Any, int]:
    """Runs `buy` with a worker of the SDK that may crash at a request; returns its result, and how many it made."""
    effects.clear()
    store = manual_store()

    async def main() -> tuple[Any, int]:
        mortal = CrashingConnection(choices, store, group="sdk", pid="mortal")
        survivor = Connection(store, group="sdk", pid="survivor")
        clients = [client(each, ttl=timedelta(seconds=8)) for each in (mortal, survivor)]
        handle = clients[1].options(timeout=timedelta(days=10)).rpc("o", "buy", "tea")
        result = await drive(survivor, shop(store), handle.result())
        for each in clients:
            await each.stop()
        assert store.check() == []
        return result, mortal.requests

    found: tuple[Any, int] = play(main())
    return found


def test_the_sdk_crashes_before_and_after_each_request() -> None:
    expected = {"fulfilled": {"order": "tea", "cents": 5, "price": 42}, "charged": "tea in USD"}
    result, requests = told(Choices.from_tape([]))
    assert result == expected and requests > 5

    def survives(choices: Choices) -> None:
        assert told(choices)[0] == expected
        assert effects == ["tea"], "a job runs once, however often its caller crashes"

    assert crash_at_every_request(survives).runs == 1 + 2 * requests


def test_both_in_a_simulation() -> None:
    """Two workers and two programs of the SDK, whose requests are lost and which crash: the call returns its result."""

    async def order(world: World) -> None:
        for name in "ab":
            world.worker(name, shop)
        for name in "pq":
            world.program(name, register, group="sdk")
        world.faults(lose_reply=0.05, crash=0.02)
        lineage = {"resonate:origin": "o", "resonate:parent": "o", "resonate:branch": "o", "resonate:scope": "global"}
        param = {"func": "buy", "args": ["tea"], "kwargs": {}, "version": 1}
        tags = {"resonate:target": "poll://any@sdk", **lineage}
        await world.store.aio.promises.create("o", timeout=timedelta(days=12), tags=tags, param=param)
        await world.settled("o", within="11 days")
        promise = await world.store.aio.promises.get("o")
        assert promise.value.json() == {"fulfilled": {"order": "tea", "cents": 5, "price": 42}, "charged": "tea in USD"}, promise

    def register(resonate: Any) -> None:
        resonate.register(price)
        resonate.register(buy)

    for seed in range(40):
        simulate(order, seed=seed)
