"""OpenTelemetry: the trace of the code that enqueues a job continues in the handler (extra ``otel``).

The context travels in tags of the job: headers are a part of the payload, which handlers see and by which a repeated enqueue is known.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from contextvars import Context
from typing import Any

from ..base.extras import how_to_install
from .context import BatchContext, JobContext
from .outcomes import Outcome, Snooze, decisive, was_called_off

__all__ = ["FIELDS", "StepSpan", "StepTraces", "Tracing", "tracing"]

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
    """Spans of the messaging conventions: PRODUCER around an enqueue, CONSUMER around an attempt.

    Attributes:
        attach: Makes a context of OpenTelemetry the current one of the context variables that hold there.
    """

    def __init__(self) -> None:
        from opentelemetry import trace
        from opentelemetry.context import Context as Carried, attach
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._trace = trace
        self._tracer = trace.get_tracer(_NAME)
        self._propagator = TraceContextTextMapPropagator()
        self._root = Carried()
        self.attach = attach

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
            carrier = self.carried()

            def name(id: str) -> None:
                span.set_attribute("messaging.message.id", id)

            yield {**options, "tags": {**(options.get("tags") or {}), **carrier}}, name

    def carried(self, context: Any = None) -> dict[str, str]:
        """Return the tags that carry a context of OpenTelemetry.

        Args:
            context: The context; None: the current one.
        """
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier, context)
        return carrier

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

    def begin(self, name: str, parent: Any, attributes: Mapping[str, Any]) -> tuple[Any, Any]:
        """Begin a span within the program; return it, and the context in which it is the current one.

        Args:
            name: Its name.
            parent: The context with the span above it.
            attributes: Its attributes.
        """
        span = self._tracer.start_span(name, context=parent, attributes=dict(attributes))
        return span, self._trace.set_span_in_context(span, parent)

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
            if isinstance(job, JobContext) and job.workflows is not None:
                job.trace = StepTraces(self, job)
            try:
                yield
            except BaseException as error:
                self.failed(span, error)
                raise
            if isinstance(job.result, Outcome) and job.result.error is not None:  # of a workflow that was ended against its will
                self.failed(span, job.result.error)

    def failed(self, span: Any, error: BaseException) -> None:
        """Record in a span what was raised, unless that is no failure."""
        decided = decisive(error)
        if not (was_called_off(error) or isinstance(decided, Snooze)):
            span.record_exception(error)
            span.set_attribute("error.type", getattr(decided, "code", None) or type(error).__qualname__)
            span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, str(error)))


class StepTraces:
    """The spans of the steps of one attempt of a workflow, below its span. Steps that are replayed do not run, and have none.

    Make it where the span of the workflow is the current one.

    Args:
        tracing: That of the worker.
        job: The attempt.
    """

    def __init__(self, tracing: Tracing, job: JobContext) -> None:
        from opentelemetry import context

        self._tracing = tracing
        self._contexts = context
        self._of_workflow = context.get_current()
        self._attributes = {"messaging.system": _SYSTEM, "messaging.message.id": job.id, "resonate.job.type": job.type}

    def enter(self) -> None:
        """Make the span of the workflow the current one of the context variables that hold here."""
        self._contexts.attach(self._of_workflow)

    def carried(self) -> dict[str, str]:
        """Return the tags of a child job, whose attempts are below the span of the workflow."""
        return self._tracing.carried(self._of_workflow)

    def begin(self, variables: Context, name: str, id: str, attempt: int) -> StepSpan:
        """Begin the span of an attempt of a step.

        Args:
            variables: The context variables of the code that calls the step.
            name: Of the step.
            id: Of its record.
            attempt: The number of the attempt.
        """
        of_step = {"resonate.step.name": name, "resonate.step.id": id, "resonate.step.attempt": attempt}
        parent = variables.copy().run(self._contexts.get_current)  # these variables may be in use
        return StepSpan(self._tracing, f"step {name}", parent, self._attributes | of_step)


class StepSpan:
    """The span of one attempt of a step.

    Args:
        tracing: That of the worker.
        name: Of the span.
        parent: The context of OpenTelemetry with the span above it.
        attributes: Of the span.
    """

    def __init__(self, tracing: Tracing, name: str, parent: Any, attributes: Mapping[str, Any]) -> None:
        self._tracing = tracing
        self._span, self._context = tracing.begin(name, parent, attributes)

    def enter(self) -> None:
        """Make it the current span of the context variables that hold here: those of the step."""
        self._tracing.attach(self._context)

    def failed(self, error: BaseException) -> None:
        """Record what the attempt has raised."""
        self._tracing.failed(self._span, error)

    def end(self) -> None:
        """End it."""
        self._span.end()


def _attributes(operation: str, kind: str, queue: str, type: str) -> dict[str, Any]:
    return {
        "messaging.system": _SYSTEM,
        "messaging.operation.name": operation,
        "messaging.operation.type": kind,
        "messaging.destination.name": queue,
        "resonate.job.type": type,
    }
