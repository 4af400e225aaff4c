"""job.record: the steps of a running job (JOBS 9). The table of job_transitions.py has the request from each state of the job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_steps import AT, NEVER, OTHER, VALUE, J, data_of, ids, lineage, put, running, state_of, step
from conformance.job_waits import callbacks, sound
from conformance.job_wire import MAX, JobClient
from conformance.wire import ADDRESS, V25, V26, executes, rows_of
from resonate_core.conformance.reply_form import status_in


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


# --- one step ---------------------------------------------------------------------------------------------------------
def test_a_pending_step(client: JobClient) -> None:
    running(client)
    record = client.record({"id": "a", "param": VALUE}, id=J, now=5).must()["promises"][0]
    assert (record["id"], record["state"], record["createdAt"], record["timeoutAt"]) == ("j:a", "pending", 5, NEVER)
    assert record["param"] == VALUE and "settledAt" not in record and record["tags"] == lineage()
    assert client.get("j:a").must()["promise"] == record
    assert client.job(J)["steps"] == 1 and client.store.next_due() in (10**10 + 1, None)
    sound(client)


@pytest.mark.parametrize("state", ["resolved", "rejected", "rejected_canceled"])
def test_a_step_that_is_over(client: JobClient, state: str) -> None:
    running(client)
    record = client.record({"id": "a", "state": state, "value": VALUE, "param": OTHER}, id=J, now=5).must()["promises"][0]
    assert (record["state"], record["createdAt"], record["settledAt"], record["timeoutAt"]) == (state, 5, 5, NEVER)
    assert record["value"] == VALUE and data_of(record["param"]) == "eQ=="
    assert client.get("j:a").must()["promise"] == record
    assert client.history(J).must()["promises"] == [record]
    sound(client)


@pytest.mark.parametrize("state", ["resolved", "rejected", "rejected_canceled"])
def test_a_pending_step_is_settled(client: JobClient, state: str) -> None:
    running(client)
    step(client, "a", param=OTHER)
    record = client.record({"id": "a", "state": state, "value": VALUE, "param": VALUE}, id=J, now=7).must()["promises"][0]
    assert (record["state"], record["createdAt"], record["settledAt"]) == (state, 1, 7) and record["value"] == VALUE
    assert data_of(record["param"]) == "eQ==", "what it was created with stays"
    assert client.job(J)["steps"] == 1
    sound(client)


# The state after a second record of a step, by the states of the first and of the second.
# fmt: off
TWICE: dict[tuple[str, str], str] = {
    ("pending",           "pending"):           "pending",
    ("pending",           "resolved"):          "resolved",
    ("pending",           "rejected"):          "rejected",
    ("pending",           "rejected_canceled"): "rejected_canceled",
    ("resolved",          "pending"):           "resolved",
    ("resolved",          "resolved"):          "resolved",
    ("resolved",          "rejected"):          "resolved",
    ("rejected",          "resolved"):          "rejected",
    ("rejected_canceled", "rejected"):          "rejected_canceled",
}
# fmt: on


@pytest.mark.parametrize("case", TWICE, ids="-".join)
@pytest.mark.parametrize("at_once", [False, True])
def test_a_step_twice(client: JobClient, case: tuple[str, str], at_once: bool) -> None:
    """In two requests, or in one."""
    first, second = (
        {"id": "a", "state": state, **({} if state == "pending" else {"value": value})}
        for state, value in zip(case, (VALUE, OTHER), strict=True)
    )
    running(client)
    if at_once:
        records = client.record(first, second, id=J, now=5).must()["promises"]
        assert records[0]["state"] in (case[0], TWICE[case])
    else:
        client.record(first, id=J, now=5).must()
        records = client.record(second, id=J, now=6).must()["promises"]
    assert records[-1]["state"] == TWICE[case]
    data = "" if TWICE[case] == "pending" else "eQ==" if case[0] == "pending" else "eA=="
    assert data_of(records[-1]["value"]) == data and client.job(J)["steps"] == 1
    sound(client)


def test_many_steps_in_order(client: JobClient) -> None:
    running(client)
    step(client, "d")
    given = [{"id": "b", "state": "resolved", "value": VALUE}, "a", {"id": "d", "state": "rejected"}, {"id": "c", "timeoutIn": 10}]
    records = client.record(*given, id=J, now=5).must()["promises"]
    assert [(one["id"], one["state"]) for one in records] == [
        ("j:b", "resolved"),
        ("j:a", "pending"),
        ("j:d", "rejected"),
        ("j:c", "pending"),
    ]
    assert ids(client) == ["d", "a", "b", "c"], "by the instant at which they were made, then by id"
    assert client.job(J)["steps"] == 4


def test_no_steps(client: JobClient) -> None:
    running(client)
    assert client.record(id=J, now=5).must().data == {"promises": []}
    assert "steps" not in client.job(J)


def test_a_thousand_a_request(client: JobClient) -> None:
    running(client)
    steps = [{"id": f"{n:04}", "state": "resolved"} for n in range(1000)]
    assert len(client.record(*steps, id=J, now=5).must()["promises"]) == 1000
    client.record(*steps, "more", id=J, now=6).must(400)
    assert client.job(J)["steps"] == 1000


# --- time -------------------------------------------------------------------------------------------------------------
def test_the_deadline_of_a_step(client: JobClient) -> None:
    running(client)
    record = client.record({"id": "a", "timeoutIn": 10}, id=J, now=5).must()["promises"][0]
    assert record["timeoutAt"] == 15
    (fired,) = client.store.tick(15)
    assert (fired.kind, fired.id, state_of(client, "j:a")) == ("promise_timeout", "j:a", "rejected_timedout")
    settled = client.record({"id": "a", "state": "resolved", "value": VALUE}, id=J, now=16).must()["promises"][0]
    assert settled["state"] == "rejected_timedout" and data_of(settled["value"]) == ""


def test_a_step_at_its_deadline_is_settled_no_more(client: JobClient) -> None:
    """The deadline wins, even before its step has run."""
    running(client)
    client.record({"id": "a", "timeoutIn": 10}, id=J, now=5).must()
    record = client.record({"id": "a", "state": "resolved"}, id=J, now=15).must()["promises"][0]
    assert (record["state"], record["settledAt"]) == ("rejected_timedout", 15)


@pytest.mark.parametrize("state", ["pending", "resolved"])
def test_a_step_without_time(client: JobClient, state: str) -> None:
    running(client)
    records = client.record(
        {"id": "a", "timeoutIn": 0, "state": state},
        {"id": "timer", "timeoutIn": 0, "state": state, "tags": {"resonate:timer": "true"}},
        id=J,
        now=5,
    ).must()["promises"]
    assert [(one["state"], one["createdAt"], one["settledAt"]) for one in records] == [
        ("rejected_timedout", 5, 5),
        ("resolved", 5, 5),
    ]
    sound(client)


def test_a_deadline_beyond_the_last_instant(client: JobClient) -> None:
    running(client)
    assert client.record({"id": "a", "timeoutIn": MAX}, id=J, now=5).must()["promises"][0]["timeoutAt"] == MAX


def test_a_sleep(client: JobClient) -> None:
    version = running(client)
    step(client, "nap", timeoutIn=100, tags={"resonate:timer": "true"})
    client.wait_for("j:nap", id=J, version=version, now=2).must()
    assert client.store.clock.advance_to(100) == [] and client.state(J) == "waiting"
    client.store.clock.advance_to(101)
    assert (client.state(J), state_of(client, "j:nap")) == ("pending", "resolved")
    sound(client)


# --- what the tags mean -----------------------------------------------------------------------------------------------
def test_a_step_with_a_target_is_a_call(client: JobClient) -> None:
    running(client)
    record = step(client, "call", tags={"resonate:target": ADDRESS}, param=VALUE)
    assert record["tags"] == {**lineage(J, "j:call"), "resonate:target": ADDRESS}, "it has a branch of its own"
    assert [(id, version) for _, id, version in executes(client.store)] == [("j:call", 0)]
    client.acquire("j:call", now=3).must()
    client.fulfill("j:call", 1 if client.version == V26 else 0, now=4).must()
    assert client.history(J).must()["promises"][0]["state"] == "resolved"
    sound(client)


def test_a_call_that_is_over(client: JobClient) -> None:
    running(client)
    step(client, "call", "resolved", VALUE, tags={"resonate:target": ADDRESS})
    assert executes(client.store) == []
    sound(client)


def test_own_tags_come_before_those_of_lineage(client: JobClient) -> None:
    running(client)
    own = {"resonate:branch": "other", "resonate:scope": "global", "team": "blue"}
    assert step(client, "a", tags=own)["tags"] == {**lineage(), **own}


def test_lineage_is_inherited(client: JobClient) -> None:
    running(client, tags={"resonate:origin": "root", "resonate:prefix": "root", "resonate:parent": "up", "resonate:branch": "up"})
    assert step(client, "a")["tags"] == lineage(origin="root")


def test_a_strict_store_has_the_same_rules(make_store: Callable[..., Any]) -> None:
    """A timer has no target, and a step may be awaited without a tag."""
    client = JobClient(make_store(rules="strict"))
    version = running(client)
    bad = {"id": "a", "tags": {"resonate:timer": "true", "resonate:target": ADDRESS}}
    client.record(bad, id=J, version=version, now=2).must(400)
    client.record("a", id=J, version=version, now=3).must()
    client.listen("j:a", now=4).must()
    client.wait_for("j:a", id=J, version=version, now=5).must()
    assert callbacks(client, "j:a") == [J]
    sound(client)


# --- progress ---------------------------------------------------------------------------------------------------------
def test_a_new_step_begins_the_retries_anew(client: JobClient) -> None:
    client.enqueue(J, now=0, maxRetries=2, retryPolicy={"kind": "fixed", "intervals": [0]}).must()
    for n, (steps, left) in enumerate(((["a"], 1), ([], 2)), 1):
        assert client.run_one(J, now=10 * n) == n
        client.record(*steps, id=J, version=n, now=10 * n).must()
        job = client.fail(J, n, now=10 * n).must()["job"]
        assert (job["state"], job["retryCount"]) == ("retry", left)
    assert client.run_one(J, now=50) == 3
    client.record("a", id=J, version=3, now=50).must()
    assert client.job(J)["retryCount"] == 2, "a step that was there is no progress"
    client.record({"id": "a", "state": "resolved"}, id=J, version=3, now=51).must()
    assert client.job(J)["retryCount"] == 2, "nor is its end"
    client.record({"id": "b", "state": "resolved"}, id=J, version=3, now=52).must()
    assert client.job(J)["retryCount"] == 0


def test_steps_outlive_attempts(client: JobClient) -> None:
    running(client)
    step(client, "a", "resolved", VALUE)
    client.fail(J, 1, now=5, retryAfter=0).must()
    assert client.run_one(J, now=6) == 2
    client.record("a", id=J, version=1, now=7).must(409)
    (record,) = client.record("a", id=J, version=2, now=7).must()["promises"]
    assert record["state"] == "resolved" and record["value"] == VALUE


# --- wake-ups ---------------------------------------------------------------------------------------------------------
def test_a_step_that_is_settled_wakes_who_waits_for_it(client: JobClient) -> None:
    version = running(client)
    step(client, "a")
    client.enqueue("other", now=1, after=["j:a"]).must()
    client.record({"id": "a", "state": "resolved"}, id=J, version=version, now=5).must()
    assert client.state("other") == "pending"
    sound(client)


def test_the_job_waits_for_its_step(client: JobClient) -> None:
    """Once it does not wait any more, the step has no callback of it."""
    version = running(client)
    client.record("a", "b", id=J, now=1).must()
    client.wait_for("j:a", "j:b", id=J, version=version, now=2).must()
    client.settle("j:a", now=3).must()
    assert client.state(J) == "pending" and callbacks(client, "j:b") == []
    sound(client)


# --- what has the id already --------------------------------------------------------------------------------------------
# For each promise with the id of a step: the status, and the state after "pending" and after "resolved".
# fmt: off
EXISTING: dict[str, tuple[int, str, str]] = {
    "nothing":                (200, "pending", "resolved"),
    "a promise":              (409, "pending", "pending"),
    "a settled promise":      (409, "resolved", "resolved"),
    "a promise with its tag": (409, "pending", "pending"),
    "a timer":                (409, "pending", "pending"),
    "a task":                 (409, "pending", "pending"),
    "a job":                  (409, "pending", "pending"),
    "its step":               (200, "pending", "resolved"),
    "its settled step":       (200, "rejected", "rejected"),
    "its receive":            (200, "pending", "resolved"),
    "its child":              (200, "pending", "resolved"),
    "its final child":        (200, "rejected_canceled", "rejected_canceled"),
    "the step of another":    (409, "pending", "pending"),
    "the child of another":   (409, "pending", "pending"),
}
# fmt: on


@pytest.mark.parametrize("kind", EXISTING)
def test_each_kind_of_existing_id(client: JobClient, kind: str) -> None:
    status, *states = EXISTING[kind]
    running(client)
    put(client, kind, "j:k:x")
    for now, wanted, state in ((5, "pending", states[0]), (6, "resolved", states[1])):
        before = rows_of(client.store)
        reply = client.record("new", {"id": "k:x", "state": wanted}, id=J, now=now).must(status)
        assert state_of(client, "j:k:x") == state
        if status == 409:
            assert rows_of(client.store) == before, "nothing is written, not even the first step"
        else:
            assert [one["state"] for one in reply["promises"]] == ["pending", state]
    sound(client)


def test_the_table_has_each_kind() -> None:
    assert set(EXISTING) == set(AT)


@pytest.mark.parametrize(("state", "job"), [("resolved", "completed"), ("rejected", "failed"), ("rejected_canceled", "cancelled")])
def test_to_settle_a_child_job_settles_the_job(client: JobClient, state: str, job: str) -> None:
    running(client)
    client.child("j:c", J, now=1).must()
    client.record({"id": "c", "state": state, "value": VALUE}, id=J, now=5).must()
    found = client.job("j:c")
    assert found["state"] == job and data_of(found["result"]) == "eA=="
    sound(client)


# --- refusals ---------------------------------------------------------------------------------------------------------
# fmt: off
REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "another id": ({"steps": [{"id": "a"}]}, 400),
    "the job's id": ({"steps": [{"id": "j"}]}, 400),
    "an id without the colon": ({"steps": [{"id": "ja"}]}, 400),
    "an id of messages": ({"steps": [{"id": "j:@t:a"}]}, 400),
    "a bad id, of a job that does not exist": ({"id": "nobody", "steps": [{"id": "a"}]}, 400),
    "a bad id after a good one": ({"steps": [{"id": "j:new"}, {"id": "a"}]}, 400),
    "a bad id, and a stale version": ({"version": 2, "steps": [{"id": "a"}]}, 400),
    "no job": ({"id": "nobody", "steps": []}, 404),
    "a promise": ({"id": "plain", "steps": []}, 404),
    "a step": ({"id": "j:a", "steps": []}, 404),
    "a stale version": ({"version": 2}, 409),
    "a version before": ({"version": 0}, 409),
    "a stale version, and an id that is no step": ({"version": 2, "steps": [{"id": "j:plain"}]}, 409),
    "a claimed job": ({"id": "claimed", "steps": []}, 409),
    "an id that is no step": ({"steps": [{"id": "j:plain"}]}, 409),
    "an id that is no step after a new one": ({"steps": [{"id": "j:new"}, {"id": "j:plain"}]}, 409),
    "a delay": ({"steps": [{"id": "j:new", "tags": {"resonate:delay": "5", "resonate:target": ADDRESS}}]}, 400),
    "a delay, and a stale version": (
        {"version": 2, "steps": [{"id": "j:new", "tags": {"resonate:delay": "5", "resonate:target": ADDRESS}}]}, 400
    ),
}
# fmt: on


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_record_changes_nothing(client: JobClient, name: str) -> None:
    data, status = REFUSED[name]
    running(client)
    for id in ("plain", "j:plain"):
        client.create(id, now=1).must()
    client.enqueue("claimed", now=1).must()
    client.claim(now=1).must()
    step(client, "a")
    before = rows_of(client.store)
    reply = client.send("job.record", {"id": J, "version": 1, "steps": [{"id": "j:a", "state": "resolved"}], **data}, 2)
    assert reply.status == status_in(client.version, status) and reply.data
    assert rows_of(client.store) == before


def test_a_job_past_its_deadline_records_nothing(client: JobClient) -> None:
    running(client, deadline=50)
    client.record("a", id=J, now=50).must(409)
    assert state_of(client, "j:a") == "absent" and client.state(J) == "failed"
