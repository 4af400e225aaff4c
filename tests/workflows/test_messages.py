"""`receive`, `promise` and `result`: what a workflow waits for."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from waiting import until
from workflow_runs import drained, error_of, last, records, states

import resonate_core as rc
from resonate_core.errors import Invalid
from resonate_core.worker import JobContext, Worker
from resonate_core.workflow import (
    StepFailed,
    first,
    gather,
    now,
    promise,
    random,
    receive,
    result,
    run,
    sleep,
    sleep_until,
    step,
    uuid4,
)


def test_messages_come_in_their_order_also_those_before_the_start(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> list[str]:
        return [await receive("a", type=str) for _ in range(4)]

    w.using(id="w").delay()
    for text in "12":
        store.workflows.send("w", "a", text)
    drained(worker)
    for text in "34":
        store.workflows.send("w", "a", text)
    assert last(worker) == ["1", "2", "3", "4"]


def test_topics_do_not_mix_and_a_key_sends_once(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> list[Any]:
        return [await receive("b"), await receive("a"), await receive("a", timeout=10, default="no more")]

    w.using(id="w").delay()
    for _ in range(3):
        store.workflows.send("w", "a", "once", key="k")
    store.workflows.send("w", "b", {"n": 1})
    assert last(worker) == [{"n": 1}, "once", "no more"]


def test_a_deadline_gives_the_default_or_a_timeout_error(store: rc.Store, worker: Worker) -> None:
    seen: list[Any] = []

    @worker.workflow("w")
    async def w() -> None:
        found: list[Any] = [await receive("a", timeout=timedelta(days=3), default=default) for default in ("no", None, [1])]
        try:
            await receive("a", timeout=1000)
        except TimeoutError as error:
            found.append(str(error))
        seen.append(found)
        await sleep(1)

    w.using(id="w").delay()
    assert last(worker) is None
    assert store.now == 3 * 3 * 86_400_000 + 1001
    assert seen[0] == seen[1] == ["no", None, [1], "receive a: nothing came until the deadline of w:4"]


def test_a_message_at_the_deadline_is_for_the_next_one(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> list[Any]:
        return [await receive("a", timeout=1000, default="none"), await receive("a", timeout=1000, default="none")]

    w.using(id="w").delay()
    worker.run_until_idle()
    clock = store.clock
    assert isinstance(clock, rc.ManualClock)
    clock.advance(1000)
    store.workflows.send("w", "a", "late")
    assert last(worker) == ["none", "late"]


def test_zero_timeouts_look_and_go_on(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> list[Any]:
        await sleep(0)
        return [await receive("a", timeout=0, default="none"), await receive("a", timeout=0, default="none")]

    w.using(id="w").delay()
    store.workflows.send("w", "a", "there")
    assert last(worker) == ["there", "none"]
    assert store.now == 0


def test_two_receives_at_once_each_get_one(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> list[str]:
        return list(await gather(receive("a", type=str), receive("a", type=str)))

    w.using(id="w").delay()
    drained(worker)
    store.workflows.send("w", "a", "1")
    drained(worker)
    store.workflows.send("w", "a", "2")
    assert last(worker) == ["1", "2"]


def test_a_received_message_is_final_and_the_losing_receive_takes_none(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> list[Any]:
        winner = await first(receive("a"), receive("b"))
        return [winner, await receive("a", timeout=1, default="none"), await receive("b", timeout=1, default="none")]

    w.using(id="w").delay()
    drained(worker)
    store.workflows.send("w", "b", "b1")
    drained(worker, limit=1, advance=False)
    store.workflows.send("w", "a", "a1")
    assert last(worker) == [(1, "b1"), "a1", "none"]


def test_a_promise_has_its_id_at_once_and_it_is_there_before_a_step_hands_it_out(store: rc.Store, worker: Worker) -> None:
    given: list[str] = []

    def hand_out(id: str) -> None:
        assert store.promises.get(id).state == "pending"
        given.append(id)

    @worker.workflow("w")
    async def w() -> int:
        asked = promise(type=int, timeout=timedelta(days=1), tags={"for": "ada"})
        assert asked.id == "w:1"
        await run(hand_out, asked.id)
        return await asked

    w.using(id="w").delay()
    drained(worker, advance=False)
    assert given == ["w:1"]
    made = store.promises.get("w:1")
    assert made.tags["for"] == "ada" and made.timeout_at == 86_400_000
    store.promises.resolve("w:1", 5)
    assert last(worker) == 5


@pytest.mark.parametrize("tags", [{"a": 1}, {1: "a"}, {"a": "\ud800"}, "a"])
def test_wrong_tags_of_a_promise_are_refused_where_it_is_made(store: rc.Store, worker: Worker, tags: Any) -> None:
    ran: list[int] = []

    @worker.workflow("w")
    async def w() -> str:
        try:
            promise(tags=tags)
        except (TypeError, ValueError, Invalid) as error:
            return type(error).__name__
        await run(ran.append, 1)
        return "no error"

    w.using(id="w").delay()
    assert last(worker) in ("TypeError", "Invalid")
    assert ran == []


def test_a_promise_that_is_never_awaited_is_made_nevertheless(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> str:
        return promise().id

    w.using(id="w").delay()
    assert last(worker) == "w:1"
    assert states(store, "w") == {"1": "pending"}


def test_the_result_of_a_promise_or_a_job_is_copied(store: rc.Store, worker: Worker) -> None:
    store.promises.create("other", timeout=10**9)
    task = worker.task("plain")(lambda: {"n": 1})

    @worker.workflow("w")
    async def w() -> list[Any]:
        found = [await result("other", type=int), await result("plain-1")]
        await sleep(1000)
        return found

    w.using(id="w").delay()
    task.using(id="plain-1").delay()
    drained(worker, advance=False)
    awaits = store.jobs.get("w").awaits
    assert awaits is not None and list(awaits["ids"]) == ["other"]
    store.promises.resolve("other", 5)
    worker.run_until_idle()
    store.jobs.delete("plain-1")  # the copy stays
    assert last(worker) == [5, {"n": 1}]
    assert records(store, "w") == {"1": "result other", "2": "result plain-1", "3": "sleep"}


def test_the_result_of_the_workflow_itself_is_refused(store: rc.Store, worker: Worker) -> None:
    """It would wait for ever, and asking again and again is no wait."""

    @worker.workflow("w")
    async def w(job: JobContext) -> str:
        try:
            await result(job.id)
        except Invalid as error:
            return str(error)
        return "never"

    w.using(id="w").delay()
    assert "the workflow's own" in last(worker)


def test_instants(store: rc.Store, worker: Worker) -> None:
    seen: list[Any] = []

    @worker.workflow("w")
    async def w() -> list[bool]:
        began = await now()
        await sleep_until(began + timedelta(hours=1))
        later = await now()
        await sleep_until(began)  # it has passed
        found = [began, later, await uuid4(), await random(), await now()]
        seen.append(found)
        await sleep(1)
        return [later - began == timedelta(hours=1), found[4] == later]

    w.using(id="w").delay()
    assert last(worker) == [True, True]
    assert seen[0] == seen[1]
    assert seen[0][0] == datetime(1970, 1, 1, tzinfo=timezone.utc)
    assert seen[0][2].version == 4 and 0 <= seen[0][3] < 1


def test_drawn_values_differ_between_calls_and_runs(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> list[str]:
        return [str(await uuid4()) for _ in range(3)]

    w.using(id="a").delay()
    w.using(id="b").delay()
    drained(worker)
    assert len({*store.result("a"), *store.result("b")}) == 6


def test_a_naive_instant_and_a_negative_duration_are_refused(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> list[str]:
        said = []
        for wrong in (
            lambda: sleep_until(datetime(2026, 1, 1)),
            lambda: sleep(-1),
            lambda: sleep(timedelta(seconds=-1)),
            lambda: sleep("1"),  # type: ignore[arg-type]
            lambda: receive("a", timeout=-1),
            lambda: promise(timeout=-1),
            lambda: receive(""),
            lambda: result(5),  # type: ignore[arg-type]
        ):
            try:
                wrong()
            except (Invalid, TypeError) as error:
                said.append(type(error).__name__)
        return said

    w.delay()
    assert len(last(worker)) == 8


def test_a_sleep_of_a_year_wakes_at_its_time(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> str:
        await gather(sleep(timedelta(days=365)), sleep(timedelta(days=30)), sleep(timedelta(days=1)))
        return "a year later"

    w.using(id="w").delay()
    runs = drained(worker)
    assert [run.at // 86_400_000 for run in runs] == [0, 1, 30, 365]
    assert runs[-1].result == "a year later"


def test_live(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end
    store.promises.create("other", timeout=10**15)

    @worker.workflow("w")
    async def w() -> list[Any]:
        await sleep(30)
        answer = await receive("a", type=str)
        nothing = await receive("a", timeout=30, default="nothing")
        asked = promise(type=int)
        await run(len, asked.id)
        copied, own = await gather(result("other", type=str), asked)
        began = await now()
        return [answer, nothing, copied, own, began.year >= 2026, len(str(await uuid4()))]

    w.using(id="w").delay()
    with worker:
        store.workflows.send("w", "a", "hello")
        until(lambda: "4" in records(store, "w") and store.jobs.get("w").state == "waiting")
        store.promises.resolve("other", "copied")
        store.promises.resolve("w:4", 7)
        assert store.result("w", timeout=60) == ["hello", "nothing", "copied", 7, True, 36]


def test_messages_over_asyncio(tmp_path: Any) -> None:
    async def main() -> Any:
        with rc.Store(tmp_path / "a.db", durability="normal") as store:
            worker = Worker(store, poll_interval=20)

            @worker.workflow("w")
            async def w() -> str:
                return await receive("a", type=str)

            await w.using(id="w").delay_async()
            serving = asyncio.ensure_future(worker.serve())
            await store.aio.workflows.send("w", "a", "hello")
            found = await store.aio.result("w", timeout=60)
            worker.stop()
            await serving
            return found

    assert asyncio.run(main()) == "hello"


def test_a_timeout_that_the_store_refuses_is_an_error_of_the_store(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> str:
        try:
            await receive("a", timeout=2**62)
        except Exception as error:
            return type(error).__name__
        return "waited"

    w.using(id="w").delay()
    runs = drained(worker, advance=False)
    assert runs[-1].outcome == "suspended" or runs[-1].result in ("Invalid", "StepFailed"), error_of(store, "w")


def test_a_message_that_was_cancelled_is_a_failure(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("w")
    async def w() -> str:
        try:
            return await receive("a", type=str)
        except StepFailed as failed:
            return failed.code

    w.using(id="w").delay()
    drained(worker)
    store.promises.cancel("w:1")
    assert last(worker) == "Cancelled"


def test_context_variables_are_those_of_the_workflow(store: rc.Store, worker: Worker) -> None:
    from contextvars import ContextVar

    tenant: ContextVar[str] = ContextVar("tenant", default="none")

    @step
    async def tenant_of_step() -> str:
        found = tenant.get()
        tenant.set("of the step")
        return found

    async def branch(name: str) -> list[str]:
        tenant.set(name)
        await sleep(1)
        return [tenant.get(), await tenant_of_step(), tenant.get()]

    @worker.workflow("w")
    async def w() -> Any:
        tenant.set("acme")
        found = await gather(branch("a"), branch("b"))
        return [*found, tenant.get(), await run(tenant.get)]

    w.delay()
    assert last(worker) == [["a", "a", "a"], ["b", "b", "b"], "acme", "acme"]
    assert tenant.get() == "none"
