"""What holds of jobs in every state and over every change (JOBS 1 to 3), read off full snapshots.

Each function answers the names of what is broken, with the id.
"""

from __future__ import annotations

AGREE = {
    "scheduled": ("pending", "pending"),
    "pending": ("pending", "pending"),
    "claimed": ("pending", "acquired"),
    "running": ("pending", "acquired"),
    "retry": ("pending", "pending"),
    "archived": ("pending", "halted"),
    "completed": ("resolved", "fulfilled"),
    "failed": ("rejected", "fulfilled"),
    "cancelled": ("rejected_canceled", "fulfilled"),
    "expired": ("rejected", "fulfilled"),
}
"""The states of promise and task that go with each state of a job."""

INSTANT = {
    "pending": "enqueuedAt",
    "claimed": "claimedAt",
    "running": "startedAt",
    "retry": "nextRetryAt",
    "completed": "completedAt",
    "failed": "failedAt",
    "cancelled": "cancelledAt",
    "expired": "expiredAt",
}
ONLY_IN = {"nextRetryAt": ["retry"], "completedAt": ["completed"], "cancelledAt": ["cancelled"], "expiredAt": ["expired"]}


def of_a_state(snapshot):
    """The broken properties of one state."""
    broken = []
    held = {}
    for row in snapshot["promises"]:
        if "job" not in row:
            continue
        broken += [(name, row["id"]) for name, holds in facts(row).items() if not holds]
        if row["job"]["state"] in ("claimed", "running"):
            held[row["job"]["queue"]] = held.get(row["job"]["queue"], 0) + 1
    for queue in snapshot.get("queues", []):
        if "rate" in queue and not 0 <= queue["level"] <= queue["rate"]["burst"] * queue["rate"]["per"]:
            broken.append(("job_rate", queue["name"]))
        days = [one["day"] for one in queue["days"]]
        if days != sorted(set(days)) or any(not 0 <= one["failed"] <= one["processed"] for one in queue["days"]):
            broken.append(("job_days", queue["name"]))
    known = {queue["name"] for queue in snapshot.get("queues", [])}
    broken += [("job_queue", row["id"]) for row in snapshot["promises"] if "job" in row and row["job"]["queue"] not in known]
    return broken


def facts(row):
    job, task = row["job"], row["task"]
    state = job["state"]
    promise_state = "rejected" if state == "failed" and row["state"] == "rejected_timedout" else row["state"]
    numbers = [one["number"] for one in job["attempts"]]
    open_attempts = [one for one in job["attempts"] if "finishedAt" not in one]
    return {
        "job_agreement": AGREE[state] == (promise_state, task["state"]),
        "job_instant": state not in INSTANT or INSTANT[state] in job,
        "job_instants": all(state in states for name, states in ONLY_IN.items() if name in job),
        "job_external": row["external"],
        "job_attempts": numbers == sorted(set(numbers)) and (not numbers or numbers[-1] == job["attemptCount"]),
        "job_open_attempt": len(open_attempts) == (state == "running")
        and (not open_attempts or "finishedAt" not in job["attempts"][-1]),
        "job_no_attempt_without_claim": job["attemptCount"] <= task["acquisitions"],
        "job_retries": 0 <= job["retryCount"] <= job["maxRetries"],
        "job_retry_at": state not in ("scheduled", "retry")
        or task["retryAt"] == job["processAt" if state == "scheduled" else "nextRetryAt"],
        "job_claimable_without_timer": state != "pending" or task["retryAt"] == row["timeoutAt"],
        "job_sent": job["sentAt"] >= 0,
    }


def of_a_change(before, after):
    """The broken properties of two states, the later of which came of the earlier."""
    broken = []
    rows = {row["id"]: row for row in after["promises"]}
    for old in before["promises"]:
        new = rows.get(old["id"])
        if "job" not in old or new is None or "job" not in new or new["createdAt"] != old["createdAt"]:
            continue
        if old["state"] != "pending" and {**old, "job": 0, "callbacks": 0, "listeners": 0} != {
            **new,
            "job": 0,
            "callbacks": 0,
            "listeners": 0,
        }:
            broken.append(("job_terminal", old["id"]))
        if new["task"]["acquisitions"] < old["task"]["acquisitions"]:
            broken.append(("job_version", old["id"]))
        fixed = ("queue", "type", "priority", "maxRetries", "retryPolicy", "onExhausted", "sentAt", "goodUntil", "timeout")
        broken += [("job_spec", name) for name in fixed if old["job"].get(name) != new["job"].get(name)]
    return broken
