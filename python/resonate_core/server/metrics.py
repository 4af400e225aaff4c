"""What a server counts, for Prometheus. The values of every label are a list that is known beforehand."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

__all__ = ["KINDS", "Metrics"]

#: Every kind of both dialects; what is none of them is counted as "unknown".
KINDS = frozenset(
    f"{noun}.{verb}"
    for noun, verbs in {
        "promise": "get create settle register_callback register_listener register subscribe search",
        "task": "get create acquire release suspend fulfill fence heartbeat halt continue search",
        "schedule": "get create delete search",
        "debug": "start stop reset tick snap",
    }.items()
    for verb in verbs.split()
)

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The counters of one app, in a registry of their own, so that several apps of a process do not mix."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self.requests = Counter("resonate_requests", "Requests answered.", ["kind", "status"], registry=registry)
        self.request_seconds = Histogram(
            "resonate_request_duration_seconds",
            "From a request's last byte to its answer.",
            ["kind"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.batch_size = Histogram(
            "resonate_batch_requests", "Requests that shared a transaction.", buckets=_SIZES, registry=registry
        )
        self.commit_seconds = Histogram("resonate_commit_duration_seconds", "One transaction.", buckets=_SECONDS, registry=registry)
        self.in_flight = Gauge("resonate_requests_in_flight", "Requests that wait or run.", registry=registry)
        self.due_lag = Gauge("resonate_due_lag_seconds", "How late the last timer that fired was.", registry=registry)
        self.steps = Counter("resonate_steps", "What the store did by itself.", ["kind"], registry=registry)
        self.tick_failures = Counter(
            "resonate_tick_failures", "Ticks that the store refused or could not commit.", registry=registry
        )
        self.outbox = Gauge("resonate_outbox_messages", "Messages that wait, those under way among them.", registry=registry)
        self.dropped = Gauge(
            "resonate_unblocks_dropped", "Unblocks that nobody took in time, since the store began.", registry=registry
        )
        self.deliveries = Counter(
            "resonate_deliveries", "Messages that left the store.", ["transport", "kind", "outcome"], registry=registry
        )
        self.delivery_seconds = Histogram(
            "resonate_delivery_duration_seconds",
            "From being read in the outbox to being sent.",
            ["transport"],
            buckets=_SECONDS,
            registry=registry,
        )
        self.streams = Gauge("resonate_poll_streams", "Open poll streams.", registry=registry)
        self.streams_opened = Counter("resonate_poll_streams_opened", "Poll streams that were opened.", registry=registry)
        self.refused = Counter("resonate_refused", "Requests that were not let in.", ["reason"], registry=registry)
        self._by_kind: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def answered(self, kind: str, status: int, seconds: float) -> None:
        """Counts one request."""
        if kind not in KINDS:
            kind = "unknown"
        known = self._by_kind.get((kind, status))
        if known is None:
            known = self._by_kind[kind, status] = (self.requests.labels(kind, str(status)), self.request_seconds.labels(kind))
        known[0].inc()
        known[1].observe(seconds)

    def exposition(self) -> tuple[bytes, str]:
        """What /metrics answers, and its content type."""
        text: bytes = generate_latest(self.registry)  # type: ignore[no-untyped-call]
        return text, CONTENT_TYPE_LATEST
