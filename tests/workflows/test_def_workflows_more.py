"""`def` workflows: the last rules; see `test_def_workflows`."""

from __future__ import annotations

import threading
from typing import Any

from waiting import until

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import StepFailed, StepTimeout, step
from resonate_core.workflow.blocking import (
    run,
)


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
    begun, let_go = threading.Event(), threading.Event()

    def code(name: str) -> Any:
        @step(name="slow")
        def slow() -> str:
            begun.set()
            if name == "one":
                let_go.wait(60)
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
    threading.Timer(0.5, let_go.set).start()
    with one:
        until(begun.is_set)
    until(lambda: bool(log))
    assert log == ["Dropped"]
    with other:
        assert live_store.result("w", timeout=60) == ["ONE", "other", "other"]
