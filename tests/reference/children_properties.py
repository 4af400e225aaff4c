"""The invariants of children and messages of jobs in a state and over a change (JOBS 9), checked on full snapshots of the model.

Each function returns the names of the broken invariants, with the ids.
"""

from __future__ import annotations

TERMINAL = ("completed", "failed", "cancelled", "expired")


def is_below(row):
    """Whether a row is a child or a message of a job."""
    return "child" in row


def of_a_state(snapshot):
    """Each child and message has its job, which counts them."""
    rows = {row["id"]: row for row in snapshot["promises"]}
    below = [row for row in rows.values() if is_below(row)]
    broken = [("job_of_child", row["id"]) for row in below if "job" not in rows.get(row["child"]["parent"], {})]
    for row in rows.values():
        if "job" in row:
            own = [one for one in below if one["child"]["parent"] == row["id"]]
            broken += [(name, row["id"]) for name, holds in facts(row["job"], own).items() if not holds]
    return broken


def facts(job, below):
    numbers = [one["child"]["number"] for one in below]
    children = [one for one in below if one["child"]["kind"] != "message"]
    messages = [one for one in below if one["child"]["kind"] == "message"]
    unread = [one for one in below if "unread" in one["child"]]
    return {
        "child_count": job.get("steps", 0) == len(children) and job.get("steps") != 0,
        "unread_count": job.get("unread", 0) == len(unread) <= 1000 and job.get("unread") != 0,
        "child_numbers": len(set(numbers)) == len(numbers) and all(0 < one <= job["made"] for one in numbers),
        "messages_resolved": all(one["state"] == "resolved" and "job" not in one for one in messages),
        "only_messages_are_unread": all(one in messages for one in unread),
        "children_external": all(one["external"] for one in below),
    }


def of_a_change(before, after):
    """The mark of a child never changes, and it goes only with its job, or after it, or when the job starts over."""
    old_rows, rows = ({row["id"]: row for row in snapshot["promises"]} for snapshot in (before, after))
    broken = []
    for old in filter(is_below, old_rows.values()):
        new = rows.get(old["id"])
        if new is not None and new["createdAt"] == old["createdAt"] and without_use(new) != without_use(old):
            broken.append(("child_mark", old["id"]))
        if new is None and not may_go(old, old_rows, rows):
            broken.append(("child_vanished", old["id"]))
    return broken


def without_use(row):
    """The mark of a row, whether or not it was read."""
    return {**row.get("child", {}), "unread": None}


def may_go(old, before, after):
    parent = old["child"]["parent"]
    job = after.get(parent)
    if job is None or job["createdAt"] != before[parent]["createdAt"] or job["job"]["state"] in TERMINAL:
        return True
    return old["child"]["kind"] != "message" and job["job"].get("restarts", 0) > before[parent]["job"].get("restarts", 0)
