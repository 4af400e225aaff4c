"""`_core.requests`: each typed call as the requests that it would run."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from typing import Any

import pytest

import resonate_core as rc
from resonate_core import _core
from resonate_core.calls.made import call, data_of

NOUNS = {"promises": _core.Promises, "tasks": _core.Tasks, "schedules": _core.Schedules, "jobs": _core.Jobs, "queues": _core.Queues}
AT = {"timeout_at": 9_000}
HELD = [("a", 1), ("b", 2)]

#: A call of each method: its arguments and keywords.
CALLS: dict[tuple[str, str], tuple[tuple[Any, ...], dict[str, Any]]] = {
    ("promises", "create"): (("a",), {**AT, "param": {"x": 1}, "headers": {"h": "1"}, "tags": {"t": "1"}, "idempotency_key": "k"}),
    ("promises", "get"): (("a",), {}),
    ("promises", "resolve"): (("a", 1), {"idempotency_key": "k"}),
    ("promises", "reject"): (("a", b"no"), {"headers": {"h": "1"}}),
    ("promises", "cancel"): (("a",), {}),
    ("promises", "register_callback"): (("a", "b"), {}),
    ("promises", "register_listener"): (("a", "poll://any@w"), {}),
    ("promises", "search"): (("a*",), {"state": "pending", "tags": {"t": "1"}, "limit": 7, "cursor": "a"}),
    ("promises", "create_many"): ((["a", "b"], [8_000, 9_000]), {"params": [1, 2], "tags": {"t": "1"}}),
    ("promises", "settle_many"): ((["a", "b"], [1, 2]), {"state": "rejected"}),
    ("tasks", "create"): (("a",), {**AT, "pid": "p", "ttl": 5, "target": "poll://any@w"}),
    ("tasks", "get"): (("a",), {}),
    ("tasks", "acquire"): (("a", 1), {"pid": "p", "ttl": 5}),
    ("tasks", "release"): (("a", 1), {}),
    ("tasks", "fulfill"): (("a", 1, "v"), {"state": "rejected"}),
    ("tasks", "suspend"): (("a", 1, ["b", "c"]), {}),
    ("tasks", "fence_create"): (("a", 1, "b"), AT),
    ("tasks", "fence_settle"): (("a", 1, "b", "v"), {}),
    ("tasks", "heartbeat"): (("p", HELD), {}),
    ("tasks", "halt"): (("a",), {}),
    ("tasks", "resume"): (("a",), {}),
    ("tasks", "search"): ((), {"state": "pending", "target": "poll://any@w"}),
    ("schedules", "create"): (("s", "* * * * *"), {"promise_timeout": 5, "param": 1, "tags": {"t": "1"}}),
    ("schedules", "get"): (("s",), {}),
    ("schedules", "delete"): (("s",), {}),
    ("schedules", "pause"): (("s",), {}),
    ("schedules", "resume"): (("s",), {}),
    ("schedules", "search"): ((), {"limit": 3}),
    ("jobs", "enqueue"): (
        ("mail", {"to": "ada"}),
        {"id": "j", "retention": "kept", "process_in": 5, "retry_policy": {"kind": "asynq"}},
    ),
    ("jobs", "enqueue_many"): (("mail", [1, 2]), {"ids": ["i", "j"], "queue": "q"}),
    ("jobs", "get"): (("j",), {}),
    ("jobs", "claim"): (({"q": 2, "r": 1}, 3), {"worker": "w", "lease": 5, "start": 1}),
    ("jobs", "start"): (("j", 1), {"lease": 5}),
    ("jobs", "start_many"): ((HELD,), {}),
    ("jobs", "heartbeat"): (("w", HELD), {}),
    ("jobs", "complete"): (("j", 1, "done"), {}),
    ("jobs", "complete_many"): (([("j", 1, "done")],), {}),
    ("jobs", "fail"): (("j", 1, "Broken", "why"), {"retryable": False, "retry_after": 5}),
    ("jobs", "release"): (("j", 1), {}),
    ("jobs", "snooze"): (("j", 1, 5), {}),
    ("jobs", "suspend"): (("j", 1, ["p"]), {"until": "all"}),
    ("jobs", "record"): (("j", 1, [{"id": "j:1", "state": "resolved", "value": 5}, {"id": "j:2", "timeout_in": 7}]), {}),
    ("jobs", "receive"): (("j", 1, "j:3", "topic"), {"timeout_in": 5}),
    ("jobs", "send"): (("j", "topic", "hello"), {"key": "k"}),
    ("jobs", "history"): (("j",), {"limit": 7, "cursor": "5:j:1"}),
    ("jobs", "start_over"): (("j", 1, {"since": 7}), {}),
    ("jobs", "fork"): (("j", "j:2", "k"), {}),
    ("jobs", "report"): (("j", 1), {"progress": 0.5, "lines": ["x"]}),
    ("jobs", "cancel"): (("j",), {}),
    ("jobs", "run"): (("j",), {}),
    ("jobs", "archive"): (("j",), {}),
    ("jobs", "delete"): (("j",), {}),
    ("jobs", "cancel_all"): ((), {"queue": "q"}),
    ("jobs", "run_all"): (("archived",), {"type": "mail"}),
    ("jobs", "archive_all"): (("retry",), {"tags": {"t": "1"}}),
    ("jobs", "delete_all"): (("failed",), {"group": "g"}),
    ("jobs", "search"): (("j*",), {"queue": "q", "state": "pending", "limit": 7, "cursor": "i"}),
    ("queues", "set"): (("q",), {"weight": 2, "concurrency": None, "rate": {"limit": 3, "per": 1000}}),
    ("queues", "get"): (("q",), {}),
    ("queues", "pause"): (("q",), {}),
    ("queues", "resume"): (("q",), {}),
    ("queues", "list"): ((), {}),
    ("queues", "stats"): (("q",), {}),
}

#: Methods that are no request.
LOCAL = {("promises", "count"), ("jobs", "graph")}


def without_heads(data: Any) -> Any:
    """The data without the heads of its actions, which a recording leaves out."""
    if isinstance(data, list):
        return [without_heads(one) for one in data]
    if not isinstance(data, dict):
        return data
    return {name: without_heads(one) for name, one in data.items() if not (name == "head" and "kind" in data)}


def test_every_method_is_called() -> None:
    methods = {(noun, name) for noun, cls in NOUNS.items() for name in vars(cls) if not name.startswith("_")}
    assert methods - LOCAL == set(CALLS)


@pytest.mark.parametrize(("noun", "name"), CALLS, ids=[".".join(call) for call in CALLS])
def test_a_call_makes_what_it_would_run(noun: str, name: str) -> None:
    store = rc.Store(clock=rc.ManualClock(1000))
    args, kwargs = CALLS[noun, name]
    trace = io.StringIO()
    with store.record(trace), contextlib.suppress(rc.ResonateError):  # there is no such record: the request was run all the same
        getattr(getattr(store, noun), name)(*args, **kwargs)
    ran = [line for line in map(json.loads, trace.getvalue().splitlines()[1:]) if not line["kind"].startswith("step.")]
    made, relative = _core.requests(NOUNS[noun], name, args, kwargs)
    assert [kind for kind, _ in made] and not relative
    if ran:  # reads are not recorded
        assert [(line["kind"], line["req"]["data"]) for line in ran] == [(kind, without_heads(data)) for kind, data in made]


@pytest.mark.parametrize(("noun", "name"), [("promises", "create"), ("tasks", "create"), ("tasks", "fence_create")])
def test_a_relative_deadline_stays_relative(noun: str, name: str) -> None:
    args, kwargs = CALLS[noun, name]
    ((_, data),), relative = _core.requests(NOUNS[noun], name, args, {**kwargs, "timeout_at": None, "timeout": 700})
    assert relative
    assert (data if noun == "promises" else data["action"]["data"])["timeoutAt"] == 700


def test_nothing_to_run_is_no_request() -> None:
    assert _core.requests(_core.Jobs, "start_many", ([],), {}) == ([], False)
    assert _core.requests(_core.Jobs, "complete_many", ([],), {}) == ([], False)
    assert _core.requests(_core.Promises, "create_many", ([], 5), {}) == ([], False)


@pytest.mark.parametrize(
    ("noun", "name", "args", "kwargs", "error"),
    [
        ("promises", "get", (5,), {}, "id must be str, got int"),
        ("promises", "create", ("a",), {}, "timeout_at or timeout must be given"),
        ("jobs", "enqueue", ("mail",), {"prio": 5}, "enqueue"),
        ("jobs", "claim", ("q",), {}, "claim"),
    ],
)
def test_arguments_are_checked_as_by_the_call(noun: str, name: str, args: Any, kwargs: Any, error: str) -> None:
    with pytest.raises(TypeError, match=error) as made:
        _core.requests(NOUNS[noun], name, args, kwargs)
    with pytest.raises(TypeError) as called:
        getattr(getattr(rc.Store(clock=rc.ManualClock()), noun), name)(*args, **kwargs)
    assert str(made.value) == str(called.value)


def test_another_class_is_refused() -> None:
    with pytest.raises(TypeError, match="type must be Promises, Tasks, Schedules, Jobs or Queues, got <class 'str'>"):
        _core.requests(str, "upper", (), {})


def test_what_is_no_request_is_refused() -> None:
    with pytest.raises(TypeError, match="the method is no request of the protocol"):
        _core.requests(_core.Promises, "count", (), {})


def test_a_misspelt_tag_is_named_at_the_line_that_calls() -> None:
    store = rc.Store(clock=rc.ManualClock())

    async def main() -> None:
        await store.aio.promises.create("a", 1000, tags={"resonate:traget": "poll://any@w"})

    with pytest.warns(UserWarning, match="resonate:traget") as caught:
        asyncio.run(main())
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("keywords", [{"timeout_at": 9_000}, {"timeout": 9_000}])
def test_the_data_of_a_method_are_those_of_its_call(keywords: dict[str, Any]) -> None:
    assert data_of(_core.Promises.create, "a", **keywords) == call(_core.Promises.create, "a", **keywords).data
    options: dict[str, Any] = {"id": "a", "good_for": 5, "after": ["b"]}
    assert data_of(_core.Jobs.enqueue, "t", 1, **options) == call(_core.Jobs.enqueue, "t", 1, **options).data


@pytest.mark.parametrize(
    ("arguments", "keywords"),
    [
        ((), {}),
        (("mail", 1, "j"), {}),
        (("mail",), {"type": "sms"}),
        (("mail",), {"prioritty": 1}),
        (("mail",), {"priority": "high"}),
        ((b"mail",), {}),
        (("mail", {1, 2}), {}),
    ],
)
def test_the_request_of_an_enqueue_is_refused_as_the_call_is(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
    with pytest.raises((TypeError, rc.errors.Invalid)) as called:
        rc.Store(clock=rc.ManualClock()).jobs.enqueue(*arguments, **keywords)
    with pytest.raises(called.type) as asked:
        _core.requests(_core.Jobs, "enqueue", arguments, keywords)
    assert str(asked.value) == str(called.value)


def test_keywords_of_a_request_are_strings() -> None:
    with pytest.raises(TypeError, match="keywords must be strings"):
        _core.requests(_core.Jobs, "enqueue", ("mail",), {1: 2})  # type: ignore[dict-item]
