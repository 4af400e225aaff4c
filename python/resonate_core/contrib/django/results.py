"""Jobs of the store as results of Django's tasks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.module_loading import import_string

from resonate_core import Job, Value
from resonate_core.errors import Invalid
from resonate_core.worker import JobRecord

from ...base.log_lines import escape_lines
from .framework import InvalidTask, Task, TaskError, TaskResult, TaskResultStatus
from .instants import to_datetime

__all__ = [
    "BACKEND_TAG",
    "PRIORITY_TAG",
    "UNREADABLE",
    "arguments_of",
    "arguments_of_payload",
    "exception_path",
    "result_of",
    "status_of",
    "task_of",
]

_log = logging.getLogger("resonate_core.django")
escape_lines(_log.name)

#: The tags of a job: the alias of the backend that enqueued it, and its priority as Django has it.
BACKEND_TAG = "django:backend"
PRIORITY_TAG = "django:priority"

#: A payload that is not one of a task.
UNREADABLE = 'the payload of a task must be {"args": [...], "kwargs": {...}}'

_STATUS = {
    "scheduled": TaskResultStatus.READY,
    "waiting": TaskResultStatus.READY,
    "pending": TaskResultStatus.READY,
    "claimed": TaskResultStatus.READY,
    "retry": TaskResultStatus.READY,
    "running": TaskResultStatus.RUNNING,
    "completed": TaskResultStatus.SUCCESSFUL,
    "archived": TaskResultStatus.FAILED,
    "failed": TaskResultStatus.FAILED,
    "cancelled": TaskResultStatus.FAILED,
    "expired": TaskResultStatus.FAILED,
}
#: Classes for the codes of errors that no exception of a task has caused.
_CLASSES = {
    "Cancelled": "resonate_core.worker.JobCancelled",
    "TaskTimeout": "builtins.TimeoutError",
    "DeadlineExceeded": "builtins.TimeoutError",
    "TaskExpired": "builtins.TimeoutError",
}
_OTHER_CLASS = "resonate_core.worker.JobError"


def status_of(job: Job | JobRecord) -> TaskResultStatus:
    """Django's status of a job: four for the eleven states."""
    return _STATUS[job.state]


def task_of(path: str) -> Task | None:
    """The task with this import path, which is the type of its jobs; None: there is none (any more)."""
    try:
        found = import_string(path)
    except ImportError:
        return None
    return found if isinstance(found, Task) else None


def arguments_of(job: Job | JobRecord) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a task.

    Raises:
        ValueError: The payload is not one of a task.
    """
    return arguments_of_payload(job.payload)


def arguments_of_payload(value: Value) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a task, from the payload of its job.

    Raises:
        ValueError: The payload is not one of a task.
    """
    try:
        payload = value.json()
    except Invalid as error:
        raise ValueError(f"{UNREADABLE}: {error}") from error
    payload = {} if payload is None else payload
    if not isinstance(payload, dict) or payload.keys() - {"args", "kwargs"}:
        raise ValueError(f"{UNREADABLE}, got {payload!r:.200}")
    args, kwargs = payload.get("args", []), payload.get("kwargs", {})
    if not isinstance(args, list) or not isinstance(kwargs, dict):
        raise ValueError(f"{UNREADABLE}, got {payload!r:.200}")
    return args, kwargs


def exception_path(code: str) -> str:
    """The import path of the exception for a code: tasks' own exceptions have their path as code."""
    return code if "." in code else _CLASSES.get(code, _OTHER_CLASS)


def _task_error(error: Mapping[str, str]) -> TaskError:
    summary = f"{error['code']}: {error['message']}" if error.get("message") else error["code"]
    return TaskError(exception_class_path=exception_path(error["code"]), traceback=error.get("data") or summary)


def _errors(job: Job | JobRecord) -> Iterator[TaskError]:
    """The error of each attempt, and one that ended the job without an attempt, such as its cancellation."""
    last = None
    for attempt in job.attempts:
        if "error" in attempt:
            last = attempt["error"]
            yield _task_error(last)
    if job.error is not None and job.error != last and status_of(job) == TaskResultStatus.FAILED:
        yield _task_error(job.error)


def _as_enqueued(task: Task, job: Job | JobRecord, alias: str) -> Task:
    """The task with the options that this job was enqueued with."""
    priority = job.tags.get(PRIORITY_TAG)
    try:
        return task.using(
            priority=None if priority is None else int(priority),
            queue_name=job.queue,
            run_after=to_datetime(job.process_at),
            backend=alias,
        )
    except (InvalidTask, ValueError):  # the settings have changed since, or someone else set the tag
        _log.debug("job %r is shown with the present options of its task", job.id, exc_info=True)
        return task


def result_of(job: Job | JobRecord, alias: str) -> TaskResult | None:
    """Return the result of a job.

    Args:
        job: The job.
        alias: Of the backend.

    Returns:
        The result; None if the job is not one of a task, or is another backend's.
    """
    task = task_of(job.type) if job.tags.get(BACKEND_TAG, alias) == alias else None
    if task is None:
        return None
    try:
        args, kwargs = arguments_of(job)
    except ValueError:
        return None
    attempts = job.attempts
    finished = next((at for at in (job.completed_at, job.failed_at, job.cancelled_at, job.expired_at) if at is not None), None)
    status = status_of(job)
    over = status in (TaskResultStatus.SUCCESSFUL, TaskResultStatus.FAILED)
    result = TaskResult(
        task=_as_enqueued(task, job, alias),
        id=job.id,
        status=status,
        enqueued_at=to_datetime(job.sent_at),
        started_at=to_datetime(attempts[0]["startedAt"] if attempts else None),
        finished_at=to_datetime(finished) if over else None,
        last_attempted_at=to_datetime(attempts[-1]["startedAt"] if attempts else None),
        args=args,
        kwargs=kwargs,
        backend=alias,
        errors=list(_errors(job)),
        worker_ids=[attempt["worker"] for attempt in attempts],
    )
    if status == TaskResultStatus.SUCCESSFUL:
        object.__setattr__(result, "_return_value", job.result.json())
    return result
