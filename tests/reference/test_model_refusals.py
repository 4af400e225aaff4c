"""Compares the requests that the model refuses with PROTOCOL; the expected statuses were found by hand."""

from __future__ import annotations

import pytest

from reference.client import NEW, OLD, TARGET, Client
from resonate_core.conformance.reference import Model


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        ("promise.create", {"id": "p"}),
        ("promise.create", {"id": "p", "timeoutAt": 1.0}),
        ("promise.create", {"id": "p", "timeoutAt": True}),
        ("promise.create", {"id": "p", "timeoutAt": "1"}),
        ("promise.create", {"id": "p", "timeoutAt": 2**63}),
        ("promise.create", {"id": "p", "timeoutAt": -1}),
        ("promise.create", {"id": "p\0", "timeoutAt": 1}),
        ("promise.create", {"id": "p", "timeoutAt": 1, "param": None}),
        ("promise.create", {"id": "p", "timeoutAt": 1, "tags": {"a": 1}}),
        ("promise.create", {"id": "p", "timeoutAt": 1, "param": {"data": 5}}),
        ("promise.create", {"id": "p", "timeoutAt": 1, "tags": {"resonate:target": ""}}),
        ("promise.create", {"id": "p", "timeoutAt": 9, "tags": {"resonate:delay": "3"}}),
        ("promise.create", {"id": "p", "timeoutAt": 9, "tags": {**TARGET, "resonate:delay": "9"}}),
        ("promise.create", {"id": "p", "timeoutAt": 9, "tags": {**TARGET, "resonate:delay": "+3"}}),
        ("promise.settle", {"id": "p", "state": "pending"}),
        ("promise.settle", {"id": "p", "state": "rejected_timedout"}),
        ("promise.register_callback", {"awaited": "p", "awaiter": "p"}),
        ("promise.register_listener", {"awaited": "p", "address": "default"}),
        ("promise.register", {"awaited": "p", "awaiter": "q"}),
        ("promise.search", {"limit": 0}),
        ("promise.search", {"limit": 1001}),
        ("promise.search", {"state": "acquired"}),
        ("task.acquire", {"id": "t", "version": -1, "pid": "w", "ttl": 1}),
        ("task.acquire", {"id": "t", "version": 0, "pid": "w", "ttl": 0}),
        ("task.suspend", {"id": "t", "version": 0, "actions": []}),
        ("task.heartbeat", {"pid": "w"}),
        ("schedule.create", {"id": "s", "cron": "0 0 30 2 *", "promiseId": "x", "promiseTimeout": 1}),
        ("schedule.create", {"id": "s", "cron": "x", "promiseId": "x", "promiseTimeout": 1}),
        ("debug.tick", {"time": -1}),
        ("nonsense", {}),
    ],
)
def test_refused_whatever_is_stored(send, kind, data):
    status, text = send(kind, **data)
    assert status == 400
    assert isinstance(text, str)
    assert text


def test_what_can_be_echoed_of_an_envelope_is_echoed():
    model = Model()
    assert model.apply({"head": {}})["head"] == {"corrId": "0", "status": 400, "version": NEW}
    assert model.apply({"head": {}})["kind"] == "unknown"
    reply = model.apply({"kind": "promise.get", "head": {"corrId": "7", "version": OLD}})
    assert (reply["kind"], reply["head"]) == ("promise.get", {"corrId": "7", "status": 400, "version": OLD})


def test_debug_operations(send):
    send.promise("p", 10, external="true")
    assert send("debug.tick", time=20) == (200, [])
    assert send("debug.snap")[1]["promises"][0]["settledAt"] == 10
    assert send("debug.reset") == (200, {})
    assert send.model.snapshot()["promises"] == []
    assert Client(debug=False)("debug.snap")[0] == 403
