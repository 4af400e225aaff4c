"""What a workflow sees of calls that failed, and what ends its function from outside."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from ..._core import Promise
from ...errors import Invalid
from ..groups import members
from ..outcomes import UNHANDLED, JobError, as_text, decisive, kept
from ..tracebacks import MESSAGE_KEPT, bounded, described

__all__ = [
    "Dropped",
    "HistoryTooLong",
    "NonDeterministic",
    "Parked",
    "RunEnded",
    "StartedOver",
    "StepFailed",
    "StepInterrupted",
    "StepTimeout",
    "failed",
    "failure_of",
    "failure_of_job",
    "recorded_failure",
    "text_of",
]


class StepFailed(JobError):
    """A step, a child job or another call of a workflow has failed for good. A replay raises an equal one.

    Attributes:
        code: That of a `JobError`; of any other exception its name.
        message: Its text.
        data: The data of a `JobError`.

    Example:
        >>> from resonate_core.workflow import StepFailed
        >>> str(StepFailed("CardDeclined", "insufficient funds"))
        'CardDeclined: insufficient funds'
    """


class StepInterrupted(StepFailed):
    """A step with ``at_most_once`` had begun when its worker crashed: whether it had its effect is not known, and it does not run again.

    Example:
        >>> from resonate_core.workflow import StepInterrupted
        >>> StepInterrupted("charge").code
        'StepInterrupted'
    """

    def __init__(self, name: str = "", message: str = "", data: Any = None) -> None:
        text = message or f"step {name} had begun when its worker was lost, and runs at most once"
        super().__init__("StepInterrupted", text, data)


class StepTimeout(Exception):
    """One attempt of a step took longer than the step's ``timeout``. It is retried like any other failure.

    Example:
        >>> from resonate_core.workflow import StepTimeout
        >>> str(StepTimeout("charge", 5_000))
        'step charge took longer than its timeout of 5000 ms'
    """

    def __init__(self, name: str, timeout: int) -> None:
        super().__init__(f"step {name} took longer than its timeout of {timeout} ms")


class RunEnded(BaseException):
    """Unwinds the function of a run that has ended. It is no Exception, so that a function does not catch it by accident."""


class Dropped(RunEnded):
    """The run has ended here: the job waits and is not kept in this process, was lost, or its worker stops."""


class Parked(RunEnded):
    """The job waits, and its function stays as it is, to continue when the job is claimed here again. The function does not see this."""


class StartedOver(RunEnded):
    """The function has ended its run by `start_over`.

    Args:
        payload: What the next run gets.
    """

    def __init__(self, payload: Any) -> None:
        super().__init__("the run was started over")
        self.payload = payload


class NonDeterministic(RunEnded):
    """The function did not do in a replay what is recorded. Its job is archived, until the code is corrected and the job is run again."""

    code = "NonDeterministic"


class HistoryTooLong(RunEnded):
    """The run made more calls than a history may have. Its job is archived; `start_over` avoids that."""

    code = "HistoryTooLong"


def failed(error: BaseException) -> dict[str, Any]:
    """Return a failure as it is recorded.

    Args:
        error: What the call raised. Of a group, the member that decides.
    """
    decided = decisive(error)
    if isinstance(decided, JobError):
        code, message, text = kept(decided)
        made: dict[str, Any] = {"code": code, "message": message}
        if text is not None:
            made["data"] = text if isinstance(decided.data, str) else _storable(json.loads(text))
        return made
    if isinstance(error, asyncio.CancelledError) or all(isinstance(each, asyncio.CancelledError) for each in members(error)):
        return {"code": "CancelledError", "message": "it was cancelled"}
    return {"code": type(error).__name__, "message": text_of(error)}


def _storable(data: Any) -> Any:
    """Return JSON without lone surrogates, which UTF-8 cannot hold."""
    return json.loads(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))


def text_of(error: BaseException) -> str:
    """Return the text of an exception as it is recorded."""
    try:
        return as_text(bounded(str(error), MESSAGE_KEPT))
    except Exception:  # its `__str__` raises
        return as_text(described(error))


def recorded_failure(code: str, message: str, data: Any = None) -> StepFailed:
    """Return the exception of a recorded failure."""
    if code == "StepInterrupted":
        return StepInterrupted(message=message, data=data)
    return StepFailed(code or "Failed", message, data)


def failure_of_job(promise: Promise) -> StepFailed:
    """Return the exception for a job that has failed: its error is written another way than that of a step.

    A job keeps data as text, and an exception as the code UnhandledError with its name in the message, and a traceback as data.
    """
    found = failure_of(promise)
    if found.code == UNHANDLED:
        name, _, message = found.message.partition(": ")
        return StepFailed(name.rpartition(".")[2] or UNHANDLED, message)
    if isinstance(found.data, str) and found.data[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            return recorded_failure(found.code, found.message, json.loads(found.data))
    return found


def failure_of(promise: Promise) -> StepFailed:
    """Return the exception for a promise that is settled and not resolved."""
    state = str(promise.state)
    try:
        found = promise.value.json()
    except (Invalid, RecursionError):
        found = None
    if isinstance(found, dict) and isinstance(found.get("code"), str):
        message = found.get("message")
        return recorded_failure(found["code"], message if isinstance(message, str) else "", found.get("data"))
    if isinstance(found, dict) and found.get("__type") == "error" and isinstance(found.get("message"), str):  # of a published SDK
        name = found.get("name")
        return StepFailed(name if isinstance(name, str) and name else "ApplicationError", found["message"])
    if state == "rejected_timedout":
        return StepFailed("TimeoutError", f"the deadline of {promise.id} has passed")
    if state == "rejected_canceled":
        return StepFailed("Cancelled", f"{promise.id} was cancelled")
    return StepFailed("Rejected", f"{promise.id} was rejected" if found is None else str(found), found)
