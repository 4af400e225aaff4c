"""The same id with an equal payload was a Conflict if its members came in another order, or if a set had another order in a process.

The payloads were compared as bytes. They are compared as values (JOBS 3): headers, and JSON without order of members, white space,
escapes and spelling of numbers. Sets are written in order.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc
from conformance.job_wire import JOB, JobClient
from conformance.wire import DIALECTS
from resonate_core.conformance.reference import Model
from resonate_core.worker import Worker


@pytest.fixture(params=["engine", "reference model"])
def store(request: pytest.FixtureRequest, make_store: Callable[..., Any]) -> Any:
    return make_store() if request.param == "engine" else Model()


def coded(text: str | bytes) -> dict[str, str]:
    return {"data": base64.b64encode(text.encode() if isinstance(text, str) else text).decode()}


SAME = [
    ('{"a":1,"b":2}', '{"b":2,"a":1}'),
    ('{"a":{"x":[1,{"p":1,"q":2}],"y":0}}', '{"a":{"y":0,"x":[1,{"q":2,"p":1}]}}'),
    ('{"a":1}', ' {\n "a" : 1 }\r\n'),
    ('{"a":1}', '{"a":1.0}'),
    ("[1.50, 100, -0, 0.001]", "[1.5, 1e2, 0, 1E-3]"),
    ("[123456789012345678901234567890]", "[1.2345678901234567890123456789e29]"),
    ('"é\U0001f600/"', '"\\u00e9\\ud83d\\ude00\\/"'),
    ('"\\ud800"', '"\\uD800"'),
    ('{"a":2}', '{"a":1,"a":2}'),
    ("null", " null"),
    ("[]", "[ ]"),
    ("[" * 400 + "]" * 400, "[" * 400 + " " + "]" * 400),
]
OTHER = [
    ('{"a":1,"b":2}', '{"a":2,"b":1}'),
    ('{"a":1}', '{"a":1,"b":null}'),
    ("[1,2]", "[2,1]"),
    ("[1]", "[true]"),
    ("[0]", "[false]"),
    ("[1]", '["1"]'),
    ("[]", "{}"),
    ('{"a":[]}', '{"a":null}'),
    ("[9007199254740993]", "[9007199254740992]"),
    ("[123456789012345678901234567890]", "[123456789012345678901234567891]"),
    ("[0.1]", "[0.10000000000000001]"),
    ("[1e400]", "[1e401]"),
    ("[1]", "[-1]"),
    ('{"A":1}', '{"a":1}'),
    ('"e\u0301"', '"é"'),
    ("not json", "not  json"),
    ("[1", "[ 1"),
    ("[1]", "[1],"),
    ("[01]", "[1]"),
    ("[NaN]", "[ NaN]"),
    (b"\xff\x00", b"\xff\x01"),
    ("[" * 5000 + "]" * 5000, " " + "[" * 5000 + "]" * 5000),
]


@pytest.mark.parametrize("version", DIALECTS)
@pytest.mark.parametrize(("first", "second"), SAME)
def test_the_same_value(store: Any, version: str, first: str, second: str) -> None:
    client = JobClient(store, version)
    job = client.enqueue(payload=coded(first)).must()["job"]
    for again in (second, first):
        assert client.enqueue(payload=coded(again)).must()["job"] == job, "as it was written at first"


@pytest.mark.parametrize(("first", "second"), OTHER)
def test_another_value(store: Any, first: str | bytes, second: str | bytes) -> None:
    client = JobClient(store)
    client.enqueue(payload=coded(first)).must()
    client.enqueue(payload=coded(second)).must(409)
    client.enqueue(payload=coded(first)).must(200)


def test_headers_and_what_is_no_base64(store: Any) -> None:
    client = JobClient(store)
    client.enqueue("a", payload={"headers": {"x": "1", "y": "2"}, **coded("[1]")}).must()
    client.enqueue("a", payload={"headers": {"y": "2", "x": "1"}, **coded("[1.0]")}).must()
    client.enqueue("a", payload={"headers": {"x": "1"}, **coded("[1]")}).must(409)
    client.enqueue("b", payload={"data": "{}"}).must()
    client.enqueue("b", payload={"data": "{ }"}).must(409)
    client.enqueue("c").must()
    client.enqueue("c", payload={"headers": {}, "data": ""}).must()
    client.enqueue("c", payload=coded("null")).must(409)


def test_of_an_adopted_promise(store: Any) -> None:
    client = JobClient(store)
    client.create(JOB, param=coded('{"a":1,"b":2}')).must()
    client.enqueue().must()
    client.enqueue(payload=coded('{"b":2,"a":1}')).must(200)
    client.enqueue(payload=coded('{"b":2}')).must(409)


def test_every_door(make_store: Callable[..., Any]) -> None:
    store = make_store()
    store.jobs.enqueue("t", {"a": 1, "b": 2}, id="x")
    assert store.jobs.enqueue("t", {"b": 2, "a": 1}, id="x").payload.json() == {"a": 1, "b": 2}
    assert len(store.jobs.enqueue_many("t", [{"b": 2, "a": 1.0}], ids=["x"])) == 1
    request = {"kind": "job.enqueue", "head": {"corrId": "1", "version": "2026-04-01"}}
    data = {"id": "x", "type": "t", "payload": coded('{ "b": 2, "a": 1 }')}
    for answer in (store.apply({**request, "data": data}), json.loads(store.apply_json(json.dumps({**request, "data": data})))):
        assert answer["head"]["status"] == 200, answer
    with pytest.raises(rc.Conflict):
        store.jobs.enqueue("t", {"a": 1, "b": 3}, id="x")
    assert len(store.jobs.search()) == 1


def test_a_promise_of_the_same_id(make_store: Callable[..., Any]) -> None:
    """promise.create compares keys of idempotency alone, and task.create answers the promise: neither compares params."""
    store = make_store()
    store.promises.create("p", timeout=1_000, param={"a": 1, "b": 2})
    assert store.promises.create("p", timeout=1_000, param={"b": 2, "a": 1}).param.json() == {"a": 1, "b": 2}


def test_a_long_payload_is_compared(make_store: Callable[..., Any]) -> None:
    store = make_store()
    names = [f"name {n}" for n in range(20_000)]
    store.jobs.enqueue("t", {name: [n, 2] for n, name in enumerate(names)}, id="x")
    store.jobs.enqueue("t", {name: [n, 2] for n, name in reversed(list(enumerate(names)))}, id="x")


SETS = """
import dataclasses, sys
import resonate_core as rc
from resonate_core.worker import Worker
@dataclasses.dataclass
class Mail:
    to: set[str]
    more: dict[str, list[frozenset[str]]]
store = rc.Store(sys.argv[1], clock=rc.ManualClock(start=0))
worker = Worker(store)
@worker.task("mail")
def mail(mail: Mail) -> None: ...
mail.enqueue(Mail({"ann", "bob", "cleo", "dora"}, {"cc": [frozenset(("x", "y", "z"))]}), id="x")
print(store.jobs.get("x").payload.data)
"""


def test_sets_of_two_processes(tmp_path: Any) -> None:
    pytest.importorskip("msgspec")
    found = set()
    for seed in "123456":
        ran = subprocess.run(
            [sys.executable, "-c", SETS, str(tmp_path / "a.db")],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert ran.returncode == 0, ran.stderr
        found.add(ran.stdout)
    (data,) = found
    assert json.loads(base64.b64decode(data)) == {"to": ["ann", "bob", "cleo", "dora"], "more": {"cc": [["x", "y", "z"]]}}


@dataclasses.dataclass
class Bag:
    things: frozenset[int]


def test_sets_in_every_place() -> None:
    pytest.importorskip("msgspec")
    pydantic = pytest.importorskip("pydantic")
    from resonate_core.worker.encoding import encoded, payload_encoded

    class Model(pydantic.BaseModel):  # type: ignore[misc, name-defined, unused-ignore]
        tags: set[str] = pydantic.Field(serialization_alias="labels")
        bags: list[set[int]]

    names = {f"n{i}" for i in range(50)}
    assert encoded(names) == sorted(names)
    assert encoded({"b": [names], "a": (names, 1)}) == {"b": [sorted(names)], "a": [sorted(names), 1]}
    assert list(encoded({"b": names, "a": 1})) == ["b", "a"], "members keep their order"
    assert encoded(Bag(frozenset({1000, 3, 77}))) == {"things": [3, 77, 1000]}
    assert encoded(Model(tags=names, bags=[{99, 5}])) == {"labels": sorted(names), "bags": [[5, 99]]}
    labels, bags = payload_encoded(Model(tags=names, bags=[{99, 5}])).values()
    assert (labels, bags) == (sorted(names), [[5, 99]])
    assert encoded({"m": Model(tags=names, bags=[])}) == {"m": {"labels": sorted(names), "bags": []}}
    assert encoded({1, "a", (2, 3)}) == ["a", 1, (2, 3)]


def test_a_result_with_a_set() -> None:
    pytest.importorskip("msgspec")
    store = rc.Store(clock=rc.ManualClock(start=0))
    worker = Worker(store)
    names = {f"n{i}" for i in range(50)}
    worker.task("t")(lambda: names).enqueue(id="x")
    worker.run_until_idle()
    assert store.jobs.get("x").result.json() == sorted(names)
