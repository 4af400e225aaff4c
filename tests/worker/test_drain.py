"""The drain mode: no threads, no sleeps, and time that the worker moves."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

import resonate_core as rc
from resonate_core.worker import JobContext, Worker, current_job


@pytest.fixture(autouse=True)
def _no_sleep(monkeypatch: pytest.MonkeyPatch):
    """Makes every sleep and every new thread fail."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the drain mode waits for nothing")

    monkeypatch.setattr(time, "sleep", never)
    monkeypatch.setattr(threading.Thread, "start", never)


def test_nothing_to_do(worker: Worker):
    drained = worker.run_until_idle()
    assert (len(drained), drained.idle, drained.now, drained.next_at) == (0, True, 0, None)


def test_it_runs_what_is_claimable_now(worker: Worker, clock: rc.ManualClock):
    task = worker.task("t")(lambda n: n)
    task.enqueue(1)
    task.enqueue(2, process_in=5000)
    drained = worker.run_until_idle()
    assert [run.result for run in drained] == [1]
    assert (drained.idle, drained.next_at) == (True, 5000)
    clock.advance(5000)
    assert [(run.result, run.at) for run in worker.run_until_idle()] == [(2, 5000)]


def test_advance_runs_everything_at_its_instant(worker: Worker, store: rc.Store, clock: rc.ManualClock):
    @worker.task("t", max_retries=3, retry_policy={"kind": "exponential", "base": 1000, "factor": 2})
    def body(job: JobContext):
        if job.attempt < 4:
            raise OSError("no")
        return job.started_at

    job = body.enqueue(process_in=500)
    drained = worker.run_until_idle(advance=True)
    assert [run.at for run in drained] == [500, 1500, 3500, 7500]
    assert store.jobs.get(job.id).result.json() == 7500 == clock.now
    assert drained.idle


def test_advance_ends_where_the_jobs_do(worker: Worker, store: rc.Store, clock: rc.ManualClock):
    """A schedule would make occurrences for ever, and the timer of a promise is not the worker's."""
    store.schedules.create("hourly", "@hourly", promise_timeout=1000)
    store.promises.create("far", timeout=10**12, tags={"resonate:timer": "true"})
    worker.task("t")(lambda: 1).enqueue(process_in=7_200_000)
    assert worker.run_until_idle(advance=True).idle
    assert clock.now == 7_200_000


def test_advance_does_not_wait_for_a_queue_that_is_paused(worker: Worker, store: rc.Store, clock: rc.ManualClock):
    store.schedules.create("hourly", "@hourly", promise_timeout=1000)
    worker.task("t")(lambda: 1).enqueue()
    store.queues.pause("default")
    assert len(worker.run_until_idle(advance=True)) == 0
    assert clock.now == 0


def test_until_moves_the_clock_there(worker: Worker, clock: rc.ManualClock):
    task = worker.task("t")(lambda: 1)
    task.enqueue(process_in=1000)
    task.enqueue(process_in=2000)
    task.enqueue(process_in=2001)
    assert [run.at for run in worker.run_until_idle(until=2000)] == [1000, 2000]
    assert clock.now == 2000
    assert [run.at for run in worker.run_until_idle(until=9000)] == [2001]
    assert clock.now == 9000


def test_limit(worker: Worker, store: rc.Store):
    task = worker.task("t")(lambda: 1)
    jobs = task.enqueue_many([None] * 5)
    drained = worker.run_until_idle(limit=2)
    assert (len(drained), drained.idle) == (2, False)
    assert [store.jobs.get(job.id).state for job in jobs] == ["completed"] * 2 + ["pending"] * 3
    assert len(worker.run_until_idle(limit=0)) == 0
    assert len(worker.run_until_idle()) == 3


@pytest.mark.parametrize("lifecycle", [None, "asynq"])
def test_a_limit_within_a_batch_gives_back_the_rest(store: rc.Store, lifecycle):
    worker = Worker(store, batch=10, lifecycle=lifecycle)
    jobs = worker.task("t", retention="kept")(lambda: 1).enqueue_many([None] * 5)
    assert len(worker.run_until_idle(limit=2)) == 2
    assert [store.jobs.get(job.id).state for job in jobs] == ["completed"] * 2 + ["pending"] * 3
    assert all(store.jobs.get(job.id).retry_count == 0 for job in jobs)
    assert len(worker.run_until_idle()) == 3


def test_priority_then_age(worker: Worker):
    task = worker.task("t")(lambda n: n)
    for n, priority in enumerate([50, 10, 90, 10]):
        task.enqueue(n, priority=priority)
    assert [run.result for run in worker.run_until_idle()] == [1, 3, 0, 2]


def test_a_job_that_is_enqueued_by_a_job_is_run_too(worker: Worker):
    @worker.task("count")
    def count(n):
        if n:
            count.enqueue(n - 1, priority=1)
        return n

    count.enqueue(2)
    count.enqueue(0, priority=60)
    assert [run.result for run in worker.run_until_idle()] == [2, 1, 0, 0]


def test_weights_and_strict_order(store: rc.Store):
    def drained(**options):
        each = store.fork()
        worker = Worker(each, **options)
        for queue in ("a", "b"):
            worker.task(f"t:{queue}", queue=queue)(lambda: 1).enqueue_many([None] * 4)
        return "".join(run.queue for run in worker.run_until_idle())

    assert drained(queues={"a": 3, "b": 1}) == "aabaabbb"
    assert drained(queues=["a", "b"]) == "abababab"
    assert drained(queues=["b", "a"], strict=True) == "bbbbaaaa"
    assert drained(queues="b") == "bbbb"


def test_a_rate_is_waited_for(worker: Worker, store: rc.Store):
    store.queues.set("default", rate={"limit": 1, "per": 1000})
    worker.task("t")(lambda: 1).enqueue_many([None] * 3)
    assert [run.at for run in worker.run_until_idle()] == [0]
    assert [run.at for run in worker.run_until_idle(advance=True)] == [1000, 2000]


def test_async_handlers_run_in_a_loop_of_the_drain(worker: Worker):
    @worker.task("t")
    async def body(n):
        await asyncio.sleep(0)
        return current_job().id, n

    body.enqueue(1, id="a")
    assert worker.run_until_idle().runs[0].result == ("a", 1)


def test_inside_of_a_loop_there_is_another_call(worker: Worker, store: rc.Store):
    @worker.task("t")
    async def body():
        return 1

    job = body.enqueue()

    async def wrong():
        worker.run_until_idle()

    with pytest.raises(RuntimeError, match="run_until_idle_async"):
        asyncio.run(wrong())
    assert store.jobs.get(job.id).state in ("running", "pending")

    worker.task("u")(lambda: 2).enqueue()
    drained = asyncio.run(worker.run_until_idle_async(advance=True))
    assert sorted(run.result for run in drained) == [1, 2]


def test_what_is_due_later_is_not_claimed_by_a_batch(store: rc.Store):
    worker = Worker(store, batch=100)
    worker.task("t")(lambda n: n).enqueue_many(range(250))
    assert [run.result for run in worker.run_until_idle()] == list(range(250))


def test_good_until_guards_the_start(store: rc.Store, clock: rc.ManualClock):
    worker = Worker(store, batch=2)

    @worker.task("slow")
    def slow():
        clock.advance(1000)

    slow.enqueue()
    late = worker.task("t")(lambda: 1).enqueue(good_until=500)
    worker.task("after")(lambda: 1).enqueue()
    drained = worker.run_until_idle()
    assert [run.type for run in drained] == ["slow", "after"]
    expired = store.jobs.get(late.id)
    assert (expired.state, expired.attempts, expired.expired_at) == ("expired", [], 500)
    assert worker.counts.expired == 1


def test_a_lease_that_runs_out_meanwhile(store: rc.Store, clock: rc.ManualClock):
    worker = Worker(store, lease=1000)

    @worker.task("slow", max_retries=1, retry_policy={"kind": "fixed", "intervals": [0]})
    def slow(job: JobContext):
        if job.attempt == 1:
            clock.advance(1000)
        return job.attempt

    job = slow.enqueue()
    assert [run.outcome for run in worker.run_until_idle()] == ["lost", "completed"]
    attempts = store.jobs.get(job.id).attempts
    assert [(each["outcome"], each.get("error", {}).get("code")) for each in attempts] == [
        ("crashed", "WorkerCrashed"),
        ("completed", None),
    ]


def test_what_cannot_be_drained(worker: Worker, clock: rc.ManualClock):
    clock.advance(10)
    with pytest.raises(rc.errors.Invalid, match="until is 5"):
        worker.run_until_idle(until=5)
    with pytest.raises(rc.errors.Invalid, match="ManualClock"):
        Worker(rc.Store()).run_until_idle(advance=True)
    worker.periodic("@hourly", "t")
    with pytest.raises(rc.errors.Invalid, match="never end"):
        worker.run_until_idle(advance=True)


def test_a_live_clock_is_drained_as_it_stands():
    worker = Worker(rc.Store())
    worker.task("t")(lambda: 5).enqueue()
    assert [run.result for run in worker.run_until_idle()] == [5]


def test_two_drains_are_the_same():
    def once():
        clock = rc.ManualClock()
        store = rc.Store(clock=clock)
        worker = Worker(store, name="w")

        @worker.task("t", max_retries=5)
        def body(n, job: JobContext):
            if (n * 7 + job.attempt) % 3:
                raise ValueError(n)
            return n

        for n in range(20):
            body.enqueue({"n": n}, process_in=n * 100)
        drained = worker.run_until_idle(advance=True)
        return [(run.id, run.at, run.outcome) for run in drained], store.digest()

    assert once() == once()
