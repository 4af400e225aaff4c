"""Results of several records, made from replies: they have the members of the core's classes of the same names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, overload

from .._core import Job, Promise, Schedule, Task

__all__ = [
    "Claim",
    "Fenced",
    "JobBatch",
    "JobHeartbeat",
    "PromiseBatch",
    "PromisePage",
    "Records",
    "SchedulePage",
    "Suspension",
    "TaskPage",
]

T = TypeVar("T")
Data = dict[str, Any]


def _preload(answer: Data) -> list[Promise]:
    return [Promise.from_dict(one) for one in answer.get("preload", ())]


@dataclass(frozen=True)
class Claim:
    """A task that was created or acquired, with its promise: see `resonate_core.Claim`."""

    task: Task
    promise: Promise
    preload: list[Promise] = field(default_factory=list)
    preload_cut: bool = False

    @classmethod
    def from_dict(cls, answer: Data) -> Claim:
        """The result of a reply."""
        task, promise = Task.from_dict(answer["task"]), Promise.from_dict(answer["promise"])
        return cls(task, promise, _preload(answer), answer.get("preloadCut", False))


@dataclass(frozen=True)
class Fenced:
    """The reply to a fenced action: see `resonate_core.Fenced`."""

    promise: Promise
    preload: list[Promise] = field(default_factory=list)
    preload_cut: bool = False

    @classmethod
    def from_dict(cls, answer: Data) -> Fenced:
        """The result of a reply."""
        return cls(Promise.from_dict(answer["promise"]), _preload(answer), answer.get("preloadCut", False))


@dataclass(frozen=True)
class Suspension:
    """The reply to a suspend: see `resonate_core.Suspension`."""

    status: int
    preload: list[Promise] = field(default_factory=list)
    preload_cut: bool = False

    @property
    def suspended(self) -> bool:
        """Whether the task is suspended; False: it stays acquired and continues."""
        return self.status == 200

    @classmethod
    def from_dict(cls, answer: Data) -> Suspension:
        """The result of a reply: only one that tells the task to continue has a preload."""
        return cls(300 if "preload" in answer else 200, _preload(answer), answer.get("preloadCut", False))


@dataclass(frozen=True)
class JobHeartbeat:
    """The reply to a heartbeat of jobs: see `resonate_core.JobHeartbeat`."""

    cancelled: list[str]
    lost: list[str]

    @classmethod
    def from_dict(cls, answer: Data) -> JobHeartbeat:
        """The result of a reply."""
        return cls(answer["cancelled"], answer["lost"])


class Records(Sequence[T], Generic[T]):
    """A sequence of records, and what a reply says about them.

    Args:
        records: The records.
        cursor: Of a page of a search: the cursor of the next page; None on the last page.
    """

    def __init__(self, records: Iterable[T], cursor: str | None = None) -> None:
        self._records = list(records)
        self.cursor = cursor

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        return self._records[index]

    def __len__(self) -> int:
        return len(self._records)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Records) and (self._records, self.cursor) == (other._records, other.cursor)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        count = len(self._records)
        more = "" if self.cursor is None else ", and more"
        return f"{type(self).__name__} of {count} {'record' if count == 1 else 'records'}{more}"


class PromisePage(Records[Promise]):
    """A page of promises."""

    @classmethod
    def from_dict(cls, answer: Data) -> PromisePage:
        """The result of a reply."""
        return cls(map(Promise.from_dict, answer["promises"]), answer.get("cursor"))


class TaskPage(Records[Task]):
    """A page of tasks."""

    @classmethod
    def from_dict(cls, answer: Data) -> TaskPage:
        """The result of a reply."""
        return cls(map(Task.from_dict, answer["tasks"]), answer.get("cursor"))


class SchedulePage(Records[Schedule]):
    """A page of schedules."""

    @classmethod
    def from_dict(cls, answer: Data) -> SchedulePage:
        """The result of a reply."""
        return cls(map(Schedule.from_dict, answer["schedules"]), answer.get("cursor"))


class PromiseBatch(Records[Promise]):
    """The promises of `create_many` or `settle_many`, in order of the given ids."""

    @classmethod
    def of(cls, records: list[Promise]) -> PromiseBatch:
        """The results of single calls."""
        return cls(records)

    @property
    def ids(self) -> list[str]:
        """All ids."""
        return [one.id for one in self]

    @property
    def states(self) -> list[str]:
        """All states."""
        return [one.state for one in self]


class JobBatch(Records[Job]):
    """Jobs that were enqueued, claimed or found.

    Attributes:
        next_at: Of a claim that got fewer jobs than it asked for: when a queue that only lacked a token of its rate has one, in Unix
            ms; None if there is no such queue.
    """

    def __init__(self, records: Iterable[Job], cursor: str | None = None, next_at: int | None = None) -> None:
        super().__init__(records, cursor)
        self.next_at = next_at

    @classmethod
    def from_dict(cls, answer: Data) -> JobBatch:
        """The result of a reply."""
        return cls(map(Job.from_dict, answer["jobs"]), answer.get("cursor"), answer.get("nextAt"))

    @classmethod
    def of(cls, records: list[Job]) -> JobBatch:
        """The results of single calls."""
        return cls(records)
