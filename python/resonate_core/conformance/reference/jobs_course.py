"""The course of one job: the effect of each transition of JOBS 3 on its row, and how a row is read (JOBS 1 and 2).

The functions depend on a row and an instant only: no guards, no queues, no store. ``world`` uses them to project and to settle.
"""

from __future__ import annotations

import copy

from .jobs_policy import error, error_value

STATES = (
    *("scheduled", "waiting", "pending", "claimed", "running", "retry", "archived"),
    *("completed", "failed", "cancelled", "expired"),
)
TERMINAL = ("completed", "failed", "cancelled", "expired")
MAY_EXPIRE = ("scheduled", "waiting", "pending", "claimed")
HELD = ("claimed", "running")
NEVER = 2**63 - 1
ATTEMPTS_KEPT = 100
LINES_KEPT = 100
AWAITS_SHOWN = 100

EXPIRED = error("TaskExpired", "the job was not started before its goodUntil")
TOO_LATE = error("DeadlineExceeded", "the job was not over before its deadline")
CANCELLED = error("Cancelled", "the job was cancelled")
REJECTED = error("Rejected", "the promise was rejected from outside")
CRASHED = error("WorkerCrashed", "the worker's lease expired")
TIMED_OUT = error("TaskTimeout", "the attempt took longer than its timeout")
ENDS = {
    "resolved": ("completed", "completedAt", None, "completed"),
    "rejected": ("failed", "failedAt", REJECTED, "failed"),
    "rejected_canceled": ("cancelled", "cancelledAt", CANCELLED, "cancelled"),
    "rejected_timedout": ("failed", "failedAt", TOO_LATE, "timed_out"),
}
"""How a promise settled without a job operation ends its job: state, member with the instant, error, outcome of the attempt."""


# ---- attempts


def open_attempt(job, worker, now):
    job["attemptCount"] += 1
    attempt = {"number": job["attemptCount"], "worker": worker, "startedAt": now}
    job["attempts"] = [*job["attempts"], attempt][-ATTEMPTS_KEPT:]
    job.get("report", {}).pop("progress", None)  # that of the attempt before


def add_report(job, progress, lines, now):
    """Adds what a running attempt says about its work."""
    kept = job.get("report", {})
    said = [{"at": now, "attempt": job["attemptCount"], "text": line} for line in lines]
    all_lines = [*kept.get("lines", []), *said][-LINES_KEPT:]
    known = {"at": now, "progress": kept.get("progress") if progress is None else progress, "lines": all_lines or None}
    job["report"] = {name: value for name, value in known.items() if value is not None}


def close_attempt(job, outcome, finished_at, found=None):
    """Closes the open attempt of a running job."""
    job["attempts"][-1].update(finishedAt=finished_at, outcome=outcome)
    if found is not None:
        job["attempts"][-1]["error"] = found


# ---- transitions


def leave_worker(job):
    """Removes the members that a job has only while a worker holds it."""
    for name in ("claimedAt", "startedAt", "runLease"):
        job.pop(name, None)


def lack_nothing(job):
    """Removes the members that a job has only while it waits for promises."""
    job.pop("awaits", None)
    job.pop("until", None)


def wait(job, state, **members):
    """Puts a job into a state in which it cannot be claimed: scheduled, waiting, retry or archived."""
    leave_worker(job)
    lack_nothing(job)
    job.pop("enqueuedAt", None)
    job.pop("nextRetryAt", None)
    job["state"] = state
    job.update(members)


def leave_group(job):
    """Ends a job's gathering and removes its batch, if it gathers."""
    if job.pop("gathering", False):
        del job["batch"]
        job.pop("flight", None)


def make_pending(job, enqueued_at):
    """Makes a job claimable."""
    leave_worker(job)
    lack_nothing(job)
    job.pop("nextRetryAt", None)
    job["state"] = "pending"
    job["enqueuedAt"] = enqueued_at


def end(job, state, name, at, found=None, outcome=None):
    """Puts a job into a terminal state; ``outcome`` is that of its open attempt."""
    if job["state"] == "running":
        close_attempt(job, outcome, at, None if state == "cancelled" else found)
    leave_group(job)
    lack_nothing(job)
    job["state"] = state
    job[name] = at
    job.pop("nextRetryAt", None)
    job.pop("runLease", None)
    if found is not None:
        job["error"] = found
    if state == "completed":
        job.pop("error", None)
        job.pop("failedAt", None)
        if "retention" in job:
            job["reclaimAt"] = min(at + job["retention"], NEVER)


def follow(job, promise_state, at):
    """Changes the job when its promise is settled by something other than a job operation."""
    state, name, found, outcome = ENDS[promise_state]
    end(job, state, name, at, copy.deepcopy(found), outcome)


# ---- reading


def death(row, now):
    """Whether and how a pending promise's job is dead at ``now``: None, "deadline" or "good_until"."""
    good_until = expires_at(row["job"])
    if good_until < row["timeoutAt"] and good_until <= now:
        return "good_until"
    return "deadline" if row["timeoutAt"] <= now else None


def expires_at(job):
    """When the job expires unless it starts: its ``goodUntil``, or never once an attempt has started."""
    return job.get("goodUntil", NEVER) if job["state"] in MAY_EXPIRE and job["attemptCount"] == 0 else NEVER


def expire(row):
    """Expires a job that was not started before its ``goodUntil``.

    Returns:
        The state, the value and the instant with which its promise is settled.
    """
    # Not before the promise was created.
    at = max(row["job"]["goodUntil"], row["createdAt"])
    end(row["job"], "expired", "expiredAt", at, copy.deepcopy(EXPIRED))
    return "rejected", error_value(EXPIRED), at


def holds_key(job, now):
    """Whether a (projected) job holds its unique key."""
    if job["state"] in TERMINAL:
        return False
    return "uniqueFor" not in job or now < min(job["sentAt"] + job["uniqueFor"], NEVER)


# fmt: off
MEMBERS = (
    "id", "queue", "type", "state", "payload", "tags", "priority", "version", "maxRetries", "retryCount", "retryPolicy",
    "onExhausted", "claimedBy", "leaseUntil", "group", "batch", "gathering", "processAt", "goodUntil", "timeout", "deadline",
    "retention", "uniqueKey", "uniqueFor", "result", "error", "attempts", "report", "after", "afterFailed", "awaits", "steps", "args",
    "restarts", "createdAt", "sentAt", "enqueuedAt", "claimedAt", "startedAt", "completedAt", "failedAt", "nextRetryAt", "cancelledAt", "expiredAt",
)
# fmt: on
"""The members of a record in their order; most of them are stored under the same name."""


def payload_of(row):
    """The payload of the request that adopted the promise, if any; otherwise the promise's param."""
    return row["job"].get("payload", row["param"])


def record(row):
    """The record of a (projected) row."""
    job, task = row["job"], row["task"]
    known = {**job, "id": row["id"], "payload": payload_of(row), "tags": row["tags"], "version": task["acquisitions"]}
    known["createdAt"] = row["createdAt"]
    if job["state"] in HELD:
        known.update(claimedBy=task["pid"], leaseUntil=task["expiresAt"])
    if job["state"] == "waiting":
        known["awaits"] = {"ids": job["awaits"][:AWAITS_SHOWN], "count": len(job["awaits"])}
    if row["timeoutAt"] != NEVER:
        known["deadline"] = row["timeoutAt"]
    if job["state"] in TERMINAL:
        known["result"] = row["value"]
    return copy.deepcopy({name: known[name] for name in MEMBERS if name in known})
