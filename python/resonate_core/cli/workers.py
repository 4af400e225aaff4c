"""``resonate-core workers``: the leases of each worker, and when they end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from resonate_core.base.first_few import first_few
from resonate_core.base.instants import counted
from resonate_core.cli.command import Session
from resonate_core.cli.jobs_table import Column, fitted, text
from resonate_core.cli.show import length, say
from resonate_core.cli.target import FileTarget, Target
from resonate_core.cli.values import now

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Holder", "holders", "workers"]

_HELD = ("claimed", "running")
_NAMES = ("worker", "jobs", "tasks", "oldestAt", "leaseUntil", "heartbeatAt", "state", "ids")
_SHOWN_IDS = 3


@dataclass
class Holder:
    """One worker.

    Attributes:
        name: As it names itself.
        jobs: The number of jobs that it holds.
        tasks: The number of tasks.
        since: When it began the oldest of them, in Unix ms; None if that is not known.
        until: When the first of its leases ends; None if that is not known.
        heartbeat_at: When it renewed a lease last, as far as that is known.
        ids: The ids of the held jobs and tasks.
    """

    name: str
    jobs: int = 0
    tasks: int = 0
    since: int | None = None
    until: int | None = None
    heartbeat_at: int | None = None
    ids: list[str] = field(default_factory=list)

    def add(self, id: str, *, is_job: bool, since: int | None, until: int | None, heartbeat_at: int | None) -> None:
        """Add what the worker holds."""
        self.ids.append(id)
        self.jobs += is_job
        self.tasks += not is_job
        self.since = min((at for at in (self.since, since) if at is not None), default=None)
        self.until = min((at for at in (self.until, until) if at is not None), default=None)
        self.heartbeat_at = max((at for at in (self.heartbeat_at, heartbeat_at) if at is not None), default=None)

    def state(self, at: int) -> str:
        """`late` if one of its leases has expired, else `fresh`; empty if no lease is known."""
        return "" if self.until is None else "late" if self.until <= at else "fresh"

    def document(self, at: int) -> dict[str, Any]:
        """Its members in JSON."""
        return {
            "worker": self.name,
            "jobs": self.jobs,
            "tasks": self.tasks,
            "oldestAt": self.since,
            "leaseUntil": self.until,
            "heartbeatAt": self.heartbeat_at,
            "state": self.state(at) or None,
            "ids": self.ids,
        }


def holders(target: Target) -> list[Holder]:
    """Return the workers that hold jobs or tasks, by name.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from resonate_core.cli.target import Access, FileTarget
        >>> from resonate_core.cli.workers import holders
        >>> with TemporaryDirectory() as folder, FileTarget(Path(folder, "a.db"), Access.MAKE) as target:
        ...     _ = target.store.jobs.enqueue("t", id="a")
        ...     _ = target.store.jobs.claim("default", worker="ann", lease=60_000)
        ...     [(holder.name, holder.jobs, holder.ids) for holder in holders(target)]
        [('ann', 1, ['a'])]
    """
    found: dict[str, Holder] = {}
    if isinstance(target, FileTarget):
        for lease in target.store.views.leases(10_000)["items"]:
            holder = found.setdefault(lease["pid"], Holder(lease["pid"]))
            since = lease.get("startedAt", lease["heartbeatAt"])
            times = {"since": since, "until": lease["expiresAt"], "heartbeat_at": lease["heartbeatAt"]}
            holder.add(lease["id"], is_job=lease["kind"] == "job", **times)
        return sorted(found.values(), key=lambda holder: holder.name)
    for state in _HELD:
        for job in target.pages("job.search", "jobs", {"state": state, "limit": 1000}):
            holder = found.setdefault(job["claimedBy"], Holder(job["claimedBy"]))
            since = job.get("startedAt", job.get("claimedAt"))
            holder.add(job["id"], is_job=True, since=since, until=job.get("leaseUntil"), heartbeat_at=None)
    for task in target.pages("task.search", "tasks", {"state": "acquired", "limit": 1000}):
        holder = found.setdefault(task["pid"], Holder(task["pid"]))
        if task["id"] in holder.ids:
            continue  # a job, which is a task too
        holder.add(task["id"], is_job=False, since=None, until=None, heartbeat_at=None)
    return sorted(found.values(), key=lambda holder: holder.name)


def workers(session: Session) -> None:
    """List the workers that hold jobs or tasks: the number of leases, since when, and when the first one ends.

    A worker that holds nothing is not known to the store.
    """
    found, at = holders(session.target), now()
    if session.out.as_json:
        session.out.json({"workers": [holder.document(at) for holder in found]})
    elif session.out.is_rich:
        if found:
            session.out.draw(_table(found, at, session.out.console.width))
        say(counted(len(found), "worker"))
    else:
        rows = [list(holder.document(at).values()) for holder in found]
        session.out.table(_NAMES, [[*row[:-1], " ".join(row[-1])] for row in rows])


def _table(found: Sequence[Holder], at: int, width: int) -> Any:
    def lease(holder: Holder) -> Text:
        if holder.until is None:
            return text("")
        left = holder.until - at
        return text(f"in {length(left)}") if left > 0 else text(f"ran out {length(-left)} ago", "red")

    def ago(instant: int | None) -> Text:
        return text("" if instant is None else f"{length(max(at - instant, 0))} ago")

    def ids(holder: Holder) -> Text:
        return text(first_few(holder.ids, _SHOWN_IDS))

    columns = [
        Column("worker", lambda holder: text(holder.name, "bold")),
        Column("jobs", lambda holder: text(holder.jobs or "·"), right=True),
        Column("tasks", lambda holder: text(holder.tasks or "·"), right=True),
        Column("oldest", lambda holder: ago(holder.since), spared=2, always=False),
        Column("heartbeat", lambda holder: ago(holder.heartbeat_at), spared=1, always=False),
        Column("first lease ends", lease),
        Column("holds", ids, elastic=True),
    ]
    return fitted(columns, found, width)
