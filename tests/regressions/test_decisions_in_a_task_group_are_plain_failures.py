"""`Retry`, `Skip`, `Snooze`, `JobError` and the exceptions of `retry_on` were plain failures when an `asyncio.TaskGroup` raised them.

A group has its own type, so the worker saw none of them. Its members decide now, those of groups in it included.
"""

from __future__ import annotations

import asyncio
import builtins
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import JobCancelled, JobContext, JobError, Retry, Skip, Snooze, Worker
from resonate_core.worker.groups import members
from resonate_core.worker.outcomes import decisive

if sys.version_info < (3, 11):
    pytest.skip("Python 3.10 has no groups of exceptions", allow_module_level=True)


Group: Any = builtins.BaseExceptionGroup  # type: ignore[attr-defined, unused-ignore]


def group(*errors: BaseException) -> BaseException:
    made: BaseException = Group("several", errors)
    return made


async def raise_in_group(make: Callable[[], BaseException], depth: int) -> None:
    async def fail() -> None:
        if depth == 1:
            raise make()
        await raise_in_group(make, depth - 1)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(fail())
        tasks.create_task(asyncio.sleep(600))  # the group cancels it


POLICY: Any = {"kind": "fixed", "intervals": [10]}


def run(make: Callable[[], BaseException], depth: int = 1, **options: Any) -> tuple[str, str | None, str]:
    store = rc.Store(clock=rc.ManualClock())
    worker = Worker(store)

    @worker.task("t", max_retries=3, retry_policy=POLICY, **options)
    async def t() -> None:
        await raise_in_group(make, depth)

    id = t.enqueue().id
    (found,) = worker.run_until_idle()
    return found.outcome, found.error and found.error.code, store.jobs.get(id).state


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Retry(after=5), ("failed", "Retry", "retry")),
        (lambda: Skip("no"), ("failed", "SkipRetry", "archived")),
        (lambda: Snooze(1000), ("snoozed", None, "scheduled")),
        (lambda: JobError("Declined", retryable=False), ("failed", "Declined", "archived")),
        (lambda: JobError("Busy"), ("failed", "Busy", "retry")),
        (lambda: ValueError("no"), ("failed", "UnhandledError", "retry")),
    ],
    ids=["Retry", "Skip", "Snooze", "JobError", "JobError, retried", "ValueError"],
)
def test_a_member_decides(make: Callable[[], BaseException], expected: tuple[str, str | None, str], depth: int) -> None:
    assert run(make, depth) == expected


@pytest.mark.parametrize("retry_on", [OSError, (OSError, KeyError), lambda error: isinstance(error, OSError)])
@pytest.mark.parametrize("depth", [1, 2])
def test_retry_on_sees_the_members(retry_on: Any, depth: int) -> None:
    assert run(ConnectionError, depth, retry_on=retry_on)[2] == "retry"
    assert run(ValueError, depth, retry_on=retry_on)[2] == "archived"
    assert run(lambda: group(ConnectionError(), ValueError()), depth, retry_on=retry_on)[2] == "archived"  # each must be retried
    assert run(lambda: group(ConnectionError(), BrokenPipeError()), depth, retry_on=retry_on)[2] == "retry"


def test_retry_on_may_name_groups() -> None:
    assert run(ValueError, retry_on=Group)[2] == "retry"


def test_what_counts_of_several() -> None:
    skip, retry, soon, late, other = Skip("no"), Retry(), Snooze(5), Snooze(500), ValueError("no")
    assert decisive(group(other, skip, retry)) is skip  # the first decision
    assert decisive(group(soon, retry)) is retry  # an error counts more than a Snooze
    assert decisive(group(soon, group(late))) is late
    mixed = group(soon, other)
    assert decisive(mixed) is mixed and decisive(other) is other


def test_the_traceback_of_a_plain_group_names_its_members() -> None:
    store = rc.Store(clock=rc.ManualClock())
    worker = Worker(store)

    @worker.task("t", max_retries=0)
    async def t() -> None:
        await raise_in_group(lambda: ValueError("the cause"), 2)

    id = t.enqueue().id
    worker.run_until_idle()
    error = store.jobs.get(id).error
    assert error is not None and "the cause" in error["data"]


@pytest.mark.parametrize("batch", [False, True])
def test_a_group_of_cancellations_is_one(batch: bool) -> None:
    clock = rc.ManualClock()
    store = rc.Store(clock=clock)
    worker = Worker(store)

    async def body(job: JobContext | None = None) -> None:
        store.jobs.cancel("j")
        for context in attempts:
            context.cancel("cancelled")

        async def check() -> None:
            raise JobCancelled("cancelled")

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(check())

    attempts: list[Any] = []

    @worker.around
    def note(context: Any) -> Any:
        attempts.extend(context.jobs if batch else [context])
        yield

    (worker.batch_task("t") if batch else worker.task("t"))(lambda: body()).enqueue(id="j")
    (run,) = worker.run_until_idle()
    assert (run.outcome, run.error) == ("lost", None)


def test_each_of_a_batch_may_be_a_group() -> None:
    store = rc.Store(clock=rc.ManualClock())
    worker = Worker(store)
    task = worker.batch_task("t")(lambda payloads: [group(Skip("no"))])
    task.enqueue(1)
    (found,) = worker.run_until_idle()
    assert (found.outcome, found.error and found.error.code) == ("failed", "SkipRetry")


def test_the_package_of_python_3_10(monkeypatch: pytest.MonkeyPatch) -> None:
    class OfPackage(Exception):
        exceptions = (ValueError("a"), KeyError("b"))

    with monkeypatch.context() as without:  # undone before a traceback is made
        without.delattr(builtins, "BaseExceptionGroup")
        found = members(OfPackage())
        without.setitem(sys.modules, "exceptiongroup", SimpleNamespace(BaseExceptionGroup=OfPackage))  # type: ignore[arg-type]
        with_package = members(OfPackage())
    assert [type(each) for each in found] == [OfPackage]
    assert [type(each) for each in with_package] == [ValueError, KeyError]
