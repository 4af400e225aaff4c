"""`asynq_state` and `horsies_state` of a job that came from a server raised AttributeError: its record does not name them."""

from __future__ import annotations

import itertools

import pytest

import resonate_core as rc
from resonate_core.worker import Worker
from server.live_server import serving


def one_of_each_state(store: rc.Store) -> dict[str, rc.Job]:
    """A job in every state, by its id, and a gathering one."""
    clock = store.clock
    assert isinstance(clock, rc.ManualClock)
    store.queues.set("groups", groups={"size": 10})
    jobs = store.jobs
    jobs.enqueue("t", id="gathering", queue="groups", group="g")
    jobs.enqueue("t", id="scheduled", process_in=10**9)
    jobs.enqueue("t", id="expired", good_until=clock.now + 1, queue="other")
    jobs.enqueue("t", id="cancelled")
    jobs.cancel("cancelled")
    for id, options in {
        "claimed": {},
        "running": {},
        "retry": {},
        "archived": {"max_retries": 0, "on_exhausted": "archived"},
        "failed": {"max_retries": 0, "on_exhausted": "failed"},
        "completed": {"retention": "kept"},
    }.items():
        jobs.enqueue("t", id=id, **options)
        (claimed,) = jobs.claim("default", 1, worker="w", lease=10**6)
        if id != "claimed":
            jobs.start(id, claimed.version, lease=10**6)
        if id in ("retry", "archived", "failed"):
            jobs.fail(id, claimed.version, code="E", message="")
        elif id == "completed":
            jobs.complete(id, claimed.version)
    jobs.enqueue("t", id="pending")
    clock.advance(10)
    return {id: jobs.get(id) for id in itertools.chain(["gathering"], STATES)}


STATES = ["scheduled", "pending", "claimed", "running", "retry", "archived", "completed", "failed", "cancelled", "expired"]


def test_the_names_are_those_of_a_record_of_the_store():
    with rc.Store(clock=rc.ManualClock()) as store:
        for id, job in one_of_each_state(store).items():
            assert job.state == ("scheduled" if id == "gathering" else id)
            remote = rc.Job.from_dict(job.to_dict())
            assert (remote.asynq_state, remote.horsies_state) == (job.asynq_state, job.horsies_state), id


def test_a_job_that_a_worker_of_a_url_enqueued():
    with rc.Store() as store, serving(store) as live:
        worker = Worker(f"http://127.0.0.1:{live.port}")
        try:
            job = worker.enqueue("t")
        finally:
            worker.close()
    assert (job.asynq_state, job.horsies_state) == ("pending", "PENDING")


def test_a_state_that_no_job_has():
    with rc.Store() as store:
        wire = store.jobs.enqueue("t").to_dict()
    with pytest.raises(rc.Invalid, match="state"):
        rc.Job.from_dict({**wire, "state": "lost"})
