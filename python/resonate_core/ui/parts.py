"""Some rows of a store, as a part of its snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakSet

from .._core import Store
from .._instants import NEVER

__all__ = ["is_large", "part_of"]

#: A store with at most so many promises is read as a whole where its core cannot read some rows only.
SMALL = 20_000
_VERSION = "2026-04-01"
#: Members of a job on the wire that its stored row has elsewhere or not at all.
_DERIVED = frozenset(("id", "tags", "payload", "result", "version", "claimedBy", "leaseUntil", "deadline"))


_LARGE: WeakSet[Store] = WeakSet()


def is_large(store: Store) -> bool:
    """Return whether a store has so many promises that no request may read all of them. A large store stays one."""
    if store not in _LARGE and store.promises.count() > SMALL:
        _LARGE.add(store)
    return store in _LARGE


def part_of(store: Store, ids: Sequence[str]) -> dict[str, Any]:
    """Return the part of a full snapshot with these ids: promises, schedules and messages about them, and all queues.

    Args:
        store: The store.
        ids: At most 1000 of them.

    Returns:
        As of `Store.snapshot`. `exact` is False if the core cannot read some rows only and the store is too large to be read as a
        whole: then the awaiters of a promise are those that its tags tell, and there are no listeners and no messages.
    """
    views: Any = store.views
    if hasattr(views, "rows"):
        return {**views.rows(list(ids)), "exact": True}
    if is_large(store):
        return _from_requests(store, ids)
    wanted = set(ids)
    whole = store.snapshot()
    named = {name: [row for row in whole[name] if row["id"] in wanted] for name in ("promises", "schedules", "messages")}
    return {**whole, **named, "exact": True}


def _from_requests(store: Store, ids: Sequence[str]) -> dict[str, Any]:
    """Put rows together from what the protocol tells of them."""
    kinds = ("promise", "task", "job", "schedule")
    found: dict[str, dict[str, Mapping[str, Any]]] = {kind: _get(store, kind, ids) for kind in kinds}
    parents = [promise["tags"].get("resonate:parent", "") for promise in found["promise"].values() if promise["state"] == "pending"]
    suspended = {id for id, task in _get(store, "task", [id for id in parents if id]).items() if task["state"] == "suspended"}
    leases = {one["id"]: one for one in store.views.leases(10_000)["items"]}
    promises = []
    for id, promise in found["promise"].items():
        caller = promise["tags"].get("resonate:parent")
        callbacks = [caller] if caller in suspended and promise["state"] == "pending" else []
        row: dict[str, Any] = {**promise, "dialect": _VERSION, "external": True, "callbacks": callbacks, "listeners": []}
        if id in found["task"]:
            row["task"] = _task(found["task"][id], found["job"].get(id), leases.get(id), store.now)
        if id in found["job"]:
            job = found["job"][id]
            row["job"] = {name: value for name, value in job.items() if name not in _DERIVED}
            row["job"] |= {"oneStep": False, "cancelWithAwaiters": True, "attemptCount": len(job["attempts"]), "awaiters": []}
        promises.append(row)
    schedules = [{**one, "dialect": _VERSION} for one in found["schedule"].values()]
    counts = {one["name"]: one["counts"] for one in store.queues.stats()}
    queues = []
    for queue in store.queues.list():
        known = {name: value for name, value in queue.items() if name != "active"}
        queues.append({**known, "current": 0, "days": [], "counts": counts.get(queue["name"], {})})
    return {
        "format": "resonate_core/1",
        "now": store.now,
        "dropped": 0,
        "generatedJobs": 0,
        "promises": promises,
        "schedules": schedules,
        "queues": queues,
        "messages": [],
        "exact": False,
    }


def _get(store: Store, kind: str, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    head = {"corrId": "ui", "version": _VERSION}
    replies = store.apply([{"kind": f"{kind}.get", "head": head, "data": {"id": id}} for id in ids]) if ids else []
    return {id: reply["data"][kind] for id, reply in zip(ids, replies, strict=True) if reply["head"]["status"] == 200}


def _task(task: Mapping[str, Any], job: Mapping[str, Any] | None, lease: Mapping[str, Any] | None, now: int) -> dict[str, Any]:
    made: dict[str, Any] = {"state": task["state"], "acquisitions": task["version"], "resumes": []}
    if task["state"] == "acquired":
        ends = lease["expiresAt"] if lease is not None else now + task["ttl"]
        made |= {"pid": task["pid"], "ttl": task["ttl"], "expiresAt": ends, "lastTtl": task["ttl"]}
    elif task["state"] == "pending":
        made["retryAt"] = NEVER if job is None else job.get("nextRetryAt", job.get("processAt", NEVER))
    return made
