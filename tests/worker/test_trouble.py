"""A store that fails now and then: no finished work is lost, and a job that the worker has lost is cancelled."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from waiting import until

import resonate_core as rc
from resonate_core.worker import JobContext, Worker
from resonate_core.worker.environment import Environment
from resonate_core.worker.job_source import Claim, Exchanged
from resonate_core.worker.outcomes import Outcome
from resonate_core.worker.store_client import StoreClient
from tiers import chess


class Shaky(StoreClient):
    """A client that raises errors in some calls: their names, and how often."""

    def __init__(self, store: rc.Store, error: Exception, **failing: int) -> None:
        super().__init__(store)
        self.error = error
        self.failing = failing
        self.raised: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        failing = object.__getattribute__(self, "__dict__").get("failing", {})
        if failing.get(name, 0) > 0:
            failing[name] -= 1
            self.raised.append(name)

            def refuse(*_: object) -> None:
                raise self.error

            return refuse
        return super().__getattribute__(name)

    def exchange(self, results: Any, held: Any, claim: Claim) -> Any:
        """Leaves all out, like a client of a server, if one of the requests that it replaces is to fail."""
        alone = {"claim", "start_many", "complete_many"} & self.failing.keys()
        return Exchanged() if alone else super().exchange(results, held, claim)

    def end_many(self, held: Any, outcome: Outcome) -> list[int]:
        name = {"failed": "fail", "snoozed": "snooze", "released": "release"}[outcome.kind]
        if self.failing.get(name, 0) > 0:
            self.failing[name] -= 1
            self.raised.append(name)
            raise self.error
        return super().end_many(held, outcome)


def shaky(store: rc.Store, error: Exception, worker_options: dict[str, Any] | None = None, **failing: int) -> tuple[Worker, Shaky]:
    client = Shaky(store, error, **failing)
    environment = Environment(connect=lambda target, token, answer_bytes: client)
    return Worker(store, poll_interval=20, environment=environment, **(worker_options or {})), client


@pytest.mark.parametrize(
    ("call", "error"),
    chess(
        ["exchange", "claim", "start_many", "complete_many", "fail", "snooze"],
        [rc.errors.StoreBusy("locked"), rc.errors.StoreError("disk"), ConnectionResetError("gone")],
    ),
    ids=lambda given: given if isinstance(given, str) else repr(given),
)
def test_a_call_that_fails_is_made_again(live_store: rc.Store, caplog: pytest.LogCaptureFixture, call, error):
    # What is claimed ahead of its slot is not started by the claim.
    worker, client = shaky(live_store, error, {"concurrency": 1, "batch": 3} if call == "start_many" else None, **{call: 2})

    @worker.task("t", max_retries=0)
    def body(n, job: JobContext):
        if n == 1:
            raise ValueError
        if n == 2 and job.attempt == 1:
            raise rc.worker.Snooze(0)

    jobs = body.enqueue_many(range(3))
    with worker:
        until(lambda: worker.counts.completed == 2 and worker.counts.failed == 1, worker.counts)
    assert client.raised == [call] * 2
    assert [live_store.jobs.get(job.id).state for job in jobs] == ["completed", "archived", "completed"]
    assert [len(live_store.jobs.get(job.id).attempts) for job in jobs] == [1, 1, 2]
    assert "again in" in caplog.text


def test_a_stop_does_not_wait_for_ever_for_a_store_that_is_gone(live_store: rc.Store):
    worker, _ = shaky(live_store, rc.errors.StoreError("gone"), complete_many=10**9)
    ended = threading.Event()
    job = worker.task("t")(ended.set).enqueue()
    with pytest.raises(rc.errors.StoreError, match="gone"), worker:
        assert ended.wait(60)
    assert live_store.jobs.get(job.id).state == "running"


def test_a_store_that_refuses_the_worker_ends_it(live_store: rc.Store):
    worker, _ = shaky(live_store, rc.errors.ResonateError("no token", 401), claim=10**9)
    with pytest.raises(rc.errors.ResonateError, match="no token"):
        worker.run(signals=False)


def test_jobs_whose_leases_could_not_be_renewed_are_called_off(live_store: rc.Store, caplog: pytest.LogCaptureFixture):
    worker, client = shaky(live_store, rc.errors.StoreError("gone"), {"lease": 90}, heartbeat=10**9)
    reasons: list[str | None] = []
    began = threading.Event()

    @worker.task("t", max_retries=0)
    async def body(job: JobContext):
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            reasons.append(job.reason)

    body.enqueue()
    with worker:
        assert began.wait(60)
        until(lambda: reasons == ["lost"])
        until(lambda: worker.counts.lost == 1, worker.counts)
    assert "no heartbeat" in caplog.text


def test_a_defect_of_the_upkeep_ends_the_worker(live_store: rc.Store):
    worker, client = shaky(live_store, ZeroDivisionError("a defect"), {"heartbeat": 10})

    @worker.task("t")
    def body(job: JobContext):
        client.failing["heartbeat"] = 1  # not before: a job whose body has not begun would be put back
        until(lambda: job.stopping)

    job = body.enqueue()
    with pytest.raises(ZeroDivisionError):
        worker.run(signals=False)
    assert live_store.jobs.get(job.id).state == "completed"


def test_a_periodic_job_that_cannot_be_enqueued_is_tried_again(live_store: rc.Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("resonate_core.worker.session._LONGEST_CHECK", 0.05)
    worker, client = shaky(live_store, rc.errors.StoreError("gone"), enqueue=2)
    worker.periodic("@yearly", worker.task("t")(lambda: 1))
    with worker:
        until(lambda: len(live_store.jobs.search(state="scheduled")) == 1)
    assert client.raised == ["enqueue"] * 2


@pytest.mark.parametrize("call", ["release", "snooze"])
def test_what_cannot_be_given_back_waits_for_its_lease(live_store: rc.Store, call):
    worker, _ = shaky(live_store, rc.errors.StoreError("gone"), {"concurrency": 1, "batch": 3, "grace": 10}, **{call: 10**9})
    began, go_on = threading.Event(), threading.Event()

    @worker.task("t")
    def body():
        began.set()
        go_on.wait(60)

    jobs = body.enqueue_many([None] * 3)
    raised: list[type[BaseException]] = []
    try:
        with worker:
            assert began.wait(60)
            until(lambda: live_store.jobs.get(jobs[2].id).state == "claimed")
    except rc.errors.StoreError as error:
        raised.append(type(error))
    go_on.set()
    states = [live_store.jobs.get(job.id).state for job in jobs]
    assert states == {"release": ["pending", "claimed", "claimed"], "snooze": ["running", "pending", "pending"]}[call]
    assert raised == {"release": [], "snooze": [rc.errors.StoreError]}[call]


def test_a_body_that_raises_keyboard_interrupt_in_its_thread_has_failed(live_store: rc.Store):
    worker = Worker(live_store)

    def interrupted():
        raise KeyboardInterrupt

    job = worker.task("t", max_retries=0)(interrupted).enqueue()
    with worker:
        until(lambda: worker.counts.failed == 1)
    assert live_store.jobs.get(job.id).error["message"].startswith("KeyboardInterrupt")


@pytest.mark.parametrize("error", [rc.worker.Retry(after=2**70), rc.worker.Snooze(2**70)], ids=repr)
def test_a_delay_that_no_store_takes_fails_its_job_and_not_the_worker(live_store: rc.Store, error):
    worker = Worker(live_store, poll_interval=20)

    @worker.task("t", max_retries=0)
    def body(fails):
        if fails:
            raise error

    late, good = body.enqueue(True), body.enqueue(False)
    with worker:
        until(lambda: (worker.counts.failed, worker.counts.completed) == (1, 1), worker.counts)
    assert (live_store.jobs.get(late.id).state, live_store.jobs.get(late.id).error["code"]) == ("archived", "InvalidError")
    assert live_store.jobs.get(good.id).state == "completed"
