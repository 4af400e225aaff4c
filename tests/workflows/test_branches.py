"""`gather` and `first`: order, failures, losers, nesting, many branches."""

from __future__ import annotations

import asyncio
import io
from datetime import timedelta
from typing import Any

import pytest
from workflow_runs import drained, last, names, records, states

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import StepFailed, first, gather, promise, receive, sleep, step


@step
async def ok(text: str) -> str:
    return text


@step
async def fails(text: str) -> str:
    raise ValueError(text)


async def waits(topic: str) -> Any:
    return await receive(topic)


def test_results_are_in_order_and_a_success_costs_no_record(store: rc.Store, worker: Worker) -> None:
    async def branch(text: str) -> str:
        await sleep(1000 if text == "a" else 10)
        return await ok(text)

    @worker.workflow("w")
    async def w() -> Any:
        return await gather(branch("a"), ok("b"), branch("c"))

    w.using(id="w").delay()
    assert last(worker) == ["a", "b", "c"]
    assert "gather" not in names(store, "w")


def test_nothing_to_gather(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> Any:
        return [await gather(), await gather(*[])]

    w.delay()
    assert last(worker) == [[], []]


def test_the_first_failure_is_raised_and_recorded_and_the_others_are_cancelled(store: rc.Store, worker: Worker) -> None:
    log: list[str] = []
    task = worker.task("t", queue="other")(lambda: None)

    async def loser() -> None:
        try:
            await receive("never")
        except asyncio.CancelledError:
            log.append("cancelled")
            raise

    async def failing() -> None:
        await sleep(1000)
        await fails("no")

    @worker.workflow("w")
    async def w() -> str:
        try:
            await gather(loser(), failing(), sleep(10**9), promise(), task.call(), receive("b"))
        except StepFailed as failed:
            await sleep(1)
            return str(failed)
        return "no failure"

    w.using(id="w").delay()
    assert last(worker) == "ValueError: no"
    assert log == ["cancelled"]
    found = states(store, "w")
    assert records(store, "w")["5"] == "gather"
    assert {id for id, state in found.items() if state == "rejected_canceled"} == {"1", "2", "3", "4", "5:0:1"}
    assert store.jobs.get("w:3").state == "cancelled"


def test_return_exceptions_cancels_nobody(store: rc.Store, worker: Worker) -> None:
    async def failing() -> None:
        raise KeyError("own")

    @worker.workflow("w")
    async def w() -> list[str]:
        found = await gather(fails("a"), failing(), sleep(1000), ok("d"), return_exceptions=True)
        await sleep(1)
        return [repr(each) if isinstance(each, KeyError) else str(each) for each in found]

    w.using(id="w").delay()
    assert last(worker) == ["ValueError: a", "KeyError('own')", "None", "d"]
    assert "gather" not in names(store, "w")


def test_an_own_exception_of_a_branch_is_raised_in_replays_as_well(store: rc.Store, worker: Worker) -> None:
    class Own(Exception):
        pass

    seen: list[str] = []

    async def failing(text: str) -> None:
        await ok(text)
        raise Own(text)

    @worker.workflow("w")
    async def w() -> str:
        try:
            await gather(waits("never"), failing("x"))
        except Own as error:
            seen.append(str(error))
        await sleep(1)
        return "done"

    w.using(id="w").delay()
    assert last(worker) == "done"
    assert seen == ["x", "x"]


def test_the_first_one_wins_with_index_and_value(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> Any:
        found = await first(waits("a"), sleep(timedelta(days=1)), receive("b", type=str))
        await sleep(1)
        return found

    for id, topic in (("one", "b"), ("two", "a"), ("three", None)):
        w.using(id=id).delay()
        worker.run_until_idle()
        if topic is not None:
            store.workflows.send(id, topic, topic)
    drained(worker)
    assert [store.result(id) for id in ("one", "two", "three")] == [[2, "b"], [0, "a"], [1, None]]


def test_a_failure_wins_too(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> str:
        try:
            await first(waits("a"), fails("first"))
        except StepFailed as failed:
            await sleep(1)
            return str(failed)
        return "no failure"

    w.using(id="w").delay()
    assert last(worker) == "ValueError: first"
    assert states(store, "w")["2:0:1"] == "rejected_canceled"


def test_the_recorded_winner_stays_when_a_loser_is_settled_later(store: rc.Store, worker: Worker) -> None:
    begun: list[int] = []

    @worker.workflow("w")
    async def w() -> Any:
        begun.append(1)
        winner = await first(promise(), promise(), sleep(10**9))
        await sleep(1000)
        return winner

    w.using(id="w").delay()
    worker.run_until_idle()
    store.promises.resolve("w:2", "second")
    worker.run_until_idle()
    assert states(store, "w") == {
        "1": "rejected_canceled",
        "2": "resolved",
        "3": "rejected_canceled",
        "4": "resolved",
        "5": "pending",
    }
    assert last(worker) == (1, "second")


def test_both_settled_at_once(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> Any:
        one, other = promise(), promise()
        winner = await first(one, other)
        await sleep(1)
        return winner

    w.using(id="w").delay()
    worker.run_until_idle()
    store.promises.resolve("w:2", "b")
    store.promises.resolve("w:1", "a")
    assert last(worker) in [(0, "a"), (1, "b")]
    assert states(store, "w")["1"] == states(store, "w")["2"] == "resolved"


def test_what_a_loser_does_in_its_cleanup_comes_behind_the_decision(store: rc.Store, worker: Worker) -> None:
    """A crash in the cleanup: a replay that decided anew could go another way than what the cleanup has recorded."""
    ran: list[str] = []

    @step
    async def release() -> str:
        ran.append(f"release behind {records(store, 'w').get('2')}")
        store.workflows.send("w", "go")
        return "released"

    @step
    async def use() -> str:
        ran.append("use")
        return "used"

    async def holder() -> str:
        try:
            await receive("go")
        except asyncio.CancelledError:
            await release()
            raise
        return await use()

    @worker.workflow("w")
    async def w() -> Any:
        found = await first(holder(), sleep(1000))
        await sleep(1)
        return found

    w.using(id="w").delay()
    assert last(worker) == (1, None)
    assert ran == ["release behind first"]


def test_nested(store: rc.Store, worker: Worker) -> None:
    async def race(name: str, delay: int) -> str:
        index, _ = await first(sleep(delay), waits(name))
        return f"{name}{index}"

    async def group(name: str) -> Any:
        return await gather(race(f"{name}a", 1000), first(race(f"{name}b", 2000), sleep(10**9)), ok(name))

    @worker.workflow("w")
    async def w() -> Any:
        found = await gather(group("x"), gather(group("y"), group("z")))
        await sleep(1)
        return found

    w.using(id="w").delay()
    worker.run_until_idle()
    store.workflows.send("w", "ya")
    found = last(worker)
    assert found == [
        ["xa0", (0, "xb0"), "x"],
        [["ya1", (0, "yb0"), "y"], ["za0", (0, "zb0"), "z"]],
    ]
    assert store.now == 2001


def test_a_loser_is_cancelled_with_all_that_is_inside_of_it(store: rc.Store, worker: Worker) -> None:
    task = worker.task("t", queue="other")(lambda: None)

    async def deep() -> Any:
        return await gather(receive("a"), first(sleep(10**9), task.call()), waits("b"))

    @worker.workflow("w")
    async def w() -> Any:
        winner = await first(deep(), sleep(1000))
        await sleep(1)
        return winner

    w.using(id="w").delay()
    assert last(worker) == (1, None)
    pending = [id for id, state in states(store, "w").items() if state == "pending"]
    assert pending == []
    assert [job.state for job in store.jobs.search(type="t")] == ["cancelled"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_branches_that_a_decided_first_does_not_run_again_are_closed(store: rc.Store, worker: Worker) -> None:
    begun: list[str] = []

    async def branch(name: str) -> str:
        begun.append(name)
        if name == "b":
            return await ok(name)
        return str(await receive(name))

    @worker.workflow("w")
    async def w() -> Any:
        found = await first(branch("a"), branch("b"), branch("c"))
        await sleep(1)
        return found

    w.using(id="w").delay()
    assert last(worker) == (1, "b")
    assert begun == ["a", "b", "c", "b"], "a replay runs the branch that has decided, and no other"


def test_the_decision_and_the_cancels_of_the_losers_are_one_request(store: rc.Store, worker: Worker) -> None:
    """A crash cannot come between them."""
    recording = io.StringIO()
    store.record(recording)

    @worker.workflow("w")
    async def w() -> Any:
        return await first(receive("never"), sleep(1000))

    w.using(id="w").delay()
    assert last(worker) == (1, None)
    asked = [line for line in recording.getvalue().splitlines() if line.startswith('{"kind":"job.record"')]
    deciding = [line for line in asked if "w:3" in line]
    assert len(deciding) == 1 and "w:1" in deciding[0], deciding
