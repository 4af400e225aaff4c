"""A handler that returned a future failed with "Object of type Future is not JSON serializable", or "attached to a different loop".

The error says what the handler has returned and what to do. So do those of middleware that returns no context manager, and of a
listener that returns a generator. A future of a pool is refused at registration if the annotation has it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import functools
import logging
import threading
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from typing import Any

import pytest

from resonate_core.worker import JobContext, JobEvent, Worker
from ways_to_run import WAYS, run_one, worker_of

START = "the handler must return its result, got "


async def one() -> int:
    return 1


class Later:
    """An awaitable object."""

    def __await__(self) -> Generator[Any, None, int]:
        return one().__await__()


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop of the program, which runs in a thread of its own."""
    made = asyncio.new_event_loop()
    thread = threading.Thread(target=made.run_forever)
    thread.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    thread.join()
    made.close()


async def task_of_this_loop() -> asyncio.Task[int]:
    return asyncio.get_running_loop().create_task(one())


def elsewhere(loop: asyncio.AbstractEventLoop) -> asyncio.Task[int]:
    return asyncio.run_coroutine_threadsafe(task_of_this_loop(), loop).result(30)


async def async_pooled(loop: asyncio.AbstractEventLoop) -> Any:
    return asyncio.run_coroutine_threadsafe(one(), loop)


async def async_coroutine(loop: asyncio.AbstractEventLoop) -> Any:
    return one()


async def async_task(loop: asyncio.AbstractEventLoop) -> Any:
    return asyncio.ensure_future(asyncio.sleep(0))


async def async_elsewhere(loop: asyncio.AbstractEventLoop) -> Any:
    return elsewhere(loop)


async def async_object(loop: asyncio.AbstractEventLoop) -> Any:
    return Later()


POOL = "a Future of concurrent.futures, which nothing waits for: return its result()"
OTHER = (
    "a Task of another event loop, which only that loop can await: make the handler asynchronous and await there, or wait in it for "
    "asyncio.run_coroutine_threadsafe(...).result()"
)
UNAWAITED = ", which nothing awaits: await it in the handler, and return what it returns"

RETURNED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a future of a pool": (lambda loop: asyncio.run_coroutine_threadsafe(one(), loop), POOL),
    "a future without an end": (lambda loop: concurrent.futures.Future(), POOL),
    "a task of another loop": (elsewhere, OTHER),
    "partial": (functools.partial(elsewhere), OTHER),
    "a future of a pool, asynchronous": (async_pooled, POOL),
    "a coroutine, asynchronous": (async_coroutine, "the coroutine one" + UNAWAITED),
    "a task, asynchronous": (async_task, "a Task" + UNAWAITED),
    "a task of another loop, asynchronous": (async_elsewhere, "a Task" + UNAWAITED),
    "an object, asynchronous": (async_object, "a Later" + UNAWAITED),
}


def bound(function: Callable[..., Any], loop: asyncio.AbstractEventLoop) -> Callable[[], Any]:
    if asyncio.iscoroutinefunction(function):

        async def handler() -> Any:
            return await function(loop)

        return handler
    return lambda: function(loop)


def ran(worker: Worker, task: Any, way: str) -> Any:
    """Run one job of a task; return it."""
    return run_one(worker, task.enqueue().id, way)


FOR_GOOD: Any = {"retention": "kept", "on_exhausted": "failed"}


@pytest.mark.parametrize("kind", RETURNED)
@pytest.mark.parametrize("way", WAYS)
def test_the_error_says_what_was_returned(kind: str, way: str, loop: asyncio.AbstractEventLoop) -> None:
    function, got = RETURNED[kind]
    worker = worker_of(way)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        job = ran(worker, worker.task("x", **FOR_GOOD)(bound(function, loop)), way)
    assert (job.state, job.retry_count) == ("failed", 0)
    assert job.error is not None and (job.error["code"], job.error["message"]) == ("InvalidResult", START + got)


@pytest.mark.parametrize("way", ["live", "drain"])
def test_each_result_of_a_batch(way: str, loop: asyncio.AbstractEventLoop) -> None:
    worker = worker_of(way)
    task = worker.batch_task("x", **FOR_GOOD)(lambda payloads: [concurrent.futures.Future() for _ in payloads])
    assert ran(worker, task, way).error["message"] == START + POOL
    worker = worker_of(way)
    task = worker.batch_task("x", **FOR_GOOD)(lambda payloads: [one() for _ in payloads])
    assert ran(worker, task, way).error["message"] == START + "the coroutine one" + UNAWAITED
    worker = worker_of(way)
    task = worker.batch_task("x", **FOR_GOOD)(lambda payloads: elsewhere(loop))
    assert ran(worker, task, way).error["message"] == START + OTHER


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("function", [lambda: one(), functools.partial(lambda: one()), Later], ids=["lambda", "partial", "object"])
def test_what_can_be_awaited_is_awaited(way: str, function: Callable[[], Awaitable[int]]) -> None:
    worker = worker_of(way)
    job = ran(worker, worker.task("x", retention="kept", max_retries=0)(function), way)
    assert job.state == "completed" and job.result.json() == 1


@pytest.mark.parametrize(
    "hint", [concurrent.futures.Future, "concurrent.futures.Future[int]", "concurrent.futures.Future[int] | None"]
)
def test_an_annotation_is_refused_at_registration(hint: Any) -> None:
    def handler() -> Any: ...

    handler.__annotations__["return"] = hint
    worker = worker_of("drain")
    for register in (worker.task("x"), worker.batch_task("y")):
        with pytest.raises(
            TypeError, match=r"must return its result, got .* returns a Future of concurrent.futures: return its result"
        ):
            register(handler)  # type: ignore[operator]
    assert not worker.tasks


def test_a_coroutine_object_is_no_handler() -> None:
    made = one()
    with pytest.raises(TypeError, match="the handler of type 'x' must be a function, got <coroutine object one"):
        worker_of("drain").task("x")(made)  # type: ignore[arg-type]
    made.close()


@contextlib.asynccontextmanager
async def async_middleware(job: JobContext) -> AsyncIterator[None]:
    yield


async def coroutine_middleware(job: JobContext) -> None: ...


@pytest.mark.parametrize("kind", ["asynccontextmanager", "lambda", "none"])
@pytest.mark.parametrize("way", ["live", "drain"])
@pytest.mark.parametrize("is_async", [False, True])
def test_middleware_that_returns_no_context_manager(kind: str, way: str, is_async: bool) -> None:
    worker = worker_of(way)
    around: Any = {
        "asynccontextmanager": async_middleware,
        "lambda": lambda job: coroutine_middleware(job),
        "none": lambda job: None,
    }[kind]
    worker.around(around)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        job = ran(worker, worker.task("x", max_retries=0, **FOR_GOOD)(one if is_async else lambda: 1), way)
    message = job.error["message"]
    assert message.startswith("TypeError: middleware must return a context manager, got ")
    assert ("must be synchronous" in message) == (kind != "none")


def test_listeners(caplog: pytest.LogCaptureFixture, loop: asyncio.AbstractEventLoop) -> None:
    worker = worker_of("drain")
    ran_to_the_end = threading.Event()

    async def told(event: JobEvent) -> None:
        ran_to_the_end.set()

    def generator(event: JobEvent) -> Iterator[None]:
        yield

    worker.on_complete(lambda event: generator(event))
    worker.on_complete(lambda event: asyncio.run_coroutine_threadsafe(task_of_this_loop(), loop).result(30))
    worker.on_complete(lambda event: asyncio.run_coroutine_threadsafe(told(event), loop))
    with caplog.at_level(logging.ERROR, logger="resonate_core.worker"):
        ran(worker, worker.task("x", retention="kept")(lambda: 1), "drain")
    (record,) = caplog.records
    assert record.exc_info is not None and "a listener of events must not yield, got <generator" in str(record.exc_info[1])
    assert ran_to_the_end.wait(30)
