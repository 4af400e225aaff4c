"""The backend of Django's task framework."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from asgiref.sync import sync_to_async
from django.core.checks import CheckMessage
from django.db import connections
from django.utils import timezone

from resonate_core import Job, Store, Value
from resonate_core._core import Jobs
from resonate_core.calls.call import envelope
from resonate_core.calls.made import data_of
from resonate_core.errors import Invalid, NotFound
from resonate_core.submission import submit
from resonate_core.worker.job_source import refusal
from resonate_core.worker.signature import is_generator

from . import checks
from .declaration import ResonateTask
from .framework import BaseTaskBackend, InvalidTask, Task, TaskResult, TaskResultDoesNotExist, TaskResultStatus, task_enqueued
from .ids import new_id
from .instants import to_datetime, to_ms
from .options import Options, problem_of_job, read
from .pending import Pending, in_transaction, waiting
from .results import BACKEND_TAG, PRIORITY_TAG, arguments_of_payload, result_of
from .stores import store_at

__all__ = ["ResonateBackend", "store_priority"]


def store_priority(priority: int) -> int:
    """The store's priority, 1 (first) to 100 (last), for one of Django's, 100 (first) to -100 (last).

    Two neighbours share one: 0 and -1 are 50, the store's default; 98 to 100 are 1.
    """
    return max(1, (100 - priority) // 2)


class ResonateBackend(BaseTaskBackend):
    """Tasks are jobs of a store, which by default is in the application's own database.

    A task that is enqueued inside of a transaction exists if and only if the transaction commits. Its job's id is the result's id,
    its type the task's import path, and its payload ``{"args": [...], "kwargs": {...}}``.

    Args:
        alias: Its name in TASKS.
        params: Its settings: BACKEND, QUEUES and OPTIONS.
    """

    task_class = ResonateTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, params)
        self._params = params

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """Report each bad setting, for ``manage.py check``."""
        return checks.of_backend(self.alias, self._params)

    @cached_property
    def settings(self) -> Options:
        """Its OPTIONS.

        Raises:
            ImproperlyConfigured: One of them is bad.
        """
        return read(self.alias, self.options)

    @property
    def in_database(self) -> bool:
        """Whether its store is in a database of Django."""
        return self.settings.store is None

    @property
    def store(self) -> Store:
        """The store; all threads of the process share it.

        Raises:
            ImproperlyConfigured: A setting is bad, or the database cannot hold a store.
            StoreError: It cannot be opened.
        """
        return store_at(self.settings.place)

    # -- enqueue ----------------------------------------------------------------------------------------------------------

    def validate_task(self, task: Task) -> None:
        """Refuse a task that cannot run.

        Raises:
            InvalidTask: It breaks a rule of Django's, or has an option that the store refuses.
        """
        super().validate_task(task)
        if is_generator(task.func):
            raise InvalidTask(f"{task.module_path} yields, and a task has one result: return the items in a list")
        given = task.job_options if isinstance(task, ResonateTask) else {}
        problem = problem_of_job(given) if given else None
        if problem is not None:
            raise InvalidTask(f"{task.module_path} has an option that the store refuses: {problem}")

    def enqueue(self, task: Task, args: Iterable[Any], kwargs: Mapping[str, Any]) -> TaskResult:
        """Enqueue a task: at once, or inside of a transaction with its commit.

        Args:
            task: The task.
            args: Values that JSON can hold.
            kwargs: Likewise.

        Returns:
            The result, with the status READY.

        Raises:
            InvalidTask: The task cannot run here.
            TypeError: An argument cannot be stored as JSON.
            ValueError: Likewise, such as a NaN.
            StoreBusy: Other processes wrote for longer than BUSY_TIMEOUT; only outside of a transaction.
        """
        result = self._ready(task, getattr(task, "result_id", None) or new_id(), args, kwargs)
        # It raises for what JSON cannot hold, before anything is written.
        data = self.order(task, result.args, result.kwargs, result.id)
        object.__setattr__(result, "enqueued_at", to_datetime(self.now()))
        self.send("job.enqueue", data, result)
        task_enqueued.send(type(self), task_result=result)
        return replace(result)

    def _ready(self, task: Task, id: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> TaskResult:
        return TaskResult(
            task=task,
            id=id,
            status=TaskResultStatus.READY,
            enqueued_at=None,
            started_at=None,
            finished_at=None,
            last_attempted_at=None,
            args=list(args),
            kwargs=dict(kwargs),
            backend=self.alias,
            errors=[],
            worker_ids=[],
        )

    def ready(self, task: Task, id: str, payload: Mapping[str, Any]) -> TaskResult:
        """Return the result of a task that is enqueued now.

        Args:
            task: The task.
            id: Of the result.
            payload: Of its job, as on the wire.
        """
        args, kwargs = arguments_of_payload(Value.from_dict(payload))
        result = self._ready(task, id, args, kwargs)
        object.__setattr__(result, "enqueued_at", to_datetime(self.now()))
        return result

    def order(self, task: Task, args: Iterable[Any], kwargs: Mapping[str, Any], id: str | None) -> dict[str, Any]:
        """Return the data of the `job.enqueue` of a task.

        Args:
            task: The task.
            args: Values that JSON can hold.
            kwargs: Likewise.
            id: Of the result; None: the data have none.

        Raises:
            InvalidTask: The task cannot run here.
            TypeError: An argument cannot be stored as JSON.
            ValueError: Likewise, such as a NaN.
        """
        self.validate_task(task)
        options = self.settings.for_job(task.job_options if isinstance(task, ResonateTask) else {})
        if id is not None:
            options["id"] = id
        options["queue"] = task.queue_name
        options["priority"] = store_priority(task.priority)
        options["tags"] = {BACKEND_TAG: self.alias}
        if task.priority != 0:
            options["tags"][PRIORITY_TAG] = str(task.priority)
        if task.run_after is not None:
            options["process_at"] = to_ms(task.run_after)
        return data_of(Jobs.enqueue, task.module_path, {"args": list(args), "kwargs": dict(kwargs)}, **options)

    def now(self) -> int:
        """The present instant, in Unix ms."""
        return to_ms(timezone.now())

    def send(self, kind: str, data: Mapping[str, Any], *results: TaskResult) -> None:
        """Send a request that changes the store: at once, or inside of a transaction with its commit.

        Args:
            kind: Of the request, such as ``promise.create`` (PROTOCOL 5, JOBS 5).
            data: Its data, as on the wire.
            results: The results of the tasks that it enqueues.

        Raises:
            ResonateError: The request breaks a rule; outside of a transaction also if the store refuses it.
        """
        if not in_transaction(self.settings.database):
            self._apply(kind, data)
        elif self.in_database:
            self._submit(kind, data, results)
        else:  # a crash between the commit and the request loses it
            self._after_commit(results, lambda: self._apply(kind, data), robust=False)

    def _submit(self, kind: str, data: Mapping[str, Any], results: Sequence[TaskResult]) -> None:
        """Write the request with Django's connection, in its transaction."""
        settings = self.settings
        connection = connections[settings.database]
        submit(connection, kind, _sent(kind, data, self.now()), schema=settings.schema)
        if connection.in_atomic_block:  # without autocommit, Django does not know of the commit
            self._after_commit(results, self._dispatch if settings.dispatch_on_commit else _nothing, robust=True)

    def _after_commit(self, results: Sequence[TaskResult], call: Callable[[], Any], *, robust: bool) -> None:
        first, *others = results or (None,)
        Pending(self.alias, first, call).register(self.settings.database, robust=robust)
        for result in others:
            Pending(self.alias, result, _nothing).register(self.settings.database, robust=robust)

    def _apply(self, kind: str, data: Mapping[str, Any]) -> None:
        reply = self.store.apply(envelope(kind, data, "0"))
        status = reply["head"]["status"]
        if status >= 300:
            raise refusal(status, str(reply["data"]))

    def _dispatch(self) -> None:
        """Run submitted requests now, so that a worker need not find them by polling."""
        store = self.store
        if store.submissions_waiting:
            store.tick(limit=1)

    # -- results ----------------------------------------------------------------------------------------------------------

    def get_result(self, result_id: str) -> TaskResult:
        """Return the present state of a task.

        Args:
            result_id: The id of the result.

        Raises:
            TaskResultDoesNotExist: There is none: it was never committed, or was pruned.
        """
        for each in waiting(self.settings.database, self.alias):
            if each.result is not None and each.result.id == result_id:
                return replace(each.result)
        job = self._job(result_id)
        result = None if job is None else result_of(job, self.alias)
        if result is None:
            raise TaskResultDoesNotExist(result_id)
        return result

    async def aget_result(self, result_id: str) -> TaskResult:
        """As `get_result`, without blocking the event loop."""
        return await sync_to_async(self.get_result, thread_sensitive=True)(result_id)

    def _job(self, id: str) -> Job | None:
        store = self.store
        try:
            return store.jobs.get(id)
        except NotFound:
            pass
        except Invalid:  # no id at all
            return None
        # Committed by a process that ended before it dispatched: found now. In a transaction this would wait for itself.
        if not store.submissions_waiting or in_transaction(self.settings.database):
            return None
        store.tick(limit=1)
        try:
            return store.jobs.get(id)
        except NotFound:
            return None


def _sent(kind: str, data: Mapping[str, Any], now: int) -> Mapping[str, Any]:
    """Return the data with the instant at which the program sent its jobs."""
    if kind == "job.enqueue":
        return {**data, "sentAt": now}
    if kind == "job.enqueue_many":
        return {**data, "jobs": [{**job, "sentAt": now} for job in data["jobs"]]}
    return data


def _nothing() -> None:
    """Do nothing: the next process that writes to the store runs the submitted requests."""
