"""The records of a workflow: their names, their failures, and one of them as a `Step`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._core import Promise, PromiseState
from .._foreign_text import MOST_OF_A_REFUSAL, excerpt
from ..base.instants import NEVER
from ..base.payloads import decoded

__all__ = ["NAME_TAG", "TOPIC_TAG", "WORKFLOW_TAG", "RecordedError", "Step", "began_at", "failure_of", "name_in", "name_of"]

#: The tag of each job that is a workflow, with the value "true". A search finds workflows by it: the engine keeps the lifecycle of a
#: job, but shows it nowhere.
WORKFLOW_TAG = "resonate:workflow"
#: The tag of a record: what was called.
NAME_TAG = "resonate:name"
#: The tag of a receive and of a message: its topic.
TOPIC_TAG = "resonate:topic"
#: Code and message of a promise that was settled without an error, with its id.
_SETTLED = {
    "rejected": ("Rejected", "{} was rejected"),
    "rejected_canceled": ("Cancelled", "{} was cancelled"),
    "rejected_timedout": ("TimeoutError", "the deadline of {} has passed"),
}
_RETRY = "retry "


@dataclass(frozen=True)
class RecordedError:
    """Why a step, a promise or a job has failed.

    Attributes:
        code: Of a `JobError`, otherwise the name of the exception; of a promise that someone else settled without an error:
            Rejected, Cancelled or TimeoutError.
        message: The error in words.
        data: More about it, as it was given; None: nothing.
    """

    code: str
    message: str = ""
    data: Any = field(default=None, hash=False)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code


def name_in(tags: Mapping[str, str]) -> str:
    """Return the name of a record with these tags; see `name_of`.

    Example:
        >>> from resonate_core.calls.workflow_records import name_in
        >>> name_in({"resonate:name": "charge"}), name_in({"resonate:topic": "approval"}), name_in({})
        ('charge', 'receive approval', '')
    """
    name = tags.get(NAME_TAG)
    if name:
        return name
    topic = tags.get(TOPIC_TAG)
    return f"receive {topic}" if topic else ""


def name_of(promise: Promise) -> str:
    """Return what a workflow called: the name of a step, or the word of the library and what it is about; empty if it is not said.

    Example:
        >>> from resonate_core.calls.workflow_records import name_of
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> name_of(store.promises.create("order-7:1", timeout=1000, tags={"resonate:name": "sleep"}))
        'sleep'
    """
    return name_in(promise.tags)


def failure_of(promise: Promise) -> RecordedError | None:
    """Return why a promise has no result; None if it is pending or resolved.

    The value of a rejected record is ``{"code", "message", "data"}``; that of a failed job has these members, too. Other programs may
    reject a promise with anything.

    Example:
        >>> from resonate_core.calls.workflow_records import failure_of
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("a", timeout=1000)
        >>> failure_of(store.promises.reject("a", {"code": "NoStock", "message": "sold out"}))
        RecordedError(code='NoStock', message='sold out', data=None)
    """
    if promise.state in ("pending", "resolved"):
        return None
    code, words = _SETTLED[promise.state]
    message = words.format(promise.id)
    value = decoded(promise.value.to_dict())
    if value.kind == "none":
        return RecordedError(code, message)
    named = _failure_in(value.content)
    if named is not None:
        return named
    if isinstance(value.content, str):
        return RecordedError(code, excerpt(value.content, MOST_OF_A_REFUSAL))
    return RecordedError(code, message, value.content)


def began_at(promise: Mapping[str, Any]) -> int:
    """Return when a call began, in Unix ms: a step is recorded at its end, and its record says when it began.

    Args:
        promise: As on the wire.

    Example:
        >>> from resonate_core.calls.workflow_records import began_at
        >>> record = {"createdAt": 5000, "tags": {"resonate:name": "charge"}, "param": {"data": "eyJzdGFydGVkQXQiOjQwMDB9"}}
        >>> began_at(record), began_at({**record, "tags": {}})
        (4000, 5000)
    """
    created_at = int(promise["createdAt"])
    if NAME_TAG not in (promise.get("tags") or {}):
        return created_at  # a promise of a program, whose param may be anything
    told = decoded(promise.get("param") or {}).content
    return _whole(told.get("startedAt"), 0, created_at) if isinstance(told, dict) else created_at


def _failure_in(content: Any) -> RecordedError | None:
    """Return the failure that a decoded value is; the SDKs write its name alone."""
    if not isinstance(content, dict):
        return None
    code = next((content[name] for name in ("code", "name") if isinstance(content.get(name), str) and content[name]), None)
    if code is None:
        return None
    message = content.get("message")
    return RecordedError(code, message if isinstance(message, str) else "", content.get("data"))


@dataclass(frozen=True)
class Step:
    """One call of a workflow, as its history has it.

    Attributes:
        id: Of the record: that of the scope and the number of the call in it.
        name: What was called, such as the name of a step, ``sleep``, ``receive approval`` or ``job order:pack``; empty if it is not said.
        state: That of the promise.
        result: The result, decoded; None if there is none. A value that is not JSON is its text or its bytes.
        error: Why it failed. Of a timer for the next attempt of a step, why the attempt before has failed. None: it has not.
        started_at: When it began, in Unix ms.
        settled_at: When it ended, in Unix ms; None: it is pending.
        attempts: How often it was tried: 1 unless the record says more.
        timeout_at: Its deadline, in Unix ms; None: it has none.
        tags: Of the promise.
        promise: The record itself.

    Example:
        >>> store = rc.Store(clock=rc.ManualClock(start=5000))
        >>> _ = store.jobs.enqueue("order:fulfil", id="order-7", lifecycle="workflow")
        >>> [job] = store.jobs.claim("default", worker="w", lease=60_000)
        >>> record = {"id": "order-7:1", "state": "resolved", "value": "r-1", "tags": {"resonate:name": "charge"}}
        >>> _ = store.jobs.record("order-7", job.version, [{**record, "param": {"startedAt": 4000, "attempts": 2}}])
        >>> [step] = store.workflows.history("order-7")
        >>> step.name, step.result, step.attempts, step.took
        ('charge', 'r-1', 2, 1000)
    """

    id: str
    name: str
    state: PromiseState
    result: Any = field(hash=False)
    error: RecordedError | None
    started_at: int
    settled_at: int | None
    attempts: int
    timeout_at: int | None
    tags: dict[str, str] = field(hash=False)
    promise: Promise = field(repr=False)

    @staticmethod
    def of(promise: Promise) -> Step:
        """Return the step that a child of a job is. Any program may have made the record, so none is refused."""
        name = name_of(promise)
        param = decoded(promise.param.to_dict()).content
        told: Mapping[str, Any] = param if isinstance(param, dict) else {}
        error = failure_of(promise)
        if error is None and name.startswith(_RETRY):
            error = _failure_in(told.get("error")) or _failure_in(told)
        return Step(
            id=promise.id,
            name=name,
            state=promise.state,
            result=decoded(promise.value.to_dict()).content if promise.state == "resolved" else None,
            error=error,
            started_at=_whole(told.get("startedAt"), 0, promise.created_at),
            settled_at=promise.settled_at,
            attempts=_whole(told.get("attempts"), 1, 1),
            timeout_at=None if promise.timeout_at == NEVER else promise.timeout_at,
            tags=promise.tags,
            promise=promise,
        )

    @property
    def took(self) -> int | None:
        """The time from its beginning to its end, in ms; None while it is pending."""
        return None if self.settled_at is None else max(self.settled_at - self.started_at, 0)


def _whole(value: Any, least: int, otherwise: int) -> int:
    return value if type(value) is int and value >= least else otherwise
