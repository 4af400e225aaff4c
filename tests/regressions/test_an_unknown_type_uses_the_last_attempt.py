"""A worker without a handler for a type failed its jobs: the last attempt, or any failure under a policy with codes, ended them.

docs/upgrading.md promises that a worker with the newer code takes such a job.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import JobEvent, Worker
from server.live_server import serving
from worker.waiting import until

#: Options of jobs that ended at their first attempt.
LAST_ATTEMPTS: dict[str, dict[str, Any]] = {
    "no retries": {"max_retries": 0},
    "asynq without retries": {"max_retries": 0, "lifecycle": "asynq"},
    "horsies": {"lifecycle": "horsies"},
    "codes": {"retry_policy": {"kind": "fixed", "intervals": [1000], "codes": ["WorkerCrashed"]}},
}
TEXT = "worker 'old' has no handler for type 'new:type'"


def newer(store: rc.Store) -> Worker:
    made = Worker(store, name="new")
    made.task("new:type")(lambda: "done")
    return made


@pytest.mark.parametrize("options", LAST_ATTEMPTS.values(), ids=LAST_ATTEMPTS)
def test_another_worker_runs_it(make_store: Callable[..., rc.Store], options: dict[str, Any]):
    store = make_store()
    store.jobs.enqueue("new:type", id="j", retention="kept", **options)
    (run,) = Worker(store, name="old").run_until_idle()
    assert (run.outcome, run.error and run.error.code, run.error and run.error.message) == ("snoozed", "UnknownType", TEXT)
    job = store.jobs.get("j")
    assert (job.state, job.retry_count, job.error, job.process_at) == ("scheduled", 0, None, store.now + 1000)
    assert newer(store).run_until_idle(advance=True).outcomes == {"completed": 1}
    assert store.result("j", timeout=30) == "done"


def test_the_pause_grows_and_the_reason_is_reported_once():
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock)
    store.jobs.enqueue("new:type", id="j", max_retries=0)
    worker = Worker(store, name="old")
    worker.run_until_idle(until=3_600_000)
    begun = [attempt["startedAt"] for attempt in store.jobs.get("j").attempts]
    pauses = [after - before for before, after in pairwise(begun)]
    assert pauses[:9] == [1000 * 2**n for n in range(9)] and set(pauses[9:]) == {300_000}
    report = store.jobs.get("j").report
    assert report is not None and [line["text"] for line in report["lines"]] == [TEXT]


def test_a_drain_ends():
    store = rc.Store(clock=rc.ManualClock(start=0))
    worker = Worker(store, name="old")
    ran: list[int] = []
    worker.task("known")(ran.append).enqueue(1, process_in=10_000)
    store.jobs.enqueue("new:type", id="j")
    drained = worker.run_until_idle(advance=True)
    assert ran == [1] and drained.idle and store.jobs.get("j").state == "scheduled"


@pytest.mark.parametrize("starts", ["one step", "two steps"])
def test_jobs_of_a_batch_stay_together(starts: str):
    clock = rc.ManualClock(start=0)
    store = rc.Store(clock=clock)
    store.queues.set("default", groups={"size": 3, "grace": 60_000}, lifecycle="asynq" if starts == "one step" else "horsies")
    for number in range(3):
        store.jobs.enqueue("news", number, group="g", id=f"j{number}")
    assert Worker(store).run_until_idle().outcomes == {"snoozed": 3}
    worker, seen = Worker(store), []
    worker.batch_task("news")(lambda payloads: seen.append(payloads))
    worker.run_until_idle(advance=True)
    assert seen == [[0, 1, 2]]


def test_it_is_shown(caplog: pytest.LogCaptureFixture):
    store = rc.Store(clock=rc.ManualClock(start=0))
    store.jobs.enqueue("new:type", id="j", max_retries=0)
    worker, events = Worker(store, name="old"), []

    @worker.on_retry
    def retried(event: JobEvent) -> None:
        events.append((event.kind, event.reason, event.next_at, event.error and event.error["message"]))

    with caplog.at_level(logging.WARNING, logger="resonate_core.worker"):
        worker.run_until_idle()
    assert [record.getMessage() for record in caplog.records] == [
        f"job j of type new:type, attempt 1, put back for 1s: UnknownType {TEXT}"
    ]
    assert events == [("retry", "unknown_type", 1000, TEXT)]
    assert f"attempt 1 was snoozed ({TEXT})" in rc.why(store, "j").sentence


@pytest.fixture(params=["memory", "url"])
def live(request: pytest.FixtureRequest) -> Iterator[tuple[rc.Store, Callable[[str], Worker]]]:
    with rc.Store() as store:
        if request.param == "memory":
            yield store, lambda name: Worker(store, name=name, poll_interval=50)
            return
        with serving(store) as server:
            made: list[Worker] = []

            def make(name: str) -> Worker:
                made.append(Worker(f"http://127.0.0.1:{server.port}", name=name, poll_interval=50))
                return made[-1]

            yield store, make
            for each in made:
                each.close()


@pytest.mark.parametrize("lifecycle", ["asynq", "horsies"])
def test_a_live_worker_leaves_it_to_another(live: tuple[rc.Store, Callable[[str], Worker]], lifecycle: str):
    store, make = live
    store.jobs.enqueue("new:type", id="j", max_retries=0, lifecycle=lifecycle, retention=60_000)
    old = make("old")
    with old:
        until(lambda: store.jobs.get("j").state == "scheduled", old.counts)
    new = make("new")
    new.task("new:type")(lambda: "done")
    with new:
        until(lambda: store.jobs.get("j").state == "completed", new.counts)
    report = store.jobs.get("j").report
    assert report is not None and [line["text"] for line in report["lines"]] == [TEXT]
