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
    reached["removed", "with its job"] += any(row["id"] in removed and parent_of(row) in removed for row in gone)


def parent_of(row):
    """The id of the job to which a row belongs, or None."""
    return row.get("child", {}).get("parent")


def by_birth(reached, row, rows):
    kind = row.get("child", {}).get("kind")
    if kind == "message":
        reached["message", "unread" if "unread" in row["child"] else "delivered at once"] += 1
    elif kind is not None:
        name = {"job": "a job", "receive": "a receive"}.get(kind, "a call" if "task" in row else "a step")
        reached["child", name] += 1
        reached["child", "a settled step"] += name == "a step" and row["state"] != "pending"
        parent = rows.get(parent_of(row), {})
        reached["child", "a copy"] += parent.get("job", {}).get("state") == "pending" and row["createdAt"] == parent["createdAt"]
        reached["child", "of a child job"] += "child" in parent


def by_course(reached, old, row):
    reached["message", "read later"] += "unread" in old.get("child", {}) and "unread" not in row["child"]
    if "child" in row:
        reached["child", "adopted"] += "job" in row and "job" not in old
        reached["child", "timed out"] += row["state"] == "rejected_timedout" != old["state"]
        error = row.get("job", {}).get("error", {})
        followed = error.get("message") == f'the awaiter "{parent_of(row)}" was cancelled'
        reached["child", "cancelled with its parent"] += followed and old["state"] == "pending"
    if "job" in old and "job" in row:
        reached["child", "a job without retries used"] += row["job"]["retryCount"] < old["job"]["retryCount"]
        crashed = row["job"]["state"] == "archived" and row["job"].get("error", {}).get("code") == "WorkerCrashed"
        reached["archived", "a workflow that crashed"] += crashed and "workflow" in row["job"] and old["job"]["state"] == "running"


def by_end(reached, row, old, new):
    kind = row.get("child", {}).get("kind")
    if kind is None:
        return
    reached["removed", "a message" if kind == "message" else "a child job" if "job" in row else "a step"] += 1
    reached["removed", "below a child job"] += "child" in old.get(parent_of(row), {})
    reached["removed", "at a start_over"] += (
        kind != "message" and new.get(parent_of(row), {}).get("job", {}).get("state") == "pending"
    )
