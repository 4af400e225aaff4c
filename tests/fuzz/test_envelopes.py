"""For every input, `apply` and `apply_json` return an answer of the right shape; they never raise or crash.

The profile of property/profiles.py sets the number of examples, and `RESONATE_FUZZ_EXAMPLES` multiplies it (default 1). A failure prints a blob that reproduces it.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from backends import BACK_ENDS, POSTGRES, BackEnd
from fuzz.envelopes import NOW, broken, envelopes, junk, places
from property import profiles

SCALE = int(os.environ.get("RESONATE_FUZZ_EXAMPLES", "1"))
SETTINGS = settings(
    max_examples=profiles.of_full(150) * SCALE,
    deadline=None,
    print_blob=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
FEW = settings(SETTINGS, max_examples=max(1, int(SETTINGS.max_examples * profiles.OF_POSTGRES * 2)))
"""For PostgreSQL, where a request takes many round trips."""
STATUSES = {200, 300, 400, 401, 403, 404, 409, 422, 429, 500}
VERSIONS = {"2026-04-01", "2025-01-15"}

ENDS = [b for b in BACK_ENDS if b.missing is None]
# What is judged before a storage is asked: CI tries it in memory and in a file.
of_shape = pytest.mark.parametrize(
    "end", [pytest.param(b, id=b.name, marks=[pytest.mark.full] if b is POSTGRES else []) for b in ENDS]
)


def tried(*strategies: Any) -> Callable[[Callable[..., None]], Callable[[BackEnd], None]]:
    """A random test on each storage, on PostgreSQL with few examples."""

    def decorate(judge: Callable[..., None]) -> Callable[[BackEnd], None]:
        usual, few = SETTINGS(given(*strategies)(judge)), FEW(given(*strategies)(judge))

        @pytest.mark.parametrize("end", ENDS, ids=lambda b: b.name)
        def test(end: BackEnd) -> None:
            (few if end is POSTGRES else usual)(end)

        return test

    return decorate


def opened(end: BackEnd, rules: str = "compatible") -> Any:
    """An empty store with its own clock; in memory it checks every invariant after every step."""
    return end.open(clock=end.clock_type(0), rules=rules, check=end.check_each_step)


def judge(answer: Any) -> int:
    """Checks the shape of an answer to any input; returns its status."""
    assert set(answer) == {"kind", "head", "data"}
    assert set(answer["head"]) == {"corrId", "status", "version"}
    assert isinstance(answer["kind"], str) and isinstance(answer["head"]["corrId"], str)
    assert answer["head"]["version"] in VERSIONS
    status = answer["head"]["status"]
    assert type(status) is int and status in STATUSES and status != 500
    if status not in (200, 300):
        assert isinstance(answer["data"], str) and answer["data"]
    return status


def send_both(one: Any, two: Any, envelope: Any, now: int | None = None) -> int:
    """Sends an envelope to one store as a value and to another as text; both must give the same answer and have the same rows."""
    before = (one.digest(), one.now)
    answer = one.apply([envelope], now=now)[0] if isinstance(envelope, list) else one.apply(envelope, now=now)
    status = judge(answer)
    if status == 400 and not runs_although_refused(envelope):
        assert (one.digest(), one.now) == before, "a 400 leaves no trace"
    text = two.apply_json(json.dumps(envelope), now=now)
    assert isinstance(text, bytes)
    assert json.loads(text) == answer
    assert one.digest() == two.digest()
    return status


def runs_although_refused(envelope: Any) -> bool:
    """Whether this is a suspend in 2025-01-15: its 400 for a missing promise corresponds to a 422, so it did run (PROTOCOL 2)."""
    try:
        return envelope["kind"] == "task.suspend" and envelope["head"]["version"] == "2025-01-15"
    except (TypeError, KeyError):
        return False


@tried(st.sampled_from(["compatible", "strict"]), st.lists(st.tuples(envelopes(), st.integers(0, 60)), min_size=1, max_size=25))
def test_valid_envelopes(end: BackEnd, rules: str, work: list[tuple[Any, int]]) -> None:
    """Long runs of well-formed requests: texts and values have the same effects, and the invariants hold."""
    one, two = opened(end, rules), opened(end, rules)
    for envelope, pause in work:
        send_both(one, two, envelope, now=one.now + pause)
    assert one.check() == []
    assert one.snapshot() == two.snapshot()


@tried(st.sampled_from(["compatible", "strict"]), st.lists(envelopes(), max_size=8), st.lists(broken(), min_size=1, max_size=4))
def test_broken_envelopes(end: BackEnd, rules: str, work: list[Any], breakage: list[Any]) -> None:
    """Requests with members that are dropped, swapped or replaced by junk, on a store that is not empty."""
    one, two = opened(end, rules), opened(end, rules)
    for envelope in [*work, *breakage]:
        send_both(one, two, envelope)
    assert one.check() == []


@of_shape
@SETTINGS
@given(junk)
@example([]).via("a batch is no request")
@example({"kind": "promise.get", "head": {}, "data": {}}).via("an empty head")
def test_any_json_value(end: BackEnd, value: Any) -> None:
    """JSON values that are not envelopes."""
    assert send_both(opened(end), opened(end), value) == 400


@tried(st.lists(st.one_of(envelopes(), broken()), max_size=6), st.booleans(), st.one_of(st.none(), NOW))
def test_batches(end: BackEnd, work: list[Any], atomic: bool, now: int | None) -> None:
    """A batch as values and as text; an atomic batch that is refused changes nothing."""
    one, two = opened(end), opened(end)
    before = one.snapshot()
    answers = one.apply(work, now=now, atomic=atomic)
    texts = two.apply_json([json.dumps(e) for e in work], now=now, atomic=atomic)
    assert [json.loads(t) for t in texts] == answers
    assert one.snapshot() == two.snapshot()
    refused = [judge(a) not in (200, 300) for a in answers]
    if atomic and any(refused):
        assert one.snapshot() == before
    elif not atomic:
        assert len(answers) == len(work)


@of_shape
@SETTINGS
@given(st.one_of(st.binary(max_size=80), st.text(max_size=40)))
def test_raw_bytes(end: BackEnd, text: bytes | str) -> None:
    """Any bytes or text."""
    store = opened(end)
    before = store.digest()
    try:
        text.encode() if isinstance(text, str) else None
    except UnicodeEncodeError:
        return
    assert judge(json.loads(store.apply_json(text))) == 400
    assert store.digest() == before


@of_shape
@SETTINGS
@given(envelopes(), st.data())
def test_damaged_text(end: BackEnd, envelope: Any, data: st.DataObject) -> None:
    """A valid request with bytes that are removed, inserted, replaced or doubled."""
    text = bytearray(json.dumps(envelope, ensure_ascii=data.draw(st.booleans())).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, max(0, len(text) - 1)))
        how = data.draw(st.sampled_from(["drop", "cut", "insert", "replace", "double"]))
        if how == "drop":
            del text[at : at + data.draw(st.integers(1, 9))]
        elif how == "cut":
            del text[at:]
        elif how == "insert":
            text[at:at] = data.draw(st.binary(min_size=1, max_size=6))
        elif how == "replace" and text:
            text[at] = data.draw(st.integers(0, 255))
        else:
            text[at:at] = text[at : at + 20]
    store = opened(end)
    before = store.digest()
    if judge(json.loads(store.apply_json(bytes(text)))) == 400 and not runs_although_refused(envelope):
        assert store.digest() == before
    assert store.check() == []


OUTSIDE_JSON = st.sampled_from(["\ud800", "a\udfffb", "\udc80"]) | st.sampled_from(
    [b"bytes", bytearray(b"x"), (1, 2), {1, 2}, 1j, float("nan"), float("inf"), object(), len, {5: "x"}, {None: 1}, {"\ud800": 1}]
)


@of_shape
@SETTINGS
@given(envelopes(), OUTSIDE_JSON, st.data())
def test_values_that_json_does_not_have(end: BackEnd, envelope: Any, value: Any, data: st.DataObject) -> None:
    """Lone surrogates, bytes, tuples, keys that are not texts, NaN: in any place they are answered like other wrong values."""
    envelope = copy.deepcopy(envelope)  # strategies may return the same object again
    way = data.draw(st.sampled_from(places(envelope)))
    inner = envelope
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = value
    store = opened(end)
    before = store.digest()
    if judge(store.apply(envelope)) == 400 and not runs_although_refused(envelope):
        assert store.digest() == before
    assert store.check() == []
    json.dumps(store.snapshot()).encode()


@of_shape
@pytest.mark.parametrize(
    "text", [b"[" * 1_000_000, b'{"data":' * 200_000, b'"' + b"x" * 3_000_000, b"1" * 1_000_000, b"\\" * 100_000]
)
def test_long_text(end: BackEnd, text: bytes) -> None:
    """Neither deep nor long text causes a crash."""
    assert judge(json.loads(opened(end).apply_json(text))) == 400


@of_shape
@pytest.mark.parametrize("depth", [500, 5_000])
def test_deep_values(end: BackEnd, depth: int) -> None:
    """Deep Python values, in members that are ignored or refused, never cause a crash."""
    deep: Any = "x"
    for level in range(depth):
        deep = [deep] if level % 2 else {"d": deep}
    store = opened(end)
    head = {"corrId": "c", "version": "2026-04-01"}
    judge(store.apply({"kind": "promise.get", "head": head, "data": {"id": deep}}))
    judge(store.apply({"kind": "promise.create", "head": head, "data": {"id": "p", "timeoutAt": 5, "unknown": deep}}))
    judge(store.apply({"kind": "promise.get", "head": {**head, "more": deep}, "data": {"id": "p"}}))
    judge(store.apply({"kind": "promise.get", "head": head, "data": {"id": "p"}, "more": deep}))
