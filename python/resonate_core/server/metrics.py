"""The counters of a server, for Prometheus. The values of each label are a fixed list, or names of queues, whose number is bounded."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from .._core import database_counts, request_kinds
from ..base.standstills import standstills_of
from ..explain.unknown_types import put_back_in
from .queue_metrics import QueueMetrics
from .store_metrics import StoreMetrics

if TYPE_CHECKING:
    from .._core import Store, Watch

__all__ = ["KINDS", "Metrics"]

#: Every kind of both dialects; any other kind is counted as "unknown".
KINDS = frozenset(request_kinds())

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class _Histogram:
    """A histogram that one thread writes; a scrape may read its sum a moment before its counts."""

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def count(self) -> int:
        return sum(self.counts)

    def add_to(self, family: HistogramMetricFamily, labels: Sequence[str], others: Sequence[_Histogram] = ()) -> None:
        """Add it to a family, merged with others of the same bounds."""
        counts = [sum(column) for column in zip(self.counts, *(other.counts for other in others), strict=True)]
        names = [*(str(float(bound)) for bound in self.bounds), "+Inf"]
        total = self.sum + sum(other.sum for other in others)
        family.add_metric(labels, list(zip(names, accumulate(counts), strict=True)), total)


class _Requests(Collector):
    """The counters of each request. Those of prometheus_client would take a third of the time of a request."""

    def __init__(self) -> None:
        self.by_answer: dict[tuple[str, int], _Histogram] = {}
        self.batch_size = _Histogram(_SIZES)
        self.commit_seconds = _Histogram(_SECONDS)

    def answered(self, kind: str, status: int, lasted: float) -> None:
        cell = self.by_answer.get((kind, status))
        if cell is None:
            known = kind if kind in KINDS else "unknown"
            cell = self.by_answer.setdefault((known, status), _Histogram(_SECONDS))
        cell.observe(lasted)

    def collect(self) -> Iterator[Metric]:
        counter = CounterMetricFamily("resonate_requests", "Requests answered.", labels=["kind", "status"])
        by_kind: dict[str, list[_Histogram]] = {}
        for (kind, status), cell in list(self.by_answer.items()):
            counter.add_metric([kind, str(status)], cell.count)
            by_kind.setdefault(kind, []).append(cell)
        yield counter
        duration = HistogramMetricFamily(
            "resonate_request_duration_seconds", "From a request's last byte to its answer.", labels=["kind"]
        )
        for kind, cells in by_kind.items():
            cells[0].add_to(duration, [kind], cells[1:])
        yield duration
        sizes = HistogramMetricFamily("resonate_batch_requests", "Requests that shared a transaction.", labels=[])
        self.batch_size.add_to(sizes, [])
        yield sizes
        commits = HistogramMetricFamily("resonate_commit_duration_seconds", "One transaction.", labels=[])
        self.commit_seconds.add_to(commits, [])
        yield commits


class _Jobs(Collector):
    """The jobs of all queues together, and the changes of state in commits of this process."""

    def __init__(self) -> None:
        self.attempts: Mapping[str, int] = {}
        self.entered: Mapping[str, int] = {}
        self.queues: Sequence[Mapping[str, Any]] = ()

    def collect(self) -> Iterator[Metric]:
        attempts = CounterMetricFamily("resonate_job_attempts", "Attempts of jobs that ended.", labels=["outcome"])
        for outcome, count in self.attempts.items():
            attempts.add_metric([outcome], count)
        yield attempts
        entered = CounterMetricFamily("resonate_job_states_entered", "Jobs that entered a state.", labels=["state"])
        held = GaugeMetricFamily("resonate_jobs", "Jobs in a state, of all queues.", labels=["state"])
        for state, count in self.entered.items():
            entered.add_metric([state], count)
            held.add_metric([state], sum(queue["counts"].get(state, 0) for queue in self.queues))
        yield entered
        yield held
        oldest = max((queue["latency"] or 0 for queue in self.queues), default=0)
        yield GaugeMetricFamily(
            "resonate_jobs_oldest_pending_seconds", "How long the oldest pending job has waited.", value=oldest / 1000
        )


class _Database(Collector):
    """The use of databases by this process."""

    _FAMILIES = (
        ("open_connections", GaugeMetricFamily, "resonate_database_open_connections", "Open connections to databases."),
        ("connections", CounterMetricFamily, "resonate_database_connections", "Connections that were opened."),
        ("round_trips", CounterMetricFamily, "resonate_database_round_trips", "Round trips to a database."),
        (
            "lock_timeouts",
            CounterMetricFamily,
            "resonate_database_lock_timeouts",
            "Transactions that waited too long for a writer.",
        ),
        ("lost_commits", CounterMetricFamily, "resonate_database_lost_commits", "Commits whose answer was lost."),
    )

    def collect(self) -> Iterator[Metric]:
        counts = database_counts()
        for key, family, name, text in self._FAMILIES:
            yield family(name, text, value=counts[key])


class Metrics:
    """The counters of one app, in its own registry, so that several apps of a process do not share them.

    Args:
        in_database: Whether its store is in a database.
        queues: The number of queues with a label of their own.
    """

    def __init__(self, in_database: bool = False, queues: int = 0) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        if in_database:
            registry.register(_Database())
        requests = _Requests()
        registry.register(requests)
        self._jobs = _Jobs()
        self._queues = QueueMetrics(queues)
        self._of_store = StoreMetrics()
        for collector in (self._jobs, self._queues, self._of_store):
            registry.register(collector)
        self.answered = requests.answered
        self.batch_size = requests.batch_size
        self.commit_seconds = requests.commit_seconds
        self.in_flight = Gauge("resonate_requests_in_flight", "Requests that wait or run.", registry=registry)
        self.due_lag = Gauge("resonate_due_lag_seconds", "How late the last timer that fired was.", registry=registry)
        self.steps = Counter("resonate_steps", "Internal steps.", ["kind"], registry=registry)
        self.steps.labels("lease_expiry")  # from 0 on, so that an alert sees the first one
        self.tick_failures = Counter(
            "resonate_tick_failures", "Ticks that the store refused or could not commit.", registry=registry
        )
        self.outbox = Gauge("resonate_outbox_messages", "Undelivered messages, including those under way.", registry=registry)
        self.outbox_oldest = Gauge(
            "resonate_outbox_oldest_seconds", "How long the first undelivered message has been queued.", registry=registry
        )
        self.dropped = Gauge(
            "resonate_unblocks_dropped", "Unblocks that were dropped undelivered, since the store was created.", registry=registry
        )
        self.set_aside = Gauge(
            "resonate_schedules_set_aside", "Schedules that cannot be fired: their time zone is missing, say.", registry=registry
        )
        self.submissions_refused = Gauge(
            "resonate_submissions_refused", "Submitted requests that were refused, 100 at most.", registry=registry
        )
        self.standing_still = Gauge(
            "resonate_workers_standing_still",
            "Workers of this process whose slots are all held by jobs that cannot end.",
            registry=registry,
        )
        self.unknown_types = Gauge(
            "resonate_jobs_of_unknown_types",
            "Jobs that are put back, because the workers that claimed them have no handler for their type; 200 at most.",
            registry=registry,
        )
        self.clock_ahead = Gauge(
            "resonate_clock_ahead_seconds", "How far the last stored instant is ahead of the store's clock.", registry=registry
        )
        self.deliveries = Counter(
            "resonate_deliveries", "Messages that left the store.", ["transport", "kind", "outcome"], registry=registry
        )
        self.delivery_seconds = Histogram(
            "resonate_delivery_duration_seconds",
            "From the start of a delivery to its reply.",
            ["transport"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.streams = Gauge("resonate_poll_streams", "Open poll streams.", registry=registry)
        self.streams_opened = Counter("resonate_poll_streams_opened", "Poll streams that were opened.", registry=registry)
        self.job_streams = Gauge("resonate_job_streams", "Open job streams.", registry=registry)
        self.job_wakeups = Counter("resonate_job_wakeups", "Events of job streams.", registry=registry)
        self.refused = Counter("resonate_refused", "Requests that were refused before they ran.", ["reason"], registry=registry)

    def read(self, store: Store, counting: Watch) -> None:
        """Ask the store for what only it knows. From any thread; the counters of requests need no call.

        Args:
            store: The store.
            counting: The watch that counts its commits.

        Raises:
            StoreError: The store failed. Metrics that were not read yet keep their previous values.
        """
        counts = store.outbox_counts()
        self.outbox.set(counts["waiting"])
        self.dropped.set(counts["dropped"])
        waiting = store.messages(limit=1)
        self.outbox_oldest.set(max(0, store.now - waiting[0].queued_at) / 1000 if waiting else 0)
        self._jobs.queues = self._queues.update(store, counting.queue_counts())
        self._jobs.attempts, self._jobs.entered = counting.job_attempts, counting.job_states
        problems = store.problems()
        self.set_aside.set(sum(problem.name == "schedule_set_aside" for problem in problems))
        self.submissions_refused.set(sum(problem.name == "submission_refused" for problem in problems))
        self.standing_still.set(len(standstills_of(store)))
        self.unknown_types.set(len(put_back_in(store)))
        self.clock_ahead.set(store.clock_ahead / 1000)
        self._of_store.update(store)

    def exposition(self) -> tuple[bytes, str]:
        """Return the body of /metrics and its content type."""
        text: bytes = generate_latest(self.registry)  # type: ignore[no-untyped-call]
        return text, CONTENT_TYPE_LATEST
