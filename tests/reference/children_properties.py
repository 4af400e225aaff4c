"""The invariants of children and messages of jobs in a state and over a change (JOBS 9), checked on full snapshots of the model.

Each function returns the names of the broken invariants, with the ids.
"""

from __future__ import annotations

TERMINAL = ("completed", "failed", "cancelled", "expired")


def is_below(row):
    """Whether a row is a child or a message of a job."""
    return "parent" in row or "message" in row


def owner_of(row):
    """The id of the job to which a child or a message belongs."""
    return row["parent"] if "parent" in row else row["message"]["job"]


def of_a_state(snapshot):
    """Each child and message has its job, which counts them."""
    rows = {row["id"]: row for row in snapshot["promises"]}
    below = [row for row in rows.values() if is_below(row)]
    broken = [("job_of_child", row["id"]) for row in below if "job" not in rows.get(owner_of(row), {})]
    for row in rows.values():
        if "job" in row:
            broken += [
                (name, row["id"])
                for name, holds in facts(row, [one for one in below if owner_of(one) == row["id"]]).items()
                if not holds
            ]
        elif "receives" in row and "parent" not in row:
            broken.append(("receive_of_nobody", row["id"]))
    return broken


def facts(row, below):
    job = row["job"]
    numbers = [one["number"] for one in below if "parent" in one]
    sent = [one["message"]["number"] for one in below if "message" in one]
    return {
        "child_count": job.get("steps", 0) == len(numbers) and job.get("steps") != 0,
        "message_count": job.get("messages", 0) == len(sent) and job.get("messages") != 0,
        "child_numbers": len(set(numbers)) == len(numbers) and all(0 < one <= job["made"] for one in numbers),
        "message_numbers": len(set(sent)) == len(sent) and all(0 < one <= job["sent"] for one in sent),
        "messages_settled": all(one["state"] == "resolved" for one in below if "message" in one),
        "children_external": all(one["external"] for one in below),
        "unread": sum("read" not in one["message"] for one in below if "message" in one) <= 1000,
    }


def of_a_change(before, after):
    """The mark of a child never changes, and it goes only with its job, or after it, or when the job starts over."""
    rows = {row["id"]: row for row in after["promises"]}
    broken = []
    for old in before["promises"]:
        new = rows.get(old["id"])
        if not is_below(old):
            continue
        if new is not None and new["createdAt"] == old["createdAt"]:
            broken += [("child_mark", old["id"])] * any(old.get(name) != new.get(name) for name in ("parent", "number", "receives"))
        if new is None and not may_go(old, {row["id"]: row for row in before["promises"]}, rows):
            broken.append(("child_vanished", old["id"]))
    return broken


def may_go(old, before, after):
    job = after.get(owner_of(old))
    if job is None or job["createdAt"] != before[owner_of(old)]["createdAt"] or job["job"]["state"] in TERMINAL:
        return True
    return "parent" in old and job["job"].get("restarts", 0) > before[owner_of(old)]["job"].get("restarts", 0)
