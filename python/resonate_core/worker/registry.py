"""What a worker runs: handlers by type, what stands around them, and when they run by themselves."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, overload

from ..errors import Invalid
from .doors import Door
from .execution import Middleware, as_middleware
from .periodic import Periodic
from .records import JobRecord
from .tasks import BatchTask, RetryOn, WorkerTask, require_key

__all__ = ["Registry"]

_Around = TypeVar("_Around")
P = ParamSpec("P")
R = TypeVar("R")


def _name(type: str | Callable[..., Any] | None, function: Callable[..., Any]) -> str:
    """The type of a handler's jobs: what was said, or module and name of the function."""
    if isinstance(type, str):
        return type
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', repr(function))}"


class Registry:
    """The handlers of a `Worker`.

    Args:
        lifecycle: As of `Worker`.

    Attributes:
        tasks: By type.
        batched: The types whose handlers get batches.
        middleware: The outermost first.
        periodics: What is enqueued by the calendar.
    """

    def __init__(self, lifecycle: str | None) -> None:
        self.lifecycle = lifecycle
        self.tasks: dict[str, WorkerTask[Any, Any]] = {}
        self.batched: set[str] = set()
        self._elsewhere: dict[str, WorkerTask[Any, Any]] = {}  # types that others have handlers for
        self.middleware: list[Middleware] = []
        self.periodics: list[Periodic] = []
        self.log = logging.getLogger("resonate_core.worker")

    @property
    def door(self) -> Door:
        """Where its jobs are."""
        raise NotImplementedError

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
        **options: Any,
    ) -> Callable[[Callable[P, R]], WorkerTask[P, R]]: ...

    def task(
        self,
        type: str | Callable[..., Any] | None = None,
        /,
        *,
        retry_on: RetryOn | None = None,
        unpack: bool | None = None,
        **options: Any,
    ) -> Any:
        """Registers a handler; a decorator, with or without arguments.

        A parameter annotated `JobContext` gets the attempt itself. Beside it, a handler that can be called with one argument gets
        the payload; one that needs several arguments gets the members of a payload that is a JSON object, by name. What it returns
        is the job's result (JSON-able, bytes or a `Value`). A payload that is no JSON, or no object for a handler of several
        arguments, fails the job for good with code InvalidPayload, such a result with InvalidResult. Members that are missing or
        unknown fail the attempt with InvalidPayload, which is retried as ``retry_on`` says: another version of the program may
        know them.

        Args:
            type: The type of its jobs; None: module and name of the function.
            retry_on: The exceptions that are retried: types, or a function of the exception; None: all. A `JobError` that says so
                itself does.
            unpack: True: members by name in any case, such as for a handler with one required parameter. False: the payload in any
                case. None: as above.
            options: Options of the jobs that are enqueued through the task: queue, priority, timeout, max_retries, retry_policy,
                on_exhausted, retention, lifecycle, headers, tags, unique_for (each job then needs a unique_key), good_for, group. The
                `timeout` holds for all jobs of the type that run here.

        Raises:
            Invalid: The type has a handler.
            TypeError: An option that no task has.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> @worker.task("charge", retry_on=(ConnectionError, TimeoutError), max_retries=5)
            ... async def charge(card, amount, job: rc.worker.JobContext):
            ...     return {"charged": amount, "reference": job.id}
            >>> _ = charge.enqueue({"card": "4242", "amount": 30}, id="order-1")
            >>> worker.run_until_idle().runs[0].result
            {'charged': 30, 'reference': 'order-1'}
        """

        def register(function: Callable[..., Any]) -> WorkerTask[Any, Any]:
            return self._add(WorkerTask(self, _name(type, function), function, retry_on=retry_on, unpack=unpack, options=options))

        return register(type) if callable(type) else register

    @overload
    def batch_task(self, type: Callable[P, R], /) -> BatchTask[P, R]: ...

    @overload
    def batch_task(
        self, type: str | None = None, /, *, retry_on: RetryOn | None = None, **options: Any
    ) -> Callable[[Callable[P, R]], BatchTask[P, R]]: ...

    def batch_task(
        self, type: str | Callable[..., Any] | None = None, /, *, retry_on: RetryOn | None = None, **options: Any
    ) -> Any:
        """Registers a handler of batches; a decorator, with or without arguments.

        Jobs of one `group` are gathered by the store, until there are enough of them or time is up (see `store.queues.set`), and
        are claimed together: the handler runs once for all of them, in one slot of the worker. It gets the list of their payloads
        (read as JSON; annotated `list[bytes]` or `list[Value]`, raw), and the `BatchContext` where a parameter is annotated so. A
        job without a group is a batch of one.

        It returns None, or a list with the result of each job, in order. An exception in that list fails its job as if the handler
        had raised it, and the others are done; one that the handler raises ends the attempts of all of them: `Retry`, `Skip`
        and `Snooze` too. Another length or type fails all for good with code InvalidResult. A payload that cannot be read fails
        its job alone, with code InvalidPayload: the handler gets the others.

        Args:
            type: As of `task`.
            retry_on: As of `task`.
            options: As of `task`. `group` gathers all jobs that are enqueued through it, unless they name another one.

        Raises:
            Invalid: The type has a handler.
            TypeError: An option that no task has, or a handler with other parameters.

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
            made = self._add(BatchTask(self, _name(type, function), function, retry_on=retry_on, options=options))
            self.batched.add(made.type)
            return made

        return register(type) if callable(type) else register

    def _add(self, task: WorkerTask[Any, Any]) -> WorkerTask[Any, Any]:
        if task.type in self.tasks:
            raise Invalid(f"type {task.type!r} has a handler: {self.tasks[task.type].function!r}")
        self.tasks[task.type] = task
        return task

    def around(self, middleware: _Around) -> _Around:
        """Adds a middleware: what runs around every handler, the first one added outermost. A decorator.

        It is a function of the `JobContext` that gives a context manager, or a generator function with one ``yield``: before it is
        before the handler, after it is after it; what the handler raised is raised at the ``yield``, and may be turned into
        something else there. It runs where the handler does, so that context variables and thread locals are the handler's. Around
        a handler of batches it runs once for the batch, and gets its `BatchContext`.

        Args:
            middleware: The function.

        Raises:
            TypeError: It is none.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> @worker.around
            ... def told(job):
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
        **options: Any,
    ) -> Periodic:
        """Enqueues a job at every occurrence of a cron expression, once, however many workers say the same.

        The next occurrence waits in the store as a scheduled job with the id ``name@instant``. Where no worker was there for a
        while, the one that waits runs late (unless `good_for` is over) and the others are not made up. It lives and goes with the
        code: another expression replaces the one that waits, and without a worker that says it nothing new is enqueued. What is to
        go on without the code, or to be made and changed by people, is a schedule in the store with ``job=``
        (`store.schedules.create`): the store itself enqueues it, workers or not.

        Args:
            cron: Five fields (minute hour day-of-month month day-of-week), six with leading seconds, or a word such as `@daily`.
            task: A task of this worker, or the type of the jobs.
            payload: Their payload.
            name: What the ids begin with; None: the type. Two of one type need two names.
            tz: The time zone, such as `Europe/Berlin`; None is UTC.
            options: Of the jobs, over those of the task; `retention` is a day where nothing is said, and a minute at the least.

        Raises:
            Invalid: No expression, no such time zone, a name that is taken, or a unique_for (of the task, too) without a unique_key.

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
        kind = task.type if isinstance(task, WorkerTask) else task
        known = task if isinstance(task, WorkerTask) else self.tasks.get(kind)
        merged = {**(known.options if known is not None else {}), **options}
        if self.lifecycle is not None:
            merged.setdefault("lifecycle", self.lifecycle)
        require_key(kind, merged)
        named = name or kind
        if any(each.name == named for each in self.periodics):
            raise Invalid(f"there is a periodic job {named!r}; another one of this type needs a name of its own")
        made = Periodic(named, cron, tz, kind, payload, merged)
        self.periodics.append(made)
        return made

    def cron(
        self, cron: str, /, *, tz: str | None = None, name: str | None = None, payload: Any = None, **options: Any
    ) -> Callable[[Callable[P, R]], WorkerTask[P, R]]:
        """Registers a handler and has it run at every occurrence of a cron expression; a decorator, also above `task`.

        Args:
            cron: As of `periodic`.
            tz: As of `periodic`.
            name: Its name, and the type where the function is no task yet; None: module and name of the function.
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
            if isinstance(function, WorkerTask):
                made = function
            else:
                made = self.task(name)(function)
            self.periodic(cron, made, payload, name=name, tz=tz, **options)
            return made

        return register

    # -- jobs -------------------------------------------------------------------------------------------------------------

    def enqueue(self, type: str, payload: Any = None, **options: Any) -> JobRecord:
        """Makes a job of any type, with the options of its task where this worker has one.

        Args:
            type: The type.
            payload: The payload.
            options: As of `WorkerTask.enqueue`.

        Example:
            >>> rc.worker.Worker(rc.Store(clock=rc.ManualClock())).enqueue("email:send", {"to": "ada"}).state
            'pending'
        """
        task = self.tasks.get(type) or self._elsewhere.get(type)
        if task is None:
            task = self._elsewhere[type] = WorkerTask(self, type, lambda: None, options={})
        return task.enqueue(payload, **options)
