"""Rule (h): a cancel is final at once; a running function cleans up with plain calls, a waiting one runs nothing."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from waiting import until
from workflow_runs import drained, records

import resonate_core as rc
from resonate_core.worker import JobCancelled, Worker
from resonate_core.workflow import blocking, first, gather, promise, receive, run, sleep, step


def nap() -> None:
    time.sleep(0.05)


@pytest.fixture
def quick(live_store: rc.Store) -> Worker:
    return Worker(live_store, name="w1", poll_interval=20, heartbeat=50)


def test_a_running_coroutine_gets_a_cancelled_error_and_its_cleanup_calls_are_plain(live_store: rc.Store, quick: Worker) -> None:
    log: list[Any] = []
    begun = threading.Event()

    @step
    async def slow() -> None:
        begun.set()
        await asyncio.sleep(60)

    @step(retries=5)
    async def refund(order: str) -> str:
        log.append(f"refund {order}")
        return order

    def notify(text: str) -> str:
        log.append(text)
        return text

    @quick.workflow("w")
    async def w() -> None:
        await run(str.upper, "before")
        try:
            await slow()
        except asyncio.CancelledError:
            log.append([await refund("7"), await run(notify, "hello"), list(await gather(refund("8"), refund("9")))])
            try:
                await sleep(1)
            except RuntimeError:
                log.append("no sleep")
            raise

    w.using(id="w").delay()
    with quick:
        until(begun.is_set)
        assert live_store.jobs.cancel("w").state == "cancelled", "it is final at once"
        until(lambda: len(log) == 6)
    assert log == ["refund 7", "hello", "refund 8", "refund 9", ["7", "hello", ["8", "9"]], "no sleep"]
    assert live_store.jobs.get("w").state == "cancelled"
    assert records(live_store, "w") == {"1": "upper"}


def test_a_function_that_swallows_it_stays_cancelled(live_store: rc.Store, quick: Worker) -> None:
    begun, ended = threading.Event(), threading.Event()

    @step
    async def slow() -> None:
        begun.set()
        await asyncio.sleep(60)

    @quick.workflow("w")
    async def w() -> str:
        try:
            await slow()
        except asyncio.CancelledError:
            ended.set()
        return "done"

    w.using(id="w").delay()
    with quick:
        until(begun.is_set)
        live_store.jobs.cancel("w")
        until(ended.is_set)
    assert live_store.jobs.get("w").state == "cancelled"


def test_branches_get_it_too(live_store: rc.Store, quick: Worker) -> None:
    log: list[str] = []
    begun = threading.Event()

    @step
    async def slow() -> None:
        begun.set()
        await asyncio.sleep(60)

    async def branch(name: str) -> None:
        try:
            await (slow() if name == "slow" else receive(name))
        except asyncio.CancelledError:
            log.append(name)
            raise

    @quick.workflow("w")
    async def w() -> None:
        await gather(branch("slow"), branch("b"), first(branch("c"), branch("d")))

    w.using(id="w").delay()
    with quick:
        until(begun.is_set)
        live_store.jobs.cancel("w")
        until(lambda: len(log) == 4)
    assert sorted(log) == ["b", "c", "d", "slow"]


def test_a_def_gets_job_cancelled_at_its_next_call(live_store: rc.Store, quick: Worker) -> None:
    log: list[Any] = []
    begun, let_go = threading.Event(), threading.Event()

    @step
    def slow() -> None:
        begun.set()
        let_go.wait(60)

    @step
    def refund(order: str) -> str:
        log.append(f"refund {order}")
        return order

    @quick.workflow("w")
    def w() -> None:
        try:
            slow()
            refund("it must not run")
        except JobCancelled as cancelled:
            log.append(cancelled.reason)
            refund("7")
            log.append(blocking.run(str.upper, "plain"))
            raise

    w.using(id="w").delay()
    with quick:
        until(begun.is_set)
        live_store.jobs.cancel("w")
        time.sleep(0.2)
        let_go.set()
        until(lambda: len(log) == 3)
    assert log == ["cancelled", "refund 7", "PLAIN"]
    assert records(live_store, "w") == {}


@pytest.mark.parametrize("kind", ["async", "def"])
def test_a_waiting_workflow_runs_nothing(end: tuple[rc.Store, Worker], kind: str) -> None:
    store, worker = end
    log: list[str] = []
    begun: list[int] = []

    if kind == "async":

        @worker.workflow("w")
        async def w() -> None:
            begun.append(1)
            try:
                await receive("never")
            except (asyncio.CancelledError, Exception):
                log.append("it must not run")

    else:

        @worker.workflow("w")
        def w() -> None:
            begun.append(1)
            try:
                blocking.receive("never")
            except Exception:
                log.append("it must not run")

    w.using(id="w").delay()
    with worker:
        until(lambda: store.jobs.get("w").state == "waiting")
        assert store.workflows.cancel("w").state == "cancelled"
        time.sleep(0.1)
    assert begun == [1] and log == []
    with pytest.raises(rc.Rejected):
        store.result("w")


def test_a_cancel_goes_down_to_what_the_workflow_waits_for(store: rc.Store, worker: Worker) -> None:
    task = worker.task("child", queue="other")(lambda: None)

    @worker.workflow("inner", queue="default")
    async def inner() -> None:
        await gather(task.call(), receive("never"))

    @worker.workflow("w")
    async def w() -> None:
        await gather(inner.call(), task.call(), promise(), sleep(10**9))

    w.using(id="w").delay()
    worker.run_until_idle()
    assert store.jobs.get("w:1").state == "waiting"
    store.workflows.cancel("w")

    worker.run_until_idle()
    assert {job.id: job.state for job in store.jobs.search()} == {
        "w": "cancelled",
        "w:1": "cancelled",
        "w:1:1": "cancelled",
        "w:2": "cancelled",
    }


def test_a_cancelled_workflow_that_was_parked_is_dropped_when_its_slot_is_needed(
    live_store: rc.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resonate_core.worker.workflows.support.MOST_PARKED", 1)
    gone: list[str] = []
    worker = Worker(live_store, name="w1", poll_interval=20)

    @worker.workflow("w")
    async def w(name: str) -> None:
        try:
            await receive("never")
        finally:
            gone.append(name)

    with worker:
        w.using(id="a").delay("a")
        until(lambda: live_store.jobs.get("a").state == "waiting")
        live_store.workflows.cancel("a")
        w.using(id="b").delay("b")
        until(lambda: gone == ["a"])
    assert gone == ["a", "b"]


@pytest.mark.parametrize("kind", ["async", "def"])
def test_the_timeout_of_the_job_ends_one_attempt(live_store: rc.Store, quick: Worker, kind: str) -> None:
    """It counts for each attempt: a workflow that waits uses none of it."""
    log: list[str] = []

    if kind == "async":

        @quick.workflow("w", timeout=1000)
        async def w() -> str:
            await sleep(1200)
            try:
                await run_slow()
            except asyncio.CancelledError:
                log.append("cancelled")
                raise
            return "never"

        @step
        async def run_slow() -> None:
            await asyncio.sleep(60)

    else:

        @quick.workflow("w", timeout=1000)
        def w() -> str:
            blocking.sleep(1200)
            try:
                for _ in range(1000):
                    blocking.run(nap)
            except JobCancelled as cancelled:
                log.append("cancelled" if cancelled.reason == "timeout" else str(cancelled.reason))
                raise
            return "never"

    w.using(id="w").delay()
    with quick:
        with pytest.raises(rc.Rejected, match="Timeout"):
            live_store.result("w", timeout=60)
        until(lambda: log == ["cancelled"])


def test_a_cancel_while_a_drain_runs_it(store: rc.Store, worker: Worker) -> None:
    @step
    async def cancels() -> str:
        store.jobs.cancel("w")
        return "recorded?"

    @worker.workflow("w")
    async def w() -> str:
        await cancels()
        await run(len, "it must not run")
        return "done"

    w.using(id="w").delay()
    (ended,) = drained(worker)
    assert ended.outcome == "lost"
    assert store.jobs.get("w").state == "cancelled"
    assert records(store, "w") == {}
