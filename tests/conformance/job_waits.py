"""Jobs that wait, for tests: promises for which they wait, and what the store keeps of it."""

from __future__ import annotations

from typing import Any

from conformance.job_wire import JobClient
from conformance.wire import stored

OPEN = {"resonate:external": "true"}
"""The tags of a promise that may be awaited under both rule sets."""

HOW = {"rejected": "was rejected", "rejected_canceled": "was cancelled", "rejected_timedout": "timed out"}
"""What the error of a job says about an awaited promise that is not resolved."""


def sound(client: JobClient) -> None:
    """Holds the store to its invariants."""
    violations = client.store.check()
    assert violations == [], violations


def gates(client: JobClient, *ids: str, now: int = 0, **data: Any) -> None:
    """Creates promises without a job."""
    for id in ids:
        client.create(id, now=now, tags=OPEN, **data).must()


def end(client: JobClient, id: str, state: str, now: int) -> None:
    """Settles a promise; `rejected_timedout`: its deadline, which must be this instant, is reached."""
    if state == "rejected_timedout":
        client.store.tick(now)
    else:
        client.settle(id, state, now=now).must()


def after(client: JobClient, *awaited: str, id: str = "j", now: int = 1, **data: Any) -> dict[str, Any]:
    """Enqueues a job with `after`; returns its record."""
    record: dict[str, Any] = client.enqueue(id, now=now, after=list(awaited), **data).must()["job"]
    return record


def suspended(client: JobClient, *awaited: str, id: str = "j", now: int = 1, until: str | None = None, **data: Any) -> int:
    """Enqueues a job, runs it and suspends it; returns its version."""
    client.enqueue(id, now=now, **data).must()
    version = client.run_one(id, now=now)
    client.wait_for(*awaited, id=id, version=version, now=now, **({} if until is None else {"until": until})).must()
    return version


def complete(client: JobClient, id: str, now: int, **data: Any) -> None:
    """Runs a pending job, which must be the next one of its queue, and completes it."""
    client.complete(id, client.run_one(id, now=now), now=now, **data).must()


def awaits(client: JobClient, id: str = "j") -> list[str]:
    """The ids that a job lacks, as they are stored."""
    return list(stored(client.store, id)["job"].get("awaits", []))


def callbacks(client: JobClient, id: str) -> list[str]:
    """The awaiters that are registered on a promise."""
    return list(stored(client.store, id)["callbacks"])


def kept_by(client: JobClient, id: str) -> list[str]:
    """The jobs that keep a settled job."""
    return list(stored(client.store, id).get("keptBy", []))


def task_of(client: JobClient, id: str = "j") -> tuple[str, int]:
    """The stored state of a job's task, and how often it was acquired."""
    task = stored(client.store, id)["task"]
    return task["state"], task["acquisitions"]
