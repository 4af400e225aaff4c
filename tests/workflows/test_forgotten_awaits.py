"""Beginners' errors: a call that nothing awaits, and a call that is awaited in a `def`."""

from __future__ import annotations

import warnings

import pytest

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import first, gather, promise, receive, run, sleep, step


@step
async def mail(to: str) -> str:
    return f"to {to}"


def test_a_call_that_nothing_awaits_is_a_warning_at_its_line(worker: Worker) -> None:
    @worker.workflow("onboard")
    async def onboard() -> str:
        mail("ada")  # type: ignore[unused-coroutine]
        sleep(1000)
        return "done"

    onboard.using(id="w").delay()
    with pytest.warns(RuntimeWarning) as seen:
        assert worker.run_until_idle().runs[-1].result == "done"
    assert [str(each.message) for each in seen] == [
        "call w:1 (mail) of a workflow was never awaited, so it did nothing",
        "call w:2 (sleep) of a workflow was never awaited, so it did nothing",
    ]
    assert {each.filename for each in seen} == {__file__}


def test_a_condition_of_a_call_that_nothing_awaits_fails(worker: Worker, store: rc.Store) -> None:
    """It was true: an order counted as shipped without a message."""

    @worker.workflow("ship", max_retries=0)
    async def ship() -> str:
        if receive("shipped", timeout=1000, default=False):  # type: ignore[truthy-bool]
            return "shipped"
        return "refunded"

    ship.using(id="w").delay()
    worker.run_until_idle(advance=True)
    error = store.jobs.get("w").error
    assert error is not None
    assert (
        error["message"]
        == "TypeError: call w:1 (receive shipped) is not awaited: it has no truth value before its result is there; await it"
    )


def test_a_call_that_has_begun_has_a_truth_value(worker: Worker) -> None:
    @worker.task("pack")
    def pack() -> None:
        return None

    @worker.workflow("w")
    async def w() -> list[bool]:
        started = pack.start()
        return [bool(started), bool(await started)]

    w.using(id="w").delay()
    assert worker.run_until_idle().runs[-1].result == [True, False]


def test_what_is_begun_or_lost_is_no_warning(worker: Worker, store: rc.Store) -> None:
    @worker.task("pack")
    def pack() -> None:
        return None

    @worker.workflow("all")
    async def everything() -> list[str]:
        pack.start()
        promise(timeout=1000)
        await first(receive("never"), sleep(10))
        found = await gather(mail("a"), run(str.upper, "b"))
        await sleep(1000)  # a replay comes by all of them again
        return list(found)

    everything.delay()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert worker.run_until_idle(advance=True).runs[-1].result == ["to a", "B"]


@pytest.mark.parametrize("call", [lambda: receive("t"), lambda: sleep(1), lambda: run(len, "a"), lambda: gather(), promise])
def test_an_awaited_call_in_a_def_is_an_error_that_names_the_other_module(worker: Worker, call) -> None:
    @worker.workflow("w")
    def sync() -> None:
        call()

    sync.delay()
    (ran,) = worker.run_until_idle().runs
    assert ran.outcome == "failed" and ran.error is not None
    assert "import it from resonate_core.workflow.blocking" in ran.error.message
