"""The metrics of a store that a scrape asks it for: leases, schedules, files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from .._core import Store

__all__ = ["StoreMetrics"]

#: The most leases that a scrape reads, to count the workers that hold them.
_MOST_LEASES = 10_000


class StoreMetrics(Collector):
    """What a store holds at present."""

    def __init__(self) -> None:
        self._workers: Mapping[str, int] = {}
        self._leases: Mapping[str, int] = {}
        self._late = 0
        self._lag = 0
        self._bytes: Mapping[str, int] = {}

    def update(self, store: Store) -> None:
        """Read the store. A file or database is read on a snapshot; in memory, requests wait for the few ms that it takes.

        Raises:
            StoreError: The store failed.
        """
        leases = store.views.leases(limit=_MOST_LEASES)["items"]
        self._leases = {kind: sum(lease["kind"] == kind for lease in leases) for kind in ("task", "job")}
        self._workers = {kind: len({lease["pid"] for lease in leases if lease["kind"] == kind}) for kind in ("task", "job")}
        late = [schedule for schedule in store.views.late_schedules() if "problem" not in schedule]
        self._late = len(late)
        self._lag = max((store.now - schedule["dueAt"] for schedule in late), default=0)
        self._bytes = _file_sizes(store.path)

    def collect(self) -> Iterator[Metric]:
        """Yield the families, for a scrape."""
        workers = GaugeMetricFamily("resonate_workers", "Workers that hold a lease, 10,000 leases at most.", labels=["kind"])
        leases = GaugeMetricFamily("resonate_leases", "Leases that workers hold, 10,000 at most.", labels=["kind"])
        for kind, count in self._workers.items():
            workers.add_metric([kind], count)
            leases.add_metric([kind], self._leases[kind])
        yield from (workers, leases)
        yield GaugeMetricFamily(
            "resonate_schedules_late", "Schedules whose next occurrence has passed, 100 at most.", value=self._late
        )
        yield GaugeMetricFamily(
            "resonate_schedule_lag_seconds", "How long ago the next occurrence of the latest of them was.", value=self._lag / 1000
        )
        size = GaugeMetricFamily("resonate_store_bytes", "The size of a store's files.", labels=["part"])
        for part, count in self._bytes.items():
            size.add_metric([part], count)
        yield size


def _file_sizes(path: str | None) -> dict[str, int]:
    """Return the sizes of a SQLite file and its write-ahead log; none of a store elsewhere."""
    found = {}
    for part, suffix in (("file", ""), ("log", "-wal")) if path is not None else ():
        try:
            found[part] = os.stat(f"{path}{suffix}").st_size
        except FileNotFoundError:  # no log yet
            found[part] = 0
    return found
