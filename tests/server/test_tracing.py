"""OpenTelemetry: one span for each request, with kind and status, as a child of the caller's trace."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import resonate_core as rc
from resonate_core.asgi import ServerSettings, create_app
from resonate_core.server import tracing

HEAD = {"corrId": "c-1", "version": "2026-04-01"}
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def exported(monkeypatch):
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)  # the global provider can be set only once a process
    return exporter


def send(*requests: dict, headers: dict | None = None) -> list[int]:
    async def run() -> list[int]:
        with rc.Store(clock=rc.ManualClock()) as store:
            app = create_app(store, server=ServerSettings(tracing=True))
            async with app.lifespan(), httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:
                return [(await client.post("/", json=request, headers=headers)).status_code for request in requests]

    return asyncio.run(run())


def test_a_span_says_what_was_asked_and_answered(exported):
    assert send({"kind": "promise.get", "head": HEAD, "data": {"id": "nobody"}}) == [404]
    (span,) = exported.get_finished_spans()
    assert span.name == "resonate promise.get"
    assert span.kind is trace.SpanKind.SERVER
    assert dict(span.attributes) == {
        "rpc.system": "resonate",
        "rpc.method": "promise.get",
        "resonate.corr_id": "c-1",
        "resonate.status": 404,
    }


def test_it_is_a_child_of_the_callers_span(exported):
    send({"kind": "promise.get", "head": HEAD, "data": {"id": "a"}}, headers={"traceparent": PARENT})
    (span,) = exported.get_finished_spans()
    assert f"{span.context.trace_id:032x}" == PARENT.split("-")[1]
    assert f"{span.parent.span_id:016x}" == PARENT.split("-")[2]


def test_the_names_of_spans_are_bounded(exported):
    assert send({"kind": "whatever.they.say", "head": HEAD, "data": {}}) == [400]
    assert [span.name for span in exported.get_finished_spans()] == ["resonate unknown"]


def test_without_the_library_it_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry", None)
    with pytest.raises(ImportError, match=r"resonate-core\[otel\]"):
        tracing.spans(True)


def test_nothing_is_asked_for_where_it_is_off(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry", None)
    assert tracing.spans(False) is None
