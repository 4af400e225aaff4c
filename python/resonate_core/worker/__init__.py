"""Workers for jobs: Python functions that a store's jobs run.

A `Worker` claims jobs from queues of a store in this process or of a server, runs them in threads or in an event loop, renews
their leases, and reports their outcomes. With a `resonate_core.ManualClock` the same worker runs in a drain mode, without a
thread and without sleep.

Example:
    >>> import resonate_core as rc
    >>> from resonate_core.worker import Retry, Worker
    >>> clock = rc.ManualClock()
    >>> store = rc.Store(clock=clock)
    >>> worker = Worker(store)
    >>> @worker.task("invoice:fetch")
    ... def fetch(number):
    ...     if clock.now < 60_000:
    ...         raise Retry(after=60_000)
    ...     return f"invoice {number}"
    >>> job = fetch.enqueue(7)
    >>> [(run.at, run.outcome) for run in worker.run_until_idle(advance=True)]
    [(0, 'failed'), (60000, 'completed')]
    >>> store.jobs.get(job.id).result.json()
    'invoice 7'
"""

from __future__ import annotations

from .._core import Job as JobRecord
from ..base.log_lines import escape_lines
from ..calls.graph_nodes import NodeOptions
from .context import BatchContext, JobContext, current_batch, current_job
from .dependencies import Dependencies
from .drain import Drained, DrainedRun
from .events import JobEvent
from .graphs import WorkerGraph, chain
from .options import JobOptions, JobsOptions, PeriodicOptions, TaskOptions
from .outcomes import Failure, JobCancelled, JobError, Retry, Skip, Snooze
from .periodic import Periodic
from .reporting import Counts
from .tasks import BatchTask, WorkerTask
from .worker import Worker

__all__ = [
    "BatchContext",
    "BatchTask",
    "Counts",
    "Dependencies",
    "Drained",
    "DrainedRun",
    "Failure",
    "JobCancelled",
    "JobContext",
    "JobError",
    "JobEvent",
    "JobOptions",
    "JobRecord",
    "JobsOptions",
    "NodeOptions",
    "Periodic",
    "PeriodicOptions",
    "Retry",
    "Skip",
    "Snooze",
    "TaskOptions",
    "Worker",
    "WorkerGraph",
    "WorkerTask",
    "chain",
    "current_batch",
    "current_job",
]

escape_lines("resonate_core.worker")
