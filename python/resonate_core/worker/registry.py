"""What a worker runs: handlers by type, their middleware, and periodic jobs."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from .._core import Job
from ..errors import Invalid
from .calling import Upcast
from .execution import Middleware, as_middleware
from .graphs import WorkerGraph
from .job_source import JobSourceOwner
from .option_values import name_or_none, text
from .options import OPTIONS, JobOptions, PeriodicOptions, TaskOptions
from .periodic import Periodic
from .probes import refuse_options
from .task_rules import RetryOn, refuse_unknown, require_key
from .tasks import BatchTask, WorkerTask
from .tracing import Tracing, tracing as make_tracing
from .workflow_registry import WorkflowRegistry, name_of_type

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["LIFECYCLES", "Registry"]

_Around = TypeVar("_Around")
#: The lifecycles that a worker's tasks can have (JOBS 4).
LIFECYCLES = ("asynq", "horsies", "workflow")
P = ParamSpec("P")
R = TypeVar("R")


class Registry(WorkflowRegistry):
    """The handlers of a `Worker`.

    Args:
        clients: Has the client of its jobs.
        lifecycle: As of `Worker`.
        tracing: As of `Worker`.

    Attributes:
        tasks: By type.
        batched: The types that have a handler of batches.
        middleware: The outermost first.
        periodics: The periodic jobs.
    """

    def __init__(self, clients: JobSourceOwner, lifecycle: str | None, tracing: bool | None = None) -> None:
        super().__init__()
        self._clients = clients
        self._traced = make_tracing(tracing)
        self._may_trace = tracing is None
        self.lifecycle = lifecycle
        self.tasks: dict[str, WorkerTask[Any, Any]] = {}
        self.batched: set[str] = set()
        self._without_handler: dict[str, WorkerTask[Any, Any]] = {}  # types without a handler here
        self.middleware: list[Middleware] = []
        self.periodics: list[Periodic] = []
        self.log = logging.getLogger("resonate_core.worker")

    def tracing(self) -> Tracing | None:
        """The object that opens spans; None if tracing is off, for example before the program has configured OpenTelemetry."""
        if self._traced is None and self._may_trace:
            self._traced = make_tracing(None)
        return self._traced

    @property
    def around_handlers(self) -> list[Middleware]:
        """The middleware that runs around every handler, the outermost first."""
        traced = self.tracing()
        return self.middleware if traced is None else [traced.around, *self.middleware]

    def graph(self, id: str | None = None) -> WorkerGraph:
        """Return an empty graph of jobs, for the store or server of the worker: see `resonate_core.Graph`.

        Args:
            id: Of the graph; None: a random one.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> @worker.task("order:pick")
            ... def pick(part: str) -> str:
            ...     return part.upper()
            >>> @worker.task("order:pack")
            ... def pack(parts: rc.worker.Dependencies[str]) -> str:
            ...     return " and ".join(parts.values())
            >>> graph = worker.graph("order-7")
            >>> _ = graph.add("left", pick.node("left part"))
            >>> _ = graph.add("right", pick.using(priority=1), "right part")
            >>> _ = graph.add("pack", pack, after=["left", "right"])
            >>> _ = graph.enqueue()
            >>> worker.run_until_idle().runs[-1].result
            'LEFT PART and RIGHT PART'
        """
        return WorkerGraph(self._clients, self.tracing, id)

    @property
    def has_async(self) -> bool:
        """Whether any handler runs in an event loop."""
        return any(task.is_async or task.may_return_coroutine for task in self.tasks.values())

    @overload
    def task(self, type: Callable[P, R], /) -> WorkerTask[P, R]: ...

    @overload
    def task(
        self,
        type: str | None = None,
        /,
        *,
        retry_on: RetryOn | None = None,
        unpack: bool | None = None,
        upcast: Upcast | None = None,
        **options: Unpack[TaskOptions],
    ) -> Callable[[Callable[P, R]], WorkerTask[P, R]]: ...

    def task(
        self,
        type: str | Callable[..., Any] | None = None,
        /,
        *,
        retry_on: RetryOn | None = None,
        unpack: bool | None = None,
        upcast: Upcast | None = None,
        **options: Unpack[TaskOptions],
    ) -> Any:
        """Register a handler; a decorator, with or without arguments.

        A parameter annotated `JobContext` gets the attempt itself. For the others one rule holds, whatever their number. The payload
        is an object, and each parameter gets the member of its name. A handler declares by its first parameter that it takes the
        whole payload instead: the parameter is named ``payload``, is positional-only, or is annotated with a type whose JSON is an
        object (a dict, dataclass, TypedDict, msgspec Struct or pydantic model), with `bytes` or with `Value`; other parameters keep
        their defaults. A payload that is not an object is the first argument.

        Arguments are converted to the annotated types (extra ``typed``, unless JSON has them). The return value is the job's result:
        JSON-able, of such a type, bytes or a `Value`. A payload that does not fit fails the job for good with the code
        InvalidPayload; a result that cannot be stored does so with InvalidResult.

        Args:
            type: The type of its jobs; None: module and name of the function.
            retry_on: The exceptions that are retried: types, or a function of the exception; None: all. A `JobError` with its own
                ``retryable`` overrides it.
            unpack: True: always members by name. False: always the whole payload. None: as the handler declares.
            upcast: Makes the present payload of an older one; it gets every payload before it is converted, and returns those that
                are up to date as they are.
            options: Options of the jobs that are enqueued through the task: queue, priority, timeout, max_retries, retry_policy,
                on_exhausted, retention, lifecycle, headers, tags, unique_for (each job then needs a unique_key), good_for, group,
                cancel_with_awaiters. The `timeout` applies to all jobs of the type that run here.

        Raises:
            Invalid: The type has a handler already.
            TypeError: An option that tasks do not have, or an annotation that JSON cannot hold.
            ImportError: An annotation needs a library that is not installed.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> @worker.task("charge", retry_on=(ConnectionError, TimeoutError), max_retries=5)
            ... async def charge(card, amount, job: rc.worker.JobContext):
            ...     return {"charged": amount, "reference": job.id}
            >>> _ = charge.using(id="order-1").enqueue({"card": "4242", "amount": 30})
            >>> worker.run_until_idle().runs[0].result
            {'charged': 30, 'reference': 'order-1'}
        """

        def register(function: Callable[..., Any]) -> WorkerTask[Any, Any]:
            made: WorkerTask[Any, Any] = WorkerTask(
                self._clients,
                name_of_type(type, function),
                function,
                lifecycle=self.lifecycle,
                retry_on=retry_on,
                unpack=unpack,
                upcast=upcast,
                names=sys._getframe(1 if decorates else 2).f_locals,
                tracing=self.tracing,
                options=options,
            )
            return self._add(made)

        decorates = not callable(type)
        return register if decorates else register(type)  # type: ignore[arg-type]

    @overload
    def batch_task(self, type: Callable[P, R], /) -> BatchTask[P, R]: ...

    @overload
    def batch_task(
        self,
        type: str | None = None,
        /,
        *,
        retry_on: RetryOn | None = None,
        upcast: Upcast | None = None,
        **options: Unpack[TaskOptions],
    ) -> Callable[[Callable[P, R]], BatchTask[P, R]]: ...

    def batch_task(
        self,
        type: str | Callable[..., Any] | None = None,
        /,
        *,
        retry_on: RetryOn | None = None,
        upcast: Upcast | None = None,
        **options: Unpack[TaskOptions],
    ) -> Any:
        """Register a handler of batches; a decorator, with or without arguments.

        The store gathers jobs of one `group` until there are enough of them or the time is over (see `store.queues.set`). They are
        claimed together, and the handler runs once for all of them, in one slot of the worker. It gets the list of their payloads
        (each converted to the type of the list's elements; annotated `list[bytes]` or `list[Value]`, raw), and the `BatchContext` if a
        parameter is annotated so. A job without a group is a batch of one.

        It returns None, or a list with the result of each job, in order. An exception in that list fails its job as if the handler
        had raised it, and the others are completed; an exception that the handler raises ends the attempts of all, `Retry`, `Skip`
        and `Snooze` included. A list of another length, or anything else, fails all for good with the code InvalidResult. A payload
        that cannot be read fails only its job, with the code InvalidPayload, and the handler gets the others.

        Args:
            type: As of `task`.
            retry_on: As of `task`.
            upcast: As of `task`.
            options: As of `task`. `group` applies to all jobs that are enqueued through it, unless they name another one.

        Raises:
            Invalid: The type has a handler already.
            TypeError: An option that tasks do not have, or a handler with other parameters.

        Example:
            >>> clock = rc.ManualClock()
            >>> store = rc.Store(clock=clock)
            >>> _ = store.queues.set("mail", groups={"size": 3, "grace": 60_000})
            >>> worker = rc.worker.Worker(store, queues="mail")
            >>> @worker.batch_task("email:digest", queue="mail")
            ... def digest(news):
            ...     print("one email with", news)
            >>> for text in ["a", "b", "c", "d"]:
            ...     _ = digest.enqueue(text, group="ada@example.org")
            >>> worker.run_until_idle(advance=True).outcomes, clock.now
            one email with ['a', 'b', 'c']
            one email with ['d']
            ({'completed': 4}, 60000)
        """

        def register(function: Callable[..., Any]) -> WorkerTask[Any, Any]:
            made: WorkerTask[Any, Any] = BatchTask(
                self._clients,
                name_of_type(type, function),
                function,
                lifecycle=self.lifecycle,
                retry_on=retry_on,
                upcast=upcast,
                names=sys._getframe(1 if decorates else 2).f_locals,
                tracing=self.tracing,
                options=options,
            )
            self._add(made)
            self.batched.add(made.type)
            return made

        decorates = not callable(type)
        return register if decorates else register(type)  # type: ignore[arg-type]

    def _add(self, task: WorkerTask[Any, Any]) -> WorkerTask[Any, Any]:
        if task.type in self.tasks:
            raise Invalid(
                f"type must be one without a handler, got {task.type!r}, which has a handler: {self.tasks[task.type].function!r}"
            )
        self.tasks[task.type] = task
        return task

    def around(self, middleware: _Around) -> _Around:
        """Add a middleware, which runs around every handler, the first one added outermost; a decorator.

        It is a generator function with one ``yield``, or a function that returns a context manager; both get the `JobContext`. What
        stands before the ``yield`` runs before the handler. What the handler raised is raised at the ``yield``, where it may be
        replaced. A middleware runs in the thread or task of the handler, so that both share context variables and thread locals.
        Around a handler of batches it runs once for the batch, and gets the `BatchContext`.

        Args:
            middleware: The function.

        Raises:
            TypeError: It is neither.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> @worker.around
            ... def announced(job):
            ...     print("before", job.type)
            ...     try:
            ...         yield
            ...     except ValueError as error:
            ...         raise rc.worker.Skip(str(error)) from error
            ...     print("after", job.result)
            >>> _ = worker.task("double")(lambda n: 2 * int(n)).enqueue_many(["4", "four"])
            >>> [run.error and run.error.code for run in worker.run_until_idle()]
            before double
            after 8
            before double
            [None, 'SkipRetry']
        """
        self.middleware.append(as_middleware(middleware))
        return middleware

    def periodic(
        self,
        cron: str,
        task: WorkerTask[Any, Any] | str,
        payload: Any = None,
        *,
        name: str | None = None,
        tz: str | None = None,
        **options: Unpack[PeriodicOptions],
    ) -> Periodic:
        """Enqueue a job at every occurrence of a cron expression, once, however many workers have the same periodic job.

        The next occurrence waits in the store as a scheduled job with the id ``name@instant``. If no worker ran for a while, the
        job that waits runs late (unless its `good_for` is over), and the other occurrences are not made up. A periodic job depends
        on the code: another expression or queue replaces the job that waits, and without a worker that has it nothing new is
        enqueued. With a `unique_key`, no occurrence is enqueued while another job holds the key, the occurrence before it among
        them: occurrences that are due meanwhile are left out, and the one after the end of that job is enqueued again. For
        jobs that continue without the code, or that people create and change, make a schedule with ``job=``
        (`store.schedules.create`): the store itself enqueues these.

        Args:
            cron: Five fields (minute hour day-of-month month day-of-week), six with leading seconds, or a word such as `@daily`.
            task: A task of this worker, or the type of the jobs.
            payload: Their payload.
            name: What the ids begin with; None: the type. Two of one type need two names.
            tz: The time zone, such as `Europe/Berlin`; None is UTC.
            options: Of the jobs, over those of the task; `retention` is a day by default, and at least a minute.

        Raises:
            Invalid: No expression, no such time zone, a payload that does not fit the handler, a name that is taken, or a unique_for
                (also of the task) without a unique_key.

        Example:
            >>> clock = rc.ManualClock(start=1_772_000_000_000)
            >>> worker = rc.worker.Worker(rc.Store(clock=clock))
            >>> task = worker.task("report")(lambda: None)
            >>> _ = worker.periodic("0 9 * * MON", task, tz="Europe/Berlin")
            >>> from datetime import timedelta
            >>> drained = worker.run_until_idle(until=clock.now + 14 * 86_400_000)
            >>> [run.id for run in drained]
            ['report@1772438400000', 'report@1773043200000']
        """
        refuse_unknown("a periodic job", options, OPTIONS | {"unique_key"})
        kind = task.type if isinstance(task, WorkerTask) else text("task", task)
        known = task if isinstance(task, WorkerTask) else self.tasks.get(kind)
        merged: dict[str, Any] = {**(known.options if known is not None else {}), **options}
        if known is not None:
            payload = known.payload(payload)
        if self.lifecycle is not None:
            merged.setdefault("lifecycle", self.lifecycle)
        require_key(kind, merged)
        refuse_options(kind, merged)
        named = name_or_none("name of a periodic job", name) or kind
        if any(each.name == named for each in self.periodics):
            raise Invalid(f"name of a periodic job must be unique, got {named!r}: give this one a name= of its own")
        made = Periodic(named, cron, tz, kind, payload, merged)
        self.periodics.append(made)
        return made

    def cron(
        self,
        cron: str,
        /,
        *,
        tz: str | None = None,
        name: str | None = None,
        payload: Any = None,
        **options: Unpack[PeriodicOptions],
    ) -> Callable[[Callable[P, R]], WorkerTask[P, R]]:
        """Register a handler that runs at every occurrence of a cron expression; a decorator, also above `task`.

        Args:
            cron: As of `periodic`.
            tz: As of `periodic`.
            name: Its name, and the type if the function is no task yet; None: module and name of the function.
            payload: As of `periodic`.
            options: As of `periodic`.

        Example:
            >>> clock = rc.ManualClock()
            >>> worker = rc.worker.Worker(rc.Store(clock=clock))
            >>> @worker.cron("0 3 * * *", name="nightly")
            ... def clean(job: rc.worker.JobContext):
            ...     return job.job.process_at // 3_600_000
            >>> [run.result for run in worker.run_until_idle(until=48 * 3_600_000)]
            [3, 27]
        """

        def register(function: Callable[P, R]) -> WorkerTask[P, R]:
            name_or_none("name of a periodic job", name)
            if isinstance(function, WorkerTask):
                made = function
            else:
                made = self.task(name)(function)
            self.periodic(cron, made, payload, name=name, tz=tz, **options)
            return made

        return register

    # -- jobs -------------------------------------------------------------------------------------------------------------

    def enqueue(self, type: str, payload: Any = None, **options: Unpack[JobOptions]) -> Job:
        """Enqueue a job of any type, with the options of its task if this worker has one.

        Args:
            type: The type.
            payload: The payload.
            options: As of `WorkerTask.enqueue`.

        Example:
            >>> rc.worker.Worker(rc.Store(clock=rc.ManualClock())).enqueue("email:send", {"to": "ada"}).state
            'pending'
        """
        task = self.tasks.get(text("type", type)) or self._without_handler.get(type)
        if task is None:
            task = self._without_handler[type] = WorkerTask(
                self._clients, type, lambda: None, lifecycle=self.lifecycle, tracing=self.tracing, options={}
            )
        return task.enqueue(payload, **options)
