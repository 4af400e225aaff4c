"""The batch that is under way, as its body sees it: jobs of one group that were claimed together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from .context import JobContext, current
from .outcomes import JobCancelled

__all__ = ["BatchContext", "current_batch"]


class BatchContext:
    """The attempts that are under way together: their jobs, and which of them are still wanted.

    A handler of `Worker.batch_task` that has a parameter with this annotation is given it; anything that it calls has it from
    `current_batch`; middleware gets it in place of a `JobContext`. Iterated, it gives the context of each job, in the order of the
    payloads. A job that is cancelled, lost or out of time says so in its own context, and the others go on: what the body
    says of that one is of no interest any more. Once none is wanted, the batch itself is `cancelled`.

    Attributes:
        jobs: The context of each job.
        payloads: What the body gets, one for each job.
        result: What the body returned, once it has: for middleware.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> worker = rc.worker.Worker(store)
        >>> @worker.batch_task("index")
        ... def index(pages, batch: rc.worker.BatchContext):
        ...     return [None if job.cancelled else f"{job.id}: {page}" for job, page in zip(batch, pages)]
        >>> _ = index.enqueue("home", id="p1")
        >>> worker.run_until_idle().runs[0].result
        'p1: home'
    """

    __slots__ = ("jobs", "payloads", "result")

    def __init__(self, jobs: Sequence[JobContext], payloads: list[Any]) -> None:
        self.jobs = tuple(jobs)
        self.payloads = payloads
        self.result: Any = None

    def __repr__(self) -> str:
        return f"BatchContext(id={self.id!r}, type={self.type!r}, jobs={len(self)}, reason={self.reason!r})"

    def __len__(self) -> int:
        return len(self.jobs)

    def __iter__(self) -> Iterator[JobContext]:
        return iter(self.jobs)

    def __getitem__(self, index: int) -> JobContext:
        return self.jobs[index]

    @property
    def id(self) -> str:
        """The id of the batch; of a job that has none: the job's."""
        job = self.jobs[0].job
        return job.id if job.batch is None else job.batch

    @property
    def group(self) -> str | None:
        """What the jobs were gathered by; None: they were not."""
        return self.jobs[0].job.group

    @property
    def type(self) -> str:
        """The type of the jobs."""
        return self.jobs[0].type

    @property
    def queue(self) -> str:
        """The queue that they came from."""
        return self.jobs[0].queue

    @property
    def worker(self) -> str:
        """The name of the worker."""
        return self.jobs[0].worker

    @property
    def started_at(self) -> int:
        """When these attempts began, in Unix ms."""
        return self.jobs[0].started_at

    @property
    def stopping(self) -> bool:
        """Whether the worker is about to stop: the batch has until the end of its grace."""
        return self.jobs[0].stopping

    @property
    def deadline(self) -> int | None:
        """When the last of its jobs is over whatever happens, in Unix ms; None: never."""
        ends = [job.deadline for job in self.jobs]
        known = [end for end in ends if end is not None]
        return max(known) if len(known) == len(ends) else None

    @property
    def wanted(self) -> list[JobContext]:
        """The jobs that are still wanted."""
        return [job for job in self.jobs if not job.cancelled]

    @property
    def cancelled(self) -> bool:
        """Whether to stop: none of its jobs is wanted any more, each for its own reason."""
        return all(job.cancelled for job in self.jobs)

    @property
    def reason(self) -> str | None:
        """Why its first job is of no use any more; None as long as any is wanted."""
        return self.jobs[0].reason if all(job.reason is not None for job in self.jobs) else None

    def check(self) -> None:
        """Returns where any of its jobs is still wanted.

        Raises:
            JobCancelled: None is.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> worker = rc.worker.Worker(store)
            >>> @worker.batch_task("slow", timeout=1000, max_retries=0)
            ... def slow(payloads, batch: rc.worker.BatchContext):
            ...     for _ in payloads * 10:
            ...         batch.check()
            ...         _ = store.clock.advance(600)
            >>> _ = slow.enqueue()
            >>> worker.run_until_idle().runs[0].error.code, store.now
            ('TaskTimeout', 1200)
        """
        if self.cancelled:
            raise JobCancelled(self.reason or "cancelled")


def current_batch() -> BatchContext:
    """The batch whose body calls, in its thread or its asyncio task.

    Raises:
        LookupError: None does.

    Example:
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.batch_task("hello")
        ... def hello(names):
        ...     return [f"{name} of {len(rc.worker.current_batch())}" for name in names]
        >>> _ = hello.enqueue("ada")
        >>> worker.run_until_idle().runs[0].result
        'ada of 1'
    """
    context = current.get()
    if not isinstance(context, BatchContext):
        raise LookupError("no batch runs here")
    return context
