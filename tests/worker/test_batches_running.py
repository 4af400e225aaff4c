"""Handlers of batches in a running worker: slots, jobs that were cancelled or lost, and stops."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from test_trouble import shaky
from waiting import until

import resonate_core as rc
from resonate_core.worker import BatchContext

BOTH = pytest.mark.parametrize("asynchronous", [False, True])
LIFECYCLES = pytest.mark.parametrize("lifecycle", [None, "asynq", "horsies"])


@pytest.fixture
def live_store(live_store: rc.Store) -> rc.Store:
    live_store.queues.set("default", groups={"size": 3, "grace": 3_600_000})
    return live_store


def states(store: rc.Store, jobs: Any) -> list[str]:
    return [store.jobs.get(job.id).state for job in jobs]


@BOTH
@LIFECYCLES
@pytest.mark.parametrize("ahead", [0, 2, 50])
def test_a_batch_takes_one_slot(make_worker, live_store, asynchronous, lifecycle, ahead):
    worker = make_worker(concurrency=2, batch=ahead, lifecycle=lifecycle)
    lock = threading.Lock()
    calls: list[tuple[str | None, list[int]]] = []
    now = most = 0

    def enter(payloads, batch):
        nonlocal now, most
        with lock:
            calls.append((batch.group, payloads))
            now += 1
            most = max(most, now)

    def leave():
        nonlocal now
        with lock:
            now -= 1

    if asynchronous:

        @worker.batch_task("t", retention="kept")
        async def body(payloads, batch: BatchContext):
            enter(payloads, batch)
            await asyncio.sleep(0.002)
            leave()
            return payloads
    else:

        @worker.batch_task("t", retention="kept")
        def body(payloads, batch: BatchContext):
            enter(payloads, batch)
            threading.Event().wait(0.002)
            leave()
            return payloads

    jobs = [body.enqueue(n, group=f"g{n % 10}") for n in range(60)]
    with worker:
        until(lambda: worker.counts.completed == 60, worker.counts)
    assert sorted(calls) == sorted((f"g{n % 10}", [n, n + 10, n + 20]) for n in (*range(10), *range(30, 40)))
    assert most == 2
    assert [live_store.jobs.get(job.id).result.json() for job in jobs] == list(range(60))
    assert {len(live_store.jobs.get(job.id).attempts) for job in jobs} == {1}
    assert live_store.check() == []


def test_single_jobs_and_batches_share_the_slots(make_worker, live_store):
    worker = make_worker(concurrency=2)
    met = threading.Barrier(2)
    task = worker.batch_task("t", group="g")(lambda payloads: [met.wait(60)] * 3)
    single = worker.task("u")(lambda: met.wait(60))
    task.enqueue_many(range(3))
    single.enqueue()
    with worker:
        until(lambda: worker.counts.completed == 4, worker.counts)


def test_the_end_of_the_grace_wakes_it(make_worker, live_store):
    """The worker polls once an hour, so only a wake-up can start it."""
    live_store.queues.set("default", groups={"size": 100, "grace": 20})
    worker = make_worker(poll_interval=3_600_000)
    calls: list[list[int]] = []
    task = worker.batch_task("t", group="g")(calls.append)
    with worker:
        for n in range(3):
            task.enqueue(n)
            until(lambda n=n: worker.counts.completed == n + 1, worker.counts)
    assert calls == [[0], [1], [2]]


@BOTH
def test_a_job_that_is_cancelled_leaves_the_others(make_worker, live_store, asynchronous):
    worker = make_worker(heartbeat=10)
    seen: list[Any] = []
    began = threading.Event()

    def look(batch):
        began.set()
        return any(job.cancelled for job in batch)

    def ended(batch, payloads):
        seen.append(([job.id for job in batch.wanted], [job.reason for job in batch], batch.cancelled, batch.reason))
        return payloads

    if asynchronous:

        @worker.batch_task("t", group="g", retention="kept")
        async def body(payloads, batch: BatchContext):
            while not look(batch):
                await asyncio.sleep(0.002)
            return ended(batch, payloads)
    else:

        @worker.batch_task("t", group="g", retention="kept")
        def body(payloads, batch: BatchContext):
            until(lambda: look(batch))
            return ended(batch, payloads)

    jobs = [body.enqueue(id, id=id) for id in "abc"]
    with worker:
        assert began.wait(60)
        live_store.jobs.cancel("b")
        until(lambda: worker.counts.completed == 2 and worker.counts.lost == 1, worker.counts)
    assert seen == [(["a", "c"], [None, "cancelled", None], False, None)]
    assert states(live_store, jobs) == ["completed", "cancelled", "completed"]


@BOTH
def test_a_batch_that_nobody_wants_is_called_off(make_worker, live_store, asynchronous):
    worker = make_worker(heartbeat=10)
    reasons: list[Any] = []
    began = threading.Event()

    if asynchronous:

        @worker.batch_task("t", group="g")
        async def body(payloads, batch: BatchContext):
            began.set()
            try:
                await asyncio.sleep(3600)
            finally:
                reasons.append((batch.cancelled, batch.reason, [job.reason for job in batch]))
    else:

        @worker.batch_task("t", group="g")
        def body(payloads, batch: BatchContext):
            began.set()
            try:
                until(lambda: batch.check())
            finally:
                reasons.append((batch.cancelled, batch.reason, [job.reason for job in batch]))

    jobs = body.enqueue_many(range(3))
    with worker:
        assert began.wait(60)
        live_store.jobs.cancel_all(group="g")
        until(lambda: worker.counts.lost == 3, worker.counts)
    assert reasons == [(True, "cancelled", ["cancelled"] * 3)]
    assert states(live_store, jobs) == ["cancelled"] * 3


@BOTH
def test_a_timeout_ends_the_attempts_of_all(make_worker, live_store, asynchronous):
    worker = make_worker()
    ended: list[Any] = []

    if asynchronous:

        @worker.batch_task("t", group="g", max_retries=0, timeout=1_000)
        async def body(payloads, batch: BatchContext):
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append(batch.reason)
    else:

        @worker.batch_task("t", group="g", max_retries=0, timeout=1_000)
        def body(payloads, batch: BatchContext):
            until(lambda: batch.cancelled)
            ended.append(batch.reason)

    jobs = body.enqueue_many(range(3))
    with worker:
        until(lambda: worker.counts.failed == 3 and ended, worker.counts)
    assert ended == ["timeout"]
    assert states(live_store, jobs) == ["archived"] * 3
    assert {live_store.jobs.get(job.id).error["code"] for job in jobs} == {"TaskTimeout"}


@BOTH
def test_a_timeout_of_one_job_leaves_the_others(make_worker, live_store, asynchronous):
    """The store gets the timeout at once; the slot stays used until the body ends."""
    worker = make_worker(concurrency=1)
    go_on = threading.Event()

    if asynchronous:

        @worker.batch_task("t", group="g", max_retries=0)
        async def body(payloads):
            await asyncio.to_thread(go_on.wait, 60)
            return payloads
    else:

        @worker.batch_task("t", group="g", max_retries=0)
        def body(payloads):
            go_on.wait(60)
            return payloads

    jobs = [body.enqueue(n, timeout=20 if n == 1 else None) for n in range(3)]
    with worker:
        until(lambda: worker.counts.failed == 1, worker.counts)
        assert states(live_store, jobs) == ["running", "archived", "running"]
        go_on.set()
        until(lambda: worker.counts.completed == 2, worker.counts)
    assert states(live_store, jobs) == ["completed", "archived", "completed"]
    assert live_store.jobs.get(jobs[1].id).error["code"] == "TaskTimeout"


def test_what_is_over_before_its_thread_has_it_takes_no_part(make_worker, live_store):
    worker = make_worker(concurrency=1, batch=5, lifecycle="asynq", heartbeat=10)
    began, go_on = threading.Event(), threading.Event()
    calls: list[list[str]] = []

    @worker.batch_task("t", group="g", retention="kept")
    def body(payloads):
        calls.append(payloads)
        began.set()
        go_on.wait(60)

    jobs = [body.enqueue(id, id=id) for id in "abcdef"]
    with worker:
        assert began.wait(60)
        until(lambda: states(live_store, jobs) == ["running"] * 6)
        live_store.jobs.cancel("e")
        for _ in range(2):
            beat = live_store.jobs.get("f").lease_until
            until(lambda beat=beat: live_store.jobs.get("f").lease_until > beat)
        go_on.set()
        until(lambda: worker.counts.completed == 5 and worker.counts.lost == 1, worker.counts)
    assert calls == [["a", "b", "c"], ["d", "f"]]


@BOTH
def test_a_batch_that_fails_is_due_again_at_one_instant(make_worker, live_store, asynchronous):
    worker = make_worker()

    if asynchronous:

        @worker.batch_task("t", group="g", retry_policy={"kind": "exponential", "base": 3_600_000, "jitter": 1.0})
        async def body(payloads):
            raise ConnectionError
    else:

        @worker.batch_task("t", group="g", retry_policy={"kind": "exponential", "base": 3_600_000, "jitter": 1.0})
        def body(payloads):
            raise ConnectionError

    jobs = body.enqueue_many(range(3))
    with worker:
        until(lambda: worker.counts.failed == 3, worker.counts)
    found = [live_store.jobs.get(job.id) for job in jobs]
    assert [job.state for job in found] == ["retry"] * 3
    assert len({job.next_retry_at for job in found}) == 1


@pytest.mark.parametrize("ends", ["retries", "snoozes"])
def test_a_batch_comes_again_until_it_is_done(make_worker, live_store, ends):
    worker = make_worker(poll_interval=3_600_000)
    calls: list[list[int]] = []

    @worker.batch_task("t", group="g", max_retries=9, retry_policy={"kind": "fixed", "intervals": [5]})
    def body(payloads):
        calls.append(payloads)
        if len(calls) < 4:
            raise ConnectionError if ends == "retries" else rc.worker.Snooze(5)

    body.enqueue_many(range(3))
    with worker:
        until(lambda: worker.counts.completed == 3, worker.counts)
    assert calls == [[0, 1, 2]] * 4


@LIFECYCLES
def test_heartbeats_keep_what_takes_longer_than_its_lease(make_worker, live_store, lifecycle):
    worker = make_worker(lease=60_000, heartbeat=10, batch=5, concurrency=1, lifecycle=lifecycle)
    go_on = threading.Event()
    task = worker.batch_task("t", group="g", retention="kept")(lambda payloads: go_on.wait(60) and None)
    jobs = task.enqueue_many(range(6))

    def leases():
        return [live_store.jobs.get(job.id).lease_until for job in jobs]

    with worker:
        before = until(lambda: all(leases()) and leases())
        until(lambda: all(now > first for now, first in zip(leases(), before)))
        go_on.set()
        until(lambda: worker.counts.completed == 6, worker.counts)
    assert worker.counts.lost == 0 and {len(live_store.jobs.get(job.id).attempts) for job in jobs} == {1}


@LIFECYCLES
def test_a_stop_lets_it_end_and_gives_back_what_waits(make_worker, live_store, lifecycle):
    worker = make_worker(concurrency=1, batch=5, lifecycle=lifecycle)
    began = threading.Event()

    @worker.batch_task("t", group="g", retention="kept")
    def body(payloads, batch: BatchContext):
        began.set()
        until(lambda: batch.stopping)
        return payloads

    jobs = body.enqueue_many(range(6))
    with worker:
        assert began.wait(60)
        until(lambda: all(state in ("claimed", "running") for state in states(live_store, jobs)))
    assert states(live_store, jobs) == ["completed"] * 3 + ["pending"] * 3
    waiting = live_store.jobs.claim("default", worker="other", lease=60_000)
    assert [job.id for job in waiting] == [job.id for job in jobs[3:]]
    assert live_store.check() == []


@BOTH
def test_what_does_not_end_is_put_back_together(make_worker, live_store, asynchronous):
    worker = make_worker(grace=20)
    began, go_on = threading.Event(), threading.Event()

    if asynchronous:

        @worker.batch_task("t", group="g", max_retries=0)
        async def body(payloads):
            began.set()
            await asyncio.sleep(3600)
    else:

        @worker.batch_task("t", group="g", max_retries=0)
        def body(payloads):
            began.set()
            go_on.wait(60)

    jobs = body.enqueue_many(range(3))
    with worker:
        assert began.wait(60)
    put_back = [live_store.jobs.get(job.id) for job in jobs]
    go_on.set()
    assert [(job.state, job.retry_count) for job in put_back] == [("pending", 0)] * 3
    assert [job.attempts[0]["outcome"] for job in put_back] == ["snoozed"] * 3
    assert len(live_store.jobs.claim("default", worker="other", lease=60_000)) == 3


@pytest.mark.parametrize("call", ["end_many", "complete_many"])
def test_a_call_that_fails_is_made_again(live_store, call):
    worker, connection = shaky(live_store, rc.errors.StoreBusy("locked"), **{call: 2})

    @worker.batch_task("t", max_retries=0)
    def body(payloads, batch: BatchContext):
        if batch.group == "bad":
            raise ValueError

    good, bad = (body.enqueue_many(range(3), group=group) for group in ("good", "bad"))
    with worker:
        until(lambda: worker.counts.completed == worker.counts.failed == 3, worker.counts)
    assert connection.raised == [call] * 2
    assert states(live_store, good) == ["completed"] * 3 and states(live_store, bad) == ["archived"] * 3


def test_a_job_that_was_lost_comes_back_to_the_same_worker(make_worker, live_store):
    """Its heartbeat was late: the old body continues without a use for its result, and keeps its slot."""
    live_store.queues.set("default", groups={"size": 2})
    worker = make_worker(lease=50)
    worker.settings = replace(worker.settings, heartbeat=3600.0)  # no heartbeat renews it
    go_on = threading.Event()

    @worker.batch_task("t", group="g", max_retries=1000, retry_policy={"kind": "fixed", "intervals": [0]})
    def body(payloads, batch: BatchContext):
        if batch[0].attempt == 1:
            go_on.wait(60)
            return ["old"] * len(payloads)
        go_on.set()
        return ["new"] * len(payloads)

    jobs = body.enqueue_many(range(2))
    with worker:
        until(lambda: states(live_store, jobs) == ["completed"] * 2)
    assert [live_store.jobs.get(job.id).result.json() for job in jobs] == ["new"] * 2
