"""A result whose type raises SystemExit when it becomes JSON ended `run_until_idle`, and a running worker, with all its other jobs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

import resonate_core as rc
from resonate_core.worker import Worker


def _odd(error: type[BaseException]) -> object:
    class Odd(list[int]):
        def __iter__(self) -> Iterator[int]:
            raise error

    return Odd([1])


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, asyncio.CancelledError])
def test_it_fails_its_own_job(error: type[BaseException]) -> None:
    store = rc.Store(clock=rc.ManualClock())
    worker = Worker(store)
    worker.task("odd", max_retries=0)(lambda: _odd(error)).enqueue(id="odd")
    worker.task("other")(lambda: 1).enqueue()
    runs = worker.run_until_idle()
    assert sorted(run.outcome for run in runs) == ["completed", "failed"]
    assert error.__name__ in str([job.error for job in store.jobs.search(state="archived")])


def test_a_running_worker_goes_on() -> None:
    with rc.Store() as store:
        worker = Worker(store)
        done = threading.Event()
        worker.task("odd", max_retries=0)(lambda: _odd(SystemExit)).enqueue()
        with worker:
            worker.task("other")(done.set).enqueue()
            assert done.wait(60)
