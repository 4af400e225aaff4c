"""Graphs of jobs that a worker's client enqueues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .._core import Job
from ..calls.call import Call
from ..calls.graph import Graph
from ..calls.graph_nodes import After, Node, ToRun
from ..errors import Invalid
from .job_source import JobSourceOwner
from .tasks import WorkerTask
from .tracing import Tracing

__all__ = ["WorkerGraph", "chain"]

T = TypeVar("T")
#: The type of job in the span of an enqueued graph.
GRAPH = "graph"


class _OfWorker:
    """Sends requests to the store or server of a worker."""

    def __init__(self, clients: JobSourceOwner) -> None:
        self._clients = clients

    def run(self, call: Call[T]) -> T:
        return self._clients.client.run(call)


class WorkerGraph(Graph):
    """A graph that is enqueued in the store of a worker, or on its server: `Worker.graph` makes one.

    Args:
        clients: Has the client.
        tracing: Returns the object that opens spans.
        id: As of `resonate_core.Graph`.

    Example:
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.task("parse")
        ... def parse(text: str) -> int:
        ...     return int(text)
        >>> graph = worker.graph("g")
        >>> graph.add("one", parse.node("1"))
        'g:one'
        >>> [job.state for job in graph.enqueue().values()]
        ['pending']
    """

    def __init__(self, clients: JobSourceOwner, tracing: Callable[[], Tracing | None], id: str | None = None) -> None:
        super().__init__(_OfWorker(clients), id)
        self._clients = clients
        self._tracing = tracing

    def enqueue(self) -> dict[str, Job]:
        """As `resonate_core.Graph.enqueue`."""
        tracing = self._tracing()
        if tracing is None or not len(self):
            return super().enqueue()
        with tracing.producing(GRAPH, {}, len(self)) as (traced, _):
            self._tags = traced["tags"]
            return super().enqueue()

    async def enqueue_async(self) -> dict[str, Job]:
        """As `enqueue`, without blocking the event loop while the store commits.

        Example:
            >>> import asyncio
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> asyncio.run(worker.graph("g").chain("dump", "upload").enqueue_async())["2"].state
            'waiting'
        """
        client = await self._clients.client_apart()
        return await client.apart(self.enqueue)


def _owner(task: Any) -> WorkerTask[..., Any] | None:
    task = task.task if isinstance(task, Node) else task
    return task if isinstance(task, WorkerTask) else None


def chain(*tasks: ToRun, id: str | None = None, after: After | None = None) -> WorkerGraph:
    """Return a graph of jobs that run one after the other, each with the result of the one before in its dependencies.

    Args:
        tasks: Tasks of a worker; ``task.node(...)`` for one with arguments; types. The first task says which worker enqueues it.
        id: Of the graph; None: a random one. The jobs are ``id:1``, ``id:2`` and so on.
        after: What the first one waits for: ids, jobs.

    Returns:
        The graph. Call its `enqueue`, `enqueue_async` or `submit`.

    Raises:
        Invalid: None of them is a task of a worker; `Store.jobs.graph(id).chain(...)` enqueues types alone.

    Example:
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> @worker.task("fetch")
        ... def fetch(url: str) -> str:
        ...     return f"page of {url}"
        >>> @worker.task("count")
        ... def count(before: rc.worker.Dependencies[str]) -> int:
        ...     return sum(map(len, before.values()))
        >>> jobs = rc.worker.chain(fetch.node("a.example"), count, id="crawl").enqueue()
        >>> [(run.id, run.result) for run in worker.run_until_idle()]
        [('crawl:1', 'page of a.example'), ('crawl:2', 17)]
    """
    owner = next((found for found in map(_owner, tasks) if found is not None), None)
    if owner is None:
        raise Invalid(
            f"tasks must hold a task of a worker, whose store gets the jobs, got {tasks!r}: store.jobs.graph().chain(...) takes types"
        )
    graph = WorkerGraph(owner._clients, owner._tracing, id)
    graph.chain(*tasks, after=after)
    return graph
