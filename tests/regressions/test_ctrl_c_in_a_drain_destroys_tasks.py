"""Ctrl-C in `run_until_idle` left the tasks of other branches and handlers unfinished: their `finally` ran at any time or in a closed
event loop, and Python printed that tasks were destroyed."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.workflow import gather, step


def press_ctrl_c() -> None:
    """Interrupts the event loop soon, while it waits, as the signal does."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    asyncio.get_running_loop().call_later(0.02, interrupt)


def interrupted(store: rc.Store, worker: Worker) -> None:
    with pytest.raises(KeyboardInterrupt):
        worker.run_until_idle()
    gc.collect()
    assert store.jobs.get("a").state == "running", "the lease ends, and any worker may go on"
    assert store.check() == []


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Nothing is said of what a handler left behind."""
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    yield
    gc.collect()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
    assert [str(one.exc_value) for one in unraisable] == []


def test_branches_of_a_workflow(quiet: None) -> None:
    store = rc.Store(clock=rc.ManualClock())
    worker = Worker(store)
    ended: list[int] = []

    @step
    async def slow(number: int) -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.append(number)

    @worker.workflow("flow")
    async def flow() -> None:
        press_ctrl_c()
        await gather(slow(1), slow(2))

    store.jobs.enqueue("flow", None, id="a", lifecycle="workflow")
    interrupted(store, worker)
    assert sorted(ended) == [1, 2]


def test_tasks_of_a_handler(quiet: None) -> None:
    store = rc.Store(clock=rc.ManualClock())
    worker = Worker(store)
    ended: list[str] = []

    @worker.task("t")
    async def handler(_: Any) -> None:
        async def beside() -> None:
            try:
                await asyncio.sleep(30)
            finally:
                ended.append("beside")

        press_ctrl_c()
        await asyncio.ensure_future(beside())

    store.jobs.enqueue("t", None, id="a")
    interrupted(store, worker)
    assert ended == ["beside"]
