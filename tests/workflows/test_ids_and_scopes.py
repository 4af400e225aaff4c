"""Rule (a): the n-th call of a scope is SCOPE:n, given when it is called, and only the code of the scope makes calls."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from workflow_runs import drained, last, records

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import first, gather, now, promise, receive, result, run, sleep, step, uuid4

#: Other tasks have a warning (test_determinism.py).
_UNWARNED = pytest.mark.filterwarnings("ignore::resonate_core.workflow.NonDeterministicWarning")


@step
async def charge(order: str) -> str:
    return f"receipt of {order}"


def label(order: str) -> str:
    return f"label of {order}"


def test_calls_are_numbered_from_1_by_the_order_of_the_calls(store: rc.Store, worker: Worker) -> None:
    pack = worker.task("pack")(label)

    @worker.workflow("w")
    async def w() -> None:
        await charge("7")
        await run(label, "7")
        await pack.call("7")
        await now()
        await uuid4()
        await sleep(10)
        await receive("topic", timeout=0, default=None)
        await result("w:1")
        promise()
        await first(run(label, "8"), receive("other"))

    w.using(id="w").delay()
    drained(worker)
    assert records(store, "w") == {
        "1": "charge",
        "2": "label",
        "3": "job pack",
        "4": "now",
        "5": "uuid4",
        "6": "sleep",
        "7": "receive topic",
        "8": "result w:1",
        "9": "promise",
        "10": "label",
        "11": "receive other",
        "12": "first",
    }


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a call that is never awaited gives a warning
def test_an_id_is_given_when_it_is_called_and_the_call_begins_when_it_is_awaited(store: rc.Store, worker: Worker) -> None:
    ran: list[str] = []

    @step
    async def note(text: str) -> str:
        ran.append(text)
        return text

    @worker.workflow("w")
    async def w() -> list[str]:
        one, two, never = note("one"), note("two"), note("never")
        assert ran == []
        del never
        return [await two, await one]

    w.using(id="w").delay()
    assert last(worker) == ["two", "one"]
    assert ran == ["two", "one"]
    assert records(store, "w") == {"1": "note", "2": "note"}
    assert {step.id: step.result for step in store.workflows.history("w")} == {"w:1": "one", "w:2": "two"}


def test_a_call_may_be_awaited_again(store: rc.Store, worker: Worker) -> None:
    ran: list[str] = []

    @worker.workflow("w")
    async def w() -> list[str]:
        call = run(ran.append, "once")
        return [await call, await call]  # type: ignore[list-item]

    w.delay()
    assert last(worker) == [None, None]
    assert ran == ["once"]


def test_branches_have_scopes_of_their_own(store: rc.Store, worker: Worker) -> None:
    async def branch(text: str) -> str:
        await charge(text)
        await gather(inner(text), run(label, text))
        return await charge(text)

    async def inner(text: str) -> None:
        await charge(text)
        await sleep(timedelta(days=1))

    @worker.workflow("w")
    async def w() -> None:
        await charge("0")
        await gather(branch("a"), run(label, "b"), branch("c"))
        await charge("1")

    w.using(id="w").delay()
    drained(worker)
    assert records(store, "w") == {
        "1": "charge",
        "2": "label",
        "3:0:1": "charge",
        "3:0:2": "label",
        "3:0:3:0:1": "charge",
        "3:0:3:0:2": "sleep",
        "3:0:4": "charge",
        "3:2:1": "charge",
        "3:2:2": "label",
        "3:2:3:0:1": "charge",
        "3:2:3:0:2": "sleep",
        "3:2:4": "charge",
        "4": "charge",
    }


def test_order_between_branches_changes_no_id(store: rc.Store, worker: Worker) -> None:
    """The replay has all records at once, so that its branches run in another order than those that waited for messages."""

    async def branch(topic: str) -> list[str]:
        found = [await receive(topic, type=str) for _ in range(3)]
        return [*found, await charge(topic)]

    @worker.workflow("w")
    async def w() -> list[list[str]]:
        found = await gather(branch("a"), branch("b"))
        await sleep(1)
        return list(found)

    w.using(id="w").delay()
    drained(worker)
    for turn, topic in enumerate("babbaa"):
        store.workflows.send("w", topic, f"{topic}{turn}")
        drained(worker)
    assert store.result("w") == [["a1", "a4", "a5", "receipt of a"], ["b0", "b2", "b3", "receipt of b"]]


@_UNWARNED
@pytest.mark.parametrize("kind", ["create_task", "task_group", "to_thread", "ensure_future"])
def test_a_call_in_another_task_or_thread_raises_and_names_gather(store: rc.Store, worker: Worker, kind: str) -> None:
    async def helper() -> str:
        return await charge("7")

    def in_thread() -> Any:
        return run(label, "7")

    @worker.workflow("w")
    async def w() -> Any:
        if kind == "create_task":
            return await asyncio.create_task(helper())
        if kind == "ensure_future":
            return await asyncio.gather(helper())
        if kind == "to_thread":
            return await asyncio.to_thread(in_thread)
        async with asyncio.TaskGroup() as tasks:  # type: ignore[attr-defined]
            made = tasks.create_task(helper())
        return await made

    if kind == "task_group" and not hasattr(asyncio, "TaskGroup"):
        pytest.skip("Python 3.10 has no TaskGroup")
    w.using(id="w").delay()
    (ended,) = drained(worker)
    assert ended.outcome == "failed"
    assert ended.error is not None
    said = (ended.error.data or "") + ended.error.message
    assert "RuntimeError" in said and "of workflow w was called in another asyncio task or thread" in said and "gather()" in said
    assert records(store, "w") == {}


def test_asyncio_gather_over_calls_runs_them_side_by_side_and_suspends_the_job(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> list[Any]:
        return list(await asyncio.gather(charge("7"), sleep(timedelta(days=1)), receive("go", type=str), run(label, "8")))

    w.using(id="w").delay()
    assert [each.outcome for each in drained(worker)] == ["suspended", "suspended"]
    assert store.jobs.get("w").awaits == {"ids": ["w:3"], "count": 1} or store.jobs.get("w").state == "waiting"
    assert store.now == 86_400_000
    store.workflows.send("w", "go", "now")
    assert last(worker) == ["receipt of 7", None, "now", "label of 8"]


@_UNWARNED
def test_awaiting_in_another_task_is_fine(store: rc.Store, worker: Worker) -> None:
    async def awaited(call: Any) -> Any:
        return await call

    @worker.workflow("w")
    async def w() -> list[Any]:
        tasks = [
            asyncio.create_task(awaited(call)) for call in (charge("7"), sleep(1000), receive("go", timeout=5000, default="no"))
        ]
        return [await each for each in tasks]

    w.using(id="w").delay()
    assert last(worker) == ["receipt of 7", None, "no"]
    assert store.now == 5000


def test_a_workflow_id_may_have_colons(store: rc.Store, worker: Worker) -> None:
    async def branch() -> str:
        await sleep(1)
        return await charge("7")

    @worker.workflow("w")
    async def w() -> list[str]:
        return list(await gather(branch(), branch()))

    w.using(id="a:1:0").delay()
    assert last(worker) == ["receipt of 7"] * 2
    assert sorted(records(store, "a:1:0")) == ["1:0:1", "1:0:2", "1:1:1", "1:1:2"]


def test_a_step_is_no_part_of_the_workflow(store: rc.Store, worker: Worker) -> None:
    """A call of a step in a step is a plain one: it has no number, and no record."""

    @step
    async def outer() -> str:
        return "outer " + await charge("7")

    def threaded() -> str:
        return "threaded"

    @step
    def sync_outer() -> str:
        return inner() + threaded()

    @step
    def inner() -> str:
        return "inner "

    @worker.workflow("w")
    async def w() -> list[str]:
        return [await outer(), await run(sync_outer)]

    w.using(id="w").delay()
    assert last(worker) == ["outer receipt of 7", "inner threaded"]
    assert records(store, "w") == {"1": "outer", "2": "sync_outer"}


def test_calls_that_only_workflows_have_raise_in_a_step(store: rc.Store, worker: Worker) -> None:
    @step
    async def sleeps() -> None:
        await sleep(1)

    @worker.workflow("w")
    async def w() -> None:
        await sleeps()

    w.using(id="w").delay()
    drained(worker)
    (error,) = [each.error for each in store.workflows.history("w")]
    assert error is not None and "a step is no part of it" in error.message


def test_misused_calls_are_refused(store: rc.Store, worker: Worker) -> None:
    said: list[str] = []

    @step
    def sync_step() -> None: ...

    @worker.workflow("w")
    async def w() -> None:
        for misused in (
            sync_step,
            lambda: gather(1),  # type: ignore[call-overload]
            lambda: gather(asyncio.sleep),  # type: ignore[call-overload]
            lambda: first(),
            lambda: sleep(-1),
            lambda: receive("a:b"),
            lambda: run(5),  # type: ignore[call-overload]
        ):
            try:
                misused()  # type: ignore[operator]
            except Exception as error:
                said.append(f"{type(error).__name__}: {error}")
        await charge("7")

    w.using(id="w").delay()
    assert last(worker) is None
    assert [each.partition(":")[0] for each in said] == ["TypeError"] * 3 + ["Invalid"] * 3 + ["TypeError"], said
    assert "await run(sync_step, ...)" in said[0]
    assert records(store, "w") == {"1": "charge"}, "a refused call has no number"
