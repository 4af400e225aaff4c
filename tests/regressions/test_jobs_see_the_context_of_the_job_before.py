"""A context variable that one job set was seen by the next job of the same thread, and so was its decimal context.

It was so in handlers in threads, handlers of batches, listeners, middleware and drains; in a drain the caller saw it, too. Each attempt
and each call of a listener now runs in a copy of the context of the worker's start.
"""

from __future__ import annotations

import asyncio
import contextvars
import decimal
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.worker import BatchContext, JobContext, JobEvent, Worker

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")
Seen = list[tuple[str, str, int]]
OF_START = ("start", 28)


def look(seen: Seen, where: str) -> None:
    seen.append((where, tenant.get(), decimal.getcontext().prec))


def change() -> None:
    tenant.set("the job before")
    decimal.getcontext().prec = 3


def make(store: rc.Store, seen: Seen) -> Worker:
    worker = Worker(store, concurrency=1, poll_interval=20)

    @worker.around
    def middleware(job: JobContext | BatchContext) -> Iterator[None]:
        look(seen, "middleware")
        tenant.set("of the middleware")
        yield
        look(seen, "middleware after")
        change()

    @worker.on_complete
    def listener(event: JobEvent) -> None:
        look(seen, "listener")
        change()

    @worker.on_complete
    async def async_listener(event: JobEvent) -> None:
        look(seen, "async listener")
        change()

    def body() -> None:
        look(seen, "handler")
        tenant.set("of the handler")

    async def async_body() -> None:
        body()
        await asyncio.sleep(0)

    worker.task("sync", retention="kept")(body)
    worker.task("async", retention="kept")(async_body)
    worker.batch_task("batch", retention="kept")(lambda payloads: body())
    return worker


EXPECTED = {
    "middleware": OF_START,
    "handler": ("of the middleware", 28),
    "middleware after": ("of the handler", 28),
    "listener": OF_START,
    "async listener": OF_START,
}


def judge(seen: Seen, attempts: int) -> None:
    assert sorted(set(seen)) == sorted((where, *values) for where, values in EXPECTED.items())
    assert len(seen) == attempts * len(EXPECTED)


@pytest.fixture
def start() -> Iterator[None]:
    """The context of the worker's start, which has a decimal context."""
    token = tenant.set("start")
    decimal.setcontext(decimal.Context(prec=28))
    yield
    tenant.reset(token)


@pytest.mark.usefixtures("start")
@pytest.mark.parametrize("kind", ["sync", "async", "batch"])
@pytest.mark.parametrize("way", ["with", "serve", "run"])
def test_a_running_worker(kind: str, way: str) -> None:
    seen: Seen = []
    store = rc.Store()
    worker = make(store, seen)
    for number in range(3):
        worker.enqueue(kind, id=f"j{number}")

    def run(begin: Any) -> None:
        def end() -> None:
            for number in range(3):
                store.wait(f"j{number}", timeout=30)
            worker.stop()

        ending = threading.Thread(target=end)
        ending.start()
        begin()
        ending.join()

    if way == "with":
        with worker:
            for number in range(3):
                store.wait(f"j{number}", timeout=30)
    elif way == "serve":
        run(lambda: asyncio.run(worker.serve()))
    else:
        run(worker.run)
    judge(seen, 3)


@pytest.mark.usefixtures("start")
@pytest.mark.parametrize("kind", ["sync", "async", "batch"])
@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_drain(kind: str, way: str) -> None:
    seen: Seen = []
    worker = make(rc.Store(clock=rc.ManualClock()), seen)
    for number in range(3):
        worker.enqueue(kind, id=f"j{number}")
    if way == "sync":
        worker.run_until_idle()
    else:

        async def main() -> None:
            await worker.run_until_idle_async()
            assert tenant.get() == "start"

        asyncio.run(main())
    judge(seen, 3)
    assert (tenant.get(), decimal.getcontext().prec) == OF_START


def test_jobs_at_the_same_time_have_a_decimal_context_each() -> None:
    """A context is an object that changes: copies of the variables alone would share it."""
    decimal.getcontext().prec = 28
    store, both = rc.Store(), threading.Barrier(2, timeout=30)
    worker = Worker(store, concurrency=2)

    @worker.task("t", retention="kept")
    def body(prec: int) -> int:
        decimal.getcontext().prec = prec
        both.wait()
        found = decimal.getcontext().prec
        both.wait()
        return found

    jobs = [body.delay(prec) for prec in (5, 7)]
    with worker:
        assert [store.result(job.id, timeout=30) for job in jobs] == [5, 7]
    assert decimal.getcontext().prec == 28


@pytest.mark.usefixtures("start")
@pytest.mark.parametrize("background", [False, True])
def test_handlers_of_messages(background: bool) -> None:
    """A function of `on_message` is called by one thread for all messages, or by the thread that calls `deliver`."""
    seen: list[tuple[str, str]] = []
    store = rc.Store(clock=rc.ManualClock())
    store.promises.create("p", timeout=60_000)
    done = threading.Event()

    def hear(message: rc.Message) -> None:
        seen.append((message.address, tenant.get()))
        tenant.set(message.address)
        if len(seen) == 2:
            done.set()

    for address in ("local://a", "local://b"):
        store.promises.register_listener("p", address)
    store.promises.resolve("p")
    with store.on_message("local", hear, background=background):
        if not background:
            store.deliver()
        assert done.wait(30)
    assert sorted(seen) == [(f"local://{name}", "nobody" if background else "start") for name in "ab"]
    assert tenant.get() == "start"
