"""Calls that several branches await, many branches, and branches beside those of asyncio."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from workflow_runs import drained, last, records

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import StepFailed, first, gather, patched, promise, receive, result, run, sleep, step


@step
async def ok(text: str) -> str:
    return text


@step
async def fails(text: str) -> str:
    raise ValueError(text)


async def waits(topic: str) -> Any:
    return await receive(topic)


@pytest.mark.parametrize("how", ["steps", "coroutines", "receives", "children"])
def test_two_hundred_branches(store: rc.Store, worker: Worker, how: str) -> None:
    task = worker.task("t")(lambda n: n)

    async def branch(number: int) -> int:
        await ok(str(number))
        await sleep(number % 7)
        return int(await ok(str(number)))

    @worker.workflow("w")
    async def w() -> int:
        made: list[Any] = {
            "steps": lambda: [ok(str(n)) for n in range(200)],
            "coroutines": lambda: [branch(n) for n in range(200)],
            "receives": lambda: [receive(f"t{n}") for n in range(200)],
            "children": lambda: [task.call(n) for n in range(200)],
        }[how]()
        return sum(map(int, await gather(*made)))

    w.using(id="w").delay()
    drained(worker)
    if how == "receives":
        for number in reversed(range(200)):
            store.workflows.send("w", f"t{number}", number)
        drained(worker)
    assert store.result("w") == sum(range(200))


def test_a_call_that_two_branches_await_runs_once(store: rc.Store, worker: Worker) -> None:
    ran: list[str] = []

    @step
    async def once() -> str:
        ran.append("once")
        await asyncio.sleep(0.01)
        return "value"

    async def branch(call: Any, name: str) -> str:
        return f"{name} {await call}"

    @worker.workflow("w")
    async def w() -> Any:
        call = once()
        return await gather(branch(call, "a"), branch(call, "b"), call, call)

    w.using(id="w").delay()
    assert last(worker) == ["a value", "b value", "value", "value"]
    assert ran == ["once"]


def test_a_retried_call_that_two_branches_await(store: rc.Store, worker: Worker) -> None:
    ran: list[int] = []

    @step(retries=2, backoff=60_000)
    async def flaky() -> str:
        ran.append(store.now)
        if len(ran) < 3:
            raise ValueError("not yet")
        return "value"

    async def branch(call: Any, name: str) -> str:
        await sleep(10)
        return f"{name} {await call}"

    @worker.workflow("w")
    async def w() -> Any:
        call = flaky()
        return await gather(branch(call, "a"), call, branch(call, "b"))

    w.using(id="w").delay()
    assert last(worker) == ["a value", "value", "b value"]
    assert ran == [0, 60_000, 180_000]


def test_a_started_child_is_awaited_by_several_branches(store: rc.Store, worker: Worker) -> None:
    task = worker.task("t")(lambda: "done")

    async def branch(handle: Any) -> str:
        await ok("x")
        return await handle  # type: ignore[no-any-return]

    @worker.workflow("w")
    async def w() -> Any:
        handle = task.start()
        return await gather(branch(handle), branch(handle), handle)

    w.using(id="w").delay()
    drained(worker)
    assert store.result("w") == ["done"] * 3


def test_a_gather_is_awaited_by_several_branches(store: rc.Store, worker: Worker) -> None:
    ran: list[str] = []

    async def inner(name: str) -> str:
        ran.append(name)
        await sleep(5)
        return await ok(name)

    async def branch(call: Any) -> Any:
        return await call

    @worker.workflow("w")
    async def w() -> Any:
        group = gather(inner("a"), inner("b"))
        return await gather(branch(group), branch(group))

    w.using(id="w").delay()
    assert last(worker) == [["a", "b"], ["a", "b"]]


def test_a_coroutine_that_is_never_awaited_is_no_call(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> str:
        unused = waits("a")
        unused.close()
        return await ok("done")

    w.using(id="w").delay()
    assert last(worker) == "done"
    assert records(store, "w") == {"1": "ok"}


def test_a_handle_outlives_the_first_that_it_lost(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> list[Any]:
        asked = promise()
        winner = await first(asked, ok("quick"))
        try:
            await asked
        except StepFailed as failed:
            return [winner, failed.code]
        return [winner, "settled"]

    w.using(id="w").delay()
    assert last(worker) == [(1, "quick"), "Cancelled"]


def test_patches_and_failures_in_branches(store: rc.Store, worker: Worker) -> None:
    async def branch(name: str) -> str:
        text = "new" if patched("p") else "old"
        try:
            await fails(name)
        except StepFailed:
            await sleep(3)
        return text + await ok(name)

    @worker.workflow("w")
    async def w() -> Any:
        return await gather(*(branch(str(n)) for n in range(3)))

    w.using(id="w").delay()
    assert last(worker) == ["new0", "new1", "new2"]


def test_asyncio_gather_of_gathers(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> Any:
        return await asyncio.gather(gather(sleep(10), ok("a")), gather(ok("b"), receive("x", timeout=20, default="none")))

    w.using(id="w").delay()
    assert last(worker) == [[None, "a"], ["b", "none"]]


def test_a_slow_loser_is_not_waited_for(store: rc.Store) -> None:
    """A losing step in a thread runs on, unheard."""
    import threading

    let_go = threading.Event()
    with rc.Store() as live:
        worker = Worker(live, poll_interval=20)

        @worker.workflow("w")
        async def w() -> Any:
            return await first(run(let_go.wait, 60), run(len, "abc"))

        w.using(id="w").delay()
        try:
            with worker:
                assert live.result("w", timeout=30) == [1, 3]
                let_go.set()
        finally:
            let_go.set()


def test_what_is_sent_together_keeps_its_order(store: rc.Store, worker: Worker) -> None:
    """The mark of one branch and the record of the other one are one request: each gets its own answer."""
    store.promises.create("mine", timeout=60_000)
    store.promises.create("other", timeout=60_000)

    async def marks() -> bool:
        await result("other")
        return patched("quick")

    @worker.workflow("w")
    async def w() -> list[Any]:
        return list(await gather(result("mine", type=str), marks()))

    w.using(id="w").delay()
    worker.run_until_idle()
    store.promises.resolve("other")
    store.promises.resolve("mine", "yours")
    assert last(worker) == ["yours", True]
