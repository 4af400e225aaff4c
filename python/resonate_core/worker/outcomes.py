"""How a job's body ends: what it may raise, and what the worker tells the store then."""

from __future__ import annotations

import json
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .durations import Duration, milliseconds

if TYPE_CHECKING:
    from .tasks import WorkerTask

__all__ = [
    "Failure",
    "JobCancelled",
    "JobError",
    "Retry",
    "Skip",
    "Snooze",
    "Verdict",
    "as_text",
    "judged",
    "unstorable",
    "unwritable",
]

#: The code of an exception that the body did not catch (JOBS 3).
UNHANDLED = "UnhandledError"
#: The code of an outcome that cannot be read or written.
INVALID = "InvalidError"
#: How much of a traceback is kept with the error, its end, in characters.
_TRACEBACK_KEPT = 8000


def _text(name: str, given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{name} must be a str, got {given!r}")
    return given


def _data_text(data: Any) -> str | None:
    """An error's data as the store keeps it: a str as it is, any other value as its JSON.

    Raises:
        TypeError: JSON has no such type.
        ValueError: JSON has no such value: a NaN, or an object that contains itself.
    """
    if data is None or isinstance(data, str):
        return data
    try:
        return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"data must be a value that JSON can hold, got {type(data).__name__}: {error}") from error


def _revived(kind: type[_Outcome], args: tuple[Any, ...], members: dict[str, Any]) -> _Outcome:
    error = kind.__new__(kind, *args)
    error.__dict__.update(members)
    return error


class _Outcome(Exception):
    """An exception by which a body says what is to become of its job. It can be pickled: a process pool may raise it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _revived, (type(self), self.args, self.__dict__)


class JobError(_Outcome):
    """Raise it to fail the attempt with a code of your own: policies retry by codes, and whoever awaits the job reads it.

    Args:
        code: A short name, such as ``CardDeclined``; not empty.
        message: For people.
        data: Any value that JSON can hold. The store keeps a str as it is, any other value as its JSON.
        retryable: Whether it may be retried at all. None: as the task's ``retry_on`` says.

    Raises:
        TypeError: An argument of the wrong type.
        ValueError: An empty code, or data such as a NaN.

    Example:
        >>> error = rc.worker.JobError("CardDeclined", "insufficient funds", {"card": "4242"}, retryable=False)
        >>> error.code, str(error), error.data
        ('CardDeclined', 'CardDeclined: insufficient funds', {'card': '4242'})
    """

    def __init__(self, code: str, message: str = "", data: Any = None, *, retryable: bool | None = None) -> None:
        if not _text("code", code):
            raise ValueError("code must not be empty, got ''")
        _text("message", message)
        _data_text(data)
        if retryable is not None and not isinstance(retryable, bool):
            raise TypeError(f"retryable must be a bool or None, got {retryable!r}")
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message
        self.data = data
        self.retryable = retryable


class Retry(JobError):
    """Raise it to try again later; it uses up a retry, and a job that has none left is exhausted as by any failure.

    Args:
        after: How long from now, in ms or as a timedelta; None: as the job's policy says.
        message: For people.
        code: What the attempt fails with. A policy that retries by codes has to have it.
        data: As of `JobError`.

    Example:
        >>> rc.worker.Retry(after=30_000).after
        30000
    """

    def __init__(self, after: Duration | None = None, message: str = "", *, code: str = "Retry", data: Any = None) -> None:
        super().__init__(code, message, data, retryable=True)
        self.after = None if after is None else milliseconds("after", after)


class Skip(JobError):
    """Raise it to fail without any retry, as asynq's ``SkipRetry``: the job is archived or failed at once, by its ``on_exhausted``.

    A body that has nothing to do is no failure: it returns, and its job is completed.

    Args:
        message: For people.
        code: What the attempt fails with.
        data: As of `JobError`.

    Example:
        >>> rc.worker.Skip("no such customer").retryable
        False
    """

    def __init__(self, message: str = "", *, code: str = "SkipRetry", data: Any = None) -> None:
        super().__init__(code, message, data, retryable=False)


class Snooze(_Outcome):
    """Raise it to have the job again later, without using up a retry: it did not fail, it is too early.

    Args:
        delay: How long from now, in ms or as a timedelta.

    Example:
        >>> from datetime import timedelta
        >>> rc.worker.Snooze(timedelta(minutes=5)).delay
        300000
    """

    def __init__(self, delay: Duration) -> None:
        self.delay = milliseconds("delay", delay)
        super().__init__(f"again in {self.delay} ms")


class JobCancelled(_Outcome):
    """What `JobContext.check` raises once the attempt is of no use any more. Let it pass: the worker knows why.

    Attributes:
        reason: `cancelled`, `lost` (another worker may have it), `timeout` or `stopping`.

    Example:
        >>> rc.worker.JobCancelled("lost").reason
        'lost'
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the attempt is over: {_text('reason', reason)}")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Failure:
    """What `job.fail` is told.

    Attributes:
        code: The error's code.
        message: For people.
        data: Anything more, as text.
        retryable: False: not again, whatever retries are left.
        retry_after: Instead of the policy's delay, in ms.
    """

    code: str
    message: str = ""
    data: str | None = None
    retryable: bool = True
    retry_after: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """How an attempt ended. Many attempts may share one; it is compared by identity.

    Attributes:
        outcome: `completed`, `failed`, `snoozed` or `dropped` (nothing is told to the store: it is over there already).
        result: What a completed body returned.
        failure: Why it failed.
        delay: Until a snoozed job is had again, in ms.
        error: What the body raised, for logs.
    """

    outcome: str
    result: Any = None
    failure: Failure | None = None
    delay: int = 0
    error: BaseException | None = None


DROPPED = Verdict("dropped")
TIMED_OUT = Verdict("failed", failure=Failure("TaskTimeout", "the attempt took longer than its timeout"))
PUT_BACK = Verdict("snoozed", delay=0)
#: Of what was claimed and not begun.
RELEASED = Verdict("released")


def unknown_type(worker: str, type: str) -> Failure:
    """What a job fails with whose type has no handler. As asynq's it is retried, and meets a worker that has one some day."""
    return Failure("UnknownType", f"worker {worker!r} has no handler for type {type!r}")


def as_text(text: str) -> str:
    """The text in what UTF-8 can say: a message may hold half a character, from a file's name or a broken string."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _told(error: BaseException) -> str:
    """Type and text of an exception, also of one whose ``__str__`` raises."""
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def _unhandled(error: BaseException, retryable: bool) -> Failure:
    message = _told(error)
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return Failure(UNHANDLED, as_text(message), as_text(trace[-_TRACEBACK_KEPT:]), retryable)


def unwritable(error: BaseException, verdict: Verdict | None = None) -> Verdict:
    """What becomes of an attempt whose outcome cannot be read or written: it has failed.

    Args:
        error: Why it cannot.
        verdict: The outcome, as far as it could be read.
    """
    failure = None if verdict is None else verdict.failure
    retryable = failure is None or failure.retryable is not False
    message = as_text(f"how the handler ended cannot be written: {_told(error)}")
    cause = error if verdict is None or verdict.error is None else verdict.error
    return Verdict("failed", failure=Failure(INVALID, message, retryable=retryable), error=cause)


def unstorable(error: BaseException) -> Verdict:
    """What becomes of an attempt whose body returned something that is no result."""
    message = as_text(f"what the handler returned cannot be stored: {_told(error)}")
    return Verdict("failed", failure=Failure("InvalidResult", message, retryable=False))


def judged(error: BaseException, task: WorkerTask[Any, Any]) -> Verdict:
    """What becomes of a job whose body raised this. It never raises: a subclass may have left out or changed any member."""
    try:
        return _judged(error, task)
    except BaseException as broken:
        return unwritable(broken)


def _judged(error: BaseException, task: WorkerTask[Any, Any]) -> Verdict:
    if isinstance(error, Snooze):
        return Verdict("snoozed", delay=milliseconds("delay", error.delay))
    if isinstance(error, JobError):
        retryable = task.retries(error) if error.retryable is None else error.retryable
        if not isinstance(retryable, bool):
            raise TypeError(f"retryable must be a bool or None, got {retryable!r}")
        after = milliseconds("after", error.after) if isinstance(error, Retry) and error.after is not None else None
        data = _data_text(error.data)
        data = None if data is None else as_text(data)
        failure = Failure(as_text(error.code), as_text(error.message), data, retryable, after)
        return Verdict("failed", failure=failure, error=error)
    return Verdict("failed", failure=_unhandled(error, task.retries(error)), error=error)
