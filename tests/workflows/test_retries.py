"""Retries of steps: backoff and timers, retry_on, Retry, timeouts, steps that run at most once."""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from datetime import timedelta
from typing import Any

import pytest
from waiting import until
from workflow_runs import drained, last, records, states

import resonate_core as rc
from resonate_core.errors import Invalid
from resonate_core.worker import JobError, Retry, Skip, Worker
from resonate_core.workflow import StepFailed, StepInterrupted, first, gather, run, sleep, step


class Fails:
    """A step's function that fails a number of times."""

    __name__ = "fails"

    def __init__(self, store: rc.Store, times: int, *errors: Exception) -> None:
        self.store, self.times, self.at = store, times, []  # type: ignore[var-annotated]
        self.errors = errors or (ValueError("not yet"),)

    def __call__(self) -> str:
        self.at.append(self.store.now)
        if len(self.at) <= self.times:
            raise self.errors[(len(self.at) - 1) % len(self.errors)]
        return "at last"


def run_once(store: rc.Store, worker: Worker, fails: Fails, **policy: Any) -> Any:
    """The result, or the code of the failure, of a workflow with one step, and a replay of it."""
    stepped = step(name="fails", **policy)(fails)

    @worker.workflow("w")
    async def w() -> str:
        try:
            found = await run(stepped)
        except StepFailed as failed:
            found = failed.code
        await sleep(1)
        return found

    w.using(id="w").delay()
    return last(worker)


def test_no_retry_unless_it_is_asked_for(store: rc.Store, worker: Worker) -> None:
    fails = Fails(store, 1)
    assert run_once(store, worker, fails) == "ValueError"
    assert fails.at == [0]


def test_the_backoff_doubles_up_to_an_hour(store: rc.Store, worker: Worker) -> None:
    fails = Fails(store, 20)
    assert run_once(store, worker, fails, retries=20, backoff=timedelta(minutes=4)) == "at last"
    minutes = [each // 60_000 for each in fails.at]
    assert [later - earlier for earlier, later in itertools.pairwise(minutes)] == [4, 8, 16, 32, *[60] * 16]


def test_the_usual_backoff_is_a_second(store: rc.Store, worker: Worker) -> None:
    fails = Fails(store, 3)
    assert run_once(store, worker, fails, retries=3) == "at last"
    assert fails.at == [0, 1000, 3000, 7000]


def test_after_the_last_retry_it_has_failed_for_good(store: rc.Store, worker: Worker) -> None:
    fails = Fails(store, 9, ValueError("a"), KeyError("b"), JobError("C", "c"))
    assert run_once(store, worker, fails, retries=2) == "C"
    assert len(fails.at) == 3


def test_a_retry_is_a_recorded_timer(store: rc.Store, worker: Worker) -> None:
    fails = Fails(store, 2, JobError("Busy", "come back", {"in": 5}))
    assert run_once(store, worker, fails, retries=2, backoff=20_000) == "at last"
    assert records(store, "w") == {"1": "fails", "1:1": "retry fails", "1:2": "retry fails", "2": "sleep"}
    timers = {each.id: each for each in store.workflows.history("w")}
    first_timer, done = timers["w:1:1"], timers["w:1"]
    assert str(first_timer.error) == "Busy: come back" and first_timer.error is not None and first_timer.error.data == {"in": 5}
    assert (first_timer.started_at, first_timer.timeout_at) == (0, 20_000)
    assert (done.attempts, done.result) == (3, "at last")


@pytest.mark.parametrize(
    "retry_on, errors, attempts",
    [
        (OSError, [ConnectionError()], 4),
        (OSError, [ValueError()], 1),
        ((OSError, ValueError), [ValueError(), OSError()], 4),
        (lambda error: "again" in str(error), [ValueError("again"), ValueError("stop")], 2),
        (lambda error: 1 / 0, [ValueError()], 4),
        (OSError, [JobError("A", retryable=True)], 4),
        (None, [JobError("A", retryable=False)], 1),
        (JobError, [JobError("A", retryable=None)], 4),
        (OSError, [JobError("A", retryable=None)], 1),
        (None, [Skip("no")], 1),
        (OSError, [Retry(5)], 4),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_is_retried(store: rc.Store, worker: Worker, retry_on: Any, errors: list[Exception], attempts: int) -> None:
    fails = Fails(store, 99, *errors)
    run_once(store, worker, fails, retries=3, backoff=0, retry_on=retry_on)
    assert len(fails.at) == attempts


def test_retry_decides_about_its_delay_and_uses_a_retry(store: rc.Store, worker: Worker) -> None:
    fails = Fails(store, 9, Retry(timedelta(hours=5)), ValueError(), Retry(0), Retry())
    assert run_once(store, worker, fails, retries=4, backoff=1000) == "Retry"
    hours = 5 * 3_600_000
    assert fails.at == [0, hours, hours + 2000, hours + 2000, hours + 2000 + 8000]


@pytest.mark.parametrize(
    "policy", [{"retries": -1}, {"retries": 1.5}, {"backoff": -1}, {"timeout": 0}, {"name": ""}, {"at_most_once": 1}]
)
def test_a_policy_out_of_range_is_refused(policy: dict[str, Any]) -> None:
    with pytest.raises((Invalid, TypeError)):
        step(**policy)(len)


def test_a_mistyped_policy_is_refused() -> None:
    with pytest.raises(TypeError):
        step(retry=3)(len)  # type: ignore[call-overload]
    with pytest.raises(TypeError):
        step(retry_on="ValueError")(len)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="patched"):
        step(name="patched x")(len)

    def yields() -> Any:
        yield 1

    with pytest.raises(TypeError, match="yields"):
        step(yields)


def test_a_step_waits_for_its_retry_beside_others(store: rc.Store, worker: Worker) -> None:
    fails = Fails(store, 1)
    flaky = step(retries=1, backoff=60_000)(fails)

    @worker.workflow("w")
    async def w() -> list[Any]:
        return list(await gather(run(flaky), sleep(90_000), run(len, "abc")))

    w.using(id="w").delay()
    assert last(worker) == ["at last", None, 3]
    assert fails.at == [0, 60_000] and store.now == 90_000


def test_a_losing_step_loses_its_timer(store: rc.Store, worker: Worker) -> None:
    fails = Fails(store, 9)
    flaky = step(retries=9, backoff=timedelta(minutes=30))(fails)

    @worker.workflow("w")
    async def w() -> Any:
        return await first(run(flaky), sleep(60_000))

    w.using(id="w").delay()
    assert last(worker) == (1, None)
    assert states(store, "w") == {"1:1": "rejected_canceled", "2": "resolved", "3": "resolved"}


# -- live ------------------------------------------------------------------------------------------------------------------------------


def test_a_short_backoff_passes_in_the_worker_without_a_record(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end
    fails = Fails(store, 2)
    flaky = step(retries=2, backoff=30)(fails)

    @worker.workflow("w")
    async def w() -> str:
        return await run(flaky)

    w.using(id="w").delay()
    with worker:
        assert store.result("w", timeout=60) == "at last"
    assert records(store, "w") == {"1": "fails"}
    assert [each.attempts for each in store.workflows.history("w")] == [3]
    assert fails.at[1] - fails.at[0] >= 25 and fails.at[2] - fails.at[1] >= 50


@pytest.mark.parametrize("parked", [True, False])
def test_attempts_are_counted_once_over_short_and_long_delays(
    end: tuple[rc.Store, Worker], monkeypatch: pytest.MonkeyPatch, parked: bool
) -> None:
    """Short delays have no record. Those before a long one have been used, in the same worker and in another."""
    store, worker = end
    monkeypatch.setattr("resonate_core.worker.workflows.steps._RECORDED_DELAY", 60)
    if not parked:
        monkeypatch.setattr("resonate_core.worker.workflows.support.MOST_PARKED", 0)
    fails = Fails(store, 99)
    flaky = step(retries=4, backoff=20)(fails)

    @worker.workflow("w")
    async def w() -> str:
        try:
            return await run(flaky)
        except StepFailed:
            return "failed for good"

    w.using(id="w").delay()
    with worker:
        assert store.result("w", timeout=60) == "failed for good"
    assert len(fails.at) == 5
    assert sorted(records(store, "w")) == ["1", "1:3", "1:4"]


@pytest.mark.parametrize("kind", ["async", "thread"])
def test_a_timeout_is_retried_and_a_thread_runs_on_unheard(end: tuple[rc.Store, Worker], kind: str) -> None:
    store, worker = end
    began: list[float] = []
    let_go = threading.Event()

    async def slow_async() -> str:
        began.append(time.monotonic())
        if len(began) == 1:
            await asyncio.sleep(60)
        return "in time"

    def slow_thread() -> str:
        began.append(time.monotonic())
        if len(began) == 1:
            let_go.wait(60)
            return "too late"
        return "in time"

    slow = step(name="slow", timeout=2_000, retries=1, backoff=10)(slow_async if kind == "async" else slow_thread)

    @worker.workflow("w")
    async def w() -> str:
        return await run(slow)

    w.using(id="w").delay()
    try:
        with worker:
            assert store.result("w", timeout=60) == "in time"
            let_go.set()
    finally:
        let_go.set()
    assert len(began) == 2
    assert [each.result for each in store.workflows.history("w")] == ["in time"]


def test_a_timeout_is_a_step_timeout(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end

    @step(timeout=50)
    async def slow() -> None:
        await asyncio.sleep(60)

    @step(timeout=60_000)
    async def own() -> None:
        raise asyncio.TimeoutError("of its own")

    @step(timeout=50)
    async def stubborn() -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            raise ValueError("while it was cancelled") from None
        return "never"

    @worker.workflow("w")
    async def w() -> list[str]:
        said = []
        for each in (slow, own, stubborn):
            try:
                await each()
            except StepFailed as failed:
                said.append(str(failed))
        return said

    w.using(id="w").delay()
    with worker:
        said = store.result("w", timeout=60)
    assert said[0] == "StepTimeout: step slow took longer than its timeout of 50 ms"
    assert said[1] == "TimeoutError: of its own"
    assert said[2] == "ValueError: while it was cancelled"


def test_a_step_that_is_cancelled_by_its_own_code_has_failed(end: tuple[rc.Store, Worker]) -> None:
    """The attempt was not called off: a cancelled task of the step is a failure of the step, which is recorded."""
    store, worker = end
    ran: list[int] = []

    @step
    async def cancels() -> None:
        ran.append(1)
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    @step
    async def raises() -> None:
        ran.append(2)
        raise asyncio.CancelledError

    @worker.workflow("w")
    async def w() -> list[str]:
        said = []
        for each in (cancels, raises):
            try:
                await each()
            except StepFailed as failed:
                said.append(failed.code)
        return said

    w.using(id="w").delay()
    with worker:
        assert store.result("w", timeout=60) == ["CancelledError"] * 2
    assert ran == [1, 2]
    assert states(store, "w") == {"1": "rejected", "2": "rejected"}


# -- at most once ------------------------------------------------------------------------------------------------------------------------


def test_at_most_once_records_its_beginning(store: rc.Store, worker: Worker) -> None:
    seen: list[Any] = []

    @step(at_most_once=True)
    async def pay() -> str:
        seen.append(states(store, "w"))
        return "paid"

    @worker.workflow("w")
    async def w() -> str:
        found = await pay()
        await sleep(1)
        return found

    w.using(id="w").delay()
    assert last(worker) == "paid"
    assert seen == [{"1": "pending"}]


def test_an_interrupted_step_is_not_run_again(store: rc.Store, worker: Worker) -> None:
    ran: list[str] = []
    seen: list[Any] = []

    @step(at_most_once=True, retries=5)
    async def pay() -> str:
        ran.append("pay")
        raise KeyboardInterrupt

    @worker.workflow("w")
    async def w() -> str:
        try:
            await pay()
        except StepInterrupted as interrupted:
            seen.append((interrupted.code, interrupted.message))
        await sleep(1)
        return "asked a person"

    w.using(id="w").delay()
    with pytest.raises(KeyboardInterrupt):
        drained(worker)
    assert last(worker) == "asked a person"
    assert ran == ["pay"]
    assert len(seen) == 2 and len(set(seen)) == 1
    assert seen[0][0] == "StepInterrupted" and "pay" in seen[0][1]


@pytest.mark.parametrize("backoff", [0, 1000, 60_000])
def test_a_failed_attempt_is_no_interrupted_one(store: rc.Store, worker: Worker, backoff: int) -> None:
    """An attempt that has raised is known to have ended: it is retried, also after a wait of the job."""
    fails = Fails(store, 2)
    assert run_once(store, worker, fails, at_most_once=True, retries=3, backoff=backoff) == "at last"
    assert len(fails.at) == 3


@pytest.mark.parametrize("at", [1, 2, 3])
def test_each_attempt_of_it_is_interrupted_at_most_once(store: rc.Store, worker: Worker, at: int) -> None:
    ran: list[int] = []

    @step(at_most_once=True, retries=5, backoff=60_000)
    async def pay() -> str:
        ran.append(1)
        if len(ran) == at:
            raise KeyboardInterrupt
        raise ValueError("not yet")

    @worker.workflow("w")
    async def w() -> str:
        try:
            return await pay()
        except StepInterrupted:
            return "interrupted"

    w.using(id="w").delay()
    with pytest.raises(KeyboardInterrupt):
        drained(worker)
    assert last(worker) == "interrupted"
    assert len(ran) == at


def test_an_interruption_of_a_usual_step_runs_it_again(store: rc.Store, worker: Worker) -> None:
    ran: list[int] = []

    @step
    async def pay() -> str:
        ran.append(1)
        if len(ran) == 1:
            raise KeyboardInterrupt
        return "paid"

    @worker.workflow("w")
    async def w() -> str:
        return await pay()

    w.using(id="w").delay()
    with pytest.raises(KeyboardInterrupt):
        drained(worker)
    assert last(worker) == "paid"
    assert len(ran) == 2


def test_as_many_steps_at_once_as_the_worker_has(live_store: rc.Store) -> None:
    under_way: set[int] = set()
    most: list[int] = []

    @step
    def slow(number: int) -> int:
        under_way.add(number)
        most.append(len(under_way))
        time.sleep(0.02)
        under_way.discard(number)
        return number

    worker = Worker(live_store, poll_interval=20, steps=3)

    @worker.workflow("w")
    async def w() -> list[int]:
        return list(await gather(*(run(slow, number) for number in range(20))))

    w.using(id="w").delay()
    with worker:
        assert live_store.result("w", timeout=60) == list(range(20))
    assert max(most) == 3


def test_a_workflow_waits_for_a_long_retry_without_a_slot(end: tuple[rc.Store, Worker]) -> None:
    store, worker = end
    fails = Fails(store, 1)
    flaky = step(retries=1, backoff=timedelta(hours=1))(fails)

    @worker.workflow("w")
    async def w() -> str:
        return await run(flaky)

    w.using(id="w").delay()
    with worker:
        until(lambda: store.jobs.get("w").state == "waiting")
        assert states(store, "w") == {"1:1": "pending"}
        store.promises.cancel("w:1:1")  # a person wants no wait
        assert store.result("w", timeout=60) == "at last"
