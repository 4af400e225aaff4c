"""Jobs that wait for promises before their first start: `after` (JOBS 8). The table of job_transitions.py has each request from `waiting`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.job_waits import HOW, after, awaits, callbacks, complete, end, gates, sound, task_of
from conformance.job_wire import JobClient, encoded_error
from conformance.wire import V25, V26, rows_of, stored
from resonate_core.conformance.reply_form import status_in

SETTLED = ("resolved", "rejected", "rejected_canceled", "rejected_timedout")
FAILED = SETTLED[1:]


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


# --- the record -----------------------------------------------------------------------------------------------------
def test_the_record_of_a_job_that_waits(client: JobClient) -> None:
    gates(client, "a", "b")
    job = after(client, "b", "a", "b", now=5, sentAt=3)
    assert job["state"] == "waiting" and job["version"] == 0
    assert (job["after"], job["afterFailed"]) == (["b", "a"], "cancel"), "in the order given, each once"
    assert job["awaits"] == {"ids": ["b", "a"], "count": 2}
    assert {name: at for name, at in job.items() if name.endswith("At")} == {"createdAt": 5, "sentAt": 3}
    assert client.job("j") == job and client.jobs(state="waiting") == ["j"]
    assert task_of(client) == ("suspended", 0) and client.task("j").must()["task"]["version"] == 0
    assert [callbacks(client, id) for id in ("a", "b")] == [["j"], ["j"]]
    row = stored(client.store, "j")["job"]
    assert (row["after"], row["afterFailed"], row["awaits"]) == (["b", "a"], "cancel", ["b", "a"]) and "until" not in row
    assert client.store.next_due() in (None, 10**12), "no timer but the deadlines of the gates"
    sound(client)


def test_what_it_waited_for_stays_in_the_record(client: JobClient) -> None:
    gates(client, "a")
    after(client, "a", afterFailed="run")
    client.settle("a", now=10).must()
    job = client.job("j")
    assert (job["after"], job["afterFailed"], job["state"], job["enqueuedAt"]) == (["a"], "run", "pending", 10)
    complete(client, "j", 11)
    assert client.job("j")["after"] == ["a"]


def test_a_job_without_after_has_no_such_members(client: JobClient) -> None:
    job = client.enqueue("j", now=7).must()["job"]
    assert not {"after", "afterFailed", "awaits"} & set(job) and job["createdAt"] == 7


def test_createdAt_is_that_of_the_promise(client: JobClient) -> None:
    client.create("j", now=3, tags={"resonate:external": "true"}).must()
    assert client.enqueue("j", now=8).must()["job"]["createdAt"] == 3
    assert client.enqueue("late", now=8, deadline=5).must()["job"]["createdAt"] == 5
    for id in ("j", "late"):
        assert client.job(id)["createdAt"] == client.get(id).must()["promise"]["createdAt"]


def test_the_first_hundred_are_shown(client: JobClient) -> None:
    ids = [f"g{n:03}" for n in range(130)]
    gates(client, *ids)
    job = after(client, *reversed(ids))
    assert job["awaits"] == {"ids": ids[:29:-1], "count": 130} and len(job["after"]) == 130
    for n in (129, 5, 100):
        client.settle(ids[n], now=2).must()
    left = [id for id in reversed(ids) if id not in (ids[129], ids[5], ids[100])]
    assert client.job("j")["awaits"] == {"ids": left[:100], "count": 127} and awaits(client) == left


# --- the ends of what it waits for ------------------------------------------------------------------------------------
# The state of the job after one of the promises ended, by how that one ended and `afterFailed`: if it was the only one; the first of
# two; the last of two, of which the other was resolved before.
# fmt: off
TABLE: dict[tuple[str, str], tuple[str, str, str]] = {
    # ended                the option   the only one  the first    the last
    ("resolved",          "cancel"): ("pending",    "waiting",   "pending"),
    ("resolved",          "run"):    ("pending",    "waiting",   "pending"),
    ("rejected",          "cancel"): ("cancelled",  "cancelled", "cancelled"),
    ("rejected",          "run"):    ("pending",    "waiting",   "pending"),
    ("rejected_canceled", "cancel"): ("cancelled",  "cancelled", "cancelled"),
    ("rejected_canceled", "run"):    ("pending",    "waiting",   "pending"),
    ("rejected_timedout", "cancel"): ("cancelled",  "cancelled", "cancelled"),
    ("rejected_timedout", "run"):    ("pending",    "waiting",   "pending"),
}
# fmt: on
CASES = [(*key, place, cell) for key, cells in TABLE.items() for place, cell in zip(("only", "first", "last"), cells, strict=True)]


def deadline_of(state: str) -> dict[str, int]:
    """The deadline of a promise that ends in a state at the instant 10."""
    return {"timeout": 10} if state == "rejected_timedout" else {}


def assert_cancelled(client: JobClient, state: str, at: int, awaited: str = "a") -> None:
    why = f'the awaited promise "{awaited}" {HOW[state]}'
    job = client.job("j")
    assert (job["state"], job["cancelledAt"]) == ("cancelled", at)
    assert job["error"] == {"code": "DependencyFailed", "message": why}
    assert job["attempts"] == [] and "enqueuedAt" not in job and "awaits" not in job
    promise = client.get("j").must()["promise"]
    assert (promise["state"], promise["settledAt"]) == ("rejected_canceled", at)
    assert promise["value"]["data"] == job["result"]["data"] == encoded_error("DependencyFailed", why)
    assert task_of(client) == ("fulfilled", 0)


@pytest.mark.parametrize(("state", "option", "place", "cell"), CASES)
def test_one_ends_after_the_enqueue(client: JobClient, state: str, option: str, place: str, cell: str) -> None:
    gates(client, "a", **deadline_of(state))
    gates(client, "b")
    after(client, *(["a"] if place == "only" else ["b", "a"]), afterFailed=option)
    if place == "last":
        client.settle("b", now=9).must()
        assert awaits(client) == ["a"] and client.state("j") == "waiting"
    end(client, "a", state, 10)
    if cell == "cancelled":
        assert_cancelled(client, state, 10)
        assert callbacks(client, "b") == [], "it takes its callbacks back"
    else:
        job = client.job("j")
        assert (job["state"], job.get("enqueuedAt")) == (cell, 10 if cell == "pending" else None)
        assert awaits(client) == (["b"] if cell == "waiting" else [])
        assert task_of(client) == ("suspended" if cell == "waiting" else "pending", 0)
    assert callbacks(client, "a") == []
    sound(client)


@pytest.mark.parametrize(("state", "option", "place", "cell"), CASES)
def test_one_had_ended_at_the_enqueue(client: JobClient, state: str, option: str, place: str, cell: str) -> None:
    """The result is that of the other order; the instant is that of the enqueue."""
    gates(client, "a", **deadline_of(state))
    gates(client, "b")
    end(client, "a", state, 10)
    if place == "last":
        client.settle("b", now=11).must()
    job = after(client, *(["a"] if place == "only" else ["b", "a"]), now=20, afterFailed=option)
    assert (job["state"], job["createdAt"]) == (cell, 20)
    if cell == "cancelled":
        assert_cancelled(client, state, 20)
    else:
        assert job.get("enqueuedAt") == (20 if cell == "pending" else None)
        assert awaits(client) == (["b"] if cell == "waiting" else [])
    assert callbacks(client, "b") == (["j"] if cell == "waiting" else []) and callbacks(client, "a") == []
    sound(client)


def test_the_first_that_failed_is_named(client: JobClient) -> None:
    """At the enqueue by the order of `after`; later it is the first that ends."""
    gates(client, "a", "b", "c")
    for id, state, now in (("c", "rejected", 2), ("b", "rejected_canceled", 3)):
        client.settle(id, state, now=now).must()
    after(client, "a", "b", "c", now=5)
    assert_cancelled(client, "rejected_canceled", 5, "b")
    assert callbacks(client, "a") == [], "a job that is created cancelled awaits nothing"


def test_a_deadline_that_no_step_has_written_yet_counts(client: JobClient) -> None:
    """A promise past its deadline is settled, and a timer is resolved then."""
    gates(client, "a", timeout=10)
    client.create("timer", 10, tags={"resonate:timer": "true"}, now=0).must()
    replies = client.store.apply(
        [
            {"kind": "job.enqueue", "head": {"corrId": "1", "version": client.version}, "data": {"type": "t", **data}}
            for data in ({"id": "j", "after": ["a"]}, {"id": "k", "after": ["timer"]})
        ],
        now=10,
    )
    assert [reply["data"]["job"]["state"] for reply in replies] == ["cancelled", "pending"]
    assert_cancelled(client, "rejected_timedout", 10)


# For each kind of promise: how it is made, how it ends, and the state of the job then.
KINDS: dict[str, tuple[Callable[[JobClient], Any], Callable[[JobClient], Any], str]] = {
    "a timer": (
        lambda d: d.create("a", 10, tags={"resonate:timer": "true"}, now=0).must(),
        lambda d: d.store.tick(10),
        "pending",
    ),
    "a workflow": (
        lambda d: d.task_create("a", now=0).must(),
        lambda d: d.fulfill("a", d.task("a")["task"]["version"], now=10).must(),
        "pending",
    ),
    "a job that completes": (lambda d: d.enqueue("a", now=0).must(), lambda d: complete(d, "a", 10), "pending"),
    "a job that fails": (
        lambda d: d.enqueue("a", now=0, onExhausted="failed").must(),
        lambda d: d.fail("a", d.run_one("a", now=10), now=10, retryable=False).must(),
        "cancelled",
    ),
    "a job that is cancelled": (
        lambda d: d.enqueue("a", now=0).must(),
        lambda d: d.administer("cancel", "a", now=10).must(),
        "cancelled",
    ),
    "a job that expires": (lambda d: d.enqueue("a", now=0, goodUntil=10).must(), lambda d: d.store.tick(10), "cancelled"),
    "a job past its deadline": (lambda d: d.enqueue("a", now=0, deadline=10).must(), lambda d: d.store.tick(10), "cancelled"),
    "a job that is settled from outside": (
        lambda d: d.enqueue("a", now=0).must(),
        lambda d: d.settle("a", now=10).must(),
        "pending",
    ),
    "a job of retention 0": (lambda d: d.enqueue("a", now=0, retention=0).must(), lambda d: complete(d, "a", 10), "pending"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_job_may_wait_for(client: JobClient, kind: str) -> None:
    make, ends, state = KINDS[kind]
    make(client)
    assert after(client, "a")["state"] == "waiting"
    ends(client)
    assert client.state("j") == state
    assert client.state("a") in ("completed", "failed", "cancelled", "expired", "absent")
    sound(client)


def test_an_internal_promise_becomes_external(client: JobClient) -> None:
    """So its deadline is armed, as by any other callback."""
    client.create("a", 10, now=0).must()
    after(client, "a", afterFailed="run")
    assert stored(client.store, "a")["external"] is True
    assert [(step.kind, step.id) for step in client.store.clock.advance_to(10)] == [
        ("promise_timeout", "a"),
        ("callback_drain", "a"),
    ]
    assert client.state("j") == "pending"


def test_what_is_no_end_wakes_nobody(client: JobClient) -> None:
    """What waits for an archived job waits on, until an operator runs it."""
    client.enqueue("a", now=0, maxRetries=1, retryPolicy={"kind": "fixed", "intervals": [5]}).must()
    after(client, "a")
    client.claim(now=2).must()
    client.give_back("a", now=3).must()
    client.run_one("a", now=4)
    client.snooze("a", 2, delay=3, now=5).must()
    client.fail("a", client.run_one("a", now=8), now=9).must()
    assert client.fail("a", client.run_one("a", now=14), now=15).must()["job"]["state"] == "archived"
    client.store.tick(10_000)
    assert client.state("j") == "waiting" and awaits(client) == ["a"]
    client.administer("run", "a", now=10_001).must()
    complete(client, "a", 10_002)
    assert client.state("j") == "pending"


# --- time -------------------------------------------------------------------------------------------------------------
def test_processAt_counts_once_nothing_is_missing(client: JobClient) -> None:
    gates(client, "a", "b")
    for id, awaited in (("early", "a"), ("late", "b")):
        assert after(client, awaited, id=id, processAt=100)["processAt"] == 100
    client.settle("a", now=10).must()
    job = client.job("early")
    assert job["state"] == "scheduled" and "enqueuedAt" not in job and stored(client.store, "early")["task"]["retryAt"] == 100
    client.store.clock.advance_to(100)
    assert (client.state("early"), client.job("early")["enqueuedAt"], client.state("late")) == ("pending", 100, "waiting")
    client.settle("b", now=150).must()
    assert (client.state("late"), client.job("late")["enqueuedAt"]) == ("pending", 150)
    sound(client)


def test_processAt_with_nothing_missing(client: JobClient) -> None:
    gates(client, "a")
    client.settle("a", now=1).must()
    assert after(client, "a", now=2, processAt=100)["state"] == "scheduled"
    assert after(client, "a", id="now", now=2, processAt=2)["state"] == "pending"


@pytest.mark.parametrize("option", ["goodUntil", "deadline"])
def test_nothing_wakes_a_job_past_its_time(client: JobClient, option: str) -> None:
    gates(client, "a", "b")
    after(client, "a", now=1, afterFailed="run", **{option: 50})
    after(client, "b", id="k", now=1, **{option: 50})
    ended = "expired" if option == "goodUntil" else "failed"
    assert client.store.next_due() == 50
    steps = client.store.tick(60)
    assert [(step.kind, step.id, step.at) for step in steps] == [
        ("job_expiry" if option == "goodUntil" else "promise_timeout", id, 50) for id in ("j", "k")
    ]
    assert callbacks(client, "a") == callbacks(client, "b") == [], "it takes its callbacks back"
    for id, awaited, state in (("j", "a", "resolved"), ("k", "b", "rejected")):
        client.settle(awaited, state, now=61).must()
        job = client.job(id)
        assert (job["state"], job[f"{ended}At"], job["attempts"]) == (ended, 50, []) and "awaits" not in job
    assert client.claimed(9, now=62) == []
    sound(client)


@pytest.mark.parametrize("option", ["goodUntil", "deadline"])
def test_a_settlement_after_its_time_before_the_step(client: JobClient, option: str) -> None:
    """Both at one instant, in one transaction: the time decides, and the step that is left writes it."""
    gates(client, "a")
    after(client, "a", **{option: 50})
    client.settle("a", "rejected", now=50).must()
    assert client.state("j") == ("expired" if option == "goodUntil" else "failed")
    assert callbacks(client, "a") == []
    sound(client)


def test_goodUntil_does_not_apply_after_the_first_start(client: JobClient) -> None:
    gates(client, "a")
    after(client, "a", goodUntil=50)
    client.settle("a", now=10).must()
    version = client.run_one("j", now=20)
    client.snooze("j", version, delay=100, now=21).must()
    client.store.clock.advance_to(200)
    assert client.state("j") == "pending"


def test_goodFor_counts_from_processAt(client: JobClient) -> None:
    gates(client, "a")
    assert after(client, "a", now=1, processAt=100, goodFor=20)["goodUntil"] == 120
    client.store.clock.advance_to(120)
    assert client.state("j") == "expired"


@pytest.mark.parametrize("state", ["pending", "resolved", "rejected"])
def test_a_deadline_in_the_past(client: JobClient, state: str) -> None:
    """The job is created failed, and waits for nothing."""
    gates(client, "a")
    if state != "pending":
        client.settle("a", state, now=1).must()
    job = after(client, "a", now=20, deadline=15)
    assert (job["state"], job["failedAt"], job["error"]["code"], job["after"]) == ("failed", 15, "DeadlineExceeded", ["a"])
    assert "awaits" not in job and callbacks(client, "a") == []
    sound(client)


@pytest.mark.parametrize("state", ["pending", "resolved", "rejected"])
def test_a_goodUntil_in_the_past(client: JobClient, state: str) -> None:
    gates(client, "a")
    if state != "pending":
        client.settle("a", state, now=1).must()
    job = after(client, "a", now=20, goodUntil=15)
    assert (job["state"], job["expiredAt"], job["error"]["code"]) == ("expired", 15, "TaskExpired")
    client.store.tick(21)
    client.settle("a", now=22).must()
    assert client.state("j") == "expired" and callbacks(client, "a") == []
    sound(client)


# --- refusals ---------------------------------------------------------------------------------------------------------
# fmt: off
REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "no id": ({"after": []}, 400),
    "too many": ({"after": [f"g{n}" for n in range(10_001)]}, 400),
    "too many of one": ({"after": ["a"] * 10_001}, 400),
    "an empty id": ({"after": ["a", ""]}, 400),
    "its own id": ({"after": ["a", "j"]}, 400),
    "no list": ({"after": "a"}, 400),
    "no text": ({"after": [1]}, 400),
    "a group": ({"after": ["a"], "group": "g"}, 400),
    "the option alone": ({"afterFailed": "run"}, 400),
    "another option": ({"after": ["a"], "afterFailed": "fail"}, 400),
    "an id that does not exist": ({"after": ["a", "nobody"]}, 422),
    "its own id, which does not exist otherwise": ({"id": "new", "after": ["new"]}, 400),
    "a timer": ({"after": ["a"], "tags": {"resonate:timer": "true"}}, 400),
    "retries without a policy": ({"after": ["nobody"], "lifecycle": "horsies", "maxRetries": 3}, 400),
    "a promise that exists": ({"id": "plain", "after": ["a"]}, 409),
    "a promise that exists, and an id that does not": ({"id": "plain", "after": ["nobody"]}, 409),
    "a key that is held": ({"after": ["a"], "uniqueKey": "held"}, 409),
    "a key that is held, and an id that does not exist": ({"after": ["nobody"], "uniqueKey": "held"}, 409),
    "another job that exists": ({"id": "holder", "type": "other", "after": ["nobody"]}, 409),
}
# fmt: on


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_enqueue_changes_nothing(client: JobClient, name: str) -> None:
    data, status = REFUSED[name]
    gates(client, "a", "plain")
    client.enqueue("holder", now=0, uniqueKey="held").must()
    before = rows_of(client.store)
    reply = client.enqueue(data.get("id", "j"), now=1, **{name: value for name, value in data.items() if name != "id"})
    assert reply.status == status_in(client.version, status) and reply.data
    assert rows_of(client.store) == before


def test_an_existing_job_is_answered_first(client: JobClient) -> None:
    """It is the same job, and the ids for which it would wait are not judged."""
    gates(client, "a")
    job = after(client, "a")
    assert after(client, "nobody", now=2) == job == after(client, "a", now=3, afterFailed="run")
    assert client.enqueue("j", now=4).must()["job"] == job and callbacks(client, "a") == ["j"]


def test_a_strict_store_refuses_internal_promises(make_store: Callable[..., Any]) -> None:
    client = JobClient(make_store(rules="strict"))
    client.create("internal", now=0).must()
    gates(client, "a")
    client.enqueue("job", now=0).must()
    client.enqueue("j", now=1, after=["a", "internal"]).must(422)
    assert after(client, "a", "job")["state"] == "waiting"
    old = JobClient(client.store, V25)
    assert after(old, "internal", id="of-2025", now=2)["state"] == "waiting", "that rule is of the newer dialect"


def test_a_schedule_has_no_after(client: JobClient) -> None:
    for extra in ({"after": ["a"]}, {"after": []}, {"afterFailed": "run"}, {"after": ["a"], "afterFailed": "cancel"}):
        client.schedule("s", job={"type": "t", **extra}).must(400)


def test_a_batch_enqueues_both(client: JobClient) -> None:
    """The awaited one first; the items are independent."""
    one = {"type": "t", "queue": "mail"}
    items = [
        {**one, "id": "late", "after": ["a"]},
        {**one, "id": "a", "retention": 0},
        {**one, "id": "b", "after": ["a"]},
        {**one, "id": "own", "after": ["own"]},
        {**one, "id": "c", "after": ["b", "a"]},
    ]
    found = client.send("job.enqueue_many", {"jobs": items}, 1).must()["jobs"]
    assert [outcome["status"] for outcome in found] == [status_in(client.version, 422), 200, 200, 400, 200]
    assert [outcome["job"]["state"] for outcome in found if "job" in outcome] == ["pending", "waiting", "waiting"]
    for now, id in ((2, "a"), (3, "b"), (4, "c")):
        complete(client, id, now)
    assert client.claimed(5, now=5) == []
    sound(client)
