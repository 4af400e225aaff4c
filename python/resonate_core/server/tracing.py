"""OpenTelemetry spans, one per request (extra ``otel``)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from ..base.extras import how_to_install
from .metrics import KINDS

if TYPE_CHECKING:
    from starlette.types import Scope

    from .._core import Envelope

__all__ = ["spans"]

#: Opens the span of a request, as a context whose value sets the status.
Spans = Callable[["Envelope", "Scope"], AbstractContextManager[Callable[[int], None]]]


def spans(enabled: bool) -> Spans | None:
    """Return the function that opens the span of a request, as a child of the trace in its ``traceparent`` header; None if it is off.

    Raises:
        ImportError: Spans are asked for, and opentelemetry-api is not installed.
    """
    if not enabled:
        return None
    try:
        from opentelemetry import propagate, trace
    except ImportError as error:
        raise ImportError(f"server.tracing needs opentelemetry-api: {how_to_install('otel')}") from error
    tracer = trace.get_tracer("resonate_core.server")

    @contextlib.contextmanager
    def span(envelope: Envelope, scope: Scope) -> Iterator[Callable[[int], None]]:
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        name = envelope.kind if envelope.kind in KINDS else "unknown"
        attributes = {"rpc.system": "resonate", "rpc.method": name, "resonate.corr_id": envelope.corr_id}
        with tracer.start_as_current_span(
            f"resonate {name}", context=propagate.extract(carrier), kind=trace.SpanKind.SERVER, attributes=attributes
        ) as opened:

            def set_status(status: int) -> None:
                opened.set_attribute("resonate.status", status)
                if status >= 500:
                    opened.set_status(trace.StatusCode.ERROR)

            yield set_status

    return span
