"""The options of tasks and of jobs, by name: a misspelt one is an error in an editor, and at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from .._core import wire_fields
from ..calls.graph_nodes import After
from ..calls.values import Duration

__all__ = ["OF_ONE_JOB", "OPTIONS", "JobOptions", "JobsOptions", "PeriodicOptions", "TaskOptions"]


class TaskOptions(TypedDict, total=False):
    """Options of all jobs of a task; None is as if left out. Durations are ms or a timedelta.

    Example:
        >>> from resonate_core.worker import TaskOptions
        >>> options: TaskOptions = {"queue": "mail", "max_retries": 3}
    """

    queue: str | None
    priority: int | None
    timeout: Duration | None
    max_retries: int | None
    retry_policy: Mapping[str, Any] | None
    on_exhausted: Literal["archived", "failed"] | None
    retention: Duration | Literal["kept"] | None
    lifecycle: Literal["asynq", "horsies", "workflow"] | None
    headers: Mapping[str, str] | None
    tags: Mapping[str, str] | None
    unique_for: Duration | None
    good_for: Duration | None
    group: str | None
    cancel_with_awaiters: bool | None


class PeriodicOptions(TaskOptions, total=False):
    """Options of the jobs of a periodic job, over those of its task."""

    unique_key: str | None


class JobsOptions(PeriodicOptions, total=False):
    """Options of jobs that are enqueued together. Instants are Unix ms."""

    ids: Sequence[str] | None
    process_at: int | None
    process_in: Duration | None
    good_until: int | None
    deadline: int | None
    sent_at: int | None
    after: After | None
    after_failed: Literal["cancel", "run"] | None


class JobOptions(PeriodicOptions, total=False):
    """Options of one job, over those of its task. Instants are Unix ms.

    Example:
        >>> from resonate_core.worker import JobOptions
        >>> options: JobOptions = {"id": "welcome-ann", "process_in": 60_000}
    """

    id: str | None
    process_at: int | None
    process_in: Duration | None
    good_until: int | None
    deadline: int | None
    sent_at: int | None
    after: After | None
    after_failed: Literal["cancel", "run"] | None


#: The options that only a single job may have.
OF_ONE_JOB = frozenset(
    {"id", "ids", "process_at", "process_in", "good_until", "deadline", "unique_key", "sent_at", "after", "after_failed"}
)
_OPTIONS_OF_JOBS = {str(member["argument"]) for member in wire_fields()["job.enqueue"]} - {"type", "payload"}
#: The options of a job that a task may have for all of its jobs (JOBS 2).
OPTIONS = frozenset(_OPTIONS_OF_JOBS | {"headers"}) - OF_ONE_JOB
