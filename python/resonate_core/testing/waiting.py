"""Why a promise is still pending, for messages of assertions."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._core import Promise, Store
from ..errors import NotFound
from ..notebook.html import LATEST_DATE, instant_text
from .differences import cut

if TYPE_CHECKING:
    from ..client import Client

__all__ = ["holder_text", "paths_between", "rows_of", "why_pending"]

Row = Mapping[str, Any]


def rows_of(store: Store[Any]) -> dict[str, Row]:
    """Return the rows of a snapshot by id."""
    return {row["id"]: row for row in store.snapshot()["promises"]}


def holder_text(task: Row) -> str:
    """Return the state of a task of a snapshot, its holder and its lease."""
    held = f" by {task['pid']!r}" if task.get("pid") else ""
    until = f", until {instant_text(task['expiresAt'])}" if "expiresAt" in task else ""
    return f"{task['state']}{held}, version {task['acquisitions']}{until}"


def why_pending(store: Store[Any] | Client, promise: Promise) -> list[str]:
    """Return lines that say what a pending promise waits for.

    Args:
        store: A `Store`; of a client, what a task awaits is not known.
        promise: A pending promise.
    """
    rows = rows_of(store) if isinstance(store, Store) else {}
    lines = _job(store, promise.id) or _task(store, rows, promise.id)
    awaited = [f"it waits for {row['id']!r}, which is {row['state']}" for row in rows.values() if promise.id in row["callbacks"]]
    endless = promise.timeout_at > LATEST_DATE
    deadline = "it has no deadline" if endless else f"its deadline is {instant_text(promise.timeout_at)}"
    now = f", the clock is at {instant_text(store.now)}" if isinstance(store, Store) else ""
    return [*lines, *cut(awaited), deadline + now]


def _task(store: Store[Any] | Client, rows: Mapping[str, Row], id: str) -> list[str]:
    if id in rows:
        task = rows[id].get("task")
        return ["it has no task: a program must settle it"] if task is None else [f"its task is {holder_text(task)}"]
    try:
        found = store.tasks.get(id)
    except NotFound:
        return ["it has no task: a program must settle it"]
    held = f" by {found.pid!r}" if found.pid else ""
    return [f"its task is {found.state}{held}, version {found.version}"]


def _job(store: Store[Any] | Client, id: str) -> list[str]:
    try:
        job = store.jobs.get(id)
    except NotFound:
        return []
    times = {
        "process_at": job.process_at if job.state == "scheduled" else None,
        "next_retry_at": job.next_retry_at,
        "lease_until": job.lease_until,
    }
    shown = "".join(f", {name} {instant_text(at)}" for name, at in times.items() if at is not None)
    held = f" by {job.claimed_by!r}" if job.claimed_by else ""
    lines = [f"it is a job of type {job.type!r} in queue {job.queue!r}: {job.state}{held}{shown}"]
    if job.attempts:
        last = job.attempts[-1]
        lines.append(f"its attempt {last['number']} of {job.max_retries + 1} at most: {last.get('outcome', 'under way')}")
    elif job.state == "pending" and not job.claimed_by:
        lines.append(f"no worker has claimed it: does one work on queue {job.queue!r}?")
    if job.error:
        lines.append(f"its last error is {job.error.get('code')}: {job.error.get('message', '')}")
    return lines


def paths_between(rows: Mapping[str, Row], waiting: str, awaited: str) -> list[str]:
    """Return the ids on the shortest chain of tasks that await each other, from one to the other; empty if there is none."""
    awaits: dict[str, list[str]] = {}
    for row in rows.values():
        for awaiter in row["callbacks"]:
            awaits.setdefault(awaiter, []).append(row["id"])
    ways: deque[list[str]] = deque([[waiting]])
    seen = {waiting}
    while ways:
        way = ways.popleft()
        if way[-1] == awaited:
            return way
        for following in awaits.get(way[-1], []):
            if following not in seen:
                seen.add(following)
                ways.append([*way, following])
    return []
