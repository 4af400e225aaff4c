"""Questions to a store that `why` and several views of the dashboard ask. Each has one function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..base.instants import NEVER
from .large_stores import is_large
from .store_reader import StoreReader
from .unknown_types import PutBack, put_back_in

if TYPE_CHECKING:
    from .._core import JobState

__all__ = [
    "awaited_by_each",
    "awaited_elsewhere",
    "batch_ready_at",
    "jobs_in",
    "leases_in",
    "put_back_of",
    "queue_row",
    "waiting_in",
]

#: The most pending promises of a prefix of which the awaiters are read.
_MOST_OWN = 1000


def awaited_elsewhere(reader: StoreReader, id: str) -> list[str]:
    """Return the visible pending promises outside of its workflow that a task awaits; none in a store that is too large to be searched."""
    return awaited_by_each(reader, [id])[id]


def awaited_by_each(reader: StoreReader, ids: Sequence[str]) -> dict[str, list[str]]:
    """Return what `awaited_elsewhere` returns, for several tasks by one reading of the store."""
    found: dict[str, list[str]] = {id: [] for id in ids}
    for row in _pending_rows(reader) if found else ():
        named = found.keys() & set(row["callbacks"])
        if not reader.is_whole(row, "callbacks"):
            named = {id for id in found if id in named or reader.awaited_of(id, [row["id"]])}
        for id in named:
            found[id].append(row["id"])
    return found


def _pending_rows(reader: StoreReader) -> Iterable[Mapping[str, Any]]:
    """Return visible pending rows: of a prefix, the first ones by id; of a whole store that is not large, all."""
    if reader.prefix:
        found = reader.send("promise.search", {"state": "pending", "limit": _MOST_OWN})["promises"]
        return list(reader.rows([one["id"] for one in found]).values())
    return () if is_large(reader.store) else [row for row in reader.store.snapshot()["promises"] if row["state"] == "pending"]


def leases_in(reader: StoreReader, queue: str) -> list[dict[str, Any]]:
    """Return visible leases on jobs of a queue, at most 200: `id`, `pid`, `expiresAt`, the first to expire first."""
    found = [
        {"id": job["id"], "pid": job.get("claimedBy"), "expiresAt": job.get("leaseUntil", NEVER)}
        for job in jobs_in(reader, queue, ("claimed", "running"), 200)
    ]
    return sorted(found, key=lambda one: (one["expiresAt"], one["id"]))


def jobs_in(reader: StoreReader, queue: str, states: Sequence[JobState], most: int) -> list[dict[str, Any]]:
    """Return the visible jobs of a queue in these states, newest first.

    If they are few, this reads no others. `job.search` by a state without an index by id examines every job of the store.
    """
    found = reader.store.views.jobs(queue=queue, states=list(states), limit=most, prefix=reader.prefix)
    return [job.to_dict() for job in found]


def put_back_of(reader: StoreReader) -> list[PutBack]:
    """Return the visible jobs that were put back because their type has no handler, of those that are due next."""
    return put_back_in(reader.store, lambda ids: reader.find_all("job", ids).values(), reader.prefix)


def waiting_in(reader: StoreReader, queue: str) -> int:
    """Return the number of pending jobs of a queue."""
    status, data = reader.ask("job.stats", {"queue": queue})
    return data["queues"][0]["counts"]["pending"] if status == 200 and data["queues"] else 0


def queue_row(reader: StoreReader, queue: str) -> Mapping[str, Any] | None:
    """Return a queue as on the wire, with the level of its rate where the store shows it; None if it does not exist."""
    status, data = reader.ask("queue.get", {"queue": queue})
    if status != 200:
        return None
    level = reader.level_of(queue) if "rate" in data["queue"] else {}
    return {**data["queue"], **level}


def batch_ready_at(reader: StoreReader, job: Mapping[str, Any]) -> int | None:
    """Return when the batch that a job gathers with is ready; None if that is not known."""
    query = {"queue": job["queue"], "type": job["type"], "group": job["group"], "state": "scheduled", "limit": 1000}
    members = [one["id"] for one in reader.send("job.search", query)["jobs"] if one.get("batch") == job.get("batch")]
    due = [row["task"]["retryAt"] for row in reader.rows(members).values() if row["task"].get("retryAt", NEVER) != NEVER]
    return min(due, default=None)
