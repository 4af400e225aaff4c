"""A stop: jobs that end within the grace complete, the others are put back, and none is lost."""

from __future__ import annotations

import asyncio
import threading

import pytest
import uvloop
from waiting import until

import resonate_core as rc
from resonate_core.worker import JobContext


def test_what_runs_may_end(make_worker, live_store):
    worker = make_worker(concurrency=2)
    began, seen = threading.Semaphore(0), []

    @worker.task("t")
    def body(job: JobContext):
        began.release()
        until(lambda: job.stopping)
        seen.append(job.cancelled)
        return "ended"

    jobs = body.enqueue_many([None] * 5)
    with worker:
        for _ in range(2):
            assert began.acquire(timeout=60)
    assert seen == [False, False]
    assert [live_store.jobs.get(job.id).state for job in jobs] == ["completed"] * 2 + ["pending"] * 3


@pytest.mark.parametrize("lifecycle", [None, "asynq"])
def test_what_was_claimed_is_given_back(make_worker, live_store, lifecycle):
    worker = make_worker(concurrency=1, batch=5, lifecycle=lifecycle)
    began = threading.Event()

    @worker.task("t", retention="kept")
    def body(job: JobContext):
        began.set()
        until(lambda: job.stopping)

    jobs = body.enqueue_many([None] * 8)
    with worker:
        assert began.wait(60)
        active = {None: "claimed", "asynq": "running"}[lifecycle]
        until(lambda: sum(live_store.jobs.get(job.id).state == active for job in jobs) >= 4)
    assert [live_store.jobs.get(job.id).state for job in jobs] == ["completed"] + ["pending"] * 7
    assert all(live_store.jobs.get(job.id).retry_count == 0 for job in jobs)
    assert live_store.check() == []


@pytest.mark.parametrize("asynchronous", [False, True])
def test_what_does_not_end_is_put_back(make_worker, live_store, asynchronous):
    worker = make_worker(grace=20)
    began, go_on = threading.Event(), threading.Event()

    if asynchronous:

        @worker.task("t", max_retries=0)
        async def body():
            began.set()
            await asyncio.sleep(3600)
    else:

        @worker.task("t", max_retries=0)
        def body():
            began.set()
            go_on.wait(60)

    job = body.enqueue()
    with worker:
        assert began.wait(60)
    put_back = live_store.jobs.get(job.id)
    go_on.set()
    assert (put_back.state, put_back.retry_count) == ("pending", 0)
    assert [each["outcome"] for each in put_back.attempts] == ["snoozed"]
    assert worker.counts.snoozed == 1


def test_a_body_that_looks_is_called_off_at_the_end_of_the_grace(make_worker, live_store):
    worker = make_worker(grace=20)
    began, reasons = threading.Event(), []

    @worker.task("t")
    def body(job: JobContext):
        began.set()
        try:
            until(lambda: job.check())
        finally:
            reasons.append(job.reason)

    job = body.enqueue()
    with worker:
        assert began.wait(60)
    until(lambda: reasons == ["stopping"], reasons)
    assert live_store.jobs.get(job.id).state == "pending"


def test_a_second_stop_shortens_the_grace(make_worker, live_store):
    worker = make_worker(grace=3_600_000)
    began, go_on = threading.Event(), threading.Event()

    @worker.task("t")
    def body():
        began.set()
        go_on.wait(60)

    job = body.enqueue()
    with worker:
        assert began.wait(60)
        worker.stop()
        worker.stop(grace=0)
    go_on.set()
    assert live_store.jobs.get(job.id).state == "pending"


def test_it_can_be_started_again(make_worker):
    worker = make_worker()
    task = worker.task("t")(lambda: 1)
    for round_ in range(3):
        with worker:
            task.enqueue()
            until(lambda round_=round_: worker.counts.completed == round_ + 1)


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_in_a_loop_of_ones_own(make_worker, live_store, make_loop):
    worker = make_worker()

    @worker.task("t")
    async def body(n):
        return asyncio.current_task() is not None and n

    async def main():
        async with worker:
            job = await body.enqueue_async(5)
            jobs = await body.enqueue_many_async([6, 7])
            while worker.counts.completed < 3:
                await asyncio.sleep(0.005)
        return [live_store.jobs.get(each.id).result.json() for each in (job, *jobs)]

    loop = make_loop()
    try:
        assert loop.run_until_complete(main()) == [5, 6, 7]
    finally:
        loop.close()


def test_to_cancel_it_is_a_stop(make_worker, live_store):
    worker = make_worker()
    began, done = threading.Event(), []

    @worker.task("t")
    def body(job: JobContext):
        began.set()
        until(lambda: job.stopping)
        done.append(1)

    job = body.enqueue()

    async def main():
        serving = asyncio.ensure_future(worker.serve())
        while not began.is_set():
            await asyncio.sleep(0.005)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    asyncio.run(main())
    assert done == [1] and live_store.jobs.get(job.id).state == "completed"


def test_it_runs_once_at_a_time(make_worker):
    worker = make_worker()

    async def main():
        async with worker:
            with pytest.raises(rc.errors.Invalid, match="runs already"):
                await worker.serve()

    asyncio.run(main())


def test_a_worker_without_a_store_says_so():
    worker = rc.worker.Worker()
    worker.task("t")(lambda: 1)
    with pytest.raises(rc.errors.Invalid, match="has no store"):
        worker.run()
    with pytest.raises(rc.errors.Invalid, match="has no store"), worker:
        pass


def test_it_opens_and_closes_the_store_of_a_path(tmp_path):
    worker = rc.worker.Worker(tmp_path / "jobs.db")
    worker.task("last")(worker.stop)
    worker.enqueue("last")
    worker.run(signals=False)
    assert worker.counts.completed == 1
    with rc.Store(tmp_path / "jobs.db") as store:
        assert len(store.jobs.search(state="completed")) == 1


@pytest.mark.parametrize("wrong", [5, object(), ["a.db"]])
def test_what_has_no_jobs(wrong):
    with pytest.raises(TypeError, match="store_or_url must be a Store"):
        rc.worker.Worker(wrong)


@pytest.mark.parametrize(
    "options",
    [
        {"concurrency": 0},
        {"batch": -1},
        {"queues": []},
        {"lease": 0},
        {"run_lease": 0},
        {"grace": -1},
        {"poll_interval": 0},
        {"heartbeat": 0},
    ],
    ids=str,
)
def test_options_out_of_range(options):
    with pytest.raises(rc.errors.Invalid):
        rc.worker.Worker(rc.Store(), **options)


def test_a_token_is_for_a_url(tmp_path):
    with pytest.raises(TypeError, match="token"):
        rc.worker.Worker(token="t")
    with pytest.raises(TypeError, match="token"):
        rc.worker.Worker(tmp_path / "a.db", token="t").enqueue("t")


def test_its_store_is_not_taken_from_it_while_it_runs(make_worker, live_store):
    worker = make_worker()
    with worker:
        for change in (worker.close, lambda: worker.bind(live_store)):
            with pytest.raises(rc.errors.Invalid, match="stop it first"):
                change()
