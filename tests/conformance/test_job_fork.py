"""job.fork makes a new job with the steps of another, up to one of them (JOBS 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_steps import NEVER, OTHER, VALUE, J, data_of, ids, lineage, running, state_of, step
from conformance.job_waits import gates, sound
from conformance.job_wire import JobClient
from conformance.wire import ADDRESS, V25, V26, executes, rows_of
from resonate_core.conformance.reply_form import status_in

HOUR = 3_600_000


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def forked(client: JobClient, name: str, now: int = 50, new_id: str = "n") -> list[tuple[str, str]]:
    """Forks the job before a step; returns the ids after the new job's id, and states, of the copies."""
    client.fork(name, new_id, J, now).must()
    found = client.history(new_id).must()["promises"]
    assert all(one["id"].startswith(f"{new_id}:") for one in found)
    return [(one["id"].removeprefix(f"{new_id}:"), one["state"]) for one in found]


# --- the job ------------------------------------------------------------------------------------------------------------
def test_the_new_job(client: JobClient) -> None:
    """It has the payload, args, tags and policy, and nothing of what happened to the other."""
    policy = {
        "priority": 7,
        "maxRetries": 9,
        "retryPolicy": {"kind": "fixed", "intervals": [5]},
        "onExhausted": "failed",
        "timeout": HOUR,
        "retention": 500,
    }
    own = {"goodUntil": HOUR, "deadline": 2 * HOUR, "uniqueKey": "k", "uniqueFor": HOUR, "sentAt": 0, "after": ["gate"]}
    gates(client, "gate")
    client.settle("gate", now=0).must()
    running(client, payload=VALUE, tags={"team": "blue"}, **policy, **own)
    client.start_over(J, now=2, args=OTHER).must()
    assert client.run_one(J, now=3) == 2
    client.record({"id": "a", "state": "resolved"}, "b", id=J, version=2, now=4).must()
    client.report(J, 2, now=4, progress=0.5).must()
    job = client.fork("b", "n", J, 50).must()["job"]
    expected = {
        "id": "n",
        "queue": "mail",
        "type": "email:send",
        "state": "pending",
        "payload": client.job(J)["payload"],
        "tags": {"team": "blue"},
        "version": 0,
        "retryCount": 0,
        "attempts": [],
        "steps": 1,
        "args": client.job(J)["args"],
        "createdAt": 50,
        "sentAt": 50,
        "enqueuedAt": 50,
        **policy,
    }
    assert job == expected and client.job("n") == job and data_of(job["args"]) == "eQ=="
    assert client.state(J) == "running" and client.job(J)["steps"] == 2
    sound(client)


@pytest.mark.parametrize("state", ["pending", "archived", "completed", "cancelled"])
def test_of_a_job_in_any_state(client: JobClient, state: str) -> None:
    running(client)
    client.record({"id": "a", "state": "resolved", "value": VALUE}, "b", id=J, now=2).must()
    {
        "pending": lambda: client.fail(J, now=3, retryAfter=0),
        "archived": lambda: client.fail(J, now=3, archive=True),
        "completed": lambda: client.complete(J, now=3),
        "cancelled": lambda: client.administer("cancel", J, now=3),
    }[state]().must()
    assert forked(client, "b") == [("a", "resolved")] and client.state("n") == "pending"
    version = client.run_one("n", now=60) if state != "pending" else None
    if version is not None:
        (record,) = client.record("a", id="n", version=version, now=61).must()["promises"]
        assert data_of(record["value"]) == "eA==", "the function takes the record"
    sound(client)


def test_the_lifecycle_goes_on(client: JobClient) -> None:
    """A crash without a retry left archives a fork of a workflow, too."""
    client.enqueue(J, now=0, lifecycle="workflow", maxRetries=0).must()
    assert client.claimed(now=1) == [J] and client.state(J) == "running"
    client.record("a", id=J, now=1).must()
    client.fork("a", "n", J, 2).must()
    (job,) = client.claim(now=3, lease=100).must()["jobs"]
    assert (job["id"], job["state"]) == ("n", "running")
    client.store.clock.advance_to(200)
    assert client.state("n") == "archived"


def test_a_fork_of_a_child_is_no_child(client: JobClient) -> None:
    running(client)
    client.child("j:c", J, now=1, tags={"resonate:origin": "other", "team": "blue"}).must()
    assert client.run_one("j:c", now=2) == 1
    client.record("x", id="j:c", now=3).must()
    client.fork("x", "j:n", "j:c", 4).must()
    assert ids(client) == ["c"] and client.job(J)["steps"] == 1
    assert client.job("j:n")["tags"] == {"resonate:origin": "other", "team": "blue"}, "the tags that it was given itself"
    client.administer("delete", "j:n", now=5).must()


def test_a_fork_of_a_fork(client: JobClient) -> None:
    running(client)
    client.record({"id": "a", "state": "resolved"}, {"id": "b", "state": "rejected"}, "c", id=J, now=2).must()
    assert forked(client, "c", 10) == [("a", "resolved"), ("b", "rejected")]
    client.fork("b", "m", "n", 20).must()
    assert [one["id"] for one in client.history("m").must()["promises"]] == ["m:a"]
    sound(client)


# --- the copies ---------------------------------------------------------------------------------------------------------
def test_the_order_in_which_they_were_made_decides(client: JobClient) -> None:
    """Not their ids, and not the instants at which they were settled."""
    running(client)
    client.record("z", "a", id=J, now=2).must()
    client.record({"id": "m", "state": "resolved"}, id=J, now=2).must()
    client.record("b", id=J, now=2).must()
    for name in ("a", "z"):
        client.settle(f"j:{name}", now=9).must()
    assert forked(client, "z", new_id="n1") == []
    assert forked(client, "a", new_id="n2") == [("z", "resolved")]
    assert forked(client, "m", new_id="n3") == [("a", "resolved"), ("z", "resolved")]
    assert forked(client, "b", new_id="n4") == [("a", "resolved"), ("m", "resolved"), ("z", "resolved")]
    client.fork("m", "n5", "n4", 60).must()
    assert [one["id"] for one in client.history("n5").must()["promises"]] == ["n5:a", "n5:z"], (
        "a fork has the order of the original"
    )
    sound(client)


def test_a_copy(client: JobClient) -> None:
    running(client, tags={"resonate:origin": "root"})
    step(client, "a", "rejected", VALUE, param=OTHER, tags={"team": "blue", "resonate:branch": "j:a", "resonate:prefix": "jump"})
    step(client, "b")
    client.fork("b", "n", J, 50).must()
    (copy,) = client.history("n").must()["promises"]
    assert (copy["id"], copy["state"], copy["createdAt"], copy["settledAt"], copy["timeoutAt"]) == (
        "n:a",
        "rejected",
        50,
        50,
        NEVER,
    )
    assert copy["value"] == VALUE and data_of(copy["param"]) == "eQ=="
    assert copy["tags"] == {
        **lineage("n", origin="root"),
        "resonate:prefix": "jump",
        "resonate:branch": "n:a",
        "team": "blue",
    }


def test_states_of_copies(client: JobClient) -> None:
    running(client)
    for n, state in enumerate(("resolved", "rejected", "rejected_canceled")):
        step(client, f"{n}", state, VALUE)
    step(client, "3", timeoutIn=10)
    step(client, "4", timeoutIn=10, tags={"resonate:timer": "true"})
    step(client, "5", tags={"resonate:target": ADDRESS})
    client.receive("6", "t", J, now=2).must()
    client.message("t", J, 3, value=OTHER).must()
    client.settle("j:5", now=4).must()
    client.child("j:7", J, now=5).must()
    client.administer("cancel", "j:7", now=6).must()
    step(client, "last")
    client.store.take_messages()
    states = [
        "resolved",
        "rejected",
        "rejected_canceled",
        "rejected_timedout",
        "resolved",
        "resolved",
        "resolved",
        "rejected_canceled",
    ]
    assert forked(client, "last") == [(str(n), state) for n, state in enumerate(states)]
    copies = client.history("n").must()["promises"]
    assert [one["timeoutAt"] for one in copies] == [50 if n == 3 else NEVER for n in range(8)]
    assert [(one["createdAt"], one["settledAt"]) for one in copies] == [(50, 50)] * 8
    assert data_of(copies[6]["value"]) == "eQ==" and copies[7]["value"] == client.get("j:7").must()["promise"]["value"]
    client.send("job.get", {"id": "n:7"}).must(404)
    assert executes(client.store) == [] and client.job("n")["steps"] == 8
    sound(client)


def test_a_deadline_that_no_step_has_written_yet(client: JobClient) -> None:
    running(client)
    step(client, "a", timeoutIn=10)
    step(client, "b")
    assert forked(client, "b", 500) == [("a", "rejected_timedout")]


def test_a_fork_of_a_child_has_a_lineage_of_its_own(client: JobClient) -> None:
    """Of the job and of its copies: they begin at the fork, not where the original began."""
    running(client)
    client.child("j:c", J, now=1, queue="q2").must()
    client.run_one("j:c", now=1, queues=["q2"])
    client.record({"id": "a", "state": "resolved", "tags": {"team": "blue"}}, "b", id="j:c", now=2).must()
    assert client.history("j:c").must()["promises"][0]["tags"] == {**lineage("j:c", origin=J), "team": "blue"}
    assert client.fork("b", "n", "j:c", 3).must()["job"]["tags"] == {}
    assert client.history("n").must()["promises"][0]["tags"] == {**lineage("n"), "team": "blue"}


def test_messages_are_not_copied(client: JobClient) -> None:
    """Nor counted: the first message of the fork is its first."""
    running(client)
    client.message("t", J, 2).must()
    step(client, "a")
    assert forked(client, "a") == []
    assert client.message("t", "n", 51).must()["promise"]["id"] == "n:@t:#1"


@pytest.mark.parametrize("pending", [False, True])
def test_children_with_other_ids_are_left_out(client: JobClient, pending: bool) -> None:
    """Even a child job that still runs."""
    running(client)
    client.child("elsewhere", J, now=1).must()
    if not pending:
        client.administer("cancel", "elsewhere", now=1).must()
    client.record({"id": "a", "state": "resolved"}, "b", id=J, now=2).must()
    assert forked(client, "b") == [("a", "resolved")]


def test_from_a_child_job(client: JobClient) -> None:
    running(client)
    client.record({"id": "a", "state": "resolved"}, id=J, now=2).must()
    client.child("elsewhere", J, now=3).must()
    client.send("job.fork", {"id": J, "from": "elsewhere", "newId": "n"}, 4).must()
    assert [one["id"] for one in client.history("n").must()["promises"]] == ["n:a"]


# --- refusals -----------------------------------------------------------------------------------------------------------
# fmt: off
REFUSED: dict[str, tuple[Callable[[JobClient], Any], dict[str, Any], int]] = {
    "no job": (lambda d: None, {"id": "nobody"}, 404),
    "a promise": (lambda d: None, {"id": "plain"}, 404),
    "no job, and an id that exists": (lambda d: None, {"id": "nobody", "newId": "plain"}, 404),
    "an id that exists": (lambda d: None, {"newId": "plain"}, 409),
    "its own id": (lambda d: None, {"newId": J}, 409),
    "an id that exists, and no step": (lambda d: None, {"newId": "plain", "from": "j:none"}, 409),
    "the id of a copy exists": (lambda d: d.create("n:a", now=2), {}, 409),
    "no step": (lambda d: None, {"from": "j:none"}, 422),
    "a promise that is no step": (lambda d: None, {"from": "plain"}, 422),
    "a message": (lambda d: d.message("t", J, 2), {"from": "j:@t:#1"}, 422),
    "the job itself": (lambda d: None, {"from": J}, 422),
    "a step of another job": (lambda d: (running(d, "k", now=2), d.record("a", id="k", now=2)), {"from": "k:a"}, 422),
    "a pending step before it": (lambda d: None, {"from": "j:c"}, 422),
    "a pending child job before it": (
        lambda d: (d.settle("j:b", now=2), d.settle("j:c", now=2), d.child("j:job", J, now=2), d.record("d", id=J, now=2)),
        {"from": "j:d"},
        422,
    ),
}
# fmt: on


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_changes_nothing(client: JobClient, name: str) -> None:
    begins, data, status = REFUSED[name]
    client.create("plain", now=1).must()
    running(client)
    client.record({"id": "a", "state": "resolved"}, "b", "c", id=J, now=2).must()
    begins(client)
    before = rows_of(client.store)
    reply = client.send("job.fork", {"id": J, "from": "j:b", "newId": "n", **data}, 2)
    assert reply.status == status_in(client.version, status) and reply.data
    assert rows_of(client.store) == before


def test_an_id_that_ends_where_a_copy_begins(client: JobClient) -> None:
    """A promise below the new id does no harm if no copy has its id."""
    running(client)
    client.record({"id": "a", "state": "resolved"}, "b", id=J, now=2).must()
    client.create("n:b", now=3).must()
    assert forked(client, "b") == [("a", "resolved")] and state_of(client, "n:b") == "pending"


def test_ten_thousand_are_most(client: JobClient) -> None:
    running(client)
    for at in range(0, 10_000, 1_000):
        client.record(*({"id": f"{n:05}", "state": "resolved"} for n in range(at, at + 1_000)), id=J, now=2).must()
    client.record("more", "most", id=J, now=2).must()
    assert client.fork("most", "m", J, 3).status == status_in(client.version, 422)
    assert client.fork("more", "n", J, 3).must()["job"]["steps"] == 10_000


def test_ids_of_copies_are_bounded(client: JobClient) -> None:
    """An index of a database holds them twice."""
    running(client)
    step(client, "a" * 900, "resolved")
    step(client, "b")
    client.fork("b", "n" * 100, J, 9).must(status_in(client.version, 422))
    client.fork("b", "n" * 99, J, 9).must()
    sound(client)
