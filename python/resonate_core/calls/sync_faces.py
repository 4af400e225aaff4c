"""The methods of a client that are those of a store."""

from __future__ import annotations

from .._core import Jobs as CoreJobs, Promises as CorePromises, Queues as CoreQueues, Schedules as CoreSchedules, Tasks as CoreTasks
from . import jobs, promises, queues, schedules, tasks
from .faces import SyncFace, sent, sent_count

__all__ = ["Jobs", "Promises", "Queues", "Schedules", "Tasks"]


class Promises(SyncFace):
    """The calls of `Store.promises`."""

    __slots__ = ()

    create = sent(CorePromises, promises.create)
    get = sent(CorePromises, promises.get)
    resolve = sent(CorePromises, promises.resolve)
    reject = sent(CorePromises, promises.reject)
    cancel = sent(CorePromises, promises.cancel)
    register_callback = sent(CorePromises, promises.register_callback)
    register_listener = sent(CorePromises, promises.register_listener)
    search = sent(CorePromises, promises.search)


class Tasks(SyncFace):
    """The calls of `Store.tasks`."""

    __slots__ = ()

    create = sent(CoreTasks, tasks.create)
    get = sent(CoreTasks, tasks.get)
    acquire = sent(CoreTasks, tasks.acquire)
    release = sent(CoreTasks, tasks.release)
    fulfill = sent(CoreTasks, tasks.fulfill)
    suspend = sent(CoreTasks, tasks.suspend)
    fence_create = sent(CoreTasks, tasks.fence_create)
    fence_settle = sent(CoreTasks, tasks.fence_settle)
    heartbeat = sent(CoreTasks, tasks.heartbeat)
    halt = sent(CoreTasks, tasks.halt)
    resume = sent(CoreTasks, tasks.resume)
    search = sent(CoreTasks, tasks.search)


class Schedules(SyncFace):
    """The calls of `Store.schedules`."""

    __slots__ = ()

    create = sent(CoreSchedules, schedules.create)
    get = sent(CoreSchedules, schedules.get)
    delete = sent(CoreSchedules, schedules.delete)
    pause = sent(CoreSchedules, schedules.pause)
    resume = sent(CoreSchedules, schedules.resume)
    search = sent(CoreSchedules, schedules.search)


class Jobs(SyncFace):
    """The calls of `Store.jobs`."""

    __slots__ = ()

    enqueue = sent(CoreJobs, jobs.enqueue)
    get = sent(CoreJobs, jobs.get)
    claim = sent(CoreJobs, jobs.claim)
    start = sent(CoreJobs, jobs.start)
    start_many = sent(CoreJobs, jobs.start_many)
    heartbeat = sent(CoreJobs, jobs.heartbeat)
    complete = sent(CoreJobs, jobs.complete)
    complete_many = sent(CoreJobs, jobs.complete_many)
    fail = sent(CoreJobs, jobs.fail)
    release = sent(CoreJobs, jobs.release)
    snooze = sent(CoreJobs, jobs.snooze)
    report = sent(CoreJobs, jobs.report)
    cancel = sent(CoreJobs, jobs.cancel)
    run = sent(CoreJobs, jobs.run)
    archive = sent(CoreJobs, jobs.archive)
    delete = sent(CoreJobs, jobs.delete)
    cancel_all = sent_count(CoreJobs, jobs.cancel_all)
    run_all = sent_count(CoreJobs, jobs.run_all)
    archive_all = sent_count(CoreJobs, jobs.archive_all)
    delete_all = sent_count(CoreJobs, jobs.delete_all)
    search = sent(CoreJobs, jobs.search)


class Queues(SyncFace):
    """The calls of `Store.queues`."""

    __slots__ = ()

    set = sent(CoreQueues, queues.set)
    get = sent(CoreQueues, queues.get)
    pause = sent(CoreQueues, queues.pause)
    resume = sent(CoreQueues, queues.resume)
    list = sent(CoreQueues, queues.list)
    stats = sent(CoreQueues, queues.stats)
