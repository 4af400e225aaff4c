"""Groups of jobs for tests: enqueue jobs into a group, list the gathering groups of a store and the batches that became ready."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.job_wire import JobClient

GROUP = "news"


def batch(number: int) -> str:
    """The id of the batch that got this number; a store numbers batches and jobs without an id with one counter."""
    return f"batch:{number:016x}"


def join(client: JobClient, id: str | None, now: int | None = None, **data: Any) -> dict[str, Any]:
    """Enqueues a job of the group and returns its record."""
    record: dict[str, Any] = client.enqueue(id, now, **{"group": GROUP, **data}).must()["job"]
    return record


def join_at(client: JobClient, *joins: tuple[str, int], **data: Any) -> None:
    """Enqueues each job of the group at its instant, after the steps that are due by then."""
    for id, at in joins:
        client.store.clock.advance_to(at)
        join(client, id, **data)


@dataclass(frozen=True)
class GatheringGroup:
    """A gathering group, as stored."""

    leader: str
    batch: str
    first_at: int
    last_at: int
    ready_at: int
    members: tuple[str, ...]


def gathering_groups(store: Any) -> list[GatheringGroup]:
    """All gathering groups, in order of the ids of their leaders. Checks the stored number of members of each."""
    rows = [row for row in store.snapshot()["promises"] if row.get("job", {}).get("gathering")]
    found = []
    for row in rows:
        job = row["job"]
        if "flight" not in job:
            continue
        members = tuple(sorted(other["id"] for other in rows if other["job"]["batch"] == job["batch"]))
        flight = job["flight"]
        assert flight["count"] == len(members), (flight, members)
        found.append(GatheringGroup(row["id"], job["batch"], flight["firstAt"], flight["lastAt"], row["task"]["retryAt"], members))
    assert sorted(id for flight in found for id in flight.members) == sorted(row["id"] for row in rows)
    return found


def ready_batches(client: JobClient, **filter: Any) -> list[tuple[int, str]]:
    """The pending jobs that became ready together, as (instant, ids), in order of their batches."""
    together: dict[str, list[dict[str, Any]]] = {}
    for job in client.send("job.search", {"state": "pending", "limit": 1000, **filter}).must()["jobs"]:
        together.setdefault(job["batch"], []).append(job)
    found = []
    for _, jobs in sorted(together.items()):
        (at,) = {job["enqueuedAt"] for job in jobs}
        found.append((at, " ".join(job["id"] for job in jobs)))
    return found


def enqueue_batch(client: JobClient, *ids: str, now: int | None = None, **data: Any) -> str:
    """Enqueues jobs of one group that become ready together at once; returns the id of their batch."""
    client.queue("set", data.get("queue", "mail"), groups={"size": len(ids)})
    for id in ids:
        record = join(client, id, now, **data)
    assert [client.job(id)["state"] for id in ids] == ["pending"] * len(ids)
    name: str = record["batch"]
    return name
