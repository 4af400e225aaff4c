"""The states of promises, tasks and jobs, and what follows from them (PROTOCOL 2, JOBS 2 and 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from .._core import JobState, PromiseState, TaskState, job_states_before
from .instants import NEVER

__all__ = [
    "ENDED_AT",
    "JOB_ENDS",
    "JOB_STATES",
    "ONE_OR_MANY",
    "PROMISE_STATES",
    "STATES_BEFORE",
    "TASK_STATES",
    "UNFINISHED",
    "ended_at",
    "expires_at",
    "next_at",
]

PROMISE_STATES: tuple[PromiseState, ...] = get_args(PromiseState)
TASK_STATES: tuple[TaskState, ...] = get_args(TaskState)
#: In the order of a job's life.
JOB_STATES: tuple[JobState, ...] = get_args(JobState)
#: The final state of a job, by the state of its settled promise.
JOB_ENDS = {"resolved": "completed", "rejected": "failed", "rejected_timedout": "failed", "rejected_canceled": "cancelled"}
#: The states in which `job.run`, `job.cancel`, `job.archive` and `job.delete` apply, and those in which a job can `expire`.
STATES_BEFORE = job_states_before()
#: The requests on one job by its id, or on all jobs that match.
ONE_OR_MANY = frozenset(kind for kind in STATES_BEFORE if kind.startswith("job."))
#: The states of a job that has not ended.
UNFINISHED = STATES_BEFORE["job.cancel"]
#: The member of a record with the instant at which a job ended, by its final state.
ENDED_AT = {"completed": "completedAt", "failed": "failedAt", "cancelled": "cancelledAt", "expired": "expiredAt"}
_STOPPED_AT = {**ENDED_AT, "archived": "failedAt"}
_NEXT_AT = {"scheduled": "processAt", "retry": "nextRetryAt", "claimed": "leaseUntil", "running": "leaseUntil"}


def next_at(job: Mapping[str, Any]) -> int | None:
    """Return when a job moves by itself, in Unix ms: it is due, is retried, or its lease expires; None if nothing is set.

    Args:
        job: As on the wire.

    Example:
        >>> from resonate_core.base.states import next_at
        >>> next_at({"state": "retry", "nextRetryAt": 5000}), next_at({"state": "pending"})
        (5000, None)
    """
    return job.get(_NEXT_AT.get(job["state"], ""))


def expires_at(job: Mapping[str, Any], state: str) -> int:
    """Return when a job in this state expires unless it starts, in Unix ms; `NEVER` if it does not: it has started once.

    Args:
        job: As on the wire.
        state: The state, which may be a later one than the record's.

    Example:
        >>> from resonate_core.base.states import expires_at
        >>> expires_at({"goodUntil": 5000}, "pending")
        5000
    """
    if state not in STATES_BEFORE["expire"] or job.get("attempts"):
        return NEVER
    found: int = job.get("goodUntil", NEVER)
    return found


def ended_at(job: Mapping[str, Any]) -> int | None:
    """Return when a job ended or was archived, in Unix ms; None if it continues.

    Args:
        job: As on the wire.

    Example:
        >>> from resonate_core.base.states import ended_at
        >>> ended_at({"state": "completed", "completedAt": 7}), ended_at({"state": "running"})
        (7, None)
    """
    return job.get(_STOPPED_AT.get(job["state"], ""))
