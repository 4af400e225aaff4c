"""Handlers of batches in the drain mode: their arguments, their results, and how each job ends."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import (
    BatchContext,
    BatchTask,
    JobError,
    Retry,
    Skip,
    Snooze,
    Worker,
    current_batch,
    current_job,
)

BOTH = pytest.mark.parametrize("asynchronous", [False, True])
FIXED = {"kind": "fixed", "intervals": [60_000]}


@pytest.fixture
def worker(store: rc.Store) -> Worker:
    store.queues.set("default", groups={"size": 3, "grace": 1000})
    return Worker(store, name="w1")


def handler(worker: Worker, asynchronous: bool, body: Callable[[list[Any], BatchContext], Any], **options: Any) -> BatchTask:
    """Returns a handler of either kind with this body."""
    if asynchronous:

        @worker.batch_task("t", **options)
        async def handle(payloads, batch: BatchContext):
            await asyncio.sleep(0)
            return body(payloads, batch)
    else:

        @worker.batch_task("t", **options)
        def handle(payloads, batch: BatchContext):
            return body(payloads, batch)

    return handle


def states(store: rc.Store, jobs: Any) -> list[str]:
    return [store.jobs.get(job.id).state for job in jobs]


def codes(store: rc.Store, jobs: Any) -> list[str | None]:
    return [(store.jobs.get(job.id).error or {}).get("code") for job in jobs]


@BOTH
def test_one_call_for_what_was_gathered(worker: Worker, store: rc.Store, clock: rc.ManualClock, asynchronous):
    calls: list[tuple[list[int], int]] = []
    task = handler(worker, asynchronous, lambda payloads, batch: calls.append((payloads, clock.now)), group="all")
    jobs = task.enqueue_many(range(5))
    drained = worker.run_until_idle(advance=True)
    assert calls == [([0, 1, 2], 0), ([3, 4], 1000)]
    assert [(run.id, run.at, run.outcome, run.result) for run in drained] == [
        (job.id, at, "completed", None) for job, at in zip(jobs, [0, 0, 0, 1000, 1000])
    ]
    assert [store.jobs.get(job.id).result for job in jobs] == [rc.Value()] * 5


@BOTH
def test_each_group_and_each_type_by_itself(worker: Worker, asynchronous):
    calls: list[tuple[str | None, list[int]]] = []
    task = handler(worker, asynchronous, lambda payloads, batch: calls.append((batch.group, payloads)))
    other = worker.batch_task("u")(lambda payloads: calls.append(("u", payloads)))
    for n in range(4):
        task.enqueue(n, group="even" if n % 2 == 0 else "odd")
    other.enqueue(9, group="even")
    worker.run_until_idle(advance=True)
    assert sorted(calls) == [("even", [0, 2]), ("odd", [1, 3]), ("u", [9])]


@BOTH
def test_a_list_is_the_results_of_the_jobs(worker: Worker, store: rc.Store, asynchronous):
    task = handler(worker, asynchronous, lambda payloads, batch: [n * n for n in payloads], group="g", retention="kept")
    jobs = task.enqueue_many([2, 3, 4])
    assert [run.result for run in worker.run_until_idle()] == [4, 9, 16]
    assert [store.jobs.get(job.id).result.json() for job in jobs] == [4, 9, 16]


@BOTH
def test_an_exception_in_the_list_is_of_its_job_alone(worker: Worker, store: rc.Store, asynchronous):
    store.queues.set("default", groups={"size": 7})
    ends: list[Any] = [
        "done",
        ValueError("v"),
        JobError("Own", "m", "d", retryable=False),
        Retry(after=5000),
        Skip("no"),
        Snooze(7000),
        None,
    ]
    task = handler(worker, asynchronous, lambda payloads, batch: ends, group="g", retry_policy=FIXED, retry_on=ValueError)
    jobs = task.enqueue_many(range(7))
    assert [run.outcome for run in worker.run_until_idle()] == ["completed", *["failed"] * 4, "snoozed", "completed"]
    assert states(store, jobs) == ["completed", "retry", "archived", "retry", "archived", "scheduled", "completed"]
    assert codes(store, jobs) == [None, "UnhandledError", "Own", "Retry", "SkipRetry", None, None]
    found = [store.jobs.get(job.id) for job in jobs]
    assert (found[1].error["message"], found[1].next_retry_at, found[3].next_retry_at) == ("ValueError: v", 60_000, 5000)
    assert (found[2].error, found[5].process_at) == ({"code": "Own", "message": "m", "data": "d"}, 7000)


@BOTH
def test_what_failed_alone_is_tried_again_alone(worker: Worker, store: rc.Store, asynchronous):
    calls: list[list[int]] = []

    def body(payloads, batch):
        calls.append(payloads)
        return [ConnectionError() if n == 1 and batch[0].attempt == 1 else n for n in payloads]

    jobs = handler(worker, asynchronous, body, group="g", retry_policy=FIXED).enqueue_many(range(3))
    assert [run.at for run in worker.run_until_idle(advance=True)] == [0, 0, 0, 60_000]
    assert calls == [[0, 1, 2], [1]]
    assert states(store, jobs) == ["completed"] * 3


@BOTH
@pytest.mark.parametrize(
    "error, state, code, at",
    [
        (ValueError("v"), "retry", "UnhandledError", 60_000),
        (Retry(after=5000), "retry", "Retry", 5000),
        (Retry(after=timedelta(seconds=2), code="Busy"), "retry", "Busy", 2000),
        (Snooze(7000), "scheduled", None, 7000),
        (Skip("no"), "archived", "SkipRetry", None),
        (JobError("Own", retryable=False), "archived", "Own", None),
        (KeyError("not retried"), "archived", "UnhandledError", None),
    ],
    ids=repr,
)
def test_an_exception_ends_the_attempts_of_all(worker: Worker, store: rc.Store, asynchronous, error, state, code, at):
    def body(payloads, batch):
        raise error

    task = handler(worker, asynchronous, body, group="g", retry_policy=FIXED, retry_on=ValueError)
    jobs = task.enqueue_many(range(3))
    assert len(worker.run_until_idle()) == 3
    found = [store.jobs.get(job.id) for job in jobs]
    assert [job.state for job in found] == [state] * 3
    assert codes(store, jobs) == [code] * 3
    assert [job.next_retry_at if state == "retry" else job.process_at for job in found] == [at] * 3
    assert [job.retry_count for job in found] == [1 if state == "retry" else 0] * 3


@pytest.mark.parametrize(
    "policy", [{"kind": "asynq"}, {"kind": "exponential", "base": 10_000, "jitter": 0.9}], ids=lambda p: p["kind"]
)
def test_a_batch_that_fails_comes_again_as_a_whole(worker: Worker, policy):
    calls: list[tuple[int, list[int], str]] = []

    @worker.batch_task("t", group="g", retry_policy=policy)
    def body(payloads, batch: BatchContext):
        calls.append((batch.started_at, payloads, batch.id))
        if len(calls) < 4:
            raise ConnectionError

    body.enqueue_many(range(3))
    worker.run_until_idle(advance=True)
    assert [payloads for _, payloads, _ in calls] == [[0, 1, 2]] * 4
    assert len({id for _, _, id in calls}) == 1 and len({at for at, _, _ in calls}) == 4


@BOTH
@pytest.mark.parametrize(
    "wrong",
    [[1, 2], [1, 2, 3, 4], [], (1, 2, 3), {"a": 1}, "abc", 3, iter([1, 2, 3])],
    ids=["too few", "too many", "none", "tuple", "dict", "text", "number", "iterator"],
)
def test_any_other_result_fails_all_of_them(worker: Worker, store: rc.Store, asynchronous, wrong):
    jobs = handler(worker, asynchronous, lambda payloads, batch: wrong, group="g").enqueue_many(range(3))
    worker.run_until_idle()
    assert codes(store, jobs) == ["InvalidResult"] * 3
    assert states(store, jobs) == ["archived"] * 3
    assert "3 jobs" in store.jobs.get(jobs[0].id).error["message"]


@BOTH
@pytest.mark.parametrize("error", [Retry(after=2**70), Snooze(2**70)], ids=repr)
def test_an_end_that_cannot_be_stored_fails_all_of_them(worker: Worker, store: rc.Store, asynchronous, error):
    def body(payloads, batch):
        raise error

    jobs = handler(worker, asynchronous, body, group="g", max_retries=0).enqueue_many(range(3))
    assert worker.run_until_idle().outcomes == {"failed": 3}
    assert states(store, jobs) == ["archived"] * 3
    assert codes(store, jobs) == ["InvalidError"] * 3


@BOTH
def test_a_result_that_cannot_be_stored_fails_its_job(worker: Worker, store: rc.Store, asynchronous):
    jobs = handler(worker, asynchronous, lambda payloads, batch: [1, object(), 3], group="g").enqueue_many(range(3))
    worker.run_until_idle()
    assert codes(store, jobs) == [None, "InvalidResult", None]
    assert states(store, jobs) == ["completed", "archived", "completed"]


NESTED = base64.b64encode(b"[" * 200_000 + b"]" * 200_000).decode()


@BOTH
@pytest.mark.parametrize("data", ["not base64!", NESTED], ids=["not base64", "nested too deep"])
def test_a_payload_that_cannot_be_read_fails_its_job(worker: Worker, store: rc.Store, asynchronous, data):
    seen: list[tuple[list[Any], list[str]]] = []

    def body(payloads, batch):
        seen.append((payloads, [job.id for job in batch]))
        return payloads

    task = handler(worker, asynchronous, body, group="g")
    payloads = [("a", 1), ("b", rc.Value(data=data)), ("c", 3)]
    jobs = [store.jobs.enqueue(task.type, payload, id=id, group="g") for id, payload in payloads]
    worker.run_until_idle()
    assert seen == [([1, 3], ["a", "c"])]
    assert codes(store, jobs) == [None, "InvalidPayload", None]
    with pytest.raises(rc.errors.Invalid, match="payload of a job of type"):
        task.enqueue(rc.Value(data=data))
    assert store.jobs.get("c").result.json() == 3


def test_no_call_where_nothing_can_be_read(worker: Worker, store: rc.Store):
    called = []
    task = handler(worker, False, lambda payloads, batch: called.append(payloads))
    job = store.jobs.enqueue(task.type, rc.Value(data="not base64!"))
    worker.run_until_idle()
    assert codes(store, [job]) == ["InvalidPayload"] and not called


@BOTH
def test_a_job_without_a_group_is_a_batch_of_one(worker: Worker, asynchronous):
    seen = []
    task = handler(worker, asynchronous, lambda payloads, batch: seen.append((payloads, batch.id, batch.group, len(batch))))
    task.enqueue("a", id="j1")
    task.enqueue("b", id="j2")
    worker.run_until_idle()
    assert seen == [(["a"], "j1", None, 1), (["b"], "j2", None, 1)]


@BOTH
def test_the_context(worker: Worker, store: rc.Store, clock: rc.ManualClock, asynchronous):
    seen: list[BatchContext] = []

    def body(payloads, batch):
        assert current_batch() is batch
        with pytest.raises(LookupError, match="current_batch"):
            current_job()
        assert not batch.cancelled and batch.wanted == list(batch) and batch.reason is None
        batch.check()
        seen.append(batch)
        return payloads

    task = handler(worker, asynchronous, body, group="g", timeout=5000)
    jobs = [task.enqueue(n, tags={"n": str(n)}) for n in range(3)]
    worker.run_until_idle()
    (batch,) = seen
    assert batch.id == store.jobs.get(jobs[0].id).batch and batch.id.startswith("batch:")
    assert (batch.group, batch.type, batch.queue, batch.worker) == ("g", "t", "default", "w1")
    assert (batch.started_at, batch.deadline, batch.stopping, len(batch)) == (0, 5000, False, 3)
    assert [(job.id, job.attempt, job.retry_count, job.job.tags) for job in batch] == [
        (job.id, 1, 0, {"n": str(n)}) for n, job in enumerate(jobs)
    ]
    assert batch.payloads == batch.result == [0, 1, 2] and [job.result for job in batch] == [0, 1, 2]
    assert "jobs=3" in repr(batch)
    with pytest.raises(LookupError, match="no batch"):
        current_batch()


def test_a_batch_is_over_when_the_last_of_its_jobs_is(worker: Worker, store: rc.Store, clock: rc.ManualClock):
    seen = []

    def body(payloads, batch):
        seen.append(batch.deadline)
        clock.advance(1500)
        seen.append(([job.id for job in batch.wanted], batch.cancelled))
        clock.advance(1000)
        seen.append((batch.cancelled, batch.reason))
        batch.check()

    task = handler(worker, False, body, group="g", max_retries=0)
    jobs = [task.enqueue(id=id, timeout=timeout) for id, timeout in [("a", 1000), ("b", 2500), ("c", 2000)]]
    worker.run_until_idle()
    assert seen == [2500, (["b", "c"], False), (True, "timeout")]
    assert codes(store, jobs) == ["TaskTimeout"] * 3


def test_a_job_that_is_cancelled_meanwhile_leaves_the_others(worker: Worker, store: rc.Store):
    def body(payloads, batch):
        store.jobs.cancel("b")
        return payloads

    task = handler(worker, False, body, group="g", retention="kept")
    jobs = [task.enqueue(id, id=id) for id in "abc"]
    assert worker.run_until_idle().outcomes == {"completed": 2, "lost": 1}
    assert states(store, jobs) == ["completed", "cancelled", "completed"]


@BOTH
def test_middleware_is_once_around_the_batch(worker: Worker, asynchronous):
    shown: list[Any] = []

    @worker.around
    def watch(batch):
        shown.append((type(batch), batch.type, batch.payloads, current_batch() is batch))
        yield
        shown.append(batch.result)

    handler(worker, asynchronous, lambda payloads, batch: [-n for n in payloads], group="g").enqueue_many(range(3))
    worker.run_until_idle()
    assert shown == [(BatchContext, "t", [0, 1, 2], True), [0, -1, -2]]


@BOTH
def test_middleware_may_turn_an_error_into_another(worker: Worker, store: rc.Store, asynchronous):
    @worker.around
    def translate(batch):
        try:
            yield
        except KeyError as error:
            raise Skip("unknown") from error

    def body(payloads, batch):
        raise KeyError

    jobs = handler(worker, asynchronous, body, group="g").enqueue_many(range(3))
    worker.run_until_idle()
    assert codes(store, jobs) == ["SkipRetry"] * 3


def test_jobs_of_a_batch_whose_handler_gets_one_each(worker: Worker, store: rc.Store):
    seen: list[int] = []
    jobs = worker.task("t", group="g")(seen.append).enqueue_many(range(3))
    unknown = [store.jobs.enqueue("nobody", group="h", max_retries=0) for _ in range(3)]
    worker.run_until_idle()
    assert seen == [0, 1, 2] and states(store, jobs) == ["completed"] * 3
    assert states(store, unknown) == ["scheduled"] * 3


def test_one_worker_has_handlers_of_both_kinds(worker: Worker, store: rc.Store):
    """A batch goes job by job to a handler of jobs, even if the worker has a handler of batches for another type."""
    batches: list[list[int]] = []
    single: list[int] = []
    together = worker.batch_task("together", group="g")(lambda payloads: batches.append(payloads)).enqueue_many(range(3))
    alone = worker.task("alone", group="h")(single.append).enqueue_many(range(3))
    drained = worker.run_until_idle()
    assert batches == [[0, 1, 2]] and single == [0, 1, 2]
    assert states(store, [*together, *alone]) == ["completed"] * 6 and len(drained) == 6


def test_a_limit_does_not_split_a_batch(worker: Worker, store: rc.Store):
    calls = []
    task = worker.batch_task("t", group="g")(calls.append)
    jobs = task.enqueue_many(range(6))
    drained = worker.run_until_idle(limit=2)
    assert (len(drained), drained.idle, calls) == (3, False, [[0, 1, 2]])
    assert states(store, jobs) == ["completed"] * 3 + ["pending"] * 3


@pytest.mark.parametrize("lifecycle", [None, "asynq"])
def test_a_limit_gives_back_the_batches_that_were_claimed_ahead(store: rc.Store, lifecycle):
    store.queues.set("default", groups={"size": 3})
    worker = Worker(store, batch=9, lifecycle=lifecycle)
    calls = []
    jobs = worker.batch_task("t", group="g", retention="kept")(calls.append).enqueue_many(range(9))
    assert len(worker.run_until_idle(limit=1)) == 3
    assert states(store, jobs) == ["completed"] * 3 + ["pending"] * 6
    assert {store.jobs.get(job.id).retry_count for job in jobs} == {0}
    worker.run_until_idle()
    assert calls == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


def test_some_of_a_batch_are_claimed_in_one_step(worker: Worker, store: rc.Store):
    """Each job has its own lifecycle: the jobs that the claim has started wait until the others are started."""
    calls = []
    task = worker.batch_task("t", group="g", retention="kept")(calls.append)
    jobs = [task.enqueue(n, lifecycle=lifecycle) for n, lifecycle in enumerate(["horsies", "asynq", "horsies"])]
    worker.run_until_idle()
    assert calls == [[0, 1, 2]] and states(store, jobs) == ["completed"] * 3
    assert [len(store.jobs.get(job.id).attempts) for job in jobs] == [1, 1, 1]


def test_periodic_jobs_of_a_group_meet(worker: Worker, clock: rc.ManualClock):
    calls = []
    task = worker.batch_task("t", group="g")(lambda payloads: calls.append((clock.now, payloads)))
    for name in ("a", "b"):
        worker.periodic("@hourly", task, name, name=name)
    worker.run_until_idle(until=2 * 3_600_000 + 5000)
    assert calls == [(3_601_000, ["a", "b"]), (7_201_000, ["a", "b"])]


def test_in_a_loop_of_ones_own(worker: Worker):
    task = handler(worker, True, lambda payloads, batch: payloads, group="g")
    task.enqueue_many(range(3))

    async def main():
        return await worker.run_until_idle_async()

    assert [run.result for run in asyncio.run(main())] == [0, 1, 2]
