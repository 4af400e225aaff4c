"""`Store.workflows`, and the same of a client: what people and programs do with workflows from outside.

They are the requests of jobs. A workflow is a job with the tag `WORKFLOW_TAG`, which a worker gives to each one that it enqueues.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from .._core import Job, JobBatch, JobState, Promise, PromisePage
from ..base.page_progress import PageProgress
from ..errors import Invalid
from .outcome import Seconds
from .workflow_records import WORKFLOW_TAG, Step

if TYPE_CHECKING:
    from .._core import Jobs as CoreJobs
    from .async_faces import AsyncJobs
    from .sync_faces import Jobs

__all__ = ["AsyncWorkflows", "Workflows"]

#: The most steps of one page. The engine ends a page before 4 MiB.
_PAGE = 1000


class _Store(Protocol):
    """A store in this process, or the client of a server."""

    @property
    def jobs(self) -> CoreJobs | Jobs:
        """Its jobs."""

    def result(self, id: str, *, timeout: Seconds | None = None) -> Any:
        """Wait for the result of a job."""


class _AsyncStore(Protocol):
    """The same, for asyncio."""

    @property
    def jobs(self) -> AsyncJobs:
        """Its jobs."""

    async def result(self, id: str, *, timeout: Seconds | None = None) -> Any:
        """Wait for the result of a job."""


def workflow_tags(tags: Mapping[str, str] | None) -> dict[str, str]:
    """Return the tags by which workflows with these tags are found.

    Raises:
        Invalid: The tags have another value of the tag of workflows.
    """
    wanted = {**(tags or {}), WORKFLOW_TAG: "true"}
    if tags is not None and tags.get(WORKFLOW_TAG, "true") != "true":
        raise Invalid(f"tags must not change {WORKFLOW_TAG}, by which workflows are found, got {tags[WORKFLOW_TAG]!r}")
    return wanted


def id_of_fork(id: str) -> str:
    """Return an id for a fork, which begins with that of the workflow, so that a list by id has them side by side."""
    return f"{id}-fork-{uuid.uuid4().hex[:12]}"


class Workflows:
    """The workflows of a store: ``store.workflows``, or ``rc.connect(url).workflows``.

    A worker runs them (`resonate_core.workflow`); these calls watch and change them from outside. A workflow is a job: ``store.jobs`` has
    the other calls, such as `run` for an archived one.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("order:fulfil", id="order-7", lifecycle="workflow", tags={"resonate:workflow": "true"})
        >>> store.workflows.send("order-7", "approval", "yes", key="mail-31").id
        'order-7:@approval:mail-31'
        >>> [(workflow.id, workflow.state) for workflow in store.workflows.search()]
        [('order-7', 'pending')]
    """

    __slots__ = ("_of",)

    def __init__(self, of: _Store) -> None:
        self._of = of

    def __repr__(self) -> str:
        return f"Workflows of {self._of!r}"

    def send(
        self, id: str, topic: str, value: Any = None, *, headers: Mapping[str, str] | None = None, key: str | None = None
    ) -> Promise:
        """Send a message to a workflow: its oldest pending ``receive(topic)`` takes it, or it stays unread until one asks for it.

        Args:
            id: Of the workflow. It need not have started.
            topic: The topic, without a colon.
            value: The message: bytes, a `Value`, or any JSON-able object.
            headers: Headers of the message.
            key: What makes it safe to send again: the same key answers the same message. Default: a new message each time.

        Returns:
            The message, a promise with the id ``ID:@TOPIC:KEY``.

        Raises:
            Invalid: The topic has a colon, or the key begins with #.
            NotFound: The workflow does not exist.
            Conflict: The workflow has ended.
            Unprocessable: 1,000 of its messages are unread.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("order:fulfil", id="order-7", lifecycle="workflow")
            >>> store.workflows.send("order-7", "approval", {"by": "Ada"}).value.json()
            {'by': 'Ada'}
        """
        return self._of.jobs.send(id, topic, value, headers=headers, key=key)

    def history(self, id: str) -> Iterator[Step]:
        """Return the steps of a workflow, in the order in which they were created.

        Pages are read while you iterate, so that a long history needs little memory; ``list(...)`` reads all of them.

        Args:
            id: Of the workflow.

        Raises:
            NotFound: The workflow does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("order:fulfil", id="order-7", lifecycle="workflow")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> failed = {"state": "rejected", "value": {"code": "NoStock", "message": "sold out"}}
            >>> records = [{"id": "order-7:1", "tags": {"resonate:name": "charge"}, **failed}, {"id": "order-7:2"}]
            >>> _ = store.jobs.record("order-7", job.version, records)
            >>> [(step.id, step.name, step.state, str(step.error)) for step in store.workflows.history("order-7")]
            [('order-7:1', 'charge', 'rejected', 'NoStock: sold out'), ('order-7:2', '', 'pending', 'None')]
        """
        # Not in the generator: an unknown id is an error of this call, not of the first step.
        return self._steps(id, self._of.jobs.history(id, limit=_PAGE))

    def _steps(self, id: str, page: PromisePage) -> Iterator[Step]:
        progress = PageProgress("job.history")
        while True:
            yield from map(Step.of, page)
            if page.cursor is None:
                return
            progress.check(page.cursor, len(page))
            page = self._of.jobs.history(id, limit=_PAGE, cursor=page.cursor)

    def fork(self, id: str, from_step: str, new_id: str | None = None) -> Job:
        """Start a copy of a workflow that has the results of the steps before one of them, and runs on from there.

        The workflow itself stays as it is. A fork is how to try a corrected function, or another message, on a real history.

        Args:
            id: Of the workflow.
            from_step: The id of the step at which the copy continues, as `history` has it.
            new_id: Of the copy; default: one is made, which begins with that of the workflow.

        Returns:
            The job of the copy.

        Raises:
            NotFound: The workflow does not exist.
            Conflict: `new_id` exists.
            Unprocessable: `from_step` is no step of the workflow, or a step before it is pending, or there are more than 10,000.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("order:fulfil", id="order-7", lifecycle="workflow")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
            >>> records = [{"id": "order-7:1", "state": "resolved", "value": "paid"}, {"id": "order-7:2", "state": "rejected"}]
            >>> _ = store.jobs.record("order-7", job.version, records)
            >>> store.workflows.fork("order-7", "order-7:2", "order-7-again").state
            'pending'
            >>> [step.result for step in store.workflows.history("order-7-again")]
            ['paid']
        """
        return self._of.jobs.fork(id, from_step, id_of_fork(id) if new_id is None else new_id)

    def cancel(self, id: str) -> Job:
        """Cancel a workflow that has not ended, and the jobs that it started. Its worker is notified by the next heartbeat.

        Args:
            id: Of the workflow.

        Raises:
            NotFound: It does not exist.
            Conflict: It has ended.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("order:fulfil", id="order-7", lifecycle="workflow")
            >>> store.workflows.cancel("order-7").state
            'cancelled'
        """
        return self._of.jobs.cancel(id)

    def search(
        self,
        id: str | None = None,
        *,
        queue: str | None = None,
        type: str | None = None,
        state: JobState | None = None,
        tags: Mapping[str, str] | None = None,
        unique_key: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> JobBatch:
        """Return a page of the matching workflows, ordered by id: the jobs with the tag ``resonate:workflow``.

        Args:
            id: A pattern in which `*` stands for any characters.
            queue: The name of the queue.
            type: The type: the name of the function.
            state: The current state. A workflow that waits for a step, a message or a timer is ``waiting``.
            tags: Tags that a workflow must have, with these values.
            unique_key: The unique key.
            limit: The size of the page, 1..1000; default: 100.
            cursor: The `cursor` of the previous page.

        Returns:
            A page; its `cursor` is None on the last page.

        Raises:
            Invalid: The state is unknown, or the limit is out of range.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("email:send", id="mail-1")
            >>> _ = store.jobs.enqueue("order:fulfil", id="order-7", lifecycle="workflow", tags={"resonate:workflow": "true"})
            >>> [workflow.id for workflow in store.workflows.search(state="pending")]
            ['order-7']
        """
        wanted = workflow_tags(tags)
        return self._of.jobs.search(
            id, queue=queue, type=type, state=state, tags=wanted, unique_key=unique_key, limit=limit, cursor=cursor
        )

    def result(self, id: str, *, timeout: Seconds | None = None) -> Any:
        """Wait until a workflow has ended, and return its decoded result: as `Store.result`.

        Args:
            id: Of the workflow.
            timeout: Seconds of real time, or a timedelta; None: no limit.

        Raises:
            Rejected: It has failed or was cancelled.
            NotFound: It does not exist, or was deleted meanwhile.
            TimeoutError: It has not ended after the timeout.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> _ = store.jobs.enqueue("order:fulfil", id="order-7", lifecycle="workflow")
            >>> [job] = store.jobs.claim("default", worker="w", lease=60_000, start=1)
            >>> _ = store.jobs.complete("order-7", job.version, {"parcel": "p-1"})
            >>> store.workflows.result("order-7")
            {'parcel': 'p-1'}
        """
        return self._of.result(id, timeout=timeout)


class AsyncWorkflows:
    """As `Workflows`, for asyncio: ``store.aio.workflows``, or ``rc.connect(url).aio.workflows``.

    Example:
        >>> import asyncio
        >>> async def main():
        ...     store = rc.Store(clock=rc.ManualClock())
        ...     await store.aio.jobs.enqueue("order:fulfil", id="order-7", lifecycle="workflow")
        ...     message = await store.aio.workflows.send("order-7", "approval", "yes", key="mail-31")
        ...     return message.id, [step async for step in store.aio.workflows.history("order-7")]
        >>> asyncio.run(main())
        ('order-7:@approval:mail-31', [])
    """

    __slots__ = ("_of",)

    def __init__(self, of: _AsyncStore) -> None:
        self._of = of

    def __repr__(self) -> str:
        return f"AsyncWorkflows of {self._of!r}"

    async def send(
        self, id: str, topic: str, value: Any = None, *, headers: Mapping[str, str] | None = None, key: str | None = None
    ) -> Promise:
        """Send a message to a workflow: see `Workflows.send`."""
        return await self._of.jobs.send(id, topic, value, headers=headers, key=key)

    async def history(self, id: str) -> AsyncIterator[Step]:
        """Yield the steps of a workflow: see `Workflows.history`. ``async for`` reads the first page, and raises its errors."""
        progress = PageProgress("job.history")
        cursor: str | None = None
        while True:
            page = await self._of.jobs.history(id, limit=_PAGE, cursor=cursor)
            for promise in page:
                yield Step.of(promise)
            cursor = page.cursor
            if cursor is None:
                return
            progress.check(cursor, len(page))

    async def fork(self, id: str, from_step: str, new_id: str | None = None) -> Job:
        """Start a copy of a workflow that continues at a step: see `Workflows.fork`."""
        return await self._of.jobs.fork(id, from_step, id_of_fork(id) if new_id is None else new_id)

    async def cancel(self, id: str) -> Job:
        """Cancel a workflow that has not ended: see `Workflows.cancel`."""
        return await self._of.jobs.cancel(id)

    async def search(
        self,
        id: str | None = None,
        *,
        queue: str | None = None,
        type: str | None = None,
        state: JobState | None = None,
        tags: Mapping[str, str] | None = None,
        unique_key: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> JobBatch:
        """Return a page of the matching workflows: see `Workflows.search`."""
        wanted = workflow_tags(tags)
        return await self._of.jobs.search(
            id, queue=queue, type=type, state=state, tags=wanted, unique_key=unique_key, limit=limit, cursor=cursor
        )

    async def result(self, id: str, *, timeout: Seconds | None = None) -> Any:
        """Wait until a workflow has ended, and return its decoded result: see `Workflows.result`."""
        return await self._of.result(id, timeout=timeout)
