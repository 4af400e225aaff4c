"""Rule (k): outside of a worker workflows and steps are plain functions."""

from __future__ import annotations

import asyncio
import inspect
from datetime import datetime
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.errors import Invalid
from resonate_core.worker import Worker
from resonate_core.workflow import (
    first,
    gather,
    now,
    patched,
    promise,
    random,
    receive,
    result,
    rpc,
    run,
    sleep,
    sleep_until,
    start_over,
    step,
    uuid4,
)


@step(retries=3, timeout=1000)
async def charge(order: str) -> str:
    """Charge an order."""
    if order == "broken":
        raise ValueError("broken")
    return f"receipt of {order}"


@step
def label(order: str) -> str:
    return f"label of {order}"


async def waits() -> str:
    await asyncio.sleep(60)
    return "late"


def test_a_step_is_its_function() -> None:
    assert asyncio.run(charge("7")) == "receipt of 7"
    assert label("7") == "label of 7"
    assert (charge.__name__, charge.__doc__) == ("charge", "Charge an order.")
    assert inspect.signature(charge) == inspect.signature(charge.__wrapped__)  # type: ignore[attr-defined]


def test_no_policy_holds_outside() -> None:
    with pytest.raises(ValueError, match="broken"):
        asyncio.run(charge("broken"))


def test_a_workflow_is_its_function(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w(order: str) -> list[Any]:
        one, two = await gather(charge(order), run(label, order))
        winner = await first(charge("quick"), waits())
        drawn = [await now(), await uuid4(), await random()]
        assert isinstance(drawn[0], datetime)
        return [one, two, winner, patched("new"), await run(charge, "8")]

    @worker.workflow("d")
    def d(order: str) -> str:
        return label(order)

    assert asyncio.run(w("7")) == ["receipt of 7", "label of 7", (0, "receipt of quick"), True, "receipt of 8"]
    assert d("7") == "label of 7"
    assert len(store.jobs.search()) == 0


def test_what_only_workflows_have_raises(worker: Worker) -> None:
    task = worker.task("t")(lambda: None)
    for call in (
        lambda: sleep(1),
        lambda: sleep_until(5),
        lambda: receive("a"),
        lambda: promise(),
        lambda: result("a"),
        lambda: rpc("f"),
        lambda: start_over(),
        task.call,
        task.start,
    ):
        with pytest.raises(RuntimeError):
            call()  # type: ignore[operator]


def test_arguments_are_checked_all_the_same() -> None:
    with pytest.raises(Invalid):
        sleep(-1)
    with pytest.raises(Invalid):
        first()
    with pytest.raises(TypeError):
        run(5)  # type: ignore[call-overload]


def test_gather_of_plain_coroutines_raises_and_returns_exceptions() -> None:
    async def main() -> Any:
        with pytest.raises(ValueError, match="broken"):
            await gather(charge("broken"), charge("7"))
        return [str(each) for each in await gather(charge("broken"), charge("7"), return_exceptions=True)]

    assert asyncio.run(main()) == ["broken", "receipt of 7"]


def test_first_of_plain_coroutines_cancels_the_others() -> None:
    log: list[str] = []

    async def slow() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    async def main() -> Any:
        found = await first(slow(), charge("7"))
        await asyncio.sleep(0)
        return found

    assert asyncio.run(main()) == (1, "receipt of 7")
    assert log == ["cancelled"]


def test_in_a_plain_job_they_are_plain_too(store: rc.Store, worker: Worker) -> None:
    @worker.task("plain")
    async def plain() -> list[str]:
        return [await charge("7"), await run(label, "8")]

    plain.using(id="p").delay()
    assert worker.run_until_idle().runs[-1].result == ["receipt of 7", "label of 8"]
