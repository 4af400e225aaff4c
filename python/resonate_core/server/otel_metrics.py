"""The metrics of a server over OpenTelemetry (extra ``otel``): the families of /metrics as observable instruments."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..base.extras import how_to_install
from ..base.stopwatch import seconds
from ..errors import StoreError

if TYPE_CHECKING:
    from prometheus_client.core import Metric

    from .metrics import Metrics

__all__ = ["MetricExport"]

_log = logging.getLogger("resonate_core.server")

#: Seconds for which one reading serves the callbacks of all instruments: a reader calls them one after the other.
_FRESH = 0.5


class MetricExport:
    """Exports the metrics of one app through the meter provider of the process.

    OpenTelemetry has no observable histogram. A histogram is therefore three counters, `…_bucket` (with the attribute `le`), `…_count`
    and `…_sum`, as in Prometheus.

    Args:
        metrics: The counters.
        read: Asks the store for what only it knows; from any thread.

    Raises:
        ImportError: opentelemetry-api is not installed.
    """

    def __init__(self, metrics: Metrics, read: Callable[[], None]) -> None:
        try:
            from opentelemetry.metrics import Observation, get_meter
        except ImportError as error:
            raise ImportError(f"server.metrics_otel needs opentelemetry-api: {how_to_install('otel')}") from error
        self._observation: Any = Observation
        self._metrics = metrics
        self._read = read
        self._lock = threading.Lock()
        self._found: Mapping[str, Metric] = {}
        self._read_at = float("-inf")
        self._open = True
        meter = get_meter("resonate_core.server")
        for family in metrics.registry.collect():
            if family.type == "histogram":
                for suffix in ("_bucket", "_count", "_sum"):
                    callback = self._callback(family.name, suffix)
                    meter.create_observable_counter(family.name + suffix, callbacks=[callback], description=family.documentation)
            elif family.type == "counter":
                callback = self._callback(family.name, "_total")
                meter.create_observable_counter(family.name, callbacks=[callback], description=family.documentation)
            else:
                meter.create_observable_gauge(
                    family.name, callbacks=[self._callback(family.name, "")], description=family.documentation
                )

    def close(self) -> None:
        """End the export: the instruments stay, and observe nothing."""
        self._open = False

    def _callback(self, family: str, suffix: str) -> Callable[[Any], Iterable[Any]]:
        def observe(options: Any) -> Iterable[Any]:
            metric = self._families().get(family)
            samples = metric.samples if metric is not None else []
            return [self._observation(sample.value, dict(sample.labels)) for sample in samples if sample.name == family + suffix]

        return observe

    def _families(self) -> Mapping[str, Metric]:
        with self._lock:
            if not self._open:
                return {}
            if seconds() - self._read_at > _FRESH:
                try:
                    self._read()
                except StoreError as error:  # the other metrics show that the store fails
                    _log.warning("the store failed: its metrics keep their previous values: %s", error)
                self._found = {family.name: family for family in self._metrics.registry.collect()}
                self._read_at = seconds()
            return self._found
