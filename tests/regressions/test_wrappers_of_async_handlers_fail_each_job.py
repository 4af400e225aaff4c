"""A synchronous wrapper of an asynchronous function, such as a decorator that logs, registered and then failed each of its jobs.

Its coroutine was taken for the result. It is awaited, in the loop of the worker. A generator function registered, and failed each job as
well, or ran nothing as a listener; `retry_on` and `upcast` took asynchronous functions, whose coroutines count as true. These are refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import threading
import types
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.testing import World, simulate
from resonate_core.worker import BatchContext, JobContext, Skip, Worker, current_job
from ways_to_run import WAYS, run_one, worker_of

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


async def real(n: int) -> int:
    await asyncio.sleep(0)
    return n + 1


async def failing(n: int) -> int:
    raise Skip("no")


def by_itself(n: int) -> int:
    return asyncio.run(real(n))


class Callee:
    def __call__(self, n: int) -> Any:
        return real(n)


WRAPPERS = {
    "wraps": wrapped(real),
    "wraps twice": wrapped(wrapped(real)),
    "partial": functools.partial(wrapped(real)),
    "lambda": lambda n: real(n),
    "object": Callee(),
}


@pytest.mark.parametrize("kind", WRAPPERS)
@pytest.mark.parametrize("way", WAYS)
def test_it_is_awaited(kind: str, way: str) -> None:
    worker = worker_of(way)
    task = worker.task("x", max_retries=0, retention="kept")(WRAPPERS[kind])
    job = run_one(worker, task.enqueue(1).id, way)
    assert worker.client.store.result(job.id, timeout=30) == 2  # type: ignore[attr-defined]


def test_one_that_runs_the_coroutine_itself_still_runs_in_a_thread() -> None:
    wrapper = functools.wraps(real)(by_itself)
    store = rc.Store()
    worker = Worker(store)
    task = worker.task("x", max_retries=0, retention="kept")(wrapper)
    with worker:
        assert store.result(task.enqueue(1).id, timeout=30) == 2


def test_it_runs_in_the_loop_of_the_worker_inside_of_its_middleware() -> None:
    store, seen = rc.Store(), []

    async def body() -> str:
        seen.append((tenant.get(), asyncio.get_running_loop() is loop, current_job().type))
        tenant.set("of the handler")
        return "done"

    worker = Worker(store)

    @worker.around
    def middleware(job: JobContext) -> Iterator[None]:
        tenant.set("of the middleware")
        yield
        seen.append((tenant.get(), job.result))

    task = worker.task("x", max_retries=0, retention="kept")(wrapped(body))

    async def main() -> None:
        nonlocal loop
        loop = asyncio.get_running_loop()
        async with worker:
            await store.aio.wait(task.enqueue().id, timeout=30)

    loop: Any = None
    asyncio.run(main())
    assert seen == [("of the middleware", True, "x"), ("of the handler", "done")]


def test_what_it_raises_decides() -> None:
    worker = Worker(rc.Store(clock=rc.ManualClock()))
    worker.task("x")(wrapped(failing)).enqueue(1)
    (run,) = worker.run_until_idle()
    assert (run.outcome, run.error and run.error.code) == ("failed", "SkipRetry")


def test_a_batch() -> None:
    async def both(payloads: list[int], batch: BatchContext) -> list[int]:
        await asyncio.sleep(0)
        return [2 * each for each in payloads]

    store = rc.Store()
    worker = Worker(store)
    task = worker.batch_task("x", max_retries=0, retention="kept")(wrapped(both))
    with worker:
        assert store.result(task.enqueue(4).id, timeout=30) == 8


def test_a_timeout_cancels_it() -> None:
    cancelled = threading.Event()

    async def long() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            cancelled.set()

    store = rc.Store()
    worker = Worker(store, concurrency=1)
    task = worker.task("x", max_retries=0, timeout=2000)(wrapped(long))
    quick = worker.task("quick", retention="kept")(lambda: "ran")
    with worker:
        job = task.enqueue()
        assert cancelled.wait(30)
        assert store.result(quick.enqueue().id, timeout=30) == "ran"  # the slot is free
        failed = store.jobs.get(job.id)
    assert failed.error is not None and failed.error["code"] == "TaskTimeout"


def test_a_stop_puts_it_back() -> None:
    began = threading.Event()

    async def long() -> None:
        began.set()
        await asyncio.sleep(600)

    store = rc.Store()
    worker = Worker(store, grace=50)
    job = worker.task("x")(wrapped(long)).enqueue()
    with worker:
        assert began.wait(30)
    assert store.jobs.get(job.id).state == "pending"


async def swallows(began: threading.Event, go_on: threading.Event) -> None:
    began.set()
    while not go_on.is_set():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(600)


def returns_late(began: threading.Event, go_on: threading.Event) -> Any:
    began.set()
    assert go_on.wait(60)
    return asyncio.sleep(0)


async def end_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


@pytest.mark.parametrize("handler", [swallows, returns_late])
def test_no_thread_waits_for_a_loop_that_does_not_run_any_more(handler: Callable[..., Any]) -> None:
    """It waited for ever, inside of its middleware."""
    began, go_on, left = threading.Event(), threading.Event(), threading.Event()
    store = rc.Store()
    worker = Worker(store, grace=0, poll_interval=20)

    @worker.around
    def middleware(job: JobContext) -> Iterator[None]:
        try:
            yield
        finally:
            left.set()

    job = worker.task("x")(lambda: handler(began, go_on)).enqueue()

    async def main() -> None:
        serving = asyncio.ensure_future(worker.serve())
        await asyncio.to_thread(began.wait, 60)
        worker.stop()
        await serving

    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(main())  # and no longer
        go_on.set()
        assert left.wait(60)
        assert store.jobs.get(job.id).state in ("pending", "scheduled")
    finally:
        go_on.set()
        loop.run_until_complete(end_others())
        loop.close()


def test_a_simulation() -> None:
    async def main(world: World) -> None:
        worker = Worker(world.store)
        task = worker.task("x", max_retries=0, retention="kept")(wrapped(real))
        async with worker:
            results.append(await world.store.aio.result((await task.enqueue_async(1)).id))

    results: list[Any] = []
    simulate(main)
    assert results == [2]


def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


class Yields:
    def __call__(self) -> Iterator[int]:
        yield 1


GENERATORS = [generator, async_generator, functools.partial(generator), Yields(), Yields().__call__]


@pytest.mark.parametrize("function", GENERATORS)
def test_a_generator_function_is_refused(function: Any) -> None:
    worker = Worker(rc.Store(clock=rc.ManualClock()))
    for register in (worker.task("x"), worker.batch_task("x"), worker.cron("@daily", name="x")):
        with pytest.raises(TypeError, match=r"the handler of type 'x' must return its result, got .*, which yields"):
            register(function)
    assert worker.tasks == {} and worker.periodics == []
    for listen in (worker.on_retry, worker.on_failure, worker.on_complete, worker.on_archived):
        with pytest.raises(TypeError, match="a listener of events must not yield, got "):
            listen(function)
    for option in ({"retry_on": function}, {"upcast": function}):
        with pytest.raises(TypeError, match=r"must be .*synchronous function"):
            worker.task("x", **option)(print)


@pytest.mark.parametrize("function, kind", [(generator, "generator"), (async_generator, "async generator")])
def test_a_wrapped_generator_function_fails_with_the_reason(function: Any, kind: str) -> None:
    @functools.wraps(function)
    def wrapper() -> Any:
        return function()

    store = rc.Store(clock=rc.ManualClock())
    worker = Worker(store)
    job = worker.task("x")(wrapper).enqueue()
    worker.run_until_idle()
    error = store.jobs.get(job.id).error
    assert error is not None and error["code"] == "InvalidResult"
    assert error["message"] == f"the handler must return its result, got the {kind} {function.__name__}, whose items nothing reads"


def test_asynchronous_predicates_are_refused() -> None:
    worker = Worker(rc.Store(clock=rc.ManualClock()))
    for option in ({"retry_on": real}, {"upcast": real}):
        with pytest.raises(TypeError, match=r"must be .*synchronous function"):
            worker.task("x", **option)(print)


def test_a_coroutine_by_types_coroutine_is_awaited() -> None:
    @types.coroutine
    def older() -> Iterator[Any]:
        yield from asyncio.sleep(0).__await__()
        return "older"

    store = rc.Store()
    worker = Worker(store)
    task = worker.task("x", max_retries=0, retention="kept")(older)
    with worker:
        assert store.result(task.enqueue().id, timeout=30) == "older"
