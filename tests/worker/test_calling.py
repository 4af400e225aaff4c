"""The arguments of a handler."""

from __future__ import annotations

import functools
import json

import pytest

import resonate_core as rc
from resonate_core.worker import JobContext, Worker

PAYLOADS = [{"x": 1}, {"payload": 1, "more": 2}, {}, [1, 2], [], "text", 7, 0, False, 2.5]


def nothing():
    return "called"


def whole(payload):
    return payload


def whole_with_default(payload=7):
    return payload


def second_with_default(payload, more=2):
    return payload if more == 2 else "more"


def third_by_keyword(payload, more=2, *, still=3, **others):
    return payload if (more, still, others) == (2, 3, {}) else "more"


def first_and_rest(payload, *rest):
    return payload if rest == () else "rest"


def position_only(payload, /):
    return payload


def positional(*given):
    return given[0]


def context_first(job: JobContext, payload):
    return payload if job.id == "j" else "no context"


def context_last(payload, job: JobContext):
    return payload if job.id == "j" else "no context"


def context_or_none(payload, job: JobContext | None = None):
    return payload if job and job.id == "j" else "no context"


def context_of_position(payload, more=2, job: JobContext = None, /):
    return payload if job and (job.id, more) == ("j", 2) else "no context"


def context_between(payload, job: JobContext, more=2):
    return payload if (job.id, more) == ("j", 2) else "no context"


def context_twice(job: JobContext, payload, *, also: JobContext):
    return payload if job is also else "no context"


def context_before_many(job: JobContext, *given):
    return given[0] if job.id == "j" else "no context"


def one_member(a):
    return a


def one_member_with_default(a=7, more=2):
    return a if more == 2 else "more"


def members(a, b):
    return a, b


def members_with_default(a, b, c=3, *, d=4):
    return a, b, c, d


def members_and_rest(a, b, *rest, **others):
    return a, b, rest, others


def any_members(**given):
    return given


def keyword_only(*, a):
    return a


def keyword_only_with_default(*, a=5):
    return a


def only_context(job: JobContext):
    return job.id


def context_and_members(a, b, *, job: JobContext):
    return job.id, a, b


def as_bytes(payload: bytes):
    return payload.decode() + "!"


def as_bytes_with_default(payload: bytes = b"none"):
    return payload.decode() + "!"


def as_value(payload: rc.Value):
    return payload.headers, payload.json()


async def in_the_loop(a, b):
    return a + b


async def in_the_loop_whole(payload):
    return payload


class Handlers:
    def method(self, payload, more=2):
        return payload

    def of_members(self, a, b, job: JobContext):
        return job.id, a, b

    @classmethod
    def of_class(cls, payload):
        return payload

    @staticmethod
    def static(payload):
        return payload

    def __call__(self, payload, job: JobContext):
        return payload if job.id == "j" else "no context"


class AsyncCallable:
    async def __call__(self, a, b):
        return a * b


@functools.wraps(whole)
def wrapped(*args, **kwargs):
    return whole(*args, **kwargs)


#: Their first parameter is named payload or has no name, whatever else they take: the payload is theirs as it is.
CALLED_WITH_ONE = [
    whole,
    whole_with_default,
    second_with_default,
    third_by_keyword,
    first_and_rest,
    position_only,
    positional,
    context_first,
    context_last,
    context_or_none,
    context_of_position,
    context_between,
    context_twice,
    context_before_many,
    in_the_loop_whole,
    Handlers().method,
    Handlers().of_class,
    Handlers.static,
    Handlers(),
    wrapped,
    lambda payload: payload,
    functools.partial(context_between, more=2),
]


def named(handler):
    return getattr(handler, "__name__", type(handler).__name__)


@pytest.mark.parametrize("payload", PAYLOADS, ids=repr)
@pytest.mark.parametrize("handler", CALLED_WITH_ONE, ids=named)
def test_a_handler_that_declares_it_gets_the_whole_payload(worker: Worker, handler, payload):
    worker.task("t")(handler).enqueue(payload, id="j")
    (run,) = worker.run_until_idle()
    assert run.error is None, run.error
    assert json.loads(json.dumps(run.result)) == payload


CASES = [
    (nothing, {"x": 1}, "called"),
    (nothing, None, "called"),
    (only_context, 5, "j"),
    # An empty payload is no argument where the handler can do without.
    (whole, None, None),
    (whole_with_default, None, 7),
    (whole_with_default, rc.Value(data="bnVsbA=="), None),  # null, which is not empty
    (second_with_default, None, None),
    (lambda *given: given, None, []),
    (keyword_only_with_default, None, 5),
    # Several arguments: the members by name.
    (members, {"a": 1, "b": 2}, [1, 2]),
    (members_with_default, {"a": 1, "b": 2}, [1, 2, 3, 4]),
    (members_with_default, {"b": 1, "a": 2, "d": 5}, [2, 1, 3, 5]),
    (members_and_rest, {"a": 1, "b": 2, "c": 3}, [1, 2, [], {"c": 3}]),
    (any_members, {"a": 1, "z": 2}, {"a": 1, "z": 2}),
    (any_members, None, {}),
    (keyword_only, {"a": 4}, 4),
    (keyword_only_with_default, {}, 5),
    (context_and_members, {"a": 1, "b": 2}, ["j", 1, 2]),
    (Handlers().of_members, {"a": 1, "b": 2}, ["j", 1, 2]),
    (in_the_loop, {"a": 1, "b": 2}, 3),
    (AsyncCallable(), {"a": 2, "b": 3}, 6),
    (functools.partial(context_and_members, 1), {"b": 2}, ["j", 1, 2]),
    (functools.partial(members_with_default, b=9), {"a": 1}, [1, 9, 3, 4]),
    (functools.partial(members, 1), {"b": 2}, [1, 2]),
    # One parameter is as several: the member of its name.
    (one_member, {"a": 1}, 1),
    (one_member, {"a": {"a": 1}}, {"a": 1}),
    (one_member_with_default, {}, 7),
    (one_member_with_default, {"a": 1}, 1),
    # What is not an object is the first argument.
    (one_member, [1, 2], [1, 2]),
    (one_member, "text", "text"),
    (one_member, 0, 0),
    (one_member, None, None),
    (one_member_with_default, None, 7),
    (one_member_with_default, rc.Value(data="bnVsbA=="), None),
    (functools.partial(members, 1), 5, [1, 5]),
    # As they are.
    (as_bytes, b"hello", "hello!"),
    (as_bytes, None, "!"),
    (as_bytes_with_default, None, "none!"),
]


@pytest.mark.parametrize("handler, payload, result", CASES, ids=lambda case: getattr(case, "__name__", None))
def test_the_signature_says_what_it_wants(worker: Worker, store: rc.Store, handler, payload, result):
    task = worker.task("t")(handler)
    job = task.enqueue(payload, id="j")
    (run,) = worker.run_until_idle()
    assert run.error is None, run.error
    stored = store.jobs.get(job.id).result
    assert (stored.json() if stored.data is not None else None) == result


def test_a_value_is_handed_over_as_it_is(worker: Worker):
    task = worker.task("t")(as_value)
    task.enqueue([1], headers={"trace": "7"})
    assert worker.run_until_idle().runs[0].result == ({"trace": "7"}, [1])


def test_unpack_can_be_asked_for_and_refused(worker: Worker):
    worker.task("one", unpack=True)(lambda a: a).enqueue({"a": 5})
    worker.task("two", unpack=False)(lambda payload, extra=1: [payload, extra]).enqueue({"a": 5})
    worker.task("three", unpack=True)(members_with_default).enqueue({"a": 5, "b": 6})
    assert [run.result for run in worker.run_until_idle()] == [5, [{"a": 5}, 1], (5, 6, 3, 4)]


@pytest.mark.parametrize(
    ("handler", "unpack", "said"),
    [
        (positional, True, "must take its parameters by name"),
        (position_only, True, "must take its parameters by name"),
        (members, False, "must take the payload as its one argument"),
        (keyword_only, False, "must take the payload as its one argument"),
        (lambda a, b, /: a, None, "must have a name"),
    ],
)
def test_a_handler_that_cannot_be_called_is_refused(worker: Worker, handler, unpack, said):
    with pytest.raises(TypeError, match=said):
        worker.task("t", unpack=unpack)(handler)


#: A handler, a payload that does not fit it, and what the error says.
UNFIT = [
    (members, [1, 2], "an object with the members a, b, got list"),
    (members, "ab", "an object with the members a, b, got str"),
    (whole, rc.Value(data="no base64!"), "base64"),
    (whole, b"{", "JSON"),
    (members, {"a": 1}, "(a, b); it lacks b"),
    (members, None, "(a, b); it lacks a, b"),
    (members, {"a": 1, "b": 2, "c": 3}, "(a, b); it has c"),
    (members, {"a": 1, "c": 3}, "(a, b); it lacks b and has c"),
    (context_and_members, {"a": 1, "b": 2, "job": 3}, "it has job"),
    (one_member, {"b": 1}, "(a); it lacks a and has b; a handler takes the whole payload if its parameter is named payload"),
    (one_member, {}, "(a); it lacks a"),
]


@pytest.mark.parametrize("handler, payload, said", UNFIT)
def test_a_payload_that_does_not_fit_fails_its_job_for_good(worker: Worker, store: rc.Store, handler, payload, said):
    """This is how it fails if another producer has enqueued it."""
    worker.task("t")(handler)
    job = store.jobs.enqueue("t", payload)
    (run,) = worker.run_until_idle(advance=True)
    assert run.error is not None and run.error.code == "InvalidPayload" and not run.error.retryable
    assert said in run.error.message
    assert store.jobs.get(job.id).state == "archived"


@pytest.mark.parametrize("handler, payload, said", UNFIT)
def test_a_payload_that_does_not_fit_is_refused_by_its_task(worker: Worker, store: rc.Store, handler, payload, said):
    task = worker.task("t")(handler)
    for enqueue in (
        lambda: task.enqueue(payload),
        lambda: task.enqueue_many([payload]),
        lambda: worker.enqueue("t", payload),
        lambda: worker.periodic("@daily", task, payload),
    ):
        with pytest.raises(rc.errors.Invalid, match="payload of a job of type 't': ") as refused:
            enqueue()
        assert said in str(refused.value)
    assert not store.jobs.search() and not worker.periodics


@pytest.mark.parametrize(
    ("handler", "args", "kwargs", "payload"),
    [
        (nothing, (), {}, None),
        (one_member, ({"a": 1},), {}, {"a": {"a": 1}}),
        (one_member, (), {"a": 5}, {"a": 5}),
        (one_member_with_default, (), {}, {}),
        (members, (1, 2), {}, {"a": 1, "b": 2}),
        (members_with_default, (1,), {"b": 2, "d": 3}, {"a": 1, "b": 2, "d": 3}),
        (members_and_rest, (1, 2), {"z": 3}, {"a": 1, "b": 2, "z": 3}),
        (context_and_members, (1, 2), {}, {"a": 1, "b": 2}),
        (whole, ({"x": 1},), {}, {"x": 1}),
        (whole_with_default, (), {}, None),
        (positional, (5,), {}, 5),
        (context_first, (), {"payload": [1]}, [1]),
    ],
)
def test_a_job_is_enqueued_as_its_function_is_called(worker: Worker, handler, args, kwargs, payload):
    job = worker.task("t")(handler).using(id="j").delay(*args, **kwargs)
    assert job.id == "j"
    assert (job.payload.json() if job.payload.data is not None else None) == payload
    (run,) = worker.run_until_idle()
    assert run.error is None, run.error


@pytest.mark.parametrize(
    ("handler", "args", "kwargs", "said"),
    [
        (members, (1,), {}, "missing a required argument: 'b'"),
        (members, (1, 2), {"c": 3}, "unexpected keyword argument 'c'"),
        (second_with_default, (1,), {"more": 3}, "payload takes the whole payload, so no other argument can be passed, got more"),
        (members_and_rest, (1, 2, 3), {}, "arguments of a job must have names"),
        (context_and_members, (1, 2), {"job": None}, "unexpected keyword argument 'job'"),
    ],
)
def test_a_call_that_the_function_would_refuse_is_refused(worker: Worker, store: rc.Store, handler, args, kwargs, said):
    with pytest.raises(TypeError, match=said):
        worker.task("t")(handler).delay(*args, **kwargs)
    assert not store.jobs.search()


def test_annotations_that_cannot_be_looked_up(worker: Worker, caplog: pytest.LogCaptureFixture):
    """A name that only a type checker imports; the handler still gets its context."""

    def body(payload: OnlyThere, job: JobContext):  # noqa: F821
        return job.id, payload

    worker.task("t")(body).enqueue(1, id="j")
    assert "a name in its annotation 'OnlyThere' cannot be found" in caplog.text
    assert worker.run_until_idle().runs[0].result == ("j", 1)
