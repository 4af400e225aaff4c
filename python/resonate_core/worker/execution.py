"""The body of a job, run between what stands around it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from .batches import BatchContext
from .context import JobContext, current
from .outcomes import DROPPED, PUT_BACK, TIMED_OUT, Failure, JobCancelled, Verdict, judged
from .tasks import BatchTask, WorkerTask

__all__ = ["Middleware", "as_middleware", "called_off", "execute", "execute_async", "execute_batch", "execute_batch_async"]

#: Of a `JobContext`, or of the `BatchContext` of a batch.
Middleware = Callable[[Any], AbstractContextManager[Any]]


def as_middleware(around: Any) -> Middleware:
    """A function that gives a context manager; a generator function becomes one.

    Raises:
        TypeError: It is neither.
    """
    if inspect.isgeneratorfunction(around):
        return contextmanager(around)
    if not callable(around) or inspect.iscoroutinefunction(around) or inspect.isasyncgenfunction(around):
        raise TypeError(
            f"a middleware is a generator function of one yield, or gives a context manager for a job, unlike {around!r}"
        )
    made: Middleware = around
    return made


def _over(context: JobContext, error: BaseException, task: WorkerTask[Any, Any]) -> Verdict:
    """What an attempt comes to that ended in an exception: where it was called off, why counts."""
    if context.reason is None or not isinstance(error, (JobCancelled, asyncio.CancelledError)):
        return judged(error, task)
    return called_off(context.reason)


def called_off(reason: str) -> Verdict:
    """What an attempt comes to that was of no use any more."""
    if reason == "timeout":
        return TIMED_OUT
    return PUT_BACK if reason == "stopping" else DROPPED


def _done(context: JobContext, result: Any) -> Verdict:
    """What an attempt comes to whose body returned: one that was told that its time is over may have left halfway."""
    return TIMED_OUT if context.reason == "timeout" else Verdict("completed", result)


def _run(task: WorkerTask[Any, Any], context: JobContext | BatchContext, middleware: Iterable[Middleware]) -> BaseException | None:
    """Runs a synchronous body in this thread; what it raised, whatever that is."""
    token = current.set(context)
    try:
        if middleware:
            with ExitStack() as around:
                for each in middleware:
                    around.enter_context(each(context))
                context.result = task.invoke(context)
        else:
            context.result = task.invoke(context)
    except BaseException as error:
        return error
    finally:
        current.reset(token)
    return None


async def _run_async(
    task: WorkerTask[Any, Any], context: JobContext | BatchContext, middleware: Iterable[Middleware]
) -> BaseException | None:
    """Runs an asynchronous body in this task; what it raised, a cancellation too."""
    token = current.set(context)
    try:
        if middleware:
            with ExitStack() as around:
                for each in middleware:
                    around.enter_context(each(context))
                context.result = await task.invoke(context)
        else:
            context.result = await task.invoke(context)
    except BaseException as error:
        return error
    finally:
        current.reset(token)
    return None


def execute(task: WorkerTask[Any, Any], context: JobContext, middleware: Iterable[Middleware]) -> Verdict:
    """Runs a synchronous handler in this thread. It never raises: a body that calls sys.exit() has failed."""
    error = _run(task, context, middleware)
    return _done(context, context.result) if error is None else _over(context, error, task)


async def execute_async(task: WorkerTask[Any, Any], context: JobContext, middleware: Iterable[Middleware]) -> Verdict:
    """Runs an asynchronous handler in this task; a cancellation of the task ends it, and its reason is the context's."""
    error = await _run_async(task, context, middleware)
    return _done(context, context.result) if error is None else _over(context, error, task)


# -- batches --------------------------------------------------------------------------------------------------------------


def execute_batch(task: BatchTask[Any, Any], jobs: Sequence[JobContext], middleware: Iterable[Middleware]) -> list[Verdict]:
    """As `execute`, for the jobs of a batch: what each comes to, in their order."""
    batch, left_out = _taking_part(task, jobs)
    error = _run(task, batch, middleware) if batch.jobs else None
    return _verdicts(task, batch, left_out, error)


async def execute_batch_async(
    task: BatchTask[Any, Any], jobs: Sequence[JobContext], middleware: Iterable[Middleware]
) -> list[Verdict]:
    """As `execute_async`, for the jobs of a batch."""
    batch, left_out = _taking_part(task, jobs)
    error = await _run_async(task, batch, middleware) if batch.jobs else None
    return _verdicts(task, batch, left_out, error)


def _taking_part(task: BatchTask[Any, Any], jobs: Sequence[JobContext]) -> tuple[BatchContext, list[Verdict | None]]:
    """The batch of those that the body is for; what becomes of the others, and None for each of these."""
    left_out: list[Verdict | None] = []
    chosen, payloads = [], []
    for job in jobs:
        if job.reason is not None:  # it was called off while it waited
            left_out.append(called_off(job.reason))
            continue
        try:
            payloads.append(task.read(job))
        except Exception as error:
            left_out.append(judged(error, task))
            job.cancel("unreadable")  # nobody waits for it, nor is the body cancelled for its sake
        else:
            left_out.append(None)
            chosen.append(job)
    return BatchContext(chosen, payloads), left_out


def _verdicts(
    task: BatchTask[Any, Any], batch: BatchContext, left_out: list[Verdict | None], error: BaseException | None
) -> list[Verdict]:
    ends = iter(_results(task, batch) if error is None else _failed(task, batch, error))
    return [next(ends) if verdict is None else verdict for verdict in left_out]


def _results(task: BatchTask[Any, Any], batch: BatchContext) -> list[Verdict]:
    """What the jobs of a batch come to whose body returned."""
    results: Any = batch.result
    if results is None:
        results = [None] * len(batch)
    elif not isinstance(results, list) or len(results) != len(batch):
        told = f"a list of {len(results)}" if isinstance(results, list) else type(results).__name__
        message = f"a handler of batches returns None or a list of a result for each of its {len(batch)} jobs, unlike {told}"
        invalid = Verdict("failed", failure=Failure("InvalidResult", message, retryable=False))
        return [TIMED_OUT if job.reason == "timeout" else invalid for job in batch]
    verdicts = []
    for job, result in zip(batch, results, strict=True):
        if isinstance(result, BaseException):
            verdicts.append(_over(job, result, task))
        else:
            job.result = result
            verdicts.append(_done(job, result))
    return verdicts


def _failed(task: BatchTask[Any, Any], batch: BatchContext, error: BaseException) -> list[Verdict]:
    """What the jobs of a batch come to whose body raised: one and the same, but for those that were called off before."""
    shared = judged(error, task)
    ended_by_call = isinstance(error, (JobCancelled, asyncio.CancelledError))
    return [called_off(job.reason) if ended_by_call and job.reason is not None else shared for job in batch]
