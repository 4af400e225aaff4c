"""Rule (c): a failed step or child raises an equal StepFailed in the first run and in replays; the cause only in the first."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from workflow_runs import drained, last, states

import resonate_core as rc
from resonate_core.worker import JobContext, JobError, Retry, Skip, Worker
from resonate_core.workflow import StepFailed, gather, promise, result, run, sleep, step


class Odd(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raises(error: BaseException) -> Callable[[], None]:
    def fails() -> None:
        raise error

    return fails


RAISED = [
    (ValueError("no such card"), ("ValueError", "no such card", None)),
    (KeyError("7"), ("KeyError", "'7'", None)),
    (ZeroDivisionError(), ("ZeroDivisionError", "", None)),
    (JobError("CardDeclined", "insufficient funds", {"card": [1, 2.5, None, True]}), ("CardDeclined", "insufficient funds", {"card": [1, 2.5, None, True]})),
    (JobError("CardDeclined"), ("CardDeclined", "", None)),
    (JobError("A", "b", (1, 2)), ("A", "b", [1, 2])),
    (JobError("A", "b", {1: 2}), ("A", "b", {"1": 2})),
    (JobError("A", "b", "text"), ("A", "b", "text")),
    (JobError("A", "b", '{"json": 1}'), ("A", "b", '{"json": 1}')),
    (JobError("A", "b", False), ("A", "b", False)),
    (JobError("A", "b", 0), ("A", "b", 0)),
    (JobError("A", "b", []), ("A", "b", [])),
    (Skip("gone"), ("SkipRetry", "gone", None)),
    (Retry(5, "again", code="Busy"), ("Busy", "again", None)),
    (StepFailed("Inner", "failed", [1]), ("Inner", "failed", [1])),
    (ValueError("a lone surrogate: \ud800"), ("ValueError", "a lone surrogate: \\ud800", None)),
    (JobError("\ud800", "\ud801", {"a": "\ud802"}), ("\\ud800", "\\ud801", {"a": "?"})),
]  # fmt: skip


@pytest.mark.parametrize(
    "error, expected", RAISED, ids=[repr(error).encode("ascii", "replace").decode()[:50] for error, _ in RAISED]
)
def test_a_replay_raises_an_equal_exception(
    store: rc.Store, worker: Worker, caplog: pytest.LogCaptureFixture, error: Exception, expected: tuple[str, str, Any]
) -> None:
    caplog.set_level(logging.CRITICAL + 1, logger="resonate_core")  # pytest-xdist cannot pass on a log with a lone surrogate
    seen: list[StepFailed] = []

    @worker.workflow("w")
    async def w() -> None:
        try:
            await run(raises(error))
        except StepFailed as failed:
            seen.append(failed)
        await sleep(1)

    w.using(id="w").delay()
    assert last(worker) is None
    first, replayed = seen
    assert type(first) is type(replayed) is StepFailed
    assert (first.code, first.message, first.data) == (replayed.code, replayed.message, replayed.data) == expected
    assert str(first) == str(replayed)
    assert (first.retryable, replayed.retryable) == (None, None)
    assert first.__cause__ is error
    assert replayed.__cause__ is None


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x" * 1_000_000),
        JobError("c" * 5000, "m" * 1_000_000, {"d": "x" * 1_000_000}),
        JobError("A", "b", "x" * 1_000_000),
        JobError("A", "b", "[" + "1," * 100_000 + "1]"),
        Odd(),
    ],
    ids=["long text", "long JobError", "long text as data", "long JSON as data", "no text"],
)
def test_what_is_too_long_or_broken_is_bounded_alike(store: rc.Store, worker: Worker, error: Exception) -> None:
    seen: list[StepFailed] = []

    @worker.workflow("w")
    async def w() -> None:
        try:
            await run(raises(error))
        except StepFailed as failed:
            seen.append(failed)
        await sleep(1)

    w.using(id="w").delay()
    assert last(worker) is None
    first, replayed = seen
    assert (first.code, first.message, first.data) == (replayed.code, replayed.message, replayed.data)
    assert len(first.message) < 5000 and len(first.code) < 500 and len(str(first.data)) < 200_000


def test_a_failure_that_is_not_caught_fails_the_job_with_the_code_of_the_step(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> None:
        await run(raises(JobError("CardDeclined", "insufficient funds", {"card": "4242"})))

    w.using(id="w").delay()
    (ended,) = drained(worker)
    assert ended.outcome == "failed" and ended.error is not None
    job = store.jobs.get("w")
    assert job.state == "failed", "a workflow is not retried: its steps are"
    assert job.error is not None
    assert (job.error["code"], job.error["message"]) == ("CardDeclined", "insufficient funds")
    with pytest.raises(rc.Rejected, match="CardDeclined"):
        store.result("w")


def test_a_failed_child_job_raises_alike(store: rc.Store, worker: Worker) -> None:
    seen: list[StepFailed] = []

    @worker.task("pack", max_retries=0)
    def pack(how: str) -> None:
        if how == "job error":
            raise JobError("NoBox", "all boxes are gone", {"left": 0})
        raise ValueError(how)

    @worker.workflow("w")
    async def w() -> None:
        for how in ("job error", "value error"):
            try:
                await pack.call(how)
            except StepFailed as failed:
                seen.append(failed)
        await sleep(1)

    w.using(id="w").delay()
    assert last(worker) is None
    found = [(each.code, each.message, each.data) for each in seen]
    assert found[0] == ("NoBox", "all boxes are gone", {"left": 0})
    assert found.count(found[0]) == 3
    assert {each[0] for each in found[1:]} == {"NoBox", "ValueError"}, "of any other exception its name"


def test_promises_of_others_raise_alike(store: rc.Store, worker: Worker) -> None:
    seen: list[tuple[str, str, Any]] = []
    for id in ("rejected", "coded", "cancelled", "timed out", "nothing"):
        store.promises.create(id, timeout=10 if id == "timed out" else 10**9)

    @worker.workflow("w")
    async def w() -> None:
        for id in ("rejected", "coded", "cancelled", "timed out", "nothing", "missing"):
            try:
                await result(id)
            except StepFailed as failed:
                seen.append((failed.code, failed.message, failed.data))
        await sleep(1)

    w.using(id="w").delay()
    store.promises.reject("rejected", ["any", "value"])
    store.promises.reject("coded", {"code": "NoStock", "message": "sold out", "data": [1]})
    store.promises.cancel("cancelled")
    store.promises.reject("nothing")
    assert last(worker) is None
    again = seen[-6:]
    assert again == [
        ("Rejected", "['any', 'value']", ["any", "value"]),
        ("NoStock", "sold out", [1]),
        ("Cancelled", "cancelled was cancelled", None),
        ("TimeoutError", "the deadline of timed out has passed", None),
        ("Rejected", "nothing was rejected", None),
        ("NotFound", "promise missing does not exist", None),
    ]
    assert set(map(str, seen)) == set(map(str, again))


def test_a_failed_promise_of_the_workflow(store: rc.Store, worker: Worker) -> None:
    seen: list[Any] = []

    @worker.workflow("w")
    async def w() -> None:
        one, two, three = promise(), promise(), promise(timeout=50)
        for each in (one, two, three):
            try:
                await each
            except (StepFailed, TimeoutError) as failed:
                seen.append((type(failed), str(failed)))
        await sleep(1)

    w.using(id="w").delay()
    worker.run_until_idle()
    store.promises.reject("w:1", {"code": "No", "message": "not today"})
    store.promises.cancel("w:2")
    assert last(worker) is None
    expected = [(StepFailed, "No: not today"), (StepFailed, "Cancelled: w:2 was cancelled")]
    assert seen[-3:-1] == expected
    assert seen[-1][0] is TimeoutError and "the deadline of w:3" in seen[-1][1]
    assert set(seen) == set(seen[-3:])


def test_an_error_of_the_workflow_itself_is_no_step_failed(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> str:
        try:
            await inner()
        except KeyError:
            return "seen"
        return "never"

    async def inner() -> None:
        await run(len, "a")
        raise KeyError("of the workflow")

    w.using(id="w").delay()
    assert last(worker) == "seen"


def test_an_exception_that_is_no_exception_of_a_step(store: rc.Store, worker: Worker) -> None:
    """SystemExit ends the attempt of a plain job; a step that raises it fails the workflow as well, and nothing is recorded."""

    @worker.workflow("w")
    async def w() -> None:
        await run(raises(SystemExit(3)))

    w.using(id="w").delay()
    (ended,) = drained(worker)
    assert ended.outcome == "failed"
    assert states(store, "w") == {}


def test_a_failed_step_keeps_its_place_among_branches(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> list[Any]:
        found = await gather(run(raises(ValueError("no"))), run(len, "abc"), return_exceptions=True)
        await sleep(1)
        return [str(each) for each in found]

    w.using(id="w").delay()
    assert last(worker) == ["ValueError: no", "3"]


def test_the_context_of_a_failed_attempt_is_logged(store: rc.Store, worker: Worker, caplog: pytest.LogCaptureFixture) -> None:
    @step(retries=1, backoff=5000)
    async def flaky(job: str) -> None:
        raise ValueError("broken")

    @worker.workflow("w")
    async def w(job: JobContext) -> None:
        await flaky("x")

    w.using(id="w").delay()
    drained(worker)
    lines = [each for each in caplog.records if each.name == "resonate_core.workflow"]
    said = [each.getMessage() for each in lines]
    assert len(said) == 2
    assert all("workflow w: step flaky (w:1), attempt" in each and "ValueError: broken" in each for each in said)
    assert "again in" in said[0] and "again in" not in said[1]
    assert all(each.exc_info for each in lines)
    report = store.jobs.get("w").report
    assert report is not None and any("attempt 1" in line["text"] for line in report["lines"])
