"""What the workflows of one worker share: threads for steps, a limit of steps, and the runs that are parked."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Protocol

from ..._core import Job
from ..job_source import JobSource
from .steps_under_way import StepsUnderWay

__all__ = ["MOST_PARKED", "ParkedRun", "WorkflowSupport"]

#: The most runs whose coroutines stay in memory while their jobs wait.
MOST_PARKED = 1000


class ParkedRun(Protocol):
    """A run whose coroutines stay in memory while its job waits."""

    job: Job
    version: int
    scopes: dict[str, Any]

    def drop(self) -> None:
        """Unwind its coroutines."""


class WorkflowSupport:
    """What the workflows of one worker share.

    Attributes:
        thread_slot: Bounds the steps that `def` workflows run at once in threads of their own.
        under_way: The steps that run.
        cleanups: What the cleanup of dropped runs awaits.

    Args:
        client: Of their jobs.
        steps: How many steps run at once.
        live: Whether time passes by itself: then a failing store is tried again, and coroutines stay in memory while their jobs wait.
            A drain replays instead, so that a test finds code that is not deterministic.
        beside: Whether synchronous steps run in threads.
        name: Of the worker, for its threads.
        later: As of `StepsUnderWay`.
    """

    def __init__(
        self,
        client: JobSource,
        steps: int,
        live: bool,
        beside: bool,
        name: str,
        later: Callable[[float, Callable[[], None]], object] | None = None,
    ) -> None:
        self.client = client
        self.live = live
        self.steps = steps
        self.under_way = StepsUnderWay(later)
        self._beside = beside and live
        self._name = name
        self._slot: asyncio.Semaphore | None = None
        self._threads: concurrent.futures.ThreadPoolExecutor | None = None
        self.thread_slot = threading.BoundedSemaphore(steps)
        self._parked: OrderedDict[str, ParkedRun] = OrderedDict()
        self.cleanups: set[asyncio.Task[None]] = set()

    @property
    def slot(self) -> asyncio.Semaphore:
        """Bounds the steps that run at once."""
        if self._slot is None:
            self._slot = asyncio.Semaphore(self.steps)
        return self._slot

    @property
    def threads(self) -> concurrent.futures.ThreadPoolExecutor | None:
        """The threads of synchronous steps; None: they run where they are called."""
        if self._threads is None and self._beside:
            self._threads = concurrent.futures.ThreadPoolExecutor(self.steps, thread_name_prefix=f"{self._name}-step")
        return self._threads

    def park(self, run: ParkedRun) -> None:
        """Keep a run whose job waits. The one that was not needed for longest goes, if there are too many."""
        older = self._parked.pop(run.job.id, None)
        if older is not None and older is not run:
            older.drop()
        if not self.live:
            run.drop()
            return
        self._parked[run.job.id] = run
        if len(self._parked) > MOST_PARKED:
            self._parked.popitem(last=False)[1].drop()

    def take(self, job: Job) -> Any:
        """Return the parked run of a job that was claimed; None: there is none, or others have run the job since, so it is dropped."""
        run = self._parked.pop(job.id, None)
        if run is None:
            return None
        if run.job.created_at == job.created_at and run.job.restarts == job.restarts and run.version + 1 == job.version:
            return run
        run.drop()
        return None

    async def drop_all(self, timeout: float | None = None) -> None:
        """Drop all runs, and wait for what their cleanup awaits.

        Args:
            timeout: Seconds; None: as long as it takes.
        """
        while self._parked:
            self._parked.popitem()[1].drop()
        if self.cleanups:
            await asyncio.wait(self.cleanups, timeout=timeout)

    def parked_code(self) -> list[Any]:
        """Return the coroutines of the runs that are parked."""
        return [scope.coroutine for run in self._parked.values() for scope in run.scopes.values()]

    def close(self) -> None:
        """Drop all runs, and end the threads."""
        while self._parked:
            self._parked.popitem()[1].drop()
        if self._threads is not None:
            self._threads.shutdown(wait=False)
