"""Graphs of tasks, in the transaction of the caller."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from resonate_core.calls.graph import GraphBuilder
from resonate_core.calls.graph_nodes import After, Node, NodeOptions, ToRun
from resonate_core.errors import ResonateError

from .backends import backend_of
from .framework import Task, TaskResult, task_enqueued

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .backend import ResonateBackend

__all__ = ["TaskGraph", "graph"]


class TaskGraph(GraphBuilder):
    """A graph of tasks; `graph` makes one.

    Args:
        backend: Of its tasks.
        id: As of `resonate_core.Graph`.
    """

    def __init__(self, backend: ResonateBackend, id: str | None = None) -> None:
        super().__init__(id)
        self._backend = backend
        self._nodes: dict[str, Node] = {}

    def add(
        self, name: str, task: ToRun, payload: Any = None, *, after: After | None = None, **options: Unpack[NodeOptions]
    ) -> str:
        """Add a task: ``graph.add("total", add_all.node(), after=["one", "two"])``. Its options come by `ResonateTask.using`.

        Args:
            name: Of the node, unique in the graph.
            task: A task, ``task.node(...)`` for one with arguments, or the type of a job.
            payload: Of the job of a type.
            after: Names of nodes, ids, results of tasks.
            options: Of the job of a type.

        Returns:
            The id that the result will have: the graph's id, a colon, the name.

        Raises:
            InvalidTask: The task cannot run here.
            Invalid: There is a node of this name.
        """
        node = task if isinstance(task, Node) or payload is not None or options else Node(task)
        id = super().add(name, node, payload, after=after, **options)
        if isinstance(node, Node):
            self._nodes[name] = node
        return id

    def enqueue(self) -> dict[str, TaskResult]:
        """Enqueue all tasks, or none: at once, or inside of a transaction with its commit.

        Returns:
            The results by the names of the nodes, with the status READY; those of types are left out.

        Raises:
            Invalid: Nodes wait for each other in a circle.
            ResonateError: The store refuses a task, outside of a transaction; the error names it.
        """
        if not len(self):
            return {}
        call = self.made()
        results = {
            name: self._backend.ready(node.task, self.id_of(name), node.order["payload"])
            for name, node in self._nodes.items()
            if isinstance(node.task, Task)
        }
        try:
            self._backend.send(call.kind, call.data, *results.values())
        except ResonateError as error:
            raise call.named(error) from error
        for result in results.values():
            task_enqueued.send(type(self._backend), task_result=result)
        return {name: replace(result) for name, result in results.items()}


def graph(id: str | None = None, *, backend: str | None = None) -> TaskGraph:
    """Return an empty graph of tasks, which wait for each other by their names.

    Args:
        id: Of the graph; None: a random one.
        backend: The name of a backend in TASKS; None: the first of this package.

    Raises:
        LookupError: There is no such backend.
    """
    return TaskGraph(backend_of(backend), id)
