"""The handlers of a worker for tasks of Django: found by the import path that is the type of a job."""

from __future__ import annotations

import contextlib
import inspect
import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from asgiref.sync import async_to_sync
from django.apps import apps
from django.utils.module_loading import autodiscover_modules

from resonate_core._core import Jobs
from resonate_core.calls.made import data_of
from resonate_core.errors import Invalid
from resonate_core.worker import JobCancelled, JobContext, JobError, Snooze, Worker, WorkerTask
from resonate_core.worker.environment import WorkerStore
from resonate_core.worker.groups import is_retried, members
from resonate_core.worker.outcomes import as_text, decisive, unstorable
from resonate_core.worker.tracebacks import described, traced

from ...base.log_lines import escape_lines
from .backend import ResonateBackend
from .connections import between_requests
from .framework import Task, TaskContext, TaskError, TaskResult, TaskResultStatus, normalize_json, task_finished, task_started
from .instants import to_datetime
from .results import UNREADABLE, exception_path, result_of, task_of
from .workflows import workflows_of

__all__ = ["Handlers", "make_worker"]

_log = logging.getLogger("resonate_core.django")
escape_lines(_log.name)


class Handlers(dict[str, WorkerTask[Any, Any]]):
    """The handlers of a worker by type; a task that is not among them yet is imported.

    Args:
        worker: The worker.
        backend: The backend whose tasks it runs.
    """

    def __init__(self, worker: Worker, backend: ResonateBackend) -> None:
        super().__init__(worker.tasks)
        self._worker = worker
        self._backend = backend

    def get(self, type: str, default: Any = None) -> Any:
        """The handler of a type; a job whose type is no task is put back for another worker."""
        found = super().get(type)
        if found is not None:
            return found
        try:
            task = task_of(type)
        except Exception:  # the module itself raised
            _log.exception("task %r cannot be imported", type)
            return default
        if task is None:
            return default
        made = WorkerTask(self._worker, type, _handler(task, self._backend), retry_on=_retries(task), options={})
        self[type] = made
        return made

    def discover(self) -> None:
        """Import the modules `tasks` and `workflows` of the installed apps, as the admin does with `admin`, and register what they have.

        Raises:
            Exception: A module raises this when it is imported.
        """
        autodiscover_modules("tasks", "workflows")
        self.update(workflows_of(self._backend.alias))
        for app in apps.get_app_configs():
            module = sys.modules.get(f"{app.name}.tasks")
            for value in list(vars(module).values()) if module is not None else []:
                if isinstance(value, Task) and value.backend == self._backend.alias:
                    self.get(value.module_path)


def make_worker(backend: ResonateBackend, store: WorkerStore | None = None, **options: Any) -> Worker:
    """Make a worker for the tasks and the workflows of a backend.

    Args:
        backend: The backend.
        store: What stands for its store; None: that of this process.
        options: Of `resonate_core.worker.Worker`, over WORKER of the settings; `queues` are those of the backend by default.

    Raises:
        Invalid: An option out of its range.
    """
    named = {"queues": sorted(backend.queues) or "default", **backend.settings.worker, **options}
    worker = Worker(backend.store if store is None else store, **named)
    handlers = Handlers(worker, backend)
    handlers.discover()
    worker.tasks = handlers

    def around(context: JobContext) -> contextlib.AbstractContextManager[None]:
        """What a `def` workflow uses in its thread is tidied; a task does that itself."""
        found = dict.get(handlers, context.type)
        return between_requests() if found is not None and found.is_workflow and not found.is_async else contextlib.nullcontext()

    worker.around(around)
    return worker


def _retries(task: Task) -> Any:
    return getattr(task, "retry_on", None)


def _is_retried(error: BaseException, task: Task) -> bool:
    kinds = _retries(task)
    return kinds is None or is_retried(error, lambda each: isinstance(each, kinds))


def _will_retry(job: Any, error: BaseException, task: Task) -> bool:
    """Whether the store will retry a job that raised: the rule of `job.fail` (JOBS 3)."""
    if isinstance(error, Snooze):
        return True
    retryable = error.retryable if isinstance(error, JobError) else None
    if retryable is None:
        retryable = _is_retried(error, task)
    codes = job.retry_policy.get("codes")
    return bool(retryable) and job.retry_count < job.max_retries and (not codes or _code(error) in codes)


def _code(error: BaseException) -> str:
    """The code of an error: that of a `JobError`, or the import path of its class."""
    return error.code if isinstance(error, JobError) else f"{type(error).__module__}.{type(error).__qualname__}"


def _handler(task: Task, backend: ResonateBackend) -> Callable[[JobContext], Any]:
    """The handler of a task, which runs in a thread; an asynchronous one gets an event loop there."""

    def run(context: JobContext) -> Any:
        with between_requests():
            return _run(task, backend, context)

    run.__qualname__ = task.module_path
    return run


def _run(task: Task, backend: ResonateBackend, context: JobContext) -> Any:
    result = _started(context, backend)
    task_started.send_robust(type(backend), task_result=result)
    try:
        first = (TaskContext(task_result=result),) if task.takes_context else ()
        value = normalize_json(_called(task, (*first, *result.args), result.kwargs))
        _check_storable(value)
    except BaseException as error:
        if all(isinstance(each, (JobCancelled, KeyboardInterrupt)) for each in members(error)):
            raise
        decided = decisive(error)
        if not _will_retry(context.job, decided, task):
            _finish(backend, result, context, TaskResultStatus.FAILED, error=decided)
        if isinstance(decided, (JobError, Snooze)):
            raise
        raise JobError(
            _code(error), as_text(described(error)), as_text(traced(error)), retryable=_is_retried(error, task)
        ) from error
    # What was called off meanwhile is timed out, cancelled or another worker's in the store: the value does not count.
    if not context.cancelled or context.reason == "stopping":
        _finish(backend, result, context, TaskResultStatus.SUCCESSFUL, value=value)
    return value


def _called(task: Task, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a task; a synchronous wrapper of an asynchronous function returns what must be awaited."""
    made = task.call(*args, **kwargs)
    return async_to_sync(_awaited)(made) if inspect.isawaitable(made) else made


async def _awaited(made: Awaitable[Any]) -> Any:
    return await made


def _check_storable(value: Any) -> None:
    """Refuse a value that the store refuses, before the signal says that it is stored.

    Raises:
        JobError: The store refuses it, such as a NaN.
    """
    try:
        data_of(Jobs.complete, "any", 1, value)
    except Invalid as error:
        refused = unstorable(error).failure
        assert refused is not None
        raise JobError(refused.code, refused.message, retryable=False) from error


def _started(context: JobContext, backend: ResonateBackend) -> TaskResult:
    """The result as it is while this attempt runs.

    Raises:
        JobError: The payload is not one of a task.
    """
    result = result_of(context.job, backend.alias)
    if result is None:
        raise JobError("InvalidPayload", f"{UNREADABLE}, and its tag must name the backend {backend.alias!r}", retryable=False)
    at = to_datetime(context.started_at)
    workers = list(result.worker_ids)
    if len(workers) < context.attempt:  # the claim did not start the attempt
        workers.append(context.worker)
    return replace(
        result,
        status=TaskResultStatus.RUNNING,
        started_at=result.started_at or at,
        last_attempted_at=at,
        worker_ids=workers,
    )


def _finish(
    backend: ResonateBackend,
    result: TaskResult,
    context: JobContext,
    status: TaskResultStatus,
    *,
    value: Any = None,
    error: BaseException | None = None,
) -> None:
    """Send the signal of the end. It comes before the store has the outcome: a receiver that fails does not change it."""
    changed = {"status": status, "finished_at": to_datetime(backend.now()), "_return_value": value}
    if error is not None:
        made = TaskError(exception_class_path=exception_path(_code(error)), traceback=traced(error))
        changed["errors"] = [*result.errors, made]
    for name, given in changed.items():
        object.__setattr__(result, name, given)
    task_finished.send_robust(type(backend), task_result=result)
