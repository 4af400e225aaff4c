"""The typed calls of a store for asyncio: `Store.aio`.

Calls of the tasks of one loop share commits (`Store.apply_async`), and do not block the loop.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar

from ._core import Jobs as CoreJobs, Promise, Promises as CorePromises, Store
from .calls.async_faces import AsyncJobs, AsyncPromises, AsyncQueues, AsyncSchedules, AsyncTasks
from .calls.call import Call, Together, answers_together, envelope
from .calls.faces import AsyncRunner, awaited
from .calls.local import apply_async, run_call
from .calls.outcome import Seconds
from .calls.waiting import result_async, wait_async
from .calls.workflows import AsyncWorkflows

__all__ = ["AsyncStore", "AsyncStoreJobs", "AsyncStorePromises"]

T = TypeVar("T")


class _StoreRunner(AsyncRunner):
    """Runs calls on a store in this process, from asyncio."""

    __slots__ = ("store",)

    def __init__(self, store: Store) -> None:
        self.store = store

    def __repr__(self) -> str:
        return repr(self.store)

    def _now(self) -> int:
        return self.store.now

    def run(self, call: Call[T]) -> Awaitable[T]:
        call.settle_deadline(self._now)
        return run_call(self.store, call, envelope(call.kind, call.data, "aio"))

    async def run_together(self, calls: Together[T]) -> T:
        if not calls.calls:
            return calls.gather([])
        for call in calls.calls:
            call.settle_deadline(self._now)
        requests = [envelope(call.kind, call.data, "aio") for call in calls.calls]
        return calls.gather(answers_together(await apply_async(self.store, requests, None, atomic=True)))

    async def in_parts(self, calls: Together[T]) -> T:
        return await self.run_together(calls)  # a store has no limit of a request


class AsyncStorePromises(AsyncPromises):
    """The calls of `Store.promises`, for asyncio."""

    __slots__ = ()

    create_many = awaited(CorePromises.create_many)
    settle_many = awaited(CorePromises.settle_many)


class AsyncStoreJobs(AsyncJobs):
    """The calls of `Store.jobs`, for asyncio."""

    __slots__ = ()

    enqueue_many = awaited(CoreJobs.enqueue_many)


class AsyncStore:
    """The typed calls of a store, for asyncio: `Store.aio`.

    Each has the arguments, the result and the errors of the call of the same name on `Store`. Calls of one iteration of the loop, or
    that arrive while a commit is under way, run in one transaction, each with its own result. They do not block the loop: a thread
    runs the transaction. A cancelled call may have been executed.

    Example:
        >>> import asyncio
        >>> async def main():
        ...     store = rc.Store(clock=rc.ManualClock())
        ...     await store.aio.promises.create("order:1", timeout=60_000)
        ...     await asyncio.gather(*(store.aio.promises.create(f"order:{i}", timeout=60_000) for i in range(2, 5)))
        ...     return len(await store.aio.promises.search("order:*"))
        >>> asyncio.run(main())
        4
    """

    __slots__ = ("_runner",)

    def __init__(self, store: Store) -> None:
        self._runner = _StoreRunner(store)

    def __repr__(self) -> str:
        return f"AsyncStore of {self._runner!r}"

    @property
    def promises(self) -> AsyncStorePromises:
        """The promises of the store."""
        return AsyncStorePromises(self._runner)

    @property
    def tasks(self) -> AsyncTasks:
        """The tasks of the store."""
        return AsyncTasks(self._runner)

    @property
    def schedules(self) -> AsyncSchedules:
        """The schedules of the store."""
        return AsyncSchedules(self._runner)

    @property
    def jobs(self) -> AsyncStoreJobs:
        """The jobs of the store."""
        return AsyncStoreJobs(self._runner)

    @property
    def queues(self) -> AsyncQueues:
        """The queues of its jobs."""
        return AsyncQueues(self._runner)

    @property
    def workflows(self) -> AsyncWorkflows:
        """The workflows of the store."""
        return AsyncWorkflows(self)

    async def wait(self, id: str, *, timeout: Seconds | None = None) -> Promise:
        """Wait until a promise is settled, and return it. A job is waited for by its id, too.

        A commit of this process ends the wait at once, a commit of another process 50 ms later at most. All waits of a loop share
        one watcher.

        Args:
            id: The id of the promise.
            timeout: Seconds of real time, or a timedelta; None: no limit but the deadline of the promise.

        Returns:
            The promise: resolved, rejected, cancelled, or past its deadline.

        Raises:
            NotFound: It does not exist, or was deleted meanwhile.
            TimeoutError: It is still pending after the timeout.

        Example:
            >>> import asyncio
            >>> async def main():
            ...     store = rc.Store()
            ...     await store.aio.promises.create("a", timeout=60_000)
            ...     waiting = asyncio.create_task(store.aio.wait("a", timeout=10))
            ...     await store.aio.promises.resolve("a", 42)
            ...     return (await waiting).value.json()
            >>> asyncio.run(main())
            42
        """
        return await wait_async(self._runner.store, id, timeout)

    async def result(self, id: str, *, timeout: Seconds | None = None) -> Any:
        """Wait until a promise or a job is settled, and return its decoded value.

        Args:
            id: The id of the promise or job.
            timeout: Seconds of real time, or a timedelta; None: no limit but the deadline of the promise.

        Raises:
            Rejected: It was rejected or cancelled, or its deadline has passed.
            NotFound: It does not exist, or was deleted meanwhile.
            TimeoutError: It is still pending after the timeout.
            Invalid: The value is not JSON; `wait(id)` returns the promise with it.

        Example:
            >>> import asyncio
            >>> async def main():
            ...     store = rc.Store()
            ...     job = await store.aio.jobs.enqueue("add", [1, 2])
            ...     [claimed] = await store.aio.jobs.claim("default", worker="w", lease=60_000, start=1)
            ...     await store.aio.jobs.complete(claimed.id, claimed.version, 3)
            ...     return await store.aio.result(job.id)
            >>> asyncio.run(main())
            3
        """
        return await result_async(self._runner.store, id, timeout)


def face(store: Store) -> AsyncStore:
    """Return `Store.aio`."""
    return AsyncStore(store)
