"""The body of a job, run between what stands around it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from .context import JobContext, current
from .outcomes import DROPPED, PUT_BACK, TIMED_OUT, JobCancelled, Verdict, judged
from .tasks import WorkerTask

__all__ = ["Middleware", "as_middleware", "called_off", "execute", "execute_async"]

Middleware = Callable[[JobContext], AbstractContextManager[Any]]


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


def _done(context: JobContext) -> Verdict:
    """What an attempt comes to whose body returned: one that was told that its time is over may have left halfway."""
    return TIMED_OUT if context.reason == "timeout" else Verdict("completed", context.result)


def execute(task: WorkerTask[Any, Any], context: JobContext, middleware: Iterable[Middleware]) -> Verdict:
    """Runs a synchronous handler in this thread. It never raises: a body that calls sys.exit() has failed."""
    token = current.set(context)
    try:
        if middleware:
            with ExitStack() as around:
                for each in middleware:
                    around.enter_context(each(context))
                context.result = task.invoke(context)
        else:
            context.result = task.invoke(context)
        return _done(context)
    except BaseException as error:
        return _over(context, error, task)
    finally:
        current.reset(token)


async def execute_async(task: WorkerTask[Any, Any], context: JobContext, middleware: Iterable[Middleware]) -> Verdict:
    """Runs an asynchronous handler in this task; a cancellation of the task ends it, and its reason is the context's."""
    token = current.set(context)
    try:
        if middleware:
            with ExitStack() as around:
                for each in middleware:
                    around.enter_context(each(context))
                context.result = await task.invoke(context)
        else:
            context.result = await task.invoke(context)
        return _done(context)
    except BaseException as error:
        return _over(context, error, task)
    finally:
        current.reset(token)
