"""Counts the cases that a run reached, for the statistics: groups, schedules that enqueue jobs, claims that start jobs."""

from __future__ import annotations

from collections import Counter

EVERY_WAY = ["by its time", "by its size", "pending", "archived", "cancelled", "completed", "failed", "expired", "gone"]
WANTED = [("gathered", who, how) for who in ("leader", "member") for how in EVERY_WAY] + [
    ("flight", "by its size", 2),
    ("flight", "by its time", 2),
    ("flight", "at its longest delay"),
    ("flight", "joined at its instant"),
    ("flight", "over as another joins"),
    ("flight", "another leader"),
    ("flight", "with a dead job"),
    ("claim", "a whole batch"),
    ("claim", "beyond its count"),
    ("claim", "a batch again"),
    ("claim", "started by the claim"),
    ("claim", "claimed beside a started one"),
    ("batch", "retried together"),
    ("batch", "snoozed"),
    ("scheduled job", True),
    ("scheduled job", False),
    ("scheduled job", "gathering"),
    ("goodFor", "processIn"),
    ("goodFor", "now"),
    ("run", "all that gather"),
]


def jobs_of(snapshot):
    return {row["id"]: row for row in snapshot["promises"] if "job" in row}


def by_request(reached, rows, envelope, reply):
    """Counts the cases that the answer to one request, and the rows after it, show."""
    if reply["head"]["status"] != 200:
        return
    data, found = envelope["data"], reply["data"]
    if reply["kind"] == "job.claim":
        by_claim(reached, rows, data, found["jobs"])
    if reply["kind"] == "job.enqueue" and data.get("goodFor"):
        reached["goodFor", "processIn" if data.get("processIn") else "now"] += 1
    if reply["kind"] == "job.run" and data.get("state") == "scheduled" and data.get("group") and found["count"] > 1:
        reached["run", "all that gather"] += 1


def by_claim(reached, rows, data, jobs):
    batches = Counter(job["batch"] for job in jobs if "batch" in job)
    if any(count > 1 for count in batches.values()):
        reached["claim", "a whole batch"] += 1
        again = [job for job in jobs if batches.get(job.get("batch"), 0) > 1 and job["version"] > 1]
        reached["claim", "a batch again"] += len(again) > 1
    reached["claim", "beyond its count"] += len(jobs) > (data.get("count") or 1)
    two_steps = [job["state"] for job in jobs if job["id"] in rows and not rows[job["id"]]["job"]["oneStep"]]
    reached["claim", "started by the claim"] += "running" in two_steps
    reached["claim", "claimed beside a started one"] += {"running", "claimed"} <= set(two_steps)


def by_change(reached, before, after, fired):
    """Counts how one call changed the jobs that gathered before it, and other jobs."""
    old, new = jobs_of(before), jobs_of(after)
    # A batch that became ready without a step was filled by its last job.
    ended = {one["detail"]["batch"]: one["at"] for one in fired if one["kind"] == "job_batch"}
    ready = Counter()
    for job_id, row in old.items():
        if "gathering" not in row["job"]:
            continue
        batch, leads = row["job"]["batch"], "flight" in row["job"]
        how = way_out(row, new.get(job_id), ended)
        if how is None:
            reached["flight", "another leader"] += not leads and "flight" in new[job_id]["job"]
            continue
        reached["gathered", "leader" if leads else "member", how] += 1
        if how.startswith("by"):
            ready[batch, how] += 1
            reached["flight", "with a dead job"] += new[job_id]["state"] != "pending"
        if leads and how == "by its size":
            reached["flight", "over as another joins"] += new[job_id]["job"].get("enqueuedAt") == row["task"]["retryAt"]
        if leads and how == "by its time":
            flight = row["job"]["flight"]
            reached["flight", "at its longest delay"] += row["task"]["retryAt"] - flight["lastAt"] not in (0, *graces(before))
    for (_, how), count in ready.items():
        reached["flight", how, min(count, 2)] += 1
    for job_id, row in new.items():
        was = old.get(job_id)
        if was is not None and "batch" not in was["job"] and "processAt" in was["job"] and "gathering" in row["job"]:
            reached["flight", "joined at its instant"] += 1
        if row["job"]["state"] == "scheduled" and "batch" in row["job"] and "gathering" not in row["job"]:
            reached["batch", "snoozed"] += 1
    retried = Counter((row["job"]["batch"], row["job"]["nextRetryAt"]) for row in new.values() if is_retried(row["job"]))
    reached["batch", "retried together"] += any(count > 1 for count in retried.values())
    by_schedules(reached, before, new, fired)


def way_out(was, row, ended):
    """How a job stopped gathering, or None if it still gathers."""
    if row is None:
        return "gone"
    job = row["job"]
    if "gathering" in job:
        return None
    if "batch" in job:
        return "by its time" if was["job"]["batch"] in ended else "by its size"
    return job["state"]


def graces(snapshot):
    return [queue["groups"]["grace"] if "groups" in queue else 60_000 for queue in snapshot.get("queues", [])]


def is_retried(job):
    return job["state"] == "retry" and "batch" in job and job["retryPolicy"]["kind"] != "fixed"


def by_schedules(reached, before, new, fired):
    schedules = {row["id"]: row for row in before["schedules"] if "job" in row}
    for one in fired:
        if one["kind"] != "schedule" or one["id"] not in schedules or one["detail"]["promise_id"] is None:
            continue
        reached["scheduled job", one["detail"]["created"]] += 1
        made = new.get(one["detail"]["promise_id"], {"job": {}})
        reached["scheduled job", "gathering"] += one["detail"]["created"] and "gathering" in made["job"]
