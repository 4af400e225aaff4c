"""OpenTelemetry: each attempt of a step has a span under that of its workflow; a step that is replayed has none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from waiting import until

import resonate_core as rc
from resonate_core.worker import JobError, Worker
from resonate_core.workflow import StepFailed, blocking, gather, run, sleep, step


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def named(spans: InMemorySpanExporter, beginning: str) -> list[Any]:
    return [span for span in spans.get_finished_spans() if span.name.startswith(beginning)]


def test_a_step_is_a_child_of_its_workflow_and_none_in_a_replay(worker: Worker, store: rc.Store, spans: InMemorySpanExporter):
    inside: list[Any] = []

    @step
    async def charge(order: str) -> str:
        with trace.get_tracer("shop").start_as_current_span("call of the bank") as span:
            inside.append(span)
        return f"receipt of {order}"

    @worker.workflow("fulfil")
    async def fulfil(order: str) -> str:
        receipt = await charge(order)
        await sleep(60_000)
        await run(str.upper, order)
        return receipt

    fulfil.using(id="order-7").delay("7")
    worker.run_until_idle(advance=True)
    first, second = named(spans, "process")
    (charged,), (upper,) = named(spans, "step charge"), named(spans, "step upper")
    assert charged.parent.span_id == first.context.span_id and upper.parent.span_id == second.context.span_id
    assert {span.context.trace_id for span in (first, second, charged, upper)} == {first.context.trace_id}
    assert inside[0].parent.span_id == charged.context.span_id
    assert dict(charged.attributes) == {
        "messaging.system": "resonate",
        "messaging.message.id": "order-7",
        "resonate.job.type": "fulfil",
        "resonate.step.name": "charge",
        "resonate.step.id": "order-7:1",
        "resonate.step.attempt": 1,
    }
    assert charged.kind is trace.SpanKind.INTERNAL and charged.status.status_code is trace.StatusCode.UNSET


@pytest.mark.parametrize("kind", ["async", "def"])
def test_the_error_of_each_attempt(worker: Worker, store: rc.Store, spans: InMemorySpanExporter, kind: str):
    tries: list[int] = []

    def charge() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("no route")
        raise JobError("CardDeclined", "no money", retryable=False)

    policy = step(retries=5, backoff=20_000)(charge)
    if kind == "async":

        @worker.workflow("fulfil")
        async def fulfil() -> None:
            await run(policy)
    else:

        @worker.workflow("fulfil")
        def fulfil() -> None:
            policy()

    fulfil.using(id="o").delay()
    worker.run_until_idle(advance=True)
    first, second = named(spans, "step charge")
    assert [span.attributes["error.type"] for span in (first, second)] == ["ConnectionError", "CardDeclined"]
    assert [span.attributes["resonate.step.attempt"] for span in (first, second)] == [1, 2]
    for span in (first, second):
        assert span.status.status_code is trace.StatusCode.ERROR and [event.name for event in span.events] == ["exception"]
    waited, failed = named(spans, "process")
    assert waited.status.status_code is trace.StatusCode.UNSET and not waited.events, "it has waited, and not failed"
    assert failed.attributes["error.type"] == "CardDeclined"
    assert (first.parent.span_id, second.parent.span_id) == (waited.context.span_id, failed.context.span_id)


def test_branches_threads_and_spans_of_the_workflow_itself(make_worker: Any, live_store: rc.Store, spans: InMemorySpanExporter):
    worker = make_worker()
    seen: dict[str, int] = {}

    def label(name: str) -> None:
        seen[name] = trace.get_current_span().get_span_context().span_id

    async def branch(name: str) -> None:
        await run(label, name)

    @worker.workflow("fulfil")
    async def fulfil() -> None:
        with trace.get_tracer("shop").start_as_current_span("packing"):
            await gather(branch("a"), branch("b"))
        label("own")

    @worker.workflow("in-threads")
    def in_threads() -> None:
        blocking.gather(blocking.start(label, "c"), blocking.start(label, "d"))

    fulfil.using(id="o").delay()
    in_threads.using(id="t").delay()
    with worker:
        until(lambda: {live_store.jobs.get(id).state for id in "ot"} == {"completed"})
    (packing,) = named(spans, "packing")
    steps = {span.attributes["resonate.step.id"]: span for span in named(spans, "step label")}
    assert set(steps) == {"o:1:0:1", "o:1:1:1", "t:1", "t:2"}
    assert {seen["a"], seen["b"], seen["c"], seen["d"]} == {span.context.span_id for span in steps.values()}
    whole = {span.attributes["messaging.message.id"]: span for span in named(spans, "process")}
    assert {steps[id].parent.span_id for id in ("o:1:0:1", "o:1:1:1")} == {packing.context.span_id}
    assert {steps[id].parent.span_id for id in ("t:1", "t:2")} == {whole["t"].context.span_id}
    assert seen["own"] == packing.parent.span_id == whole["o"].context.span_id


def test_a_coroutine_that_was_parked_goes_on_in_the_new_span(make_worker: Any, live_store: rc.Store, spans: InMemorySpanExporter):
    worker = make_worker()
    current: list[int] = []

    @worker.workflow("fulfil")
    async def fulfil() -> None:
        await sleep(20)
        current.append(trace.get_current_span().get_span_context().span_id)
        await run(int, 5)

    fulfil.using(id="o").delay()
    with worker:
        until(lambda: live_store.jobs.get("o").state == "completed")
    first, second = named(spans, "process")
    (after,) = named(spans, "step int")
    assert len(current) == 1, "it was parked, not replayed"
    assert after.parent.span_id == current[0] == second.context.span_id != first.context.span_id


@pytest.mark.parametrize("kind", ["async", "def"])
def test_a_timeout_is_the_error_of_the_attempt(make_worker: Any, live_store: rc.Store, spans: InMemorySpanExporter, kind: str):
    worker, hold = make_worker(), threading.Event()
    slow = step(timeout=30, name="slow")(lambda: hold.wait(30))
    if kind == "async":

        @worker.workflow("f")
        async def f() -> None:
            await run(slow)
    else:

        @worker.workflow("f")
        def f() -> None:
            slow()

    f.using(id="o").delay()
    with worker:
        until(lambda: live_store.jobs.get("o").state == "failed")
        hold.set()
    (span,) = named(spans, "step slow")
    assert span.attributes["error.type"] == "StepTimeout" and span.end_time - span.start_time < 20 * 10**9


def test_a_workflow_that_diverges_has_an_error(worker: Worker, store: rc.Store, spans: InMemorySpanExporter):
    turns = ["first", "second"]

    @worker.workflow("f")
    async def f() -> None:
        await run(str.upper if turns.pop(0) == "first" else str.lower, "a")
        await sleep(1000)

    f.using(id="o").delay()
    worker.run_until_idle(advance=True)
    _, diverged = named(spans, "process")
    assert store.jobs.get("o").state == "archived" and diverged.attributes["error.type"] == "NonDeterministic"


def test_a_failed_step_that_is_caught_is_no_error_of_the_workflow(worker: Worker, store: rc.Store, spans: InMemorySpanExporter):
    @worker.workflow("f")
    async def f() -> None:
        with pytest.raises(StepFailed):
            await run(int, "x")

    f.using(id="o").delay()
    worker.run_until_idle()
    (step_span,), (whole,) = named(spans, "step int"), named(spans, "process")
    assert step_span.attributes["error.type"] == "ValueError" and whole.status.status_code is trace.StatusCode.UNSET


@pytest.mark.parametrize("kind", ["awaited", "started", "def"])
def test_a_child_job_is_below_the_span_of_its_workflow(
    make_worker: Any, live_store: rc.Store, spans: InMemorySpanExporter, kind: str
):
    worker = make_worker(concurrency=4)
    pack = worker.task("pack", tags={"tenant": "acme"})(lambda order: order)

    if kind == "def":

        @worker.workflow("fulfil")
        def fulfil() -> Any:
            return pack.call("7").result()
    else:

        @worker.workflow("fulfil")
        async def fulfil() -> Any:
            return await (pack.call("7") if kind == "awaited" else pack.start("7"))

    fulfil.using(id="o").delay()
    with worker:
        until(lambda: live_store.jobs.get("o").state == "completed")
    # The first attempt of each; that of the workflow may end after the next one.
    newest_first = sorted(named(spans, "process"), key=lambda span: span.start_time, reverse=True)
    attempts = {span.attributes["messaging.message.id"]: span for span in newest_first}
    assert attempts["o:1"].parent.span_id == attempts["o"].context.span_id
    assert attempts["o:1"].context.trace_id == attempts["o"].context.trace_id
    assert live_store.jobs.get("o:1").tags["tenant"] == "acme"


def test_without_tracing_a_step_has_no_span(store: rc.Store):
    seen: ContextVar[int] = ContextVar("seen", default=0)
    worker = Worker(store)

    @worker.workflow("f")
    async def f() -> int:
        seen.set(5)
        return await run(lambda: seen.get() + (not trace.get_current_span().get_span_context().is_valid))

    f.using(id="o").delay()
    assert worker.run_until_idle().runs[0].result == 6
