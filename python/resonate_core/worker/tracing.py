"""OpenTelemetry: the trace of the code that enqueues a job continues in the handler (extra ``otel``).

The context travels in tags of the job: headers are a part of the payload, which handlers see and by which a repeated enqueue is known.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

from ..base.extras import how_to_install
from .context import BatchContext, JobContext
from .outcomes import Snooze, decisive, was_called_off

__all__ = ["FIELDS", "Tracing", "tracing"]

#: The names of tags, as of the headers of W3C Trace Context.
FIELDS = ("traceparent", "tracestate")
#: The name of the instrumentation, and of the system in the attributes of its spans.
_NAME, _SYSTEM = "resonate_core.worker", "resonate"


def tracing(enabled: bool | None) -> Tracing | None:
    """Return the object that opens spans; None if tracing is off.

    Args:
        enabled: None: on if the program has configured a provider of tracers.

    Raises:
        ImportError: It is asked for, and opentelemetry-api is not installed.
    """
    if enabled is None:
        trace: Any = sys.modules.get("opentelemetry.trace")  # a program that has configured it has imported it
        if trace is None or isinstance(trace.get_tracer_provider(), (trace.ProxyTracerProvider, trace.NoOpTracerProvider)):
            return None
    elif not enabled:
        return None
    try:
        import opentelemetry.trace  # noqa: F401
    except ImportError as error:
        raise ImportError(f"tracing needs opentelemetry-api: {how_to_install('otel')}") from error
    return Tracing()


class Tracing:
    """Spans of the messaging conventions: PRODUCER around an enqueue, CONSUMER around an attempt."""

    def __init__(self) -> None:
        from opentelemetry import trace
        from opentelemetry.context import Context
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._trace = trace
        self._tracer = trace.get_tracer(_NAME)
        self._propagator = TraceContextTextMapPropagator()
        self._root = Context()

    @contextlib.contextmanager
    def producing(
        self, type: str, options: Mapping[str, Any], count: int
    ) -> Iterator[tuple[dict[str, Any], Callable[[Any], None]]]:
        """Open the span of an enqueue.

        Args:
            type: Of the jobs.
            options: Of the jobs.
            count: How many jobs there are.

        Yields:
            The options with the tags that carry the context, and what names the job in the span.
        """
        queue = options.get("queue") or "default"
        attributes: dict[str, Any] = _attributes("enqueue", "send", queue, type)
        if count != 1:
            attributes["messaging.batch.message_count"] = count
        with self._tracer.start_as_current_span(
            f"enqueue {queue}", kind=self._trace.SpanKind.PRODUCER, attributes=attributes
        ) as span:
            carrier: dict[str, str] = {}
            self._propagator.inject(carrier)

            def name(id: str) -> None:
                span.set_attribute("messaging.message.id", id)

            yield {**options, "tags": {**(options.get("tags") or {}), **carrier}}, name

    def around(self, context: JobContext | BatchContext) -> AbstractContextManager[None]:
        """Open the span of an attempt, as a middleware: a child of the enqueue's; that of a batch has a link to each."""
        return self._batch(context) if isinstance(context, BatchContext) else self._single(context)

    def _single(self, job: JobContext) -> AbstractContextManager[None]:
        more = {"messaging.message.id": job.id, "resonate.job.attempt": job.attempt, "resonate.job.retry_count": job.retry_count}
        return self._consuming(job, self._context(job), [], more)

    def _batch(self, batch: BatchContext) -> AbstractContextManager[None]:
        spans = [self._trace.get_current_span(self._context(job)).get_span_context() for job in batch]
        links = [self._trace.Link(each) for each in spans if each.is_valid]
        return self._consuming(batch, self._root, links, {"messaging.batch.message_count": len(batch)})

    def _context(self, job: JobContext) -> Any:
        return self._propagator.extract(job.job.tags or {}, self._root)

    @contextlib.contextmanager
    def _consuming(self, job: JobContext | BatchContext, parent: Any, links: list[Any], more: dict[str, Any]) -> Iterator[None]:
        trace = self._trace
        with self._tracer.start_as_current_span(
            f"process {job.queue}",
            context=parent,
            kind=trace.SpanKind.CONSUMER,
            attributes=_attributes("process", "process", job.queue, job.type) | {"messaging.client.id": job.worker} | more,
            links=links,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except BaseException as error:
                decided = decisive(error)
                if not (was_called_off(error) or isinstance(decided, Snooze)):
                    span.record_exception(error)
                    span.set_attribute("error.type", getattr(decided, "code", None) or type(error).__qualname__)
                    span.set_status(trace.Status(trace.StatusCode.ERROR, str(error)))
                raise


def _attributes(operation: str, kind: str, queue: str, type: str) -> dict[str, Any]:
    return {
        "messaging.system": _SYSTEM,
        "messaging.operation.name": operation,
        "messaging.operation.type": kind,
        "messaging.destination.name": queue,
        "resonate.job.type": type,
    }
