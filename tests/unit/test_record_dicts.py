"""Records from dicts: `from_dict` is the inverse of `to_dict`, and reads the replies of a server."""

from __future__ import annotations

import base64
import re
from collections import ChainMap, Counter
from typing import Any

import pytest
from hypothesis import given, strategies as st

import resonate_core as rc
from random_records import random_records

RECORDS = (rc.Promise, rc.Task, rc.Schedule, rc.Job, rc.Message, rc.Fired, rc.Violation, rc.Value)
SEEDS = range(25)


def shown(record: Any) -> dict[str, Any]:
    """Returns all attributes of a record."""
    names = [name for name in dir(record) if not name.startswith("_")]
    return {name: getattr(record, name) for name in names if not callable(getattr(record, name))}


@pytest.mark.parametrize("seed", SEEDS)
def test_every_record_comes_from_its_dict(seed: int) -> None:
    for record in random_records(seed):
        if isinstance(record, RECORDS):
            again = type(record).from_dict(record.to_dict())
            assert again == record and hash(again) == hash(record)
            assert shown(again) == shown(record)
            assert again.to_dict() == record.to_dict()


def test_the_random_records_are_of_every_kind_and_state() -> None:
    seen = Counter[str]()
    for seed in SEEDS:
        for record in random_records(seed):
            what = getattr(record, "kind", None) or getattr(record, "state", "")
            seen[f"{type(record).__name__} {what}"] += 1
    wanted = {
        *(f"Promise {state}" for state in ("pending", "resolved", "rejected", "rejected_canceled", "rejected_timedout")),
        *(f"Task {state}" for state in ("pending", "acquired", "suspended", "halted", "fulfilled")),
        *(f"Job {state}" for state in ("scheduled", "pending", "claimed", "running", "retry", "archived", "completed")),
        *(f"Job {state}" for state in ("failed", "cancelled", "expired")),
        *(f"Message {kind}" for kind in ("execute", "unblock", "invoke", "notify")),
        *(f"Fired {kind}" for kind in ("promise_timeout", "listener_drain", "callback_drain", "lease_expiry", "dispatch")),
        *(f"Fired {kind}" for kind in ("schedule", "job_ready", "job_batch", "job_expiry", "job_lease", "job_timeout")),
        "Schedule ",
        "Value ",
    }
    assert wanted - set(seen) == set()


texts = st.text(max_size=20)
values = st.builds(rc.Value, st.none() | st.dictionaries(texts, texts, max_size=3), st.none() | st.text(max_size=200))


@given(values)
def test_any_value(value: rc.Value) -> None:
    assert rc.Value.from_dict(value.to_dict()) == value


@given(values, values, st.dictionaries(texts, texts, max_size=4), st.integers(0, 2**63 - 1), st.booleans())
def test_any_promise(param: rc.Value, value: rc.Value, tags: dict[str, str], timeout_at: int, settled: bool) -> None:
    store = rc.Store(clock=rc.ManualClock())
    mine = {name: text for name, text in tags.items() if not name.startswith("resonate:")}
    promise = store.promises.create("p", timeout_at, param=param, tags=mine)
    if settled:
        promise = store.promises.resolve("p", value)
    again = rc.Promise.from_dict(promise.to_dict())
    assert again == promise and shown(again) == shown(promise)


def test_replies_of_apply() -> None:
    store = rc.Store(clock=rc.ManualClock())

    def reply(kind: str, **data: Any) -> dict[str, Any]:
        answer = store.apply({"kind": kind, "head": {"corrId": "1", "version": "2026-04-01"}, "data": data})
        assert answer["head"]["status"] == 200, answer
        members: dict[str, Any] = answer["data"]
        return members

    create = {"id": "t", "timeoutAt": 9000, "tags": {"resonate:target": "poll://any@w"}}
    claim = reply("task.create", pid="w", ttl=1000, action={"kind": "promise.create", "head": {}, "data": create})
    assert rc.Promise.from_dict(claim["promise"]) == store.promises.get("t")
    assert rc.Task.from_dict(claim["task"]) == store.tasks.get("t")
    job = reply("job.enqueue", id="j", type="email", queue="q", payload={"data": "MQ=="})["job"]
    assert rc.Job.from_dict(job) == store.jobs.get("j")
    schedule = reply("schedule.create", id="s", cron="@daily", promiseId="s.{{.timestamp}}", promiseTimeout=1000)["schedule"]
    assert rc.Schedule.from_dict(schedule) == store.schedules.get("s")


def test_members_of_a_newer_server_are_ignored() -> None:
    store = rc.Store(clock=rc.ManualClock())
    for record in (store.promises.create("p", 1000, param=1), store.jobs.enqueue("t", id="j"), rc.Value(data="MQ==")):
        assert type(record).from_dict(record.to_dict() | {"shard": {"id": [1]}, "": None}) == record
    pending = store.promises.create("q", 1000).to_dict()
    assert rc.Promise.from_dict(pending | {"settledAt": None}).settled_at is None


def test_any_mapping() -> None:
    assert rc.Value.from_dict(ChainMap({"data": "MQ=="}, {"data": "old"})) == rc.Value(data="MQ==")


STORE = rc.Store(clock=rc.ManualClock())
PROMISE = STORE.promises.resolve(STORE.promises.create("p", 1000).id, 1).to_dict()
TASK = STORE.tasks.create("t", pid="w", ttl=1000, timeout=1000, target="poll://any@w").task.to_dict()
JOB = STORE.jobs.enqueue("t", id="j", retry_policy={"kind": "fixed", "intervals": [1]}).to_dict()
HELD = STORE.jobs.claim("default", worker="w", lease=1000)[0].to_dict()
SCHEDULE = STORE.schedules.create("s", "@daily", promise_timeout=1).to_dict()
MESSAGE = {"address": "mail://a", "message": {"kind": "execute", "head": {}, "data": {"task": {"id": "t", "version": 1}}}}
FIRED = {"kind": "dispatch", "id": "a", "at": 0, "now": 0, "detail": {"address": "x"}}
VIOLATION = {"name": "n", "id": "i", "detail": "d"}


def without(members: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in members.items() if key != name}


@pytest.mark.parametrize(
    ("made", "members", "problem"),
    [
        *(
            (rc.Promise, without(PROMISE, name), f"{name} is missing")
            for name in ("id", "state", "timeoutAt", "createdAt", "settledAt")
        ),
        *((rc.Task, without(TASK, name), f"{name} is missing") for name in ("id", "state", "version", "resumes", "ttl", "pid")),
        *(
            (rc.Job, without(HELD, name), f"{name} is missing")
            for name in ("id", "state", "version", "type", "claimedBy", "leaseUntil")
        ),
        *((rc.Schedule, without(SCHEDULE, name), f"{name} is missing") for name in ("id", "cron", "promiseTimeout", "nextRunAt")),
        *((rc.Message, without(MESSAGE, name), f"{name} is missing") for name in ("address", "message")),
        *((rc.Fired, without(FIRED, name), f"{name} is missing") for name in FIRED),
        *((rc.Violation, without(VIOLATION, name), f"{name} is missing") for name in VIOLATION),
        (rc.Promise, PROMISE | {"id": 7}, "id must be a string, got 7"),
        (rc.Promise, PROMISE | {"state": "done"}, """state must be the name of a promise's state, got "done\""""),
        (rc.Promise, PROMISE | {"timeoutAt": 1.5}, "timeoutAt must be an integer within int64, got a number that is no integer"),
        (rc.Promise, PROMISE | {"timeoutAt": 2**63}, "timeoutAt must be an integer within int64, got an integer outside int64"),
        (rc.Promise, PROMISE | {"timeoutAt": True}, "timeoutAt must be an integer within int64, got a boolean"),
        (rc.Promise, PROMISE | {"param": {"data": 3}}, "param.data must be a string, got 3"),
        (rc.Promise, PROMISE | {"tags": {"a": None}}, "tags.a must be a string, got null"),
        (rc.Promise, {1: 2}, "the document must be an object, got an object with a key that is no string"),
        (rc.Task, TASK | {"resumes": -1}, "resumes must be from 0 to 1000000, got -1"),
        (rc.Task, TASK | {"resumes": 10**12}, "resumes must be from 0 to 1000000, got 1000000000000"),
        (rc.Task, TASK | {"state": "none"}, """state must be the name of a task's state, got "none\""""),
        (rc.Job, JOB | {"state": "open"}, """state must be a state of a job, got "open\""""),
        (rc.Job, JOB | {"attempts": [{"number": 1}]}, "attempts[0].worker is missing"),
        (
            rc.Job,
            JOB | {"retryPolicy": {"kind": "never"}},
            """retryPolicy.kind must be fixed, exponential or asynq, got "never\"""",
        ),
        (rc.Schedule, SCHEDULE | {"problem": "no zone"}, "retryAt is missing"),
        (
            rc.Message,
            {"address": "a", "message": {"kind": "post", "data": {}}},
            """message.kind must be the kind of a message, got "post\"""",
        ),
        (rc.Message, {"address": "a", "message": {"kind": "unblock", "data": {}}}, "key is missing"),
        (rc.Message, MESSAGE | {"holder": "p"}, "leasedUntil is missing"),
        (rc.Message, MESSAGE | {"stale": 1}, "stale must be a boolean, got 1"),
        (rc.Fired, FIRED | {"kind": "nap"}, """kind must be the kind of an internal step, got "nap\""""),
        (rc.Fired, FIRED | {"detail": {}}, "detail.address is missing"),
        (rc.Value, {"data": 3}, "data must be a string, got 3"),
    ],
)
def test_what_is_malformed_is_named(made: Any, members: dict[Any, Any], problem: str) -> None:
    with pytest.raises(rc.errors.Invalid, match=f"^{re.escape(problem)}$"):
        made.from_dict(members)


@pytest.mark.parametrize("made", RECORDS)
@pytest.mark.parametrize("given", [None, 1, "text", [("id", "a")]])
def test_no_mapping(made: Any, given: Any) -> None:
    with pytest.raises(TypeError, match=r"^members must be a mapping, got "):
        made.from_dict(given)


def test_a_message_as_a_program_took_it() -> None:
    store = rc.Store(clock=rc.ManualClock(5))
    store.promises.create("p", timeout=1000, tags={"resonate:external": "true"})
    store.promises.register_listener("p", "mail://a")
    store.promises.resolve("p", 1)
    message = store.messages()[0]
    again = rc.Message.from_dict(store.take_messages()[0])
    assert (again.kind, again.id, again.key, again.message) == (message.kind, message.id, message.key, message.message)
    assert (again.attempts, again.queued_at, again.number, again.stale, again.holder) == (0, 0, 0, False, None)


def test_an_unblock_whose_promise_is_gone_keeps_its_id() -> None:
    gone = {"key": "unblock:a:b:mail://x", "address": "mail://x", "message": {"kind": "unblock", "head": {}, "data": {}}}
    message = rc.Message.from_dict(gone)
    assert message.id == "a:b" and message.to_dict()["message"] == gone["message"] and message.to_dict()["key"] == gone["key"]
    with pytest.raises(rc.errors.Invalid, match=r"^key must be unblock:<id>:<address>, got "):
        rc.Message.from_dict(gone | {"key": "execute:a"})


def test_data_survives() -> None:
    data = base64.b64encode(bytes(range(256))).decode()
    assert rc.Value.from_dict({"data": data}).bytes() == bytes(range(256))
