"""Small workflows that random programs have shown to hang, to be stuck or to end otherwise than without crashes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from datetime import timedelta
from typing import Any

import pytest
from crashing_store import Crash, CrashingStore, bury
from workflow_runs import last, states

import resonate_core as rc
from resonate_core.testing import World, simulate
from resonate_core.worker import JobError, Worker
from resonate_core.workflow import (
    StepFailed,
    blocking,
    first,
    gather,
    patched,
    promise,
    random,
    receive,
    result,
    run,
    sleep,
    step,
    uuid4,
)

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


def crashing(store: rc.Store, at: int, before: bool = False) -> Any:
    """A store whose worker crashes at its n-th request."""
    left = [at]

    def crashes() -> str | None:
        left[0] -= 1
        return None if left[0] else "before" if before else "after"

    return CrashingStore(store, crashes)


@pytest.mark.parametrize("kind", ["async", "def"])
def test_what_a_loser_begins_while_the_decision_is_recorded_is_cancelled_after_a_crash(store: rc.Store, kind: str) -> None:
    """The promise of a branch that had lost stayed pending for ever, and so would a child job."""

    @step
    async def broken() -> None:
        raise ValueError("no")

    def broken_here() -> None:
        raise ValueError("no")

    async def loses() -> None:
        made = promise()
        await run(str, made.id)
        await made

    def register(worker: Worker) -> Worker:
        @worker.workflow("async")
        async def asynchronous() -> str:
            try:
                await gather(broken(), gather(loses()))
            except StepFailed as error:
                return error.code
            return ""

        @worker.workflow("def")
        def synchronous() -> str:
            try:
                blocking.gather(blocking.start(broken_here), blocking.promise())
            except StepFailed as error:
                return error.code
            return ""

        return worker

    for at in range(1, 9):
        for before in (False, True):
            id = f"w{at}{before}"
            store.jobs.enqueue(kind, [], id=id, lifecycle="workflow")
            try:
                register(Worker(crashing(store, at, before), name="crashes")).run_until_idle(advance=True)
            except Crash as crashed:
                bury(crashed.tasks)
            register(Worker(store)).run_until_idle(advance=True)
            assert store.result(id) == "ValueError"
            assert "pending" not in states(store, id).values(), (at, before)


def test_what_is_cancelled_before_it_is_made_has_its_name() -> None:
    """Its record had no name if the request that makes it was late; a replay was then not deterministic, and the job was archived."""

    def make_worker(store: Any) -> Worker:
        worker = Worker(store)

        @worker.workflow("w")
        async def w() -> int:
            index, _ = await first(run(str, 1), receive("never"), sleep(timedelta(days=400)), promise())
            await sleep(1000)
            return index

        return worker

    async def scenario(world: World) -> Any:
        world.worker("a", make_worker)
        world.worker("b", make_worker)
        world.faults(delay=0.5, crash=0.05)
        await world.call("w", "w")
        return (await world.settled("w", within="30 days")).value.json()

    for seed in range(40):
        assert simulate(scenario, seed=seed).value == 0


@pytest.mark.parametrize("seed", range(30))
def test_nothing_overtakes_what_a_run_has_to_send(seed: int) -> None:
    """Branches share what is to be sent. One that sent it late was overtaken by another one.

    Then a promise did not exist when its id was handed out or waited for, and a later record came before the mark of `patched`.
    """
    handed: list[str] = []

    def make_worker(store: Any) -> Worker:
        worker = Worker(store, lease=10_000)

        @worker.task("child", max_retries=100)
        async def child() -> str:
            return "child"

        def hand_out(id: str) -> None:
            store.of_simulation.promises.get(id)
            handed.append(id)

        async def asks(name: str) -> str:
            if patched(name):
                made = promise(type=str)
                await run(hand_out, made.id)
                return await made
            return "old"

        @worker.workflow("w")
        async def w() -> list[Any]:
            patched("first")
            asked, waits = await gather(
                gather(asks("a"), asks("b")), gather(child.call(), receive("no", timeout=50, default="none"))
            )
            lost, _ = await first(sleep(1), promise(), receive("never"))
            patched("last")
            return [*asked, *waits, lost]

        return worker

    async def scenario(world: World) -> Any:
        world.worker("a", make_worker)
        world.worker("b", make_worker)
        world.faults(delay=0.4, lose_request=0.1, lose_reply=0.1, crash=0.05)
        await world.call("w", "w")
        while world.store.promises.get("w").state == "pending":
            await world.sleep("10 s")
            for id in handed:
                with contextlib.suppress(rc.errors.Conflict):
                    world.store.promises.resolve(id, "yes")
            assert world.now < timedelta(days=30) / timedelta(milliseconds=1), "it is stuck"
        return world.store.promises.get("w").value.json()

    assert simulate(scenario, seed=seed).value == ["yes", "yes", "child", "none", 0]


def test_calls_of_a_branch_that_is_cancelled_are_no_mistake(
    store: rc.Store, worker: Worker, recwarn: pytest.WarningsRecorder
) -> None:
    """A branch that was cancelled before it awaited its calls left a warning for each of them."""
    gc.collect()
    recwarn.clear()  # of tests before this one

    async def loses() -> None:
        later = run(str, "later")
        await together(receive("never"), run(str, "never"))
        await later

    @worker.workflow("w")
    async def w() -> int:
        index, _ = await first(run(str, 1), loses())
        await sleep(1)
        return index

    w.using(id="w").delay()
    assert last(worker) == 0
    gc.collect()
    assert [str(each.message) for each in recwarn] == []


@pytest.mark.timeout(15)
def test_a_branch_that_is_cancelled_while_it_waits_for_requests_under_way_does_not_cancel_them(
    store: rc.Store, worker: Worker
) -> None:
    """The task that sends them was cancelled before it began, the run counted as busy, and the worker held the job without an end."""

    @worker.task("child")
    def child() -> str:
        return "done"

    async def wins() -> str:
        return "won"

    async def loses() -> None:
        child.start()
        await run(str, "lost")

    @worker.workflow("w")
    async def w() -> object:
        decided = await first(wins(), loses())
        await sleep(1000)
        return decided

    w.using(id="w").delay()
    assert last(worker) == (0, "won")


@pytest.mark.timeout(15)
def test_a_branch_that_is_cancelled_while_its_own_losers_end(store: rc.Store, worker: Worker) -> None:
    """The run counted the losers as busy for ever, and the worker held the job without an end."""

    @worker.task("child")
    def child() -> str:
        return "done"

    @step
    async def quick() -> int:
        return 1

    async def calls() -> None:
        await first(child.call())

    async def decides() -> None:
        await random()
        await first(quick(), calls())
        await receive("never")

    async def draws() -> None:
        await uuid4()

    async def wins() -> None:
        await first(draws())

    @worker.workflow("w")
    async def w() -> str:
        index, _ = await first(promise(), decides(), wins())
        return f"{index} {await child.call()}"

    w.using(id="w").delay()
    assert last(worker) == "2 done"
