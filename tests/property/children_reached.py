"""Counts the cases that a run reached, for the statistics: children and messages of jobs, and how they went (JOBS 9)."""

from __future__ import annotations

WANTED = [
    ("child", "a step"),
    ("child", "a settled step"),
    ("child", "a call"),
    ("child", "a receive"),
    ("child", "a job"),
    ("child", "a job without retries used"),
    ("child", "a copy"),
    ("child", "of a child job"),
    ("child", "adopted"),
    ("child", "cancelled with its parent"),
    ("child", "timed out"),
    ("message", "unread"),
    ("message", "delivered at once"),
    ("message", "read later"),
    ("removed", "a step"),
    ("removed", "a child job"),
    ("removed", "a message"),
    ("removed", "below a child job"),
    ("removed", "at a start_over"),
    ("removed", "with its job"),
    ("archived", "a workflow that crashed"),
]


def by_change(reached, before, after, fired):
    """Counts how one call changed what belongs to jobs."""
    old, new = ({row["id"]: row for row in snapshot["promises"]} for snapshot in (before, after))
    for row_id, row in new.items():
        if row_id not in old:
            by_birth(reached, row, new)
        elif row["createdAt"] == old[row_id]["createdAt"]:
            by_course(reached, old[row_id], row)
    gone = [row for row_id, row in old.items() if row_id not in new]
    for row in gone:
        by_end(reached, row, old, new)
    removed = {one["id"] for one in fired if one["kind"] == "job_retention"}
    reached["removed", "with its job"] += any(row["id"] in removed and row.get("parent") in removed for row in gone)


def by_birth(reached, row, rows):
    if "message" in row:
        reached["message", "delivered at once" if "read" in row["message"] else "unread"] += 1
    if "parent" not in row:
        return
    kind = "a job" if "job" in row else "a receive" if "receives" in row else "a call" if "task" in row else "a step"
    reached["child", kind] += 1
    reached["child", "a settled step"] += kind == "a step" and row["state"] != "pending"
    parent = rows.get(row["parent"], {})
    reached["child", "a copy"] += parent.get("job", {}).get("state") == "pending" and row["createdAt"] == parent["createdAt"]
    reached["child", "of a child job"] += "parent" in parent


def by_course(reached, old, row):
    reached["message", "read later"] += "read" in row.get("message", {}) and "read" not in old["message"]
    if "parent" in row:
        reached["child", "adopted"] += "job" in row and "job" not in old
        reached["child", "timed out"] += row["state"] == "rejected_timedout" != old["state"]
        error = row.get("job", {}).get("error", {})
        followed = error.get("message") == f'the awaiter "{row["parent"]}" was cancelled'
        reached["child", "cancelled with its parent"] += followed and old["state"] == "pending"
    if "job" in old and "job" in row:
        reached["child", "a job without retries used"] += row["job"]["retryCount"] < old["job"]["retryCount"]
        crashed = row["job"]["state"] == "archived" and row["job"].get("error", {}).get("code") == "WorkerCrashed"
        reached["archived", "a workflow that crashed"] += crashed and "workflow" in row["job"] and old["job"]["state"] == "running"


def by_end(reached, row, old, new):
    if "message" in row:
        reached["removed", "a message"] += 1
    if "parent" in row:
        reached["removed", "a child job" if "job" in row else "a step"] += 1
        reached["removed", "below a child job"] += "parent" in old.get(row["parent"], {})
        reached["removed", "at a start_over"] += new.get(row["parent"], {}).get("job", {}).get("state") == "pending"
