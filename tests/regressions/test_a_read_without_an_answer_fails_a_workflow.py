"""A workflow ended as failed when the worker got no answer to a read of its history, or of a promise that it waits for.

Only what a run sent was sent again. All requests of a run are made again while the store fails; where nothing can wait for that, as in a
drain, the run is dropped, and the job runs again when its lease has expired.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.testing import World, simulate
from resonate_core.worker import Worker
from resonate_core.worker.store_client import StoreClient
from resonate_core.workflow import gather, receive, run, sleep, step
from resonate_core.workflow.blocking import (
    gather as gather_all,
    receive as receive_here,
    sleep as sleep_here,
    start as start_here,
)


@step
async def first(number: int) -> int:
    return number * 2


def last(number: int) -> int:
    return number + 1


def make_worker(store: Any) -> Worker:
    worker = Worker(store)

    @worker.task("child", max_retries=50)
    async def child(number: int) -> int:
        return number * 3

    @worker.workflow("async")
    async def asynchronous(number: int) -> list[Any]:
        one = await first(number)
        two, three = await gather(child.call(one), run(last, one))
        await sleep(timedelta(days=1))
        return [one, two, three, await receive("answer", type=str)]

    @worker.workflow("def")
    def synchronous(number: int) -> list[Any]:
        one = number * 2
        two, three = gather_all(child.start(one), start_here(last, one))
        sleep_here(timedelta(days=1))
        return [one, two, three, receive_here("answer", type=str)]

    return worker


@pytest.mark.parametrize("kind", ["async", "def"])
@pytest.mark.parametrize("seed", range(5))
def test_lost_requests_and_answers_are_made_again(kind: str, seed: int) -> None:
    async def scenario(world: World) -> Any:
        world.worker("a", make_worker)
        world.worker("b", make_worker)
        world.faults(lose_reply=0.15, lose_request=0.15)
        await world.call("w", kind, 2)
        world.store.jobs.send("w", "answer", "yes")
        return (await world.settled("w", within="30 days")).value.json()

    assert simulate(scenario, seed=seed).value == [4, 12, 5, "yes"]


@pytest.mark.parametrize("kind", ["async", "def"])
@pytest.mark.parametrize("lost", ["history", "send"])
def test_a_drain_drops_the_run(kind: str, lost: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    store = rc.Store(clock=rc.ManualClock())
    worker = make_worker(store)
    store.jobs.enqueue(kind, 2, id="w", lifecycle="workflow")
    store.jobs.send("w", "answer", "yes")
    plain: Any = getattr(StoreClient, lost)
    left = [1]

    def failing(self: StoreClient, *args: Any) -> Any:
        if left:
            left.pop()
            raise rc.errors.StoreError("the disk is full")
        return plain(self, *args)

    monkeypatch.setattr(StoreClient, lost, failing)
    drained = worker.run_until_idle(advance=True)
    assert not left
    assert drained.outcomes["lost"] == 1
    assert drained.runs[-1].outcome == "completed"
    assert store.result("w") == [4, 12, 5, "yes"]
    assert "the disk is full; its lease will expire" in caplog.text
