"""A job as a worker sees it: the core's record, or one that came from a server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from .._core import Value

__all__ = ["JobRecord", "RemoteBatch", "RemoteJob", "camel"]


class JobRecord(Protocol):
    """What the worker reads of a job (JOBS 2)."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def type(self) -> str:
        """The name of its handler."""

    @property
    def queue(self) -> str:
        """Where it waited."""

    @property
    def state(self) -> str:
        """`claimed` where it has yet to be started, `running` where the claim did that."""

    @property
    def version(self) -> int:
        """What every request about it has to present."""

    @property
    def payload(self) -> Value:
        """What it was enqueued with."""

    @property
    def retry_count(self) -> int:
        """Retries used."""

    @property
    def attempts(self) -> list[dict[str, Any]]:
        """The attempts, the present one among them once it runs."""

    @property
    def timeout(self) -> int | None:
        """Of one attempt, in ms."""

    @property
    def deadline(self) -> int | None:
        """Of the whole job, in Unix ms."""


def camel(name: str) -> str:
    """A member's name on the wire: process_at is processAt.

    Example:
        >>> from resonate_core.worker.records import camel
        >>> camel("retry_policy")
        'retryPolicy'
    """
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


#: The members of a record that may be absent: None then (a job that has no such thing).
_MEMBERS = frozenset(
    [
        "id",
        "queue",
        "type",
        "state",
        "payload",
        "tags",
        "priority",
        "version",
        "max_retries",
        "retry_count",
        "retry_policy",
        "on_exhausted",
        "claimed_by",
        "lease_until",
        "process_at",
        "good_until",
        "timeout",
        "deadline",
        "retention",
        "unique_key",
        "unique_for",
        "result",
        "error",
        "attempts",
        "sent_at",
        "enqueued_at",
        "claimed_at",
        "started_at",
        "completed_at",
        "failed_at",
        "next_retry_at",
        "cancelled_at",
        "expired_at",
    ]
)
_VALUES = frozenset({"payload", "result"})


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

    # Read so often, or told so exactly by the protocol above, that they have names of their own.
    id: str
    type: str
    queue: str
    state: str
    version: int
    payload: Value
    retry_count: int
    attempts: list[dict[str, Any]]
    timeout: int | None
    deadline: int | None

    def __init__(self, wire: dict[str, Any]) -> None:
        self._wire = wire

    def __getattr__(self, name: str) -> Any:
        if name not in _MEMBERS:
            raise AttributeError(f"a job has no member {name!r}")
        told = self._wire.get(camel(name))
        if name in _VALUES:
            return Value(**(told or {}))
        return told

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
