"""Attempts of a running worker: leases, timeouts, and jobs that were cancelled or lost."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace

import pytest
from waiting import until

from resonate_core.worker import JobContext, current_job
from resonate_core.worker.executor import Executor

LIFECYCLES = pytest.mark.parametrize("lifecycle", [None, "asynq", "horsies"])


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_timeout_ends_an_attempt(make_worker, live_store, asynchronous):
    worker = make_worker()
    ended: list[str | None] = []

    if asynchronous:

        @worker.task("t", max_retries=0, timeout=1_000)
        async def body(job: JobContext):
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append(job.reason)
    else:

        @worker.task("t", max_retries=0, timeout=1_000)
        def body(job: JobContext):
            while not job.cancelled:
                threading.Event().wait(0.002)
            ended.append(job.reason)

    job = body.enqueue()
    with worker:
        until(lambda: live_store.jobs.get(job.id).state == "archived")
        until(lambda: ended == ["timeout"], ended)
        until(lambda: worker.counts.failed == 1, worker.counts)
    failed = live_store.jobs.get(job.id)
    assert failed.error["code"] == "TaskTimeout"
    assert [each["outcome"] for each in failed.attempts] == ["timed_out"] or failed.attempts[0]["error"]["code"] == "TaskTimeout"


def test_a_thread_that_goes_on_keeps_its_slot_and_nothing_else(make_worker, live_store):
    worker = make_worker(concurrency=1)
    go_on = threading.Event()
    order: list[str] = []

    @worker.task("stubborn", max_retries=0, timeout=1_000)
    def stubborn():
        go_on.wait(60)
        order.append("stubborn")
        return "too late"

    worker.task("next")(lambda: order.append("next"))
    job = stubborn.enqueue(priority=1)
    worker.enqueue("next")
    with worker:
        until(lambda: live_store.jobs.get(job.id).state == "archived")
        go_on.set()
        until(lambda: worker.counts.completed == 1)
    assert order == ["stubborn", "next"]
    assert live_store.jobs.get(job.id).error["code"] == "TaskTimeout"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_cancelled_job_is_called_off_by_the_heartbeat(make_worker, live_store, asynchronous):
    worker = make_worker(heartbeat=10)
    reasons: list[str | None] = []
    began = threading.Event()

    if asynchronous:

        @worker.task("t")
        async def body():
            began.set()
            try:
                await asyncio.sleep(3600)
            finally:
                reasons.append(current_job().reason)
    else:

        @worker.task("t")
        def body():
            began.set()
            try:
                while True:
                    current_job().check()
                    threading.Event().wait(0.002)
            finally:
                reasons.append(current_job().reason)

    job = body.enqueue()
    with worker:
        assert began.wait(60)
        live_store.jobs.cancel(job.id)
        until(lambda: worker.counts.lost == 1, worker.counts)
    assert reasons == ["cancelled"]
    assert live_store.jobs.get(job.id).state == "cancelled"


def test_a_job_that_was_settled_from_outside_is_lost(make_worker, live_store):
    worker = make_worker(heartbeat=10)
    began = threading.Event()

    @worker.task("t")
    async def body():
        began.set()
        await asyncio.sleep(3600)

    job = body.enqueue()
    with worker:
        assert began.wait(60)
        live_store.promises.resolve(job.id, "elsewhere")
        until(lambda: worker.counts.lost == 1, worker.counts)
    assert live_store.jobs.get(job.id).result.json() == "elsewhere"


@LIFECYCLES
def test_heartbeats_keep_what_takes_longer_than_its_lease(make_worker, live_store, lifecycle):
    worker = make_worker(lease=60_000, heartbeat=10, batch=5, concurrency=2, lifecycle=lifecycle)
    go_on = threading.Event()

    @worker.task("t", retention="kept")
    def body():
        go_on.wait(60)

    jobs = body.enqueue_many([None] * 4)

    def leases():
        return [live_store.jobs.get(job.id).lease_until for job in jobs]

    with worker:
        before = until(lambda: all(leases()) and leases())
        until(lambda: all(now > first for now, first in zip(leases(), before)))
        assert [live_store.jobs.get(job.id).state for job in jobs[:2]] == ["running"] * 2
        go_on.set()
        until(lambda: worker.counts.completed == 4, worker.counts)
    assert [len(live_store.jobs.get(job.id).attempts) for job in jobs] == [1] * 4
    assert worker.counts.lost == 0


def test_a_job_that_was_lost_comes_back_to_the_same_worker(make_worker, live_store):
    """Its heartbeat was late: the body of the old attempt is cancelled, and the result of the new one counts."""
    worker = make_worker(lease=50)
    worker.settings = replace(worker.settings, heartbeat=3600.0)  # no heartbeat renews it
    go_on = threading.Event()

    @worker.task("t", max_retries=1000, retry_policy={"kind": "fixed", "intervals": [0]})
    def body(job: JobContext):
        if job.attempt == 1:
            go_on.wait(60)
            return "old"
        go_on.set()
        return "new"

    job = body.enqueue()
    with worker:
        until(lambda: live_store.jobs.get(job.id).state == "completed")
    assert live_store.jobs.get(job.id).result.json() == "new"
    outcomes = [each["outcome"] for each in live_store.jobs.get(job.id).attempts]
    assert outcomes[0] == "crashed" and outcomes[-1] == "completed"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_deadline_ends_an_attempt(make_worker, live_store, asynchronous):
    worker = make_worker(heartbeat=29_999)
    ended: list[str | None] = []

    if asynchronous:

        @worker.task("t")
        async def body(job: JobContext):
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append(job.reason)
    else:

        @worker.task("t")
        def body(job: JobContext):
            try:
                until(lambda: job.check())
            finally:
                ended.append(job.reason)

    with worker:
        began = live_store.now
        job = body.enqueue(deadline=began + 3_000)
        until(lambda: ended == ["timeout"], ended)
    failed = live_store.jobs.get(job.id)
    assert (failed.state, failed.error["code"]) == ("failed", "DeadlineExceeded")


def test_what_is_over_before_its_thread_has_it_does_not_run(make_worker, live_store):
    """A claim starts jobs that then wait for a thread; a timeout or a cancellation may come before the thread is free."""
    worker = make_worker(concurrency=1, batch=5, lifecycle="asynq", heartbeat=10)
    began, go_on = threading.Event(), threading.Event()
    ran: list[str] = []

    @worker.task("t", max_retries=0, retention="kept")
    def body(which):
        ran.append(which)
        began.set()
        go_on.wait(60)

    first = body.enqueue("first")
    late = body.enqueue("late", timeout=20)
    unwanted = body.enqueue("unwanted")
    last = body.enqueue("last")
    with worker:
        assert began.wait(60)
        until(lambda: live_store.jobs.get(last.id).state == "running")
        live_store.jobs.cancel(unwanted.id)
        until(lambda: live_store.jobs.get(late.id).state == "archived")
        beat = live_store.jobs.get(last.id).lease_until
        until(lambda: live_store.jobs.get(last.id).lease_until > beat)
        beat = live_store.jobs.get(last.id).lease_until
        until(lambda: live_store.jobs.get(last.id).lease_until > beat)
        go_on.set()
        until(lambda: worker.counts.completed == 2, worker.counts)
    assert ran == ["first", "last"]
    assert [live_store.jobs.get(job.id).state for job in (first, late, unwanted, last)] == [
        "completed",
        "archived",
        "cancelled",
        "completed",
    ]
    assert worker.counts.failed == 1 and worker.counts.lost == 1


def test_what_is_called_off_before_its_first_step_frees_its_slot(worker, store):
    """The heartbeat may report a cancellation in the same turn of the event loop in which the job gets its slot.

    A task that a program's factory makes begins in the next turn; any other task begins with its slot, on Python 3.12 and newer.
    """
    ran: list[str] = []

    @worker.task("t")
    async def one(which):
        ran.append(which)

    @worker.batch_task("u", group="g")
    async def several(payloads):
        ran.extend(payloads)

    one.enqueue("one")
    several.enqueue("several")
    store.clock.advance(60_000)

    async def main() -> list[str]:
        wake = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.set_task_factory(lambda loop, coroutine, **options: asyncio.Task(coroutine, loop=loop, **options))
        executor = Executor(worker._parts(), loop, wake, lambda: None)
        jobs = store.jobs.claim("default", 2, worker=worker.name, lease=60_000, start=2)
        executor.ready.extend((job,) for job in jobs)
        executor.begin_ready()
        held = executor.held()
        executor.call_off([id for id, _ in held], held, "cancelled")
        for _ in range(3):
            await asyncio.sleep(0)
        executor.collect()
        assert (len(held), executor.slots, executor.held()) == (2, worker.settings.concurrency, [])
        return [outcome.kind for _, outcome in executor.take_unreported()]

    assert asyncio.run(main()) == ["dropped", "dropped"]
    assert ran == []
