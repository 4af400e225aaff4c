"""A client of a server: the typed calls of `Store`, over HTTP. `connect` makes one; httpx is imported when it first sends."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from ._core import Jobs as CoreJobs, Promise
from .calls.async_faces import AsyncJobs, AsyncPromises, AsyncQueues, AsyncSchedules, AsyncTasks
from .calls.faces import awaited_in_parts, sent_in_parts
from .calls.outcome import Seconds, value_of
from .calls.sync_faces import Jobs, Promises, Queues, Schedules, Tasks
from .calls.workflows import AsyncWorkflows, Workflows
from .http.bodies import MOST_BYTES
from .http.remote import AsyncRemote, Remote
from .http.waits import AsyncWaits, wait

__all__ = ["AsyncClient", "AsyncClientJobs", "Client", "ClientJobs", "connect"]

_ENQUEUE_MANY = """Enqueue one job for each payload, in requests of up to 1000 jobs and 1 MiB, smaller if the server demands it.

Unlike `Store.jobs.enqueue_many` it is not one transaction: each job is enqueued or refused independently. The first request with a
refused job is the last one that is sent.

Args: as of `Store.jobs.enqueue_many`. With `ids`, a request whose answer was lost is sent again.

Returns:
    The jobs, in order of the payloads.

Raises:
    PartlyEnqueued: Some jobs were enqueued, and others were not; the error lists both.
    ResonateError: None was enqueued: the error of the first payload that was refused."""


class ClientJobs(Jobs):
    """The calls of `Store.jobs`."""

    __slots__ = ()

    enqueue_many = sent_in_parts(CoreJobs.enqueue_many, _ENQUEUE_MANY)


class AsyncClientJobs(AsyncJobs):
    """The calls of `Store.jobs`, for asyncio."""

    __slots__ = ()

    enqueue_many = awaited_in_parts(CoreJobs.enqueue_many, _ENQUEUE_MANY)


class Client:
    """The typed calls of `Store` over HTTP; `resonate_core.connect` makes one.

    Each call has the arguments, the result and the errors of the call of the same name on `Store`. Threads may share a client. A
    context manager that closes its connections.

    Args:
        url: See `resonate_core.connect`.
        token: See `resonate_core.connect`.
        timeout: See `resonate_core.connect`.
        retry_for: See `resonate_core.connect`.
        answer_bytes: See `resonate_core.connect`.

    Example:
        >>> import resonate_core as rc
        >>> with rc.connect("http://127.0.0.1:8001") as client:
        ...     client
        Client('http://127.0.0.1:8001')
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        retry_for: float = 30.0,
        answer_bytes: int = MOST_BYTES,
    ) -> None:
        self._remote = Remote(url, token, timeout, retry_for, answer_bytes)
        self._aio = AsyncClient(url, token=token, timeout=timeout, retry_for=retry_for, answer_bytes=answer_bytes)
        self.promises = Promises(self._remote)
        self.tasks = Tasks(self._remote)
        self.schedules = Schedules(self._remote)
        self.jobs = ClientJobs(self._remote)
        self.queues = Queues(self._remote)

    def __repr__(self) -> str:
        return f"Client({self._remote!r})"

    @property
    def aio(self) -> AsyncClient:
        """The same calls, for asyncio."""
        return self._aio

    @property
    def workflows(self) -> Workflows:
        """Its workflows: see `Store.workflows`."""
        return Workflows(self)  # made here: kept, it and the client would be a circle

    def wait(self, id: str, *, timeout: Seconds | None = None) -> Promise:
        """Block the thread until a promise is settled, and return it: see `Store.wait`. The server sends it as soon as it is settled.

        Args:
            id: The id of the promise, or of a job.
            timeout: Seconds, or a timedelta; None: no limit but the deadline of the promise.

        Raises:
            NotFound: It does not exist, or was deleted meanwhile.
            TimeoutError: It is still pending after the timeout.
            Unreachable: The server did not answer, or was busy, for `retry_for`.
        """
        return wait(self._remote, id, timeout)

    def result(self, id: str, *, timeout: Seconds | None = None) -> Any:
        """Wait for a promise or a job, and return its decoded value: see `Store.result`.

        Raises:
            Rejected: It was rejected or cancelled, or its deadline has passed.
        """
        return value_of(self.wait(id, timeout=timeout))

    def close(self) -> None:
        """End the connections of the sync calls; `aio.close()` ends those of the async ones."""
        self._remote.server.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class AsyncClient:
    """The calls of a `Client`, for asyncio: `Client.aio`. An async context manager that closes its connections.

    Calls at the same time share HTTP requests, if the server takes batches. It may be used in one event loop after another, but in one
    at a time.

    Args:
        url: See `resonate_core.connect`.
        token: See `resonate_core.connect`.
        timeout: See `resonate_core.connect`.
        retry_for: See `resonate_core.connect`.
        answer_bytes: See `resonate_core.connect`.

    Example:
        >>> import asyncio
        >>> async def main():
        ...     async with rc.connect("http://127.0.0.1:8001").aio as client:
        ...         return client
        >>> asyncio.run(main())
        AsyncClient('http://127.0.0.1:8001')
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 30.0,
        retry_for: float = 30.0,
        answer_bytes: int = MOST_BYTES,
    ) -> None:
        self._remote = AsyncRemote(url, token, timeout, retry_for, answer_bytes)
        self._waits: AsyncWaits | None = None
        self.promises = AsyncPromises(self._remote)
        self.tasks = AsyncTasks(self._remote)
        self.schedules = AsyncSchedules(self._remote)
        self.jobs = AsyncClientJobs(self._remote)
        self.queues = AsyncQueues(self._remote)

    def __repr__(self) -> str:
        return f"AsyncClient({self._remote!r})"

    @property
    def workflows(self) -> AsyncWorkflows:
        """Its workflows: see `Store.workflows`."""
        return AsyncWorkflows(self)

    async def wait(self, id: str, *, timeout: Seconds | None = None) -> Promise:
        """Wait until a promise is settled, and return it: see `Client.wait`. All waits share one stream."""
        if self._waits is None or not self._waits.of_running_loop:
            self._waits = AsyncWaits(self._remote)
        return await self._waits.wait(id, timeout)

    async def result(self, id: str, *, timeout: Seconds | None = None) -> Any:
        """Wait for a promise or a job, and return its decoded value: see `Client.result`."""
        return value_of(await self.wait(id, timeout=timeout))

    async def close(self) -> None:
        """End the connections."""
        waits, self._waits = self._waits, None
        if waits is not None:
            await waits.close()
        await self._remote.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()


def connect(
    url: str, *, token: str | None = None, timeout: float = 30.0, retry_for: float = 30.0, answer_bytes: int = 67_108_864
) -> Client:
    """Return a client of a server, with the typed calls of `Store`: sync, and async as `Client.aio`.

    No connection is made before the first call. It needs httpx, which is the extra ``worker``.

    Args:
        url: The address of the server, with the path under which it is mounted.
        token: A bearer token (`resonate-core token`).
        timeout: Seconds for which one answer is waited for, from the request to its last byte.
        retry_for: Seconds for which a call is repeated while the server does not answer or is busy; 0: it is not repeated. Only
            calls that can run twice with the effect of one run are repeated after they may have been executed (docs/python.md).
        answer_bytes: The most bytes of one answer, as they arrive and decoded, and of one line of a stream. A longer answer raises
            `resonate_core.errors.NoEnvelope`.

    Returns:
        The client, a context manager that closes its connections.

    Raises:
        ModuleNotFoundError: httpx is not installed.
        Invalid: The URL or the token is none, or the limit. The error does not show the token.

    Example:
        >>> rc.connect("ftp://example.org")
        Traceback (most recent call last):
        ...
        resonate_core.errors.Invalid: url must be an http:// or https:// address, got 'ftp://example.org' (files and databases: rc.Store)
    """
    return Client(url, token=token, timeout=timeout, retry_for=retry_for, answer_bytes=answer_bytes)
