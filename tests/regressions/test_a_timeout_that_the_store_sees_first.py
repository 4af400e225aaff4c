"""An attempt that the store timed out a little before its worker did counted as lost: a workflow did not clean up."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "worker"))

from waiting import until

import resonate_core as rc
from resonate_core.worker import JobCancelled, Worker, current_job
from resonate_core.workflow import step
from server.live_server import serving

HOUR = 3_600_000


@pytest.fixture
def clock() -> rc.ManualClock:
    return rc.ManualClock()


@pytest.fixture
def store(clock: rc.ManualClock) -> Iterator[rc.Store]:
    """The store of a server. Its clock is another than that of the worker."""
    with rc.Store(clock=clock) as opened:
        yield opened


@pytest.fixture
def far(store: rc.Store) -> Iterator[Callable[[int], Worker]]:
    """Makes a worker of a server of the store, with this interval of heartbeats."""
    made: list[Worker] = []
    with serving(store) as live:

        def make(heartbeat: int) -> Worker:
            made.append(Worker(f"http://127.0.0.1:{live.port}", poll_interval=20, heartbeat=heartbeat, lease=3 * HOUR))
            return made[-1]

        yield make
        for worker in made:
            worker.close()


def pass_an_hour(clock: rc.ManualClock, begun: threading.Event) -> None:
    assert begun.wait(60)
    clock.advance(HOUR)


def run_until_timeout(worker: Worker, workflow: Any, log: list[Any], meanwhile: Callable[[], None] = lambda: None) -> None:
    """Runs the workflow until it has logged a reason, which must be the timeout."""
    workflow.using(id="w").delay()
    with worker:
        meanwhile()
        until(lambda: log)
    assert log == ["timeout"]


def test_a_heartbeat_tells_a_workflow(far: Callable[[int], Worker], clock: rc.ManualClock) -> None:
    worker = far(20)
    begun, log = threading.Event(), []

    @step
    async def slow() -> None:
        begun.set()
        await asyncio.sleep(60)

    @worker.workflow("w", timeout=HOUR, max_retries=0)
    async def w() -> None:
        try:
            await slow()
        finally:
            log.append(current_job().reason)

    run_until_timeout(worker, w, log, lambda: pass_an_hour(clock, begun))


def test_a_heartbeat_tells_a_function_and_not_those_without_a_timeout(
    far: Callable[[int], Worker], store: rc.Store, clock: rc.ManualClock
) -> None:
    worker = far(20)
    begun: list[str] = []
    log: dict[str, str | None] = {}

    @worker.task("slow", max_retries=0)
    async def slow() -> None:
        job = current_job()
        begun.append(job.id)
        try:
            await asyncio.sleep(60)
        finally:
            log[job.id] = job.reason

    slow.using(id="limited", timeout=HOUR).delay()
    slow.using(id="settled", timeout=2 * HOUR).delay()
    slow.using(id="unlimited").delay()
    with worker:
        until(lambda: len(begun) == 3)
        clock.advance(HOUR)
        store.promises.resolve("settled", "elsewhere")
        store.promises.resolve("unlimited", "elsewhere")
        until(lambda: len(log) == 3)
    assert log == {"limited": "timeout", "settled": "lost", "unlimited": "lost"}


def test_a_record_tells_a_coroutine(far: Callable[[int], Worker], clock: rc.ManualClock) -> None:
    worker = far(HOUR)
    log = []

    @step
    async def long() -> None:
        clock.advance(HOUR)

    @worker.workflow("w", timeout=HOUR, max_retries=0)
    async def w() -> None:
        try:
            await long()
        except asyncio.CancelledError:
            log.append(current_job().reason)
            raise

    run_until_timeout(worker, w, log)


def test_a_record_tells_a_def(far: Callable[[int], Worker], clock: rc.ManualClock) -> None:
    worker = far(HOUR)
    log = []

    @step
    def long() -> None:
        clock.advance(HOUR)

    @worker.workflow("w", timeout=HOUR, max_retries=0)
    def w() -> None:
        try:
            long()
        except JobCancelled as cancelled:
            log.append(cancelled.reason)
            raise

    run_until_timeout(worker, w, log)


def test_the_next_attempt_tells_the_one_before(far: Callable[[int], Worker], clock: rc.ManualClock) -> None:
    """No heartbeat is due, and the same worker claims the retry."""
    worker = far(HOUR)
    begun, log = threading.Event(), []

    @step
    async def slow() -> None:
        begun.set()
        await asyncio.sleep(60)

    @worker.workflow("w", timeout=HOUR, max_retries=1, retry_policy={"kind": "fixed", "intervals": [0]})
    async def w() -> None:
        if current_job().attempt == 2:
            return
        try:
            await slow()
        except asyncio.CancelledError:
            log.append(current_job().reason)
            raise

    run_until_timeout(worker, w, log, lambda: pass_an_hour(clock, begun))
