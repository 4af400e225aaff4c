"""One call of a handler, for the attempt of one job or for the attempts of a batch, and the outcome of each attempt."""

from __future__ import annotations

import asyncio
import inspect
import types
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import Context, copy_context
from typing import Any

from .._core import Job
from ..base.standstills import awaits
from ..explain.unknown_types import streak
from .context import BatchContext, JobContext, current
from .dependencies import PromiseReader
from .outcomes import (
    COMPLETED,
    TIMED_OUT,
    Failure,
    Outcome,
    as_text,
    called_off,
    outcome_of,
    unknown_type,
    unwritable,
    was_called_off,
)
from .results import awaited_here, close_coroutine, no_result
from .scopes import adopt, call_in, own_decimals
from .tasks import BatchTask, WorkerTask

__all__ = ["Attempt", "Awaited", "Ended", "Execution", "Finish", "Middleware", "WorkItem", "as_middleware", "awaited", "begin"]

Tasks = Mapping[str, WorkerTask[Any, Any]]
#: What runs in one slot of a worker: a job, or the jobs of a batch whose type has a handler for batches.
WorkItem = Sequence[Job]
#: Of an awaitable that a handler has returned: its result, the exception that it raised, and the context variables after it.
Awaited = tuple[Any, BaseException | None, Context]
#: Runs a coroutine to its end, for a thread whose handler has returned an awaitable.
Finish = Callable[[Coroutine[Any, Any, Awaited]], Awaited]
#: Takes a `JobContext`, or the `BatchContext` of a batch.
Middleware = Callable[[Any], AbstractContextManager[Any]]


def as_middleware(around: Any) -> Middleware:
    """Return middleware as a function that returns a context manager.

    Raises:
        TypeError: It is neither such a function nor a generator function.
    """
    if inspect.isgeneratorfunction(around):
        return contextmanager(around)
    if not callable(around) or inspect.iscoroutinefunction(around) or inspect.isasyncgenfunction(around):
        raise TypeError(
            f"middleware must be a generator function with one yield, or return a context manager for a job, got {around!r}"
        )
    made: Middleware = around
    return made


class Attempt:
    """One attempt of one job, from its start until the store knows how it ended.

    Args:
        job: The job, as it was claimed.
        worker: The name of the worker.
        started_at: When it begins, in Unix ms.
        timeout: How long it may take, in ms.
        now: Returns the present instant.
        reader: Reads what the job waited for.
    """

    __slots__ = ("context", "execution", "id", "job", "reported", "timer", "version")

    execution: Execution

    def __init__(
        self,
        job: Job,
        worker: str,
        started_at: int,
        timeout: int | None,
        now: Callable[[], int],
        reader: PromiseReader | None = None,
    ) -> None:
        self.job = job
        self.id = job.id
        self.version = job.version
        self.context = JobContext(job, worker, started_at, timeout, now, reader)
        self.timer: asyncio.TimerHandle | None = None
        self.reported = False  # whether its outcome was reported, or is to be ignored


#: How attempts ended.
Ended = list[tuple[Attempt, Outcome]]


class Execution:
    """One call of a handler, in one slot, for the attempt of one job.

    Args:
        attempts: The attempts that it is for.
        task: The handler; None: their type has none.
        scope: The context variables of the call and of its middleware.
    """

    __slots__ = ("attempts", "begun", "finishing", "handle", "scope", "task")

    is_batch = False

    def __init__(self, attempts: list[Attempt], task: WorkerTask[Any, Any] | None, scope: Context) -> None:
        self.attempts = attempts
        self.task = task
        self.scope = scope
        self.handle: asyncio.Task[None] | None = None  # the task of an asynchronous handler
        self.finishing: asyncio.Task[Any] | None = None  # awaits, in a loop, what a handler in a thread has returned
        self.begun = False  # whether the handler has begun, so that a cancellation reaches it
        for attempt in attempts:
            attempt.execution = self

    @property
    def is_async(self) -> bool:
        """Whether it runs in an event loop; otherwise in a thread."""
        return self.task is not None and self.task.is_async

    @property
    def is_workflow(self) -> bool:
        """Whether its handler is a workflow."""
        return self.task is not None and self.task.is_workflow

    def run(self, middleware: Iterable[Middleware], finish: Finish) -> Ended:
        """Call a synchronous handler in the scope. This never raises, so that the slot always becomes free.

        Args:
            middleware: Runs around it.
            finish: Awaits the awaitable that a wrapper of an asynchronous function returns.
        """
        try:
            return call_in(self.scope, self._run, middleware, finish)
        except BaseException as error:
            return self.broken(error)

    def _run(self, middleware: Iterable[Middleware], finish: Finish) -> Ended:
        self.begun = True
        context = self._context()
        return self._ended(context, None if context is None else _call(context, self.task, middleware, finish))

    async def run_async(self, middleware: Iterable[Middleware]) -> Ended:
        """Call a handler in an event loop. This never raises. Create the task of this call in the scope."""
        self.begun = True
        try:
            own_decimals()
            context = self._context()
            return self._ended(context, None if context is None else await _call_async(context, self.task, middleware))
        except BaseException as error:
            return self.broken(error)

    def _context(self) -> Any:
        """Return the argument of the handler; None if it is not called, because its attempt was called off while it waited."""
        context = self.attempts[0].context
        return context if context.reason is None and self.task is not None else None

    def _ended(self, context: Any, raised: BaseException | None) -> Ended:
        """Return the outcome of each attempt: the handler has returned or raised, or was not called."""
        attempt = self.attempts[0]
        if self.task is None:
            outcome = _put_back(attempt.context)
        elif context is None:
            outcome = called_off(attempt.context.reason or "cancelled")
        elif raised is None:
            outcome = _returned(context, context.result)
        else:
            outcome = _raised(context, raised, self.task)
        return [(attempt, outcome)]

    def broken(self, error: BaseException) -> Ended:
        """Return the outcome of each attempt, if the call itself failed."""
        outcome = unwritable(error)
        return [(attempt, outcome) for attempt in self.attempts]

    @property
    def awaits(self) -> list[str]:
        """The ids that the handler waits for."""
        return list(self.scope.get(awaits) or ())

    @property
    def over(self) -> str | None:
        """Why no attempt is wanted any more, although the handler may still run; None: an attempt is wanted."""
        reasons = [attempt.context.reason for attempt in self.attempts]
        return reasons[0] if reasons and all(reasons) else None

    def cancel_if_unwanted(self) -> None:
        """Cancel the tasks in the loop, if all attempts were called off."""
        if all(attempt.context.reason is not None for attempt in self.attempts):
            if self.begun and self.handle is not None:
                self.handle.cancel()
            if self.finishing is not None:
                self.finishing.cancel()


class BatchExecution(Execution):
    """One call of a handler of batches, for the attempts of a batch."""

    __slots__ = ("left_out",)

    is_batch = True
    task: BatchTask[Any, Any]

    def _context(self) -> BatchContext | None:
        """Leave out the jobs that were called off while they waited, and those whose payload cannot be read."""
        self.left_out: list[Outcome | None] = []
        jobs, payloads = [], []
        for context in (attempt.context for attempt in self.attempts):
            outcome = None
            if context.reason is not None:
                outcome = called_off(context.reason)
            else:
                try:
                    payloads.append(self.task.read(context))
                    jobs.append(context)
                except Exception as error:
                    outcome = outcome_of(error, self.task.retries)
                    context.cancel("unreadable")  # so that the batch is not wanted because of it
            self.left_out.append(outcome)
        return BatchContext(jobs, payloads) if jobs else None

    def _ended(self, context: BatchContext | None, raised: BaseException | None) -> Ended:
        outcomes = iter(() if context is None else _outcomes(self.task, context, raised))
        together = zip(self.attempts, self.left_out, strict=True)
        return [(attempt, next(outcomes) if outcome is None else outcome) for attempt, outcome in together]


def begin(
    item: WorkItem,
    tasks: Tasks,
    worker: str,
    started_at: int,
    now: Callable[[], int],
    scope: Context,
    reader: PromiseReader | None = None,
    workflows: Any = None,
) -> Execution:
    """Begin the attempts of a work item: the shorter timeout holds, of the job and of the task.

    Args:
        item: The jobs.
        tasks: The handlers by type.
        worker: The name of the worker.
        started_at: The present instant, in Unix ms.
        now: Returns the present instant, later.
        scope: The context variables of the worker's start, of which the call gets a copy.
        reader: Reads what the jobs waited for.
        workflows: What the workflows of the worker share.
    """
    task = tasks.get(item[0].type)
    of_task = None if task is None else task.timeout
    attempts = []
    for job in item:
        timeout = job.timeout
        if of_task is not None:
            timeout = of_task if timeout is None else min(timeout, of_task)
        attempts.append(Attempt(job, worker, started_at, timeout, now, reader))
    if task is not None and task.is_workflow:
        for attempt in attempts:
            attempt.context.workflows = workflows
    own = scope.copy()
    own.run(awaits.set, [])
    return BatchExecution(attempts, task, own) if isinstance(task, BatchTask) else Execution(attempts, task, own)


def _manager(middleware: Middleware, made: Any) -> AbstractContextManager[Any]:
    """Return what a middleware has returned.

    Raises:
        TypeError: It is no context manager.
    """
    if hasattr(type(made), "__enter__") and hasattr(type(made), "__exit__"):
        manager: AbstractContextManager[Any] = made
        return manager
    close_coroutine(made)
    hint = ": it runs around asynchronous handlers too, and must be synchronous" if _is_async(made) else ""
    raise TypeError(f"middleware must return a context manager, got {made!r} from {middleware!r}{hint}")


def _is_async(made: Any) -> bool:
    return inspect.isawaitable(made) or inspect.isasyncgen(made) or hasattr(type(made), "__aenter__")


@contextmanager
def _inside(middleware: Iterable[Middleware], context: JobContext | BatchContext) -> Iterator[None]:
    """Enter the middleware, the outermost first."""
    with ExitStack() as around:
        for each in middleware:
            around.enter_context(_manager(each, each(context)))
        yield


async def awaited(made: Awaitable[Any]) -> Awaited:
    """Await what a handler has returned. This never raises."""
    try:
        return await awaited_here(made), None, copy_context()
    except BaseException as error:
        return None, error, copy_context()


def _finished(made: Any, finish: Finish) -> Any:
    """Return the result of a handler in a thread. If it is awaitable, it is awaited in the loop."""
    if made is None or not inspect.isawaitable(made):
        return made
    try:
        result, error, scope = finish(awaited(made))
    except BaseException:
        close_coroutine(made)
        raise
    adopt(scope)
    if error is not None:
        raise error
    return result


def _call(context: JobContext | BatchContext, task: Any, middleware: Iterable[Middleware], finish: Finish) -> BaseException | None:
    """Call a handler inside of its middleware. Return the exception that it raised, even a SystemExit."""
    token = current.set(context)
    invoke = task.run_job if task.is_workflow else task.invoke
    try:
        if not middleware:  # nothing is entered, which is faster
            context.result = _finished(invoke(context), finish)
        else:
            with _inside(middleware, context):
                context.result = _finished(invoke(context), finish)
    except BaseException as error:
        return error
    finally:
        current.reset(token)
    return None


async def _invoked(context: Any, task: Any) -> Any:
    if task.is_workflow:
        return await task.run_job(context)
    if task.handler.takes_dependencies:
        await context.dependencies
    made = task.invoke(context)
    if type(made) is types.CoroutineType:  # most of them
        return await made
    return await awaited_here(made) if inspect.isawaitable(made) else made


async def _call_async(context: JobContext | BatchContext, task: Any, middleware: Iterable[Middleware]) -> BaseException | None:
    """Do as `_call`, in an event loop. A cancellation is returned, too."""
    token = current.set(context)
    try:
        if not middleware:  # nothing is entered, which is faster
            context.result = await _invoked(context, task)
        else:
            with _inside(middleware, context):
                context.result = await _invoked(context, task)
    except BaseException as error:
        return error
    finally:
        current.reset(token)
    return None


def _put_back(context: JobContext) -> Outcome:
    """Return the outcome of an attempt without a handler, and report the reason once for all such attempts in a row."""
    snoozed = streak(context.job.attempts)
    outcome = unknown_type(context.worker, context.type, len(snoozed))
    assert outcome.failure is not None
    first = snoozed[-1]["number"] if snoozed else context.attempt
    if len(snoozed) == len(context.job.attempts) - 1:  # the store may not keep earlier attempts
        first = 1
    lines = (context.job.report or {}).get("lines", ())
    if not any(line["text"] == outcome.failure.message and line["attempt"] >= first for line in lines):
        context.report(outcome.failure.message)
    return outcome


def _returned(context: JobContext, result: Any) -> Outcome:
    """Return the outcome of a handler that returned. If its time was over, it may have returned before its work was done."""
    if type(result) is Outcome:  # of a workflow
        return result
    if context.reason == "timeout":
        return TIMED_OUT
    refused = no_result(result)
    if refused is not None:
        return Outcome("failed", failure=Failure(refused.code, as_text(refused.message), retryable=False))
    return COMPLETED if result is None else Outcome("completed", result)


def _raised(context: JobContext, error: BaseException, task: WorkerTask[Any, Any]) -> Outcome:
    """Return the outcome of a handler that raised. If it raised because it was called off, that reason decides."""
    if context.reason is not None and was_called_off(error):
        return called_off(context.reason)
    return outcome_of(error, task.retries)


def _outcomes(task: BatchTask[Any, Any], batch: BatchContext, error: BaseException | None) -> list[Outcome]:
    """Return the outcome of each job of a batch."""
    if error is not None:  # all jobs share one outcome, except those that were called off before
        shared = outcome_of(error, task.retries)
        by_call = was_called_off(error)
        return [called_off(job.reason) if by_call and job.reason is not None else shared for job in batch]
    results: Any = batch.result
    if results is None:
        results = [None] * len(batch)
    elif not isinstance(results, list) or len(results) != len(batch):
        got = f"a list of {len(results)}" if isinstance(results, list) else type(results).__name__
        message = f"a handler of batches must return None or a list of a result for each of its {len(batch)} jobs, got {got}"
        invalid = Outcome("failed", failure=Failure("InvalidResult", message, retryable=False))
        return [TIMED_OUT if job.reason == "timeout" else invalid for job in batch]
    outcomes = []
    for job, result in zip(batch, results, strict=True):
        if isinstance(result, BaseException):
            outcomes.append(_raised(job, result, task))
        else:
            job.result = result
            outcomes.append(_returned(job, result))
    return outcomes
