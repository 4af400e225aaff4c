"""`def` workflows: the same rules, in threads. Each wait drops the function, and a replay continues."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from workflow_runs import drained, error_of, last, records, states

import resonate_core as rc
from resonate_core import workflow
from resonate_core.worker import JobError, Retry, Worker
from resonate_core.workflow import StepFailed, StepInterrupted, blocking, step
from resonate_core.workflow.blocking import (
    first,
    gather,
    now,
    patched,
    promise,
    receive,
    result,
    run,
    sleep,
    sleep_until,
    start,
    uuid4,
)


@step
def charge(order: str) -> str:
    return f"receipt of {order}"


def test_calls_have_numbers_and_records(store: rc.Store, worker: Worker) -> None:
    task = worker.task("pack")(lambda: "packed")

    @worker.workflow("w")
    def w() -> list[Any]:
        found: list[Any] = [charge("7"), run(str.upper, "a"), task.call().result(), now().isoformat(), str(uuid4())]
        sleep(10)
        found += [receive("topic", timeout=0, default=None), result("w:1")]
        handle, own = start(charge, "8"), promise()
        found += [handle.result(), own.id, first(start(str.upper, "b"))]
        sleep_until(now() + timedelta(hours=1))
        return found

    w.using(id="w").delay()
    drained(worker)
    found = store.result("w")
    assert found[:3] == ["receipt of 7", "A", "packed"]
    assert found[5:] == [None, "receipt of 7", "receipt of 8", "w:10", [0, "B"]]
    assert records(store, "w") == {
        "1": "charge",
        "2": "upper",
        "3": "job pack",
        "4": "now",
        "5": "uuid4",
        "6": "sleep",
        "7": "receive topic",
        "8": "result w:1",
        "9": "charge",
        "10": "promise",
        "11": "upper",
        "12": "first",
        "13": "now",
        "14": "sleep",
    }


def test_a_replay_takes_the_records(store: rc.Store, worker: Worker) -> None:
    ran: list[str] = []

    @step
    def noted(text: str) -> str:
        ran.append(text)
        return text

    @worker.workflow("w")
    def w() -> list[str]:
        found = []
        for text in "abc":
            found.append(noted(text))
            sleep(1000)
        return found

    w.using(id="w").delay()
    assert last(worker) == ["a", "b", "c"]
    assert ran == ["a", "b", "c"]


def test_changed_code_archives_the_job(store: rc.Store) -> None:
    def version(code: Any) -> Worker:
        worker = Worker(store)
        worker.workflow("w")(code)
        return worker

    def old() -> str:
        charge("7")
        sleep(1000)
        return "old"

    def another_call() -> str:
        run(str.upper, "a")  # the place
        sleep(1000)
        return "new"

    def returns() -> str:
        return "early"

    def raises() -> str:
        raise KeyError("bug")

    def swallows() -> str:
        try:
            run(str.upper, "a")
        except BaseException:
            return "swallowed"
        return "never"

    worker = version(old)
    worker.enqueue("w", id="w")
    worker.run_until_idle()
    for code, said in (
        (another_call, "w:1 is upper at"),
        (returns, "ended after 0 calls"),
        (raises, "raised KeyError"),
        (swallows, "w:1 is upper"),
    ):
        (ended,) = drained(version(code))
        assert ended.error is not None and ended.error.code == "NonDeterministic" and said in ended.error.message, code
        assert store.jobs.get("w").state == "archived"
        store.jobs.run("w")
    assert last(version(old)) == "old"


def test_failures_are_alike_in_replays(store: rc.Store, worker: Worker) -> None:
    seen: list[Any] = []

    @step(retries=1, backoff=60_000)
    def fails() -> None:
        raise JobError("CardDeclined", "insufficient funds", {"card": "4242"})

    @worker.workflow("w")
    def w() -> None:
        try:
            fails()
        except StepFailed as failed:
            seen.append((failed.code, failed.message, failed.data, failed.__cause__ is None))
        sleep(1)

    w.using(id="w").delay()
    assert last(worker) is None
    assert [each[:3] for each in seen] == [("CardDeclined", "insufficient funds", {"card": "4242"})] * 2
    assert [each[3] for each in seen] == [False, True]
    assert store.now == 60_001


def test_retries_timers_and_at_most_once(store: rc.Store, worker: Worker) -> None:
    at: list[int] = []

    @step(retries=3, backoff=60_000, at_most_once=True)
    def flaky() -> str:
        at.append(store.now)
        if len(at) == 1:
            raise Retry(5000)
        if len(at) < 4:
            raise ValueError("not yet")
        return "at last"

    @step(at_most_once=True)
    def dies() -> None:
        raise KeyboardInterrupt

    @worker.workflow("w")
    def w() -> list[str]:
        found = [flaky()]
        try:
            dies()
        except StepInterrupted as interrupted:
            found.append(interrupted.code)
        return found

    w.using(id="w").delay()
    with pytest.raises(KeyboardInterrupt):
        drained(worker)
    assert last(worker) == ["at last", "StepInterrupted"]
    assert at == [0, 5000, 125_000, 365_000]


def test_misuse_is_refused(store: rc.Store, worker: Worker) -> None:
    import resonate_core.workflow as calls

    said: list[str] = []

    @step
    async def asynchronous() -> None: ...

    async def plain() -> None: ...

    @worker.workflow("sync")
    def sync() -> None:
        for wrong in (
            lambda: asynchronous(),
            lambda: run(asynchronous),
            lambda: run(plain),
            lambda: start(plain),
            lambda: gather(1),  # type: ignore[arg-type]
            lambda: first(),
        ):
            try:
                wrong()
            except Exception as error:
                said.append(f"{type(error).__name__}: {error}")

    @worker.workflow("asynchronous")
    async def w() -> None:
        for wrong in (
            lambda: sleep(1),
            lambda: run(len, "a"),
            lambda: start(len, "a"),
            lambda: receive("a"),
            lambda: now(),
            lambda: gather(),
        ):
            try:
                wrong()
            except TypeError as error:
                said.append(str(error))
        handle = calls.promise()
        try:
            handle.result()
        except RuntimeError as error:
            said.append(str(error))

    sync.delay()
    w.delay()
    drained(worker)
    assert [each.partition(":")[0] for each in said[:6]] == ["TypeError"] * 5 + ["Invalid"], said
    assert "make the workflow an async def" in said[0]
    assert all("await it" in each for each in said[6:12]), said
    assert "await it" in said[12] and len(said) == 13


def test_patches_and_uncaught_failures(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    def w() -> None:
        assert patched("a")
        run(int, "x")

    w.using(id="w").delay()
    (ended,) = drained(worker)
    assert ended.outcome == "failed" and error_of(store, "w")["code"] == "ValueError"
    assert store.jobs.get("w").state == "failed"


def test_gather_and_first_over_handles(store: rc.Store, worker: Worker) -> None:
    task = worker.task("t")(lambda n: n)
    held = worker.task("held", queue="other")(lambda: None)

    def broken() -> None:
        raise ValueError("no")

    @worker.workflow("w")
    def w() -> list[Any]:
        found: list[Any] = [gather(start(charge, "1"), task.call(5), start(len, "abc"))]
        found.append(first(held.call(), promise(), start(str.upper, "quick")))
        try:
            gather(promise(), start(broken), held.call())
        except StepFailed as failed:
            found.append(failed.code)
        found.append([str(each) for each in gather(start(broken), task.call(6), return_exceptions=True)])
        sleep(1)
        return found

    w.using(id="w").delay()
    drained(worker)
    assert store.result("w") == [["receipt of 1", 5, 3], [2, "QUICK"], "ValueError", ["ValueError: no", "6"]]
    assert {job.state for job in store.jobs.search(type="held")} == {"cancelled"}
    assert "pending" not in states(store, "w").values()


def test_outside_of_a_worker_and_in_steps_calls_are_plain() -> None:
    assert charge("7") == "receipt of 7"
    assert run(str.upper, "a") == "A" and start(len, "abc").result() == 3
    assert gather(start(len, "a"), start(len, "bc")) == [1, 2] and first(start(len, "a")) == (0, 1)
    assert patched("a") and 0 <= blocking.random() < 1 and uuid4().version == 4 and now().year >= 2026
    for call in (lambda: sleep(1), lambda: receive("a"), lambda: promise(), lambda: result("a"), lambda: blocking.start_over()):
        with pytest.raises(RuntimeError):
            call()


def test_a_run_that_waits_is_suspended_and_not_lost(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    def w() -> str:
        sleep(timedelta(hours=1))
        return receive("m", type=str, timeout=1000, default="none")

    w.using(id="w").delay()
    assert [each.outcome for each in drained(worker)] == ["suspended", "suspended", "completed"]


def test_it_sleeps_until_an_instant_of_a_clock_that_has_begun(store: rc.Store, worker: Worker, clock: rc.ManualClock) -> None:
    clock.advance_to(10_000)

    @worker.workflow("def")
    def w() -> None:
        sleep_until(15_000)

    @worker.workflow("async")
    async def w_async() -> None:
        await workflow.sleep_until(25_000)

    worker.enqueue("def", id="def")
    assert drained(worker)[-1].at == 15_000
    worker.enqueue("async", id="async")
    assert drained(worker)[-1].at == 25_000
