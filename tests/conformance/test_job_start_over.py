"""job.start_over ends a run of a workflow without end, and begins the next (JOBS 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_groups import enqueue_batch
from conformance.job_steps import OTHER, VALUE, J, data_of, ids, running, state_of, step
from conformance.job_waits import gates, sound
from conformance.job_wire import JobClient
from conformance.wire import ADDRESS, V25, V26, executes, rows_of
from resonate_core.conformance.reply_form import status_in

HOUR = 3_600_000


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def test_the_record(client: JobClient) -> None:
    running(client, now=3, payload=VALUE, timeout=HOUR)
    client.record("a", {"id": "b", "state": "resolved"}, id=J, now=4).must()
    client.report(J, now=4, progress=0.5, lines=["half"]).must()
    job = client.start_over(J, now=10, args=OTHER).must()["job"]
    assert (job["state"], job["version"], job["enqueuedAt"], job["retryCount"]) == ("pending", 1, 10, 0)
    assert (data_of(job["args"]), job["restarts"], job["payload"]["data"], job["sentAt"]) == ("eQ==", 1, "eA==", 3)
    assert job["attempts"] == [{"number": 1, "worker": "w1", "startedAt": 3, "finishedAt": 10, "outcome": "completed"}]
    assert not {"claimedBy", "leaseUntil", "claimedAt", "startedAt", "steps", "error", "completedAt"} & set(job)
    assert client.job(J) == job and ids(client) == [] and state_of(client, "j:a") == "absent"
    assert client.stats()["days"][0]["processed"] == 1 and client.stats()["days"][0]["failed"] == 0
    sound(client)


def test_again_and_again(client: JobClient) -> None:
    """Each run has its own steps, with the ids of the run before, and its own args."""
    running(client)
    for run in range(1, 4):
        (record,) = client.record({"id": "a", "state": "resolved", "value": {"data": str(run)}}, id=J, version=run).must()[
            "promises"
        ]
        assert data_of(record["value"]) == str(run)
        args = {} if run == 2 else {"args": {"data": str(run)}}
        job = client.start_over(J, run, now=10 * run, **args).must()["job"]
        assert (job["restarts"], data_of(job.get("args", {}))) == (run, "" if run == 2 else str(run))
        assert client.run_one(J, now=10 * run + 1) == run + 1
        assert data_of(client.job(J).get("args", {})) == ("" if run == 2 else str(run)), "the next attempt reads them"
    done = client.complete(J, 4, now=100).must()["job"]
    assert (done["restarts"], data_of(done["args"])) == (3, "3")
    sound(client)


def test_messages_stay(client: JobClient) -> None:
    """Unread messages are for the next run; a key answers the same message; numbers continue."""
    running(client)
    for key in ("k", None, None):
        client.message("t", J, 2, value={"data": str(key)}, **({} if key is None else {"key": key})).must()
    assert data_of(client.receive("r", "t", J, now=3).must()["promise"]["value"]) == "k"
    client.start_over(J, now=4).must()
    assert client.run_one(J, now=5) == 2
    assert data_of(client.message("t", J, 6, key="k", value=OTHER).must()["promise"]["value"]) == "k"
    assert client.message("t", J, 6).must()["promise"]["id"] == "j:@t:#3"
    found = [data_of(client.receive(name, "t", J, 2, 7).must()["promise"]["value"]) for name in ("r", "s", "u")]
    assert found == ["None", "None", ""]
    sound(client)


def test_retries_begin_anew(client: JobClient) -> None:
    client.enqueue(J, now=0, maxRetries=3).must()
    for version in (1, 2):
        assert client.run_one(J, now=version) == version
        client.fail(J, version, now=version, retryAfter=0).must()
    assert client.run_one(J, now=3) == 3 and client.job(J)["retryCount"] == 2
    assert client.start_over(J, 3, now=4).must()["job"]["retryCount"] == 0


def test_the_errors_of_this_run_are_forgotten(client: JobClient) -> None:
    client.enqueue(J, now=0).must()
    client.run_one(J, now=1)
    client.fail(J, now=2, retryAfter=0).must()
    assert {"error", "failedAt"} & set(client.job(J)) == {"error"}
    client.run_one(J, now=3)
    job = client.start_over(J, 2, now=4).must()["job"]
    assert not {"error", "failedAt"} & set(job) and [one["outcome"] for one in job["attempts"]] == ["failed", "completed"]


def test_it_loses_its_place(client: JobClient) -> None:
    """A suspended attempt gave it the place of its start; the next run is enqueued when this one ends."""
    gates(client, "gate")
    version = running(client, now=5)
    client.wait_for("gate", id=J, version=version, now=6).must()
    client.enqueue("between", now=7).must()
    client.settle("gate", now=8).must()
    assert client.run_one(J, now=9) == 2, "before the one that came between"
    client.start_over(J, 2, now=10).must()
    assert client.claimed(2, now=11) == ["between", J]


def test_a_batch_may(client: JobClient) -> None:
    enqueue_batch(client, J, "beside", now=1)
    for job in client.claim(now=1).must()["jobs"]:
        client.start(job["id"], job["version"], now=1).must()
    job = client.start_over(J, now=2).must()["job"]
    assert (job["state"], "batch" in job) == ("pending", True)
    sound(client)


def test_its_own_callbacks_go_with_the_steps(client: JobClient) -> None:
    """A child that it awaits from the beginning, and that it lacked."""
    version = running(client)
    client.record("a", "b", id=J, now=1).must()
    client.child("c", J, now=1).must()
    client.wait_for("j:a", "c", "j:b", id=J, version=version, now=2).must()
    client.settle("j:a", now=3).must()
    assert client.run_one("c", now=3) == 1
    client.complete("c", now=4).must()
    assert client.run_one(J, now=5) == 2
    client.start_over(J, 2, now=6).must()
    assert [state_of(client, id) for id in ("j:a", "j:b", "c")] == ["absent"] * 3
    sound(client)


def test_what_is_below_a_child_job_goes_too(client: JobClient) -> None:
    running(client)
    client.child("c", J, now=1).must()
    assert client.run_one("c", now=1) == 1
    client.record("a", id="c", now=1).must()
    client.child("g", "c", now=1).must()
    client.message("t", "c", 1).must()
    for id in ("g", "c"):
        client.settle(id, now=2).must()
    client.start_over(J, now=3).must()
    assert [state_of(client, id) for id in ("c", "c:a", "g", "c:@t:#1")] == ["absent"] * 4
    sound(client)


def test_a_call_that_nobody_took_goes(client: JobClient) -> None:
    """With its message, which would name a task that does not exist."""
    running(client)
    step(client, "call", tags={"resonate:target": ADDRESS})
    assert executes(client.store) != []
    client.start_over(J, now=2).must()
    assert executes(client.store) == []
    sound(client)


def test_a_step_whose_deadline_has_passed(client: JobClient) -> None:
    running(client)
    step(client, "a", timeoutIn=10)
    client.start_over(J, now=500).must()
    assert client.store.tick(500) == [] and state_of(client, "j:a") == "absent"
    sound(client)


# --- when something needs a step ----------------------------------------------------------------------------------------
# What prevents it, and what ends that; every job has the step j:a and the child job c.
# fmt: off
NEEDED: dict[str, tuple[Callable[[JobClient], Any], Callable[[JobClient], Any]]] = {
    "a pending child job": (lambda d: d.child("c2", J, now=2), lambda d: d.administer("cancel", "c2", now=3)),
    "an archived child job": (
        lambda d: (d.child("c2", J, now=2), d.administer("archive", "c2", now=2)), lambda d: d.administer("cancel", "c2", now=3)
    ),
    "a running grandchild": (
        lambda d: (d.child("c2", J, now=2), d.run_one("c2", now=2), d.child("g", "c2", now=2), d.complete("c2", now=2)),
        lambda d: d.administer("cancel", "g", now=3),
    ),
    "a listener": (lambda d: d.listen("j:a", now=2), lambda d: (d.settle("j:a", now=3), d.store.take_messages())),
    "a message that is not delivered": (
        lambda d: (d.listen("j:a", now=2), d.settle("j:a", now=2)), lambda d: d.store.take_messages()
    ),
    "a task that waits": (
        lambda d: (d.task_create("w", now=2), d.suspend("w", 0 if d.version == V25 else 1, "j:a", now=2)),
        lambda d: (d.settle("j:a", now=3), d.settle("w", now=3)),
    ),
    "a task that was woken": (
        lambda d: (d.task_create("w", now=2), d.suspend("w", 0 if d.version == V25 else 1, "j:a", now=2), d.settle("j:a", now=2)),
        lambda d: d.settle("w", now=3),
    ),
    "a job that waited": (
        lambda d: (d.create("gate", now=2), d.enqueue("k", now=2, after=["j:a", "gate"]), d.settle("j:a", now=2)),
        lambda d: d.administer("cancel", "k", now=3),
    ),
    "a step that became a job": (lambda d: d.enqueue("j:a", now=2), lambda d: d.administer("cancel", "j:a", now=3)),
    "a job that waits": (lambda d: d.enqueue("k", now=2, after=["j:a"]), lambda d: d.administer("cancel", "k", now=3)),
    "a job that waits for a child job": (
        lambda d: (d.child("c2", J, now=2), d.enqueue("k", now=2, after=["c2"], afterFailed="run"),),
        lambda d: (d.settle("c2", now=3), d.administer("cancel", "k", now=3)),
    ),
}
# fmt: on


@pytest.mark.parametrize("name", NEEDED)
def test_something_needs_a_step(client: JobClient, name: str) -> None:
    begins, ends = NEEDED[name]
    running(client)
    step(client, "a")
    client.child("c", J, now=1).must()
    client.administer("cancel", "c", now=1).must()
    begins(client)
    before = rows_of(client.store)
    client.start_over(J, now=2).must(409)
    assert rows_of(client.store) == before
    ends(client)
    client.start_over(J, now=3).must()
    assert [state_of(client, id) for id in ("j:a", "c", "c2", "g")] == ["absent"] * 4
    sound(client)


# --- refusals -----------------------------------------------------------------------------------------------------------
# fmt: off
REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "args of another type": ({"args": "text"}, 400),
    "no job": ({"id": "nobody"}, 404),
    "a promise": ({"id": "plain"}, 404),
    "a stale version": ({"version": 2}, 409),
    "a claimed job": ({"id": "claimed"}, 409),
    "a job that does not run": ({"id": "idle", "version": 0}, 409),
}
# fmt: on


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_changes_nothing(client: JobClient, name: str) -> None:
    data, status = REFUSED[name]
    running(client)
    step(client, "a")
    client.create("plain", now=1).must()
    client.enqueue("claimed", now=1).must()
    client.claim(now=1).must()
    client.enqueue("idle", now=1).must()
    before = rows_of(client.store)
    reply = client.send("job.start_over", {"id": J, "version": 1, **data}, 2)
    assert reply.status == status_in(client.version, status) and reply.data
    assert rows_of(client.store) == before
