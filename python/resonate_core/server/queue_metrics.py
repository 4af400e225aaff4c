"""The metrics of each queue. The number of queues with a label of their own is bounded; the others are added up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from .._core import Watch

if TYPE_CHECKING:
    from .._core import Store

__all__ = ["REST", "QueueMetrics"]

#: The most queues without a label of which the oldest pending job is looked up: those with the most pending jobs.
_MOST_AGED = 1000
#: The value of the label `queue` of all queues beyond the limit. To Prometheus an empty label is a missing one.
REST = ""

_COUNTERS = {
    "enqueued": "Jobs that were enqueued.",
    "started": "Attempts that started.",
    "completed": "Jobs that an attempt completed.",
    "failed": "Attempts that failed or timed out.",
    "retried": "Jobs that wait for another attempt.",
    "archived": "Jobs that were archived.",
    "crashed": "Attempts whose lease expired.",
    "expired": "Jobs whose first attempt had not started in time.",
    "cancelled": "Jobs that were cancelled.",
}
_HISTOGRAMS = {
    "latency": ("resonate_queue_latency_seconds", "From the instant at which a job could be claimed to its start."),
    "runTime": ("resonate_queue_run_seconds", "From the start of an attempt to its end."),
}
_BOUNDS = [*(str(bound / 1000) for bound in Watch.buckets), "+Inf"]


class QueueMetrics(Collector):
    """The jobs of each queue, and what this process committed of them.

    A queue that got a label keeps it until it is deleted, so that no series ends while others are left out.

    Args:
        most: The number of queues with a label of their own.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._named: set[str] = set()
        self._totals: Sequence[tuple[str, Mapping[str, Any]]] = ()
        self._counts: Sequence[Mapping[str, Any]] = ()

    def update(self, store: Store, counts: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
        """Ask the store for its queues. Clients may make any number of them, so only those with a label are read one by one.

        Args:
            store: The store.
            counts: `Watch.queue_counts()`.

        Returns:
            Counts and latencies that cover all queues: those with a label, and the sum of the others.

        Raises:
            StoreError: The store failed.
        """
        found = store.views.queue_totals(self._most, keep=self._named, aged=self._most + _MOST_AGED)
        self._named, self._counts = {queue["name"] for queue in found["queues"]}, counts
        self._totals = [(queue["name"], queue) for queue in found["queues"]]
        if found["others"]["queues"]:
            self._totals = [*self._totals, (REST, found["others"])]
        return [totals for _, totals in self._totals]

    def _label(self, name: str | None) -> str:
        return name if name is not None and name in self._named else REST

    def collect(self) -> Iterator[Metric]:
        """Yield the families, for a scrape."""
        counts = _added_up(self._counts, self._label)
        yield from self._of_the_present(counts)
        for key, text in _COUNTERS.items():
            family = CounterMetricFamily(f"resonate_queue_{key}", text, labels=["queue"])
            for label, found in sorted(counts.items()):
                family.add_metric([label], found[key])
            yield family
        for key, (name, text) in _HISTOGRAMS.items():
            histogram = HistogramMetricFamily(name, text, labels=["queue"])
            for label, found in sorted(counts.items()):
                buckets = list(zip(_BOUNDS, accumulate(found[key]["counts"]), strict=True))
                histogram.add_metric([label], buckets, found[key]["sum"] / 1000)
            yield histogram

    def _of_the_present(self, counts: Mapping[str, Mapping[str, Any]]) -> Iterator[Metric]:
        jobs = GaugeMetricFamily("resonate_queue_jobs", "Jobs of a queue in a state.", labels=["queue", "state"])
        oldest = GaugeMetricFamily(
            "resonate_queue_oldest_pending_seconds", "How long the oldest pending job has waited.", labels=["queue"]
        )
        backlog = GaugeMetricFamily(
            "resonate_queue_backlog_seconds",
            "The pending jobs times the mean run time of the attempts that this process has seen: work that waits, for an autoscaler.",
            labels=["queue"],
        )
        depths: dict[str, dict[str, int]] = {}
        waits: dict[str, int] = {}
        for label, totals in self._totals:
            depths[label] = dict(totals["counts"])
            waits[label] = totals["latency"]
        for label, depth in sorted(depths.items()):
            for state, count in depth.items():
                jobs.add_metric([label, state], count)
            oldest.add_metric([label], waits[label] / 1000)
            mean = _mean_run_time(counts.get(label))
            if mean is not None:
                backlog.add_metric([label], depth.get("pending", 0) * mean / 1000)
        yield from (jobs, oldest, backlog)


def _mean_run_time(found: Mapping[str, Any] | None) -> float | None:
    """Return milliseconds, or None if no attempt has ended."""
    ended = sum(found["runTime"]["counts"]) if found else 0
    return found["runTime"]["sum"] / ended if found and ended else None


def _added_up(counts: Iterable[Mapping[str, Any]], label_of: Any) -> dict[str, dict[str, Any]]:
    """Add up the counts of the queues that share a label."""
    total: dict[str, dict[str, Any]] = {}
    for found in counts:
        label = label_of(found["queue"])
        sums = total.get(label)
        if sums is None:
            total[label] = {key: dict(value) if isinstance(value, dict) else value for key, value in found.items()}
            continue
        for key in _COUNTERS:
            sums[key] += found[key]
        for key in _HISTOGRAMS:
            sums[key] = {
                "sum": sums[key]["sum"] + found[key]["sum"],
                "counts": [one + other for one, other in zip(sums[key]["counts"], found[key]["counts"], strict=True)],
            }
    return total
