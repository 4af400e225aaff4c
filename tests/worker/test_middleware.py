"""Middleware: functions that run around handlers."""

from __future__ import annotations

import contextlib
import contextvars

import pytest

import resonate_core as rc
from resonate_core.worker import JobContext, Skip, Worker

trace_id: contextvars.ContextVar[str] = contextvars.ContextVar("trace_id", default="none")


def test_before_and_after_in_order(worker: Worker):
    shown = []

    def named(name):
        def middleware(job):
            shown.append(f"{name} before {job.type}")
            yield
            shown.append(f"{name} after {job.result}")

        return middleware

    worker.around(named("outer"))
    worker.around(named("inner"))
    worker.task("t")(lambda n: shown.append("body") or n * 2).enqueue(4)
    worker.run_until_idle()
    assert shown == ["outer before t", "inner before t", "body", "inner after 8", "outer after 8"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_errors_pass_through_and_may_be_turned_into_others(worker: Worker, store: rc.Store, asynchronous):
    seen = []

    @worker.around
    def translate(job):
        try:
            yield
        except KeyError as error:
            raise Skip(f"unknown {error}") from error

    @worker.around
    @contextlib.contextmanager
    def watch(job):
        try:
            yield
        except Exception as error:
            seen.append(type(error))
            raise

    if asynchronous:

        @worker.task("t")
        async def body():
            raise KeyError("sku")
    else:

        @worker.task("t")
        def body():
            raise KeyError("sku")

    job = body.enqueue()
    (run,) = worker.run_until_idle()
    assert seen == [KeyError] and run.error.code == "SkipRetry"
    assert store.jobs.get(job.id).state == "archived"


def test_one_that_swallows_an_error_completes_the_job(worker: Worker, store: rc.Store):
    worker.around(lambda job: contextlib.suppress(ValueError))
    job = worker.task("t")(lambda: int("x")).enqueue()
    assert worker.run_until_idle().outcomes == {"completed": 1}
    assert store.jobs.get(job.id).result == rc.Value()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_context_variables_are_the_handlers(worker: Worker, asynchronous):
    @worker.around
    def traced(job):
        token = trace_id.set((job.job.payload.headers or {}).get("trace", "?"))
        yield
        trace_id.reset(token)

    if asynchronous:

        @worker.task("t")
        async def body():
            return trace_id.get()
    else:

        @worker.task("t")
        def body():
            return trace_id.get()

    body.enqueue(headers={"trace": "abc"})
    assert worker.run_until_idle().runs[0].result == "abc"
    assert trace_id.get() == "none"


def test_an_error_before_the_body_is_as_one_of_the_body(worker: Worker):
    ran = []

    @worker.around
    def refuse(job: JobContext):
        raise PermissionError("not for you")
        yield

    worker.task("t")(lambda: ran.append(1)).enqueue()
    (run,) = worker.run_until_idle()
    assert run.error.message == "PermissionError: not for you" and not ran


@pytest.mark.parametrize("wrong", [5, None, "x"])
def test_a_middleware_is_a_function(worker: Worker, wrong):
    with pytest.raises(TypeError, match="middleware"):
        worker.around(wrong)


def test_an_asynchronous_one_is_refused_when_it_is_added(worker: Worker):
    async def middleware(job):
        yield

    with pytest.raises(TypeError, match="middleware"):
        worker.around(middleware)
