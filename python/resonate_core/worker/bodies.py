"""What takes a slot of a worker, and how it is run: the attempt of a job, or those of a batch, which have one body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .context import JobContext
from .execution import Middleware, called_off, execute, execute_async, execute_batch, execute_batch_async
from .outcomes import Verdict, unknown_type, unwritable
from .tasks import BatchTask
from .turn import Run

__all__ = ["BatchRun", "Body", "Ended", "broken", "run_body", "run_body_async", "runs_of"]


class BatchRun:
    """The attempts of a batch."""

    __slots__ = ("begun", "handle", "runs", "task")

    def __init__(self, runs: list[Run], task: BatchTask[Any, Any]) -> None:
        self.runs = runs
        self.task = task
        self.handle: Any = None
        self.begun = False
        for run in runs:
            run.together = self

    @property
    def contexts(self) -> list[JobContext]:
        """Those of its jobs."""
        return [run.context for run in self.runs]

    @property
    def unwanted(self) -> bool:
        """Whether every attempt of it was called off."""
        return all(run.context.reason is not None for run in self.runs)


Body = Run | BatchRun
#: What the attempts of a body came to.
Ended = list[tuple[Run, Verdict]]


def runs_of(body: Body) -> list[Run]:
    """The attempts that it is."""
    return body.runs if isinstance(body, BatchRun) else [body]


def run_body(body: Body, middleware: Iterable[Middleware]) -> Ended:
    """Runs it in this thread. It never raises: the slot must become free."""
    try:
        return _run(body, middleware)
    except BaseException as error:
        return broken(body, error)


def _run(body: Body, middleware: Iterable[Middleware]) -> Ended:
    if isinstance(body, BatchRun):
        return list(zip(body.runs, execute_batch(body.task, body.contexts, middleware), strict=True))
    if body.task is None:
        return _unknown(body)
    reason = body.context.reason  # it may have been called off while it waited
    return [(body, execute(body.task, body.context, middleware) if reason is None else called_off(reason))]


async def run_body_async(body: Body, middleware: Iterable[Middleware]) -> Ended:
    """Runs it in this asyncio task. It never raises."""
    try:
        return await _run_async(body, middleware)
    except BaseException as error:
        return broken(body, error)


async def _run_async(body: Body, middleware: Iterable[Middleware]) -> Ended:
    if isinstance(body, BatchRun):
        return list(zip(body.runs, await execute_batch_async(body.task, body.contexts, middleware), strict=True))
    if body.task is None:
        return _unknown(body)
    reason = body.context.reason
    return [(body, await execute_async(body.task, body.context, middleware) if reason is None else called_off(reason))]


def broken(body: Body, error: BaseException) -> Ended:
    """What its attempts come to where it cannot be said how they ended."""
    verdict = unwritable(error)
    return [(run, verdict) for run in runs_of(body)]


def _unknown(run: Run) -> Ended:
    return [(run, Verdict("failed", failure=unknown_type(run.context.worker, run.job.type)))]
