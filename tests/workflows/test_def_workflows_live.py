"""`def` workflows in live workers: steps side by side, waits, retries, timeouts."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from waiting import until
from workflow_runs import records, states

import resonate_core as rc
from resonate_core.worker import Worker, current_job
from resonate_core.workflow import StepFailed, StepTimeout, step
from resonate_core.workflow.blocking import (
    first,
    gather,
    promise,
    receive,
    run,
    sleep,
    start,
)


def test_started_steps_run_side_by_side(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end
    together = threading.Barrier(3)

    @step
    def meets(name: str) -> str:
        together.wait(30)
        return name

    @worker.workflow("w")
    def w() -> list[str]:
        return gather(*(start(meets, name) for name in "abc"))

    w.using(id="w").delay()
    with worker:
        assert store.result("w", timeout=60) == ["a", "b", "c"]


def test_waits_live(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end
    begun: list[int] = []
    task = worker.task("t")(lambda n: n)

    @worker.workflow("w")
    def w() -> list[Any]:
        begun.append(1)
        sleep(30)
        asked = promise(type=int)
        return [
            receive("a", type=str),
            gather(*(task.call(n) for n in range(5))),
            asked.result(),
            receive("a", timeout=30, default="none"),
        ]

    w.using(id="w").delay()
    with worker:
        store.workflows.send("w", "a", "hello")
        until(lambda: store.jobs.get("w").state == "waiting" and "8" in records(store, "w"))
        store.promises.resolve("w:2", 5)
        assert store.result("w", timeout=60) == ["hello", [0, 1, 2, 3, 4], 5, "none"]


@pytest.mark.parametrize("how", ["called", "started", "raced"])
def test_a_long_retry_takes_no_thread(end: tuple[rc.Store, Worker], how: str) -> None:
    """Also if the step runs beside the function: the job waits for its timer, and continues then."""
    store, worker = end
    ran: list[str] = []

    @step(retries=1, backoff=timedelta(hours=1))
    def flaky() -> str:
        ran.append("flaky")
        if len(ran) == 1:
            raise ValueError("not yet")
        return "at last"

    @worker.workflow("w")
    def w() -> Any:
        if how == "called":
            return flaky()
        handle = start(flaky)
        if how == "started":
            return handle.result()
        return first(handle, promise())[1]

    w.using(id="w").delay()
    with worker:
        until(lambda: store.jobs.get("w").state == "waiting")
        store.promises.cancel("w:1:1")  # a person wants no wait
        assert store.result("w", timeout=60) == "at last"
    assert len(ran) == 2


def test_a_started_step_that_waits_for_its_retry_goes_on_while_the_function_waits_for_something_else(
    end: tuple[rc.Store, Worker],
) -> None:
    store, worker = end
    ran: list[str] = []

    @step(retries=1, backoff=timedelta(hours=1))
    def flaky() -> str:
        ran.append("flaky")
        if len(ran) == 1:
            raise ValueError("not yet")
        return "at last"

    @worker.workflow("w")
    def w() -> list[Any]:
        handle = start(flaky)
        return [receive("a", type=str), handle.result()]

    w.using(id="w").delay()
    with worker:
        until(lambda: store.jobs.get("w").state == "waiting" and "1:1" in records(store, "w"))
        store.promises.cancel("w:1:1")
        until(lambda: states(store, "w").get("1") == "resolved")
        until(lambda: store.jobs.get("w").state == "waiting")
        store.workflows.send("w", "a", "hello")
        assert store.result("w", timeout=60) == ["hello", "at last"]


def test_a_started_step_that_nobody_asks_for_ends_before_the_workflow(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end
    ran: list[str] = []

    def slow() -> str:
        time.sleep(0.1)
        ran.append("slow")
        return "slow"

    @worker.workflow("w")
    def w() -> str:
        start(slow)
        return "done"

    w.using(id="w").delay()
    with worker:
        assert store.result("w", timeout=60) == "done"
    assert ran == ["slow"] and states(store, "w") == {"1": "resolved"}


def test_a_losing_step_is_not_waited_for_and_not_tried_again(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end
    let_go = threading.Event()
    ran: list[int] = []

    @step(retries=5, backoff=10)
    def slow() -> str:
        ran.append(1)
        let_go.wait(60)
        raise ValueError("too late")

    @worker.workflow("w")
    def w() -> Any:
        return first(start(slow), start(str.upper, "quick"))

    w.using(id="w").delay()
    try:
        with worker:
            assert store.result("w", timeout=30) == [1, "QUICK"]
            let_go.set()
            time.sleep(0.2)
    finally:
        let_go.set()
    assert ran == [1]
    assert "1" not in records(store, "w")


def test_timeouts_live(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end
    let_go = threading.Event()

    @step(timeout=50)
    def slow() -> None:
        let_go.wait(60)

    @worker.workflow("w")
    def w() -> str:
        try:
            slow()
        except StepFailed as failed:
            return failed.code
        return "in time"

    w.using(id="w").delay()
    try:
        with worker:
            assert store.result("w", timeout=60) == StepTimeout.__name__
            let_go.set()
    finally:
        let_go.set()


def test_a_stopping_worker_drops_it_and_another_goes_on(live_store: rc.Store) -> None:
    log: list[str] = []
    begun = threading.Event()

    def code(name: str) -> Any:
        @step(name="slow")
        def slow() -> str:
            begun.set()
            if name == "one":
                until(lambda: current_job().reason is not None)
            return name

        def w() -> list[str]:
            try:
                return [run(str.upper, name), slow(), run(str.lower, name)]
            except BaseException as error:
                log.append(type(error).__name__)
                run(log.append, "it must not run")
                raise

        return w

    one, other = (Worker(live_store, name=name, poll_interval=20, grace=100) for name in ("one", "other"))
    task = one.workflow("w")(code("one"))
    other.workflow("w")(code("other"))
    task.using(id="w").delay()
    with one:
        until(begun.is_set)
    until(lambda: bool(log))
    assert log == ["Dropped"]
    with other:
        assert live_store.result("w", timeout=60) == ["ONE", "other", "other"]
