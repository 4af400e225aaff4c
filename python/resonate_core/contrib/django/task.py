"""Tasks with the options of jobs that Django's tasks do not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any, Literal

from .framework import Task

__all__ = ["JOB_OPTIONS", "ResonateTask"]


@dataclass(frozen=True, kw_only=True)
class ResonateTask(Task):
    """A task of a `ResonateBackend`: `@task(max_retries=5)`, or for one call `mail.using(max_retries=5).enqueue(...)`.

    An option that is None has the value of ``OPTIONS["JOB"]`` in the settings, or else of the queue.

    Attributes:
        max_retries: How often an attempt that failed is repeated.
        retry_policy: The delays before the retries, as of `store.jobs.enqueue`.
        retry_on: The exceptions that are retried; None: all.
        timeout: The longest duration of one attempt.
        retention: How long the result is kept after the task succeeded; "kept": until it is pruned.
        good_for: The task fails if it has not started this long after it could first run.
        on_exhausted: "archived": a person can run it again; "failed": its failure is final.
    """

    max_retries: int | None = None
    retry_policy: Mapping[str, Any] | None = field(default=None, hash=False)
    retry_on: tuple[type[BaseException], ...] | type[BaseException] | None = None
    timeout: int | timedelta | None = None
    retention: int | timedelta | Literal["kept"] | None = None
    good_for: int | timedelta | None = None
    on_exhausted: Literal["archived", "failed"] | None = None

    def using(self, **changes: Any) -> ResonateTask:
        """Return the task with other options; None leaves one as it is.

        Args:
            changes: priority, queue_name, run_after, backend, and the attributes of this class.

        Raises:
            TypeError: There is no such option.
            InvalidTask: The backend refuses it.
        """
        known = {each.name for each in fields(self)} - {"func", "takes_context"}
        unknown = changes.keys() - known
        if unknown:
            raise TypeError(f"a task has no option {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
        return replace(self, **{name: value for name, value in changes.items() if value is not None})

    @property
    def job_options(self) -> dict[str, Any]:
        """The options that `store.jobs.enqueue` gets."""
        return {name: value for name in JOB_OPTIONS if (value := getattr(self, name)) is not None}


#: The attributes that are options of jobs, under the same names.
JOB_OPTIONS = frozenset({each.name for each in fields(ResonateTask)} - {each.name for each in fields(Task)} - {"retry_on"})
