"""Names, failures and steps, made from records that any program may have written."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import resonate_core as rc
from resonate_core.calls.workflow_records import RecordedError, Step, began_at, failure_of, name_in, name_of


@pytest.fixture
def store() -> rc.Store[rc.ManualClock]:
    return rc.Store(clock=rc.ManualClock(1000))


def rejected(store: rc.Store[rc.ManualClock], value: Any) -> rc.Promise:
    store.promises.create("a", timeout=1000)
    return store.promises.reject("a", value)


@pytest.mark.parametrize(
    ("value", "failure"),
    [
        ({"code": "NoStock", "message": "sold out", "data": {"left": 0}}, RecordedError("NoStock", "sold out", {"left": 0})),
        ({"__type": "error", "name": "Boom", "message": "it broke"}, RecordedError("Boom", "it broke")),
        ({"code": 5, "name": "Boom", "message": 7}, RecordedError("Boom")),
        ({"code": ""}, RecordedError("Rejected", "a was rejected", {"code": ""})),
        ("too late", RecordedError("Rejected", "too late")),
        ([1], RecordedError("Rejected", "a was rejected", [1])),
        (b"\xff", RecordedError("Rejected", "a was rejected", b"\xff")),
        (rc.Value(data="no base64"), RecordedError("Rejected", "no base64")),
        (None, RecordedError("Rejected", "a was rejected")),
    ],
)
def test_the_failure_of_a_rejected_promise(store: rc.Store[rc.ManualClock], value: Any, failure: RecordedError) -> None:
    assert failure_of(rejected(store, value)) == failure


def test_the_failure_of_other_states(store: rc.Store[rc.ManualClock]) -> None:
    assert failure_of(store.promises.create("a", timeout=1000)) is None
    assert failure_of(store.promises.cancel("a")) == RecordedError("Cancelled", "a was cancelled")
    store.promises.create("b", timeout=1000)
    assert failure_of(store.promises.resolve("b", {"code": "NoStock"})) is None
    store.promises.create("c", timeout=1000)
    store.clock.advance(1000)
    assert failure_of(store.promises.get("c")) == RecordedError("TimeoutError", "the deadline of c has passed")


def test_the_failure_of_a_job(store: rc.Store[rc.ManualClock]) -> None:
    store.jobs.enqueue("t", id="a", max_retries=0, on_exhausted="failed")
    (job,) = store.jobs.claim("default", worker="w", lease=1000, start=1)
    store.jobs.fail("a", job.version, "NoStock", "sold out")
    assert failure_of(store.promises.get("a")) == RecordedError("NoStock", "sold out")
    store.jobs.enqueue("t", id="b")
    store.jobs.cancel("b")
    assert failure_of(store.promises.get("b")) == RecordedError("Cancelled", "the job was cancelled")


def test_failures_in_words() -> None:
    assert (str(RecordedError("NoStock", "sold out")), str(RecordedError("NoStock"))) == ("NoStock: sold out", "NoStock")
    assert hash(RecordedError("a", data=[1])) == hash(RecordedError("a", data=[1]))


def test_names(store: rc.Store[rc.ManualClock]) -> None:
    assert name_in({"resonate:name": "charge", "resonate:topic": "t"}) == "charge"
    assert name_in({"resonate:name": "", "resonate:topic": "t"}) == "receive t"
    assert name_of(store.promises.create("a", timeout=1000)) == ""


@pytest.mark.parametrize(
    "param",
    [None, "text", 5, [1], b"\xff", rc.Value(data="?"), {"startedAt": True, "attempts": "many"}, {"startedAt": -1, "attempts": 0}],
)
def test_a_record_of_any_program_is_a_step(store: rc.Store[rc.ManualClock], param: Any) -> None:
    promise = store.promises.create("a:1", timeout=1000, param=param, tags={"resonate:name": "retry x"})
    step = Step.of(promise)
    assert (step.started_at, step.attempts, step.error, step.result, step.took) == (1000, 1, None, None, None)
    assert began_at(promise.to_dict()) == 1000


@pytest.mark.parametrize(
    ("value", "result"), [({"a": 1}, {"a": 1}), (None, None), (rc.Value(data="aGk="), "hi"), (b"\xff", b"\xff"), ("x", "x")]
)
def test_results(store: rc.Store[rc.ManualClock], value: Any, result: Any) -> None:
    store.promises.create("a:1", timeout=1000)
    assert Step.of(store.promises.resolve("a:1", value)).result == result


def test_a_step_is_a_value(store: rc.Store[rc.ManualClock]) -> None:
    step = Step.of(store.promises.create("a:1", timeout=1000, tags={"resonate:name": "charge"}))
    assert pickle.loads(pickle.dumps(step)) == step == copy.deepcopy(step)
    assert {step: 1}[step] == 1
    assert "promise=" not in repr(step)


def test_a_clock_that_was_set_back_makes_no_negative_duration(store: rc.Store[rc.ManualClock]) -> None:
    store.promises.create("a:1", timeout=1000, param={"startedAt": 5000})
    assert Step.of(store.promises.resolve("a:1")).took == 0
