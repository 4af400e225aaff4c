"""What a handler is called with."""

from __future__ import annotations

import functools

import pytest

import resonate_core as rc
from resonate_core.worker import JobContext, Worker


def nothing():
    return ()


def whole(payload):
    return payload


def whole_with_default(payload=7):
    return payload


def members(a, b):
    return a, b


def some_members(a, b=2, *, c=3):
    return a, b, c


def any_members(**given):
    return given


def keyword_only(*, a):
    return a


def positional(*given):
    return given


def only_context(job: JobContext):
    return job.id


def context_first(job: JobContext, payload):
    return job.id, payload


def context_last(payload, job: JobContext):
    return job.id, payload


def context_or_none(payload, job: JobContext | None = None):
    return job.id if job else None, payload


def context_and_members(a, b, *, job: JobContext):
    return job.id, a, b


def as_bytes(payload: bytes):
    return payload.decode() + "!"


def as_value(payload: rc.Value):
    return payload.headers, payload.json()


async def in_the_loop(a, b):
    return a + b


class Callable_:
    def __call__(self, payload):
        return ["object", payload]


class AsyncCallable:
    async def __call__(self, a, b):
        return a * b


CASES = [
    (nothing, {"x": 1}, []),
    (whole, {"x": 1}, {"x": 1}),
    (whole, [1, 2], [1, 2]),
    (whole, None, None),
    (whole_with_default, None, None),
    (members, {"a": 1, "b": 2}, [1, 2]),
    (some_members, {"a": 1}, [1, 2, 3]),
    (some_members, {"a": 1, "b": 5, "c": 6}, [1, 5, 6]),
    (any_members, {"a": 1, "z": 2}, {"a": 1, "z": 2}),
    (any_members, None, {}),
    (keyword_only, {"a": 4}, 4),
    (positional, "x", ["x"]),
    (only_context, 5, "j"),
    (context_first, 5, ["j", 5]),
    (context_last, 5, ["j", 5]),
    (context_or_none, 5, ["j", 5]),
    (context_and_members, {"a": 1, "b": 2}, ["j", 1, 2]),
    (as_bytes, b"hello", "hello!"),
    (in_the_loop, {"a": 1, "b": 2}, 3),
    (Callable_(), 3, ["object", 3]),
    (AsyncCallable(), {"a": 2, "b": 3}, 6),
    (functools.partial(members, b=9), {"a": 1}, [1, 9]),
    (lambda payload: payload, 1, 1),
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
    assert [run.result for run in worker.run_until_idle()] == [5, [{"a": 5}, 1]]


def test_unpack_wants_names(worker: Worker):
    with pytest.raises(TypeError, match="by name"):
        worker.task("t", unpack=True)(positional)


@pytest.mark.parametrize(
    "handler, payload", [(members, [1, 2]), (members, "ab"), (whole, rc.Value(data="no base64!")), (whole, b"{")]
)
def test_a_payload_that_does_not_fit_is_no_matter_of_trying_again(worker: Worker, store: rc.Store, handler, payload):
    job = worker.task("t")(handler).enqueue(payload)
    (run,) = worker.run_until_idle(advance=True)
    assert run.error is not None and run.error.code == "InvalidPayload" and not run.error.retryable
    assert store.jobs.get(job.id).state == "archived"


def test_a_missing_member_is_an_error_of_the_body(worker: Worker):
    worker.task("t", max_retries=0)(members).enqueue({"a": 1})
    (run,) = worker.run_until_idle()
    assert run.error is not None and run.error.code == "UnhandledError"
    assert run.error.message.startswith("TypeError: ")


def test_a_task_is_its_function(worker: Worker):
    @worker.task
    def double(n: int) -> int:
        """Twice."""
        return 2 * n

    assert double(4) == 8
    assert double.__doc__ == "Twice." and double.__name__ == "double"
    assert double.type.endswith("test_a_task_is_its_function.<locals>.double")
    assert repr(double) == f"<WorkerTask {double.type!r}>"
    assert worker.tasks == {double.type: double}


def test_a_type_has_one_handler(worker: Worker):
    worker.task("t")(whole)
    with pytest.raises(rc.errors.Invalid, match="'t' has a handler"):
        worker.task("t")(members)
    with pytest.raises(rc.errors.Invalid, match="type is ''"):
        worker.task("")(members)


def test_options_that_nobody_knows_are_named(worker: Worker):
    with pytest.raises(TypeError, match="no option max_retrys"):
        worker.task("t", max_retrys=3)(whole)
    task = worker.task("u")(whole)
    with pytest.raises(TypeError, match="no option prio"):
        task.enqueue(1, prio=3)


def test_an_id_is_of_one_job_not_of_a_task(worker: Worker):
    with pytest.raises(TypeError, match="no option id"):
        worker.task("t", id="x")(whole)


def test_options_of_the_task_are_those_of_its_jobs(worker: Worker):
    task = worker.task("t", queue="mail", priority=3, tags={"a": "1"}, timeout=500, max_retries=2, good_for=100)(whole)
    first, second = task.enqueue(1), task.enqueue(2, priority=9, good_until=77, tags={})
    assert (first.queue, first.priority, first.tags, first.timeout, first.max_retries, first.good_until) == (
        "mail",
        3,
        {"a": "1"},
        500,
        2,
        100,
    )
    assert (second.queue, second.priority, second.tags, second.good_until) == ("mail", 9, {}, 77)


def test_a_lifecycle_of_the_worker_is_given_to_its_jobs(store: rc.Store):
    worker = Worker(store, lifecycle="horsies")
    task = worker.task("t")(whole)
    assert task.enqueue(1).max_retries == 0
    assert task.enqueue(1, lifecycle="asynq").max_retries == 25
    assert worker.enqueue("unknown").max_retries == 0


def test_many_at_once(worker: Worker, store: rc.Store):
    task = worker.task("t", queue="default")(whole)
    jobs = task.enqueue_many([1, 2, 3], ids=["a", "b", "c"], tags={"batch": "1"})
    assert [job.id for job in jobs] == ["a", "b", "c"]
    assert [(run.id, run.result) for run in worker.run_until_idle()] == [("a", 1), ("b", 2), ("c", 3)]
    assert store.jobs.get("b").tags == {"batch": "1"}


def test_unique_for_of_a_task_counts_where_a_job_has_a_key(worker: Worker):
    task = worker.task("t", unique_for=1000)(whole)
    assert task.enqueue(1).unique_key is None
    keyed = task.enqueue(1, unique_key="k")
    assert (keyed.unique_key, keyed.unique_for) == ("k", 1000)
    with pytest.raises(rc.errors.Conflict):
        task.enqueue(2, unique_key="k")


def test_what_a_call_says_is_not_given_up(worker: Worker):
    """Only what the task says gives way; what contradicts itself in one call is refused as by the store."""
    task = worker.task("t", good_for=1000)(whole)
    assert task.enqueue(1, good_until=9000).good_until == 9000
    with pytest.raises(rc.errors.Invalid, match="not both"):
        task.enqueue(1, good_for=1000, good_until=9000)
    with pytest.raises(rc.errors.Invalid, match="uniqueFor needs a uniqueKey"):
        task.enqueue(1, unique_for=5000)


def test_annotations_that_cannot_be_looked_up(worker: Worker):
    """A name that only a type checker imports; the context is found all the same."""

    def body(payload: OnlyThere, job: JobContext):  # noqa: F821
        return job.id, payload

    worker.task("t")(body).enqueue(1, id="j")
    assert worker.run_until_idle().runs[0].result == ("j", 1)
