"""PROTOCOL 2.1: each rule on which the two rule sets differ, tested under both, and in 2025-01-15, to which two rows of the strict
column apply."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, V25, V26, DialectClient, executes, rows_of, stored, stored_task, unblocks

RULES = ["compatible", "strict"]
Make = Callable[..., Any]


def binds_strictly(rules: str, version: str) -> bool:
    """Whether the rows of the strict column apply that are about 2026-04-01 alone."""
    return rules == "strict" and version == V26


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("edge", ["callback", "listener", "suspend"])
def test_s2_1_edges_on_an_internal_promise(make_store: Make, rules: str, edge: str) -> None:
    store = make_store(rules=rules)
    client = DialectClient(store)
    client.create("p", timeout=100, now=0).must()
    client.task_create("t", now=0).must()
    before = store.digest()
    reply = {
        "callback": lambda: client.register("p", "t", now=0),
        "listener": lambda: client.listen("p", now=0),
        "suspend": lambda: client.suspend("t", 1, "p", now=0),
    }[edge]()
    if rules == "strict":
        reply.must(422)
        assert store.digest() == before
        return
    reply.must()
    assert stored(store, "p")["external"] is True
    assert store.next_due() == 100, "its timeout is armed from then on"
    store.tick(now=100)
    assert stored(store, "p")["state"] == "rejected_timedout"


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("edge", ["callback", "listener", "suspend"])
def test_s2_1_an_old_dialect_edge_makes_external_in_both(make_store: Make, rules: str, edge: str) -> None:
    store = make_store(rules=rules)
    new, old = DialectClient(store, V26), DialectClient(store, V25)
    new.create("p", timeout=100, now=0).must()
    new.task_create("t", now=0).must()
    reply = {
        "callback": lambda: old.register("p", "t", now=0),
        "listener": lambda: old.listen("p", now=0),
        "suspend": lambda: old.suspend("t", 0, "p", now=0),
    }[edge]()
    reply.must()
    assert stored(store, "p")["external"] is True
    store.tick(now=100)
    assert stored(store, "p")["state"] == "rejected_timedout"


@pytest.mark.parametrize("edge", ["callback", "listener", "suspend"])
def test_s2_1_an_edge_that_is_not_added_leaves_the_promise_internal(store: Any, edge: str) -> None:
    client = DialectClient(store)
    client.create("p", now=0).must()
    client.settle("p", now=0).must()
    client.task_create("t", now=0).must()
    reply = {
        "callback": lambda: client.register("p", "t").must(200),
        "listener": lambda: client.listen("p").must(200),
        "suspend": lambda: client.suspend("t", 1, "p").must(300),
    }[edge]()
    assert reply.data
    assert stored(store, "p")["external"] is False


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("version", [V26, V25])
def test_s2_1_timer_and_target_on_a_promise(make_store: Make, rules: str, version: str) -> None:
    store = make_store(rules=rules)
    client = DialectClient(store, version)
    tags = {"resonate:timer": "true", "resonate:target": ADDRESS}
    reply = client.create("p", timeout=100, tags=tags, now=0)
    if binds_strictly(rules, version):
        reply.must(400)
        assert store.snapshot()["promises"] == []
        return
    reply.must()
    assert stored_task(store, "p") == {"state": "pending", "acquisitions": 0, "retryAt": 100, "resumes": []}
    store.tick(now=99)
    assert executes(store) == []
    store.tick(now=100)
    assert stored(store, "p")["state"] == "resolved"
    assert stored_task(store, "p")["state"] == "fulfilled"
    assert executes(store) == []


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("version", [V26, V25])
def test_s2_1_timer_and_target_in_task_create(make_store: Make, rules: str, version: str) -> None:
    store = make_store(rules=rules)
    client = DialectClient(store, version)
    reply = client.task_create("t", timeout=1_000, ttl=50, tags={"resonate:timer": "true"}, now=0)
    if binds_strictly(rules, version):
        reply.must(400)
        return
    reply.must()
    store.tick(now=50)
    task = stored_task(store, "t")
    assert (task["state"], task["retryAt"]) == ("pending", 1_000)
    assert executes(store) == []


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("version", [V26, V25])
def test_s2_1_timer_and_target_in_a_schedule(make_store: Make, rules: str, version: str) -> None:
    store = make_store(rules=rules)
    tags = {"resonate:timer": "true", "resonate:target": ADDRESS}
    reply = DialectClient(store, version).schedule("s", tags=tags, timeout=90_000, now=0)
    if binds_strictly(rules, version):
        reply.must(400)
        return
    reply.must()
    store.tick(now=60_000)
    assert stored(store, "s.60000")["task"]["retryAt"] == 150_000
    assert executes(store) == []
    store.tick(now=150_000)
    assert stored(store, "s.60000")["state"] == "resolved"


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("version", [V26, V25])
def test_s2_1_heartbeat_with_an_empty_list(make_store: Make, rules: str, version: str) -> None:
    store = make_store(rules=rules)
    client = DialectClient(store, version)
    for id, pid in (("a", "w1"), ("b", "w1"), ("c", "w2")):
        client.task_create(id, ttl=1_000, pid=pid, now=0).must()
    client.create("idle", target=ADDRESS, now=0).must()
    client.task_create("dead", timeout=300, ttl=1_000, pid="w1", now=0).must()
    client.heartbeat("w1", now=500).must()
    renewed = 1_000 if rules == "strict" else 1_500
    assert [stored_task(store, i)["expiresAt"] for i in "abc"] == [renewed, renewed, 1_000]
    assert stored_task(store, "dead")["state"] == "fulfilled"
    assert stored_task(store, "idle")["state"] == "pending"


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("version", [V26, V25])
def test_s2_1_the_same_awaited_twice_in_one_suspend(make_store: Make, rules: str, version: str) -> None:
    store = make_store(rules=rules)
    client = DialectClient(store, version)
    for id in ("x", "y"):
        client.create(id, tags={"resonate:external": "true"}).must()
    client.task_create("t").must()
    held = 1 if version == V26 else 0
    before = store.digest()
    reply = client.suspend("t", held, "x", "y", "x")
    if binds_strictly(rules, version):
        reply.must(400)
        assert store.digest() == before
        return
    reply.must()
    assert stored(store, "x")["callbacks"] == stored(store, "y")["callbacks"] == ["t"]


ADDRESSES = [
    ("http://a", True, True),
    ("https://a.b/c?d", True, True),
    ("poll://any@g", True, True),
    ("poll://uni@g/i", True, True),
    ("poll://nobody", True, False),
    ("local://x", True, False),
    ("bash:echo", True, False),
    ("a+b-c.d:x", True, False),
    ("HTTP://a", True, False),
    ("gcps://p/t", True, False),
    ("http:x", True, False),
    ("default", False, False),
    (":x", False, False),
    ("1a:x", False, False),
    ("http:", False, False),
    ("ht tp:x", False, False),
    ("é:x", False, False),
    ("", False, False),
    ("http://a\0", False, False),
]


@pytest.mark.parametrize(("address", "compatible", "strict"), ADDRESSES, ids=lambda x: repr(x))
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("version", [V26, V25])
def test_s2_1_listener_address(make_store: Make, rules: str, version: str, address: str, compatible: bool, strict: bool) -> None:
    store = make_store(rules=rules)
    client = DialectClient(store, version)
    client.create("p", tags={"resonate:external": "true"}).must()
    accepted = strict if binds_strictly(rules, version) else compatible
    client.listen("p", address).must(200 if accepted else 400)
    assert [x["address"] for x in stored(store, "p")["listeners"]] == ([address] if accepted else [])
    client.listen("missing", address).must(404 if accepted else 400)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("target", [None, ADDRESS])
def test_s2_1_task_create_where_the_promise_has_no_task(make_store: Make, rules: str, settled: bool, target: str | None) -> None:
    """A promise with a target and without a task comes from an edited snapshot, since no request creates it."""
    store = make_store(rules=rules)
    client = DialectClient(store)
    client.create("p", target=target).must()
    if settled:
        client.settle("p").must()
    if target is not None:
        snapshot = store.snapshot()
        del snapshot["promises"][0]["task"]
        store.restore(dict(snapshot, messages=[]))
    before = store.digest()
    client.task_create("p").must(409 if rules == "strict" and target is not None else 422)
    DialectClient(store, V25).task_create("p").must(200)
    assert store.digest() == before


# fmt: off
REFUSED_ACTIONS = {
    "empty id": ("promise.create", {"id": "", "timeoutAt": FAR}),
    "NUL in id": ("promise.create", {"id": "a\0b", "timeoutAt": FAR}),
    "negative deadline": ("promise.create", {"id": "p", "timeoutAt": -1}),
    "empty target": ("promise.create", {"id": "p", "timeoutAt": FAR, "tags": {"resonate:target": ""}}),
    "delay without target": ("promise.create", {"id": "p", "timeoutAt": FAR, "tags": {"resonate:delay": "5"}}),
    "delay past the deadline": ("promise.create", {"id": "p", "timeoutAt": 5, "tags": {"resonate:delay": "5",
                                                                                     "resonate:target": ADDRESS}}),
    "delay no number": ("promise.create", {"id": "p", "timeoutAt": FAR, "tags": {"resonate:delay": "x",
                                                                                "resonate:target": ADDRESS}}),
    "settle as timed out": ("promise.settle", {"id": "x", "state": "rejected_timedout"}),
    "settle as pending": ("promise.settle", {"id": "x", "state": "pending"}),
    "settle as nonsense": ("promise.settle", {"id": "x", "state": "RESOLVED"}),
    "settle an empty id": ("promise.settle", {"id": "", "state": "resolved"}),
}
# fmt: on
# fmt: off
WRONG_TYPES = {
    "no id": ("promise.create", {"timeoutAt": FAR}),
    "no deadline": ("promise.create", {"id": "p"}),
    "id no string": ("promise.create", {"id": 5, "timeoutAt": FAR}),
    "deadline no integer": ("promise.create", {"id": "p", "timeoutAt": 1.5}),
    "deadline as text": ("promise.create", {"id": "p", "timeoutAt": "5"}),
    "deadline past int64": ("promise.create", {"id": "p", "timeoutAt": 2**63}),
    "tags null": ("promise.create", {"id": "p", "timeoutAt": FAR, "tags": None}),
    "tag no string": ("promise.create", {"id": "p", "timeoutAt": FAR, "tags": {"a": 1}}),
    "param null": ("promise.create", {"id": "p", "timeoutAt": FAR, "param": None}),
    "header no string": ("promise.create", {"id": "p", "timeoutAt": FAR, "param": {"headers": {"a": 1}}}),
    "no state": ("promise.settle", {"id": "x"}),
    "state no string": ("promise.settle", {"id": "x", "state": 1}),
    "value null": ("promise.settle", {"id": "x", "state": "resolved", "value": None}),
    "another kind": ("promise.get", {"id": "x"}),
    "its own id": ("promise.create", {"id": "t", "timeoutAt": FAR}),
    "settles itself": ("promise.settle", {"id": "t", "state": "resolved"}),
}
# fmt: on


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("version", [V26, V25])
@pytest.mark.parametrize("case", REFUSED_ACTIONS)
def test_s2_1_a_fenced_action_that_its_own_rules_refuse(make_store: Make, rules: str, version: str, case: str) -> None:
    store = make_store(rules=rules)
    client = DialectClient(store, version)
    client.task_create("t").must()
    before = rows_of(store)
    held = 1 if version == V26 else 0
    reply = client.fence("t", held, *REFUSED_ACTIONS[case], now=50)
    assert rows_of(store) == before
    if not binds_strictly(rules, version):
        reply.must(400)
        assert store.now == 0, "a refused request is not run"
        client.fence("t", held + 1, *REFUSED_ACTIONS[case]).must(400)
        client.fence("missing", 0, *REFUSED_ACTIONS[case]).must(400)
        return
    inner = reply.must(200)["action"]
    assert inner["kind"] == REFUSED_ACTIONS[case][0]
    assert inner["head"] == {"corrId": "c1", "status": 400, "version": version}
    assert isinstance(inner["data"], str) and inner["data"]
    client.fence("t", held + 1, *REFUSED_ACTIONS[case]).must(409)
    client.fence("missing", 0, *REFUSED_ACTIONS[case]).must(404)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("version", [V26, V25])
@pytest.mark.parametrize("case", WRONG_TYPES)
def test_s2_1_a_fenced_action_of_wrong_shape_is_an_outer_400(make_store: Make, rules: str, version: str, case: str) -> None:
    store = make_store(rules=rules)
    client = DialectClient(store, version)
    client.task_create("t").must()
    before = store.digest()
    for id, held in (("t", 1 if version == V26 else 0), ("missing", 0)):
        kind, data = WRONG_TYPES[case]
        if id == "missing" and case in ("its own id", "settles itself"):
            data = {**data, "id": "missing"}
        client.fence(id, held, kind, data, now=50).must(400)
    assert (store.digest(), store.now) == (before, 0)


@pytest.mark.parametrize("rules", RULES)
def test_s2_1_a_fenced_timer_with_target(make_store: Make, rules: str) -> None:
    store = make_store(rules=rules)
    client = DialectClient(store)
    client.task_create("t").must()
    tags = {"resonate:timer": "true", "resonate:target": ADDRESS}
    inner = client.fence_create("t", 1, "p", tags=tags).must(200)["action"]
    assert inner["head"]["status"] == (200 if rules == "compatible" else 400)


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("version", [V26, V25])
def test_s2_1_tags_of_an_occurrence(make_store: Make, rules: str, version: str) -> None:
    store = make_store(rules=rules)
    DialectClient(store, version).schedule("s", tags={"a": "b", "resonate:origin": "mine"}, now=0).must()
    store.tick(now=60_000)
    expected = {"a": "b", "resonate:origin": "mine"}
    if rules == "compatible":
        expected |= {
            "resonate:schedule": "s",
            "resonate:branch": "s.60000",
            "resonate:parent": "s.60000",
            "resonate:prefix": "s.60000",
        }
    assert stored(store, "s.60000")["tags"] == expected


@pytest.mark.parametrize("rules", RULES)
def test_s2_1_callback_on_a_timer_is_no_internal_case(make_store: Make, rules: str) -> None:
    """Every timer is external, so a worker can sleep on it under both rule sets (1.1)."""
    store = make_store(rules=rules)
    client = DialectClient(store)
    client.create("sleep", timeout=100, tags={"resonate:timer": "true"}, now=0).must()
    client.task_create("t", now=0).must()
    client.listen("sleep", now=0).must()
    client.suspend("t", 1, "sleep", now=1).must()
    store.tick(now=100)
    assert (stored_task(store, "t")["state"], stored_task(store, "t")["current"]) == ("pending", "sleep")
    assert unblocks(store) != [] and executes(store) == [("execute", "t", 1)]
