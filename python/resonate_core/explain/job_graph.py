"""The graph around a job: the promises that it waits for, those that wait for it, and so on (JOBS 8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

from .job_waits import waits_before_start
from .store_reader import StoreReader

__all__ = ["GraphEdge", "GraphNode", "JobGraph", "graph_of"]


T = TypeVar("T")

#: The most callbacks and keepers of a promise that are read, for each promise of the graph.
_STALE = 10


@dataclass(frozen=True)
class GraphNode:
    """One promise of a graph.

    Attributes:
        id: Its id.
        kind: `job`, `task` or `promise`.
        state: That of the job; otherwise of a pending task; otherwise of the promise.
        type: Of a job.
        queue: Of a job.
        lacks: The number of promises that a waiting job lacks.
        after: The number of promises that it waits for before its first start.
    """

    id: str
    kind: str
    state: str
    type: str | None = None
    queue: str | None = None
    lacks: int = 0
    after: int = 0

    @property
    def note(self) -> str:
        """How many promises a waiting job lacks; otherwise empty.

        Example:
            >>> from resonate_core.explain.job_graph import GraphNode
            >>> GraphNode("a", "job", "waiting", lacks=2, after=5).note, GraphNode("a", "job", "waiting", lacks=2).note
            ('waits for 2 of 5', 'waits for 2')
        """
        if not self.lacks:
            return ""
        return f"waits for {self.lacks} of {self.after}" if self.after else f"waits for {self.lacks}"


@dataclass(frozen=True)
class GraphEdge:
    """One promise waits, or has waited, for another one.

    Attributes:
        awaiter: The id of the one that waits.
        awaited: The id of the other one.
        by: `after`, `suspend`, or `task` for a task of the protocol.
        open: Whether it still waits for it.
    """

    awaiter: str
    awaited: str
    by: str
    open: bool


@dataclass(frozen=True)
class JobGraph:
    """The graph around one promise.

    Attributes:
        root: Its id.
        nodes: The promises by id, the root first, then by their distance.
        edges: Who waits for whom.
        complete: Whether nothing was left out.

    Example:
        >>> from resonate_core.explain.job_graph import graph_of
        >>> from resonate_core.explain.store_reader import StoreReader
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> for id, after in (("parse", None), ("pack", ["parse"]), ("send", ["pack"])):
        ...     _ = store.jobs.enqueue("t", id=id, after=after)
        >>> graph = graph_of(StoreReader(store), "pack", 100)
        >>> [(edge.awaiter, edge.awaited) for edge in graph.edges]
        [('pack', 'parse'), ('send', 'pack')]
    """

    root: str
    nodes: dict[str, GraphNode]
    edges: list[GraphEdge]
    complete: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the graph as a JSON-able dict."""
        return {
            "root": self.root,
            "nodes": [_without_nothing(vars(node)) for node in self.nodes.values()],
            "edges": [vars(edge) for edge in self.edges],
            "complete": self.complete,
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> JobGraph:
        """Return the graph that `to_dict` has shown."""
        nodes = (_made(GraphNode, node) for node in given["nodes"])
        edges = [_made(GraphEdge, edge) for edge in given["edges"]]
        return cls(given["root"], {node.id: node for node in nodes}, edges, bool(given["complete"]))

    def awaited_by(self, id: str) -> list[str]:
        """Return the ids that one waits or has waited for."""
        return [edge.awaited for edge in self.edges if edge.awaiter == id]

    def awaiters_of(self, id: str) -> list[str]:
        """Return the ids that wait or have waited for one."""
        return [edge.awaiter for edge in self.edges if edge.awaited == id]


def _made(kind: type[T], given: Mapping[str, Any]) -> T:
    """Return a record; a later release may have added members."""
    return kind(**{name: given[name] for name in kind.__annotations__ if name in given})


def _without_nothing(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value not in (None, 0)}


def graph_of(reader: StoreReader, id: str, most: int) -> JobGraph | None:
    """Return the graph around a job or another promise; None if it does not exist or is not visible.

    Args:
        reader: Reads the store; promises that it does not see are left out.
        id: The id.
        most: The most promises.
    """
    if reader.row(id) is None:
        return None
    ids: dict[str, None] = {id: None}
    complete = True
    for neighbours in (_awaited, _awaiters):
        frontier = [id]
        while frontier:
            reader.rows(frontier)  # of all at once
            found = [neighbours(reader, one, most) for one in frontier]
            new = [other for other in dict.fromkeys(chain.from_iterable(found)) if other not in ids]
            room = max(most - len(ids), 0)
            complete = complete and len(new) <= room and (neighbours is _awaited or _all_named(reader, frontier, most))
            frontier = new[:room]
            ids.update(dict.fromkeys(frontier))
    edges = [edge for one in ids for edge in _edges(reader, one, ids)]
    return JobGraph(id, _nodes(reader, list(ids)), edges, complete)


def _waits(row: Mapping[str, Any] | None) -> tuple[list[str], list[str]]:
    """Return what a row of a job waits for by `after`, whether it still does or not, and what it lacks now."""
    job: Mapping[str, Any] = {} if row is None else row.get("job", {})
    return job.get("after", []), job.get("awaits", []) if job.get("state") == "waiting" else []


def _awaited(reader: StoreReader, id: str, most: int) -> Iterable[str]:
    """Return what a job waits for, and what it waited for before its first start: the ids that it lacks first, then in the order given."""
    after, lacks = _waits(reader.row(id))
    return reader.rows(list(dict.fromkeys((*lacks, *after)))[: most + 1])  # one that was removed has no row


def _awaiters(reader: StoreReader, id: str, most: int) -> Iterable[str]:
    """Yield who waits for a promise, or has waited for it with `after`.

    Some of its callbacks and keepers are of jobs that wait for it no more: they were awaited by `suspend`.
    """
    for other, its in reader.rows(_named(reader, id)[: _STALE * most]).items():
        if "job" not in its or id in chain(*_waits(its)):
            yield other


def _named(reader: StoreReader, id: str) -> list[str]:
    """Return the ids that a promise names as its awaiters and keepers, as far as they are read."""
    row = reader.row(id)
    return [] if row is None else list(dict.fromkeys((*row["callbacks"], *row.get("keptBy", ()))))


def _all_named(reader: StoreReader, ids: Iterable[str], most: int) -> bool:
    """Return whether `_awaiters` examines all who may wait for these promises."""
    whole = all(reader.is_whole(row, "callbacks", "keptBy") for row in reader.rows(list(ids)).values())
    return whole and all(len(_named(reader, id)) <= _STALE * most for id in ids)


def _edges(reader: StoreReader, id: str, ids: Mapping[str, None]) -> Iterable[GraphEdge]:
    """Yield the edges from a promise to those of the graph that it waits for, and from tasks to it."""
    row = reader.row(id)
    after, lacks = _waits(row)
    missing, given = set(lacks), set(after)
    yield from (GraphEdge(id, other, "after", other in missing) for other in after if other in ids)
    yield from (GraphEdge(id, other, "suspend", True) for other in lacks if other in ids and other not in given)
    if row is not None:
        whole = reader.is_whole(row, "callbacks")
        for other in row["callbacks"] if whole else ids:
            if other in ids and "job" not in (reader.row(other) or {}) and (whole or reader.awaited_of(other, [id])):
                yield GraphEdge(other, id, "task", True)


def _nodes(reader: StoreReader, ids: list[str]) -> dict[str, GraphNode]:
    rows = reader.rows(ids)
    jobs, promises = reader.jobs_and_promises(ids)
    made: dict[str, GraphNode] = {}
    for id in ids:
        if id in jobs:
            job = jobs[id]
            after = len(job["after"]) if job["state"] == "waiting" and waits_before_start(job) else 0
            lacks = job.get("awaits", {}).get("count", 0)
            made[id] = GraphNode(id, "job", job["state"], job["type"], job["queue"], lacks, after)
        elif id in promises:
            state, task = promises[id]["state"], rows.get(id, {}).get("task")
            is_task = task is not None and state == "pending"
            made[id] = GraphNode(id, "task" if is_task else "promise", task["state"] if is_task and task else state)
    return made
