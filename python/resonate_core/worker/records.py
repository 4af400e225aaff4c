"""A job as a worker sees it: the record of a store in this process, or one that came from a server."""

from __future__ import annotations

import re
from typing import Any, cast

from .. import _core
from .._core import Job, Value

__all__ = ["JobRecord", "RemoteJob", "camel", "remote_job"]

#: A job as it was at the instant of the call (JOBS 2). Of a server it is a `RemoteJob`, which has the same members.
JobRecord = Job


def camel(name: str) -> str:
    """A member's name on the wire: process_at is processAt.

    Example:
        >>> from resonate_core.worker.records import camel
        >>> camel("retry_policy")
        'retryPolicy'
    """
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


#: The state in asynq and in horsies: members that a record in an envelope does not have, since they follow from its state.
_STATE_NAMES = ("asynq_state", "horsies_state")
#: The other members, with their names on the wire; an absent member is None.
_MEMBERS = {name: camel(name) for name, member in vars(Job).items() if isinstance(member, property) and name not in _STATE_NAMES}
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

    def __init__(self, wire: dict[str, Any]) -> None:
        self._wire = wire

    def __getattr__(self, name: str) -> Any:
        if name in _STATE_NAMES:
            return _core.job_state_names(self.state, self.gathering)[_STATE_NAMES.index(name)]
        wired = _MEMBERS.get(name)
        if wired is None:
            raise AttributeError(f"a job has no member {name!r}")
        value = self._wire.get(wired)
        if name in _VALUES:
            return Value(**(value or {}))
        return bool(value) if name in _FLAGS else value

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


def remote_job(wire: dict[str, Any]) -> JobRecord:
    """The record of an envelope, with the members that type checkers know."""
    return cast(JobRecord, RemoteJob(wire))
