"""Periodic jobs with a unique_key took a conflict of keys for one of ids: `NotFound` in a drain, every second occurrence lost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import resonate_core as rc
from resonate_core.worker import Worker
from server.live_server import serving

MINUTE = 60_000


@pytest.fixture(params=["memory", "sqlite"])
def worker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Worker]:
    path = None if request.param == "memory" else tmp_path / "jobs.db"
    with rc.Store(path, clock=rc.ManualClock(start=0)) as store:
        yield Worker(store)


def clock_of(worker: Worker) -> rc.ManualClock:
    clock = worker.client.store.clock
    assert isinstance(clock, rc.ManualClock)
    return clock


def test_every_occurrence_of_a_drain_runs(worker: Worker):
    worker.periodic("* * * * *", worker.task("poll")(lambda: None), unique_key="poll")
    drained = worker.run_until_idle(until=5 * MINUTE)
    assert [(run.id, run.outcome) for run in drained] == [(f"poll@{n * MINUTE}", "completed") for n in range(1, 6)]


def test_a_decorated_handler_too(worker: Worker):
    @worker.cron("* * * * *", name="poll", unique_key="poll", unique_for=10 * MINUTE)
    def poll() -> None:
        """Has nothing to do."""

    assert len(worker.run_until_idle(until=3 * MINUTE)) == 3


def test_occurrences_during_another_job_with_the_key_are_left_out(worker: Worker, caplog: pytest.LogCaptureFixture):
    store = worker.client.store
    store.jobs.enqueue("poll", id="by hand", unique_key="poll", process_in=10 * MINUTE)
    worker.periodic("* * * * *", worker.task("poll")(lambda: None), unique_key="poll")
    with caplog.at_level(logging.WARNING, logger="resonate_core.worker"):
        assert worker.run_until_idle(until=MINUTE // 2).runs == []
        clock_of(worker).advance_to(2 * MINUTE + MINUTE // 2)
        assert worker.run_until_idle(until=2 * MINUTE + MINUTE // 2).runs == []
    assert [record.getMessage() for record in caplog.records] == [
        "periodic job 'poll': the occurrence at 1970-01-01T00:01:00.000Z is left out: another job holds its unique_key 'poll'"
    ]
    store.jobs.cancel("by hand")
    assert [run.id for run in worker.run_until_idle(until=4 * MINUTE)] == [f"poll@{3 * MINUTE}", f"poll@{4 * MINUTE}"]


def test_a_second_worker_does_not_enqueue_it_twice(worker: Worker):
    task = worker.task("poll")(lambda: None)
    worker.periodic("* * * * *", task, unique_key="poll")
    other = Worker(worker.client.store)
    other.periodic("* * * * *", other.task("poll")(lambda: None), unique_key="poll")
    ran = [run.id for minute in range(1, 5) for each in (worker, other) for run in each.run_until_idle(until=minute * MINUTE)]
    assert ran == [f"poll@{n * MINUTE}" for n in range(1, 5)]


@pytest.mark.parametrize("way", ["store", "url"])
def test_a_live_worker_goes_on(way: str, caplog: pytest.LogCaptureFixture):
    seen: list[str] = []
    enough = threading.Event()

    def poll(job: rc.worker.JobContext) -> None:
        seen.append(job.id)
        if len(seen) == 3:
            enough.set()

    with rc.Store() as store, serving(store) as live:
        worker = Worker(store if way == "store" else f"http://127.0.0.1:{live.port}", poll_interval=1000)
        worker.periodic("* * * * * *", worker.task("poll")(poll), unique_key="poll")
        with caplog.at_level(logging.ERROR, logger="resonate_core.worker"), worker:
            assert enough.wait(60)
        worker.close()
    assert len(set(seen)) == len(seen)
    assert caplog.records == []


def test_the_end_of_the_other_job_is_looked_for_before_the_next_occurrence():
    store = rc.Store(clock=rc.ManualClock(start=0))
    worker = Worker(store)
    periodic = worker.periodic("* * * * *", "poll", unique_key="poll")
    store.jobs.enqueue("poll", id="by hand", unique_key="poll")
    periodic.ensure(worker.client)
    assert [periodic.pause(now, 5.0) for now in (0, 56_000, 59_000)] == [5.0, 1.0, 0.25]
