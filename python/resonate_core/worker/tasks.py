"""A handler under its name, and how jobs are enqueued for it."""

from __future__ import annotations

import copy
import functools
import logging
import types
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .._core import Job, Jobs
from ..calls.graph import jobs_then
from ..calls.graph_nodes import Node, ToRun, ids_of
from ..calls.made import data_of_enqueue, together
from ..calls.values import milliseconds
from ..errors import Invalid
from ..submission import DEFAULT_SCHEMA, submit
from .calling import BatchCall, HandlerCall, Read, Upcast, is_async
from .child_jobs import ChildJobs
from .groups import is_retried
from .job_source import JobSourceOwner, T
from .option_values import text
from .options import OF_ONE_JOB, OPTIONS, JobOptions, JobsOptions
from .probes import refuse_options
from .results import refuse_future
from .signature import is_generator, wraps_async
from .task_rules import RetryOn, refuse_unknown, require_key, retry_predicate
from .tracing import Tracing

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["BatchTask", "WorkerTask"]

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
_log = logging.getLogger("resonate_core.worker")


class WorkerTask(ChildJobs[P, R_co]):
    """A handler under its name; `Worker.task` makes it. A call calls the function that it was made from.

    Attributes:
        type: The type of its jobs.
        function: The handler.
        is_async: Whether it runs in an event loop; otherwise in a thread.
        may_return_coroutine: Whether it is a synchronous wrapper of an asynchronous function: its result is awaited in the loop.
        options: Options of all of its jobs.

    Example:
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.task("email:send", max_retries=3)
        ... def send(to, subject):
        ...     return f"{subject} to {to}"
        >>> send("ada", subject="hello")
        'hello to ada'
        >>> job = send.delay("ada", subject="hi")
        >>> job.type, job.max_retries, job.payload.json()
        ('email:send', 3, {'to': 'ada', 'subject': 'hi'})
    """

    handler: HandlerCall | BatchCall
    #: Whether its function is replayed.
    is_workflow = False

    def __init__(
        self,
        clients: JobSourceOwner,
        type: str,
        function: Callable[P, R_co],
        *,
        lifecycle: str | None = None,
        retry_on: RetryOn | None = None,
        unpack: bool | None = None,
        upcast: Upcast | None = None,
        names: Mapping[str, Any] = types.MappingProxyType({}),
        tracing: Callable[[], Tracing | None] = lambda: None,
        options: Mapping[str, Any],
    ) -> None:
        text("type", type)
        refuse_unknown("a task", options, OPTIONS)
        if not callable(function):
            raise TypeError(f"the handler of type {type!r} must be a function, got {function!r}")
        if is_generator(function):
            raise TypeError(
                f"the handler of type {type!r} must return its result, got {function!r}, which yields: a job has one result, so "
                "collect the items in a list"
            )
        if upcast is not None and (is_async(upcast) or is_generator(upcast)):
            raise TypeError(f"upcast must be a synchronous function that returns a payload, got {upcast!r}")
        self._clients = clients
        self._tracing = tracing
        self._lifecycle = lifecycle
        self.type = type
        self.function = function
        self.is_async = is_async(function)
        self.may_return_coroutine = wraps_async(function)
        self.options = dict(options)
        self.timeout = milliseconds("timeout", options["timeout"], 1) if options.get("timeout") is not None else None
        if options or lifecycle is not None:
            refuse_options(type, {"lifecycle": lifecycle, **options})
        self._preset: dict[str, Any] = {}  # by `using`
        self._bind(function, unpack, upcast, names)
        refuse_future(type, function, self.handler.hints)
        self.invoke: Callable[[Any], Any] = self.handler.invoke
        self._retries = retry_predicate(retry_on)
        functools.update_wrapper(self, function)

    def _bind(self, function: Callable[P, R_co], unpack: bool | None, upcast: Upcast | None, names: Mapping[str, Any]) -> None:
        self.handler = HandlerCall(function, unpack, upcast, names)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """The handler itself, without any job."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.type!r}>"

    def retries(self, error: BaseException) -> bool:
        """Whether the task's ``retry_on`` retries this error; a group also if it retries each of its members.

        If a predicate raises, the error is retried.

        Args:
            error: What the handler raised.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> task = worker.task("fetch", retry_on=OSError)(print)
            >>> task.retries(ConnectionError()), task.retries(KeyError())
            (True, False)
        """
        try:
            return is_retried(error, self._retries)
        except Exception:
            _log.exception("retry_on of %r raised; the job is retried", self.type)
            return True

    def delay(self, *args: P.args, **kwargs: P.kwargs) -> Job:
        """Enqueue a job by a call of the function: the payload is the object of the arguments by name.

        A function that takes the whole payload gets its one argument. A parameter for the `JobContext` is left out.

        Args:
            args: As of the function.
            kwargs: As of the function.

        Returns:
            The job.

        Raises:
            TypeError: The function cannot be called so.
            Invalid: An argument is not of the type that its parameter is annotated with; the error names it.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> @worker.task("email:send")
            ... def send(to: str, subject: str = "hello"):
            ...     return f"{subject} to {to}"
            >>> send.delay("ada").payload.json()
            {'to': 'ada'}
            >>> send.delay(to=5)
            Traceback (most recent call last):
            ...
            resonate_core.errors.Invalid: payload of a job of type 'email:send': to: Expected `str`, got `int`
        """
        return self.enqueue(self._payload_of(args, kwargs))

    async def delay_async(self, *args: P.args, **kwargs: P.kwargs) -> Job:
        """As `delay`, without blocking the event loop while the store commits.

        Args:
            args: As of the function.
            kwargs: As of the function.

        Example:
            >>> import asyncio
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> task = worker.task("hello")(print)
            >>> asyncio.run(task.delay_async("world")).state
            'pending'
        """
        return await self.enqueue_async(self._payload_of(args, kwargs))

    def using(self, **options: Unpack[JobOptions]) -> WorkerTask[P, R_co]:
        """Return this task with other options for the jobs that are enqueued through the returned one.

        Args:
            options: As of `enqueue`.

        Raises:
            Invalid: An option out of its range.
            TypeError: An option that jobs do not have, or of the wrong type.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> task = worker.task("hello")(print)
            >>> task.using(id="hello-1", priority=1).delay("world").id
            'hello-1'
        """
        refuse_unknown("a job", options, OPTIONS | OF_ONE_JOB)
        if options:
            refuse_options(self.type, {name: value for name, value in options.items() if name not in ("ids", "after")})
        if (after := options.get("after")) is not None:
            ids_of(after)
        other = copy.copy(self)
        other._preset = {**self._preset, **options}
        return other

    def _payload_of(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Return the payload of a call. The keywords are the function's; an error says where the options of the job belong."""
        try:
            return self.handler.payload_of(*args, **kwargs)
        except TypeError as error:
            options = sorted((OPTIONS | OF_ONE_JOB) & kwargs.keys())
            hint = f"; {', '.join(options)} of its job: task.using({options[0]}=...)" if options else ""
            raise TypeError(f"{self.type}: {error}{hint}") from error

    def payload(self, payload: Any) -> Any:
        """Return a payload as the store takes it, once it is known to fit the handler.

        Args:
            payload: As of `enqueue`.

        Raises:
            Invalid: It does not fit.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> task = worker.task("hello")(lambda name: name)
            >>> task.payload({"to": "ada"})
            Traceback (most recent call last):
            ...
            resonate_core.errors.Invalid: payload of a job of type 'hello': members of the payload must be ...
        """
        try:
            return self.handler.checked(payload)
        except Invalid as error:
            raise Invalid(f"payload of a job of type {self.type!r}: {error}") from error

    def enqueue(self, payload: Any = None, **options: Unpack[JobOptions]) -> Job:
        """Enqueue a job for this handler.

        Args:
            payload: What the handler is called with (see `Worker.task`): an object of its arguments by name, or the whole payload.
                Anything JSON-able, a value of the annotated type, bytes, or a `Value`.
            options: As of `store.jobs.enqueue`, over those of the task: id, queue, group, priority, process_in, process_at, timeout,
                deadline, good_until, max_retries, retry_policy, retention, unique_key, after, after_failed, … ; ``good_for`` is a
                good_until, counted from when the job can first run.

        Returns:
            The job.

        Raises:
            Conflict: Its id or its unique key is another job's.
            Invalid: An option out of its range, or a payload that does not fit the handler; nothing is stored.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> task = worker.task("hello", good_for=5_000)(print)
            >>> job = task.enqueue("world", process_in=60_000)
            >>> job.state, job.good_until
            ('scheduled', 65000)
        """
        self._refuse_in_workflow("enqueue")
        given, merged = self.payload(payload), self._merged(options)
        tracing = self._tracing()
        if tracing is None:
            return self._clients.client.enqueue(self.type, given, merged)
        with tracing.producing(self.type, merged, 1) as (traced, name):
            job = self._clients.client.enqueue(self.type, given, traced)
            name(job.id)
            return job

    def order(self, payload: Any = None, options: Mapping[str, Any] = types.MappingProxyType({})) -> dict[str, Any]:
        """Return the data of the request `job.enqueue` for a job, which is not sent.

        Args:
            payload: As of `enqueue`.
            options: As of `enqueue`.

        Raises:
            Invalid: As `enqueue` does for its arguments.

        Example:
            >>> worker = rc.worker.Worker()
            >>> worker.task("hello", priority=3)(print).order("world", {"id": "h1"})
            {'id': 'h1', 'queue': 'default', 'type': 'hello', 'payload': {'data': 'IndvcmxkIg=='}, 'priority': 3}
        """
        return data_of_enqueue(self.type, self.payload(payload), **self._merged(options))

    def node(self, *args: P.args, **kwargs: P.kwargs) -> Node:
        """Return a job for a graph, a `chain` or ``then``: a call of the function, as of `delay`. Its options come by `using`.

        Args:
            args: As of the function.
            kwargs: As of the function.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> @worker.task("fetch")
            ... def fetch(url: str) -> str:
            ...     return f"page of {url}"
            >>> @worker.task("index")
            ... def index(pages: rc.worker.Dependencies[str]) -> list[str]:
            ...     return list(pages.values())
            >>> _ = rc.worker.chain(fetch.node("a.example"), index).enqueue()
            >>> [run.result for run in worker.run_until_idle()]
            ['page of a.example', ['page of a.example']]
        """
        return Node(self, self._payload_of(args, kwargs))

    def submit(
        self, connection: Any, payload: Any = None, *, schema: str = DEFAULT_SCHEMA, **options: Unpack[JobOptions]
    ) -> int | Coroutine[Any, Any, int]:
        """Enqueue a job in the caller's own transaction: it is enqueued if and only if that transaction commits.

        Args:
            connection: To the database of the store, as of `resonate_core.submit`; with an asynchronous one, await the result.
            payload: The argument of the handler.
            schema: The schema of the store in PostgreSQL; a file has none.
            options: As of `enqueue`; a ``process_in`` is counted from when the store runs the request.

        Returns:
            The number of the request.

        Raises:
            Invalid: The payload or an option cannot be written.
            Unsupported: The connection is of another kind.

        Example:
            >>> worker = rc.worker.Worker()
            >>> task = worker.task("hello")(print)
            >>> task.submit(None, "world")
            Traceback (most recent call last):
            resonate_core.errors.Unsupported: connection must be of sqlite3, aiosqlite, psycopg, asyncpg, SQLAlchemy or Django, got None
        """
        return submit(connection, "job.enqueue", self.order(payload, options), schema=schema)

    def enqueue_many(self, payloads: Iterable[Any], *, then: ToRun | None = None, **options: Unpack[JobsOptions]) -> Sequence[Job]:
        """Enqueue a job for each payload, in one transaction, all or none; over a URL, unless there is a `then`, each on its own.

        Args:
            payloads: One for each job.
            then: A job that runs when all of these have ended, also if some have failed: a task, a type, or a `Node`. It reads
                their outcomes by `JobContext.dependencies`. With ``after_failed="cancel"`` of its own, the first failure cancels it.
            options: As of `enqueue`, for all of them; ``ids`` names them.

        Returns:
            The jobs, in order; the last one is that of `then`.

        Raises:
            Conflict: An id is another job's.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> task = worker.task("square")(lambda n: n * n)
            >>> _ = task.enqueue_many(range(3), ids=["a", "b", "c"])
            >>> sorted((run.id, run.result) for run in worker.run_until_idle().runs)
            [('a', 0), ('b', 1), ('c', 4)]
            >>> @worker.task("sum")
            ... def add(squares: rc.worker.Dependencies[int]) -> int:
            ...     return sum(squares.values())
            >>> _ = task.enqueue_many(range(4), then=add)
            >>> worker.run_until_idle().runs[-1].result
            14
        """
        self._refuse_in_workflow("enqueue_many")
        given, merged = [self.payload(each) for each in payloads], self._merged(options)
        tracing = self._tracing()
        if tracing is None:
            return self._enqueue_many(given, merged, then)
        with tracing.producing(self.type, merged, len(given)) as (traced, _):
            own = merged.get("tags") or {}
            return self._enqueue_many(given, traced, then, {name: tag for name, tag in traced["tags"].items() if name not in own})

    def _enqueue_many(
        self,
        given: Sequence[Any],
        merged: Mapping[str, Any],
        then: ToRun | None,
        traced: Mapping[str, str] = types.MappingProxyType({}),
    ) -> Sequence[Job]:
        client = self._clients.client
        if then is None:
            return client.enqueue_many(self.type, given, merged)
        orders = [call.data for call in together(Jobs.enqueue_many, self.type, given, **merged).calls]
        enqueued = client.run(jobs_then(orders, then, traced))
        return list(enqueued)

    async def enqueue_async(self, payload: Any = None, **options: Unpack[JobOptions]) -> Job:
        """As `enqueue`, without blocking the event loop while the store commits.

        Args:
            payload: The argument of the handler.
            options: As of `enqueue`.

        Example:
            >>> import asyncio
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> task = worker.task("hello")(print)
            >>> asyncio.run(task.enqueue_async("world")).state
            'pending'
        """
        self._refuse_in_workflow("enqueue_async")
        return await self._apart(lambda: self.enqueue(payload, **options))

    async def enqueue_many_async(
        self, payloads: Iterable[Any], *, then: ToRun | None = None, **options: Unpack[JobsOptions]
    ) -> Sequence[Job]:
        """As `enqueue_many`, without blocking the event loop while the store commits.

        Args:
            payloads: One for each job.
            then: As of `enqueue_many`.
            options: As of `enqueue`.

        Example:
            >>> import asyncio
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> task = worker.task("hello")(print)
            >>> len(asyncio.run(task.enqueue_many_async([1, 2])))
            2
        """
        self._refuse_in_workflow("enqueue_many_async")
        return await self._apart(lambda: self.enqueue_many(payloads, then=then, **options))

    async def _apart(self, function: Callable[[], T]) -> T:
        client = await self._clients.client_apart()
        return await client.apart(function)

    def _merged(self, options: Mapping[str, Any]) -> dict[str, Any]:
        refuse_unknown("a job", options, OPTIONS | OF_ONE_JOB)
        options = {**self._preset, **options}
        merged = {**self.options, **options}
        if self._lifecycle is not None:
            merged.setdefault("lifecycle", self._lifecycle)
        if merged.get("after") is not None:
            merged["after"] = ids_of(merged["after"])
        require_key(self.type, merged)
        # An option of the task gives way to one of the job; the store refuses the call's own contradictions.
        if merged.get("good_until") is not None and "good_for" not in options:
            merged.pop("good_for", None)
        return merged


class BatchTask(WorkerTask[P, R_co]):
    """A handler of batches under its name; `Worker.batch_task` makes it. A call calls the function that it was made from.

    Example:
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.batch_task("sum", group="all")
        ... def add(numbers):
        ...     return [sum(numbers)] * len(numbers)
        >>> add([1, 2]), add.enqueue(3).group
        ([3, 3], 'all')
    """

    read: Read

    def _bind(self, function: Callable[P, R_co], unpack: bool | None, upcast: Upcast | None, names: Mapping[str, Any]) -> None:
        call = BatchCall(function, upcast, names)
        self.handler, self.read = call, call.read
