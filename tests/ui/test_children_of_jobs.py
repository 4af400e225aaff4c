"""What `why`, the tree and the dashboard say about children of jobs: steps, receives, messages and child jobs (JOBS 9)."""

from __future__ import annotations

import pytest

import resonate_core as rc
from resonate_core.explain.call_tree import calls_of, in_order
from resonate_core.explain.store_reader import StoreReader
from ui.ui_client import client_of


@pytest.fixture
def store() -> rc.Store:
    """A workflow with a finished and a pending step, a child job, a receive and two messages of another topic; it waits."""
    store = rc.Store(clock=rc.ManualClock(1_000_000))
    store.jobs.enqueue("fulfil", id="order", queue="flows", lifecycle="workflow")
    (job,) = store.jobs.claim("flows", worker="ann", lease=60_000)
    store.jobs.record("order", job.version, [{"id": "order:reserve", "state": "resolved", "value": 3}, {"id": "order:sign"}])
    store.jobs.enqueue("pack", id="order:pack", queue="packing", parent=job)
    store.jobs.receive("order", job.version, "order:wait", "approval", timeout_in=60_000)
    store.jobs.send("order", "address", "Main St", key="m1")
    store.jobs.suspend("order", job.version, ["order:wait", "order:pack", "order:sign"])
    return store


def test_a_workflow_waits_for_a_message(store: rc.Store) -> None:
    why = rc.why(store, "order")
    assert why.sentence == (
        "Job order waits for one of 3: order:wait (no message of topic approval yet), order:pack (pending),"
        " order:sign (promise, not settled)."
    )
    assert why.chain == (("order:wait", "Promise order:wait waits for the next message of topic approval to job order."),)
    assert not why.stuck


@pytest.mark.parametrize(
    ("id", "sentence"),
    [
        ("order:wait", "Promise order:wait waits for the next message of topic approval to job order."),
        ("order:sign", "Promise order:sign is a step of job order, which waits for it until a client settles it."),
        ("order:pack", "Job order:pack waits for a worker of queue packing"),
    ],
)
def test_a_pending_child_waits_for_no_circle_and_is_not_stuck(store: rc.Store, id: str, sentence: str) -> None:
    why = rc.why(store, id)
    assert why.sentence.startswith(sentence) and why.chain == ()
    assert not why.stuck
    assert client_of(store).see("why", id=id)["sentence"] == why.sentence


def test_a_step_of_a_job_that_runs_or_waits_for_something_else(store: rc.Store) -> None:
    store.jobs.enqueue("other", id="other", queue="others", lifecycle="workflow")
    (job,) = store.jobs.claim("others", worker="ann", lease=60_000)
    store.jobs.record("other", job.version, [{"id": "other:1"}])
    assert rc.why(store, "other:1").sentence.startswith("Promise other:1 is settled by its caller other, which runs it locally")
    store.promises.create("gate", timeout=10**9)
    store.jobs.suspend("other", job.version, ["gate"])
    assert [id for id, _ in rc.why(store, "other:1").chain] == ["other", "gate"]


def test_messages(store: rc.Store) -> None:
    told = rc.why(store, "order:@address:m1").sentence
    assert told.startswith("Message order:@address:m1 of topic address was sent to job order at ")
    assert told.endswith("; no step of it has received it yet.")
    message = store.jobs.send("order", "approval", "yes")
    assert rc.why(store, message.id).sentence.endswith("; a step of it has received it.")
    assert "resolved" in rc.why(store, "order:wait").sentence


def test_the_tree(store: rc.Store) -> None:
    notes = {call.id: call.note(store.now) for call, _ in in_order(calls_of(StoreReader(store), "order"))}
    assert notes["order:wait"] == "waits for a message of topic approval"
    assert notes["order:sign"] == "waits to be settled"
    assert notes["order:pack"] == "waits for a worker of queue packing"
    assert notes["order"].startswith("waits for order:wait")


def test_the_dashboard(store: rc.Store) -> None:
    ui = client_of(store)
    assert [one["id"] for one in ui.see("job", id="order")["waitsFor"]["items"]] == ["order:wait", "order:pack", "order:sign"]
    assert ui.see("job", id="order")["job"]["steps"] == 4
    tree = ui.see("workflow", id="order")
    assert tree["count"] == 6 and "no message of topic approval yet" in tree["why"]["sentence"]
    for id in ("order:wait", "order:sign", "order:@address:m1"):
        assert ui.see("promise", id=id)["why"]["stuck"] is False
    assert ui.see("stuck")["items"] == []
