"""Child jobs: `task.call`, `task.start`, their options, refusals and cancels; `enqueue` and `delay` in the code of a workflow."""

from __future__ import annotations

import asyncio
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from waiting import until
from workflow_runs import drained, last, records, states

import resonate_core as rc
from resonate_core.errors import Invalid
from resonate_core.worker import JobContext, JobError, Worker
from resonate_core.workflow import StepFailed, blocking, first, gather, promise, receive, run, sleep, step


def test_a_child_job_has_the_id_of_its_call_and_the_options_of_its_task(store: rc.Store, worker: Worker) -> None:
    @worker.task("pack", queue="packing", max_retries=5, tags={"of": "task"})
    def pack(order: str) -> str:
        return f"parcel of {order}"

    @worker.workflow("w")
    async def w() -> None:
        await pack.using(priority=3, tags={"of": "call"}, process_in=timedelta(hours=1)).call("7")

    w.using(id="w").delay()
    drained(worker, advance=False)
    job = store.jobs.get("w:1")
    assert (job.type, job.queue, job.max_retries, job.priority, job.state) == ("pack", "packing", 5, 3, "scheduled")
    assert job.tags["of"] == "call" and job.tags["resonate:name"] == "job pack" and job.tags["resonate:parent"] == "w"
    assert job.on_exhausted == "failed" and job.payload.json() == {"order": "7"}


def test_a_call_begins_when_it_is_awaited_and_a_start_at_once(store: rc.Store, worker: Worker) -> None:
    task = worker.task("t", queue="other")(lambda: "done")

    @worker.workflow("w")
    async def w() -> None:
        called, started = task.call(), task.start()
        assert (called.id, started.id) == ("w:1", "w:2")
        await receive("never")

    w.using(id="w").delay()
    drained(worker)
    assert [job.id for job in store.jobs.search(type="t")] == ["w:2"]


def test_many_started_children_are_awaited_in_any_order(store: rc.Store, worker: Worker) -> None:
    square = worker.task("square")(lambda n: n * n)

    @worker.workflow("w")
    async def w() -> list[int]:
        handles = [square.start(n) for n in range(50)]
        backwards = [await each for each in reversed(handles)]
        return backwards[::-1]

    w.using(id="w").delay()
    drained(worker)
    assert store.result("w") == [n * n for n in range(50)]


def test_a_refusal_by_its_unique_key_is_a_recorded_failure(store: rc.Store, worker: Worker) -> None:
    seen: list[Any] = []
    task = worker.task("t", queue="other")(lambda: None)
    task.using(unique_key="k").delay()

    @worker.workflow("w")
    async def w() -> None:
        for make in (task.using(unique_key="k").call, task.using(unique_key="k").start):
            try:
                await make()
            except StepFailed as failed:
                seen.append((failed.code, failed.message))
        await sleep(1)

    w.using(id="w").delay()
    assert last(worker) is None
    assert len(seen) == 4 and seen[:2] == seen[2:]
    assert {code for code, _ in seen} == {"Conflict"} and all("unique" in message for _, message in seen)
    assert states(store, "w") == {"1": "rejected", "2": "rejected", "3": "resolved"}
    assert records(store, "w")["1"] == "job t"


def test_a_refused_start_that_nobody_awaits(store: rc.Store, worker: Worker) -> None:
    task = worker.task("t", queue="other")(lambda: None)
    task.using(unique_key="k").delay()

    @worker.workflow("w")
    async def w() -> str:
        task.using(unique_key="k").start()
        await sleep(1)
        return "done"

    w.using(id="w").delay()
    assert last(worker) == "done"
    assert states(store, "w")["1"] == "rejected"


def test_a_payload_that_does_not_fit_is_refused_by_the_call(store: rc.Store, worker: Worker) -> None:
    @worker.task("t")
    def task(n: int) -> int:
        return n

    @worker.workflow("w")
    async def w() -> list[str]:
        said = []
        for wrong in (lambda: task.call("x"), lambda: task.start(), lambda: task.call(object())):  # type: ignore[arg-type, call-arg]
            try:
                wrong()
            except (Invalid, TypeError) as error:
                said.append(type(error).__name__)
        return [*said, str(await task.call(5))]

    w.using(id="w").delay()
    drained(worker)
    assert store.result("w")[-1] == "5" and len(store.result("w")) == 4
    assert records(store, "w") == {"1": "job t"}


def test_an_id_is_that_of_the_call(store: rc.Store, worker: Worker) -> None:
    task = worker.task("t")(lambda: None)

    @worker.workflow("w")
    async def w() -> str:
        try:
            task.using(id="own").call()
        except Invalid as error:
            return str(error)
        return "no error"

    w.using(id="w").delay()
    assert "id of a child job is that of its call" in last(worker)


def test_cancel_ends_the_child_and_its_handle_raises(store: rc.Store, worker: Worker) -> None:
    seen: list[str] = []
    task = worker.task("t", queue="other")(lambda: None)

    @worker.workflow("w")
    async def w() -> str:
        handle = task.start()
        await sleep(1000)
        handle.cancel()
        handle.cancel()
        try:
            await handle
        except StepFailed as failed:
            seen.append(str(failed))
        await sleep(1)
        return "done"

    w.using(id="w").delay()
    assert last(worker) == "done"
    assert store.jobs.get("w:1").state == "cancelled"
    assert seen[-1].startswith("Cancelled") and len(set(seen)) == 1


def test_cancel_of_a_child_that_has_ended_changes_nothing(store: rc.Store, worker: Worker) -> None:
    task = worker.task("t")(lambda: "done")

    @worker.workflow("w")
    async def w() -> str:
        handle = task.start()
        await sleep(1000)
        handle.cancel()
        await sleep(1)
        return await handle

    w.using(id="w").delay()
    drained(worker)
    assert store.result("w") == "done"


def test_a_cancelled_call_that_had_not_begun(store: rc.Store, worker: Worker) -> None:
    task = worker.task("t", queue="other")(lambda: None)

    @worker.workflow("w")
    async def w() -> str:
        call = task.call()
        call.cancel()
        try:
            await call
        except StepFailed as failed:
            return failed.code
        return "no failure"

    w.using(id="w").delay()
    assert last(worker) == "Cancelled"
    assert len(store.jobs.search(type="t")) == 0


def test_a_child_is_a_workflow_too(store: rc.Store, worker: Worker) -> None:
    @worker.workflow("inner")
    async def inner(n: int) -> int:
        await sleep(1000)
        return n * 2

    @worker.workflow("outer")
    async def outer() -> list[int]:
        return list(await gather(*(inner.call(n) for n in range(5))))

    outer.using(id="o").delay()
    drained(worker)
    assert store.result("o") == [0, 2, 4, 6, 8]
    assert store.jobs.get("o:1").tags["resonate:workflow"] == "true"


def test_a_child_that_fails_is_retried_by_its_own_policy_first(store: rc.Store, worker: Worker) -> None:
    attempts: list[int] = []

    @worker.task("t", max_retries=2)
    def task(job: JobContext) -> str:
        attempts.append(job.attempt)
        if job.attempt < 3:
            raise JobError("NotYet")
        return "at last"

    @worker.workflow("w")
    async def w() -> str:
        return await task.call()

    w.using(id="w").delay()
    drained(worker)
    assert store.result("w") == "at last"
    assert attempts == [1, 2, 3]


def test_an_archived_child_is_waited_for_until_it_is_run(store: rc.Store, worker: Worker) -> None:
    fails = [True]

    @worker.task("t", max_retries=0, on_exhausted="archived")
    def task() -> str:
        if fails:
            raise JobError("Broken")
        return "mended"

    @worker.workflow("w")
    async def w() -> str:
        return await task.call()

    w.using(id="w").delay()
    drained(worker)
    assert (store.jobs.get("w").state, store.jobs.get("w:1").state) == ("waiting", "archived")
    fails.clear()
    store.jobs.run("w:1")
    drained(worker)
    assert store.result("w") == "mended"


def test_jobs_are_not_enqueued_by_the_code_of_a_workflow(store: rc.Store, worker: Worker) -> None:
    """Each replay would do it again. A step may."""
    task = worker.task("t", queue="other")(lambda *args: None)
    said: list[str] = []

    async def tries() -> None:
        for make in (
            task.delay,
            task.enqueue,
            task.using(priority=1).delay,
            lambda: task.enqueue_many([1]),
            lambda: worker.enqueue("t"),
        ):
            try:
                make()
            except RuntimeError as error:
                said.append(str(error))
        for make_async in (task.delay_async, task.enqueue_async):
            try:
                await make_async()
            except RuntimeError as error:
                said.append(str(error))

    @step
    async def in_a_step() -> str:
        return (await task.delay_async()).id + task.delay().id

    @worker.workflow("w")
    async def w() -> str:
        await tries()
        return await in_a_step()

    w.using(id="w").delay()
    last(worker)
    assert len(said) == 7 and all("start" in each for each in said), said
    assert len(store.jobs.search(type="t")) == 2


def test_call_and_start_are_for_workflows(store: rc.Store, worker: Worker) -> None:
    task = worker.task("t")(lambda: None)
    for make in (task.call, task.start):
        with pytest.raises(RuntimeError, match=r"use delay\(\)"):
            make()

    @step
    async def in_a_step() -> None:
        task.call()

    @worker.workflow("w")
    async def w() -> str:
        try:
            await in_a_step()
        except StepFailed as failed:
            return failed.message
        return "no error"

    w.delay()
    assert "use delay()" in last(worker)


def test_a_losing_child_is_cancelled(store: rc.Store, worker: Worker) -> None:
    task = worker.task("t", queue="other")(lambda: None)

    @worker.workflow("w")
    async def w() -> Any:
        handle = task.start()
        return await first(handle, task.call(), sleep(1000))

    w.using(id="w").delay()
    assert last(worker) == (2, None)
    assert {job.id: job.state for job in store.jobs.search(type="t")} == {"w:1": "cancelled", "w:2": "cancelled"}


def test_the_same_for_a_def(store: rc.Store, worker: Worker) -> None:
    task = worker.task("t")(lambda n: n * 2)
    keyed = worker.task("keyed", queue="other")(lambda: None)
    keyed.using(unique_key="k").delay()

    @worker.workflow("w")
    def w() -> list[Any]:
        handle = task.start(1)
        called = task.call(2)
        cancelled = task.using(process_in=10**9).start(3)
        cancelled.cancel()
        found: list[Any] = [handle.id, called.id, handle.result(), called.result()]
        for failing in (cancelled, keyed.using(unique_key="k").call()):
            try:
                failing.result()
            except StepFailed as failed:
                found.append(failed.code)
        for make in (task.delay, keyed.enqueue):
            try:
                make(1)
            except RuntimeError:
                found.append("refused")
        found.append(blocking.gather(*(task.call(n) for n in range(3))))
        return found

    w.using(id="w").delay()
    drained(worker)
    assert store.result("w") == ["w:1", "w:2", 2, 4, "Cancelled", "Conflict", "refused", "refused", [0, 2, 4]]


def test_live(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end

    @worker.task("pack")
    async def pack(order: int) -> str:
        await asyncio.sleep(0.01)
        return f"parcel {order}"

    @worker.task("held", queue="nobody")
    def held() -> None: ...

    held.using(unique_key="k").delay()

    @worker.workflow("w")
    async def w() -> list[Any]:
        handle = pack.start(1)
        loser = held.start()
        found: list[Any] = [await pack.call(2), await handle, await first(loser, run(len, "abc"))]
        try:
            await held.using(unique_key="k").call()
        except StepFailed as failed:
            found.append(failed.code)
        found.append(await gather(*(pack.call(n) for n in range(20))))
        return found

    w.using(id="w").delay()
    with worker:
        assert store.result("w", timeout=60) == ["parcel 2", "parcel 1", [1, 3], "Conflict", [f"parcel {n}" for n in range(20)]]
        until(lambda: store.jobs.get("w:2").state == "cancelled")


@pytest.mark.parametrize("kind", ["async", "def"])
def test_a_promise_is_made_before_the_child_job_that_gets_its_id(store: rc.Store, worker: Worker, kind: str) -> None:
    """A crash may come between the two requests."""
    recording = io.StringIO()
    task = worker.task("settle")(lambda id: id)

    @worker.workflow("async")
    async def w() -> str:
        answer = promise(type=str)
        return await task.start(answer.id)

    @worker.workflow("def")
    def w_here() -> str:
        answer = blocking.promise(type=str)
        return task.start(answer.id).result()

    store.record(recording)
    worker.enqueue(kind, id="w")
    assert last(worker) == "w:1"
    kinds = [json.loads(line).get("kind") for line in recording.getvalue().splitlines()]
    asked = [each for each in kinds if each in ("job.record", "job.enqueue")]
    assert asked == ["job.enqueue", "job.record", "job.enqueue"]


@pytest.mark.parametrize("lifecycle", ["asynq", "horsies"])
def test_a_child_is_cancelled_with_its_workflow_under_each_lifecycle(store: rc.Store, worker: Worker, lifecycle: Any) -> None:
    """A plain job under `asynq` is not cancelled with what awaits it."""
    elsewhere = worker.task("pack", queue="elsewhere", lifecycle=lifecycle)(lambda: None)

    @worker.workflow("w")
    async def w() -> None:
        await elsewhere.call()

    w.using(id="w").delay()
    drained(worker)
    assert store.jobs.get("w:1").state == "pending"
    store.workflows.cancel("w")
    assert store.jobs.get("w:1").state == "cancelled"
