"""The last hour by minutes. A store counts by hours: a dashboard keeps what it sees of the minutes in its memory."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from heapq import nlargest
from typing import TYPE_CHECKING, Any

from ..errors import ResonateError
from .series import COUNTED, points_of

if TYPE_CHECKING:
    from .._core import Store
    from .principal import Principal

__all__ = ["MinuteCounts"]

_MINUTE, _HOUR = 60_000, 3_600_000
_KEPT = 60
#: The most queues of a minute: those with the most events and waiting jobs.
_MOST_QUEUES = 2000
_NAMES = (*COUNTED, "latency", "runTime")

#: Of a queue in a minute: the events of each kind, in the order of _NAMES, and the jobs that waited when it was counted.
_Counts = tuple[list[float], int]


class MinuteCounts:
    """The events of each queue in the last 60 minutes of the store's clock. Its methods may be called by any thread.

    A minute is counted when `look` is called after its end. If several have ended since the last call, they share the events equally.

    Args:
        store: The store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._kept: deque[tuple[int, dict[str, _Counts]]] = deque(maxlen=_KEPT)
        self._minute: int | None = None  # the minute of the last look
        self._hour: dict[str, list[int]] = {}  # what the hour of the last look had counted by then

    def look(self) -> None:
        """Count the minutes that have ended. A store that cannot be read is read again in the next call."""
        with contextlib.suppress(ResonateError):
            minute = self._store.now // _MINUTE
            if minute != self._minute and self._lock.acquire(blocking=False):
                try:
                    self._count(minute)
                finally:
                    self._lock.release()

    def _count(self, minute: int) -> None:
        before = self._minute
        if before is not None and minute < before:  # the clock was set back
            self._kept.clear()
            before = None
        start = (minute if before is None else before) * _MINUTE // _HOUR * _HOUR
        present = minute * _MINUTE // _HOUR * _HOUR
        events, hour = {}, {}
        for queue in self._store.views.hours(since=start):
            name = queue["queue"]
            sums = [-count for count in self._hour.get(name, ())] or [0] * len(_NAMES)
            for one in queue["hours"]:
                counts = [one.get(kind, 0) for kind in _NAMES]
                sums = [a + b for a, b in zip(sums, counts, strict=True)]
                if one["at"] == present:
                    hour[name] = counts
            events[name] = sums
        if before is not None:
            self._keep(before, minute, events)
        self._minute, self._hour = minute, hour

    def _keep(self, first: int, end: int, events: dict[str, list[int]]) -> None:
        deepest = self._store.views.queue_totals(_MOST_QUEUES, aged=0)["queues"]
        depths = {one["name"]: int(one["counts"]["pending"]) for one in deepest}
        share = end - first
        counted: dict[str, _Counts] = {}
        for name in events.keys() | depths.keys():
            sums = events.get(name, [0] * len(_NAMES))
            if depths.get(name) or any(sums):
                counted[name] = [max(0, count) / share for count in sums], depths.get(name, 0)
        if len(counted) > _MOST_QUEUES:  # a client may name any number of queues
            busiest = nlargest(_MOST_QUEUES, counted.items(), key=lambda one: sum(one[1][0]) + one[1][1])
            counted = dict(busiest)
        for minute in range(max(first, end - _KEPT), end):
            self._kept.append((minute, counted))

    def series_of(self, principal: Principal) -> dict[str, Any] | None:
        """Return the series of the minutes that were counted, of all visible queues together; None until two were."""
        with self._lock:
            kept = list(self._kept)
        if len(kept) < 2:
            return None
        sums: dict[str, list[float]] = {name: [] for name in _NAMES}
        depths = []
        for _, counted in kept:
            seen = [one for name, one in counted.items() if principal.sees(name)]
            for place, name in enumerate(_NAMES):
                sums[name].append(round(sum(counts[place] for counts, _ in seen), 1))
            depths.append(sum(depth for _, depth in seen))
        at = [minute * _MINUTE for minute, _ in kept]
        return {"bucketMs": _MINUTE, "from": at[0], "points": points_of(at, sums, depths)}
