"""Jobs that are cancelled with the workflows that await them (JOBS 3, decision 28)."""

from __future__ import annotations

from typing import Any

import pytest

import resonate_core as rc
from conformance.job_wire import JobClient, encoded_error
from conformance.wire import V25, V26, held, stored

MESSAGE = 'the awaiter "{}" was cancelled'


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def workflow(client: JobClient, id: str, *awaited: str, **options: Any) -> None:
    """Creates a workflow that is suspended on the awaited promises."""
    client.task_create(id, now=1, ttl=10**6, **options).must()
    client.suspend(id, held(client.version), *awaited, now=1).must()


def cancel(client: JobClient, id: str, now: int = 10) -> None:
    client.settle(id, "rejected_canceled", now=now).must()
    assert client.store.check() == []


def callbacks(client: JobClient, id: str) -> list[str]:
    found: list[str] = stored(client.store, id)["callbacks"]
    return found


# For each state that is not final: the options of a job, and the requests that lead to the state.
STATES: dict[str, tuple[dict[str, Any], Any]] = {
    "pending": ({}, lambda c: None),
    "scheduled": ({"processAt": 1_000}, lambda c: None),
    "gathering": ({"group": "g"}, lambda c: None),
    "claimed": ({}, lambda c: c.claim(now=5).must()),
    "running": ({}, lambda c: c.run_one("j", now=5)),
    "retry": ({}, lambda c: c.fail("j", c.run_one("j", now=5), now=6).must()),
    "archived": ({}, lambda c: c.administer("archive", "j", now=5).must()),
}


@pytest.mark.parametrize("state", STATES)
def test_a_cancelled_workflow_cancels_the_job_that_it_awaits(client: JobClient, state: str) -> None:
    options, lead = STATES[state]
    client.enqueue("j", now=0, **options).must()
    workflow(client, "w", "j")
    lead(client)
    assert client.state("j") == ("scheduled" if state == "gathering" else state)
    cancel(client, "w")
    job = client.job("j")
    why = MESSAGE.format("w")
    assert (job["state"], job["cancelledAt"]) == ("cancelled", 10)
    assert job["error"] == {"code": "Cancelled", "message": why}
    assert job["result"]["data"] == encoded_error("Cancelled", why)
    if state == "running":
        assert (job["attempts"][-1]["outcome"], job["attempts"][-1]["finishedAt"]) == ("cancelled", 10)
    assert callbacks(client, "j") == []
    assert client.stats()["counts"]["cancelled"] == 1 and client.claimed(5, now=2_000) == []


def test_the_worker_of_a_running_job_hears_of_it(client: JobClient) -> None:
    client.enqueue("j", now=0).must()
    workflow(client, "w", "j")
    version = client.run_one("j", now=5)
    cancel(client, "w")
    assert client.beat(("j", version), now=11) == (["j"], [])
    assert client.complete("j", version, now=12).status == 409


@pytest.mark.parametrize("state", ["resolved", "rejected"])
def test_another_settlement_cancels_no_job(client: JobClient, state: str) -> None:
    client.enqueue("j", now=0).must()
    workflow(client, "w", "j")
    client.settle("w", state, now=10).must()
    assert client.state("j") == "pending" and callbacks(client, "j") == ["w"]
    assert client.store.check() == []


def test_the_deadline_of_a_workflow_cancels_no_job(client: JobClient) -> None:
    client.enqueue("j", now=0).must()
    workflow(client, "w", "j", timeout=10)
    assert [step.kind for step in client.store.tick(20)] == ["promise_timeout"]
    assert client.get("w").must()["promise"]["state"] != "pending" and client.state("j") == "pending"


def test_a_workflow_that_ends_itself_as_cancelled_cancels_its_jobs(client: JobClient) -> None:
    """Also by `task.fulfill`: the workflow registered a callback and was not suspended."""
    client.enqueue("j", now=0).must()
    client.task_create("w", now=0).must()
    client.register("j", "w", now=1).must()
    client.fulfill("w", held(client.version), "rejected_canceled", now=10).must()
    assert client.state("j") == "cancelled" and client.store.check() == []


# Which option decides: of the job, of its queue, then of the lifecycle.
OPTIONS: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "default": ({}, {}, True),
    "horsies": ({}, {"lifecycle": "horsies"}, True),
    "asynq": ({}, {"lifecycle": "asynq"}, False),
    "asynq's queue": ({"lifecycle": "asynq"}, {}, False),
    "asked for": ({}, {"lifecycle": "asynq", "cancelWithAwaiters": True}, True),
    "refused": ({}, {"cancelWithAwaiters": False}, False),
    "null": ({}, {"cancelWithAwaiters": None}, True),
    "the queue's": ({"defaults": {"cancelWithAwaiters": False}}, {}, False),
    "the queue's over the lifecycle": ({"defaults": {"cancelWithAwaiters": True}}, {"lifecycle": "asynq"}, True),
    "the job's over the queue's": ({"defaults": {"cancelWithAwaiters": False}}, {"cancelWithAwaiters": True}, True),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_the_option(client: JobClient, name: str) -> None:
    queue, options, cancels = OPTIONS[name]
    if queue:
        client.queue("set", **queue)
    client.enqueue("j", now=0, **options).must()
    workflow(client, "w", "j")
    cancel(client, "w")
    assert client.state("j") == ("cancelled" if cancels else "pending")
    assert callbacks(client, "j") == ([] if cancels else ["w"])
    assert client.store.tick(20) == []


def test_a_wrong_option_is_refused(client: JobClient) -> None:
    reply = client.enqueue("j", now=0, cancelWithAwaiters="yes")
    assert reply.status == 400
    assert "cancelWithAwaiters" in str(reply.data)


def test_a_job_continues_while_another_workflow_awaits_it(client: JobClient) -> None:
    client.enqueue("j", now=0).must()
    for id in ("w1", "w2", "w3"):
        workflow(client, id, "j")
    cancel(client, "w2")
    assert client.state("j") == "pending" and callbacks(client, "j") == ["w1", "w3"]
    client.settle("w1", now=11).must()
    cancel(client, "w3", now=12)
    job = client.job("j")
    assert job["state"] == "cancelled" and job["error"]["message"] == MESSAGE.format("w3")


def test_a_workflow_past_its_deadline_does_not_keep_a_job(client: JobClient) -> None:
    client.enqueue("j", now=0).must()
    workflow(client, "late", "j", timeout=5)
    workflow(client, "w", "j")
    cancel(client, "w")
    assert client.state("j") == "cancelled"


def test_a_listener_does_not_keep_a_job(client: JobClient) -> None:
    client.enqueue("j", now=0).must()
    client.listen("j", now=0).must()
    workflow(client, "w", "j")
    cancel(client, "w")
    assert client.state("j") == "cancelled"


def test_only_jobs_are_cancelled(client: JobClient) -> None:
    """A child workflow and a plain promise stay pending, and so do the jobs that the child awaits."""
    client.enqueue("j", now=0).must()
    client.create("plain", now=0, tags={"resonate:external": "true"}).must()
    workflow(client, "child", "j")
    workflow(client, "parent", "child", "plain")
    cancel(client, "parent")
    assert client.state("j") == "pending"
    assert {client.get(id).must()["promise"]["state"] for id in ("child", "plain")} == {"pending"}
    cancel(client, "child", now=11)
    assert client.state("j") == "cancelled"


def test_the_awaiter_of_a_cancelled_job_is_resumed_once(client: JobClient) -> None:
    """`w` and `later` awaited the job; `later` has other options left and is notified of the end."""
    client.enqueue("j", now=0).must()
    workflow(client, "w", "j")
    workflow(client, "later", "j")
    client.administer("cancel", "j", now=5).must()
    cancel(client, "w")
    assert callbacks(client, "j") == []
    assert client.job("j")["error"]["message"] == "the job was cancelled"


def test_a_job_that_adopts_an_awaited_promise(client: JobClient) -> None:
    """The workflow awaited the promise before it became a job."""
    client.create("j", now=0, tags={"resonate:external": "true"}).must()
    workflow(client, "w", "j")
    client.enqueue("j", now=2).must()
    assert callbacks(client, "j") == ["w"]
    cancel(client, "w")
    assert client.state("j") == "cancelled"


def test_a_job_that_adopts_a_promise_forgets_workflows_that_were_cancelled_before(client: JobClient) -> None:
    for id in ("j", "k"):
        client.create(id, now=0, tags={"resonate:external": "true"}).must()
    for id in ("w1", "w2", "w3"):
        workflow(client, id, "j")
    workflow(client, "w4", "k")
    for id in ("w2", "w4"):
        cancel(client, id)
    assert callbacks(client, "j") == ["w1", "w2", "w3"]
    client.enqueue("j", now=11).must()
    assert callbacks(client, "j") == ["w1", "w3"] and client.state("j") == "pending"
    client.enqueue("k", now=12).must()
    assert callbacks(client, "k") == [] and client.state("k") == "pending", "its one workflow was cancelled before"
    assert client.store.tick(20) == [] and client.store.check() == []


def test_many_jobs_are_cancelled_in_steps(client: JobClient) -> None:
    """One job per step, by id; a request is followed by at most 64 steps, a tick by all that are due."""
    ids = [f"j{number:03}" for number in range(100)]
    for id in reversed(ids):
        client.enqueue(id, now=0).must()
    workflow(client, "w", *reversed(ids))
    cancel(client, "w")
    cancelled = [id for id in ids if client.state(id) == "cancelled"]
    assert 0 < len(cancelled) < 100 and cancelled == ids[: len(cancelled)]
    snapshot = client.store.snapshot()
    steps = client.store.tick(10)
    drained = [step.detail["job"] for step in steps if step.kind == "cancel_drain"]
    assert drained == ids[len(cancelled) :]
    assert {(step.id, step.at, step.now) for step in steps if step.kind == "cancel_drain"} == {("w", 10, 10)}
    assert client.stats()["counts"]["cancelled"] == 100
    assert client.store.tick(11) == [] and client.store.check() == []
    restored = rc.Store(clock=rc.ManualClock(10))
    restored.restore(snapshot)
    assert restored.check() == []
    assert [(step.kind, step.id, step.detail) for step in restored.tick(10)] == [
        (step.kind, step.id, step.detail) for step in steps
    ]


def test_a_claim_runs_the_steps_that_are_left(client: JobClient) -> None:
    """A claim of n jobs is preceded by up to n + 64 steps, so it finds few jobs that wait for their cancellation."""
    ids = [f"j{number:03}" for number in range(90)]
    for id in ids:
        client.enqueue(id, now=0).must()
    workflow(client, "w", *ids)
    cancel(client, "w")
    assert client.claimed(90, now=11) == []
    assert client.stats()["counts"]["cancelled"] == 90
