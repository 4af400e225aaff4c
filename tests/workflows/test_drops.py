"""Rule (g): a run that ends here unwinds its function: `finally` and bare `except` run, calls in them raise again and write nothing."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from waiting import until
from workflow_runs import drained, last, records, states

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import Dropped, blocking, first, gather, now, patched, promise, receive, run, sleep, step


@step
async def undo() -> None:
    raise AssertionError("it must not run")


def test_each_wait_of_a_drain_drops_the_function_and_runs_its_cleanup(store: rc.Store, worker: Worker) -> None:
    log: list[str] = []

    @worker.workflow("w")
    async def w() -> str:
        try:
            await sleep(1000)
        except BaseException as error:
            log.append(type(error).__name__)
            raise
        finally:
            log.append("finally")
        return "done"

    w.using(id="w").delay()
    assert last(worker) == "done"
    assert log == ["Dropped", "finally", "finally"]


def test_it_is_no_exception_that_a_function_catches_by_accident(store: rc.Store, worker: Worker) -> None:
    log: list[str] = []

    @worker.workflow("w")
    async def w() -> str:
        try:
            await sleep(1000)
        except Exception:
            log.append("caught")
        return "done"

    w.using(id="w").delay()
    assert last(worker) == "done"
    assert log == []
    assert not issubclass(Dropped, Exception)


CALLS = {
    "step": lambda task: undo(),
    "run": lambda task: run(len, "a"),
    "sleep": lambda task: sleep(1),
    "receive": lambda task: receive("x"),
    "promise": lambda task: promise(),
    "now": lambda task: now(),
    "gather": lambda task: gather(run(len, "a")),
    "first": lambda task: first(run(len, "a")),
    "child": lambda task: task.call(),
    "started child": lambda task: task.start(),
    "patched": lambda task: patched("x"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_a_call_in_the_cleanup_raises_again_and_writes_nothing(store: rc.Store, worker: Worker, call: Any) -> None:
    log: list[str] = []
    task = worker.task("child")(lambda: None)

    @worker.workflow("w")
    async def w() -> str:
        try:
            await sleep(1000)
        except BaseException:
            for _ in range(2):
                try:
                    made = call(task)
                    if not isinstance(made, bool):
                        await made
                except BaseException as error:
                    log.append(type(error).__name__)
            raise
        return "done"

    w.using(id="w").delay()
    assert last(worker) == "done"
    assert log == ["Dropped", "Dropped"]
    assert records(store, "w") == {"1": "sleep"}
    assert len(store.jobs.search(type="child")) == 0


def test_its_outcome_is_ignored(store: rc.Store, worker: Worker) -> None:
    ran: list[int] = []

    @worker.workflow("w")
    async def w(how: str) -> str:
        ran.append(1)
        try:
            await sleep(1000)
        except BaseException:
            if how == "returns":
                return "too early"
            raise ValueError("too early") from None
        return "done"

    for how in ("returns", "raises"):
        w.using(id=how).delay(how)
    drained(worker)
    assert [store.result(how) for how in ("returns", "raises")] == ["done", "done"]
    assert len(ran) == 4


def test_branches_are_unwound_before_the_function_around_them(store: rc.Store, worker: Worker) -> None:
    log: list[str] = []

    async def branch(name: str) -> None:
        try:
            await inner(name)
        finally:
            log.append(name)

    async def inner(name: str) -> None:
        try:
            await receive(name)
        finally:
            log.append(f"inner {name}")

    @worker.workflow("w")
    async def w() -> None:
        try:
            await gather(branch("a"), branch("b"))
        finally:
            log.append("w")

    w.using(id="w").delay()
    drained(worker)
    assert sorted(log[:4]) == ["a", "b", "inner a", "inner b"]
    assert log.index("inner a") < log.index("a")
    assert log[4:] == ["w"]


def test_cleanup_may_await_what_is_no_call(live_store: rc.Store) -> None:
    cleaned = threading.Event()
    worker = Worker(live_store, poll_interval=20)

    @worker.workflow("w")
    async def w() -> None:
        try:
            await receive("never")
        finally:
            await closes()

    async def closes() -> None:
        await asyncio.sleep(0.01)
        cleaned.set()

    w.using(id="w").delay()
    with worker:
        until(lambda: live_store.jobs.get("w").state == "waiting")
        live_store.queues.pause("default")
        live_store.jobs.cancel("w")
    until(cleaned.is_set)


def test_a_context_manager_of_the_workflow_is_left_at_each_wait_of_a_drain(store: rc.Store, worker: Worker) -> None:
    entered: list[str] = []

    class Resource:
        async def __aenter__(self) -> None:
            entered.append("in")

        async def __aexit__(self, *raised: object) -> None:
            await asyncio.sleep(0)
            entered.append("out")

    @worker.workflow("w")
    async def w() -> str:
        async with Resource():
            await sleep(1)
        return "done"

    w.using(id="w").delay()
    assert last(worker) == "done"
    assert entered == ["in", "out", "in", "out"]


def test_a_running_workflow_of_a_worker_that_stops_is_unwound_and_goes_on_in_another(live_store: rc.Store) -> None:
    log: list[str] = []
    begun = threading.Event()

    def code(name: str) -> Any:
        @step(name="slow")
        async def slow() -> str:
            begun.set()
            if name == "one":
                await asyncio.sleep(60)
            return name

        async def w() -> list[str]:
            try:
                return [await run(str.upper, name), await slow()]
            except BaseException as error:
                log.append(type(error).__name__)
                await undo()
                raise

        return w

    one, other = (Worker(live_store, name=name, poll_interval=20, grace=100) for name in ("one", "other"))
    task = one.workflow("w")(code("one"))
    other.workflow("w")(code("other"))
    task.using(id="w").delay()
    with one:
        until(begun.is_set)
    assert log == ["Dropped"]
    assert states(live_store, "w") == {"1": "resolved"}
    with other:
        assert live_store.result("w", timeout=60) == ["ONE", "other"]


def test_a_lost_run_writes_nothing_more(live_store: rc.Store) -> None:
    """Another worker has the job now: this one records nothing more, and its outcome is ignored."""
    log: list[str] = []
    let_go = threading.Event()
    begun = threading.Event()
    worker = Worker(live_store, name="one", poll_interval=20, heartbeat=100, lease=60_000, run_lease=60_000)

    def slow() -> str:
        begun.set()
        let_go.wait(60)
        return "slow"

    @worker.workflow("w")
    async def w() -> str:
        try:
            found = await run(slow)
            await run(log.append, "it must not run")
            return found
        except BaseException as error:
            log.append(type(error).__name__)
            raise

    w.using(id="w").delay()
    try:
        with worker:
            until(begun.is_set)
            live_store.queues.pause("default")
            job = live_store.jobs.get("w")
            live_store.jobs.snooze("w", job.version, 0)  # as if its lease had expired
            until(lambda: bool(log))
            let_go.set()
    finally:
        let_go.set()
    assert log == ["Dropped"]
    assert records(live_store, "w") == {}


def test_a_function_that_never_lets_go_of_a_dropped_run(store: rc.Store, worker: Worker) -> None:
    """Each call raises at once: it cannot hold the worker by catching and calling a few times."""
    count = 0

    @worker.workflow("w")
    async def w() -> str:
        nonlocal count
        for _ in range(1000):
            try:
                await sleep(1000)
                return "done"
            except BaseException:
                count += 1
        return "gave up"

    w.using(id="w").delay()
    assert last(worker) == "done"
    assert count == 1000


@pytest.mark.parametrize("kind", ["async", "def"])
def test_the_code_does_not_see_that_its_job_was_taken_over(
    store: rc.Store, worker: Worker, clock: rc.ManualClock, kind: str
) -> None:
    """The store refuses the queued requests. That is no failure of a call, which the code could handle by an effect."""
    seen: list[str] = []

    def taken_over() -> None:
        if not seen:
            clock.advance(600_000)
            assert store.jobs.claim("default", worker="other", lease=1_000, start=1)
            seen.append("taken over")

    @worker.workflow("async")
    async def w() -> None:
        taken_over()
        try:
            await promise(timeout=1000)
        except Exception as error:
            seen.append(type(error).__name__)
            raise

    @worker.workflow("def")
    def w_here() -> None:
        taken_over()
        try:
            blocking.promise(timeout=1000).result()
        except Exception as error:
            seen.append(type(error).__name__)
            raise

    worker.enqueue(kind, id="w")
    runs = drained(worker)
    assert seen == ["taken over", "TimeoutError"]
    assert (runs[0].outcome, runs[-1].outcome) == ("lost", "failed")  # no program settles the promise
