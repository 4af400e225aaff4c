"""Declare tasks, with the options of jobs that Django's tasks do not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any, Literal

from resonate_core.calls.graph_nodes import After, Node, ids_of

from .framework import Task, task_backends

__all__ = ["JOB_OPTIONS", "ResonateTask", "task"]


@dataclass(frozen=True, kw_only=True)
class ResonateTask(Task):
    """A task of a `ResonateBackend`: `@task(max_retries=5)`, or for one call `mail.using(max_retries=5).enqueue(...)`.

    An option that is None has the value of ``OPTIONS["JOB"]`` in the settings, or else of the queue. With Django 6.1 its own
    decorator takes these options, too; the one of this package takes them with every version of Django.

    Attributes:
        max_retries: How often an attempt that failed is repeated.
        retry_policy: The delays before the retries, as of `store.jobs.enqueue`.
        retry_on: The exceptions that are retried; None: all.
        timeout: The longest duration of one attempt.
        retention: How long the result is kept after the task succeeded; "kept": until it is pruned.
        good_for: The task fails if its first attempt has not started this long after it could first run.
        after: What must have succeeded before the task can run: ids, or results of tasks (also of those that the same transaction
            has enqueued), one or several. Its function reads their return values by ``current_job().dependencies[id]``.
        after_failed: "cancel": the task is cancelled if one of these fails (default); "run": it runs once all have ended.
        on_exhausted: "archived": a person can run it again; "failed": its failure is final.
        result_id: The id of the result; None: a new one. If the same task was enqueued under this id before, that one is meant; a pending
            promise with this id becomes the task's, so that a workflow can await it.
    """

    max_retries: int | None = None
    retry_policy: Mapping[str, Any] | None = field(default=None, hash=False)
    retry_on: tuple[type[BaseException], ...] | type[BaseException] | None = None
    timeout: int | timedelta | None = None
    retention: int | timedelta | Literal["kept"] | None = None
    good_for: int | timedelta | None = None
    on_exhausted: Literal["archived", "failed"] | None = None
    after: After | None = field(default=None, hash=False)
    after_failed: Literal["cancel", "run"] | None = None
    result_id: str | None = None

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

    def node(self, *args: Any, **kwargs: Any) -> Node:
        """Return a call of the task for a `TaskGraph`.

        Args:
            args: Values that JSON can hold.
            kwargs: Likewise.

        Raises:
            InvalidTask: The task cannot run.
        """
        return Node(self, {"args": list(args), "kwargs": kwargs})

    def order(self, payload: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the data of a `job.enqueue` for the task, which is not sent.

        Args:
            payload: ``{"args": [...], "kwargs": {...}}``, or None.
            options: None: those of a task are given by `using`.

        Raises:
            InvalidTask: The task cannot run.
            TypeError: There are options, or an argument cannot be stored as JSON.
        """
        if options:
            raise TypeError(f"options of a task must be given by using(), got {', '.join(options)}")
        given = payload or {}
        data: dict[str, Any] = task_backends[self.backend].order(
            self, given.get("args", ()), given.get("kwargs", {}), self.result_id
        )
        return data

    @property
    def job_options(self) -> dict[str, Any]:
        """The options that `store.jobs.enqueue` gets."""
        names = JOB_OPTIONS | OF_ONE_TASK
        options = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.after is not None:
            options["after"] = ids_of(self.after)
        return options


#: The options of jobs that one task may have, and not all tasks of a backend.
OF_ONE_TASK = frozenset({"after", "after_failed"})
#: The attributes that are options of jobs, under the same names.
JOB_OPTIONS = frozenset(
    {each.name for each in fields(ResonateTask)} - {each.name for each in fields(Task)} - {"retry_on", "result_id"} - OF_ONE_TASK
)

#: What Django's own decorator passes: in 6.0 these members of a task have no defaults.
_DEFAULTS: Mapping[str, Any] = {"priority": 0, "queue_name": "default", "run_after": None, "takes_context": False}


def task(function: Callable[..., Any] | None = None, /, *, backend: str = "default", **options: Any) -> Any:
    """Declare a function of a module as a task; a decorator, with or without arguments.

    Args:
        function: The function; it may be asynchronous.
        backend: The name of the backend in TASKS, which must be one of this package.
        options: priority, queue_name, takes_context, and the attributes of `ResonateTask`.

    Returns:
        The task: ``mail.enqueue(7)`` enqueues a call, ``mail.func(7)`` calls the function.

    Raises:
        TypeError: There is no such option.
        InvalidTask: The backend refuses the function or an option.
    """

    def declare(function: Callable[..., Any]) -> Any:
        return task_backends[backend].task_class(func=function, backend=backend, **{**_DEFAULTS, **options})

    return declare if function is None else declare(function)
