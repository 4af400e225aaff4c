"""Counts the cases that a run reached, for the statistics: jobs that wait, how they left that state, and what they keep."""

from __future__ import annotations

LEFT = {
    "after": ["less", "pending", "scheduled", "archived", "completed", "failed", "cancelled", "expired", "gone"],
    "any": ["pending", "archived", "completed", "failed", "cancelled", "gone"],
    "all": ["less", "pending", "archived", "completed", "failed", "cancelled", "gone"],
}
WANTED = [("waited", how, left) for how, lefts in LEFT.items() for left in lefts] + [
    ("waited", "cancelled for it"),
    ("waited", "created cancelled"),
    ("waited", "for several"),
    ("waited", "in both ways"),
    ("kept", "by several"),
    ("kept", "a keeper taken"),
    ("kept", "gone"),
    ("kept", "spared by a purge"),
    ("place", "before one that was enqueued earlier"),
    ("purge", "some"),
]


def jobs_of(snapshot):
    return {row["id"]: row for row in snapshot["promises"] if "job" in row}


def by_change(reached, before, after):
    """Counts how one call changed the jobs that waited before it, and what is kept."""
    old, new = jobs_of(before), jobs_of(after)
    for job_id, row in old.items():
        if row["job"]["state"] == "waiting":
            by_waiting(reached, row["job"], new[job_id]["job"] if job_id in new else {"state": "gone"})
        if "keptBy" in row:
            left = new[job_id].get("keptBy", []) if job_id in new else []
            reached["kept", "gone"] += job_id not in new
            reached["kept", "a keeper taken"] += job_id in new and len(left) < len(row["keptBy"])
    for job_id, row in new.items():
        reached["kept", "by several"] += len(row.get("keptBy", [])) > 1
        reached["waited", "in both ways"] += {"until", "after"} <= row["job"].keys()
        if job_id not in old:
            reached["waited", "for several"] += len(row["job"].get("awaits", [])) > 1
            reached["waited", "created cancelled"] += is_cancelled_for_it(row["job"])
    reached["place", "before one that was enqueued earlier"] += any(overtakes(row["job"], new.values()) for row in new.values())


def by_waiting(reached, was, job):
    how = was.get("until", "after")
    if job["state"] == "waiting":
        reached["waited", how, "less"] += len(job["awaits"]) < len(was["awaits"])
        return
    reached["waited", how, job["state"]] += 1
    reached["waited", "cancelled for it"] += is_cancelled_for_it(job)


def is_cancelled_for_it(job):
    return job["state"] == "cancelled" and job["error"]["code"] == "DependencyFailed"


def overtakes(job, rows):
    """Whether a pending job is claimed before another of its queue and priority that has been pending for longer."""
    if job["state"] != "pending" or job.get("firstEnqueuedAt", job["enqueuedAt"]) == job["enqueuedAt"]:
        return False
    others = (row["job"] for row in rows if row["job"]["state"] == "pending" and row["job"]["queue"] == job["queue"])
    return any(
        other["priority"] == job["priority"] and job["firstEnqueuedAt"] < other["enqueuedAt"] < job["enqueuedAt"]
        for other in others
    )


def by_purge(reached, rows, purged):
    """Counts a purge that deleted something, and spared something that only a keeper keeps."""
    reached["kept", "spared by a purge"] += purged > 0 and any("keptBy" in row for row in rows.values())
