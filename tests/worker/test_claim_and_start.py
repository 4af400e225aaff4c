"""A claim starts as many jobs as there are free slots; only jobs that were claimed ahead need a start request."""

from __future__ import annotations

import io
import json
import threading
from collections import deque
from typing import Any

import pytest
from test_trouble import shaky
from waiting import until

import resonate_core as rc
from resonate_core.worker import JobContext, Worker
from resonate_core.worker.claiming import Round, run_round
from resonate_core.worker.environment import Environment
from resonate_core.worker.job_source import Claim, Exchanged
from resonate_core.worker.store_client import StoreClient

LIFECYCLES = pytest.mark.parametrize("lifecycle", [None, "asynq", "horsies"])


class Watched(StoreClient):
    """A client that records the requests made with it, and counts the exchanges that complete, start or claim a job."""

    def __init__(self, store: rc.Store) -> None:
        super().__init__(store)
        self.claims: list[tuple[int, int]] = []
        self.started: list[int] = []
        self.transactions = 0

    def exchange(self, results: Any, held: Any, claim: Claim) -> Any:
        if claim.most:
            self.claims.append((claim.most, claim.start))
        if held:
            self.started.append(len(held))
        done = super().exchange(results, held, claim)
        self.transactions += bool(results or held or (done.claimed and done.claimed.jobs))
        return done

    def claim(self, claim: Claim) -> Any:
        raise AssertionError("a worker claims in the transaction that completes and starts")

    def start_many(self, held: Any, lease: int) -> list[int]:
        self.started.append(len(held))
        return super().start_many(held, lease)


def watched(store: rc.Store, **options: Any) -> tuple[Worker, Watched]:
    client = Watched(store)
    environment = Environment(connect=lambda target, token, answer_bytes: client)
    return Worker(store, environment=environment, **{"poll_interval": 50, **options}), client


@LIFECYCLES
@pytest.mark.parametrize("asynchronous", [False, True])
def test_no_start_where_there_are_slots(live_store: rc.Store, lifecycle, asynchronous):
    worker, client = watched(live_store, concurrency=4, lifecycle=lifecycle)
    if asynchronous:

        @worker.task("t", retention="kept")
        async def body(job: JobContext):
            return job.attempt
    else:

        @worker.task("t", retention="kept")
        def body(job: JobContext):
            return job.attempt

    jobs = body.enqueue_many([None] * 40)
    with worker:
        until(lambda: worker.counts.completed == 40, worker.counts)
    assert client.started == []
    assert all(start == count <= 4 for count, start in client.claims)
    found = [live_store.jobs.get(job.id) for job in jobs]
    assert [(job.result.json(), len(job.attempts)) for job in found] == [(1, 1)] * 40


@pytest.mark.parametrize("lifecycle", [None, "horsies"])
def test_no_more_start_than_there_are_slots(live_store: rc.Store, lifecycle):
    worker, client = watched(live_store, concurrency=2, batch=3, lifecycle=lifecycle)
    began, go_on = threading.Semaphore(0), threading.Event()

    @worker.task("t", retention="kept")
    def body():
        began.release()
        go_on.wait(60)

    jobs = body.enqueue_many([None] * 6)

    def states() -> list[str]:
        return [live_store.jobs.get(job.id).state for job in jobs]

    with worker:
        for _ in range(2):
            assert began.acquire(timeout=60)
        assert states() == ["running"] * 2 + ["claimed"] * 3 + ["pending"]
        assert (client.claims[0], client.started) == ((5, 2), [])
        go_on.set()
        until(lambda: worker.counts.completed == 6, worker.counts)
    assert sum(client.started) >= 3 and states() == ["completed"] * 6


def test_what_the_claim_starts_has_the_lease_of_what_runs(live_store: rc.Store):
    worker, client = watched(live_store, concurrency=1, batch=1, lease=500_000, run_lease=900_000)
    began, go_on = threading.Event(), threading.Event()

    @worker.task("t")
    def body():
        began.set()
        go_on.wait(60)

    jobs = body.enqueue_many([None] * 2)
    with worker:
        assert began.wait(60)
        running, claimed = (live_store.jobs.get(job.id) for job in jobs)
        go_on.set()
    assert (running.state, running.lease_until - running.started_at) == ("running", 900_000)
    assert (claimed.state, claimed.lease_until - claimed.claimed_at) == ("claimed", 500_000)


def test_what_is_not_good_any_more_does_not_run(store: rc.Store, clock: rc.ManualClock):
    worker, client = watched(store)
    ran: list[str] = []
    task = worker.task("t")(ran.append)
    late, good = task.enqueue("late", good_for=1000), task.enqueue("good", good_for=1001)
    clock.advance(1000)
    assert worker.run_until_idle().outcomes == {"completed": 1}
    assert ran == ["good"] and client.started == []
    assert (store.jobs.get(late.id).state, store.jobs.get(late.id).attempts) == ("expired", [])
    assert store.jobs.get(good.id).state == "completed"


@LIFECYCLES
def test_a_drain_starts_with_the_claim(store: rc.Store, lifecycle):
    worker, client = watched(store, lifecycle=lifecycle)
    worker.task("t")(lambda n: n).enqueue_many(range(3))
    assert [run.result for run in worker.run_until_idle()] == [0, 1, 2]
    assert client.claims == [(1, 1)] * 4 and client.started == []


def test_a_drain_that_claims_ahead_starts_the_first(store: rc.Store):
    worker, client = watched(store, batch=3)
    jobs = worker.task("t")(lambda: 1).enqueue_many([None] * 3)
    assert len(worker.run_until_idle(limit=1)) == 1
    assert client.claims == [(3, 1)] and client.started == []
    assert [store.jobs.get(job.id).state for job in jobs] == ["completed", "pending", "pending"]


def test_the_rest_of_a_batch_is_started_with_its_first(store: rc.Store):
    worker, client = watched(store)
    store.queues.set("default", groups={"size": 4})
    calls: list[list[int]] = []
    task = worker.batch_task("t", group="g")(calls.append)
    jobs = task.enqueue_many(range(4))
    worker.run_until_idle()
    assert calls == [[0, 1, 2, 3]] and client.started == [3]
    assert [len(store.jobs.get(job.id).attempts) for job in jobs] == [1] * 4


def test_who_cannot_be_started_any_more_is_left_out_of_its_batch(store: rc.Store):
    class Cancelling(Watched):
        def start_many(self, held: Any, lease: int) -> list[int]:
            store.jobs.cancel("b")
            return super().start_many(held, lease)

    worker = Worker(store, environment=Environment(connect=lambda target, token, answer_bytes: Cancelling(store)))
    store.queues.set("default", groups={"size": 3})
    calls: list[list[str]] = []
    task = worker.batch_task("t", group="g")(calls.append)
    for id in "abc":
        task.enqueue(id, id=id)
    assert worker.run_until_idle().outcomes == {"completed": 2}
    assert calls == [["a", "c"]] and worker.counts.expired == 1


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_start_that_fails_is_made_again_for_the_whole_batch(live_store: rc.Store, asynchronous):
    worker, client = shaky(live_store, rc.errors.StoreBusy("locked"), {"concurrency": 1}, start_many=2)
    live_store.queues.set("default", groups={"size": 3})
    calls: list[list[int]] = []

    if asynchronous:

        @worker.batch_task("t", group="g")
        async def body(payloads):
            calls.append(payloads)
    else:

        @worker.batch_task("t", group="g")
        def body(payloads):
            calls.append(payloads)

    jobs = body.enqueue_many(range(3))
    with worker:
        until(lambda: worker.counts.completed == 3, worker.counts)
    assert client.raised == ["start_many"] * 2 and calls == [[0, 1, 2]]
    assert [len(live_store.jobs.get(job.id).attempts) for job in jobs] == [1] * 3


def test_a_stop_gives_back_a_batch_of_which_some_were_started(live_store: rc.Store):
    """The claim started the first job, and the others could not be started before the stop."""
    worker, client = shaky(live_store, rc.errors.StoreBusy("locked"), {"concurrency": 1}, start_many=10**9)
    live_store.queues.set("default", groups={"size": 3})
    jobs = worker.batch_task("t", group="g")(lambda payloads: None).enqueue_many(range(3))
    with worker:
        until(lambda: client.raised)
    found = [live_store.jobs.get(job.id) for job in jobs]
    assert [job.state for job in found] == ["pending"] * 3
    assert [job.retry_count for job in found] == [0] * 3
    assert (worker.counts.released, worker.counts.snoozed) == (2, 1)


def test_a_round_is_one_transaction(live_store: rc.Store):
    worker, client = watched(live_store, concurrency=2, batch=2)
    jobs = worker.task("t", retention="kept")(lambda n: n).enqueue_many(range(20))
    live_store.jobs.enqueue("other", queue="elsewhere")  # the next claim finds nothing and waits
    with worker:
        until(lambda: worker.counts.completed == 20, worker.counts)
    assert [live_store.jobs.get(job.id).result.json() for job in jobs] == list(range(20))
    assert sum(client.started) + sum(start for _, start in client.claims) >= 20
    assert client.transactions <= 20 + 5, "a completion, a start and a claim share a transaction"


def test_no_more_run_than_there_are_slots_while_others_wait(live_store: rc.Store):
    running: list[int] = []

    class Counting(Watched):
        def exchange(self, results: Any, held: Any, claim: Claim) -> Any:
            done = super().exchange(results, held, claim)
            running.append(len(live_store.jobs.search(state="running", limit=1000)))
            return done

    environment = Environment(connect=lambda target, token, answer_bytes: Counting(live_store))
    worker = Worker(live_store, concurrency=2, batch=3, poll_interval=50, environment=environment)
    worker.task("t")(lambda: None).enqueue_many([None] * 60)
    with worker:
        until(lambda: worker.counts.completed == 60, worker.counts)
    assert max(running) == 2


def test_a_result_that_cannot_be_stored_fails_its_job_alone(live_store: rc.Store):
    worker, client = watched(live_store, concurrency=4)
    jobs = worker.task("t", retention="kept", max_retries=0)(lambda n: object() if n == 2 else n).enqueue_many(range(4))
    later = worker.task("later", retention="kept")(lambda: "done").enqueue()
    with worker:
        until(lambda: worker.counts.completed == 4 and worker.counts.failed == 1, worker.counts)
    assert [live_store.jobs.get(job.id).state for job in jobs] == ["completed", "completed", "archived", "completed"]
    assert live_store.jobs.get(later.id).state == "completed"


def test_what_is_refused_in_the_transaction_is_requested_by_itself(live_store: rc.Store):
    class Refused(Watched):
        def exchange(self, results: Any, held: Any, claim: Claim) -> Any:
            done = super().exchange([], [], claim._replace(most=0))
            assert done == Exchanged()
            return done

        def claim(self, claim: Claim) -> Any:
            return StoreClient.claim(self, claim)

    worker = Worker(
        live_store, batch=3, concurrency=1, environment=Environment(connect=lambda target, token, answer_bytes: Refused(live_store))
    )
    jobs = worker.task("t", retention="kept")(lambda n: n).enqueue_many(range(6))
    with worker:
        until(lambda: worker.counts.completed == 6, worker.counts)
    assert [live_store.jobs.get(job.id).result.json() for job in jobs] == list(range(6))


def test_nothing_is_claimed_or_started_once_a_stop_is_asked(store: rc.Store):
    worker, client = watched(store)
    job = worker.task("t")(lambda: None).enqueue()
    round = Round(deque(), deque(), slots=1, room=1)
    run_round(worker._parts(), round, stopping=lambda: True)
    assert (round.started, round.taken, client.transactions) == ([], 0, 0)
    assert store.jobs.get(job.id).state == "pending"


def test_a_claim_starts_nothing_in_the_slot_of_a_job_that_waits(store: rc.Store):
    worker, client = watched(store)
    jobs = worker.task("t")(lambda: None).enqueue_many([None] * 4)
    first = Round(deque(), deque(), slots=0, room=1)
    run_round(worker._parts(), first)
    second = Round(deque(), first.claimed, slots=2, room=3)
    run_round(worker._parts(), second)
    assert (client.claims, client.started) == ([(1, 0), (3, 1)], [1])
    assert [store.jobs.get(job.id).state for job in jobs] == ["running", "running", "claimed", "claimed"]
    assert (len(second.started), len(second.claimed)) == (2, 2)


def test_a_recording_has_the_jobs_that_a_round_starts_and_completes() -> None:
    """The worker reads the statuses alone."""
    store = rc.Store(clock=rc.ManualClock())
    store.jobs.enqueue_many("t", [1, 2], ids=["a", "b"])
    store.jobs.claim("default", 2, worker="w", lease=1000, start=1)
    lines = io.StringIO()
    with store.record(lines):
        client = StoreClient(store)
        exchanged = client.exchange([("a", 1, "done")], [("b", 1)], Claim("default", 0, "w", 1000, 1000, False, 0))
    assert (exchanged.completed, exchanged.started) == ([200], [200])
    replies = {
        line["kind"]: line["res"] for line in map(json.loads, lines.getvalue().splitlines()) if line["kind"].endswith("_many")
    }
    states = {kind: [item["job"]["state"] for item in reply["data"]["jobs"]] for kind, reply in replies.items()}
    assert states == {"job.complete_many": ["completed"], "job.start_many": ["running"]}
