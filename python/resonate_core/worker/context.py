"""The attempt that is under way, as its body sees it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from .outcomes import JobCancelled
from .records import JobRecord

if TYPE_CHECKING:
    from .batches import BatchContext

__all__ = ["JobContext", "current", "current_job"]

current: ContextVar[JobContext | BatchContext | None] = ContextVar("resonate_core_job", default=None)


class JobContext:
    """The attempt that is under way: its job, and whether it is still wanted.

    A handler that has a parameter with this annotation is given it; anything that it calls has it from `current_job`. A thread
    cannot be stopped from outside: the body of a synchronous handler that takes long calls `check` now and then, or looks at
    `cancelled` and raises `JobCancelled` when it has cleared up. One that just returns has done its work, as far as the worker
    knows.

    Attributes:
        job: The job's record as it was claimed.
        started_at: When this attempt began, in Unix ms.
        worker: The name of the worker.
        result: What the body returned, once it has: for middleware.
        stopping: Whether the worker is about to stop: the attempt has until the end of its grace.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> worker = rc.worker.Worker(store)
        >>> @worker.task("report")
        ... def report(payload, job: rc.worker.JobContext):
        ...     return f"attempt {job.attempt} of {job.id}, {job.deadline - job.started_at} ms"
        >>> _ = report.enqueue(id="r1", timeout=60_000)
        >>> worker.run_until_idle().runs[0].result
        'attempt 1 of r1, 60000 ms'
    """

    __slots__ = ("_now", "_timeout", "job", "reason", "result", "started_at", "stopping", "worker")

    def __init__(self, job: JobRecord, worker: str, started_at: int, timeout: int | None, now: Callable[[], int]) -> None:
        self.job = job
        self.worker = worker
        self.started_at = started_at
        self.reason: str | None = None
        self.result: Any = None
        self.stopping = False
        self._timeout = timeout
        self._now = now

    def __repr__(self) -> str:
        return f"JobContext(id={self.id!r}, type={self.type!r}, attempt={self.attempt}, reason={self.reason!r})"

    @property
    def id(self) -> str:
        """The id of the job, for what has to be done once: it is the same in every attempt."""
        return self.job.id

    @property
    def type(self) -> str:
        """The type of the job."""
        return self.job.type

    @property
    def queue(self) -> str:
        """The queue that it came from."""
        return self.job.queue

    @property
    def retry_count(self) -> int:
        """How many retries were used before this attempt."""
        return self.job.retry_count

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1. A snooze or a crash is an attempt too, so that it may be more than retries tell."""
        attempts = self.job.attempts
        if not attempts:
            return 1
        number: int = attempts[-1]["number"]
        return number if self.job.state == "running" else number + 1

    @property
    def deadline(self) -> int | None:
        """When the attempt is over whatever happens, in Unix ms: by its timeout or by the job's deadline; None: never."""
        whole = self.job.deadline
        if self._timeout is None:
            return whole
        end = self.started_at + self._timeout
        return end if whole is None else min(end, whole)

    @property
    def cancelled(self) -> bool:
        """Whether to stop: the job was cancelled or lost, the time is over, or the worker cannot wait any longer."""
        if self.reason is None:
            end = self.deadline
            if end is None or self._now() < end:
                return False
            self.reason = "timeout"
        return True

    def check(self) -> None:
        """Returns where the attempt is still wanted.

        Raises:
            JobCancelled: It is not; the exception says why.

        Example:
            >>> clock = rc.ManualClock()
            >>> worker = rc.worker.Worker(rc.Store(clock=clock))
            >>> @worker.task("slow", max_retries=0)
            ... def slow():
            ...     for part in range(10):
            ...         rc.worker.current_job().check()
            ...         _ = clock.advance(600)
            >>> _ = slow.enqueue(timeout=1000)
            >>> run = worker.run_until_idle().runs[0]
            >>> run.outcome, run.error.code, clock.now
            ('failed', 'TaskTimeout', 1200)
        """
        if self.cancelled:
            raise JobCancelled(self.reason or "cancelled")

    def cancel(self, reason: str) -> None:
        """Says that the attempt is of no use any more; the first reason stays."""
        if self.reason is None:
            self.reason = reason


def current_job() -> JobContext:
    """The job whose body calls, in its thread or its asyncio task; of a batch, see `current_batch`.

    Raises:
        LookupError: None does.

    Example:
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.task("hello")
        ... def hello():
        ...     return rc.worker.current_job().type
        >>> _ = hello.enqueue()
        >>> worker.run_until_idle().runs[0].result
        'hello'
    """
    context = current.get()
    if not isinstance(context, JobContext):
        raise LookupError("no job runs here" if context is None else "a batch of jobs runs here: see current_batch()")
    return context
