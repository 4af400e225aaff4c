"""What a worker tells about the steps of its workflows: those that run for a while, and each attempt that fails."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import pytest
from waiting import until

import resonate_core as rc
from resonate_core.base.step_lines import read_lines
from resonate_core.worker import JobError, Worker
from resonate_core.worker.workflows import steps, steps_under_way
from resonate_core.worker.workflows.operations import Invoke
from resonate_core.worker.workflows.steps_under_way import StepsUnderWay
from resonate_core.workflow import StepTimeout, blocking, gather, run, step
from server.live_server import serving

KINDS = ["async", "run", "def", "start"]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that runs for a few ms is reported."""
    monkeypatch.setattr(steps_under_way, "PATIENCE", 0.02)


def texts(job: rc.Job) -> list[str]:
    return [line["text"] for line in (job.report or {}).get("lines", [])]


def define(worker: Worker, kind: str, hold: threading.Event, tries: int = 1) -> Any:
    """A workflow with a step `charge`, whose last try waits until the test lets it return."""
    tried: list[int] = []

    def fails() -> bool:
        tried.append(1)
        if len(tried) < tries:
            raise ConnectionError("no route\nto the bank")
        return True

    @step(name="charge", retries=5, backoff=1)
    async def charge_async() -> bool:
        done = fails()
        while not hold.is_set():
            await asyncio.sleep(0.005)
        return done

    @step(name="charge", retries=5, backoff=1)
    def charge() -> bool:
        return fails() and hold.wait(60)

    if kind in ("async", "run"):

        @worker.workflow("fulfil")
        async def fulfil() -> bool:
            return await charge_async() if kind == "async" else await run(charge)

        return fulfil

    @worker.workflow("fulfil")
    def fulfil_in_thread() -> bool:
        return charge() if kind == "def" else blocking.start(charge).result()

    return fulfil_in_thread


@pytest.mark.parametrize("kind", KINDS)
def test_why_names_the_step_that_runs(make_worker: Any, live_store: rc.Store, quick: None, kind: str) -> None:
    worker, hold = make_worker(name="w1"), threading.Event()
    fulfil = define(worker, kind, hold, tries=2)
    before = live_store.now
    fulfil.using(id="order").delay()
    with worker:
        # On a slow machine the first attempt, which ends at once, may run for long enough to be named.
        until(lambda: "; attempt 2 of step charge (order:1) runs since " in rc.why(live_store, "order").sentence)
        sentence = rc.why(live_store, "order").sentence
        assert sentence.endswith(", after ConnectionError: no route to the bank.")
        report = live_store.jobs.get("order").report
        assert report is not None
        told = read_lines("order", report["lines"])["order:1"]
        assert told.since is not None and before <= told.since <= live_store.now and told.attempt == 2
        hold.set()
        until(lambda: live_store.jobs.get("order").state == "completed")
    lines = [line for line in texts(live_store.jobs.get("order")) if ", attempt 1: runs since" not in line]
    assert lines[0] == "step charge (order:1), attempt 1: ConnectionError: no route to the bank; again in 1 ms"
    assert len(lines) == 2, "each attempt is reported once"


@pytest.mark.parametrize("kind", ["async", "def"])
def test_over_a_url(quick: None, kind: str) -> None:
    hold = threading.Event()
    with rc.Store() as store, serving(store, server={"ui": True}) as live:
        url = f"http://127.0.0.1:{live.port}"
        worker = Worker(url, name="far", poll_interval=20)
        define(worker, kind, hold, tries=2).using(id="order").delay()
        with worker, rc.connect(url) as client:
            until(lambda: "attempt 2 of step charge (order:1) runs since" in rc.why(client, "order").sentence)
            hold.set()
            until(lambda: store.jobs.get("order").state == "completed")
        worker.close()


def test_branches_are_reported_together(make_worker: Any, live_store: rc.Store, quick: None) -> None:
    worker, hold = make_worker(), asyncio.Event()

    @step
    async def pick(part: int) -> int:
        await hold.wait()
        return part

    @worker.workflow("fulfil")
    async def fulfil() -> list[int]:
        return list(await gather(*(pick(part) for part in range(5))))

    fulfil.using(id="order").delay()
    with worker:
        until(lambda: "2 other steps run" in rc.why(live_store, "order").sentence)
        worker._runner.session.loop.call_soon_threadsafe(hold.set)  # type: ignore[union-attr]
        until(lambda: live_store.jobs.get("order").state == "completed")


def test_short_steps_are_not_reported(make_worker: Any, live_store: rc.Store) -> None:
    worker = make_worker()

    @worker.workflow("many")
    async def many() -> int:
        return sum([await run(int, n) for n in range(50)])

    many.using(id="m").delay()
    with worker:
        until(lambda: live_store.jobs.get("m").state == "completed")
    assert live_store.jobs.get("m").report is None and live_store.jobs.get("m").result.json() == 1225


class Later:
    """Timers that a test fires."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def __call__(self, seconds: float, function: Callable[[], None]) -> None:
        self.waiting.append(function)

    def fire(self) -> None:
        """Fires those that wait."""
        waiting, self.waiting = self.waiting, []
        for each in waiting:
            each()


def call(number: int) -> Invoke:
    scope = SimpleNamespace(context=copy_context())
    return Invoke(print, (), {}, scope, "charge", True, None, f"o:{number}", 1, 0)


def test_one_timer_watches_all_steps_and_rests_when_none_runs() -> None:
    later, reported = Later(), []
    under_way = StepsUnderWay(later)
    context: Any = SimpleNamespace(report=reported.append, trace=None)
    for number in range(1000):
        short = call(number)
        under_way.begin(context, short)
        under_way.end(short)
    assert len(later.waiting) == 1
    later.fire()
    assert later.waiting == [] and reported == []
    long = call(7)
    under_way.begin(context, long)
    for _ in range(4):
        later.fire()
    assert reported == ["step charge (o:7), attempt 1: runs since 1970-01-01T00:00:00.000Z"]
    under_way.end(long)
    later.fire()
    assert later.waiting == [] and not under_way._by_id and not under_way._reported


def test_a_drain_reports_nothing(worker: Worker, store: rc.Store) -> None:
    @worker.workflow("f")
    async def f() -> None:
        await run(store.clock.advance, 5000)  # type: ignore[attr-defined]

    f.using(id="o").delay()
    worker.run_until_idle()
    assert store.jobs.get("o").report is None


# -- failed attempts ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["async", "run", "def"])
def test_each_failed_attempt_is_logged_with_its_traceback(
    worker: Worker, store: rc.Store, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    def charge_card() -> None:
        raise ConnectionError("no route")

    async def charge_card_async() -> None:
        charge_card()

    policy = step(name="charge", retries=1, backoff=10_000)
    if kind == "def":

        @worker.workflow("fulfil")
        def fulfil() -> None:
            policy(charge_card)()
    else:

        @worker.workflow("fulfil")
        async def fulfil() -> None:
            await (policy(charge_card_async)() if kind == "async" else run(policy(charge_card)))

    fulfil.using(id="order").delay()
    with caplog.at_level(logging.WARNING):
        worker.run_until_idle(advance=True)
    first, second, whole = caplog.records
    assert (first.name, first.levelname) == ("resonate_core.workflow", "WARNING")
    assert first.getMessage() == ("workflow order: step charge (order:1), attempt 1: ConnectionError: no route; again in 10000 ms")
    assert second.getMessage() == "workflow order: step charge (order:1), attempt 2: ConnectionError: no route"
    for number, record in enumerate((first, second), start=1):
        assert (record.job, record.step, record.attempt) == ("order", "order:1", number)  # type: ignore[attr-defined]
        shown = caplog.handler.format(record)
        assert shown.endswith("ConnectionError: no route") and 'raise ConnectionError("no route")' in shown
        assert "workflows/steps.py" not in shown and "no running event loop" not in shown, "the traceback begins in the program"
    assert whole.getMessage() == "job order of type fulfil, attempt 2, failed: ConnectionError no route"
    assert (whole.job, whole.type, whole.attempt) == ("order", "fulfil", 2)  # type: ignore[attr-defined]
    shown = caplog.handler.format(whole)
    assert "in fulfil" in shown and 'raise ConnectionError("no route")' in shown and "in charge_card" in shown


def test_the_error_of_a_step_without_json_and_of_one_that_was_interrupted(
    worker: Worker, store: rc.Store, caplog: pytest.LogCaptureFixture
) -> None:
    @step(at_most_once=True)
    async def wire() -> object:
        return object()

    @worker.workflow("f")
    async def f() -> None:
        await wire()

    f.using(id="one").delay()
    worker.run_until_idle()
    f.using(id="two").delay()
    (job,) = store.jobs.claim("default", worker="lost", lease=1000, start=1)
    store.jobs.record("two", job.version, [{"id": "two:1", "tags": {"resonate:name": "wire"}}])
    store.clock.advance(2000)  # type: ignore[attr-defined]
    worker.run_until_idle(advance=True)
    said = [record.getMessage() for record in caplog.records if record.name == "resonate_core.workflow"]
    assert said[0].startswith("workflow one: step wire (one:1), attempt 1: InvalidResult: what step wire returned cannot be stored")
    assert said[1] == "workflow two: step wire (two:1), attempt 1: StepInterrupted: step wire had begun when its worker was lost"


def test_a_workflow_that_diverges_is_logged(worker: Worker, store: rc.Store, caplog: pytest.LogCaptureFixture) -> None:
    calls = [1]

    @worker.workflow("f")
    async def f() -> None:
        if calls.pop():
            await run(len, "a")
        raise JobError("Broken", "beyond repair")

    f.using(id="o").delay()
    worker.run_until_idle()
    (record,) = [one for one in caplog.records if one.name == "resonate_core.worker"]
    assert "Broken beyond repair" in record.getMessage() and "in f" in caplog.handler.format(record)


# -- retries -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["async", "def"])
def test_a_replay_counts_the_attempts_before_the_first_timer(
    make_worker: Any, live_store: rc.Store, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Short delays have no timer: attempts that a replay did not know of were made again, more of them than `retries` allows."""
    monkeypatch.setattr(steps, "_RECORDED_DELAY", 20)
    monkeypatch.setattr("resonate_core.worker.workflows.support.MOST_PARKED", 0)  # each wait is a replay
    tries: list[int] = []

    def fails() -> None:
        tries.append(1)
        raise ConnectionError("no route")

    worker = make_worker()
    charge = step(retries=4, backoff=8)(fails)
    if kind == "def":

        @worker.workflow("f")
        def f() -> None:
            charge()
    else:

        @worker.workflow("f")
        async def f() -> None:
            await run(charge)

    f.using(id="o").delay()
    with worker:
        until(lambda: live_store.jobs.get("o").state == "failed")
    assert len(tries) == 5
    assert [one.id for one in live_store.workflows.history("o")] == ["o:1:3", "o:1:4", "o:1"]


def test_a_timeout_of_a_step_in_a_thread(make_worker: Any, live_store: rc.Store) -> None:
    worker, hold = make_worker(), threading.Event()

    def slow(seconds: float) -> str:
        hold.wait(seconds)
        return "done"

    limited = {timeout: step(timeout=timeout)(slow) for timeout in (700, 30_000)}

    @worker.workflow("f")
    def f(seconds: float, timeout: int) -> str:
        try:
            return limited[timeout](seconds)
        except Exception as error:
            return str(error)

    f.using(id="long").delay(30, 700)
    f.using(id="short").delay(0.55, 30_000)
    with worker:
        until(lambda: {live_store.jobs.get(id).state for id in ("long", "short")} == {"completed"})
        hold.set()
    assert live_store.jobs.get("short").result.json() == "done"
    assert live_store.jobs.get("long").result.json() == f"StepTimeout: {StepTimeout('slow', 700)}"
