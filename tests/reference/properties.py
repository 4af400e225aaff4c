"""The invariants of a state and of a change (PROTOCOL 6), checked on full snapshots.

Each function returns the names of the broken invariants, with the ids.
"""

from __future__ import annotations

from resonate_core.conformance.reference.world import binds_strictly, is_timer, target, task_version, verdict

from . import children_properties, jobs_properties


def of_a_state(snapshot, rules="compatible"):
    """Returns the broken invariants of one state."""
    broken = []
    rows = {row["id"]: row for row in snapshot["promises"]}
    for row in rows.values():
        checks = {**promise_facts(row, snapshot["now"], rules), **task_facts(row, rows)}
        broken += [(name, row["id"]) for name, holds in checks.items() if not holds]
    for row in snapshot["schedules"]:
        last = row.get("lastRunAt", row["createdAt"])
        if not row["createdAt"] <= last < row["nextRunAt"]:
            broken.append(("schedule_order", row["id"]))
    broken += jobs_properties.of_a_state(snapshot) + children_properties.of_a_state(snapshot)
    keys = []
    for message in snapshot["messages"]:
        row = rows.get(message["id"])
        if "version" in message:
            keys.append(("execute", message["id"]))
            # A stale message stays in the outbox, so its version may be lower than the task's but not higher.
            fine = row and "task" in row and message["version"] <= row["task"]["acquisitions"] and message["address"] == target(row)
        else:
            keys.append(("unblock", message["id"], message["address"]))
            fine = row and row["state"] != "pending"
        if not fine:
            broken.append(("outbox", message["id"]))
    if len(keys) != len(set(keys)):
        broken.append(("outbox_keys", None))
    return broken


def promise_facts(row, now, rules):
    pending = row["state"] == "pending"
    settled_at = row.get("settledAt")
    at_deadline = settled_at == row["timeoutAt"]
    addresses = [one["address"] for one in row["listeners"]]
    edges = row["callbacks"] + addresses
    return {
        "settled_at": pending == (settled_at is None),
        "created_before_deadline": row["createdAt"] < row["timeoutAt"] if pending else row["createdAt"] <= row["timeoutAt"],
        "settled_in_time": pending or row["createdAt"] <= settled_at <= row["timeoutAt"],
        "pending_without_value": not pending or row["value"] == {},
        "verdict": not at_deadline or (row["state"] == verdict(row["tags"]) and row["value"] == {}),
        "timedout_at_deadline": row["state"] != "rejected_timedout" or at_deadline,
        "strict_timer": not binds_strictly(rules, row["dialect"]) or not is_timer(row["tags"]) or target(row) is None,
        "unique_edges": len(set(row["callbacks"])) == len(row["callbacks"]) and len(set(addresses)) == len(addresses),
        "edges_on_external": not edges or row["external"],
        "not_on_itself": row["id"] not in row["callbacks"],
        "not_in_the_future": row["createdAt"] <= now and (pending or settled_at <= now),
        "drained": pending or edges == [],
    }


def task_facts(row, rows):
    if "task" not in row:
        return {}
    task = row["task"]
    state = task["state"]
    own = row["id"]
    return {
        "lease": all((name in task) == (state == "acquired") for name in ("pid", "ttl", "expiresAt")),
        "retry": ("retryAt" in task) == (state == "pending"),
        "no_resumes": state not in ("suspended", "fulfilled") or task["resumes"] == [],
        "unique_resumes": len(set(task["resumes"])) == len(task["resumes"]),
        "acquired_once": state != "acquired" or task["acquisitions"] >= 1,
        "fulfilled_together": (row["state"] == "pending") == (state != "fulfilled"),
        "suspended_no_callback": state != "suspended" or "job" in row or any(own in other["callbacks"] for other in rows.values()),
        "suspended_current": state not in ("suspended", "fulfilled") or "current" not in task,
        "resumed_by_settled": all(one not in rows or rows[one]["state"] != "pending" for one in task["resumes"]),
        "shown": task_version(task, "2025-01-15") >= 0,
    }


def of_a_change(before, after, one_request=True):
    """Returns the broken invariants of a change from one state to another, by one request or by several."""
    broken = []
    if after["now"] < before["now"]:
        broken.append(("clock", None))
    rows = {row["id"]: row for row in after["promises"]}
    if one_request:
        # Several requests may delete a job and create another with its id.
        broken += jobs_properties.of_a_change(before, after) + children_properties.of_a_change(before, after)
    for old in before["promises"]:
        new = rows.get(old["id"])
        if "job" in old:
            # It may be deleted, and another created with its id.
            continue
        if children_properties.is_below(old) and (new is None or not one_request):
            # It may go with its job, or when that starts over, which may then make another with its id.
            continue
        if new is None:
            broken.append(("vanished", old["id"]))
            continue
        broken += [("birth", name) for name in ("param", "tags", "timeoutAt", "createdAt", "dialect") if old[name] != new[name]]
        if old["state"] != "pending" and without_use(old) != without_use(new):
            broken.append(("settled_record_changed", old["id"]))
        if "task" in old and "task" not in new:
            broken.append(("task_vanished", old["id"]))
        if "task" in old and "task" in new and new["task"]["acquisitions"] < old["task"]["acquisitions"]:
            broken.append(("acquisitions", old["id"]))
        if old["external"] and not new["external"]:
            broken.append(("external", old["id"]))
    return broken


def without_use(row):
    """A row without the mark of a message that was read."""
    return {**row, "child": children_properties.without_use(row), "keptBy": None} if "child" in row else row
