"""The views `session` and `overview`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from .._core import ManualClock, Watch, __version__
from ..explain.store_queries import put_back_of
from .access import StoreAccess
from .dashboard import Dashboard
from .parameters import Parameters, listed
from .queues import queue_item
from .series import days_of, means_of, series_of

__all__ = ["due_view", "overview", "session"]

_MOST_QUEUES, _MOST_DUE = 20, 10
#: The kinds of due steps, as sentences; those named by a state are dispatches of jobs.
_STEPS = {
    "retry": "retry {id}",
    "scheduled": "make {id} pending",
    "gathering": "make the batch of {id} ready",
    "drain": "notify the awaiters of {id}",
    "timeout": "time out {id}",
    "lease": "end the lease on {id}",
    "dispatch": "dispatch {id}",
    "retention": "delete {id}",
    "schedule": "fire schedule {id}",
}


def session(access: StoreAccess, dashboard: Dashboard, *, requires_token: bool) -> dict[str, Any]:
    """The principal, and the features of this dashboard."""
    store, who = access.store, access.principal
    kind = "database" if store.url is not None else "file" if store.path is not None else "memory"
    manual = isinstance(store.clock, ManualClock)
    clock = "manual" if manual else "database" if type(store.clock).__name__ == "DatabaseClock" else "system"
    return {
        "role": who.role,
        "requiresToken": requires_token,
        "noRole": dashboard.no_role,
        "name": None if who.name is None else who.name[:200],
        "prefix": who.prefix,
        "now": store.now,
        "clock": clock,
        "place": {
            "kind": "recording" if dashboard.is_recording else kind,
            "name": (dashboard.name or store.url or store.path) if who.may("read") and not who.prefix else None,
        },
        "version": __version__,
        "readOnly": dashboard.read_only,
        "refresh": 500,
        "features": {
            "preview": who.may("operate"),
            "travel": True,
            "debug": store.debug,
        },
        "redacts": dashboard.rules.any,
        "auditKept": dashboard.options.audit_kept,
    }


def overview(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The state of the store as a whole."""
    hours = given.number("hours", 1, 168, 24) or 24
    store, now = access.store, access.store.now
    stats = access.send("job.stats", {})["queues"]
    known = {queue["name"]: queue for queue in access.send("queue.list", {})["queues"]}
    queues = [queue_item(access, known.get(one["name"], {}), one) for one in stats]
    queues.sort(key=lambda one: (-one["pending"], one["name"]))
    counts: Counter[str] = Counter()
    for one in stats:
        counts.update(one["counts"])
    outbox = store.outbox_counts() if not access.principal.prefix else None
    seen = (one.name for one in store.problems() if not access.principal.prefix or access.principal.sees(one.id))
    problems = _problems([*seen, *("unknown_type" for _ in put_back_of(access))])
    due = _due(access, _MOST_DUE)
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
        "series": {"minute": minutes_of(access, dashboard), "hour": series_of(access, None, hours), "day": days_of(stats, now)},
        "means": means_of(access),
        "latency": _latency(dashboard) if not access.principal.prefix else {"waitMs": None, "runMs": None},
        "due": due,
        "nextDue": store.next_due() if not access.principal.prefix else due[0]["at"] if due else None,
        "messages": None if outbox is None else {"waiting": outbox["waiting"], "dropped": outbox["dropped"]},
        "submissionsWaiting": store.submissions_waiting if not access.principal.prefix else None,
    }


def minutes_of(access: StoreAccess, dashboard: Dashboard) -> dict[str, Any] | None:
    """Return the series of the last minutes; None of an earlier state, of which no minute was seen."""
    return dashboard.minutes.series_of(access.principal) if access.store is dashboard.store else None


def due_view(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The next internal steps."""
    return listed(_due(access, given.limit), None)


def _due(access: StoreAccess, limit: int) -> list[dict[str, Any]]:
    found, now = access.store.views.due(limit, prefix=access.principal.prefix), access.store.now
    jobs = access.find_all("job", [step["id"] for step in found if step["kind"] == "dispatch"])
    return [
        {
            **step,
            "at": now if step["at"] is None else step["at"],
            "text": _STEPS.get(_kind(step, jobs.get(step["id"])), "{id}").format(id=step["id"]),
        }
        for step in found
    ]


def _kind(step: Mapping[str, Any], job: Mapping[str, Any] | None) -> str:
    """Return the kind of a step; of a dispatch of a job, why the job waits."""
    if job is None or job["state"] not in ("scheduled", "retry"):
        return str(step["kind"])
    return "gathering" if job.get("gathering") else str(job["state"])


def _problems(names: Iterable[str]) -> list[dict[str, Any]]:
    """The problems by name: their details contain ids, which not everybody may see."""
    counted = sorted(Counter(names).items())
    return [{"name": name, "count": count, "detail": f"{count} × {name.replace('_', ' ')}"} for name, count in counted]


def _latency(dashboard: Dashboard) -> dict[str, Any]:
    """Quantiles of this process's histograms, as the upper bounds of their buckets."""
    counting = None if dashboard.counting is None else dashboard.counting()
    if counting is None:
        return {"waitMs": None, "runMs": None}
    bounds = list(Watch.buckets)
    made: dict[str, Any] = {}
    counts = counting.queue_counts()
    for name, member in (("waitMs", "latency"), ("runMs", "runTime")):
        sums = [sum(column) for column in zip(*(one[member]["counts"] for one in counts), strict=True)]
        total = sum(sums)
        made[name] = (
            {f"p{round(part * 100)}": _quantile(sums, bounds, part * total) for part in (0.5, 0.95, 0.99)} if total else None
        )
    return made


def _quantile(counts: list[int], bounds: list[int], rank: float) -> int:
    reached = 0
    for count, bound in zip(counts, bounds, strict=False):
        reached += count
        if reached >= rank:
            return bound
    return bounds[-1]
