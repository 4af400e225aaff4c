"""`transaction`: a crash between the commit in the application's database and the record does not repeat the effect."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
import resonate_core.workflow.blocking as blocking
from resonate_core.worker import Worker
from resonate_core.worker.environment import Environment
from resonate_core.worker.store_client import StoreClient
from resonate_core.workflow import start_over, transaction

Shop = Callable[[], sqlite3.Connection]


class _Lost(StoreClient):
    """A worker that is lost, from the store's view, before it records anything."""

    is_lost = True

    def record(self, id: str, version: int, steps: Any) -> Any:
        if self.is_lost:
            raise rc.Unreachable("the worker is lost here")
        return super().record(id, version, steps)

    def send(self, calls: Any) -> Any:
        if self.is_lost:
            raise rc.Unreachable("the worker is lost here")
        return super().send(calls)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    opened = functools.partial(sqlite3.connect, tmp_path / "shop.db")
    with contextlib.closing(opened()) as connection:
        connection.execute("CREATE TABLE orders (id TEXT)")
    return opened


def orders(shop: Shop) -> list[str]:
    with contextlib.closing(shop()) as connection:
        return [each for (each,) in connection.execute("SELECT id FROM orders")]


def place(session: sqlite3.Connection, order: str) -> dict[str, int]:
    session.execute("INSERT INTO orders VALUES (?)", (order,))
    return {"placed": len(order)}


def register(worker: Worker, way: str, function: Callable[..., Any], shop: Shop) -> Any:
    if way == "async":

        @worker.workflow("place")
        async def placed(order: str) -> Any:
            return await transaction(function, shop, order)
    else:

        @worker.workflow("place")
        def placed(order: str) -> Any:
            return blocking.transaction(function, shop, order)

    return placed


@pytest.fixture(params=["async", "def"])
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_crash_after_the_commit_does_not_repeat_the_effect(store: rc.Store, clock: rc.ManualClock, shop: Shop, way: str) -> None:
    client = _Lost(store)
    worker = Worker(store, lease=1000, environment=Environment(connect=lambda target, token, limit: client))
    register(worker, way, place, shop).using(id="order-7").delay("seven")
    assert [run.outcome for run in worker.run_until_idle()] == ["lost"]
    assert orders(shop) == ["seven"], "committed before the crash"
    assert list(store.workflows.history("order-7")) == []

    client.is_lost = False
    clock.advance(2000)  # the lease ends
    drained = worker.run_until_idle(advance=True)
    assert drained.runs[-1].result == {"placed": 5}
    assert orders(shop) == ["seven"]
    assert [step.name for step in store.workflows.history("order-7")] == ["transaction place"]


def test_each_run_that_is_started_over_has_its_own_rows(worker: Worker, store: rc.Store, shop: Shop) -> None:
    @worker.workflow("rounds")
    async def rounds(number: int) -> None:
        await transaction(place, shop, f"round {number}")
        if number < 3:
            await start_over(number + 1)

    rounds.using(id="r").delay(1)
    worker.run_until_idle(advance=True)
    assert orders(shop) == ["round 1", "round 2", "round 3"]


def test_another_workflow_of_the_same_id_has_its_own_rows(
    worker: Worker, store: rc.Store, clock: rc.ManualClock, shop: Shop, way: str
) -> None:
    placed = register(worker, way, place, shop)
    for order in ("one", "two"):
        clock.advance(1000)
        placed.using(id="order-7").delay(order)
        assert worker.run_until_idle().runs[-1].outcome == "completed"
        store.jobs.delete("order-7")
        clock.advance(1000)
        store.tick()
    assert orders(shop) == ["one", "two"]


def test_a_step_of_which_nothing_is_known_is_tried_again_without_retries(
    worker: Worker, store: rc.Store, shop: Shop, way: str
) -> None:
    """That the database does not answer is no failure of the step."""
    opened: list[int] = []

    def open_shop() -> sqlite3.Connection:
        opened.append(len(opened))
        if len(opened) < 3:
            raise sqlite3.OperationalError("unable to open database file")
        return shop()

    register(worker, way, place, open_shop).delay("seven")
    assert worker.run_until_idle(advance=True).runs[-1].result == {"placed": 5}
    assert (orders(shop), len(opened)) == (["seven"], 3)


def test_a_function_that_raises_is_rolled_back_and_its_failure_recorded(
    worker: Worker, store: rc.Store, shop: Shop, way: str
) -> None:
    def fails(session: sqlite3.Connection, order: str) -> None:
        place(session, order)
        raise ValueError("sold out")

    register(worker, way, fails, shop).using(id="order-7").delay("seven")
    (run,) = worker.run_until_idle().runs
    assert run.outcome == "failed" and run.error is not None
    assert (run.error.code, run.error.message) == ("ValueError", "sold out")
    assert orders(shop) == []


def test_a_result_without_json_is_no_effect(worker: Worker, store: rc.Store, shop: Shop, way: str) -> None:
    def odd(session: sqlite3.Connection, order: str) -> object:
        place(session, order)
        return object()

    register(worker, way, odd, shop).delay("seven")
    (run,) = worker.run_until_idle().runs
    assert run.error is not None and run.error.code == "InvalidResult"
    assert orders(shop) == []


def test_outside_of_a_worker_it_is_a_transaction(shop: Shop) -> None:
    assert blocking.transaction(place, shop, "seven") == {"placed": 5}
    with pytest.raises(ZeroDivisionError):
        blocking.transaction(lambda session: place(session, "eight") and 1 // 0, shop)
    assert orders(shop) == ["seven"]
