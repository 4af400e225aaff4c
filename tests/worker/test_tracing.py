"""OpenTelemetry: the trace of an enqueue continues in the attempts of its job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import resonate_core as rc
from resonate_core.worker import Snooze, Worker


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    yield exporter
    provider.shutdown()


def by_kind(spans: InMemorySpanExporter, kind: trace.SpanKind) -> list[Any]:
    return [span for span in spans.get_finished_spans() if span.kind is kind]


def test_an_attempt_is_a_child_of_its_enqueue(store: rc.Store, spans: InMemorySpanExporter):
    worker = Worker(store, name="w1", queues="mail")
    seen: list[trace.SpanContext] = []

    @worker.task("send", queue="mail", tags={"tenant": "acme"})
    def send(to: str) -> None:
        seen.append(trace.get_current_span().get_span_context())

    with trace.get_tracer("test").start_as_current_span("web request") as request:
        job = send.using(id="j").delay("ada")
    worker.run_until_idle()
    (produced,), (consumed,) = by_kind(spans, trace.SpanKind.PRODUCER), by_kind(spans, trace.SpanKind.CONSUMER)
    assert (produced.name, consumed.name) == ("enqueue mail", "process mail")
    assert produced.parent.span_id == request.get_span_context().span_id
    assert consumed.parent.span_id == produced.context.span_id
    assert {produced.context.trace_id, consumed.context.trace_id, seen[0].trace_id} == {request.get_span_context().trace_id}
    assert seen[0].span_id == consumed.context.span_id
    assert produced.attributes["messaging.message.id"] == consumed.attributes["messaging.message.id"] == "j"
    assert consumed.attributes["messaging.operation.type"] == "process" and consumed.attributes["resonate.job.attempt"] == 1
    assert job.tags["tenant"] == "acme" and job.tags["traceparent"].split("-")[1] == f"{produced.context.trace_id:032x}"
    assert job.payload.json() == {"to": "ada"} and not job.payload.headers


def test_the_same_job_in_another_trace_is_the_same_job(store: rc.Store, spans: InMemorySpanExporter):
    task = Worker(store).task("t")(print)
    first, second = task.enqueue(1, id="j"), task.enqueue(1, id="j")
    assert first.tags == second.tags


def test_errors_are_recorded_and_a_retry_is_in_the_same_trace(store: rc.Store, spans: InMemorySpanExporter):
    worker = Worker(store)

    @worker.task("t", max_retries=1, retry_policy={"kind": "fixed", "intervals": [1000]})
    async def fails(n: int) -> None:
        raise ConnectionError("no route")

    fails.delay(1)
    worker.run_until_idle(advance=True)
    first, second = by_kind(spans, trace.SpanKind.CONSUMER)
    assert first.context.trace_id == second.context.trace_id and first.parent == second.parent
    for span in (first, second):
        assert span.status.status_code is trace.StatusCode.ERROR and span.attributes["error.type"] == "ConnectionError"
        assert [event.name for event in span.events] == ["exception"]


def test_a_payload_that_does_not_fit_is_an_error_and_a_snooze_is_none(store: rc.Store, spans: InMemorySpanExporter):
    worker = Worker(store)

    def snoozes(n: int) -> None:
        raise Snooze(1000)

    worker.task("t")(snoozes)
    store.jobs.enqueue("t", "five")
    store.jobs.enqueue("t", 5)
    worker.run_until_idle()
    unfit, snoozed = by_kind(spans, trace.SpanKind.CONSUMER)
    assert unfit.attributes["error.type"] == "InvalidPayload" and unfit.parent is None
    assert snoozed.status.status_code is trace.StatusCode.UNSET and not snoozed.events


def test_a_batch_has_a_link_to_each_enqueue(store: rc.Store, spans: InMemorySpanExporter):
    store.queues.set("default", groups={"size": 2, "grace": 1000})
    worker = Worker(store)
    task = worker.batch_task("t", group="g")(lambda payloads: None)
    task.enqueue(1)
    task.enqueue(2)
    worker.run_until_idle(advance=True)
    (batch,) = by_kind(spans, trace.SpanKind.CONSUMER)
    produced = by_kind(spans, trace.SpanKind.PRODUCER)
    assert {link.context.span_id for link in batch.links} == {span.context.span_id for span in produced}
    assert batch.attributes["messaging.batch.message_count"] == 2 and batch.parent is None


def test_many_share_one_span(store: rc.Store, spans: InMemorySpanExporter):
    jobs = Worker(store).task("t")(print).enqueue_many([1, 2])
    (produced,) = by_kind(spans, trace.SpanKind.PRODUCER)
    assert produced.attributes["messaging.batch.message_count"] == 2
    assert len({job.tags["traceparent"] for job in jobs}) == 1


@pytest.mark.parametrize("configured", [False, True])
def test_it_can_be_off(store: rc.Store, request: pytest.FixtureRequest, configured: bool):
    """It is off without a provider, and can be switched off with one."""
    if configured:
        request.getfixturevalue("spans")
    worker = Worker(store, tracing=False if configured else None)
    assert worker.task("t")(print).enqueue(1).tags == {}
    assert worker.around_handlers is worker.middleware


def test_it_can_be_asked_for(store: rc.Store, monkeypatch: pytest.MonkeyPatch):
    assert Worker(store, tracing=True).around_handlers
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.trace", None)
    with pytest.raises(ImportError, match=r"tracing needs opentelemetry-api: install the extra .*otel"):
        Worker(store, tracing=True)


def test_the_jobs_of_a_graph_are_in_the_trace_of_their_enqueue(store: rc.Store, spans: InMemorySpanExporter):
    worker = Worker(store)
    task = worker.task("t", tags={"tenant": "acme"})(lambda: None)
    jobs = [*worker.graph("g").chain(task, "u").enqueue().values(), *task.enqueue_many([None], then="u")]
    one, two = by_kind(spans, trace.SpanKind.PRODUCER)
    assert [one.attributes["messaging.batch.message_count"], one.name] == [2, "enqueue default"]
    spans_of = [job.tags["traceparent"].split("-")[2] for job in jobs]
    assert spans_of == [f"{span.context.span_id:016x}" for span in (one, one, two, two)]
    assert [job.tags.get("tenant") for job in jobs] == ["acme", None, "acme", None]
