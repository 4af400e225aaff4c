"""Workflows as jobs of a worker: long histories, middleware, options, handlers of every kind."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from waiting import until
from workflow_runs import drained, last, names, records

import resonate_core as rc
from resonate_core.errors import Invalid
from resonate_core.worker import JobContext, Worker
from resonate_core.workflow import gather, receive, run, sleep, step


def test_a_history_of_several_pages_is_read_whole(end: tuple[rc.Store, Worker]) -> None:
    """A page ends before 4 MiB."""
    store, worker = end
    ran: list[int] = []

    def large(number: int) -> str:
        ran.append(number)
        return str(number) * 100_000

    async def code() -> int:
        found = [await run(large, number) for number in range(100, 130)]
        await receive("go")
        return sum(map(len, found))

    worker.workflow("w")(code)
    worker.enqueue("w", id="w")
    with worker:
        until(lambda: store.jobs.get("w").state == "waiting")
    other = Worker(store, name="other", poll_interval=20)
    other.workflow("w")(code)
    store.workflows.send("w", "go")
    with other:
        assert store.result("w", timeout=60) == 30 * 300_000
    assert len(ran) == 30


def test_many_records_are_read_in_pages(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> int:
        total = 0
        for _ in range(25):
            total += sum(await gather(*(run(len, "ab") for _ in range(100))))
        await sleep(1)
        return total

    w.using(id="w").delay()
    assert last(worker) == 5000
    assert store.jobs.get("w").steps == 2501


def test_middleware_lasts_from_the_claim_to_the_suspension(store: rc.Store, worker: Worker) -> None:
    log: list[str] = []

    @worker.around
    def announced(job: JobContext) -> Iterator[None]:
        log.append(f"before {job.attempt}")
        yield
        log.append(f"after {job.attempt}")

    @worker.workflow("w")
    async def w() -> str:
        log.append("begun")
        await sleep(1000)
        return "done"

    w.using(id="w").delay()
    assert last(worker) == "done"
    assert log == ["before 1", "begun", "after 1", "before 2", "begun", "after 2"]


def test_its_jobs_have_the_lifecycle_and_the_tag_of_workflows(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w", priority=3, tags={"of": "task"}, retention=timedelta(days=1))
    async def w(n: int) -> int:
        return n

    job = w.using(tags={"of": "call"}, unique_key="k").delay(5)
    assert job.tags["resonate:workflow"] == "true" and job.tags["of"] == "call"
    assert (job.priority, job.retention, job.max_retries) == (3, 86_400_000, 100)
    assert [each.id for each in store.workflows.search()] == [job.id]
    with pytest.raises(Invalid, match="group"):
        worker.workflow("grouped", group="g")(lambda: None)


def test_payloads_are_those_of_tasks(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w", upcast=lambda payload: {"order": payload} if isinstance(payload, str) else payload)
    async def w(job: JobContext, order: str, cents: int = 5) -> list[Any]:
        await sleep(1)
        return [job.id, order, cents]

    worker.enqueue("w", "seven", id="a")
    w.using(id="b").delay("eight", cents=6)
    drained(worker)
    assert [store.result(id) for id in "ab"] == [["a", "seven", 5], ["b", "eight", 6]]


class Till:
    """Steps that are methods."""

    def __init__(self, name: str) -> None:
        self.name = name

    @step
    async def charge(self, order: str) -> str:
        return f"{self.name}: {order}"

    @step(name="till:refund")
    def refund(self, order: str) -> str:
        return f"{self.name}: refund of {order}"

    @staticmethod
    @step
    async def check(order: str) -> bool:
        return bool(order)

    def __call__(self, order: str) -> str:
        return f"{self.name} called with {order}"

    def plain(self, order: str) -> str:
        return f"{self.name} plain {order}"


def test_steps_of_every_kind(store: rc.Store, worker: Worker) -> None:
    till = Till("till")

    async def looked_up(order: str, *, times: int) -> str:
        return order * times

    @worker.workflow("w")
    async def w() -> list[Any]:
        found: list[Any] = [
            await till.charge("7"),
            await run(till.refund, "7"),
            await till.check("7"),
            await run(till, "7"),
            await run(till.plain, "7"),
            await run(functools.partial(looked_up, times=2), "ab"),
            await run(looked_up, "ab", times=3),
            await run(str.upper, "a"),
            await run(lambda: "lambda"),
        ]
        await sleep(1)
        return found

    w.using(id="w").delay()
    assert last(worker) == [
        "till: 7",
        "till: refund of 7",
        True,
        "till called with 7",
        "till plain 7",
        "abab",
        "ababab",
        "A",
        "lambda",
    ]
    assert records(store, "w") == {
        "1": "charge",
        "2": "till:refund",
        "3": "check",
        "4": "Till",
        "5": "plain",
        "6": "looked_up",
        "7": "looked_up",
        "8": "upper",
        "9": "<lambda>",
        "10": "sleep",
    }


def test_a_wrong_call_of_a_step_is_its_failure(store: rc.Store, worker: Worker) -> None:
    @step(retries=0)
    async def takes_one(order: str) -> str:
        return order

    @worker.workflow("w")
    async def w() -> str:
        try:
            await takes_one()  # type: ignore[call-arg]
        except Exception as error:
            return f"{type(error).__name__} {error}"
        return "no error"

    w.using(id="w").delay()
    assert "takes_one() missing 1 required positional argument" in last(worker)


def test_a_wrapper_of_an_asynchronous_step_is_awaited(store: rc.Store, worker: Worker) -> None:
    async def inner(text: str) -> str:
        return text.upper()

    def wrapper(text: str) -> Any:
        return inner(text)

    @worker.workflow("w")
    async def w() -> Any:
        found = await run(wrapper, "a")
        await sleep(1)
        return found

    w.using(id="w").delay()
    assert last(worker) == "A"
    assert names(store, "w") == ["wrapper", "sleep"]


def test_a_workflow_of_an_unknown_type_waits_for_its_code(store: rc.Store, worker: Worker) -> None:
    async def code() -> str:
        await sleep(1000)
        return "done"

    old = Worker(store)
    old.workflow("w")(code)
    old.enqueue("w", id="w")
    old.run_until_idle()
    without = Worker(store)
    drained(without, limit=3)
    assert store.jobs.get("w").state not in ("failed", "archived")
    worker.workflow("w")(code)
    drained(worker)
    assert store.result("w") == "done"


def test_a_crash_costs_no_step_and_a_new_step_gives_new_retries(store: rc.Store, worker: Worker) -> None:
    ran: list[str] = []

    @step
    async def noted(name: str) -> str:
        ran.append(name)
        return name

    @step
    async def dies() -> str:
        ran.append("dies")
        if ran.count("dies") < 4:
            raise KeyboardInterrupt
        return "survived"

    @worker.workflow("w")
    async def w() -> list[str]:
        return [await noted("a"), await dies(), await noted("b")]

    w.using(id="w").delay()
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            drained(worker)
    assert last(worker) == ["a", "survived", "b"]
    assert ran == ["a", "dies", "dies", "dies", "dies", "b"]
    assert store.jobs.get("w").retry_count == 0
