"""What a worker tells a store of a job, as requests of the protocol have it."""

from __future__ import annotations

from typing import Any

from .. import errors
from .outcomes import Verdict

__all__ = ["NOT_HELD", "VERSION", "end_request", "refusal"]

VERSION = "2026-04-01"
#: Refusals that say: the job is not this worker's any more.
NOT_HELD = (404, 409)
_KINDS = {400: errors.Invalid, 404: errors.NotFound, 409: errors.Conflict, 422: errors.Unprocessable, 501: errors.Unsupported}


def end_request(id: str, version: int, verdict: Verdict) -> tuple[str, dict[str, Any]]:
    """Kind and data of the request that says how an attempt ended which did not complete.

    Example:
        >>> from resonate_core.worker.outcomes import Verdict
        >>> from resonate_core.worker.requests import end_request
        >>> end_request("a", 1, Verdict("snoozed", delay=5))
        ('job.snooze', {'id': 'a', 'version': 1, 'delay': 5})
    """
    held = {"id": id, "version": version}
    if verdict.outcome == "released":
        return "job.release", held
    if verdict.outcome == "snoozed":
        return "job.snooze", {**held, "delay": verdict.delay}
    failure = verdict.failure
    assert failure is not None
    error = {"code": failure.code, "message": failure.message} | ({} if failure.data is None else {"data": failure.data})
    after = {} if failure.retry_after is None else {"retryAfter": failure.retry_after}
    return "job.fail", {**held, "error": error, "retryable": failure.retryable, **after}


def refusal(status: int, said: str) -> errors.ResonateError:
    """The error of a refused request.

    Example:
        >>> from resonate_core.worker.requests import refusal
        >>> refusal(409, "it is held by another worker")
        Conflict('it is held by another worker')
    """
    other = errors.StoreError if status >= 500 else errors.ResonateError
    return _KINDS.get(status, other)(said, status)
