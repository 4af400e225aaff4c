"""PROTOCOL 3, shape rules: the allowed values of each member of each request; a refused request changes nothing."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from conformance.wire import ADDRESS, FAR, V25, V26, DialectClient, request

ID = ["", "a\0b", 5, 1.5, None, True, [], {}]
NAME = ID
COUNT = [-1, 1.0, "5", True, None, [], {}, 2**63, -(2**63) - 1, 10**30]
POSITIVE = [0, *COUNT]
VALUE = [
    None,
    5,
    "x",
    [],
    True,
    {"headers": 5},
    {"headers": []},
    {"headers": {"a": 1}},
    {"headers": {"a": None}},
    {"data": 5},
    {"data": {}},
    {"data": True},
    {"headers": {}, "data": []},
]
TAGS = [None, 5, "x", [], {"a": 1}, {"a": None}, {"a": ["b"]}, {"a": True}]
STATE = ["", "pending", "rejected_timedout", "RESOLVED", 5, None, True, []]
KEY = [5, True, [], {}]
OBJECT = [None, 5, "x", True, []]
MISSING = "(missing)"

CREATE = {"id": "p", "timeoutAt": FAR, "param": {}, "tags": {"resonate:target": ADDRESS}, "ikc": "k"}
SETTLE = {"id": "t", "state": "resolved", "value": {}, "iku": "k"}


def _action(kind: str, data: Any) -> dict[str, Any]:
    return {"kind": kind, "head": {}, "data": data}


# fmt: off
# For each kind: valid data, then the path of each member with its refused values. A "?" marks a member that may be missing.
MEMBERS: dict[str, tuple[dict[str, Any], dict[str, list[Any]]]] = {
    "promise.get": ({"id": "x"}, {"id": ID}),
    "promise.create": (CREATE, {"id": ID, "timeoutAt": COUNT, "param?": VALUE, "tags?": TAGS, "ikc?": KEY}),
    "promise.settle": ({**SETTLE, "id": "x"}, {"id": ID, "state": STATE, "value?": VALUE, "iku?": KEY}),
    "promise.register_callback": ({"awaited": "x", "awaiter": "t"}, {"awaited": ID, "awaiter": ID}),
    "promise.register": ({"awaited": "x", "awaiter": "t"}, {"awaited": ID, "awaiter": ID}),
    "promise.register_listener": ({"awaited": "x", "address": "http://a"}, {"awaited": ID, "address": NAME}),
    "promise.subscribe": ({"awaited": "x", "address": "http://a"}, {"awaited": ID, "address": NAME}),
    "task.get": ({"id": "t"}, {"id": ID}),
    "task.create": (
        {"pid": "w", "ttl": 5, "action": _action("promise.create", CREATE)},
        {"pid": NAME, "ttl": POSITIVE, "action": OBJECT, "action.kind": ["promise.settle", "task.create", "", 5, None],
         "action.data": OBJECT, "action.data.id": ID, "action.data.timeoutAt": COUNT, "action.data.param?": VALUE,
         "action.data.tags": TAGS, "action.data.ikc?": KEY},
    ),
    "task.acquire": ({"id": "idle", "version": 0, "pid": "w", "ttl": 5}, {"id": ID, "version": COUNT, "pid": NAME, "ttl": POSITIVE}),
    "task.release": ({"id": "t", "version": 1}, {"id": ID, "version": COUNT}),
    "task.suspend": (
        {"id": "t", "version": 1, "actions": [_action("promise.register_callback", {"awaited": "x", "awaiter": "t"})]},
        {"id": ID, "version": COUNT, "actions": [*OBJECT, {}, [None], [5], ["x"], [{}], [[]]],
         "actions.0.kind": ["promise.register_listener", "", 5, None], "actions.0.data": OBJECT, "actions.0.data.awaited": ID,
         "actions.0.data.awaiter": [*ID, "other"]},
    ),
    "task.fulfill": (
        {"id": "t", "version": 1, "action": _action("promise.settle", SETTLE)},
        {"id": ID, "version": COUNT, "action": OBJECT, "action.kind": ["promise.create", "", 5, None], "action.data": OBJECT,
         "action.data.id": [*ID, "x"], "action.data.state": STATE, "action.data.value?": VALUE, "action.data.iku?": KEY},
    ),
    "task.fence": (
        {"id": "t", "version": 1, "action": _action("promise.create", CREATE)},
        {"id": ID, "version": COUNT, "action": OBJECT, "action.kind": ["promise.get", "task.create", "", 5, None],
         "action.data": OBJECT, "action.data.id": [*ID, "t"], "action.data.timeoutAt": COUNT, "action.data.param?": VALUE,
         "action.data.tags?": TAGS, "action.data.ikc?": KEY},
    ),
    "task.heartbeat": (
        {"pid": "w", "tasks": [{"id": "t", "version": 1}]},
        {"pid": NAME, "tasks": [None, 5, "x", {}, True, [None], [5], ["x"], [[]], [{}]], "tasks.0.id": ID, "tasks.0.version": COUNT},
    ),
    "task.halt": ({"id": "t"}, {"id": ID}),
    "task.continue": ({"id": "halted"}, {"id": ID}),
    "schedule.get": ({"id": "s"}, {"id": ID}),
    "schedule.delete": ({"id": "s"}, {"id": ID}),
    "schedule.pause": ({"id": "s"}, {"id": ID}),
    "schedule.resume": ({"id": "s"}, {"id": ID}),
    "schedule.create": (
        {"id": "s2", "cron": "* * * * *", "promiseId": "a", "promiseTimeout": 5, "promiseParam": {}, "promiseTags": {}},
        {"id": ID, "cron": [*ID, "nonsense"], "promiseId": NAME, "promiseTimeout": COUNT, "promiseParam?": VALUE,
         "promiseTags?": TAGS},
    ),
}
# fmt: on
ONLY_2025 = {"promise.register", "promise.subscribe"}
ONLY_2026 = {"promise.register_callback", "promise.register_listener", "task.halt", "task.continue"}
CASES = [
    (version, kind, member)
    for kind, (_, members) in MEMBERS.items()
    for version in (V26, V25)
    if kind not in (ONLY_2025 if version == V26 else ONLY_2026)
    for member in members
]


def _put(data: Any, path: str, value: Any) -> Any:
    """Returns a copy of the data with one member replaced, or removed."""
    data = copy.deepcopy(data)
    *way, last = path.rstrip("?").split(".")
    inner = data
    for step in way:
        inner = inner[int(step)] if step.isdigit() else inner[step]
    if value == MISSING:
        del inner[last]
    else:
        inner[last] = value
    return data


def _valid(version: str, kind: str) -> dict[str, Any]:
    data = copy.deepcopy(MEMBERS[kind][0])
    if version == V25:
        if "version" in data and kind != "task.acquire":
            data["version"] = 0
        for action in data.get("actions", []):
            action["kind"] = "promise.register"
        for task in data.get("tasks", []):
            task["version"] = 0
    return data


def _world(store: Any) -> None:
    client = DialectClient(store, V26)
    client.create("x", tags={"resonate:external": "true"}).must()
    client.create("idle", target=ADDRESS).must()
    client.task_create("t", pid="w").must()
    client.create("halted", target=ADDRESS).must()
    client.halt("halted").must()
    client.schedule("s").must()


@pytest.mark.parametrize(("version", "kind", "member"), CASES)
def test_s3_wrong_members_are_a_400_that_leaves_no_trace(store: Any, version: str, kind: str, member: str) -> None:
    _world(store)
    client = DialectClient(store, version)
    before = store.digest()
    values = MEMBERS[kind][1][member]
    optional = member.endswith("?") or (version == V25 and member == "action.data.tags")
    for value in [*values, *([] if optional else [MISSING])]:
        data = _put(_valid(version, kind), member, value)
        reply = client.send(kind, data, now=999)
        assert reply.status == 400, (value, reply)
        assert (store.digest(), store.now) == (before, 0), value
        try:
            text = json.dumps(request(kind, data, version)).encode()
        except ValueError:
            continue
        assert json.loads(store.apply_json(text, now=999))["head"]["status"] == 400, value
        assert (store.digest(), store.now) == (before, 0), value


@pytest.mark.parametrize(("version", "kind"), sorted({(v, k) for v, k, _ in CASES}))
def test_s3_the_valid_data_of_these_tests_is_valid(store: Any, version: str, kind: str) -> None:
    _world(store)
    DialectClient(store, version).send(kind, _valid(version, kind), now=5).must()


@pytest.mark.parametrize(("version", "kind"), sorted({(v, k) for v, k, _ in CASES}))
def test_s3_unknown_members_are_ignored(make_store: Any, version: str, kind: str) -> None:
    answers, digests = [], []
    for more in (False, True):
        store = make_store()
        _world(store)
        data = _valid(version, kind)
        envelope = request(kind, data, version)
        if more:
            data |= {"unknown": [1, {"x": None}], "": 0, "Id": "other"}
            envelope |= {"extra": {}}
            envelope["head"] |= {"resonate:origin": "x", "more": [1.5]}
        answers.append(store.apply(envelope, now=5))
        digests.append(store.digest())
    assert answers[0] == answers[1] and digests[0] == digests[1]


@pytest.mark.parametrize(("version", "kind"), sorted({(v, k) for v, k, _ in CASES}))
def test_s3_members_that_may_be_missing(store: Any, version: str, kind: str) -> None:
    _world(store)
    data = _valid(version, kind)
    for member in MEMBERS[kind][1]:
        if member.endswith("?"):
            data = _put(data, member, MISSING)
    DialectClient(store, version).send(kind, data, now=5).must()


# fmt: off
_AUTH = {"corrId": "c", "version": V26, "auth": 5}
ENVELOPES: list[tuple[str, Any, str, str]] = [
    ("null", None, "unknown", "0"),
    ("a number", 5, "unknown", "0"),
    ("text", "promise.get", "unknown", "0"),
    ("a list in a list", [], "unknown", "0"),
    ("nothing in it", {}, "unknown", "0"),
    ("no kind", {"head": {"corrId": "c", "version": V26}, "data": {"id": "p"}}, "unknown", "c"),
    ("kind no string", {"kind": 5, "head": {"corrId": "c", "version": V26}, "data": {"id": "p"}}, "unknown", "c"),
    ("kind null", {"kind": None, "head": {"corrId": "c", "version": V26}, "data": {"id": "p"}}, "unknown", "c"),
    ("kind empty", {"kind": "", "head": {"corrId": "c", "version": V26}, "data": {"id": "p"}}, "", "c"),
    ("no head", {"kind": "promise.get", "data": {"id": "p"}}, "promise.get", "0"),
    ("head no object", {"kind": "promise.get", "head": "x", "data": {"id": "p"}}, "promise.get", "0"),
    ("head a list", {"kind": "promise.get", "head": [], "data": {"id": "p"}}, "promise.get", "0"),
    ("no corrId", {"kind": "promise.get", "head": {"version": V26}, "data": {"id": "p"}}, "promise.get", "0"),
    ("corrId no string", {"kind": "promise.get", "head": {"corrId": 5, "version": V26}, "data": {"id": "p"}}, "promise.get", "0"),
    ("corrId null", {"kind": "promise.get", "head": {"corrId": None, "version": V26}, "data": {"id": "p"}}, "promise.get", "0"),
    ("no version", {"kind": "promise.get", "head": {"corrId": "c"}, "data": {"id": "p"}}, "promise.get", "c"),
    ("version null", {"kind": "promise.get", "head": {"corrId": "c", "version": None}, "data": {"id": "p"}}, "promise.get", "c"),
    ("version no string", {"kind": "promise.get", "head": {"corrId": "c", "version": 2026}, "data": {"id": "p"}}, "promise.get", "c"),
    ("no data", {"kind": "promise.get", "head": {"corrId": "c", "version": V26}}, "promise.get", "c"),
    ("data null", {"kind": "promise.get", "head": {"corrId": "c", "version": V26}, "data": None}, "promise.get", "c"),
    ("data a list", {"kind": "promise.get", "head": {"corrId": "c", "version": V26}, "data": []}, "promise.get", "c"),
    ("data text", {"kind": "promise.get", "head": {"corrId": "c", "version": V26}, "data": "{}"}, "promise.get", "c"),
    ("auth no string", {"kind": "promise.get", "head": _AUTH, "data": {"id": "p"}}, "promise.get", "c"),
    ("debug_time text", {"kind": "promise.get", "head": {"corrId": "c", "version": V26, "resonate:debug_time": "5"}, "data": {"id": "p"}},
     "promise.get", "c"),
    ("debug_time real", {"kind": "promise.get", "head": {"corrId": "c", "version": V26, "resonate:debug_time": 5.0}, "data": {"id": "p"}},
     "promise.get", "c"),
]
# fmt: on


@pytest.mark.parametrize(("envelope", "kind", "corr"), [e[1:] for e in ENVELOPES], ids=[e[0] for e in ENVELOPES])
def test_s3_malformed_envelopes_are_answered(store: Any, envelope: Any, kind: str, corr: str) -> None:
    """A refusal repeats kind and corrId if they are texts, else has `unknown` and `0`. Each request of a list has its answer."""
    before = store.digest()
    answers = [json.loads(store.apply_json(json.dumps(envelope).encode())), store.apply([envelope])[0]]
    if not isinstance(envelope, list):
        answers.append(store.apply(envelope))
    for answer in answers:
        assert (answer["kind"], answer["head"]) == (kind, {"corrId": corr, "status": 400, "version": V26})
        assert isinstance(answer["data"], str) and answer["data"]
    assert store.digest() == before


@pytest.mark.parametrize(
    "head",
    [
        {"auth": None},
        {"auth": "token"},
        {"auth": ""},
        {"resonate:debug_time": None},
        {"resonate:debug_time": 7},
        {"anything": [{}]},
    ],
    ids=repr,
)
def test_s3_optional_members_of_the_head(store: Any, head: dict[str, Any]) -> None:
    DialectClient(store).send("promise.create", {"id": "p", "timeoutAt": FAR}, **head).must()
    assert store.now == head.get("resonate:debug_time", 0) or head == {"resonate:debug_time": None}


BAD_TEXT = [
    b"",
    b" ",
    b"{",
    b"}",
    b"[]",
    b"[{}]",
    b"nul",
    b"{}{}",
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b'{"kind":"promise.get",}',
    b"'x'",
    b'{"kind": "promise.get", "head": {"corrId": "c", "version": "2026-04-01"}, "data": {"id": "p"}} x',
    b'{"kind": "promise.get", "head": {"corrId": "c", "version": "2026-04-01"}, "data": {"id": "\xff"}}',
    b'{"kind": "promise.get", "head": {"corrId": "c", "version": "2026-04-01"}, "data": {"id": "\\ud800"}}',
    b'{"kind": "promise.get", "head": {"corrId": "c", "version": "2026-04-01"}, "data": {"id": "a\nb"}}',
    b'{"kind": "promise.get", "head": {"corrId": "c", "version": "2026-04-01"}, "data": {"id": "p", "x": NaN}}',
    b'{"kind": "promise.get", "head": {"corrId": "c", "version": "2026-04-01"}, "data": {"id": "p", "x": 01}}',
    b"[" * 100_000,
    b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    b"\0",
    b"{\0}",
]


@pytest.mark.parametrize("text", BAD_TEXT, ids=lambda t: repr(t[:40]))
def test_s3_text_that_is_no_json_is_a_400(store: Any, text: bytes) -> None:
    before = store.digest()
    answer = json.loads(store.apply_json(text))
    assert answer["head"]["status"] == 400 and isinstance(answer["data"], str)
    assert answer["kind"] in ("unknown", "promise.get") and answer["head"]["version"] == V26
    assert store.digest() == before


def test_s3_duplicate_members_the_last_wins(store: Any) -> None:
    text = (
        b'{"kind":"x","kind":"promise.create","head":{"corrId":"a","corrId":"b","version":"2026-04-01"},'
        b'"data":{"id":5,"id":"p","timeoutAt":"x","timeoutAt":9,"tags":{"a":1,"a":"2"}}}'
    )
    answer = json.loads(store.apply_json(text))
    assert (answer["kind"], answer["head"]["corrId"], answer["head"]["status"]) == ("promise.create", "b", 200)
    assert (answer["data"]["promise"]["id"], answer["data"]["promise"]["tags"]) == ("p", {"a": "2"})


@pytest.mark.parametrize(
    ("written", "status"),
    [
        ("5", 200),
        ("5.0", 400),
        ("5e0", 400),
        ("-0", 200),
        ("-1", 400),
        ("1E3", 400),
        ("9223372036854775807", 200),
        ("9223372036854775808", 400),
        ('"5"', 400),
        ("18446744073709551615", 400),
        ("1" + "0" * 400, 400),
        ("true", 400),
    ],
)
def test_s3_integers_are_strict(store: Any, written: str, status: int) -> None:
    text = f'{{"kind":"promise.create","head":{{"corrId":"c","version":"{V26}"}},"data":{{"id":"p","timeoutAt":{written}}}}}'
    answer = json.loads(store.apply_json(text))
    assert answer["head"]["status"] == status
    assert len(store.snapshot()["promises"]) == (1 if status == 200 else 0)


def test_s3_apply_json_answers_in_the_form_of_the_request(store: Any) -> None:
    envelope = json.dumps(request("promise.create", {"id": "é𝄞\u2028", "timeoutAt": FAR}), ensure_ascii=False)
    for text in (envelope, envelope.encode()):
        answer = store.apply_json(text)
        assert isinstance(answer, bytes)
        assert json.loads(answer)["data"]["promise"]["id"] == "é𝄞\u2028"
    answers = store.apply_json([envelope.encode(), b"nonsense"])
    assert [json.loads(a)["head"]["status"] for a in answers] == [200, 400]


@pytest.mark.parametrize("version", [V26, V25])
def test_s3_order_of_checks(store: Any, version: str) -> None:
    """A request is checked for its shape first, then for existence, then for state and version (3)."""
    client = DialectClient(store, version)
    client.send("task.acquire", {"id": "nobody", "version": -1, "pid": "w", "ttl": 5}).must(400)
    client.acquire("nobody", 5).must(404)
    client.create("t", target=ADDRESS).must()
    client.acquire("t", 5).must(409)
    client.send("task.release", {"id": "nobody", "version": "x"}).must(400)
    client.release("nobody", 5).must(404)
    client.release("t", 0).must(409)


def test_s3_an_error_says_what_was_wrong_with_the_value(store: Any) -> None:
    client = DialectClient(store)
    client.create("t-one", target=ADDRESS).must()
    assert "no-such-id" in client.get("no-such-id").must(404).data
    assert "sideways" in client.settle("t-one", "sideways").must(400).data
    assert "7777" in client.search("promise", limit=7777).must(400).data
    assert "every day" in client.schedule("s", cron="every day").must(400).data
    assert "nowhere" in client.listen("t-one", "nowhere").must(400).data
    assert "41" in client.acquire("t-one", 41).must(409).data
