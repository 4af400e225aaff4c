"""Small workflows that random programs have shown to hang, to be stuck or to end otherwise than without crashes."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from workflow_runs import last

import resonate_core as rc
from resonate_core.worker import JobError, Worker
from resonate_core.workflow import StepFailed, first, gather, promise, receive, result, run, sleep, step

pytestmark = pytest.mark.timeout(20)


async def nothing() -> None:
    return None


async def together(*calls: Any) -> list[Any]:
    return list(await asyncio.gather(*calls))


def test_an_asyncio_gather_in_a_branch_waits_on_when_the_others_have_ended(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> list[Any]:
        return list(await gather(together(receive("never", timeout=30_000, default="none")), nothing()))

    w.using(id="w").delay()
    assert last(worker) == [["none"], None]


@pytest.mark.parametrize("what", ["step", "result", "receive"])
def test_a_branch_goes_on_whose_asyncio_gather_has_just_ended(store: rc.Store, worker: Worker, what: str) -> None:
    """The job was suspended for the other branch alone, in the moment between the last call and the end of the `asyncio.gather`."""
    failures = [1, 2, 3]
    store.promises.create("other", timeout=1000)

    @step(retries=3)
    async def often() -> str:
        if failures:
            failures.pop()
            raise ValueError("again")
        return "done"

    async def fails() -> None:
        call: Any = often() if what == "step" else result("other") if what == "result" else receive("m", timeout=5, default="")
        await together(call)
        raise JobError("Raised", "on purpose")

    @worker.workflow("w")
    async def w() -> str:
        try:
            await gather(fails(), promise())
        except JobError as error:
            return error.code
        return ""

    w.using(id="w").delay()
    store.promises.resolve("other", 1)
    assert last(worker) == "Raised"


@pytest.mark.parametrize("return_exceptions", [False, True])
def test_a_call_of_an_asyncio_gather_fails_while_another_one_waits(
    store: rc.Store, worker: Worker, return_exceptions: bool
) -> None:
    @step(retries=1)
    async def broken() -> None:
        raise ValueError("no")

    async def both() -> Any:
        waits = receive("never", timeout=timedelta(days=30), default="none")
        return [str(each) for each in await asyncio.gather(broken(), waits, return_exceptions=return_exceptions)]

    @worker.workflow("w")
    async def w() -> Any:
        try:
            return (await first(both(), sleep(timedelta(days=60))))[1]
        except StepFailed as error:
            return error.code

    w.using(id="w").delay()
    assert last(worker) == (["ValueError: no", "none"] if return_exceptions else "ValueError")
    assert store.now == (timedelta(days=30) / timedelta(milliseconds=1) if return_exceptions else 1000)


def test_a_workflow_waits_for_a_call_beside_a_real_wait_that_ends(store: rc.Store, worker: Worker) -> None:
    async def real() -> str:
        await asyncio.sleep(0.02)
        return "real"

    @worker.workflow("w")
    async def w() -> list[Any]:
        return await together(receive("go", timeout=1000, default="none"), real(), run(str.upper, "a"))

    w.using(id="w").delay()
    assert last(worker) == ["none", "real", "A"]
