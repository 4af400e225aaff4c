"""What takes a slot of a worker, and how it is run: the attempt of a job, or those of a batch, which have one body."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .execution import Middleware, called_off, execute, execute_async, execute_batch, execute_batch_async
from .outcomes import Verdict, unknown_type
from .tasks import BatchTask
from .turn import Run

__all__ = ["BatchRun", "Body", "Ended", "run_body", "run_body_async", "runs_of"]


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
    def unwanted(self) -> bool:
        """Whether every attempt of it was called off."""
        return all(run.context.reason is not None for run in self.runs)


Body = Run | BatchRun
#: What the attempts of a body came to.
Ended = list[tuple[Run, Verdict]]


def runs_of(body: Body) -> list[Run]:
    """The attempts that it is."""
    return body.runs if isinstance(body, BatchRun) else [body]


def _beforehand(run: Run) -> Verdict | None:
    """What an attempt comes to that needs no body: nobody knows its type, or it was called off while it waited."""
    if run.task is None:
        return Verdict("failed", failure=unknown_type(run.context.worker, run.job.type))
    return None if run.context.reason is None else called_off(run.context.reason)


def run_body(body: Body, middleware: Iterable[Middleware]) -> Ended:
    """Runs it in this thread."""
    if isinstance(body, BatchRun):
        return list(zip(body.runs, execute_batch(body.task, [run.context for run in body.runs], middleware), strict=True))
    verdict = _beforehand(body)
    if verdict is None:
        assert body.task is not None
        verdict = execute(body.task, body.context, middleware)
    return [(body, verdict)]


async def run_body_async(body: Body, middleware: Iterable[Middleware]) -> Ended:
    """Runs it in this asyncio task."""
    if isinstance(body, BatchRun):
        verdicts = await execute_batch_async(body.task, [run.context for run in body.runs], middleware)
        return list(zip(body.runs, verdicts, strict=True))
    verdict = _beforehand(body)
    if verdict is None:
        assert body.task is not None
        verdict = await execute_async(body.task, body.context, middleware)
    return [(body, verdict)]
