"""The context of an attempt, and the token that tells its body to stop."""

from __future__ import annotations

import asyncio
import threading

import pytest

import resonate_core as rc
from resonate_core.worker import JobCancelled, JobContext, Worker, current_job


def test_what_it_says(store: rc.Store, clock: rc.ManualClock):
    worker = Worker(store, name="w1", queues="mail")
    seen = []

    @worker.task("t", queue="mail", max_retries=3, retry_policy={"kind": "fixed", "intervals": [1000]}, timeout=500)
    def body(job: JobContext):
        seen.append(
            (job.id, job.type, job.queue, job.worker, job.attempt, job.retry_count, job.started_at, job.deadline, job.cancelled)
        )
        if job.attempt < 3:
            raise OSError

    body.enqueue(id="a")
    worker.run_until_idle(advance=True)
    assert seen == [
        ("a", "t", "mail", "w1", 1, 0, 0, 500, False),
        ("a", "t", "mail", "w1", 2, 1, 1000, 1500, False),
        ("a", "t", "mail", "w1", 3, 2, 2000, 2500, False),
    ]


@pytest.mark.parametrize("lifecycle", [None, "asynq", "horsies"])
def test_the_number_of_an_attempt_is_that_of_the_record(store: rc.Store, lifecycle):
    worker = Worker(store, lifecycle=lifecycle)

    @worker.task("t", max_retries=2, retention="kept", retry_policy={"kind": "fixed", "intervals": [10]})
    def body(job: JobContext):
        if job.attempt < 3:
            raise OSError
        return job.attempt

    job = body.enqueue()
    worker.run_until_idle(advance=True)
    done = store.jobs.get(job.id)
    assert [each["number"] for each in done.attempts] == [1, 2, 3]
    assert done.result.json() == 3


@pytest.mark.parametrize(
    "timeout, deadline, expected", [(None, None, None), (500, None, 500), (None, 800, 800), (500, 300, 300), (500, 900, 500)]
)
def test_the_earlier_end_counts(worker: Worker, timeout, deadline, expected):
    task = worker.task("t")(lambda: current_job().deadline)
    task.enqueue(timeout=timeout, deadline=deadline)
    assert worker.run_until_idle().runs[0].result == expected


def test_a_timeout_of_the_task_holds_for_jobs_from_elsewhere(worker: Worker, store: rc.Store):
    worker.task("t", timeout=700)(lambda: current_job().deadline)
    store.jobs.enqueue("t")
    store.jobs.enqueue("t", timeout=100)
    assert [run.result for run in worker.run_until_idle()] == [700, 100]


def test_it_is_over_with_its_timeout(worker: Worker, store: rc.Store, clock: rc.ManualClock):
    steps = []

    @worker.task("t", timeout=1000, max_retries=1, retry_policy={"kind": "fixed", "intervals": [10_000]})
    def body():
        while True:
            current_job().check()
            steps.append(clock.now)
            clock.advance(400)

    job = body.enqueue()
    (run,) = worker.run_until_idle()
    assert (steps, run.outcome, run.error.code) == ([0, 400, 800], "failed", "TaskTimeout")
    waiting = store.jobs.get(job.id)
    assert (waiting.state, waiting.error["code"], waiting.next_retry_at) == ("retry", "TaskTimeout", 11_000)
    assert [each["outcome"] for each in waiting.attempts] == ["timed_out"]


def test_the_first_reason_stays(store: rc.Store):
    job = store.jobs.enqueue("t")
    context = JobContext(job, "w", 0, None, lambda: 0)
    assert not context.cancelled
    context.check()
    context.cancel("lost")
    context.cancel("stopping")
    with pytest.raises(JobCancelled) as raised:
        context.check()
    assert raised.value.reason == "lost" and context.cancelled


def test_a_job_cancelled_of_its_own_is_an_error(worker: Worker):
    @worker.task("t")
    def body():
        raise JobCancelled("because I say so")

    body.enqueue()
    (run,) = worker.run_until_idle()
    assert (run.outcome, run.error.code) == ("failed", "UnhandledError")


def test_there_is_a_current_job_only_in_a_body(worker: Worker):
    with pytest.raises(LookupError):
        current_job()
    seen = []

    @worker.task("outer")
    def outer():
        seen.append(current_job().id)

        def elsewhere():
            with pytest.raises(LookupError) as raised:
                current_job()
            seen.append(raised.type)

        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()

    outer.enqueue(id="o")
    worker.run_until_idle()
    assert seen == ["o", LookupError]
    with pytest.raises(LookupError):
        current_job()


def test_each_task_of_a_loop_has_its_own(worker: Worker):
    @worker.task("t")
    async def body():
        async def inner():
            await asyncio.sleep(0)
            return current_job().id

        return await asyncio.gather(inner(), asyncio.to_thread(lambda: current_job().id))

    body.enqueue(id="a")
    assert worker.run_until_idle().runs[0].result == ["a", "a"]


def test_a_body_that_returns_when_its_time_is_over_has_not_completed(worker: Worker, store: rc.Store, clock: rc.ManualClock):
    @worker.task("t", timeout=1000, max_retries=0)
    def body():
        while not current_job().cancelled:
            clock.advance(500)
        return "half of it"

    job = body.enqueue()
    assert worker.run_until_idle().outcomes == {"failed": 1}
    assert store.jobs.get(job.id).error["code"] == "TaskTimeout"
