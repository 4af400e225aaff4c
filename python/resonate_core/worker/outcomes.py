"""How a job's body ends: what it may raise, and what the worker tells the store then."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .durations import Duration, milliseconds

if TYPE_CHECKING:
    from .tasks import WorkerTask

__all__ = ["Failure", "JobCancelled", "JobError", "Retry", "Skip", "Snooze", "Verdict", "as_text", "judged"]

#: The code of an exception that the body did not catch (JOBS 3).
UNHANDLED = "UnhandledError"
#: How much of a traceback is kept with the error, its end, in characters.
_TRACEBACK_KEPT = 8000


class JobError(Exception):
    """Raise it to fail the attempt with a code of your own: policies retry by codes, and whoever awaits the job reads it.

    Args:
        code: A short name, such as ``CardDeclined``; not empty.
        message: For people.
        data: Anything more, as text.
        retryable: Whether it may be retried at all. None: as the task's ``retry_on`` says.

    Example:
        >>> error = rc.worker.JobError("CardDeclined", "insufficient funds", retryable=False)
        >>> error.code, str(error)
        ('CardDeclined', 'CardDeclined: insufficient funds')
    """

    def __init__(self, code: str, message: str = "", data: str | None = None, *, retryable: bool | None = None) -> None:
        if not code:
            raise ValueError("code is ''; an error needs one")
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
        data: Anything more, as text.

    Example:
        >>> rc.worker.Retry(after=30_000).after
        30000
    """

    def __init__(self, after: Duration | None = None, message: str = "", *, code: str = "Retry", data: str | None = None) -> None:
        super().__init__(code, message, data, retryable=True)
        self.after = None if after is None else milliseconds("after", after)


class Skip(JobError):
    """Raise it to fail without any retry, as asynq's ``SkipRetry``: the job is archived or failed at once, by its ``on_exhausted``.

    A body that has nothing to do is no failure: it returns, and its job is completed.

    Args:
        message: For people.
        code: What the attempt fails with.
        data: Anything more, as text.

    Example:
        >>> rc.worker.Skip("no such customer").retryable
        False
    """

    def __init__(self, message: str = "", *, code: str = "SkipRetry", data: str | None = None) -> None:
        super().__init__(code, message, data, retryable=False)


class Snooze(Exception):
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


class JobCancelled(Exception):
    """What `JobContext.check` raises once the attempt is of no use any more. Let it pass: the worker knows why.

    Attributes:
        reason: `cancelled`, `lost` (another worker may have it), `timeout` or `stopping`.

    Example:
        >>> rc.worker.JobCancelled("lost").reason
        'lost'
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the attempt is over: {reason}")
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


@dataclass(slots=True)
class Verdict:
    """How an attempt ended.

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


def _unhandled(error: BaseException, retryable: bool) -> Failure:
    message = "".join(traceback.format_exception_only(type(error), error)).strip()
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return Failure(UNHANDLED, as_text(message), as_text(trace[-_TRACEBACK_KEPT:]), retryable)


def judged(error: BaseException, task: WorkerTask[Any, Any]) -> Verdict:
    """What becomes of a job whose body raised this."""
    if isinstance(error, Snooze):
        return Verdict("snoozed", delay=error.delay)
    if isinstance(error, JobError):
        retryable = task.retries(error) if error.retryable is None else error.retryable
        after = error.after if isinstance(error, Retry) else None
        data = None if error.data is None else as_text(error.data)
        failure = Failure(as_text(error.code), as_text(error.message), data, retryable, after)
        return Verdict("failed", failure=failure, error=error)
    return Verdict("failed", failure=_unhandled(error, task.retries(error)), error=error)
