"""An outcome that could not be sent kept its slot for ever: the job stayed running, and its lease was renewed.

Examples are `raise JobError("X", "m", data={"a": 1})`, `Skip(5)`, and a subclass that does not set a member.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import pickle
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import JobCancelled, JobError, Retry, Skip, Snooze, Worker
from server.live_server import serving
from worker.waiting import until

DATA = [{"a": 1}, [1, "two", None], 5, 0, 2.5, True, False, "text", "", "half a character \ud800", ["\ud800"], {"é": "\0"}, None]


class NoMembers(JobError):
    def __init__(self) -> None:
        pass


class NoDelay(Snooze):
    def __init__(self) -> None:
        pass


def changed(**members: Any) -> JobError:
    error = JobError("X", "m")
    vars(error).update(members)
    return error


def far_snooze() -> Snooze:
    error = Snooze(0)
    error.delay = 2**70
    return error


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


#: What a body raises, and the code that its attempt fails with.
RAISED: dict[str, tuple[Callable[[], BaseException], str]] = {
    "data is an object": (lambda: JobError("X", "m", data={"a": 1}), "X"),
    "message is a number": (lambda: JobError("X", 5), "UnhandledError"),
    "code is a number": (lambda: JobError(5), "UnhandledError"),
    "skip with a number": (lambda: Skip(5), "UnhandledError"),
    "retry with a text": (lambda: Retry("soon"), "UnhandledError"),
    "retry after centuries": (lambda: Retry(2**70), "InvalidError"),
    "snooze with a text": (lambda: Snooze("soon"), "UnhandledError"),
    "snooze for centuries": (far_snooze, "InvalidError"),
    "data that JSON lacks": (lambda: JobError("X", data=datetime(2026, 1, 1)), "UnhandledError"),
    "no members": (NoMembers, "InvalidError"),
    "no delay": (NoDelay, "InvalidError"),
    "changed message": (lambda: changed(message=5), "InvalidError"),
    "changed code": (lambda: changed(code=""), "InvalidError"),
    "changed data": (lambda: changed(data=object()), "InvalidError"),
    "changed retryable": (lambda: changed(retryable="no"), "InvalidError"),
    "unspeakable": (Unspeakable, "UnhandledError"),
    "an exit": (lambda: SystemExit(3), "UnhandledError"),
}


@pytest.fixture(params=["memory", "sqlite", "url"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[rc.Store, Any]]:
    """A store, and the place where a worker opens it."""
    with contextlib.ExitStack() as stack:
        store = stack.enter_context(rc.Store(tmp_path / "jobs.db" if request.param == "sqlite" else None, durability="normal"))
        if request.param == "url":
            yield store, f"http://127.0.0.1:{stack.enter_context(serving(store)).port}"
        else:
            yield store, store


@pytest.mark.parametrize("asynchronous", [False, True], ids=["threads", "asyncio"])
@pytest.mark.parametrize("batch", [False, True], ids=["single", "batch"])
def test_every_end_is_told_and_frees_its_slot(place: tuple[rc.Store, Any], batch: bool, asynchronous: bool):
    store, where = place
    worker = Worker(where, concurrency=2, poll_interval=20, lifecycle="horsies")
    register: Any = worker.batch_task if batch else worker.task

    def body(payload: Any) -> Any:
        if not batch:
            raise RAISED[payload][0]()
        ends: list[Any] = []
        for name in payload:
            try:
                ends.append(RAISED[name][0]())
            except Exception as error:
                ends.append(error)
        return ends

    async def asynchronous_body(payload: Any) -> Any:
        await asyncio.sleep(0)
        return body(payload)

    task = register("t")(asynchronous_body if asynchronous else body)
    jobs = {name: task.enqueue(name).id for name in RAISED}
    with worker:
        until(lambda: worker.counts.failed == len(RAISED), worker.counts)
    for name, (_, code) in RAISED.items():
        job = store.jobs.get(jobs[name])
        assert (name, job.state, job.error and job.error["code"]) == (name, "failed", code)
    worker.close()


@pytest.mark.parametrize("data", DATA, ids=repr)
def test_data_may_be_any_value_of_json(data: Any):
    store = rc.Store(clock=rc.ManualClock())
    worker = Worker(store)

    @worker.task("t", lifecycle="horsies")
    def body(job: rc.worker.JobContext) -> None:
        raise JobError("X", "m", data)

    job = body.enqueue()
    (run,) = worker.run_until_idle()
    assert (run.outcome, run.error and run.error.code) == ("failed", "X")
    error = store.jobs.get(job.id).error
    assert error is not None
    if data is None:
        assert "data" not in error
    elif isinstance(data, str):
        assert error["data"] == data.encode("utf-8", "backslashreplace").decode()
    else:
        assert json.loads(error["data"]) == data


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: JobError(5), "code must be a str, got 5"),
        (lambda: JobError("X", 5), "message must be a str, got 5"),
        (lambda: JobError("X", None), "message must be a str, got None"),
        (lambda: Skip(5), "message must be a str, got 5"),
        (lambda: Skip(code=5), "code must be a str, got 5"),
        (lambda: Retry(message=5), "message must be a str, got 5"),
        (lambda: JobError("X", data=datetime(2026, 1, 1)), "data must be a value that JSON can hold, got datetime"),
        (lambda: JobError("X", data=b"raw"), "data must be a value that JSON can hold, got bytes"),
        (lambda: Skip(data={1, 2}), "data must be a value that JSON can hold, got set"),
        (lambda: Retry(data=object()), "data must be a value that JSON can hold, got object"),
        (lambda: JobError("X", retryable="no"), "retryable must be a bool or None, got 'no'"),
        (lambda: JobCancelled(5), "reason must be a str, got 5"),
    ],
)
def test_a_wrong_type_is_refused_in_the_constructor(make: Callable[[], Any], said: str):
    with pytest.raises(TypeError) as raised:
        make()
    assert str(raised.value).startswith(said)


def test_data_that_is_no_value_of_json_is_refused_in_the_constructor():
    round_about: list[Any] = []
    round_about.append(round_about)
    for data in (float("nan"), float("inf"), round_about):
        with pytest.raises(ValueError, match="data must be a value that JSON can hold"):
            JobError("X", data=data)
    with pytest.raises(ValueError, match="code must not be empty"):
        JobError("")


@pytest.mark.parametrize(
    "error", [JobError("X", "m", [1], retryable=False), Retry(5, "m"), Skip("m"), Snooze(7), JobCancelled("lost")]
)
def test_an_outcome_survives_a_process_pool(error: Exception):
    there = pickle.loads(pickle.dumps(error))
    assert type(there) is type(error)
    assert (str(there), vars(there)) == (str(error), vars(error))


def test_a_predicate_that_ends_the_interpreter_fails_the_attempt():
    store = rc.Store()
    worker = Worker(store, concurrency=1, poll_interval=20)

    @worker.task("t", retry_on=lambda error: sys.exit(3), max_retries=0)
    def body() -> None:
        raise KeyError("k")

    body.enqueue_many([1, 2])
    with worker:
        until(lambda: worker.counts.failed == 2, worker.counts)


def test_a_handler_whose_task_is_cancelled_before_it_begins_frees_its_slot():
    store = rc.Store()
    worker = Worker(store, concurrency=1, lifecycle="horsies")

    @worker.task("t")
    async def body() -> str:
        return "done"

    def factory(loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any) -> asyncio.Task[Any]:
        made: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **more)
        if coroutine.__qualname__.endswith("_run_in_loop") and not cancelled:
            cancelled.append(made)
            made.cancel()
        return made

    cancelled: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_task_factory(factory)
        async with worker:
            while worker.counts.failed + worker.counts.completed < 2:
                await asyncio.sleep(0.01)

    first, second = body.enqueue_many([1, 2])
    asyncio.run(asyncio.wait_for(main(), 60))
    assert sorted(store.jobs.get(job.id).state for job in (first, second)) == ["completed", "failed"]
