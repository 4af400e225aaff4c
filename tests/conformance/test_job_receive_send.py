"""job.send leaves a message for a job, job.receive takes the oldest of a topic (JOBS 9)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_steps import AT, NEVER, OTHER, VALUE, J, another_job, data_of, ids, lineage, put, running, state_of, step
from conformance.job_waits import sound
from conformance.job_wire import MAX, JobClient
from conformance.wire import LISTENER, V25, V26, rows_of, unblocks
from resonate_core.conformance.reply_form import status_in

HOUR = 3_600_000


@pytest.fixture(params=[V26, V25])
def client(store: Any, request: pytest.FixtureRequest) -> JobClient:
    return JobClient(store, request.param)


def send(client: JobClient, text: str, topic: str = "t", now: int | None = None, **data: Any) -> str:
    """Sends a message; returns its id."""
    promise = client.message(topic, J, now, value={"data": text}, **data).must()["promise"]
    assert promise["state"] == "resolved" and data_of(promise["value"]) == text
    return str(promise["id"])


def receive(client: JobClient, name: str, topic: str = "t", now: int | None = None, version: int = 1, **data: Any) -> str:
    """Receives; returns the data of the message, or the state of the receive if it is not resolved."""
    promise = client.receive(name, topic, J, version, now, **data).must()["promise"]
    return data_of(promise["value"]) if promise["state"] == "resolved" else str(promise["state"])


# --- a message --------------------------------------------------------------------------------------------------------
def test_a_message_is_a_resolved_promise(client: JobClient) -> None:
    running(client)
    promise = client.message("approval", J, 5, value=VALUE).must()["promise"]
    assert (promise["id"], promise["state"], promise["timeoutAt"]) == ("j:@approval:#1", "resolved", NEVER)
    assert (promise["createdAt"], promise["settledAt"], promise["value"]) == (5, 5, VALUE)
    assert client.get("j:@approval:#1").must()["promise"] == promise
    assert ids(client) == [] and "steps" not in client.job(J), "a message is no child"
    sound(client)


def test_numbers_count_on_all_topics_and_skip_keys(client: JobClient) -> None:
    running(client)
    sent = [send(client, "a"), send(client, "b", "u"), send(client, "c", key="k"), send(client, "d", key="1:2"), send(client, "e")]
    assert sent == ["j:@t:#1", "j:@u:#2", "j:@t:k", "j:@t:1:2", "j:@t:#3"]


def test_the_same_key_answers_the_same_message(client: JobClient) -> None:
    """Another value too, and after it was read; a key belongs to its topic."""
    running(client)
    first = client.message("t", J, 2, value=VALUE, key="k").must()
    assert client.message("t", J, 3, value=OTHER, key="k").must() == first
    assert receive(client, "a", now=4) == "eA=="
    assert client.message("t", J, 5, key="k").must() == first
    assert receive(client, "b", now=6) == "pending"
    assert client.message("u", J, 7, value=OTHER, key="k").must()["promise"]["id"] == "j:@u:k"
    client.complete(J, now=8).must()
    assert client.message("t", J, 9, key="k").must() == first, "as long as the job exists"
    client.message("t", J, 9, key="new").must(409)
    sound(client)


def test_without_a_value(client: JobClient) -> None:
    running(client)
    client.message("t", J, 2).must()
    assert receive(client, "a", now=3) == ""


# --- who gets it --------------------------------------------------------------------------------------------------------
def test_the_oldest_message_comes_first(client: JobClient) -> None:
    running(client)
    for text, topic, key in (("b", "t", "z"), ("c", "u", None), ("d", "t", "a"), ("e", "t", None)):
        send(client, text, topic, now=2, **({} if key is None else {"key": key}))
    assert [receive(client, f"r{n}", now=3) for n in range(4)] == ["b", "d", "e", "pending"]
    assert receive(client, "u", "u", now=3) == "c"
    sound(client)


def test_the_oldest_receive_gets_it(client: JobClient) -> None:
    """Not the first by id; a receive of another topic and one that has ended are passed over."""
    running(client)
    assert [receive(client, name, now=2) for name in ("z", "ended", "a")] == ["pending"] * 3
    assert receive(client, "other", "u", now=2) == "pending"
    client.settle("j:ended", "rejected", now=3).must()
    for n, text in enumerate(("b", "c", "d")):
        send(client, text, now=4 + n)
    found = {one["id"]: one for one in client.history(J).must()["promises"]}
    assert [data_of(found[f"j:{name}"]["value"]) for name in ("z", "a", "other")] == ["b", "c", ""]
    assert [found[f"j:{name}"]["settledAt"] for name in ("z", "a")] == [4, 5]
    assert receive(client, "last", now=9) == "d"
    sound(client)


def test_a_receive_is_a_child(client: JobClient) -> None:
    client.enqueue(J, now=0, maxRetries=5).must()
    client.run_one(J, now=0)
    client.fail(J, now=1, retryAfter=0).must()
    client.run_one(J, now=1)
    promise = client.receive("r", "t", J, 2, 5, timeoutIn=10).must()["promise"]
    assert (promise["id"], promise["state"], promise["createdAt"], promise["timeoutAt"]) == ("j:r", "pending", 5, 15)
    assert promise["tags"] == {**lineage(), "resonate:topic": "t"} and ids(client) == ["r"]
    job = client.job(J)
    assert (job["steps"], job["retryCount"]) == (1, 0)
    sound(client)


@pytest.mark.parametrize("timeout", [None, 0, 1, 10, MAX])
def test_a_message_that_is_there(client: JobClient, timeout: int | None) -> None:
    """Whatever time the receive has, it is resolved at once, even with none."""
    running(client)
    send(client, "b", now=2)
    given = {} if timeout is None else {"timeoutIn": timeout}
    promise = client.receive("r", "t", J, now=3, **given).must()["promise"]
    assert (promise["state"], data_of(promise["value"]), promise["createdAt"], promise["settledAt"]) == ("resolved", "b", 3, 3)
    assert receive(client, "again", now=4) == "pending"
    sound(client)


def test_a_receive_at_its_deadline_takes_no_message(client: JobClient) -> None:
    """The next one gets it."""
    running(client)
    assert receive(client, "first", now=2, timeoutIn=10) == "pending"
    assert receive(client, "second", now=2) == "pending"
    send(client, "b", now=12)
    assert [state_of(client, f"j:{name}") for name in ("first", "second")] == ["rejected_timedout", "resolved"]
    assert receive(client, "none", now=13, timeoutIn=0) == "rejected_timedout"
    send(client, "left", "u", now=13)
    assert receive(client, "some", "u", now=13, timeoutIn=0) == "left", "it looks once"
    send(client, "c", now=14)
    assert receive(client, "third", now=15) == "c"
    sound(client)


def test_a_receive_twice(client: JobClient) -> None:
    """A child of this id is returned as it is, whatever its topic and time; it takes no second message."""
    running(client)
    assert receive(client, "r", now=2, timeoutIn=100) == "pending"
    first = client.receive("r", "other", J, now=3).must()["promise"]
    assert (first["tags"]["resonate:topic"], first["timeoutAt"]) == ("t", 102)
    send(client, "b", now=4)
    send(client, "c", now=4)
    assert [receive(client, "r", now=5), receive(client, "r", now=5), receive(client, "s", now=5)] == ["b", "b", "c"]


def test_a_step_is_no_receive(client: JobClient) -> None:
    """The tag alone does not make one; to receive under its id returns it."""
    running(client)
    step(client, "a", tags={"resonate:topic": "t"})
    send(client, "b", now=2)
    assert state_of(client, "j:a") == "pending" and receive(client, "a", now=3) == "pending"
    assert receive(client, "r", now=4) == "b"


def test_a_receive_may_be_settled_by_hand(client: JobClient) -> None:
    running(client)
    receive(client, "r", now=2)
    client.record({"id": "r", "state": "rejected"}, id=J, now=3).must()
    send(client, "b", now=4)
    assert state_of(client, "j:r") == "rejected" and receive(client, "s", now=5) == "b"


def test_a_message_wakes_the_job(client: JobClient) -> None:
    version = running(client)
    receive(client, "r", now=2)
    client.wait_for("j:r", id=J, version=version, now=2).must()
    send(client, "b", now=10)
    job = client.job(J)
    assert (job["state"], job["enqueuedAt"]) == ("pending", 10)
    assert client.run_one(J, now=11) == version + 1
    assert receive(client, "r", now=12, version=version + 1) == "b"
    sound(client)


def test_a_listener_of_a_receive_is_told(client: JobClient) -> None:
    running(client)
    receive(client, "r", now=2)
    client.listen("j:r", now=3).must()
    send(client, "b", now=4)
    assert unblocks(client.store) == [("unblock" if client.version == V26 else "notify", "j:r", LISTENER)]


# --- the states of the job ----------------------------------------------------------------------------------------------
def test_messages_wait_for_the_start(client: JobClient) -> None:
    client.enqueue(J, now=0, processAt=100).must()
    send(client, "b", now=1)
    client.administer("archive", J, now=2).must()
    send(client, "c", now=3)
    client.administer("run", J, now=4).must()
    assert client.run_one(J, now=5) == 1
    send(client, "d", now=6)
    assert [receive(client, f"r{n}", now=7) for n in range(3)] == ["b", "c", "d"]
    sound(client)


def test_a_thousand_are_most(client: JobClient) -> None:
    """A thousand unread messages of all topics; a message that is read makes room, and one that is delivered at once needs none."""
    running(client)
    envelope = {"kind": "job.send", "head": {"corrId": "1", "version": client.version}}
    batch = [{**envelope, "data": {"id": J, "topic": "t" if n % 2 else "u", "key": f"{n}"}} for n in range(1000)]
    assert {reply["head"]["status"] for reply in client.store.apply(batch, now=2)} == {200}
    before = rows_of(client.store)
    assert client.message("t", J, 3).status == status_in(client.version, 422)
    assert client.message("v", J, 3).status == status_in(client.version, 422)
    assert rows_of(client.store) == before
    client.message("t", J, 3, key="1").must()
    assert receive(client, "waits", "w", now=3) == "pending"
    client.message("w", J, 3).must()
    receive(client, "r", now=4)
    client.message("v", J, 5).must()
    assert client.message("v", J, 6).status == status_in(client.version, 422)


# --- what has the id already --------------------------------------------------------------------------------------------
# For each promise with the id of a receive: the status, and the state after it.
# fmt: off
EXISTING: dict[str, tuple[int, str]] = {
    "nothing":                (200, "resolved"),
    "a promise":              (409, "pending"),
    "a settled promise":      (409, "resolved"),
    "a promise with its tag": (409, "pending"),
    "a timer":                (409, "pending"),
    "a task":                 (409, "pending"),
    "a job":                  (409, "pending"),
    "its step":               (200, "pending"),
    "its settled step":       (200, "rejected"),
    "its receive":            (200, "pending"),
    "its child":              (200, "pending"),
    "its final child":        (200, "rejected_canceled"),
    "the step of another":    (409, "pending"),
    "the child of another":   (409, "pending"),
}
# fmt: on


@pytest.mark.parametrize("kind", EXISTING)
def test_each_kind_of_existing_id(client: JobClient, kind: str) -> None:
    status, state = EXISTING[kind]
    running(client)
    put(client, kind, "j:k:x")
    send(client, "b", "other", now=2)
    before = rows_of(client.store)
    reply = client.receive("k:x", "other", J, now=3).must(status)
    assert state_of(client, "j:k:x") == state
    if kind != "nothing":
        assert rows_of(client.store) == before, "neither the promise nor the message"
    if status == 200:
        assert reply["promise"]["state"] == state
    sound(client)


def test_the_table_has_each_kind() -> None:
    assert set(EXISTING) == set(AT)


# What may have the id of the message with the key "a" of the topic "t", and is no message of the job.
IN_THE_WAY: dict[str, Any] = {
    "a promise": lambda d: d.create("j:@t:a", now=1),
    "a job": lambda d: d.enqueue("j:@t:a", now=1),
    "a child of the job": lambda d: d.child("j:@t:a", J, now=1),
    "a step of another job": lambda d: (another_job(d, "j:@t"), d.record("a", id="j:@t", now=1)),
}


@pytest.mark.parametrize("kind", IN_THE_WAY)
def test_an_id_of_something_else(client: JobClient, kind: str) -> None:
    running(client)
    IN_THE_WAY[kind](client)
    assert client.get("j:@t:a").status == 200
    before = rows_of(client.store)
    client.message("t", J, 3, key="a").must(409)
    assert rows_of(client.store) == before
    assert send(client, "b", now=4) == "j:@t:#1"


def test_a_number_that_is_taken(client: JobClient) -> None:
    """It is passed over, so that the promise of another program keeps no message away."""
    running(client)
    for number in (1, 2, 4):
        client.create(f"j:@t:#{number}", now=1).must()
    assert send(client, "a", "u", now=2) == "j:@u:#1"
    assert [send(client, text, now=3) for text in ("b", "c")] == ["j:@t:#3", "j:@t:#5"]
    assert send(client, "d", "u", now=4) == "j:@u:#6"


def test_messages_of_a_job_whose_id_begins_alike(client: JobClient) -> None:
    """`j` with the topic `t` and the key `@u:a` has the message of no other job: each job has its own ids."""
    running(client)
    another_job(client, "j:@t")
    client.message("u", "j:@t", 2, key="a", value=VALUE).must()
    client.message("t", J, 3, key="@u:a").must(409)
    assert receive(client, "r", now=4) == "pending"


# --- refusals -----------------------------------------------------------------------------------------------------------
# fmt: off
REFUSED: dict[str, tuple[str, dict[str, Any], int]] = {
    "send, no job": ("send", {"id": "nobody"}, 404),
    "send, a promise": ("send", {"id": "plain"}, 404),
    "send, a bad key of no job": ("send", {"id": "nobody", "key": "#1"}, 400),
    "send, a final job": ("send", {"id": "final"}, 409),
    "send, a dead job": ("send", {"id": "dead"}, 409),
    "receive, no job": ("receive", {"id": "nobody", "step": "nobody:r"}, 404),
    "receive, a promise": ("receive", {"id": "plain", "step": "plain:r"}, 404),
    "receive, a step of another id": ("receive", {"step": "r"}, 400),
    "receive, such a step of no job": ("receive", {"id": "nobody", "step": "r"}, 400),
    "receive, an id of messages": ("receive", {"step": "j:@t:#1"}, 400),
    "receive, a stale version": ("receive", {"version": 2}, 409),
    "receive, a claimed job": ("receive", {"id": "claimed", "step": "claimed:r"}, 409),
    "receive, a final job": ("receive", {"id": "final", "step": "final:r"}, 409),
    "receive, a dead job": ("receive", {"id": "dead", "step": "dead:r"}, 409),
    "receive, a promise of that id": ("receive", {"step": "j:plain"}, 409),
    "receive, such a promise and a stale version": ("receive", {"version": 2, "step": "j:plain"}, 409),
}
# fmt: on


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_changes_nothing(client: JobClient, name: str) -> None:
    verb, data, status = REFUSED[name]
    running(client)
    for id in ("plain", "j:plain"):
        client.create(id, now=1).must()
    running(client, "dead", deadline=5)
    running(client, "final")
    client.complete("final", now=1).must()
    client.enqueue("claimed", now=1).must()
    client.claim(now=1).must()
    good = {"send": {"id": J, "topic": "t"}, "receive": {"id": J, "version": 1, "step": "j:r", "topic": "t"}}[verb]
    client.store.tick(5 if data.get("id") != "dead" else 4)
    before = rows_of(client.store)
    reply = client.send(f"job.{verb}", {**good, **data}, 5)
    assert reply.status == status_in(client.version, status) and reply.data
    client.store.tick(5)
    if data.get("id") != "dead":
        assert rows_of(client.store) == before
    sound(client)
