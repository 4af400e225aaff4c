"""Dependencies of a FastAPI app: its store, and background jobs that survive a crash (extra ``fastapi``).

Example:
    >>> from fastapi import FastAPI
    >>> from fastapi.testclient import TestClient
    >>> from resonate_core.contrib.fastapi import BackgroundJobs, Resonate
    >>> from resonate_core.worker import Worker
    >>> worker = Worker()
    >>> @worker.task("greet")
    ... async def greet(name: str) -> str:
    ...     return f"hello, {name}"
    >>> store = rc.Store()
    >>> app = FastAPI(lifespan=Resonate(store, worker=worker, run_worker=False).lifespan)
    >>> @app.post("/greetings/{name}", status_code=202)
    ... async def post(name: str, background: BackgroundJobs) -> dict[str, str]:
    ...     background.add_task(greet, name, id=f"greeting:{name}")
    ...     return {"job": f"greeting:{name}"}
    >>> with TestClient(app) as client:
    ...     client.post("/greetings/ada").json()
    ...     [(run.id, run.result) for run in worker.run_until_idle()]
    {'job': 'greeting:ada'}
    [('greeting:ada', 'hello, ada')]
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated, Any

from .._core import Store
from ..base.extras import how_to_install
from ..calls.call import Call, Together, nothing
from ..calls.enqueue_together import EnqueueTogether
from ..calls.graph import GraphBuilder
from ..errors import ResonateError
from ..worker import WorkerTask

try:
    from fastapi import Depends
    from fastapi.requests import HTTPConnection
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"resonate_core.contrib.fastapi needs FastAPI: {how_to_install('fastapi')}", name=missing.name
    ) from missing

from .starlette import Resonate, combine_lifespans, resonate_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "BackgroundJobs",
    "RequestJobs",
    "Resonate",
    "ResonateDep",
    "StoreDep",
    "combine_lifespans",
    "get_background_jobs",
    "get_resonate",
    "get_store",
]


def get_resonate(connection: HTTPConnection) -> Resonate:
    """Return the `Resonate` of the app: a dependency.

    Args:
        connection: The request or the web socket; FastAPI passes it.

    Raises:
        RuntimeError: The app does not run in the lifespan of a `Resonate`.
    """
    return resonate_of(connection)


ResonateDep = Annotated[Resonate, Depends(get_resonate)]
"""The `Resonate` of the app, as the type of a parameter."""


def get_store(resonate: ResonateDep) -> Store:
    """Return the store of the app: a dependency. Tests may override it.

    Args:
        resonate: Of the app; FastAPI passes it.
    """
    return resonate.store


StoreDep = Annotated[Store, Depends(get_store)]
"""The store of the app, as the type of a parameter.

A call of the store waits for its disk or database: use it in a ``def`` endpoint, which FastAPI runs in a thread, or await
those of ``store.aio`` in an ``async def`` one.
"""


class RequestJobs:
    """The background jobs of one request; `BackgroundJobs` passes it to an endpoint.

    Args:
        resonate: Of the app.

    Example:
        >>> import asyncio
        >>> worker = rc.worker.Worker()
        >>> greet = worker.task("greet")(lambda name: f"hello, {name}")
        >>> resonate = Resonate(rc.Store(), worker=worker)
        >>> async def main():
        ...     async with resonate.lifespan():
        ...         jobs = RequestJobs(resonate)
        ...         jobs.add_task(greet, "ada", id="greeting-1")
        ...         await jobs.enqueue()
        ...         return resonate.store.jobs.get("greeting-1").type
        >>> asyncio.run(main())
        'greet'
    """

    def __init__(self, resonate: Resonate) -> None:
        self._resonate = resonate
        self._calls: list[Call[Any]] = []
        self._graphs: list[GraphBuilder] = []
        self._submitted = False

    def add_task(self, task: WorkerTask[..., Any], payload: Any = None, **options: Any) -> str:
        """Have a job enqueued when the endpoint has returned, before its response is sent.

        Args:
            task: A function of a worker: ``@worker.task(...)``.
            payload: As of `resonate_core.worker.WorkerTask.enqueue`; annotated types are converted and checked.
            options: As of `resonate_core.worker.WorkerTask.enqueue`: id, queue, priority, process_in, max_retries, … .

        Returns:
            The id of the job: that of the options, or a new one.

        Raises:
            TypeError: `task` is a plain function, the payload is none of JSON, or there is no such option.
            Invalid: An option contradicts another, or the payload does not fit the function.
        """
        request = _enqueue_request(task, payload, options)
        id = request.setdefault("id", f"job-{uuid.uuid4().hex}")
        self._calls.append(Call("job.enqueue", request, nothing))
        return str(id)

    def graph(self, id: str | None = None) -> GraphBuilder:
        """Return an empty graph of jobs, which are enqueued with the others when the endpoint has returned.

        Args:
            id: Of the graph; None: a random one. The ids of its jobs are those that `resonate_core.Graph.add` returns.

        Example:
            >>> import asyncio
            >>> worker = rc.worker.Worker()
            >>> pick = worker.task("pick")(lambda part: part)
            >>> resonate = Resonate(rc.Store(), worker=worker)
            >>> async def main():
            ...     async with resonate.lifespan():
            ...         jobs = RequestJobs(resonate)
            ...         graph = jobs.graph("order-7")
            ...         graph.add("pick", pick, "left")
            ...         graph.add("pack", "pack", after=["pick"])
            ...         await jobs.enqueue()
            ...         return resonate.store.jobs.get("order-7:pack").after
            >>> asyncio.run(main())
            ('order-7:pick',)
        """
        graph = GraphBuilder(id)
        self._graphs.append(graph)
        return graph

    async def submit(self, connection: Any, task: WorkerTask[..., Any], payload: Any = None, **options: Any) -> int:
        """Enqueue a job in the caller's own transaction: it is enqueued if and only if that transaction commits.

        Commit in the endpoint: then the job can run at once. After a later commit, the worker finds it at its next claim.

        Args:
            connection: A connection or session to the database of the store, as of `resonate_core.submit`, synchronous or not.
            task: As of `add_task`.
            payload: As of `add_task`.
            options: As of `add_task`.

        Returns:
            The number of the request.

        Raises:
            TypeError: As of `add_task`.
            Invalid: An option is out of its range.
            Unsupported: The connection is of another kind.
        """
        if not isinstance(task, WorkerTask):
            raise TypeError(_NO_TASK.format(task))
        number = task.submit(connection, payload, schema=self._resonate.schema, **options)
        self._submitted = True
        return await number if inspect.isawaitable(number) else number

    async def enqueue(self) -> None:
        """Enqueue what was added, in one transaction, all or none. `BackgroundJobs` calls it when the endpoint has returned.

        Raises:
            Conflict: The id or the unique key of a job is another job's.
            Invalid: An option is out of its range.
            StoreError: The commit failed.
        """
        calls, self._calls = self._calls, []
        graphs, self._graphs = [graph for graph in self._graphs if len(graph)], []
        of_graphs: list[EnqueueTogether[Any]] = []
        try:
            of_graphs += [graph.made() for graph in graphs]
            calls += of_graphs
            if calls:
                await self._resonate.store.aio._runner.run_together(Together(calls, nothing))
        except ResonateError as refused:
            error = of_graphs[0].named(refused) if len(of_graphs) == 1 else refused
            raise type(error)(f"no background job was enqueued: {error}", error.status) from refused
        finally:
            self.run_submitted()

    def run_submitted(self) -> None:
        """Have the store run what was submitted, if anything was. `BackgroundJobs` calls it when the endpoint has returned or raised."""
        if self._submitted:
            self._submitted = False
            self._resonate.tick_soon()


_NO_TASK = "task must be a function of a worker (@worker.task), got {!r}; Starlette's BackgroundTasks run a plain function"


def _enqueue_request(task: WorkerTask[..., Any], payload: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(task, WorkerTask):
        raise TypeError(_NO_TASK.format(task))
    return task.order(payload, options)


async def get_background_jobs(resonate: ResonateDep) -> AsyncIterator[RequestJobs]:
    """Enqueue the jobs that the endpoint has added, if it returns: a dependency.

    Args:
        resonate: Of the app; FastAPI passes it.

    Yields:
        What the endpoint adds jobs to.
    """
    jobs = RequestJobs(resonate)
    try:
        yield jobs
        await jobs.enqueue()
    finally:  # the endpoint may have committed before it raised
        jobs.run_submitted()


BackgroundJobs = Annotated[RequestJobs, Depends(get_background_jobs, scope="function")]
"""Durable background jobs, as the type of a parameter: as `fastapi.BackgroundTasks`, but the jobs survive a crash.

The jobs are enqueued in one transaction when the endpoint has returned, before its response is sent. So a response of success says
that they are in the store. If the endpoint raises, none is enqueued. If the store fails, the client gets the status 500.
"""
