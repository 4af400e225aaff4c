"""The records of a workflow: their names, their failures, and one of them as a `Step`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from .._core import Promise, PromiseState
from .._foreign_text import MOST_OF_A_REFUSAL, excerpt
from ..base.instants import NEVER
from ..base.payloads import decoded

__all__ = [
    "NAME_TAG",
    "TOPIC_TAG",
    "WORKFLOW_TAG",
    "RecordKind",
    "RecordedError",
    "Retry",
    "Step",
    "attempts_in",
    "began_at",
    "called_in",
    "failure_in",
    "failure_of",
    "kind_of",
    "name_in",
    "name_of",
    "retry_in",
]

#: What a record is: `step` (a function of the program), `retry` (the timer before its next attempt), `job` (a child job), `receive`,
#: `message`, `call` (of the library: sleep, promise, result, rpc), `own` (records of the library for itself: gather, first, patched, now,
#: uuid4, random, begun), or None: it is no record of a workflow.
RecordKind = Literal["step", "retry", "job", "receive", "message", "call", "own"]

#: The tag of each job that is a workflow, with the value "true". A search finds workflows by it: the engine keeps the lifecycle of a
#: job, but shows it nowhere.
WORKFLOW_TAG = "resonate:workflow"
#: The tag of a record: the name of the call.
NAME_TAG = "resonate:name"
#: The tag of a receive and of a message: its topic.
TOPIC_TAG = "resonate:topic"
_PARENT_TAG = "resonate:parent"
#: Code and message of a promise that was settled without an error, with its id.
_SETTLED = {
    "rejected": ("Rejected", "{} was rejected"),
    "rejected_canceled": ("Cancelled", "{} was cancelled"),
    "rejected_timedout": ("TimeoutError", "the deadline of {} has passed"),
}
_RETRY = "retry "
_OWN = frozenset({"gather", "first", "now", "uuid4", "random"})
_OWN_WORDS = ("patched ", "begun ")  # the second: a later attempt of a step that runs at most once
_CALLS = frozenset({"sleep", "promise"})
_CALL_WORDS = ("result ", "rpc ")
#: The members of the param of a step.
_OF_A_STEP = frozenset({"startedAt", "attempts"})


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
    return failure_in(promise.to_dict())


def failure_in(promise: Mapping[str, Any]) -> RecordedError | None:
    """Return why a promise has no result, as `failure_of`.

    Args:
        promise: As on the wire.
    """
    if promise["state"] not in _SETTLED:
        return None
    code, words = _SETTLED[promise["state"]]
    message = words.format(promise["id"])
    value = decoded(promise.get("value") or {})
    if value.kind == "none":
        return RecordedError(code, message)
    named = _failure_in(value.content)
    if named is not None:
        return named
    if isinstance(value.content, str):
        return RecordedError(code, excerpt(value.content, MOST_OF_A_REFUSAL))
    return RecordedError(code, message, value.content)


def attempts_in(promise: Mapping[str, Any]) -> int:
    """Return how often a step was tried, as its record says; 1 of anything else.

    Args:
        promise: As on the wire.
    """
    return _whole(_param_of(promise).get("attempts"), 1, 1) if kind_of(promise) == "step" else 1


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
    if kind_of(promise) not in ("step", "retry"):
        return created_at  # the param is that of a job or of a program, and may be anything
    return _whole(_param_of(promise).get("startedAt"), 0, created_at)


def kind_of(promise: Mapping[str, Any]) -> RecordKind | None:
    """Return what a record of a workflow is; None if it is none.

    Args:
        promise: As on the wire, or a row of a snapshot.

    Example:
        >>> from resonate_core.calls.workflow_records import kind_of
        >>> kind_of({"id": "o:1", "tags": {"resonate:name": "first"}}), kind_of({"id": "o:2", "tags": {"resonate:name": "charge"}})
        ('own', 'step')
        >>> kind_of({"id": "o:@approval:#1", "tags": {"resonate:topic": "approval", "resonate:parent": "o"}})
        'message'
    """
    tags = promise.get("tags") or {}
    name = tags.get(NAME_TAG)
    if not name:
        if not tags.get(TOPIC_TAG):
            return None
        return "message" if promise["id"].startswith(f"{tags.get(_PARENT_TAG)}:@") else "receive"
    if name.startswith(_RETRY) and tags.get("resonate:timer") == "true":
        return "retry"
    param = _param_of(promise)
    if "startedAt" in param and param.keys() <= _OF_A_STEP:  # of whatever name
        return "step"
    if name in _OWN or name.startswith(_OWN_WORDS):
        return "own"
    if name.startswith("job "):
        return "job"
    return "call" if name in _CALLS or name.startswith(_CALL_WORDS) else "step"


def called_in(promise: Mapping[str, Any]) -> str:
    """Return the name of a record, as `name_of`; of a message, its topic.

    Args:
        promise: As on the wire, or a row of a snapshot.
    """
    tags: Mapping[str, str] = promise.get("tags") or {}
    return f"message {tags[TOPIC_TAG]}" if kind_of(promise) == "message" else name_in(tags)


class Retry(NamedTuple):
    """The timer before an attempt of a step.

    Attributes:
        step: The id of the step.
        name: Its name.
        failed: The number of the attempt that has failed.
        error: Its error; None: the timer has none.
    """

    step: str
    name: str
    failed: int
    error: RecordedError | None


def retry_in(promise: Mapping[str, Any]) -> Retry | None:
    """Return what the timer before an attempt of a step says; None if a promise is none.

    Args:
        promise: As on the wire, or a row of a snapshot.

    Example:
        >>> from resonate_core.calls.workflow_records import retry_in
        >>> retry_in({"id": "o:2:1", "tags": {"resonate:name": "retry charge", "resonate:timer": "true"}})
        Retry(step='o:2', name='charge', failed=1, error=None)
    """
    if kind_of(promise) != "retry":
        return None
    step, _, number = promise["id"].rpartition(":")
    if not (step and number.isascii() and number.isdigit()):
        return None
    return Retry(step, promise["tags"][NAME_TAG].removeprefix(_RETRY), int(number), _failure_of_retry(_param_of(promise)))


def _param_of(promise: Mapping[str, Any]) -> Mapping[str, Any]:
    content = decoded(promise.get("param") or {}).content
    return content if isinstance(content, dict) else {}


def _failure_in(content: Any) -> RecordedError | None:
    """Return the failure that a decoded value is; the SDKs write its name alone."""
    if not isinstance(content, dict):
        return None
    code = next((content[name] for name in ("code", "name") if isinstance(content.get(name), str) and content[name]), None)
    if code is None:
        return None
    message = content.get("message")
    return RecordedError(code, message if isinstance(message, str) else "", content.get("data"))


def _failure_of_retry(param: Mapping[str, Any]) -> RecordedError | None:
    return _failure_in(param.get("error")) or _failure_in(param)


@dataclass(frozen=True)
class Step:
    """One call of a workflow, as its history has it.

    Attributes:
        id: Of the record: that of the scope and the number of the call in it.
        name: Of the call: the name of a step, or words such as ``sleep``, ``receive approval`` or ``job order:pack``. Empty: not said.
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
        """Return the step that a child of a job is. Any program may have made the record, so none is refused.

        Example:
            >>> store = rc.Store(clock=rc.ManualClock())
            >>> rc.Step.of(store.promises.create("order-7:1", timeout=1000, tags={"resonate:name": "charge"})).name
            'charge'
        """
        name, record = name_of(promise), promise.to_dict()
        kind = kind_of(record)
        told = _param_of(record) if kind in ("step", "retry") else {}
        error = failure_of(promise)
        if error is None and kind == "retry":
            error = _failure_of_retry(told)
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
