"""How an attempt ends: what a handler may raise, and the outcome that the worker reports to the store."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..calls.values import Duration, milliseconds
from ..explain.unknown_types import no_handler, pause_after
from .groups import members
from .tracebacks import MESSAGE_KEPT, bounded, described, traced

__all__ = [
    "UNHANDLED",
    "Failure",
    "JobCancelled",
    "JobError",
    "Outcome",
    "Retry",
    "Skip",
    "Snooze",
    "as_text",
    "decisive",
    "kept",
    "outcome_of",
    "unstorable",
    "unwritable",
    "was_called_off",
]

#: The code of an exception that the handler did not catch (JOBS 3).
UNHANDLED = "UnhandledError"
#: The code of an outcome that cannot be read or written.
INVALID = "InvalidError"
#: The code for a job whose type has no handler, in logs and events.
UNKNOWN_TYPE = "UnknownType"
#: The most characters of a code and of the data of a `JobError` that are kept: the request that ends an attempt must fit into the
#: body that a server accepts, and the store keeps up to 100 attempts of a job.
_CODE_KEPT, _DATA_KEPT = 200, 100_000
#: The number of characters of longer data that its note shows.
_BEGINNING_KEPT = 4000


def _text(name: str, given: object) -> str:
    if not isinstance(given, str):
        raise TypeError(f"{name} must be a str, got {given!r}")
    return given


def _data_text(data: Any) -> str | None:
    """Return an error's data as text: a str unchanged, any other value as JSON.

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


def _kept(data: Any) -> str | None:
    """Return the text of the data that is kept. For JSON that is too long, that is a note, since a part of JSON is no JSON."""
    written = _data_text(data)
    text = None if written is None else as_text(written)
    if text is None or len(text) <= _DATA_KEPT:
        return text
    if isinstance(data, str) and not _is_json(data):
        return bounded(text, _DATA_KEPT)
    note = f"data has {len(written or ''):,} characters as JSON, and at most {_DATA_KEPT:,} are kept"
    return json.dumps({"note": note, "beginning": text[:_BEGINNING_KEPT]}, ensure_ascii=False)


def kept(error: JobError) -> tuple[str, str, str | None]:
    """Return the code, the message and the text of the data of an error, as far as they are kept."""
    return bounded(as_text(error.code), _CODE_KEPT), bounded(as_text(error.message), MESSAGE_KEPT), _kept(error.data)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _revived(kind: type[_Raised], args: tuple[Any, ...], members: dict[str, Any]) -> _Raised:
    error = kind.__new__(kind, *args)
    error.__dict__.update(members)
    return error


class _Raised(Exception):
    """An exception by which a handler decides the outcome of its job. It can be pickled, so that a process pool can raise it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _revived, (type(self), self.args, self.__dict__)


class JobError(_Raised):
    """Raise it to fail the attempt with a code of your own. Retry policies select by code, and programs that await the job can read it.

    Args:
        code: A short name, such as ``CardDeclined``; not empty.
        message: For people.
        data: Any value that JSON can hold. The store keeps a str as it is, any other value as its JSON, up to 100,000 characters. In
            place of longer JSON it keeps an object with a ``note`` and the ``beginning``; of any other text, and of a message beyond
            4,000 characters, the beginning with the number of characters that are left out.
        retryable: Whether it may be retried. None: as the task's ``retry_on`` says.

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
    """Raise it to retry later. It uses a retry; if none is left, the job ends as after any other failure.

    Args:
        after: How long from now, in ms or as a timedelta; None: as the job's policy says.
        message: For people.
        code: The code of the failure. A policy that retries by codes must include it.
        data: As of `JobError`.

    Example:
        >>> rc.worker.Retry(after=30_000).after
        30000
    """

    def __init__(self, after: Duration | None = None, message: str = "", *, code: str = "Retry", data: Any = None) -> None:
        super().__init__(code, message, data, retryable=True)
        self.after = None if after is None else milliseconds("after", after)


class Skip(JobError):
    """Raise it to fail without any retry, like asynq's ``SkipRetry``: the job is archived or failed at once, by its ``on_exhausted``.

    A handler that has nothing to do should return instead, which completes its job.

    Args:
        message: For people.
        code: The code of the failure.
        data: As of `JobError`.

    Example:
        >>> rc.worker.Skip("no such customer").retryable
        False
    """

    def __init__(self, message: str = "", *, code: str = "SkipRetry", data: Any = None) -> None:
        super().__init__(code, message, data, retryable=False)


class Snooze(_Raised):
    """Raise it to run the job again later without using a retry, for example because it is too early.

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


class JobCancelled(_Raised):
    """Raised by `JobContext.check` once the attempt was called off. Do not catch it: the worker knows the reason.

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
    """Why an attempt failed, as `job.fail` reports it.

    Attributes:
        code: The error's code.
        message: For people.
        data: Further data, as text.
        retryable: False: it is not retried, even if retries are left.
        retry_after: The delay instead of the policy's, in ms.
        archive: True: the job is archived, whatever its policy says.
    """

    code: str
    message: str = ""
    data: str | None = None
    retryable: bool = True
    retry_after: int | None = None
    archive: bool | None = None


class Outcome(NamedTuple):
    """How an attempt ended. Many attempts may share one.

    Attributes:
        kind: `completed`, `failed`, `snoozed`, `released`, or `dropped`: the job is over already, and nothing is reported. Of a
            workflow also `suspended` (it waits) and `restarted` (by `start_over`): the store knows these already.
        result: What the handler of a completed job returned.
        failure: Why it failed, or was put back because its type has no handler.
        delay: How long a snoozed job waits, in ms.
        error: What the handler raised, for logs.
    """

    kind: str
    result: Any = None
    failure: Failure | None = None
    delay: int = 0
    error: BaseException | None = None


DROPPED = Outcome("dropped")
COMPLETED = Outcome("completed")
TIMED_OUT = Outcome("failed", failure=Failure("TaskTimeout", "the attempt took longer than its timeout"))
PUT_BACK = Outcome("snoozed", delay=0)
#: The outcomes of workflows that the store knows when the attempt ends.
SUSPENDED, RESTARTED = Outcome("suspended"), Outcome("restarted")
#: The outcome of a job that was claimed and not started.
RELEASED = Outcome("released")


@functools.lru_cache(maxsize=256)
def unknown_type(worker: str, type: str, snoozed: int) -> Outcome:
    """Return the outcome of a job whose type has no handler here (JOBS 3): it is snoozed, since another worker may have the handler.

    Equal arguments give the same object, so that the jobs of a batch share one and become due together.

    Args:
        worker: The name of the worker.
        type: The type.
        snoozed: How many attempts in a row have been snoozed before.
    """
    return Outcome("snoozed", failure=Failure(UNKNOWN_TYPE, no_handler(worker, type)), delay=pause_after(snoozed))


def as_text(text: str) -> str:
    """Return the text with escapes for lone surrogates, which UTF-8 cannot hold: the name of a file or a broken string may have some."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _unhandled(error: BaseException, retryable: bool) -> Failure:
    return Failure(UNHANDLED, as_text(described(error)), as_text(traced(error)), retryable)


def unwritable(error: BaseException, outcome: Outcome | None = None) -> Outcome:
    """Return the outcome of an attempt whose real outcome cannot be read or written: the attempt has failed.

    Args:
        error: Why that is so.
        outcome: The outcome, as far as it could be read.
    """
    failure = None if outcome is None else outcome.failure
    retryable = failure is None or failure.retryable is not False
    message = as_text(f"how the handler ended cannot be written: {described(error)}")
    cause = error if outcome is None or outcome.error is None else outcome.error
    return Outcome("failed", failure=Failure(INVALID, message, retryable=retryable), error=cause)


def unstorable(error: BaseException) -> Outcome:
    """The outcome of an attempt whose handler returned a value that cannot be stored."""
    message = as_text(f"what the handler returned cannot be stored: {described(error)}")
    return Outcome("failed", failure=Failure("InvalidResult", message, retryable=False))


def called_off(reason: str) -> Outcome:
    """The outcome of an attempt that was called off, for one of the reasons of `JobCancelled`."""
    if reason == "timeout":
        return TIMED_OUT
    return PUT_BACK if reason == "stopping" else DROPPED


def was_called_off(error: BaseException) -> bool:
    """Whether a handler raised this because its attempt was called off."""
    return all(isinstance(each, (JobCancelled, asyncio.CancelledError)) for each in members(error))


def decisive(error: BaseException) -> BaseException:
    """Return the exception that decides the outcome of a job whose handler raised `error`.

    In a group that is the first `JobError` (`Retry` and `Skip` are such); if all members are a `Snooze`, the longest one; otherwise
    the group itself, since any other exception counts more than a `Snooze`.

    Example:
        >>> from resonate_core.worker.outcomes import decisive
        >>> decisive(rc.worker.Skip("no such customer"))
        Skip('SkipRetry: no such customer')
    """
    found = members(error)
    decision = next((each for each in found if isinstance(each, JobError)), None)
    if decision is not None:
        return decision
    snoozes = [each for each in found if isinstance(each, Snooze)]
    return max(snoozes, key=lambda each: each.delay) if snoozes and len(snoozes) == len(found) else error


def outcome_of(error: BaseException, retries: Callable[[BaseException], bool]) -> Outcome:
    """Return the outcome of an attempt whose handler raised `error`. This never raises, whatever members a subclass lacks or changes.

    Args:
        error: What the handler raised.
        retries: Whether an error may be retried, if the error does not decide that itself.
    """
    try:
        decided = decisive(error)
        outcome = _outcome_of(decided, retries)
        return outcome if decided is error or outcome.error is None else outcome._replace(error=error)  # logs show the whole group
    except BaseException as broken:
        return unwritable(broken)


def _outcome_of(error: BaseException, retries: Callable[[BaseException], bool]) -> Outcome:
    if isinstance(error, Snooze):
        return Outcome("snoozed", delay=milliseconds("delay", error.delay))
    if isinstance(error, JobError):
        retryable = retries(error) if error.retryable is None else error.retryable
        if not isinstance(retryable, bool):
            raise TypeError(f"retryable must be a bool or None, got {retryable!r}")
        after = milliseconds("after", error.after) if isinstance(error, Retry) and error.after is not None else None
        failure = Failure(*kept(error), retryable, after)
        return Outcome("failed", failure=failure, error=error)
    return Outcome("failed", failure=_unhandled(error, retries(error)), error=error)
