"""A running worker: in threads and in an event loop, on the system's clock."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from waiting import until

import resonate_core as rc
from resonate_core.worker import JobContext, Retry, Snooze

LIFECYCLES = pytest.mark.parametrize("lifecycle", [None, "asynq", "horsies"])


def states(store: rc.Store, jobs: Any) -> list[str]:
    return [store.jobs.get(job.id).state for job in jobs]


@LIFECYCLES
@pytest.mark.parametrize("batch", [0, 1, 200])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_every_job_is_run_once(make_worker, live_store, lifecycle, batch, asynchronous):
    ran: list[int] = []
    worker = make_worker(lifecycle=lifecycle, batch=batch)

    if asynchronous:

        @worker.task("t", retention="kept")
        async def body(n):
            ran.append(n)
            return n
    else:

        @worker.task("t", retention="kept")
        def body(n):
            ran.append(n)
            return n

    jobs = body.enqueue_many(range(500))
    with worker:
        until(lambda: worker.counts.completed == 500, worker.counts)
    assert sorted(ran) == list(range(500))
    assert set(states(live_store, jobs)) == {"completed"}
    assert [live_store.jobs.get(job.id).result.json() for job in jobs] == list(range(500))
    assert live_store.check() == []


def test_sync_and_async_side_by_side(make_worker):
    worker = make_worker(concurrency=2)
    met = threading.Barrier(2)

    @worker.task("sync")
    def sync():
        met.wait(60)
        return threading.current_thread().name

    @worker.task("async")
    async def asynchronous():
        await asyncio.to_thread(met.wait, 60)

    sync.enqueue()
    asynchronous.enqueue()
    with worker:
        until(lambda: worker.counts.completed == 2)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("batch", [0, 50])
@LIFECYCLES
def test_concurrency_is_a_limit(make_worker, asynchronous, batch, lifecycle):
    worker = make_worker(concurrency=3, batch=batch, lifecycle=lifecycle)
    lock = threading.Lock()
    now = most = 0

    def enter():
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)

    def leave():
        nonlocal now
        with lock:
            now -= 1

    if asynchronous:

        @worker.task("t")
        async def body():
            enter()
            await asyncio.sleep(0.002)
            leave()
    else:

        @worker.task("t")
        def body():
            enter()
            threading.Event().wait(0.002)
            leave()

    body.enqueue_many([None] * 30)
    with worker:
        until(lambda: worker.counts.completed == 30)
    assert most == 3


def test_what_comes_while_it_sleeps_wakes_it(make_worker):
    """The worker polls once an hour, so only a wake-up can start it."""
    worker = make_worker(poll_interval=3_600_000)
    task = worker.task("t")(lambda n: n)
    with worker:
        for n in range(20):
            task.enqueue(n)
            until(lambda n=n: worker.counts.completed == n + 1, worker.counts)


def test_what_becomes_due_wakes_it(make_worker):
    worker = make_worker(poll_interval=3_600_000)
    tries: list[int] = []

    @worker.task("t", max_retries=3, retry_policy={"kind": "fixed", "intervals": [20]})
    def body(job: JobContext):
        tries.append(job.attempt)
        if job.attempt == 1:
            raise Retry(after=10)
        if job.attempt == 2:
            raise Snooze(10)
        if job.attempt == 3:
            raise OSError

    with worker:
        body.enqueue(process_in=30)
        until(lambda: worker.counts.completed == 1, worker.counts)
    assert tries == [1, 2, 3, 4]


def test_a_job_of_another_store_on_the_same_file_is_polled(tmp_path):
    with rc.Store(tmp_path / "a.db", durability="normal") as ours, rc.Store(tmp_path / "a.db", durability="normal") as theirs:
        worker = rc.worker.Worker(ours, poll_interval=20)
        worker.task("t")(lambda: 1)
        with worker:
            job = theirs.jobs.enqueue("t")
            until(lambda: theirs.jobs.get(job.id).state == "completed")


def test_errors_are_told(make_worker, live_store):
    worker = make_worker(batch=10)

    @worker.task("t", max_retries=0)
    def body(n):
        if n % 2:
            raise ValueError(n)

    jobs = body.enqueue_many(range(20))
    unknown = live_store.jobs.enqueue("nobody", max_retries=0)
    with worker:
        until(lambda: worker.counts.completed == 10 and worker.counts.failed == 10 and worker.counts.snoozed >= 1, worker.counts)
    assert states(live_store, jobs) == ["completed", "archived"] * 10
    assert live_store.jobs.get(jobs[3].id).error["message"] == "ValueError: 3"
    assert live_store.jobs.get(unknown.id).attempts[0]["outcome"] == "snoozed"


def test_two_workers_share_the_work(make_worker, live_store):
    workers = [make_worker(name=f"w{n}", concurrency=2) for n in range(2)]
    both = threading.Barrier(4)
    for worker in workers:
        worker.task("t")(lambda: both.wait(60) and None)
    jobs = workers[0].tasks["t"].enqueue_many([None] * 4)
    with workers[0], workers[1]:
        until(lambda: sum(worker.counts.completed for worker in workers) == 4)
    assert {live_store.jobs.get(job.id).attempts[0]["worker"] for job in jobs} == {"w0", "w1"}


def test_a_queue_that_is_paused_waits(make_worker, live_store):
    worker = make_worker()
    task = worker.task("t")(lambda: 1)
    live_store.queues.pause("default")
    with worker:
        job = task.enqueue()
        other = worker.task("u", queue="default")(lambda: 2)
        assert live_store.jobs.get(job.id).state == "pending"
        live_store.queues.resume("default")
        other.enqueue()
        until(lambda: worker.counts.completed == 2)


def test_periodic_jobs_are_enqueued(make_worker, live_store):
    worker = make_worker()
    ran: list[int] = []

    @worker.cron("* * * * * *", name="every second")
    def body(job: JobContext):
        ran.append(job.job.process_at)

    with worker:
        until(lambda: len(ran) >= 2)
    assert all(at % 1000 == 0 for at in ran) and len(set(ran)) == len(ran)


def test_a_concurrency_limit_of_the_queue_is_kept(make_worker, live_store):
    worker = make_worker(concurrency=8, poll_interval=3_600_000)
    live_store.queues.set("default", concurrency=2)
    lock = threading.Lock()
    now = most = 0

    @worker.task("t")
    def body():
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        threading.Event().wait(0.001)
        with lock:
            now -= 1

    body.enqueue_many([None] * 20)
    with worker:
        until(lambda: worker.counts.completed == 20, worker.counts)
    assert most <= 2


def test_a_rate_of_the_queue_is_waited_for(make_worker, live_store):
    worker = make_worker(poll_interval=3_600_000)
    live_store.queues.set("default", rate={"limit": 1, "per": 20})
    worker.task("t")(lambda: 1).enqueue_many([None] * 5)
    with worker:
        until(lambda: worker.counts.completed == 5, worker.counts)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_jobs_of_both_lifecycles_in_one_batch(make_worker, asynchronous):
    """The jobs that the claim starts need slots too, and leave none to those that it only claimed."""
    worker = make_worker(concurrency=2, batch=6)

    if asynchronous:

        @worker.task("t")
        async def body():
            await asyncio.sleep(0.001)
    else:

        @worker.task("t")
        def body():
            threading.Event().wait(0.001)

    for _ in range(20):
        body.enqueue(lifecycle="asynq")
        body.enqueue(lifecycle="horsies")
    with worker:
        until(lambda: worker.counts.completed == 40, worker.counts)


def test_more_than_one_request_holds(make_worker):
    """Claims, starts and ends are split into several requests."""
    worker = make_worker(concurrency=1500, batch=1500)

    @worker.task("t")
    async def body():
        return None

    body.enqueue_many([None] * 4000)
    with worker:
        until(lambda: worker.counts.completed == 4000, worker.counts)
