"""The values that each request of jobs and queues refuses with 400, without changing anything."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.job_wire import JobClient
from conformance.wire import V25, V26, rows_of

ENQUEUE: dict[str, Any] = {"id": "new", "queue": "q", "type": "t"}
CLAIM: dict[str, Any] = {"queues": ["q"], "count": 1, "worker": "w", "lease": 1}
HELD: dict[str, Any] = {"id": "held", "version": 1}
CLAIMED: dict[str, Any] = {"id": "claimed", "version": 1}
STEP: dict[str, Any] = {"id": "held:new"}
FAIL: dict[str, Any] = {**HELD, "error": {"code": "E"}}
FIXED: dict[str, Any] = {"kind": "fixed", "intervals": [1]}
EXPONENTIAL: dict[str, Any] = {"kind": "exponential", "base": 10}

#: For each kind: a good request, and the changes that make it a bad one; None removes the member.
BAD: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "job.enqueue": (
        ENQUEUE,
        [
            {"id": ""},
            {"id": 5},
            {"id": "a\0"},
            {"type": None},
            {"type": ""},
            {"type": 1},
            {"queue": ""},
            {"queue": 1},
            {"payload": "text"},
            {"payload": {"data": 5}},
            {"tags": {"a": 1}},
            {"tags": {"resonate:timer": "true"}},
            {"priority": 0},
            {"priority": 101},
            {"priority": 1.0},
            {"priority": "1"},
            {"processAt": "1"},
            {"processIn": -1},
            {"processAt": 1, "processIn": 1},
            {"goodUntil": 1.5},
            {"timeout": 0},
            {"deadline": True},
            {"retention": -1},
            {"maxRetries": -1},
            {"onExhausted": "completed"},
            {"lifecycle": "celery"},
            {"uniqueKey": ""},
            {"uniqueFor": 5},
            {"uniqueKey": "k", "uniqueFor": 0},
            {"sentAt": "1"},
            {"group": ""},
            {"group": 5},
            {"goodFor": 0},
            {"goodFor": -1},
            {"goodFor": "1"},
            {"goodFor": 1, "goodUntil": 1},
            *({"after": after} for after in ("held", [], [""], [5], ["a\0"], ["held", "new"], ["held"] * 10_001, {"id": "held"})),
            {"afterFailed": "run"},
            {"after": ["held"], "afterFailed": "fail"},
            {"after": ["held"], "afterFailed": True},
            {"after": ["held"], "group": "g"},
            *({"parent": parent} for parent in (
                "held", [], {}, {"id": "held"}, {"version": 1}, {"id": "", "version": 1}, {"id": "held", "version": -1},
                {"id": "held", "version": "1"}, {"id": "a\0", "version": 1}, {"id": "new", "version": 1})),
            {"lifecycle": "workflow", "group": "g"},
            *({"retryPolicy": policy} for policy in (
                "asynq",
                {},
                {"kind": "linear"},
                {"kind": "fixed"},
                {**FIXED, "intervals": []},
                {**FIXED, "intervals": [1] * 101},
                {**FIXED, "intervals": [-1]},
                {**FIXED, "intervals": [1.5]},
                {**FIXED, "codes": "E"},
                {**FIXED, "codes": [1]},
                {"kind": "exponential"},
                {**EXPONENTIAL, "base": 0},
                {**EXPONENTIAL, "factor": 0.5},
                {**EXPONENTIAL, "factor": "2"},
                {**EXPONENTIAL, "cap": 9},
                {**EXPONENTIAL, "jitter": 1.5},
                {**EXPONENTIAL, "jitter": -0.1},
            )),
        ],
    ),
    "job.enqueue_many": ({"jobs": [ENQUEUE]}, [{"jobs": None}, {"jobs": {}}, {"jobs": []}, {"jobs": [ENQUEUE] * 10_001},
        {"jobs": [ENQUEUE, {**ENQUEUE, "after": "held"}]}, {"jobs": [ENQUEUE, 5]}, {"jobs": [ENQUEUE, {**ENQUEUE, "priority": "1"}]}, {"jobs": [ENQUEUE, {"id": "x"}]}]),
    "job.get": ({"id": "held"}, [{"id": None}, {"id": ""}, {"id": 1}]),
    "job.claim": (
        CLAIM,
        [
            {"queues": None},
            {"queues": []},
            {"queues": "q"},
            {"queues": [""]},
            {"queues": [5]},
            {"queues": ["q", "q"]},
            {"queues": ["q", {"name": "q", "weight": 1}]},
            {"queues": [{"name": "q", "weight": 0}]},
            {"queues": [{"name": "q", "weight": 1001}]},
            {"queues": [{"weight": 1}]},
            {"queues": [f"q{n}" for n in range(1001)]},
            {"count": 0},
            {"count": 10_001},
            {"count": "1"},
            {"worker": None},
            {"worker": ""},
            {"lease": None},
            {"lease": 0},
            {"runLease": 0},
            {"strict": 1},
            {"start": -1},
            {"start": "1"},
            {"start": 1.0},
            {"start": True},
        ],
    ),
    "job.start": (CLAIMED, [{"id": None}, {"id": ""}, {"version": None}, {"version": -1}, {"version": "1"}, {"lease": 0}]),
    "job.start_many": ({"jobs": [CLAIMED]}, [{"jobs": None}, {"jobs": []}, {"jobs": "claimed"}, {"jobs": [{"id": "claimed"}]}, {"lease": 0}]),
    "job.complete": (HELD, [{"id": None}, {"version": None}, {"version": 1.0}, {"result": "text"}, {"result": {"headers": 1}}]),
    "job.complete_many": ({"jobs": [HELD]}, [{"jobs": None}, {"jobs": []}, {"jobs": "held"}]),
    "job.fail": (
        FAIL,
        [
            {"id": None},
            {"version": -1},
            {"error": None},
            {"error": "E"},
            {"error": {}},
            {"error": {"code": ""}},
            {"error": {"code": 1}},
            {"error": {"code": "E", "message": 1}},
            {"error": {"code": "E", "data": {}}},
            {"retryable": "no"},
            {"archive": "yes"},
            {"archive": 1},
            {"retryAfter": -1},
        ],
    ),
    "job.release": (CLAIMED, [{"id": None}, {"version": None}, {"version": True}]),
    "job.snooze": ({**HELD, "delay": 1}, [{"id": None}, {"version": None}, {"delay": None}, {"delay": -1}]),
    "job.suspend": (
        {**HELD, "awaits": ["waits", "waits"], "until": "all"},
        [
            {"id": None},
            {"id": ""},
            {"version": None},
            {"version": -1},
            {"version": "1"},
            {"awaits": None},
            {"awaits": []},
            {"awaits": "waits"},
            {"awaits": [""]},
            {"awaits": [5]},
            {"awaits": ["a\0"]},
            {"awaits": ["waits", "held"]},
            {"awaits": ["waits"] * 10_001},
            {"until": "some"},
            {"until": ""},
            {"until": 1},
        ],
    ),
    "job.record": (
        {**HELD, "steps": [STEP, {**STEP, "state": "resolved", "value": {"data": "eA=="}, "param": {}, "tags": {"a": "b"}, "timeoutIn": 5}]},
        [
            {"id": None},
            {"id": ""},
            {"version": None},
            {"version": -1},
            {"steps": None},
            {"steps": STEP},
            {"steps": "held:new"},
            {"steps": [STEP] * 1001},
            *({"steps": [STEP, step]} for step in ("held:x", 5, None, [], {})),
            *({"steps": [{**STEP, **more}]} for more in (
                {"id": 5},
                {"id": ""},
                {"id": "held:a\0"},
                {"id": "held"},
                {"id": "other:new"},
                {"id": "heldnew"},
                {"id": "held:@"},
                {"id": "held:@t:1"},
                {"state": "rejected_timedout"},
                {"state": "settled"},
                {"state": 1},
                {"value": {"data": "eA=="}},
                {"state": "pending", "value": {"headers": {"a": "b"}}},
                {"state": "resolved", "value": "text"},
                {"state": "resolved", "value": {"data": 5}},
                {"param": "text"},
                {"tags": {"a": 1}},
                {"tags": []},
                {"tags": {"resonate:target": ""}},
                {"tags": {"resonate:delay": "5"}},
                {"tags": {"resonate:delay": "5", "resonate:target": "a:b"}},
                {"timeoutIn": -1},
                {"timeoutIn": "5"},
                {"timeoutIn": 1.5},
                {"timeoutIn": 2**63},
            )),
        ],
    ),
    "job.receive": (
        {**HELD, "step": "held:new", "topic": "t", "timeoutIn": 5},
        [
            {"id": None},
            {"version": None},
            {"version": "1"},
            {"step": None},
            {"step": 5},
            {"step": ""},
            {"step": "held"},
            {"step": "other:new"},
            {"step": "held:@t"},
            {"step": "held:a\0"},
            {"topic": None},
            {"topic": ""},
            {"topic": 5},
            {"topic": "a:b"},
            {"topic": "a\0"},
            {"timeoutIn": -1},
            {"timeoutIn": "5"},
        ],
    ),
    "job.send": (
        {"id": "waits", "topic": "t", "key": "k#:@", "value": {"data": "eA=="}},
        [
            {"id": None},
            {"id": ""},
            {"topic": None},
            {"topic": ""},
            {"topic": 5},
            {"topic": ":"},
            {"topic": "a\0"},
            {"value": "text"},
            {"value": {"headers": []}},
            {"key": ""},
            {"key": 5},
            {"key": "#"},
            {"key": "#1"},
            {"key": "a\0"},
        ],
    ),
    "job.history": (
        {"id": "held", "limit": 5, "cursor": "5:held:a"},
        [
            {"id": None},
            {"id": ""},
            {"limit": 0},
            {"limit": 1001},
            {"limit": "5"},
            *({"cursor": cursor} for cursor in (5, "held:a", "5", "5:", ":held:a", "-5:held:a", f"{2**63}:a")),
        ],
    ),
    "job.start_over": (
        {**HELD, "args": {"data": "eA=="}},
        [{"id": None}, {"id": ""}, {"version": None}, {"version": -1}, {"args": "text"}, {"args": {"data": 5}}],
    ),
    "job.fork": (
        {"id": "stepped", "from": "stepped:a", "newId": "new"},
        [{name: wrong} for name in ("id", "from", "newId") for wrong in (None, "", 5, "a\0")],
    ),
    "job.report": (
        {**HELD, "progress": 0.5, "lines": ["half", "\u00e9"]},
        [
            {"id": None},
            {"version": None},
            {"progress": None, "lines": None},
            {"progress": None, "lines": []},
            {"progress": -0.01},
            {"progress": 1.01},
            {"progress": "1"},
            {"progress": True},
            {"lines": "half"},
            {"lines": [5]},
            {"lines": [""]},
            {"lines": ["a\0b"]},
            {"lines": ["\u00e9" * 501]},
            {"lines": ["x"] * 101},
        ],
    ),
    "job.heartbeat": (
        {"worker": "w", "jobs": [HELD]},
        [{"worker": None}, {"worker": ""}, {"jobs": None}, {"jobs": [{"id": "held"}]}, {"jobs": [{"version": 1}]}, {"jobs": ["held"]}],
    ),
    "job.cancel": ({"id": "held"}, [{"id": None}, {"id": ""}, {"id": None, "queue": ""}, {"id": None, "group": ""}, {"group": "g"}]),
    "job.run": ({"id": "archived"}, [{"id": None}, {"id": ""}]),
    "job.archive": ({"id": "waits"}, [{"id": None}, {"id": ""}]),
    "job.delete": ({"id": "waits"}, [{"id": None}, {"id": ""}]),
    "job.search": ({}, [{"limit": 0}, {"limit": 1001}, {"state": "active"}, {"tags": 1}, {"id": 5}, {"queue": 5}, {"cursor": 5},
        {"group": 5}, {"group": ""}]),
    "job.stats": ({}, [{"queue": 5}, {"queue": ""}]),
    "queue.set": (
        {"queue": "q"},
        [
            {"queue": None},
            {"queue": ""},
            {"lifecycle": "celery"},
            {"weight": 0},
            {"weight": 1001},
            {"concurrency": 0},
            {"rate": 5},
            {"rate": {"limit": 1}},
            {"rate": {"limit": 0, "per": 1}},
            {"rate": {"limit": 1, "per": 0}},
            {"rate": {"limit": 1, "per": 1, "burst": 0}},
            {"groups": 5},
            {"groups": []},
            {"groups": {"size": 0}},
            {"groups": {"size": 1_001}},
            {"groups": {"size": "5"}},
            {"groups": {"size": 1.5}},
            {"groups": {"grace": -1}},
            {"groups": {"grace": "1"}},
            {"groups": {"maxDelay": 0}},
            {"groups": {"maxDelay": -1}},
            {"groups": {"maxDelay": "1"}},
            {"defaults": {"maxRetries": -1}},
            {"defaults": {"retryPolicy": {"kind": "linear"}}},
            {"defaults": {"onExhausted": "gone"}},
            {"defaults": {"priority": 0}},
            {"defaults": {"timeout": 0}},
        ],
    ),
    "queue.get": ({"queue": "q"}, [{"queue": None}, {"queue": ""}, {"queue": 1}]),
    "queue.pause": ({"queue": "q"}, [{"queue": None}, {"queue": ""}]),
    "queue.resume": ({"queue": "q"}, [{"queue": None}, {"queue": ""}]),
}  # fmt: skip
CASES = [(kind, bad) for kind, (_, bads) in BAD.items() for bad in bads]


def world(store: Any, version: str) -> JobClient:
    client = JobClient(store, version)
    for id in ("archived", "held"):
        client.enqueue(id, now=0, queue="q").must()
        client.run_one(id, now=0, queues=["q"])
    client.enqueue("claimed", now=0, queue="q").must()
    client.claim(now=0, queues=["q"]).must()
    client.enqueue("waits", now=0, queue="q").must()
    client.enqueue("stepped", now=0, queue="steps").must()
    client.run_one("stepped", now=0, queues=["steps"])
    client.record("a", id="stepped", now=0).must()
    client.fail("archived", now=0, retryable=False).must()
    return client


def without(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value is not None}


@pytest.mark.parametrize("version", [V26, V25])
@pytest.mark.parametrize("kind", BAD)
def test_bad_requests(store: Any, kind: str, version: str) -> None:
    """A bad request is refused with a message and changes nothing; the good request succeeds."""
    client = world(store, version)
    good, bads = BAD[kind]
    before = rows_of(store)
    wrong = []
    for bad in bads:
        reply = client.send(kind, without({**good, **bad}), 10)
        if reply.status != 400 or not reply.data:
            wrong.append((bad if len(str(bad)) < 200 else "a long list", reply.status))
    assert wrong == []
    assert rows_of(store) == before
    client.send(kind, good, 10).must()


@pytest.mark.parametrize("data", [None, 5, [], "text"], ids=repr)
@pytest.mark.parametrize("kind", BAD)
def test_data_that_is_no_object(store: Any, kind: str, data: Any) -> None:
    JobClient(store).send(kind, data).must(400)


def test_the_refusal_names_the_value_and_the_rule(store: Any) -> None:
    client = JobClient(store)
    assert "101" in client.enqueue(priority=101).must(400).data
    assert "celery" in client.enqueue(lifecycle="celery").must(400).data
    assert "10001" in client.claim(10_001).must(400).data.replace(",", "").replace(" ", "")
    assert "type" in client.send("job.enqueue", {"queue": "q"}).must(400).data


def test_unknown_members_are_ignored(store: Any) -> None:
    client = JobClient(store)
    assert client.enqueue(color="blue").must()["job"].get("color") is None


def test_the_table_has_every_kind() -> None:
    """Only queue.list has no members."""
    verbs = "enqueue enqueue_many get claim start start_many heartbeat complete complete_many fail release snooze report suspend record receive send history start_over fork cancel run archive delete search stats"
    assert set(BAD) == {f"job.{verb}" for verb in verbs.split()} | {f"queue.{verb}" for verb in ("set", "get", "pause", "resume")}
