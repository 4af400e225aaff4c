"""A job as a worker sees it: the core's record, or one that came from a server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from .._core import Value

__all__ = ["JobRecord", "RemoteBatch", "RemoteJob", "camel"]


class JobRecord(Protocol):
    """A job as it was at the instant of the call (JOBS 2): `resonate_core.Job`, or what a server answered.

    Example:
        >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
        >>> job = worker.enqueue("email:send", {"to": "ada"}, priority=10)
        >>> job.state, job.priority, job.payload.json()
        ('pending', 10, {'to': 'ada'})
    """

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def queue(self) -> str:
        """Where it waits, or waited."""

    @property
    def type(self) -> str:
        """The name of its handler."""

    @property
    def state(self) -> str:
        """One of the ten of JOBS 1."""

    @property
    def payload(self) -> Value:
        """What it was enqueued with."""

    @property
    def tags(self) -> dict[str, str]:
        """Strings by name."""

    @property
    def priority(self) -> int:
        """1 is first, 100 last."""

    @property
    def version(self) -> int:
        """How often it was claimed; every request of its worker presents it."""

    @property
    def max_retries(self) -> int:
        """Retries that it has."""

    @property
    def retry_count(self) -> int:
        """Retries that it used."""

    @property
    def retry_policy(self) -> dict[str, Any]:
        """As on the wire."""

    @property
    def on_exhausted(self) -> str:
        """`archived` or `failed`."""

    @property
    def claimed_by(self) -> str | None:
        """The worker that holds it."""

    @property
    def lease_until(self) -> int | None:
        """Until when it does, in Unix ms."""

    @property
    def process_at(self) -> int | None:
        """Not before, in Unix ms."""

    @property
    def good_until(self) -> int | None:
        """Not to be begun later, in Unix ms."""

    @property
    def timeout(self) -> int | None:
        """Of one attempt, in ms."""

    @property
    def deadline(self) -> int | None:
        """Of the whole job, in Unix ms."""

    @property
    def retention(self) -> int | None:
        """How long it stays once it is completed, in ms; None: for ever."""

    @property
    def unique_key(self) -> str | None:
        """What no other job of its queue has."""

    @property
    def unique_for(self) -> int | None:
        """How long it holds the key, in ms."""

    @property
    def group(self) -> str | None:
        """What it is gathered by."""

    @property
    def batch(self) -> str | None:
        """The batch that it was gathered into."""

    @property
    def gathering(self) -> bool:
        """Whether its batch still waits for others."""

    @property
    def result(self) -> Value:
        """What the body returned."""

    @property
    def error(self) -> dict[str, str] | None:
        """The last one: code, message, data."""

    @property
    def attempts(self) -> list[dict[str, Any]]:
        """The newest hundred, the present one among them once it runs."""

    @property
    def sent_at(self) -> int:
        """When the caller sent it, in Unix ms."""

    @property
    def enqueued_at(self) -> int | None:
        """When it became claimable, in Unix ms."""

    @property
    def claimed_at(self) -> int | None:
        """When it was claimed, in Unix ms."""

    @property
    def started_at(self) -> int | None:
        """When its attempt began, in Unix ms."""

    @property
    def completed_at(self) -> int | None:
        """When it was completed, in Unix ms."""

    @property
    def failed_at(self) -> int | None:
        """When it failed for good, in Unix ms."""

    @property
    def next_retry_at(self) -> int | None:
        """When it is tried again, in Unix ms."""

    @property
    def cancelled_at(self) -> int | None:
        """When it was cancelled, in Unix ms."""

    @property
    def expired_at(self) -> int | None:
        """When it expired, in Unix ms."""

    def to_dict(self) -> dict[str, Any]:
        """The record as it stands in an envelope.

        Example:
            >>> worker = rc.worker.Worker(rc.Store(clock=rc.ManualClock()))
            >>> worker.enqueue("email:send").to_dict()["maxRetries"]
            25
        """


def camel(name: str) -> str:
    """A member's name on the wire: process_at is processAt.

    Example:
        >>> from resonate_core.worker.records import camel
        >>> camel("retry_policy")
        'retryPolicy'
    """
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


#: The members of a record, with their names on the wire; one that is absent is None (a job that has no such thing).
_MEMBERS = {name: camel(name) for name, member in vars(JobRecord).items() if isinstance(member, property)}
_VALUES = frozenset({"payload", "result"})
_FLAGS = frozenset({"gathering"})


class RemoteJob:
    """A job that came over the wire, with the members of the core's record.

    Args:
        wire: The record in an envelope.

    Example:
        >>> from resonate_core.worker.records import RemoteJob
        >>> job = RemoteJob({"id": "a", "type": "mail", "retryCount": 2, "payload": {"data": "WzFd"}})
        >>> job.retry_count, job.payload.json(), job.good_until
        (2, [1], None)
    """

    __slots__ = ("_wire",)

    # What __getattr__ gives, for type checkers.
    id: str
    queue: str
    type: str
    state: str
    payload: Value
    tags: dict[str, str]
    priority: int
    version: int
    max_retries: int
    retry_count: int
    retry_policy: dict[str, Any]
    on_exhausted: str
    claimed_by: str | None
    lease_until: int | None
    process_at: int | None
    good_until: int | None
    timeout: int | None
    deadline: int | None
    retention: int | None
    unique_key: str | None
    unique_for: int | None
    group: str | None
    batch: str | None
    gathering: bool
    result: Value
    error: dict[str, str] | None
    attempts: list[dict[str, Any]]
    sent_at: int
    enqueued_at: int | None
    claimed_at: int | None
    started_at: int | None
    completed_at: int | None
    failed_at: int | None
    next_retry_at: int | None
    cancelled_at: int | None
    expired_at: int | None

    def __init__(self, wire: dict[str, Any]) -> None:
        self._wire = wire

    def __getattr__(self, name: str) -> Any:
        wired = _MEMBERS.get(name)
        if wired is None:
            raise AttributeError(f"a job has no member {name!r}")
        told = self._wire.get(wired)
        if name in _VALUES:
            return Value(**(told or {}))
        return bool(told) if name in _FLAGS else told

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemoteJob) and self._wire == other._wire

    def __hash__(self) -> int:
        return hash((self.id, self.version))

    def __repr__(self) -> str:
        return f"RemoteJob(id={self.id!r}, type={self.type!r}, state={self.state!r})"

    def to_dict(self) -> dict[str, Any]:
        """The record as it came.

        Example:
            >>> from resonate_core.worker.records import RemoteJob
            >>> RemoteJob({"id": "a"}).to_dict()
            {'id': 'a'}
        """
        return dict(self._wire)


class RemoteBatch(Sequence[RemoteJob]):
    """Jobs of one answer.

    Args:
        records: As they came.
        next_at: When a queue that only lacked a token of its rate has one, in Unix ms.
    """

    def __init__(self, records: Sequence[dict[str, Any]], next_at: int | None = None) -> None:
        self._jobs = [RemoteJob(record) for record in records]
        self.next_at = next_at

    def __len__(self) -> int:
        return len(self._jobs)

    def __getitem__(self, index: Any) -> Any:
        return self._jobs[index]

    def __iter__(self) -> Iterator[RemoteJob]:
        return iter(self._jobs)

    def __repr__(self) -> str:
        return f"RemoteBatch({self._jobs!r})"
