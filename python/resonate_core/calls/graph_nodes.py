"""What a graph of jobs runs, and what a job waits for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, cast

from .call import Data
from .made import data_of_enqueue
from .values import Duration

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["After", "HasId", "JobTask", "Node", "NodeOptions", "ToRun", "ids_of", "node_of", "order_of", "references"]


class HasId(Protocol):
    """A job, a promise, a result: what can be waited for by its id."""

    @property
    def id(self) -> str:
        """The id."""


#: What a job waits for: an id, a job (or what else has an id), or several of these.
After = str | HasId | Iterable[str | HasId]


class NodeOptions(TypedDict, total=False):
    """Options of a node of a graph: those of a job, except its id. Durations are ms or a timedelta, instants Unix ms.

    Example:
        >>> from resonate_core.calls.graph_nodes import NodeOptions
        >>> options: NodeOptions = {"queue": "etl", "after_failed": "run"}
    """

    queue: str | None
    priority: int | None
    timeout: Duration | None
    max_retries: int | None
    retry_policy: Mapping[str, Any] | None
    on_exhausted: Literal["archived", "failed"] | None
    retention: Duration | Literal["kept"] | None
    lifecycle: Literal["asynq", "horsies", "workflow"] | None
    headers: Mapping[str, str] | None
    tags: Mapping[str, str] | None
    unique_key: str | None
    unique_for: Duration | None
    good_for: Duration | None
    good_until: int | None
    process_at: int | None
    process_in: Duration | None
    deadline: int | None
    sent_at: int | None
    cancel_with_awaiters: bool | None
    after_failed: Literal["cancel", "run"] | None


class JobTask(Protocol):
    """A task of a worker, as a graph sees it."""

    def order(self, payload: Any, options: Mapping[str, Any]) -> Data:
        """Return the data of a `job.enqueue` for the task."""


def ids_of(after: Any) -> list[str]:
    """Return the ids of what a job is to wait for.

    Args:
        after: An id, a job or anything else with an id, or an iterable of these; of a mapping, such as the result of
            `Graph.enqueue`, the values count.

    Raises:
        TypeError: It is none of these.

    Example:
        >>> from resonate_core.calls.graph_nodes import ids_of
        >>> ids_of("a"), ids_of(rc.Store().jobs.enqueue_many("t", [1, 2], ids=["b", "c"]))
        (['a'], ['b', 'c'])
    """
    return [one for one, _ in references(after)]


def references(after: Any) -> list[tuple[str, bool]]:
    """Return each id, and whether it was given as a text, which may be the name of a node."""
    if isinstance(after, str):
        return [(after, True)]
    single = _reference(after)
    if single is not None:
        return [single]
    items = after.values() if isinstance(after, Mapping) else after
    if not hasattr(items, "__iter__") or isinstance(items, (bytes, bytearray, memoryview)):
        raise _wrong_after(after)
    found = []
    for one in items:
        reference = _reference(one)
        if reference is None:
            raise _wrong_after(one)
        found.append(reference)
    return found


def _reference(one: Any) -> tuple[str, bool] | None:
    if isinstance(one, str):
        return one, True
    id = getattr(one, "id", None)
    return (id, False) if isinstance(id, str) else None


def _wrong_after(given: Any) -> TypeError:
    return TypeError(f"after must be an id, a job, or an iterable of these, got {given!r}")


class Node:
    """A job that is not enqueued yet: what `Graph.add`, `chain` and ``then`` of `enqueue_many` take.

    Args:
        task: A task of a worker, or the type of the job.
        payload: Its payload, as of `WorkerTask.enqueue` or `Store.jobs.enqueue`.
        options: As there.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> album = rc.Node("album:build", {"album": 7}, queue="images")
        >>> [job.type for job in store.jobs.enqueue_many("image:resize", ["a.png", "b.png"], then=album)]
        ['image:resize', 'image:resize', 'album:build']
    """

    __slots__ = ("_order", "_task")

    def __init__(self, task: str | JobTask, payload: Any = None, **options: Unpack[NodeOptions]) -> None:
        self._task = task
        self._order = order_of(task, payload, options)

    @property
    def task(self) -> str | JobTask:
        """The task or the type, as it was given."""
        return self._task

    @property
    def order(self) -> Data:
        """The data of its `job.enqueue`, without an id.

        Example:
            >>> rc.Node("mail", priority=3).order
            {'queue': 'default', 'type': 'mail', 'priority': 3}
        """
        return self._order

    def __repr__(self) -> str:
        return f"<Node of type {self.order['type']!r}>"


#: What a graph runs: a type, a task of a worker, or either with payload and options.
ToRun = str | JobTask | Node


def order_of(task: str | JobTask, payload: Any, options: Mapping[str, Any]) -> Data:
    """Return the data of the `job.enqueue` of a job without an id.

    Raises:
        Invalid: The payload or an option is not valid.
        TypeError: The task is none, or there is no such option.
    """
    if isinstance(task, str):
        return data_of_enqueue(task, payload, **options)
    if callable(getattr(task, "order", None)):
        return task.order(payload, options)
    raise TypeError(f"task must be a task of a worker (@worker.task), the type of a job, or a Node, got {task!r}")


def node_of(task: ToRun, payload: Any = None, options: Mapping[str, Any] | None = None) -> Node:
    """Return a node as it is, or make one.

    Raises:
        TypeError: A node comes with a payload or options, or the task is none.
    """
    if not isinstance(task, Node):
        return Node(task, payload, **cast("Any", options or {}))
    if payload is not None or options:
        raise TypeError(f"payload and options of {task!r} must be given where the node is made, got {payload!r} and {options!r}")
    return task
