"""The methods of `Store.aio` and of `Client.aio`."""

from __future__ import annotations

from .._core import Jobs as CoreJobs, Promises as CorePromises, Queues as CoreQueues, Schedules as CoreSchedules, Tasks as CoreTasks
from . import jobs, promises, queues, schedules, tasks
from .faces import AsyncFace, awaited, awaited_count

__all__ = ["AsyncJobs", "AsyncPromises", "AsyncQueues", "AsyncSchedules", "AsyncTasks"]


class AsyncPromises(AsyncFace):
    """The calls of `Store.promises`, for asyncio."""

    __slots__ = ()

    create = awaited(CorePromises, promises.create)
    get = awaited(CorePromises, promises.get)
    resolve = awaited(CorePromises, promises.resolve)
    reject = awaited(CorePromises, promises.reject)
    cancel = awaited(CorePromises, promises.cancel)
    register_callback = awaited(CorePromises, promises.register_callback)
    register_listener = awaited(CorePromises, promises.register_listener)
    search = awaited(CorePromises, promises.search)


class AsyncTasks(AsyncFace):
    """The calls of `Store.tasks`, for asyncio."""

    __slots__ = ()

    create = awaited(CoreTasks, tasks.create)
    get = awaited(CoreTasks, tasks.get)
    acquire = awaited(CoreTasks, tasks.acquire)
    release = awaited(CoreTasks, tasks.release)
    fulfill = awaited(CoreTasks, tasks.fulfill)
    suspend = awaited(CoreTasks, tasks.suspend)
    fence_create = awaited(CoreTasks, tasks.fence_create)
    fence_settle = awaited(CoreTasks, tasks.fence_settle)
    heartbeat = awaited(CoreTasks, tasks.heartbeat)
    halt = awaited(CoreTasks, tasks.halt)
    resume = awaited(CoreTasks, tasks.resume)
    search = awaited(CoreTasks, tasks.search)


class AsyncSchedules(AsyncFace):
    """The calls of `Store.schedules`, for asyncio."""

    __slots__ = ()

    create = awaited(CoreSchedules, schedules.create)
    get = awaited(CoreSchedules, schedules.get)
    delete = awaited(CoreSchedules, schedules.delete)
    pause = awaited(CoreSchedules, schedules.pause)
    resume = awaited(CoreSchedules, schedules.resume)
    search = awaited(CoreSchedules, schedules.search)


class AsyncJobs(AsyncFace):
    """The calls of `Store.jobs`, for asyncio."""

    __slots__ = ()

    enqueue = awaited(CoreJobs, jobs.enqueue)
    get = awaited(CoreJobs, jobs.get)
    claim = awaited(CoreJobs, jobs.claim)
    start = awaited(CoreJobs, jobs.start)
    start_many = awaited(CoreJobs, jobs.start_many)
    heartbeat = awaited(CoreJobs, jobs.heartbeat)
    complete = awaited(CoreJobs, jobs.complete)
    complete_many = awaited(CoreJobs, jobs.complete_many)
    fail = awaited(CoreJobs, jobs.fail)
    release = awaited(CoreJobs, jobs.release)
    snooze = awaited(CoreJobs, jobs.snooze)
    report = awaited(CoreJobs, jobs.report)
    cancel = awaited(CoreJobs, jobs.cancel)
    run = awaited(CoreJobs, jobs.run)
    archive = awaited(CoreJobs, jobs.archive)
    delete = awaited(CoreJobs, jobs.delete)
    cancel_all = awaited_count(CoreJobs, jobs.cancel_all)
    run_all = awaited_count(CoreJobs, jobs.run_all)
    archive_all = awaited_count(CoreJobs, jobs.archive_all)
    delete_all = awaited_count(CoreJobs, jobs.delete_all)
    search = awaited(CoreJobs, jobs.search)


class AsyncQueues(AsyncFace):
    """The calls of `Store.queues`, for asyncio."""

    __slots__ = ()

    set = awaited(CoreQueues, queues.set)
    get = awaited(CoreQueues, queues.get)
    pause = awaited(CoreQueues, queues.pause)
    resume = awaited(CoreQueues, queues.resume)
    list = awaited(CoreQueues, queues.list)
    stats = awaited(CoreQueues, queues.stats)
