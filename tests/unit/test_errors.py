"""Refused requests and faults: the exception's class depends on the status or code; the message shows the bad value."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import resonate_core as rc

TARGET = {"resonate:target": "poll://any@w"}


def make(**options: Any) -> rc.Store:
    return rc.Store(clock=rc.ManualClock(), check=True, **options)


REFUSALS: list[tuple[type[rc.ResonateError], int, Callable[[rc.Store], object]]] = [
    (rc.Invalid, 400, lambda s: s.promises.create("", 1000)),
    (rc.Invalid, 400, lambda s: s.promises.create("a\0b", 1000)),
    (rc.Invalid, 400, lambda s: s.promises.create("a", -1)),
    (rc.Invalid, 400, lambda s: s.promises.create("a", 2**63)),
    (rc.Invalid, 400, lambda s: s.promises.create("a\ud800", 1000)),
    (rc.Invalid, 400, lambda s: s.promises.search(limit=0)),
    (rc.Invalid, 400, lambda s: s.promises.search(state="done")),
    (rc.Invalid, 400, lambda s: s.promises.register_listener("a", "nowhere")),
    (rc.Invalid, 400, lambda s: s.schedules.create("a", "* * *", promise_timeout=1)),
    (rc.Invalid, 400, lambda s: s.schedules.create("a", "0 0 31 2 *", promise_timeout=1)),
    (rc.Invalid, 400, lambda s: s.tasks.create("a", 1000, pid="w", ttl=0, target="x://y")),
    (rc.Invalid, 400, lambda s: s.tasks.create("a", 1000, pid="w", ttl=1)),
    (rc.Invalid, 400, lambda s: s.tasks.create("a", 1000, pid="w", ttl=1, target="x://y", tags=TARGET)),
    (rc.Invalid, 400, lambda s: s.tasks.heartbeat("w", [("a", 1, 2)])),  # type: ignore[list-item]
    (rc.NotFound, 404, lambda s: s.promises.get("nobody")),
    (rc.NotFound, 404, lambda s: s.promises.resolve("nobody")),
    (rc.NotFound, 404, lambda s: s.tasks.get("nobody")),
    (rc.NotFound, 404, lambda s: s.schedules.get("nobody")),
    (rc.NotFound, 404, lambda s: s.schedules.delete("nobody")),
    (rc.Conflict, 409, lambda s: s.tasks.acquire("job", 7, pid="w", ttl=1)),
    (rc.Conflict, 409, lambda s: s.tasks.release("job", 0)),
    (rc.Conflict, 409, lambda s: s.tasks.resume("job")),
    (rc.Unprocessable, 422, lambda s: s.promises.register_callback("job", "nobody")),
    (rc.Unprocessable, 422, lambda s: s.tasks.create("plain", 1000, pid="w", ttl=1, target="x://y")),
]


@pytest.mark.parametrize("case", range(len(REFUSALS)))
def test_refusal(case: int) -> None:
    expected, status, call = REFUSALS[case]
    store = make()
    store.promises.create("job", 1000, tags=TARGET)
    store.promises.create("plain", 1000)
    before = store.digest()
    with pytest.raises(rc.ResonateError) as caught:
        call(store)
    assert type(caught.value) is expected
    assert caught.value.status == status and caught.value.message == str(caught.value) != ""
    assert store.digest() == before


WRONG_TYPES: list[Callable[[rc.Store], object]] = [
    lambda s: s.promises.create(1, 1000),  # type: ignore[arg-type]
    lambda s: s.promises.create("a", 1000.0),  # type: ignore[arg-type]
    lambda s: s.promises.create("a", True),
    lambda s: s.promises.create("a", "1000"),  # type: ignore[arg-type]
    lambda s: s.promises.create("a"),
    lambda s: s.promises.create("a", 1, timeout=1),
    lambda s: s.promises.create("a", timeout=1.5),  # type: ignore[arg-type]
    lambda s: s.promises.create("a", 1, tags={"k": 1}),  # type: ignore[dict-item]
    lambda s: s.promises.create("a", 1, tags={1: "v"}),  # type: ignore[dict-item]
    lambda s: s.promises.create("a", 1, tags=["k"]),  # type: ignore[arg-type]
    lambda s: s.promises.create("a", 1, param=object()),
    lambda s: s.promises.create("a", 1, headers="h"),  # type: ignore[arg-type]
    lambda s: s.promises.create("a", 1, param=rc.Value({"h": "1"}), headers={"h": "2"}),
    lambda s: s.promises.create_many("abc", 1),
    lambda s: s.promises.create_many(["a"], "1"),  # type: ignore[arg-type]
    lambda s: s.promises.create_many(5, 1),  # type: ignore[arg-type]
    lambda s: s.tasks.suspend("a", 1, "b"),
    lambda s: s.tasks.acquire("a", 1.0, pid="w", ttl=1),  # type: ignore[arg-type]
    lambda s: s.tasks.heartbeat("w", [1]),  # type: ignore[list-item]
    lambda s: s.apply({}, now="1"),  # type: ignore[call-overload]
    lambda s: s.apply_json({}),  # type: ignore[call-overload]
    lambda s: s.apply_json([1]),  # type: ignore[arg-type]
    lambda s: s.restore([]),  # type: ignore[arg-type]
    lambda s: s.tick(1.0),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("case", range(len(WRONG_TYPES)))
def test_wrong_type(case: int) -> None:
    store = make()
    before = store.digest()
    with pytest.raises(TypeError):
        WRONG_TYPES[case](store)
    assert store.digest() == before


def test_a_type_error_names_the_argument() -> None:
    with pytest.raises(TypeError, match="timeout_at must be an int of Unix milliseconds or an aware datetime, got float"):
        make().promises.create("a", 1.0)  # type: ignore[arg-type]


def test_invalid_is_a_value_error() -> None:
    assert issubclass(rc.Invalid, ValueError)
    assert all(issubclass(one, rc.ResonateError) for one in (rc.Invalid, rc.NotFound, rc.Conflict, rc.Unprocessable, rc.StoreError))
    assert issubclass(rc.Closed, rc.StoreError)


OPTIONS: list[tuple[dict[str, Any], list[str]]] = [
    ({"rules": "loose"}, ["'loose'", "'compatible'", "'strict'"]),
    ({"catchup": "some"}, ["'some'", "'all'", "'latest'", "'none'"]),
    ({"retry_timeout": "often"}, ["'often'", "'ttl'"]),
    ({"retry_timeout": 0}, ["0", "1"]),
    ({"unblock_retention": -1}, ["-1", "0"]),
]


@pytest.mark.parametrize("options, words", OPTIONS)
def test_an_unknown_option_names_what_is_allowed(options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(rc.Invalid) as caught:
        make(**options)
    assert all(word in caught.value.message for word in words)


@pytest.mark.parametrize("options", [{"rules": 1}, {"check": "yes"}, {"debug": 1}, {"clock": 5}, {"retry_timeout": 1.5}])
def test_an_option_of_the_wrong_type(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        rc.Store(**options)


@pytest.mark.parametrize("url", ["redis://localhost/x", "mysql://localhost/x"])
def test_no_silent_memory(url: str) -> None:
    with pytest.raises(rc.Unsupported, match=url):
        rc.Store(url)


def test_a_path_of_the_wrong_type() -> None:
    with pytest.raises(TypeError):
        rc.Store(5)  # type: ignore[arg-type]


CLOSED: list[Callable[[rc.Store], object]] = [
    lambda s: s.promises.create("a", 1),
    lambda s: s.promises.search(),
    lambda s: s.promises.count(),
    lambda s: s.promises.create_many(["a"], 1),
    lambda s: s.tasks.get("a"),
    lambda s: s.schedules.get("a"),
    lambda s: s.apply({}),
    lambda s: s.apply_json(b"{}"),
    lambda s: s.tick(),
    lambda s: s.next_due(),
    lambda s: s.now,
    lambda s: s.check(),
    lambda s: s.fork(),
    lambda s: s.snapshot(),
    lambda s: s.restore({}),
    lambda s: s.digest(),
    lambda s: s.messages(),
    lambda s: s.take_messages(),
    lambda s: s.counts(),
    lambda s: s.record(os.devnull),
]


@pytest.mark.parametrize("case", range(len(CLOSED)))
def test_a_closed_store_says_so(case: int) -> None:
    with make() as store:
        store.promises.create("a", 1000)
    assert store.closed
    store.close()
    with pytest.raises(rc.Closed, match="closed"):
        CLOSED[case](store)
    assert "closed" in repr(store) and "closed" in repr(store.promises)


def test_a_closed_store_leaves_its_clock_alone() -> None:
    clock = rc.ManualClock()
    store = rc.Store(clock=clock)
    store.promises.create("a", 10, tags={"resonate:timer": "true"})
    store.close()
    assert clock.advance(100) == [] and clock.now == 100


def test_a_fenced_refusal_is_raised_as_what_it_is() -> None:
    store = make()
    store.tasks.create("job", 1000, pid="w", ttl=500, target="x://y")
    with pytest.raises(rc.NotFound):
        store.tasks.fence_settle("job", 1, "nobody")
    with pytest.raises(rc.Conflict):
        store.tasks.fence_create("job", 7, "other", 1000)
    with pytest.raises(rc.Invalid):
        store.tasks.fence_create("job", 1, "job", 1000)


def test_violations_are_raised_with_their_names() -> None:
    store = make()
    store.promises.create("a", 1000)
    snapshot = store.snapshot()
    snapshot["promises"][0]["createdAt"] = 2000
    digest = store.digest()
    with pytest.raises(rc.InvariantViolation) as caught:
        store.restore(snapshot)
    assert caught.value.violations and all(v.name and v.id == "a" and v.detail for v in caught.value.violations)
    assert store.digest() == digest
    store.restore(snapshot, check=False)
    assert [v.name for v in store.check()] == [v.name for v in caught.value.violations]


def test_errors_travel_between_processes() -> None:
    for error in (rc.NotFound("gone"), rc.ResonateError("busy", 429)):
        copy = pickle.loads(pickle.dumps(error))
        assert type(copy) is type(error) and (copy.message, copy.status) == (error.message, error.status)


class Odd(dict):  # type: ignore[type-arg]
    """A dict whose methods must not be called: the module reads a dict's own storage."""

    def __getitem__(self, key: object) -> object:
        raise RuntimeError("asked")

    def __iter__(self) -> Any:
        raise RuntimeError("asked")


def envelopes() -> list[Any]:
    cyclic: dict[str, Any] = {"kind": "promise.get"}
    cyclic["head"] = cyclic
    deep: Any = {}
    for _ in range(10_000):
        deep = {"data": deep}
    good = {"kind": "promise.get", "head": {"corrId": "1", "version": "2026-04-01"}, "data": {"id": "a"}}
    return [
        None, 5, 1.5, True, "text", b"bytes", (), object(), set(), {}, {1: 2}, {"kind": []}, cyclic, deep, Odd(kind=1),
        good | {"head": None}, good | {"data": []}, good | {"data": {"id": "\ud800"}}, good | {"data": {"id": 2**70}}, good | {"kind": "promise.eat"},
        good | {"head": {"corrId": "1", "version": "1999-01-01"}}, (good,),
    ]  # fmt: skip


@pytest.mark.parametrize("case", range(len(envelopes())))
def test_no_envelope_raises(case: int) -> None:
    store = make()
    envelope = envelopes()[case]
    answer = store.apply(envelope)
    assert answer["head"]["status"] == 400 and isinstance(answer["data"], str)
    [inside] = store.apply([envelope])
    assert inside["head"]["status"] == 400


def test_a_subclass_of_dict_is_read_as_a_dict() -> None:
    envelope = Odd(kind="promise.get", head=Odd(corrId="1", version="2026-04-01"), data=Odd(id="a"))
    assert make().apply(envelope)["head"] == {"corrId": "1", "status": 404, "version": "2026-04-01"}


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b"\xff", "\ud800", "{}", bytearray(b"{}"), memoryview(b"{}"), b"[" * 5000]
)
def test_no_text_raises(text: Any) -> None:
    assert b'"status":400' in make().apply_json(text)
    assert b'"status":400' in make().apply_json([text])[0]
