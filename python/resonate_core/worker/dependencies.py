"""The outcomes of what a job waited for, for its handler."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar, overload

from .._core import Job, Promise
from ..calls.graph import GRAPH_TAG
from ..calls.outcome import value_of
from ..errors import Invalid, NotFound, Rejected
from .conversion import Conversion, Unfit, at_member, conversion

__all__ = ["Dependencies", "PromiseReader"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
D = TypeVar("D")
_ABSENT: Any = object()


class PromiseReader(Protocol):
    """Reads promises."""

    def promises(self, ids: Sequence[str]) -> list[Promise | None]:
        """Return the promises with these ids, in order; None for one that does not exist."""

    async def apart(self, function: Callable[[], T]) -> T:
        """Call a function that makes requests, so that the event loop does not wait for it."""


class Dependencies(Mapping[str, T_co], Generic[T_co]):
    """The results of what a job waited for by ``after``, in its order, by id; in a graph, by the name of the node.

    A handler gets them from `JobContext.dependencies`, or by a parameter that is annotated ``Dependencies[T]``: each result is then
    converted to ``T``. All are read by one request when the first is asked for; for such a parameter of an asynchronous handler,
    before its call. In an asynchronous handler ``await job.dependencies`` first, so that the event loop does not wait for the store.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> worker = rc.worker.Worker(store)
        >>> @worker.task("parse")
        ... def parse(rows: list[int]) -> int:
        ...     return sum(rows)
        >>> @worker.task("load")
        ... def load(parsed: rc.worker.Dependencies[int]) -> list[tuple[str, int]]:
        ...     return list(parsed.items())
        >>> graph = worker.graph("g")
        >>> _ = graph.add("odd", parse, [1, 3])
        >>> _ = graph.add("even", parse, [2, 4])
        >>> _ = graph.add("load", load, after=["odd", "even"])
        >>> _ = graph.enqueue()
        >>> worker.run_until_idle().runs[-1].result
        [('odd', 4), ('even', 6)]
    """

    __slots__ = ("_conversion", "_ids", "_promises", "_reader")

    def __init__(self, job: Job, reader: PromiseReader | None, type: Any = Any) -> None:
        self._ids = _labels(job)
        self._reader = reader
        self._promises: dict[str, Promise] | None = None
        self._conversion = None if type is Any else conversion(type, "a dependency")

    def typed(self, conversion: Conversion | None) -> Dependencies[Any]:
        """Return the same outcomes; their results are converted by `conversion`."""
        other: Dependencies[Any] = object.__new__(Dependencies)
        other._ids, other._reader, other._promises, other._conversion = self._ids, self._reader, self._promises, conversion
        return other

    def __repr__(self) -> str:
        return f"Dependencies({list(self)!r})"

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, key: object) -> bool:
        return self._id(key) is not None

    def __getitem__(self, key: str) -> T_co:
        result: T_co = _converted(self._conversion, value_of(self.promise(key)), key)
        return result

    @overload
    def get(self, key: str, default: None = None) -> T_co | None: ...
    @overload
    def get(self, key: str, default: D) -> T_co | D: ...
    @overload
    def get(self, key: str, *, type: Callable[..., T]) -> T: ...
    @overload
    def get(self, key: str, default: D, *, type: Callable[..., T]) -> T | D: ...
    @overload
    def get(self, key: str, default: Any = None, *, type: Any) -> Any: ...
    def get(self, key: str, default: Any = _ABSENT, *, type: Any = None) -> Any:
        """Return a result.

        Args:
            key: The id, or in a graph the name of the node.
            default: Returned if the job did not wait for it; without one, None, or with a `type` a KeyError.
            type: What the result is converted to, as an annotation of a handler's parameter would convert a payload.

        Raises:
            KeyError: There is a type and no default, and the job did not wait for it.
            Rejected: It has failed, was cancelled, or its deadline has passed.
            Invalid: The result does not fit the type, or there is none yet.

        Example:
            >>> import datetime
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> first = worker.task("first")(lambda: "2026-02-01")
            >>> @worker.task("second")
            ... def second(job: rc.worker.JobContext):
            ...     return job.dependencies.get("a", type=datetime.date).year
            >>> _ = first.enqueue(id="a", retention="kept")
            >>> _ = second.enqueue(after="a")
            >>> worker.run_until_idle().runs[-1].result
            2026
        """
        if key not in self and (default is not _ABSENT or type is None):
            return None if default is _ABSENT else default
        if type is None:
            return self[key]
        return _converted(conversion(type, f"dependency {key!r}"), value_of(self.promise(key)), key)

    def promise(self, key: str) -> Promise:
        """Return the settled promise, whatever its outcome.

        Args:
            key: The id, or in a graph the name of the node.

        Raises:
            KeyError: The job did not wait for it.
            Invalid: It is not settled: a person has run the job before.
            NotFound: It was deleted.
        """
        id = self._id(key)
        if id is None:
            raise KeyError(f"{key!r} is nothing that the job waited for: {', '.join(self) or 'it waited for nothing'}")
        promise = self._read().get(id)
        if promise is None:
            raise NotFound(f'promise "{id}" does not exist any more')
        if promise.state == "pending":
            raise Invalid(f'dependency "{key}" has no outcome yet: the job was run before what it waited for had ended')
        return promise

    def error(self, key: str) -> Rejected | None:
        """Return why one has no result; None if it has one. A job with ``after_failed="run"`` asks it.

        Args:
            key: The id, or in a graph the name of the node.

        Raises:
            KeyError: The job did not wait for it.
            Invalid: See `promise`.
            NotFound: See `promise`.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> @worker.task("first", max_retries=0, on_exhausted="failed")
            ... def first():
            ...     raise rc.worker.JobError("NoStock", "sold out")
            >>> @worker.task("second")
            ... def second(job: rc.worker.JobContext):
            ...     return str(job.dependencies.error("a"))
            >>> _ = first.enqueue(id="a")
            >>> _ = second.enqueue(after="a", after_failed="run")
            >>> worker.run_until_idle().runs[-1].result
            'promise "a" is rejected: NoStock: sold out'
        """
        promise = self.promise(key)
        return None if promise.state == "resolved" else Rejected(promise)

    @property
    def failed(self) -> dict[str, Rejected]:
        """The errors of those that have no result, by id or name, in order."""
        found = {key: self.error(key) for key in self}
        return {key: error for key, error in found.items() if error is not None}

    def __await__(self) -> Generator[Any, None, Dependencies[T_co]]:
        return self._load().__await__()

    async def _load(self) -> Dependencies[T_co]:
        if self._promises is None and self._ids and self._reader is not None:
            await self._reader.apart(self._read)
        return self

    def _id(self, key: object) -> str | None:
        """The id of a key: a label, or an id."""
        found = self._ids.get(key) if isinstance(key, str) else None
        return found or (key if isinstance(key, str) and key in self._ids.values() else None)

    def _read(self) -> dict[str, Promise]:
        if self._promises is None:
            if self._reader is None:
                raise Invalid("dependencies can only be read in a handler that a worker has called")
            ids = list(self._ids.values())
            found = zip(ids, self._reader.promises(ids), strict=True)
            self._promises = {id: promise for id, promise in found if promise is not None}
        return self._promises


def _labels(job: Job) -> dict[str, str]:
    """The ids of what a job waited for, by name in its graph, or else by id."""
    graph = job.tags.get(GRAPH_TAG)
    prefix = None if graph is None else f"{graph}:"
    ids = dict.fromkeys(job.after)
    return {id if prefix is None or not id.startswith(prefix) else id.removeprefix(prefix): id for id in ids}


def _converted(conversion: Conversion | None, value: Any, key: str) -> Any:
    if conversion is None:
        return value
    try:
        return conversion.convert(value)
    except Unfit as error:
        raise Invalid(f"result of dependency {at_member(str(error), key)}") from error
