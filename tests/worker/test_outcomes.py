"""The outcomes of a body, and how each ends its job."""

from __future__ import annotations

import sys
from datetime import timedelta

import pytest

import resonate_core as rc
from resonate_core.worker import JobError, Retry, Skip, Snooze, Worker

FIXED = {"kind": "fixed", "intervals": [1000, 5000]}


def raising(error):
    def body():
        raise error

    return body


def test_a_result_is_the_promises_value(worker: Worker, store: rc.Store):
    job = worker.task("t")(lambda: {"n": 1}).enqueue()
    assert worker.run_until_idle().outcomes == {"completed": 1}
    done = store.jobs.get(job.id)
    assert (done.state, done.result.json(), done.completed_at) == ("completed", {"n": 1}, 0)
    assert [(each["number"], each["worker"], each["outcome"]) for each in done.attempts] == [(1, "w1", "completed")]
    assert store.promises.get(job.id).value.json() == {"n": 1}


@pytest.mark.parametrize(
    "result, stored", [(None, rc.Value()), (b"raw", rc.Value(data="cmF3")), (rc.Value({"h": "1"}, "eA=="),) * 2]
)
def test_results_of_other_kinds(worker: Worker, store: rc.Store, result, stored):
    job = worker.task("t")(lambda: result).enqueue()
    worker.run_until_idle()
    assert store.jobs.get(job.id).result == stored


def test_an_exception_is_an_unhandled_error_with_its_traceback(worker: Worker, store: rc.Store):
    def deep():
        raise KeyError("amount")

    job = worker.task("t", retry_policy=FIXED)(lambda: deep()).enqueue()
    (run,) = worker.run_until_idle()
    assert (run.outcome, run.error.code, run.error.message) == ("failed", "UnhandledError", "KeyError: 'amount'")
    failed = store.jobs.get(job.id)
    assert (failed.state, failed.retry_count, failed.next_retry_at) == ("retry", 1, 1000)
    assert failed.error["code"] == "UnhandledError" and "in deep" in failed.error["data"]


def test_types_of_exceptions_that_retry(worker: Worker, store: rc.Store):
    errors = {"a": ConnectionResetError("x"), "b": TimeoutError("x"), "c": ValueError("x")}

    @worker.task("t", retry_on=(ConnectionError, TimeoutError))
    def body(which):
        raise errors[which]

    jobs = {which: body.enqueue(which).id for which in errors}
    worker.run_until_idle()
    assert {which: store.jobs.get(id).state for which, id in jobs.items()} == {"a": "retry", "b": "retry", "c": "archived"}


def test_a_predicate_of_exceptions(worker: Worker, store: rc.Store):
    @worker.task("t", retry_on=lambda error: "again" in str(error))
    def body(text):
        raise RuntimeError(text)

    first, second = body.enqueue("again, please").id, body.enqueue("never").id
    worker.run_until_idle()
    assert (store.jobs.get(first).state, store.jobs.get(second).state) == ("retry", "archived")


def test_a_predicate_that_raises_has_not_said_no(worker: Worker, store: rc.Store, caplog: pytest.LogCaptureFixture):
    job = worker.task("t", retry_on=lambda error: error.code == 5)(raising(ValueError())).enqueue()
    worker.run_until_idle()
    assert store.jobs.get(job.id).state == "retry"
    assert "retry_on of 't' raised" in caplog.text


@pytest.mark.parametrize("wrong", [5, "ValueError", (int, ValueError), ("x",)])
def test_retry_on_has_to_be_something(worker: Worker, wrong):
    with pytest.raises(TypeError, match="retry_on"):
        worker.task("t", retry_on=wrong)(print)


def test_codes_of_the_policy_retry(worker: Worker, store: rc.Store):
    @worker.task("t", retry_policy={**FIXED, "codes": ["RateLimited"]})
    def body(code):
        raise JobError(code, "says the bank", '{"account":1}')

    first, second = body.enqueue("RateLimited").id, body.enqueue("CardDeclined").id
    worker.run_until_idle()
    again, over = store.jobs.get(first), store.jobs.get(second)
    assert (again.state, over.state) == ("retry", "archived")
    assert over.error == {"code": "CardDeclined", "message": "says the bank", "data": '{"account":1}'}


def test_an_error_of_its_own_may_say_whether_it_retries(worker: Worker, store: rc.Store):
    @worker.task("t", retry_on=ValueError)
    def body(retryable):
        raise JobError("X", retryable=retryable)

    states = [
        store.jobs.get(job.id).state
        for job in [body.enqueue(each) for each in (True, False, None)]
        if worker.run_until_idle() or True
    ]
    assert states == ["retry", "archived", "archived"]


def test_retry_after(worker: Worker, store: rc.Store):
    job = worker.task("t", retry_policy=FIXED)(raising(Retry(after=timedelta(minutes=2), message="busy"))).enqueue()
    worker.run_until_idle()
    waiting = store.jobs.get(job.id)
    assert (waiting.state, waiting.next_retry_at, waiting.retry_count, waiting.error["code"]) == ("retry", 120_000, 1, "Retry")


def test_retry_without_a_time_is_the_policys(worker: Worker, store: rc.Store):
    job = worker.task("t", retry_policy=FIXED)(raising(Retry())).enqueue()
    worker.run_until_idle()
    assert store.jobs.get(job.id).next_retry_at == 1000


def test_retry_uses_up_retries(worker: Worker, store: rc.Store):
    job = worker.task("t", max_retries=2)(raising(Retry(after=10))).enqueue()
    assert [run.at for run in worker.run_until_idle(advance=True)] == [0, 10, 20]
    assert store.jobs.get(job.id).state == "archived"


def test_skip_is_asynqs_skip_retry(worker: Worker, store: rc.Store):
    task = worker.task("t")(raising(Skip("no such customer")))
    first, second = task.enqueue().id, task.enqueue(on_exhausted="failed").id
    worker.run_until_idle()
    archived, failed = store.jobs.get(first), store.jobs.get(second)
    assert (archived.state, archived.retry_count, failed.state) == ("archived", 0, "failed")
    assert archived.error == {"code": "SkipRetry", "message": "no such customer"}


def test_snooze_uses_no_retry(worker: Worker, store: rc.Store, clock: rc.ManualClock):
    @worker.task("t", max_retries=0)
    def body():
        if clock.now < 3000:
            raise Snooze(1000)

    job = body.enqueue()
    drained = worker.run_until_idle(advance=True)
    assert [(run.at, run.attempt, run.outcome) for run in drained] == [
        (0, 1, "snoozed"),
        (1000, 2, "snoozed"),
        (2000, 3, "snoozed"),
        (3000, 4, "completed"),
    ]
    assert store.jobs.get(job.id).retry_count == 0


@pytest.mark.parametrize(
    "make", [lambda: Retry(after=-1), lambda: Snooze(-1), lambda: Snooze(timedelta(microseconds=5)), lambda: JobError("")]
)
def test_outcomes_out_of_range(make):
    with pytest.raises(ValueError):
        make()


@pytest.mark.parametrize("make", [lambda: Retry(after=1.5), lambda: Snooze("1s"), lambda: Snooze(True)])
def test_durations_are_ints_or_timedeltas(make):
    with pytest.raises(TypeError):
        make()


def test_a_body_that_exits_has_failed(worker: Worker):
    worker.task("t")(lambda: sys.exit(3)).enqueue()
    (run,) = worker.run_until_idle()
    assert (run.outcome, run.error.message) == ("failed", "SystemExit: 3")


def test_a_keyboard_interrupt_is_the_programs(worker: Worker):
    worker.task("t")(raising(KeyboardInterrupt())).enqueue()
    with pytest.raises(KeyboardInterrupt):
        worker.run_until_idle()


@pytest.mark.parametrize("result", [object(), 1j, float("nan"), {"a": lambda: 1}])
def test_a_result_that_cannot_be_stored_fails_for_good(worker: Worker, store: rc.Store, result):
    job = worker.task("t")(lambda: result).enqueue()
    (run,) = worker.run_until_idle()
    assert (run.outcome, run.error.code) == ("failed", "InvalidResult")
    assert store.jobs.get(job.id).state == "archived"


@pytest.mark.parametrize(
    "error", [ValueError("half \ud800 of it"), OSError(2, "no", "caf\udce9"), JobError("X\udce9", "\udce9", "\udce9")]
)
def test_half_characters_in_errors(worker: Worker, store: rc.Store, error):
    job = worker.task("t")(raising(error)).enqueue()
    worker.run_until_idle()
    assert "\\ud" in str(store.jobs.get(job.id).error)


def test_a_type_that_nobody_knows_waits_for_who_does(worker: Worker, store: rc.Store):
    job = store.jobs.enqueue("new:type", max_retries=3, retry_policy=FIXED)
    (run,) = worker.run_until_idle()
    assert (run.outcome, run.error.code) == ("snoozed", "UnknownType")
    assert store.jobs.get(job.id).state == "scheduled"
    newer = Worker(store)
    newer.task("new:type")(lambda: "done")
    newer.run_until_idle(advance=True)
    assert store.jobs.get(job.id).result.json() == "done"


def test_a_body_that_settles_its_own_promise(worker: Worker, store: rc.Store):
    def body(job: rc.worker.JobContext):
        store.promises.resolve(job.id, "by hand")
        return "by the worker"

    body.__annotations__["job"] = rc.worker.JobContext
    job = worker.task("t")(body).enqueue()
    assert worker.run_until_idle().outcomes == {"lost": 1}
    assert store.jobs.get(job.id).result.json() == "by hand"
    assert worker.counts.lost == 1


def test_counts(worker: Worker):
    worker.task("ok")(lambda: 1).enqueue_many([None] * 3)
    worker.task("no")(raising(ValueError())).enqueue()
    worker.task("later")(raising(Snooze(5))).enqueue()
    worker.run_until_idle()
    counts = worker.counts
    assert (counts.completed, counts.failed, counts.snoozed, counts.lost) == (3, 1, 1, 0)
