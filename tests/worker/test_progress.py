"""Reports of progress by running jobs, and when the worker sends them."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from waiting import until

import resonate_core as rc
from resonate_core.worker import JobContext, Retry, Worker, current_batch, current_job
from resonate_core.worker.environment import Environment
from resonate_core.worker.report_buffer import LINE_BYTES, LINES_KEPT, ReportBuffer
from resonate_core.worker.store_client import StoreClient
from server.live_server import serving


def texts(job: rc.Job) -> list[str]:
    return [] if job.report is None else [line["text"] for line in job.report.get("lines", [])]


def test_a_drain_sends_what_was_reported_before_the_outcome(worker: Worker, store: rc.Store, clock: rc.ManualClock):
    @worker.task("t", retention="kept", max_retries=1, retry_policy={"kind": "fixed", "intervals": [1000]})
    def body(job: JobContext):
        job.report("begins", progress=0.1)
        job.report("two\n\nlines")
        if job.attempt == 1:
            raise Retry
        assert store.jobs.get(job.id).report == {"at": 0, "lines": first}

    first = [{"at": 0, "attempt": 1, "text": text} for text in ("begins", "two", "lines")]
    job = body.enqueue()
    worker.run_until_idle(advance=True)
    done = store.jobs.get(job.id)
    assert done.state == "completed" and done.report is not None
    assert done.report == {"at": 1000, "progress": 0.1, "lines": first + [{**line, "at": 1000, "attempt": 2} for line in first]}


def test_jobs_without_a_report_have_none(worker: Worker, store: rc.Store):
    @worker.task("t", retention="kept")
    def body():
        current_job().report()
        current_job().report(" \n")

    job = body.enqueue()
    worker.run_until_idle()
    assert store.jobs.get(job.id).report is None


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_running_worker_sends_reports_meanwhile(make_worker, live_store, asynchronous):
    worker = make_worker(concurrency=2)
    seen = threading.Event()

    if asynchronous:

        @worker.task("t", retention="kept")
        async def body(job: JobContext):
            job.report("first", progress=0.5)
            while not seen.is_set():
                await asyncio.sleep(0.01)
            job.report("last", progress=1)
    else:

        @worker.task("t", retention="kept")
        def body(job: JobContext):
            job.report("first", progress=0.5)
            seen.wait(60)
            job.report("last", progress=1)

    job = body.enqueue()
    with worker:
        until(lambda: texts(live_store.jobs.get(job.id)) == ["first"], worker.counts)
        running = live_store.jobs.get(job.id)
        assert (running.state, running.report["progress"]) == ("running", 0.5)
        seen.set()
        until(lambda: worker.counts.completed == 1, worker.counts)
    assert (texts(live_store.jobs.get(job.id)), live_store.jobs.get(job.id).report["progress"]) == (["first", "last"], 1.0)


def test_a_worker_of_a_server_sends_them_too():
    with rc.Store() as store, serving(store) as live:
        worker = Worker(f"http://127.0.0.1:{live.port}", poll_interval=20)

        @worker.task("t", retention="kept")
        def body(job: JobContext):
            job.report("over HTTP", progress=1)

        job = body.enqueue()
        with worker:
            until(lambda: worker.counts.completed == 1, worker.counts)
        worker.close()
        assert texts(store.jobs.get(job.id)) == ["over HTTP"]


def test_each_job_of_a_batch_reports_on_its_own(worker: Worker, store: rc.Store):
    @worker.batch_task("t", retention="kept")
    def body(payloads: Sequence[int]):
        for job, n in zip(current_batch(), payloads, strict=True):
            job.report(f"number {n}")

    store.queues.set("default", groups={"size": 3})
    jobs = [body.using(group="g").enqueue(n) for n in range(3)]
    worker.run_until_idle()
    assert [texts(store.jobs.get(job.id)) for job in jobs] == [["number 0"], ["number 1"], ["number 2"]]


class Reporting(StoreClient):
    """A client whose reports fail with these errors, one after the other."""

    def __init__(self, store: rc.Store, *errors: Exception) -> None:
        super().__init__(store)
        self.errors = list(errors)

    def report(self, id: str, version: int, progress: float | None, lines: Sequence[str]) -> int:
        if self.errors:
            raise self.errors.pop(0)
        return super().report(id, version, progress, lines)


def reporting(store: rc.Store, *errors: Exception) -> Worker:
    client = Reporting(store, *errors)
    return Worker(store, poll_interval=20, environment=Environment(connect=lambda target, token, answer_bytes: client))


def test_a_store_that_fails_loses_no_report(live_store):
    worker = reporting(live_store, rc.errors.StoreError("away"), OSError("away"))

    @worker.task("t", retention="kept")
    def body(job: JobContext):
        job.report("kept")

    job = body.enqueue()
    with worker:
        until(lambda: worker.counts.completed == 1, worker.counts)
    assert texts(live_store.jobs.get(job.id)) == ["kept"]


def test_a_refused_report_does_not_change_the_outcome(store: rc.Store, caplog: pytest.LogCaptureFixture):
    worker = reporting(store, rc.errors.Invalid("a line is bad"))

    @worker.task("t", retention="kept")
    def body(job: JobContext):
        job.report("refused")

    job = body.enqueue()
    with caplog.at_level(logging.WARNING):
        assert [run.outcome for run in worker.run_until_idle()] == ["completed"]
    assert "its report was refused: a line is bad" in caplog.text and store.jobs.get(job.id).report is None


def test_a_job_that_is_no_longer_held_takes_no_report(worker: Worker, store: rc.Store):
    @worker.task("t", retention="kept")
    def body(job: JobContext):
        job.report("too late")
        store.jobs.cancel(job.id)

    job = body.enqueue()
    assert [run.outcome for run in worker.run_until_idle()] == ["lost"]
    assert store.jobs.get(job.id).report is None


@pytest.mark.parametrize(
    ("given", "error", "rule"),
    [
        ({"progress": 1.5}, rc.errors.Invalid, "progress must be within 0..1, got 1.5"),
        ({"progress": float("nan")}, rc.errors.Invalid, "progress must be within 0..1, got nan"),
        ({"progress": True}, TypeError, "progress must be int or float, got bool"),
        ({"text": 5}, TypeError, "text must be str, got int"),
    ],
)
def test_misuse_fails_in_the_function(worker: Worker, given: dict[str, Any], error: type[Exception], rule: str):
    raised: list[BaseException] = []

    @worker.task("t")
    def body(job: JobContext):
        with pytest.raises(error) as seen:
            job.report(**given)
        raised.append(seen.value)

    body.enqueue()
    assert [run.outcome for run in worker.run_until_idle()] == ["completed"]
    assert rule in str(raised[0])


def test_lines_are_made_to_fit():
    kept = ReportBuffer()
    kept.add(None, "é" * 600 + "\nnul\0 and \ud800")
    kept.add(0.5, None)
    progress, (long, odd) = kept.take()
    assert progress == 0.5 and not kept
    assert len(long.encode()) <= LINE_BYTES and long.endswith("é…") and odd == "nul\ufffd and ?"
    for n in range(LINES_KEPT + 5):
        kept.add(None, str(n))
    assert kept.take()[1] == [str(n) for n in range(5, LINES_KEPT + 5)]


def test_threads_of_one_job_report_together(worker: Worker, store: rc.Store):
    @worker.task("t", retention="kept")
    def body(job: JobContext):
        threads = [threading.Thread(target=job.report, args=(str(n),)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    job = body.enqueue()
    worker.run_until_idle()
    assert sorted(texts(store.jobs.get(job.id)), key=int) == [str(n) for n in range(20)]


def test_reports_in_a_simulated_system_survive_lost_replies_and_crashes():
    from resonate_core.testing import ProcessStore, World, simulate

    def make_worker(store: ProcessStore) -> Worker:
        worker = Worker(store)

        @worker.task("t", retention="kept")
        async def body():
            for step in range(5):
                current_job().report(f"step {step}", progress=step / 5)
                await asyncio.sleep(3)

        return worker

    async def scenario(world: World) -> None:
        for name in ("a", "b"):
            world.worker(name, make_worker)
        world.faults(lose_reply=0.1, lose_request=0.1, crash=0.02)
        await world.call("x", "t")
        await world.settled("x", within="10 days")
        report = world.store.jobs.get("x").report
        assert report is not None and (report["progress"], report["lines"][-1]["text"]) == (0.8, "step 4")

    for seed in range(20):
        run = simulate(scenario, seed=seed)
    assert any("reports on x: 80 %, step 4" in line for line in run.story)
