"""Why an attempt does not run any more, when its worker knows only that it does not hold the job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import Job, Jobs
from ..calls.made import call
from ..errors import ResonateError
from .context import JobContext
from .job_source import JobSource

__all__ = ["reason_of_loss", "why_lost"]


def why_lost(client: JobSource, contexts: Sequence[JobContext]) -> list[str]:
    """Ask the store how it has ended attempts.

    A worker cannot see by its own clock that an attempt was timed out: the attempt began a little earlier in the store than here.

    Returns:
        For each attempt `cancelled`, `timeout`, or `lost`, which is also the reason if the store does not answer.
    """
    try:
        answers = client.send([call(Jobs.get, context.id) for context in contexts])
    except (ResonateError, OSError):
        return ["lost"] * len(contexts)
    return [reason_of_loss(context, answer) for context, answer in zip(contexts, answers, strict=True)]


def reason_of_loss(context: JobContext, job: Any) -> str:
    """Return how an attempt ended, which the record of its job says; `lost` if it does not, or if there is no record."""
    if not isinstance(job, Job) or job.created_at != context.job.created_at:  # gone, or another job with its id
        return "lost"
    if job.state == "cancelled":
        return "cancelled"
    number = context.attempt
    timed_out = any(attempt["number"] == number and attempt["outcome"] == "timed_out" for attempt in job.attempts)
    return "timeout" if timed_out else "lost"
