"""The views `session` and `overview`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .._core import ManualClock, __version__
from .._lineage import Requests
from ..errors import ResonateError
from .door import Door
from .parameters import Parameters, listed
from .queues import queue_item
from .site import Site
from .stand_ins import views_of

__all__ = ["due_view", "overview", "session", "series_of"]

_HOUR, _DAY = 3_600_000, 86_400_000
_MOST_QUEUES, _MOST_DUE = 20, 10
_COUNTED = ("enqueued", "started", "completed", "failed", "retried", "archived", "crashed", "expired", "cancelled")
#: The kinds of due steps, as sentences.
_STEPS = {
    "drain": "notify the awaiters of {id}",
    "timeout": "time out {id}",
    "lease": "end the lease on {id}",
    "dispatch": "dispatch {id}",
    "retention": "delete {id}",
    "schedule": "fire schedule {id}",
}


def session(door: Door, given: Parameters, site: Site, *, requires_token: bool) -> dict[str, Any]:
    """Who asks, and what this dashboard offers."""
    store, who = door.store, door.principal
    kind = "database" if store.url is not None else "file" if store.path is not None else "memory"
    manual = isinstance(store.clock, ManualClock)
    clock = "manual" if manual else "database" if type(store.clock).__name__ == "DatabaseClock" else "system"
    return {
        "role": who.role,
        "requiresToken": requires_token,
        "name": who.name,
        "prefix": who.prefix,
        "now": store.now,
        "clock": clock,
        "place": {"kind": kind, "name": (site.name or store.url or store.path) if who.may("read") else None},
        "version": __version__,
        "readOnly": site.read_only,
        "refresh": 500,
        "features": {
            "preview": who.may("operate"),
            "travel": True,
            "schedulePause": False,
            "log": False,
            "debug": store.debug,
        },
        "notes": {"schedulePause": "schedules cannot be paused: delete the schedule, and create it again"},
        "redacts": site.rules.any,
        "auditKept": site.options.audit_kept,
    }


def overview(door: Door, given: Parameters, site: Site) -> dict[str, Any]:
    """How the store does as a whole."""
    hours = given.number("hours", 1, 168, 24) or 24
    store, now = door.store, door.store.now
    stats = door.send("job.stats", {})["queues"]
    known = {queue["name"]: queue for queue in door.send("queue.list", {})["queues"]}
    queues = [queue_item(door, known.get(one["name"], {}), one) for one in stats]
    queues.sort(key=lambda one: (-one["pending"], one["name"]))
    counts: Counter[str] = Counter()
    for one in stats:
        counts.update(one["counts"])
    outbox = store.outbox_counts() if not door.principal.prefix else None
    problems = _problems(store.problems())
    return {
        "now": now,
        "health": {
            "ready": not store.closed,
            "problems": problems,
            "clockAheadMs": store.clock_ahead,
            "storage": {"kind": "database" if store.url else "file" if store.path else "memory"},
        },
        "counts": dict(counts),
        "queues": queues[:_MOST_QUEUES],
        "queueCount": len(queues),
        "series": {"minute": None, "hour": series_of(door, None, hours), "day": _days(stats, now)},
        "latency": _latency(site) if not door.principal.prefix else {"waitMs": None, "runMs": None},
        "due": _due(door, _MOST_DUE),
        "nextDue": store.next_due(),
        "messages": None if outbox is None else {"waiting": outbox["waiting"], "dropped": outbox["dropped"]},
        "submissionsWaiting": store.submissions_waiting if not door.principal.prefix else None,
    }


def due_view(door: Door, given: Parameters, site: Site) -> dict[str, Any]:
    """What happens next by itself."""
    return listed(_due(door, given.limit), None)


def _due(door: Door, limit: int) -> list[dict[str, Any]]:
    wanted = limit if not door.principal.prefix else 1000
    found = [step for step in views_of(door.store).due(wanted) if door.principal.sees(step["id"])]
    return [{**step, "text": _STEPS.get(step["kind"], "{id}").format(id=step["id"])} for step in found[:limit]]


def _problems(problems: Iterable[Any]) -> list[dict[str, Any]]:
    """By name: the details hold ids, which not everybody may see."""
    counted: dict[str, list[str]] = {}
    for problem in problems:
        counted.setdefault(problem.name, []).append(problem.detail)
    return [{"name": name, "count": len(details), "detail": f"{len(details)} × {name.replace('_', ' ')}"} for name, details in sorted(counted.items())]


def series_of(door: Door, queue: str | None, hours: int) -> dict[str, Any] | None:
    """Return the stored hourly series of all visible queues, or of one; None if the store keeps none."""
    now = door.store.now
    start = now // _HOUR * _HOUR - (hours - 1) * _HOUR
    try:
        stored = views_of(door.store).hours(queue, since=max(start, 0))
    except ResonateError:
        return None
    if not stored:
        return None
    places = {start + index * _HOUR: index for index in range(hours)}
    sums = {name: [0] * hours for name in (*_COUNTED, "latency", "runTime")}
    for one in stored:
        if not door.principal.sees(one["queue"]):
            continue
        for hour in one["hours"]:
            if hour["at"] in places:
                for name, column in sums.items():
                    column[places[hour["at"]]] += hour.get(name, 0)
    ended = [sum(parts) for parts in zip(sums["completed"], sums["failed"], sums["crashed"], strict=True)]
    points: dict[str, Any] = {"at": list(places)} | {name: sums[name] for name in _COUNTED}
    points["waitMs"] = [_mean(total, count) for total, count in zip(sums["latency"], sums["started"], strict=True)]
    points["runMs"] = [_mean(total, count) for total, count in zip(sums["runTime"], ended, strict=True)]
    points["depth"] = [None] * (hours - 1) + [_depth(door, queue)]
    return {"bucketMs": _HOUR, "from": start, "points": points}


def _depth(door: Requests, queue: str | None) -> int:
    stats = door.send("job.stats", {} if queue is None else {"queue": queue})["queues"]
    return sum(int(one["counts"]["pending"]) for one in stats)


def _mean(total: int, count: int) -> int | None:
    return round(total / count) if count else None


def _days(stats: Iterable[Mapping[str, Any]], now: int) -> dict[str, Any] | None:
    """The attempts per UTC day, which every queue counts."""
    from datetime import datetime, timezone

    sums: dict[int, list[int]] = {}
    for queue in stats:
        for day in queue["days"]:
            at = int(datetime.fromisoformat(day["day"]).replace(tzinfo=timezone.utc).timestamp() * 1000)
            cell = sums.setdefault(at, [0, 0])
            cell[0] += day["processed"]
            cell[1] += day["failed"]
    if not sums:
        return None
    days = range(min(sums), max(*sums, now // _DAY * _DAY) + 1, _DAY)
    cells = [sums.get(at, [0, 0]) for at in days]
    points = {"at": list(days), "completed": [one - bad for one, bad in cells], "failed": [bad for _, bad in cells]}
    return {"bucketMs": _DAY, "from": days[0], "points": points}


def _latency(site: Site) -> dict[str, Any]:
    """Quantiles of this process's histograms, as the upper bounds of their buckets."""
    counting = None if site.counting is None else site.counting()
    if counting is None or not hasattr(counting, "queue_counts"):
        return {"waitMs": None, "runMs": None}
    bounds = list(type(counting).buckets)
    made: dict[str, Any] = {}
    counts = counting.queue_counts()
    for name, member in (("waitMs", "latency"), ("runMs", "runTime")):
        sums = [sum(column) for column in zip(*(one[member]["counts"] for one in counts), strict=True)]
        total = sum(sums)
        made[name] = {f"p{round(part * 100)}": _quantile(sums, bounds, part * total) for part in (0.5, 0.95, 0.99)} if total else None
    return made


def _quantile(counts: list[int], bounds: list[int], rank: float) -> int:
    reached = 0
    for count, bound in zip(counts, bounds, strict=False):
        reached += count
        if reached >= rank:
            return bound
    return bounds[-1]
