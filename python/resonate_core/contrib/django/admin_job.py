"""All members of a job, for its page in the admin."""

from __future__ import annotations

import json
from typing import Any

from django.utils.translation import gettext as _

from resonate_core import Job, Value
from resonate_core.base.states import STATES_BEFORE
from resonate_core.errors import Invalid

from .instants import to_datetime
from .results import PRIORITY_TAG

__all__ = ["ACTIONS", "actions_on", "attempts_of", "fields_of", "text_of"]

#: What can be done with a job, and in which states.
ACTIONS = {word: STATES_BEFORE[f"job.{word}"] for word in ("run", "cancel", "delete")}


def actions_on(job: Job) -> list[str]:
    """Return the actions that apply to a job in its present state."""
    return [action for action, states in ACTIONS.items() if job.state in states]


def text_of(value: Value) -> str:
    """A payload or a result for people: JSON with indents, or else the raw text."""
    if value.data is None:
        return ""
    try:
        return json.dumps(value.json(), indent=2, ensure_ascii=False)
    except Invalid:
        return value.data


def fields_of(job: Job) -> list[tuple[str, Any]]:
    """The members of a job that are set, with their names; instants are datetimes."""
    priority = job.tags.get(PRIORITY_TAG, "0")
    shown: list[tuple[str, Any]] = [
        (_("State"), job.state),
        (_("Task"), job.type),
        (_("Queue"), job.queue),
        (_("Priority"), f"{priority} ({_('in the store')}: {job.priority})"),
        (_("Enqueued"), to_datetime(job.sent_at)),
        (_("Not before"), to_datetime(job.process_at)),
        (_("Must first start before"), to_datetime(job.good_until)),
        (_("Deadline"), to_datetime(job.deadline)),
        (_("Runnable since"), to_datetime(job.enqueued_at)),
        (_("Worker"), job.claimed_by),
        (_("Lease until"), to_datetime(job.lease_until)),
        (_("Started"), to_datetime(job.started_at)),
        (_("Next retry"), to_datetime(job.next_retry_at)),
        (_("Completed"), to_datetime(job.completed_at)),
        (_("Failed"), to_datetime(job.failed_at)),
        (_("Cancelled"), to_datetime(job.cancelled_at)),
        (_("Expired"), to_datetime(job.expired_at)),
        (_("Retries"), f"{job.retry_count} / {job.max_retries}"),
        (_("Retry policy"), json.dumps(job.retry_policy)),
        (_("Timeout of an attempt"), None if job.timeout is None else f"{job.timeout / 1000:g} s"),
        (_("Unique key"), job.unique_key),
        (_("Tags"), ", ".join(f"{name}={value}" for name, value in sorted(job.tags.items()))),
    ]
    return [(name, value) for name, value in shown if value not in (None, "")]


def attempts_of(job: Job) -> list[dict[str, Any]]:
    """The attempts of a job, the newest first, with datetimes and durations."""
    shown = []
    for attempt in reversed(job.attempts):
        finished = attempt.get("finishedAt")
        shown.append(
            {
                "number": attempt["number"],
                "worker": attempt["worker"],
                "started_at": to_datetime(attempt["startedAt"]),
                "seconds": None if finished is None else (finished - attempt["startedAt"]) / 1000,
                "outcome": attempt.get("outcome", "running"),
                "error": attempt.get("error"),
            }
        )
    return shown
