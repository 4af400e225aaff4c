"""The requests of the fuzz tests: valid envelopes with few ids, and mutations that break them."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

V26, V25 = "2026-04-01", "2025-01-15"
IDS = ["a", "b", "t", "u", "é", "𝄞", "a.b", "missing"]
ADDRESSES = ["http://a", "poll://any@g", "poll://g", "x"]
NOW = st.integers(0, 400)

ids = st.sampled_from(IDS)
versions = st.sampled_from([0, 0, 1, 1, 1, 2, 3])
instants = st.one_of(st.integers(0, 500), st.sampled_from([2**50, 2**53 - 1, 2**63 - 1]))
ttls = st.one_of(st.integers(1, 200), st.just(2**63 - 1))
keys = st.sampled_from([None, "k", "l"])
values = st.sampled_from([{}, {"data": "eA=="}, {"headers": {"a": "b"}}, {"headers": {}, "data": ""}, {"headers": None}])
tags = st.dictionaries(
    st.sampled_from(
        ["resonate:target", "resonate:timer", "resonate:external", "resonate:delay", "resonate:branch", "resonate:invoke"]
    ),
    st.sampled_from(["true", "poll://any@g", "5", "150", "b", ""]),
    max_size=3,
)
targeted = tags.map(lambda t: {**t, "resonate:target": "poll://any@g"})


@st.composite
def objects(draw: st.DrawFn, **members: Any) -> dict[str, Any]:
    """Returns an object with a value drawn for each member."""
    return {name: draw(value) for name, value in members.items()}


def _action(kind: str, data: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return objects(kind=st.just(kind), head=st.just({"corrId": "i", "version": V26}), data=data)


create = objects(id=ids, timeoutAt=instants, param=values, tags=st.one_of(tags, targeted), ikc=keys)
settle = objects(id=ids, state=st.sampled_from(["resolved", "rejected", "rejected_canceled"]), value=values, iku=keys)
edge = objects(awaited=ids, awaiter=ids)
listener = objects(awaited=ids, address=st.sampled_from(ADDRESSES))
task = objects(id=ids, version=versions)
search = objects(
    limit=st.sampled_from([None, 1, 2, 1000]), cursor=st.sampled_from([None, "", "b"]), id=st.sampled_from([None, "*", "a*"])
)


@st.composite
def suspensions(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """A suspend whose actions name the task as their awaiter."""
    id = draw(ids)
    awaited = draw(st.lists(ids, min_size=0, max_size=3))
    actions = [{"kind": kind, "head": {}, "data": {"awaited": a, "awaiter": id}} for a in awaited]
    return {"id": id, "version": draw(versions), "actions": actions}


@st.composite
def fulfilments(draw: st.DrawFn) -> dict[str, Any]:
    """A fulfill whose action names the task."""
    data = draw(settle)
    return {"id": data["id"], "version": draw(versions), "action": {"kind": "promise.settle", "head": {}, "data": data}}


def _kinds(version: str) -> dict[str, st.SearchStrategy[Any]]:
    new = version == V26
    # fmt: off
    kinds: dict[str, st.SearchStrategy[Any]] = {
        "promise.get": objects(id=ids), "promise.create": create, "promise.settle": settle,
        "promise.register_callback" if new else "promise.register": edge,
        "promise.register_listener" if new else "promise.subscribe": listener,
        "task.get": objects(id=ids),
        "task.create": objects(pid=st.sampled_from(["w", "v"]), ttl=ttls, action=_action("promise.create", objects(
            id=ids, timeoutAt=instants, param=values, tags=targeted, ikc=keys))),
        "task.acquire": objects(id=ids, version=versions, pid=st.sampled_from(["w", "v"]), ttl=ttls),
        "task.release": task, "task.suspend": suspensions("promise.register_callback" if new else "promise.register"),
        "task.fulfill": fulfilments(),
        "task.fence": objects(id=ids, version=versions, action=st.one_of(
            _action("promise.create", create), _action("promise.settle", settle))),
        "task.heartbeat": objects(pid=st.sampled_from(["w", "v"]), tasks=st.lists(task, max_size=3)),
        "schedule.get": objects(id=ids), "schedule.delete": objects(id=ids),
        "schedule.pause": objects(id=ids), "schedule.resume": objects(id=ids),
        "schedule.create": objects(id=ids, cron=st.sampled_from(["* * * * *", "@hourly", "0 0 29 2 *"]), promiseId=ids,
                                   promiseTimeout=instants, promiseParam=values, promiseTags=tags),
    }
    # fmt: on
    if new:
        kinds |= {
            "promise.search": search,
            "task.search": search,
            "schedule.search": search,
            "task.halt": objects(id=ids),
            "task.continue": objects(id=ids),
            "debug.tick": objects(time=NOW),
            "debug.snap": st.just({}),
            "debug.start": st.just({}),
            "debug.stop": st.just({}),
        }
    return kinds


KINDS = {v: _kinds(v) for v in (V26, V25)}


@st.composite
def envelopes(draw: st.DrawFn) -> dict[str, Any]:
    """A well-formed request of either dialect; the ids come from a small pool."""
    version = draw(st.sampled_from([V26, V25]))
    kind = draw(st.sampled_from(sorted(KINDS[version])))
    head: dict[str, Any] = {"corrId": draw(st.sampled_from(["c", "é", ""])), "version": version}
    if draw(st.integers(0, 9)) == 0:
        head["resonate:debug_time"] = draw(NOW)
    return {"kind": kind, "head": head, "data": draw(KINDS[version][kind])}


texts = st.one_of(
    st.text(max_size=8), st.sampled_from(["", "\0", "a\0b", "\u2028", "\ufeff", "\uffff", "𝄞" * 3, "pending", "x" * 3_000])
)
"""Any text except lone surrogates, which JSON text cannot contain."""
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**40]),
    st.floats(allow_nan=False, allow_infinity=False),
    texts,
)
junk = st.recursive(
    scalars, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)), max_leaves=6
)
"""Any JSON value."""


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Returns the paths of all members and elements below a value."""
    found = []
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        found += [(*way, key), *places(inner, (*way, key))]
    return found


@st.composite
def broken(draw: st.DrawFn) -> Any:
    """An envelope after one to three mutations: a member is dropped, replaced, renamed, swapped, wrapped or added."""
    envelope: Any = copy.deepcopy(draw(envelopes()))
    for _ in range(draw(st.integers(1, 3))):
        way = draw(st.sampled_from(places(envelope) or [()]))
        if not way:
            return draw(junk)
        inner = envelope
        for key in way[:-1]:
            inner = inner[key]
        last, how = way[-1], draw(st.sampled_from(["drop", "replace", "replace", "rename", "swap", "wrap", "add"]))
        if how == "drop":
            del inner[last]
        elif how == "replace":
            inner[last] = draw(junk)
        elif how == "rename" and isinstance(inner, dict):
            inner[draw(texts)] = inner.pop(last)
        elif how == "swap":
            other = draw(st.sampled_from(list(inner) if isinstance(inner, dict) else range(len(inner))))
            inner[last], inner[other] = inner[other], inner[last]
        elif how == "wrap":
            inner[last] = draw(st.sampled_from([[inner[last]], {"data": inner[last]}, str(inner[last])]))
        elif how == "add" and isinstance(inner, dict):
            inner[draw(texts)] = draw(junk)
    return envelope
