"""Stored series: hours by the store, days by its queues."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from ..errors import ResonateError
from ..explain.call_tree import RequestSender
from .access import StoreAccess

__all__ = ["COUNTED", "days_of", "means_of", "points_of", "series_of"]

_HOUR, _DAY = 3_600_000, 86_400_000
_DAYS_OF_400_YEARS = 146_097
#: The most places of a chart of days.
_MOST_PLACES = 400
#: The events of a queue that are counted.
COUNTED = ("enqueued", "started", "completed", "failed", "retried", "archived", "crashed", "expired", "cancelled")


def series_of(access: StoreAccess, queue: str | None, hours: int) -> dict[str, Any] | None:
    """Return the stored hourly series of all visible queues, or of one; None if there is no such queue."""
    now = access.store.now
    start = now // _HOUR * _HOUR - (hours - 1) * _HOUR
    try:
        every = access.store.views.hours(queue, since=max(start, 0))
    except ResonateError:
        return None
    stored = [one for one in every if access.principal.sees(one["queue"])]
    if not stored:
        return None
    places = {start + index * _HOUR: index for index in range(hours)}
    sums = {name: [0] * hours for name in (*COUNTED, "latency", "runTime")}
    for one in stored:
        for hour in one["hours"]:
            if hour["at"] in places:
                for name, column in sums.items():
                    column[places[hour["at"]]] += hour.get(name, 0)
    points = points_of(list(places), sums, [None] * (hours - 1) + [_depth(access, queue)])
    return {"bucketMs": _HOUR, "from": start, "points": points}


def points_of(at: list[int], sums: Mapping[str, Sequence[float]], depth: Sequence[int | None]) -> dict[str, Any]:
    """Return the columns of a chart.

    Args:
        at: The begin of each bucket, in Unix ms.
        sums: The counted events of each bucket, and the sums of their latencies and run times.
        depth: The waiting jobs of each bucket, where they are known.
    """
    ended = [sum(parts) for parts in zip(sums["completed"], sums["failed"], sums["crashed"], strict=True)]
    points: dict[str, Any] = {"at": at} | {name: sums[name] for name in COUNTED}
    points["waitMs"] = [_mean(total, count) for total, count in zip(sums["latency"], sums["started"], strict=True)]
    points["runMs"] = [_mean(total, count) for total, count in zip(sums["runTime"], ended, strict=True)]
    points["depth"] = depth
    return points


def means_of(access: StoreAccess, hours: int = 24) -> dict[str, Any]:
    """Return the mean waiting and run time of the visible queues, whichever process ran their jobs, with the numbers behind them."""
    start = access.store.now - hours * _HOUR
    sums = dict.fromkeys((*COUNTED, "latency", "runTime"), 0)
    for one in access.store.views.hours(since=max(start, 0)):
        if access.principal.sees(one["queue"]):
            for hour in one["hours"]:
                for name in sums:
                    sums[name] += hour.get(name, 0)
    ended = sums["completed"] + sums["failed"] + sums["crashed"]
    return {
        "hours": hours,
        "started": sums["started"],
        "ended": ended,
        "waitMs": _mean(sums["latency"], sums["started"]),
        "runMs": _mean(sums["runTime"], ended),
    }


def _depth(access: RequestSender, queue: str | None) -> int:
    stats = access.send("job.stats", {} if queue is None else {"queue": queue})["queues"]
    return sum(int(one["counts"]["pending"]) for one in stats)


def _mean(total: float, count: float) -> int | None:
    return round(total / count) if count else None


def days_of(stats: Iterable[Mapping[str, Any]], now: int) -> dict[str, Any] | None:
    """Return the attempts per UTC day, which every queue counts.

    The chart has a bounded number of places: if more days lie between the first and the last, several share a place.

    Example:
        >>> from resonate_core.ui.series import days_of
        >>> days_of([{"days": [{"day": "1970-01-02", "processed": 3, "failed": 1}]}], 2 * 86_400_000)["points"]
        {'at': [86400000, 172800000], 'completed': [2, 0], 'failed': [1, 0]}
    """
    sums: dict[int, list[int]] = {}
    for queue in stats:
        for day in queue["days"]:
            cell = sums.setdefault(_day(day["day"]), [0, 0])
            cell[0] += day["processed"]
            cell[1] += day["failed"]
    if not sums:
        return None
    first, last = min(sums), max(*sums, now // _DAY)
    width = (last - first) // _MOST_PLACES + 1  # days of a place
    columns = [[0] * ((last - first) // width + 1) for _ in range(2)]
    for number, (processed, failed) in sums.items():
        columns[0][(number - first) // width] += processed - failed
        columns[1][(number - first) // width] += failed
    at = [(first + place * width) * _DAY for place in range(len(columns[0]))]
    return {"bucketMs": width * _DAY, "from": at[0], "points": {"at": at, "completed": columns[0], "failed": columns[1]}}


def _day(text: str) -> int:
    """Return the number of a day since 1970, of a date that may be later than those of Python."""
    year, month, day = (int(part) for part in text.rsplit("-", 2))
    years, year = divmod(year, 400)  # the calendar repeats after 400 years
    return (date(year + 400, month, day) - date(1970, 1, 1)).days + (years - 1) * _DAYS_OF_400_YEARS
