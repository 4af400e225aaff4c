"""Graphs of jobs: which job waits for which, enqueued by one request, all or none (JOBS 8)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from .._core import Job, JobBatch, Jobs
from ..errors import Invalid
from .call import Call, Data, envelope
from .enqueue_together import EnqueueTogether
from .graph_nodes import After, NodeOptions, ToRun, node_of, order_of, references
from .made import together
from .submission import DEFAULT_SCHEMA, submit
from .values import text

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine

    from typing_extensions import Self, Unpack

__all__ = ["GRAPH_TAG", "AsyncGraph", "Graph", "GraphBuilder", "ToRun", "enqueue_then", "graph_of", "jobs_then"]

T = TypeVar("T")

#: The tag of the jobs of a graph: its id.
GRAPH_TAG = "resonate:graph"
_SEPARATOR = ":"


class GraphBuilder:
    """The nodes of a graph, and the request that enqueues them. `Graph` and `AsyncGraph` send it.

    Args:
        id: Of the graph; None: a random one. The job of node ``name`` has the id ``id:name``.
    """

    def __init__(self, id: str | None = None) -> None:
        self.id = f"graph-{uuid.uuid4().hex}" if id is None else _text("id", id)
        self._orders: dict[str, Data] = {}
        self._after: dict[str, str | list[tuple[str, bool]]] = {}  # of the nodes that wait: a text, or references
        self._mark = {GRAPH_TAG: self.id}  # shared by all jobs without other tags
        self._tags: Mapping[str, str] = {}  # more tags of all jobs

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id!r} of {len(self)} nodes>"

    def __len__(self) -> int:
        return len(self._orders)

    def __contains__(self, name: object) -> bool:
        return name in self._orders

    def id_of(self, name: str) -> str:
        """Return the id of the job of a node.

        Args:
            name: Of the node, which need not be added yet.

        Example:
            >>> rc.Store().jobs.graph("order-7").id_of("parse")
            'order-7:parse'
        """
        return f"{self.id}{_SEPARATOR}{name}"

    def add(
        self, name: str, task: ToRun, payload: Any = None, *, after: After | None = None, **options: Unpack[NodeOptions]
    ) -> str:
        """Add a node. Nothing is sent before `enqueue` or `submit`.

        Args:
            name: Of the node, unique in the graph.
            task: The type of the job; a task of a worker, whose types are checked; or a `Node`, as ``task.node(...)`` makes it.
            payload: As of `Store.jobs.enqueue`, or of `WorkerTask.enqueue` for a task.
            after: What the job waits for: names of nodes (also of those that are added later), ids, jobs.
            options: As of `Store.jobs.enqueue`, except the id.

        Returns:
            The id that the job will have: the graph's id, a colon, the name.

        Raises:
            Invalid: There is a node of this name, or the payload or an option is not valid.
            TypeError: The task is none, or there is no such option.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> graph = store.jobs.graph("order-7")
            >>> graph.add("load", "csv:load", after=["parse"], queue="etl")
            'order-7:load'
            >>> _ = graph.add("parse", "csv:parse", {"file": 1}, queue="etl")
            >>> {name: job.state for name, job in graph.enqueue().items()}
            {'load': 'waiting', 'parse': 'pending'}
        """
        _text("name", name)
        if name in self._orders:
            raise Invalid(f"name must be unique in graph {self.id!r}, got {name!r} twice")
        # A task or a node may return the same dict again, so its order is copied before it is changed.
        order = order_of(task, payload, options) if isinstance(task, str) else dict(node_of(task, payload, options).order)
        id = self.id_of(name)
        if "id" in order:
            raise Invalid(f"node {name!r} must not have an id of its own, got {order['id']!r}: its id is {id!r}")
        order["id"] = id
        order["tags"] = {**order["tags"], **self._mark} if "tags" in order else self._mark
        awaited = order.pop("after", None) if after is None else after
        if isinstance(awaited, str):  # mostly
            self._after[name] = awaited
        elif awaited is not None:
            self._after[name] = references(awaited)
        self._orders[name] = order
        return id

    def chain(self, *tasks: ToRun, after: After | None = None) -> Self:
        """Add nodes that run one after the other. Their names are "1", "2" and so on, by their place in the graph.

        Args:
            tasks: As of `add`.
            after: What the first one waits for.

        Returns:
            The graph.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> jobs = store.jobs.graph("night").chain("dump", "compress", "upload").enqueue()
            >>> [(job.id, job.after) for job in jobs.values()]
            [('night:1', ()), ('night:2', ('night:1',)), ('night:3', ('night:2',))]
        """
        for task in tasks:
            name = str(len(self) + 1)
            after = self.add(name, task, after=after)
        return self

    # -- the request ------------------------------------------------------------------------------------------------------

    def _sorted(self) -> dict[str, Data]:
        """Return the orders by name, each behind those of the nodes that it waits for.

        Raises:
            Invalid: Nodes wait for each other in a circle.
        """
        orders = self._orders
        for name, after in self._after.items():  # a node that was added later may have the name that is meant
            if isinstance(after, str):
                orders[name]["after"] = [self.id_of(after) if after in orders else after]
            elif after:
                ids = [self.id_of(one) if by_name and one in orders else one for one, by_name in after]
                orders[name]["after"] = list(dict.fromkeys(ids))
        found = {name: orders[name] for name in self._in_order()}
        if self._tags:
            return {name: {**order, "tags": {**order["tags"], **self._tags}} for name, order in found.items()}
        return found

    def _in_order(self) -> Iterable[str]:
        """Return the names, each behind those that it waits for, and those that can run at the same time together.

        A store has them near each other, so that it writes fewer pages when they run.

        Raises:
            Invalid: Nodes wait for each other in a circle.
        """
        names = {order["id"]: name for name, order in self._orders.items()}
        levels: dict[str, int] = {}
        for name, order in self._orders.items():
            level = 1
            for id in order.get("after", ()):
                node = names.get(id)
                if node is None:
                    continue
                if node not in levels:  # this node was added before the node that it waits for
                    return self._searched(names)
                level = max(level, 1 + levels[node])
            levels[name] = level
        return sorted(levels, key=levels.__getitem__)

    def _searched(self, names: Mapping[str, str]) -> list[str]:
        """As `_in_order`, for any order in which the nodes were added.

        Args:
            names: Of the nodes, by ids.
        """
        before = {name: [names[id] for id in order.get("after", ()) if id in names] for name, order in self._orders.items()}
        try:
            return list(TopologicalSorter(before).static_order())
        except CycleError as error:
            circle = " waits for ".join(map(repr, reversed(error.args[1])))
            raise Invalid(f"nodes of graph {self.id!r} must not wait for each other in a circle: {circle}") from None

    def made(self) -> EnqueueTogether[dict[str, Job]]:
        """Return the request. Its error names the refused node.

        Raises:
            Invalid: Nodes wait for each other in a circle.
        """
        orders = self._sorted()

        def read(batch: JobBatch) -> dict[str, Job]:
            jobs = dict(zip(orders, batch, strict=True))
            return {name: jobs[name] for name in self._orders}

        names = list(orders)
        return EnqueueTogether(list(orders.values()), lambda number: f"node {names[number]!r} of graph {self.id!r}", read)

    def submit(self, connection: Any, *, schema: str = DEFAULT_SCHEMA) -> int | Coroutine[Any, Any, int]:
        """Enqueue the jobs in the caller's own transaction: all of them if that transaction commits, otherwise none.

        If the store refuses one of them then, it refuses all, and `Store.problems` has the request.

        Args:
            connection: To the database of the store, as of `resonate_core.submit`; with an asynchronous one, await the result.
            schema: The schema of the store in PostgreSQL; a file has none.

        Returns:
            The number of the request.

        Raises:
            Invalid: There is no node, nodes wait for each other in a circle, or the request breaks a rule.
            Unsupported: The connection is of another kind.

        Example:
            >>> import contextlib, pathlib, sqlite3, tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     path = pathlib.Path(folder) / "shop.db"
            ...     with rc.Store(path) as store, contextlib.closing(sqlite3.connect(path)) as shop:
            ...         graph = store.jobs.graph("order-7").chain("parse", "load")
            ...         with shop:
            ...             _ = graph.submit(shop)
            ...         _ = store.tick()
            ...         [(job.id, job.state) for job in store.jobs.search()]
            [('order-7:1', 'pending'), ('order-7:2', 'waiting')]
        """
        if not self._orders:
            raise Invalid(f"graph {self.id!r} must have a node")
        return submit(connection, "job.enqueue_many", self.made().data, schema=schema)


class _Sender(Protocol):
    def run(self, call: Call[T]) -> T: ...


class _AsyncSender(Protocol):
    def run(self, call: Call[T]) -> Awaitable[T]: ...


class Graph(GraphBuilder):
    """A graph of jobs, before it is enqueued: `Store.jobs.graph` makes one.

    Nodes have names inside of the graph, and their jobs have ids outside of it: ``order-7:parse`` is node ``parse`` of graph
    ``order-7``. Each job has the graph's id in its tag ``resonate:graph``.

    Args:
        sender: Sends its request.
        id: See `GraphBuilder`.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> graph = store.jobs.graph("order-7")
        >>> _ = graph.add("parse", "csv:parse", {"file": 1})
        >>> _ = graph.add("check", "csv:check", {"file": 1})
        >>> _ = graph.add("load", "csv:load", after=["parse", "check"])
        >>> jobs = graph.enqueue()
        >>> jobs["load"].id, jobs["load"].after
        ('order-7:load', ('order-7:parse', 'order-7:check'))
        >>> store.jobs.cancel_all(tags={"resonate:graph": "order-7"})
        3
    """

    def __init__(self, sender: _Sender, id: str | None = None) -> None:
        super().__init__(id)
        self._sender = sender

    def enqueue(self) -> dict[str, Job]:
        """Enqueue the jobs by one request: all of them, or none. Jobs of the graph that exist already are answered as they are.

        Returns:
            The jobs by the names of their nodes.

        Raises:
            Invalid: Nodes wait for each other in a circle, or the store refuses an option; the error names the node.
            Conflict: An id or a unique key is another job's.
            Unprocessable: A node waits for an id that does not exist.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> graph = store.jobs.graph("g")
            >>> _ = graph.add("a", "t", after=["b"])
            >>> _ = graph.add("b", "t", after=["a"])
            >>> graph.enqueue()
            Traceback (most recent call last):
            ...
            resonate_core.errors.Invalid: nodes of graph 'g' must not wait for each other in a circle: 'a' waits for 'b' waits for 'a'
        """
        if not self._orders:
            return {}
        return self._sender.run(self.made())


class AsyncGraph(GraphBuilder):
    """As `Graph`, for asyncio: ``store.aio.jobs.graph()`` makes one.

    Args:
        sender: See `Graph`.
        id: See `Graph`.

    Example:
        >>> import asyncio
        >>> async def main():
        ...     graph = rc.Store().aio.jobs.graph("order-7")
        ...     graph.add("parse", "csv:parse")
        ...     graph.add("load", "csv:load", after="parse")
        ...     return (await graph.enqueue())["load"].state
        >>> asyncio.run(main())
        'waiting'
    """

    def __init__(self, sender: _AsyncSender, id: str | None = None) -> None:
        super().__init__(id)
        self._sender = sender

    async def enqueue(self) -> dict[str, Job]:
        """As `Graph.enqueue`.

        Example:
            >>> import asyncio
            >>> async def main():
            ...     return await rc.Store().aio.jobs.graph("night").chain("dump", "upload").enqueue()
            >>> [job.state for job in asyncio.run(main()).values()]
            ['pending', 'waiting']
        """
        if not self._orders:
            return {}
        return await self._sender.run(self.made())


def _text(name: str, given: str) -> str:
    if not text(name, given):
        raise Invalid(f"{name} must not be empty, got ''")
    return given


# -- enqueue_many(..., then=) ---------------------------------------------------------------------------------------------------


def jobs_then(orders: Sequence[Data], then: ToRun, tags: Mapping[str, str] = MappingProxyType({})) -> EnqueueTogether[JobBatch]:
    """Return the request for jobs and one more that runs when all of these have ended. Its error names the refused one.

    Args:
        orders: The data of a `job.enqueue` each. Those without an id get one.
        then: What runs then. A type alone gets the queue of the jobs. It runs also if some of them fail, unless it has another
            ``after_failed``.
        tags: More tags of that job.

    Raises:
        Invalid: It waits for something else.
    """
    node = node_of(then)
    if "after" in node.order:
        raise Invalid(f"then must wait for the jobs alone, got after={node.order['after']!r}: use a graph")
    graph = GraphBuilder()
    made = [{**order, "id": order.get("id", graph.id_of(str(number)))} for number, order in enumerate(orders)]
    last = {"id": graph.id_of("then"), **node.order}
    if isinstance(then, str) and orders and "queue" in orders[0]:
        last["queue"] = orders[0]["queue"]
    if made:
        last = {"afterFailed": "run", **last, "after": [order["id"] for order in made]}
    else:
        last.pop("afterFailed", None)
    made.append({**last, "tags": {**last.get("tags", {}), **tags}})
    for order in made:
        order["tags"] = {**order.get("tags", {}), GRAPH_TAG: graph.id}

    def name_of(number: int) -> str:
        return f"payload {number}" if number < len(orders) else "then"

    return EnqueueTogether(made, name_of, lambda batch: batch)


class _OfJobs:
    """Sends requests to the store of `Store.jobs`."""

    __slots__ = ("_jobs",)

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def run(self, call: Call[T]) -> T:
        ((status, answer),) = self._jobs._run_calls([envelope(call.kind, call.data, "graph")])
        return call.result(status, answer)


def graph_of(jobs: Jobs, id: str | None) -> Graph:
    """Return ``Store.jobs.graph(id)``."""
    return Graph(_OfJobs(jobs), id)


def enqueue_then(jobs: Jobs, type: str, payloads: Iterable[Any], options: dict[str, Any]) -> JobBatch:
    """Run ``Store.jobs.enqueue_many(type, payloads, then=..., **options)``."""
    then = options.pop("then")
    orders = [call.data for call in together(Jobs.enqueue_many, type, payloads, **options).calls]
    return _OfJobs(jobs).run(jobs_then(orders, then))
