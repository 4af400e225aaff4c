"""The view of workers: their leases, and how long ago they renewed them."""

from __future__ import annotations

from typing import Any

from .access import StoreAccess
from .dashboard import Dashboard
from .parameters import Parameters, listed

__all__ = ["workers"]

#: The most leases that are read.
_MOST_LEASES = 10_000
_MOST_SHOWN = 50
#: A ttl beyond this (ms) is no limit: clients ask for 2^50 ms if they want none.
_ENDLESS = 366 * 86_400_000


def workers(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The workers that hold a task or a job, by name."""
    now = access.store.now
    found = access.store.views.leases(_MOST_LEASES, prefix=access.principal.prefix)
    by_worker: dict[str, list[dict[str, Any]]] = {}
    for lease in found["items"]:
        if access.principal.sees(lease["id"]):
            by_worker.setdefault(lease["pid"], []).append(lease)
    names = sorted(by_worker)
    start = given.offset()
    items = [_item(name, by_worker[name], now) for name in names[start : start + given.limit]]
    scan = None if found["complete"] else {"examined": len(found["items"]), "complete": False, "until": None}
    return listed(items, start + given.limit if start + given.limit < len(names) else None, scan)


def _item(worker: str, leases: list[dict[str, Any]], now: int) -> dict[str, Any]:
    jobs = sum(one["kind"] == "job" for one in leases)
    finite = [one["heartbeatAt"] for one in leases if one["ttl"] < _ENDLESS]
    beat = max(finite, default=None)
    leases = sorted(leases, key=lambda one: (one["expiresAt"], one["id"]))
    return {
        "worker": worker,
        "kind": "job" if jobs == len(leases) else "task" if jobs == 0 else "both",
        "jobs": jobs,
        "tasks": len(leases) - jobs,
        "holds": [
            {
                "id": one["id"],
                "kind": one["kind"],
                "type": one.get("type"),
                "queue": one.get("queue"),
                "since": one.get("startedAt"),
                "leaseUntil": one["expiresAt"],
                "leaseMs": one["ttl"],
            }
            for one in leases[:_MOST_SHOWN]
        ],
        "heartbeatAt": beat,
        "heartbeatAgeMs": None if beat is None else max(now - beat, 0),
        "late": any(one["expiresAt"] <= now for one in leases),
    }
