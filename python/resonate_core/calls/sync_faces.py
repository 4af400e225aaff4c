"""The methods of a client that are those of a store."""

from __future__ import annotations

from .._core import Jobs as CoreJobs, Promises as CorePromises, Queues as CoreQueues, Schedules as CoreSchedules, Tasks as CoreTasks
from .faces import SyncFace, sent
from .graph import Graph

__all__ = ["Jobs", "Promises", "Queues", "Schedules", "Tasks"]


class Promises(SyncFace):
    """The calls of `Store.promises`."""

    __slots__ = ()

    create = sent(CorePromises.create)
    get = sent(CorePromises.get)
    resolve = sent(CorePromises.resolve)
    reject = sent(CorePromises.reject)
    cancel = sent(CorePromises.cancel)
    register_callback = sent(CorePromises.register_callback)
    register_listener = sent(CorePromises.register_listener)
    search = sent(CorePromises.search)


class Tasks(SyncFace):
    """The calls of `Store.tasks`."""

    __slots__ = ()

    create = sent(CoreTasks.create)
    get = sent(CoreTasks.get)
    acquire = sent(CoreTasks.acquire)
    release = sent(CoreTasks.release)
    fulfill = sent(CoreTasks.fulfill)
    suspend = sent(CoreTasks.suspend)
    fence_create = sent(CoreTasks.fence_create)
    fence_settle = sent(CoreTasks.fence_settle)
    heartbeat = sent(CoreTasks.heartbeat)
    halt = sent(CoreTasks.halt)
    resume = sent(CoreTasks.resume)
    search = sent(CoreTasks.search)


class Schedules(SyncFace):
    """The calls of `Store.schedules`."""

    __slots__ = ()

    create = sent(CoreSchedules.create)
    get = sent(CoreSchedules.get)
    delete = sent(CoreSchedules.delete)
    pause = sent(CoreSchedules.pause)
    resume = sent(CoreSchedules.resume)
    search = sent(CoreSchedules.search)


class Jobs(SyncFace):
    """The calls of `Store.jobs`."""

    __slots__ = ()

    enqueue = sent(CoreJobs.enqueue)
    get = sent(CoreJobs.get)
    claim = sent(CoreJobs.claim)
    start = sent(CoreJobs.start)
    start_many = sent(CoreJobs.start_many)
    heartbeat = sent(CoreJobs.heartbeat)
    complete = sent(CoreJobs.complete)
    complete_many = sent(CoreJobs.complete_many)
    fail = sent(CoreJobs.fail)
    release = sent(CoreJobs.release)
    snooze = sent(CoreJobs.snooze)
    report = sent(CoreJobs.report)
    suspend = sent(CoreJobs.suspend)
    record = sent(CoreJobs.record)
    receive = sent(CoreJobs.receive)
    send = sent(CoreJobs.send)
    history = sent(CoreJobs.history)
    start_over = sent(CoreJobs.start_over)
    fork = sent(CoreJobs.fork)
    cancel = sent(CoreJobs.cancel)
    run = sent(CoreJobs.run)
    archive = sent(CoreJobs.archive)
    delete = sent(CoreJobs.delete)
    cancel_all = sent(CoreJobs.cancel_all)
    run_all = sent(CoreJobs.run_all)
    archive_all = sent(CoreJobs.archive_all)
    delete_all = sent(CoreJobs.delete_all)
    search = sent(CoreJobs.search)

    def graph(self, id: str | None = None) -> Graph:
        """Return an empty graph of jobs: see `resonate_core.Graph`.

        Args:
            id: Of the graph; None: a random one.
        """
        return Graph(self._runner, id)


class Queues(SyncFace):
    """The calls of `Store.queues`."""

    __slots__ = ()

    set = sent(CoreQueues.set)
    get = sent(CoreQueues.get)
    pause = sent(CoreQueues.pause)
    resume = sent(CoreQueues.resume)
    list = sent(CoreQueues.list)
    stats = sent(CoreQueues.stats)
