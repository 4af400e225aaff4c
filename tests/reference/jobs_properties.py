"""The invariants of jobs in a state and over a change (JOBS 1 to 3), checked on full snapshots.

Each function returns the names of the broken invariants, with the ids.
"""

from __future__ import annotations

from resonate_core.conformance.reference.jobs_course import death, holds_key
from resonate_core.conformance.reference.world import later

AGREE = {
    "scheduled": ("pending", "pending"),
    "waiting": ("pending", "suspended"),
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
"""The states of promise and task for each state of a job."""

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
    """Returns the broken invariants of one state."""
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
    jobs = [row for row in snapshot["promises"] if "job" in row]
    broken += [("job_queue", row["id"]) for row in jobs if row["job"]["queue"] not in known]
    return broken + waits(jobs, snapshot) + gathering_groups(jobs) + keys(jobs, snapshot["now"])


def waits(jobs, snapshot):
    """A waiting job that is alive has a callback on each promise that it lacks; a keeper is named once, and keeps a settled job."""
    rows = {row["id"]: row for row in snapshot["promises"]}
    broken = []
    for row in jobs:
        if death(row, snapshot["now"]) is None:
            lost = [one for one in row["job"].get("awaits", []) if row["id"] not in rows.get(one, {}).get("callbacks", [])]
            broken += [("job_await_lost", row["id"])] * bool(lost)
    broken += [("job_kept_by", row["id"]) for row in rows.values() if not keepers_fit(row)]
    return broken


def keepers_fit(row):
    kept_by = row.get("keptBy")
    return kept_by is None or (
        kept_by != [] and len(set(kept_by)) == len(kept_by) and ("job" in row or "child" in row) and row["state"] != "pending"
    )


def gathering_groups(jobs):
    """A queue, type and group have at most one gathering group, with one batch and one leader that stores the number of jobs."""
    found = {}
    for row in jobs:
        if "gathering" in row["job"]:
            found.setdefault(tuple(row["job"].get(name) for name in ("queue", "type", "group")), []).append(row["job"])
    broken = []
    for group, members in found.items():
        counts = [job["flight"]["count"] for job in members if "flight" in job]
        if counts != [len(members)] or len({job["batch"] for job in members}) != 1:
            broken.append(("job_flight_count", group))
    return broken


def keys(jobs, now):
    """No two jobs of a queue hold one unique key."""
    holders = set()
    broken = []
    for row in jobs:
        job = row["job"]
        if "uniqueKey" not in job or not holds_key(job, now) or death(row, now) is not None:
            continue
        if (job["queue"], job["uniqueKey"]) in holders:
            broken.append(("job_unique_twice", row["id"]))
        holders.add((job["queue"], job["uniqueKey"]))
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
        "job_waits_for_nothing": ("awaits" in job) == (state == "waiting")
        and job.get("awaits") != []
        and ("until" not in job or state == "waiting"),
        "job_after": ("after" in job) == ("afterFailed" in job) and ("after" not in job or "group" not in job),
        "job_first_enqueued": "firstEnqueuedAt" not in job or job["attemptCount"] > 0,
        "job_retries": 0 <= job["retryCount"] <= job["maxRetries"],
        "job_retry_at": state not in ("scheduled", "retry")
        or "gathering" in job
        or task["retryAt"] == job["processAt" if state == "scheduled" else "nextRetryAt"],
        "job_claimable_without_timer": state != "pending" or task["retryAt"] == row["timeoutAt"],
        "job_sent": job["sentAt"] >= 0,
        "job_group_mismatch": group_fits(row),
        "job_end_mismatch": row["state"] == "pending" or job[INSTANT[state]] == row["settledAt"],
    }


def group_fits(row):
    """Only a gathering job can be a leader; it has a group and a batch. The leader has the timer, the others have none."""
    job = row["job"]
    if "gathering" not in job:
        return "flight" not in job and ("batch" not in job or "group" in job)
    retry_at = row["task"]["retryAt"]
    if job["state"] != "scheduled" or not {"group", "batch"} <= job.keys() or "enqueuedAt" in job:
        return False
    if "flight" not in job:
        return retry_at == row["timeoutAt"]
    return job["flight"]["firstAt"] <= job["flight"]["lastAt"] <= retry_at


def of_a_change(before, after):
    """Returns the broken invariants of a change from one state to another."""
    broken = []
    rows = {row["id"]: row for row in after["promises"]}
    for old in before["promises"]:
        new = rows.get(old["id"])
        if "job" not in old or new is None or "job" not in new or new["createdAt"] != old["createdAt"]:
            continue
        may_change = {"job": 0, "callbacks": 0, "listeners": 0, "keptBy": 0}
        if old["state"] != "pending" and {**old, **may_change} != {**new, **may_change}:
            broken.append(("job_terminal", old["id"]))
        if "batch" in old["job"] and "gathering" not in old["job"] and new["job"].get("batch") != old["job"]["batch"]:
            broken.append(("job_batch_changed", old["id"]))
        if not lease_is_new(old["task"], new["task"], after["now"]):
            broken.append(("job_lease_mismatch", old["id"]))
        if new["task"]["acquisitions"] < old["task"]["acquisitions"]:
            broken.append(("job_version", old["id"]))
        fixed = (
            "queue",
            "type",
            "priority",
            "maxRetries",
            "retryPolicy",
            "onExhausted",
            "sentAt",
            "goodUntil",
            "timeout",
            "group",
            "after",
            "afterFailed",
        )
        broken += [("job_spec", name) for name in fixed if old["job"].get(name) != new["job"].get(name)]
        first = old["job"].get("firstEnqueuedAt")
        started_over = new["job"].get("restarts") != old["job"].get("restarts")
        if first is not None and not started_over and new["job"].get("firstEnqueuedAt") != first:
            broken.append(("job_place", old["id"]))
    return broken


def lease_is_new(old, new, now):
    """Whether a lease that was taken or renewed expires its ttl after now."""
    same = all(old.get(name) == new.get(name) for name in ("acquisitions", "ttl", "expiresAt"))
    return "expiresAt" not in new or same or new["expiresAt"] == later(now, new["ttl"])
