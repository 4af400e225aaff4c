"""The options of a worker, and its other parts."""

from __future__ import annotations

from contextvars import Context
from dataclasses import dataclass

from .environment import Environment
from .job_source import JobSource, Queues, names_of
from .registry import Registry
from .reporting import Counts

__all__ = ["WorkerOptions", "WorkerParts"]


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """The options of a `Worker`, once they are checked. Leases are in ms; the poll interval, heartbeat and grace in seconds."""

    name: str
    queues: Queues
    concurrency: int
    lease: int
    run_lease: int
    strict: bool
    batch: int
    poll_interval: float
    heartbeat: float
    grace: float
    steps: int
    target_group: str | None = None

    def __str__(self) -> str:
        return f"<Worker {self.name!r} of {', '.join(names_of(self.queues))}>"


@dataclass(frozen=True, slots=True)
class WorkerParts:
    """The parts of a worker that its session, or its drain, works with.

    Attributes:
        scope: The context variables of its start. Each attempt and each call of a listener runs in a copy.
    """

    settings: WorkerOptions
    registry: Registry
    client: JobSource
    counts: Counts
    environment: Environment
    scope: Context
