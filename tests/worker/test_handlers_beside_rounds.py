"""Asynchronous handlers begin in parts, each at once, and run while the store works on the requests of their worker."""

from __future__ import annotations

import asyncio
import contextvars
import decimal
import threading
from typing import Any

import pytest
from test_claim_and_start import Watched

import resonate_core as rc
from resonate_core.worker import Worker
from resonate_core.worker.environment import Environment
from resonate_core.worker.job_source import Claim

JOBS = 250


def test_jobs_that_wait_for_a_slot_are_claimed_while_those_that_have_one_run(live_store: rc.Store):
    begun = threading.Event()

    class Waiting(Watched):
        def exchange(self, results: Any, held: Any, claim: Claim) -> Any:
            if len(self.claims) == 1:
                assert begun.wait(60)
            return super().exchange(results, held, claim)

    client = Waiting(live_store)
    environment = Environment(connect=lambda target, token, answer_bytes: client)
    worker = Worker(live_store, environment=environment, concurrency=100, batch=150, poll_interval=50)
    left = JOBS

    @worker.task("t")
    async def body() -> None:
        nonlocal left
        begun.set()
        left -= 1
        if left == 0:
            worker.stop()

    body.enqueue_many([None] * JOBS)
    worker.run(signals=False)
    assert worker.counts.completed == JOBS
    # In memory a request takes so little that it runs in the loop.
    assert client.claims[:2] == ([(100, 100), (150, 0)] if live_store.shared else [(250, 100), client.claims[1]])


def test_other_tasks_of_the_loop_run_before_all_handlers_have_begun(live_store: rc.Store):
    worker = Worker(live_store, concurrency=JOBS, poll_interval=50)
    begun = 0
    seen: list[int] = []

    @worker.task("t")
    async def body() -> None:
        nonlocal begun
        if begun == 0:
            asyncio.get_running_loop().call_soon(lambda: seen.append(begun))
        begun += 1
        if begun == JOBS:
            worker.stop()

    body.enqueue_many([None] * JOBS)
    worker.run(signals=False)
    assert (worker.counts.completed, seen) == (JOBS, [100])


@pytest.mark.parametrize("own_tasks", [False, True])
def test_each_handler_is_a_task_in_a_context_of_its_own(live_store: rc.Store, own_tasks):
    """Also in a loop of a program that makes tasks in its own way."""
    made: list[asyncio.Task[Any]] = []
    tenant = contextvars.ContextVar("tenant", default="none")
    worker = Worker(live_store, concurrency=3, poll_interval=50)
    seen: list[tuple[asyncio.Task[Any] | None, str]] = []

    @worker.task("t")
    async def body(waits: bool) -> None:
        task = asyncio.current_task()
        seen.append((task, tenant.get()))
        tenant.set("acme")
        if waits:
            await asyncio.sleep(0)
        assert asyncio.current_task() is task and tenant.get() == "acme"
        if len(seen) == 4:
            worker.stop()

    def make(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(asyncio.Task(coroutine, loop=loop, **options))
        return made[-1]

    async def main() -> None:
        if own_tasks:
            asyncio.get_running_loop().set_task_factory(make)
        await worker.serve()

    body.enqueue_many([False, True, False, True])
    asyncio.run(main())
    assert worker.counts.completed == 4
    assert [name for _, name in seen] == ["none"] * 4
    tasks = {task for task, _ in seen}
    assert len(tasks) == 4 and None not in tasks
    assert tasks.isdisjoint(made) is not own_tasks


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("used", [False, True])
def test_each_handler_has_decimals_of_its_own(live_store: rc.Store, asynchronous, used):
    """Whether or not the program has used decimals where the worker was made."""
    seen: list[int] = []

    def handle() -> None:
        seen.append(decimal.getcontext().prec)
        decimal.getcontext().prec = 3
        if len(seen) == 3:
            worker.stop()

    async def handle_async() -> None:
        handle()

    worker: Worker

    def run() -> None:
        nonlocal worker
        if used:
            decimal.getcontext().prec = 7
        worker = Worker(live_store, concurrency=1, poll_interval=50)
        worker.task("t")(handle_async if asynchronous else handle)
        for _ in range(3):
            worker.enqueue("t")
        worker.run(signals=False)
        assert not used or decimal.getcontext().prec == 7

    contextvars.Context().run(run)
    assert seen == [7 if used else decimal.DefaultContext.prec] * 3
