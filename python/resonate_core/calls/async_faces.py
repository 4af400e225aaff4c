"""The methods of `Store.aio` and of `Client.aio`."""

from __future__ import annotations

from .._core import Jobs as CoreJobs, Promises as CorePromises, Queues as CoreQueues, Schedules as CoreSchedules, Tasks as CoreTasks
from .faces import AsyncFace, awaited
from .graph import AsyncGraph

__all__ = ["AsyncJobs", "AsyncPromises", "AsyncQueues", "AsyncSchedules", "AsyncTasks"]


class AsyncPromises(AsyncFace):
    """The calls of `Store.promises`, for asyncio."""

    __slots__ = ()

    create = awaited(CorePromises.create)
    get = awaited(CorePromises.get)
    resolve = awaited(CorePromises.resolve)
    reject = awaited(CorePromises.reject)
    cancel = awaited(CorePromises.cancel)
    register_callback = awaited(CorePromises.register_callback)
    register_listener = awaited(CorePromises.register_listener)
    search = awaited(CorePromises.search)


class AsyncTasks(AsyncFace):
    """The calls of `Store.tasks`, for asyncio."""

    __slots__ = ()

    create = awaited(CoreTasks.create)
    get = awaited(CoreTasks.get)
    acquire = awaited(CoreTasks.acquire)
    release = awaited(CoreTasks.release)
    fulfill = awaited(CoreTasks.fulfill)
    suspend = awaited(CoreTasks.suspend)
    fence_create = awaited(CoreTasks.fence_create)
    fence_settle = awaited(CoreTasks.fence_settle)
    heartbeat = awaited(CoreTasks.heartbeat)
    halt = awaited(CoreTasks.halt)
    resume = awaited(CoreTasks.resume)
    search = awaited(CoreTasks.search)


class AsyncSchedules(AsyncFace):
    """The calls of `Store.schedules`, for asyncio."""

    __slots__ = ()

    create = awaited(CoreSchedules.create)
    get = awaited(CoreSchedules.get)
    delete = awaited(CoreSchedules.delete)
    pause = awaited(CoreSchedules.pause)
    resume = awaited(CoreSchedules.resume)
    search = awaited(CoreSchedules.search)


class AsyncJobs(AsyncFace):
    """The calls of `Store.jobs`, for asyncio."""

    __slots__ = ()

    enqueue = awaited(CoreJobs.enqueue)
    get = awaited(CoreJobs.get)
    claim = awaited(CoreJobs.claim)
    start = awaited(CoreJobs.start)
    start_many = awaited(CoreJobs.start_many)
    heartbeat = awaited(CoreJobs.heartbeat)
    complete = awaited(CoreJobs.complete)
    complete_many = awaited(CoreJobs.complete_many)
    fail = awaited(CoreJobs.fail)
    release = awaited(CoreJobs.release)
    snooze = awaited(CoreJobs.snooze)
    report = awaited(CoreJobs.report)
    suspend = awaited(CoreJobs.suspend)
    record = awaited(CoreJobs.record)
    receive = awaited(CoreJobs.receive)
    send = awaited(CoreJobs.send)
    history = awaited(CoreJobs.history)
    start_over = awaited(CoreJobs.start_over)
    fork = awaited(CoreJobs.fork)
    cancel = awaited(CoreJobs.cancel)
    run = awaited(CoreJobs.run)
    archive = awaited(CoreJobs.archive)
    delete = awaited(CoreJobs.delete)
    cancel_all = awaited(CoreJobs.cancel_all)
    run_all = awaited(CoreJobs.run_all)
    archive_all = awaited(CoreJobs.archive_all)
    delete_all = awaited(CoreJobs.delete_all)
    search = awaited(CoreJobs.search)

    def graph(self, id: str | None = None) -> AsyncGraph:
        """Return an empty graph of jobs: see `resonate_core.Graph`.

        Args:
            id: Of the graph; None: a random one.
        """
        return AsyncGraph(self._runner, id)


class AsyncQueues(AsyncFace):
    """The calls of `Store.queues`, for asyncio."""

    __slots__ = ()

    set = awaited(CoreQueues.set)
    get = awaited(CoreQueues.get)
    pause = awaited(CoreQueues.pause)
    resume = awaited(CoreQueues.resume)
    list = awaited(CoreQueues.list)
    stats = awaited(CoreQueues.stats)
