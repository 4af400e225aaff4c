"""The views of queues and of groups that gather."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.globs import Globs
from ..base.instants import NEVER
from ..base.states import JOB_STATES, UNFINISHED
from ..explain.store_queries import jobs_in, queue_row
from ..explain.why_jobs import next_token
from .access import Refused, StoreAccess
from .dashboard import Dashboard
from .parameters import Parameters, listed
from .policies import defaults_in_words
from .series import series_of

__all__ = ["groups", "queue", "queue_item", "queues"]

#: The most scheduled jobs of which groups are read.
_MOST_GATHERING = 10_000
#: The most jobs of which the types are counted.
_MOST_TYPED = 1000


def queue_item(access: StoreAccess, known: Mapping[str, Any], stats: Mapping[str, Any]) -> dict[str, Any]:
    """Return a queue as the views show it, from `queue.get` and `job.stats`."""
    limit = known.get("concurrency")
    counts = {state: stats["counts"].get(state, 0) for state in JOB_STATES}
    return {
        "name": stats["name"],
        "paused": stats["paused"],
        "weight": known.get("weight", 1),
        "concurrency": limit,
        "active": stats["active"],
        "pending": counts["pending"],
        "rate": known.get("rate"),
        "groups": known.get("groups"),
        "lifecycle": known.get("lifecycle"),
        "defaults": known.get("defaults"),
        "defaultsInWords": defaults_in_words(known.get("defaults") or {}),
        "counts": counts,
        "oldestPendingAt": stats.get("oldestPendingAt"),
        "latencyMs": stats.get("latency") if counts["pending"] else None,
        "days": stats["days"],
        "limits": {"concurrency": "at limit" if limit is not None and stats["active"] >= limit else None, "rate": None},
    }


def queues(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """All visible queues, by name."""
    pattern, start = given.text("name"), given.offset()
    names = Globs(["*" if pattern is None else pattern])
    stats = [one for one in access.send("job.stats", {})["queues"] if names.match(one["name"])]
    page = stats[start : start + given.limit]
    known = {one["name"]: one for one in access.send("queue.list", {})["queues"]}
    items = [queue_item(access, known.get(one["name"], {}), one) for one in page]
    return listed(items, start + given.limit if start + given.limit < len(stats) else None)


def queue(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """One queue, with its types and its series."""
    name = given.need("name")
    stats = access.send("job.stats", {"queue": name})["queues"]
    if not stats:
        raise Refused(404, f"queue {name!r} does not exist")
    item = queue_item(access, queue_row(access, name) or {}, stats[0])
    token = next_token(access, name)
    item["limits"]["rate"] = token if token is not None and token > access.store.now else None
    item["types"] = _types(access, name) if sum(item["counts"][state] for state in UNFINISHED) <= _MOST_TYPED else None
    item["series"] = series_of(access, name, given.number("hours", 1, 168, 24) or 24)
    return item


def _types(access: StoreAccess, name: str) -> list[dict[str, Any]]:
    """Count the unfinished jobs of a queue by type."""
    counted: dict[str, dict[str, int]] = {}
    for job in jobs_in(access, name, UNFINISHED, _MOST_TYPED):
        cell = counted.setdefault(job["type"], {})
        cell[job["state"]] = cell.get(job["state"], 0) + 1
    return [{"type": type, "counts": counts} for type, counts in sorted(counted.items())]


def groups(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The batches that gather."""
    wanted = given.text("queue")
    query: dict[str, Any] = {"state": "scheduled", "limit": 1000} | ({} if wanted is None else {"queue": wanted})
    batches: dict[str, list[dict[str, Any]]] = {}
    number, complete = 0, True
    for job in access.pages("job.search", "jobs", query):
        number += 1
        if number > _MOST_GATHERING:
            complete = False
            break
        if job.get("gathering"):
            batches.setdefault(job["batch"], []).append(job)
    start = given.offset()
    found = sorted(batches)
    page = found[start : start + given.limit]
    items = [_group(access, batch, batches[batch]) for batch in page]
    scan = None if complete else {"examined": number, "complete": False, "until": None}
    return listed(items, start + given.limit if start + given.limit < len(found) else None, scan)


def _group(access: StoreAccess, batch: str, members: list[dict[str, Any]]) -> dict[str, Any]:
    rows = access.rows([job["id"] for job in members])
    due = {id: row["task"]["retryAt"] for id, row in rows.items() if row["task"].get("retryAt", NEVER) != NEVER}
    leader = min(due, key=lambda id: (due[id], id), default=members[0]["id"])
    first = members[0]
    settings = (queue_row(access, first["queue"]) or {}).get("groups") or {}
    flight = rows.get(leader, {}).get("job", {}).get("flight", {})
    return {
        "queue": first["queue"],
        "type": first["type"],
        "group": first["group"],
        "batch": batch,
        "members": len(members),
        "firstAt": flight.get("firstAt"),
        "readyAt": due.get(leader),
        "size": settings.get("size"),
        "leader": leader,
    }
