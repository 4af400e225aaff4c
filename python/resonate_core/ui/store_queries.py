"""Questions to a store that several views ask and that no request of the protocol answers. Each has one function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base.instants import NEVER
from ..explain.unknown_types import PutBack, put_back_in
from .access import StoreAccess
from .sizes import is_large

if TYPE_CHECKING:
    from .._core import JobState

__all__ = ["awaited_by_each", "awaited_elsewhere", "batch_ready_at", "holders", "jobs_in", "put_back_of", "queue_row", "waiting_in"]

#: The most pending promises of a prefix of which the awaiters are read.
_MOST_OWN = 1000


def awaited_elsewhere(access: StoreAccess, id: str) -> list[str]:
    """Return the visible pending promises outside of its workflow that a task awaits; none in a store that is too large to be searched."""
    return awaited_by_each(access, [id])[id]


def awaited_by_each(access: StoreAccess, ids: Sequence[str]) -> dict[str, list[str]]:
    """Return what `awaited_elsewhere` returns, for several tasks by one reading of the store."""
    found: dict[str, list[str]] = {id: [] for id in ids}
    for row in _pending_rows(access) if found else ():
        for id in found.keys() & set(row["callbacks"]):
            found[id].append(row["id"])
    return found


def _pending_rows(access: StoreAccess) -> Iterable[Mapping[str, Any]]:
    """Return visible pending rows: of a prefix, the first ones by id; of a whole store that is not large, all."""
    if access.principal.prefix:
        found = access.send("promise.search", {"state": "pending", "limit": _MOST_OWN})["promises"]
        return list(access.rows([one["id"] for one in found]).values())
    return () if is_large(access.store) else [row for row in access.store.snapshot()["promises"] if row["state"] == "pending"]


def holders(access: StoreAccess, queue: str) -> list[dict[str, Any]]:
    """Return visible leases on jobs of a queue, at most 200: `id`, `pid`, `expiresAt`, the first to expire first."""
    found = [
        {"id": job["id"], "pid": job.get("claimedBy"), "expiresAt": job.get("leaseUntil", NEVER)}
        for job in jobs_in(access, queue, ("claimed", "running"), 200)
    ]
    return sorted(found, key=lambda one: (one["expiresAt"], one["id"]))


def jobs_in(access: StoreAccess, queue: str, states: Sequence[JobState], most: int) -> list[dict[str, Any]]:
    """Return the visible jobs of a queue in these states, newest first.

    If they are few, this reads no others. `job.search` by a state without an index by id examines every job of the store.
    """
    found = access.store.views.jobs(queue=queue, states=list(states), limit=most, prefix=access.principal.prefix)
    return [job.to_dict() for job in found]


def put_back_of(access: StoreAccess) -> list[PutBack]:
    """Return the visible jobs that were put back because their type has no handler, of those that are due next."""
    return put_back_in(access.store, lambda ids: access.find_all("job", ids).values(), access.principal.prefix)


def waiting_in(access: StoreAccess, queue: str) -> int:
    """Return the number of pending jobs of a queue."""
    status, data = access.ask("job.stats", {"queue": queue})
    return data["queues"][0]["counts"]["pending"] if status == 200 and data["queues"] else 0


def queue_row(access: StoreAccess, queue: str) -> Mapping[str, Any] | None:
    """Return a queue as on the wire, with the level of its rate where the store shows it; None if it does not exist."""
    status, data = access.ask("queue.get", {"queue": queue})
    if status != 200:
        return None
    level = access.level_of(queue) if "rate" in data["queue"] else {}
    return {**data["queue"], **level}


def batch_ready_at(access: StoreAccess, job: Mapping[str, Any]) -> int | None:
    """Return when the batch that a job gathers with is ready; None if that is not known."""
    query = {"queue": job["queue"], "type": job["type"], "group": job["group"], "state": "scheduled", "limit": 1000}
    members = [one["id"] for one in access.send("job.search", query)["jobs"] if one.get("batch") == job.get("batch")]
    due = [row["task"]["retryAt"] for row in access.rows(members).values() if row["task"].get("retryAt", NEVER) != NEVER]
    return min(due, default=None)
