"""The attempt, or the attempts of a batch, for its handler."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from .._core import Job, Value
from .dependencies import Dependencies, PromiseReader
from .outcomes import JobCancelled
from .report_buffer import ReportBuffer

__all__ = ["BatchContext", "JobContext", "current", "current_batch", "current_job"]

_first_report = threading.Lock()
current: ContextVar[JobContext | BatchContext | None] = ContextVar("resonate_core_job", default=None)


class JobContext:
    """The attempt that is under way: its job, and whether it is still wanted.

    A handler gets it through a parameter with this annotation, and anything that the handler calls through `current_job`. A thread
    cannot be stopped from outside: let a long synchronous handler call `check` regularly, or read `cancelled`, clean up and raise
    `JobCancelled`. If a handler returns, the worker takes its job as completed.

    Attributes:
        job: The job's record as it was claimed.
        started_at: When this attempt began, in Unix ms.
        timeout: How long it may take, in ms; None: not limited.
        worker: The name of the worker.
        result: What the handler returned, for middleware.
        stopping: Whether the worker is stopping; the attempt may run until the grace of the worker is over.
        progress: The reports of this attempt; None: there are none.
        notify: Called by each `report`; None: the worker finds the reports by itself.
        workflows: What the workflows of the worker share; None: the job is none.
        trace: Opens spans below that of this attempt; None: it has none.

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

    __slots__ = (
        "_dependencies",
        "_now",
        "_reader",
        "job",
        "notify",
        "progress",
        "reason",
        "result",
        "started_at",
        "stopping",
        "timeout",
        "trace",
        "worker",
        "workflows",
    )

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
        self.worker = worker
        self.started_at = started_at
        self.reason: str | None = None
        self.result: Any = None
        self.stopping = False
        self.timeout = timeout
        self.progress: ReportBuffer | None = None
        self.notify: Callable[[], None] | None = None
        self._now = now
        self._reader = reader
        self._dependencies: Dependencies[Any] | None = None
        self.workflows: Any = None
        self.trace: Any = None

    def __repr__(self) -> str:
        return f"JobContext(id={self.id!r}, type={self.type!r}, attempt={self.attempt}, reason={self.reason!r})"

    @property
    def id(self) -> str:
        """The id of the job. It is the same in every attempt, so that it can be the key of an effect that must happen only once."""
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
    def payload(self) -> Value:
        """The payload, or what `start_over` has given to this run."""
        args = self.job.args
        return self.job.payload if args is None else args

    def now(self) -> int:
        """The present instant of the store, in Unix ms."""
        return self._now()

    @property
    def dependencies(self) -> Dependencies[Any]:
        """The results of what the job waited for (its ``after``), by id or, in a graph, by name.

        All are read by one request when the first is asked for: ``await`` them first in an asynchronous handler.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> parse = worker.task("csv:parse")(lambda rows: sum(rows))
            >>> @worker.task("csv:load")
            ... def load(job: rc.worker.JobContext):
            ...     return f"{job.dependencies['parse']} rows"
            >>> graph = worker.graph("order-7")
            >>> _ = graph.add("parse", parse, [1, 2])
            >>> _ = graph.add("load", load, after="parse")
            >>> _ = graph.enqueue()
            >>> [(run.id, run.result) for run in worker.run_until_idle()]
            [('order-7:parse', 3), ('order-7:load', '3 rows')]
        """
        if self._dependencies is None:
            self._dependencies = Dependencies(self.job, self._reader)
        return self._dependencies

    @property
    def retry_count(self) -> int:
        """How many retries were used before this attempt."""
        return self.job.retry_count

    @property
    def attempt(self) -> int:
        """The number of this attempt, from 1. Snoozed and crashed attempts count, too, so it may exceed the retries by more than 1."""
        attempts = self.job.attempts
        if not attempts:
            return 1
        number: int = attempts[-1]["number"]
        return number if self.job.state == "running" else number + 1

    @property
    def deadline(self) -> int | None:
        """The instant at which the timeout of the attempt or the deadline of the job ends it, in Unix ms; None: neither is set."""
        whole = self.job.deadline
        if self.timeout is None:
            return whole
        end = self.started_at + self.timeout
        return end if whole is None else min(end, whole)

    @property
    def cancelled(self) -> bool:
        """Whether the handler must stop: the job was cancelled or lost, its time is over, or the grace of a stopping worker is over."""
        if self.reason is None:
            end = self.deadline
            if end is None or self._now() < end:
                return False
            self.reason = "timeout"
        return True

    def check(self) -> None:
        """Raise if the handler is to stop.

        Raises:
            JobCancelled: `cancelled` is true; the exception says why.

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

    def report(self, text: str | None = None, *, progress: float | None = None) -> None:
        """Report the progress, and lines for the job's log. `resonate_core.Job.report` and the dashboard show both.

        It returns at once. The worker sends the report within about a second, and always before the outcome of the attempt. A job
        keeps its newest 100 lines.

        Args:
            text: A line, or several. A line is cut after 1000 bytes; blank lines are left out.
            progress: The part that is done, 0 to 1. None: unchanged.

        Raises:
            TypeError: The text is no str, or the progress no number.
            Invalid: The progress is out of bounds.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> worker = rc.worker.Worker(store)
            >>> @worker.task("import")
            ... def load(rows, job: rc.worker.JobContext):
            ...     for done, row in enumerate(rows, start=1):
            ...         job.report(f"row {row}", progress=done / len(rows))
            >>> id = load.enqueue(["a", "b"], retention="kept").id
            >>> _ = worker.run_until_idle()
            >>> report = store.jobs.get(id).report
            >>> report["progress"], [line["text"] for line in report["lines"]]
            (1.0, ['row a', 'row b'])
        """
        with _first_report:  # its handler may report in several threads
            if self.progress is None:
                self.progress = ReportBuffer()
        if self.progress.add(progress, text) and self.notify is not None:
            self.notify()

    def cancel(self, reason: str) -> None:
        """Call the attempt off. If it was called off before, its first reason stays."""
        if self.reason is None:
            self.reason = reason


class BatchContext:
    """The attempts that are under way together: their jobs, and which of them are still wanted.

    A handler of `Worker.batch_task` gets it through a parameter with this annotation, and anything that the handler calls through
    `current_batch`; middleware gets it in place of a `JobContext`. Iteration yields the context of each job, in the order of the
    payloads. If a job is cancelled, lost or out of time, its own context is `cancelled` and its result is ignored; the others
    continue. Once no job is wanted, the batch itself is `cancelled`.

    Attributes:
        jobs: The context of each job.
        payloads: The payloads for the handler, one for each job.
        result: What the handler returned, for middleware.

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
        """The id of the batch; of a job without a batch, its own id."""
        job = self.jobs[0].job
        return job.id if job.batch is None else job.batch

    @property
    def group(self) -> str | None:
        """The group of the jobs; None: the job has no group."""
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
        """Whether the worker is stopping; the batch may run until the grace of the worker is over."""
        return self.jobs[0].stopping

    @property
    def deadline(self) -> int | None:
        """The latest `deadline` of its jobs, in Unix ms; None: a job has none."""
        ends = [job.deadline for job in self.jobs]
        known = [end for end in ends if end is not None]
        return max(known) if len(known) == len(ends) else None

    @property
    def wanted(self) -> list[JobContext]:
        """The jobs that are still wanted."""
        return [job for job in self.jobs if not job.cancelled]

    @property
    def cancelled(self) -> bool:
        """Whether the handler must stop, since no job is wanted any more. The reasons of the jobs may differ."""
        return all(job.cancelled for job in self.jobs)

    @property
    def reason(self) -> str | None:
        """Why the first job is not wanted any more; None while any job is wanted."""
        return self.jobs[0].reason if all(job.reason is not None for job in self.jobs) else None

    def check(self) -> None:
        """Raise if the handler is to stop.

        Raises:
            JobCancelled: `cancelled` is true.

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


def current_job() -> JobContext:
    """Return the attempt of the handler that calls this, in its thread or asyncio task. In a batch, use `current_batch`.

    Raises:
        LookupError: No handler of single jobs calls this.

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


def current_batch() -> BatchContext:
    """Return the batch of the handler that calls this, in its thread or asyncio task.

    Raises:
        LookupError: No handler of batches calls this.

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
