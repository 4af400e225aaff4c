"""job.claim: the jobs that a worker gets, and the order of queues and jobs (JOBS 3)."""

from __future__ import annotations

from . import jobs_course as course, jobs_groups as groups, jobs_queues as queues, steps, tasks
from .world import id_order, project


def first_eligible(world, name):
    """The job of a queue that is claimed next, or None."""
    eligible = [row for row in queues.jobs_of(world, name) if project(row, world.now)["job"]["state"] == "pending"]
    return min(eligible, key=place, default=None)


def place(row):
    """The place of a pending job in its queue: a job that was suspended keeps that of its first suspended attempt."""
    job = row["job"]
    return job["priority"], job.get("firstEnqueuedAt", job["enqueuedAt"]), id_order(row["id"])


def could_claim_apart_from_rate(world, name):
    """Whether a queue is not paused, has an eligible job and room for it; only its rate may refuse the claim."""
    queue = world.queues.get(name)
    if queue is None or queue["paused"] or first_eligible(world, name) is None:
        return False
    return "concurrency" not in queue or queues.active(world, name) < queue["concurrency"]


def is_candidate(world, name):
    return could_claim_apart_from_rate(world, name) and queues.claimable_at(world.queues[name], world.now) == world.now


def choose(world, data):
    """The queue from which the next job is taken, or None; smooth weighted round robin unless strict."""
    candidates = [one for one in data["queues"] if is_candidate(world, one["name"])]
    if not candidates:
        return None
    if data["strict"]:
        return world.queues[candidates[0]["name"]]
    total = 0
    best = None
    for one in candidates:
        queue = world.queues[one["name"]]
        weight = queue["weight"] if one["weight"] is None else one["weight"]
        queue["current"] += weight
        total += weight
        if best is None or queue["current"] > best["current"]:
            best = queue
    best["current"] -= total
    return best


def give(world, row, data, starts):
    """Gives one job to the worker."""
    job = row["job"]
    run_lease = data["lease"] if data["runLease"] is None else data["runLease"]
    tasks.take_lease(world, row, {"pid": data["worker"], "ttl": run_lease if starts else data["lease"]})
    row["task"]["resumes"] = []
    row["task"].pop("current", None)
    job["state"] = "claimed"
    job["claimedAt"] = world.now
    if starts:
        run(world, row)
    else:
        # The lease of a later start.
        job["runLease"] = run_lease


def run(world, row):
    """The worker starts a claimed job."""
    job = row["job"]
    job["state"] = "running"
    job["startedAt"] = world.now
    job.pop("runLease", None)
    course.open_attempt(job, row["task"]["pid"], world.now)


def claim(world, data, dialect):
    steps.run(world, steps.BUDGET + data["count"])
    claimed = []
    while len(claimed) < data["count"]:
        queue = choose(world, data)
        if queue is None:
            break
        row = first_eligible(world, queue["name"])
        queues.count_claim(queue, world.now)
        for one in [row, *groups.companions(world, row)]:
            if project(one, world.now)["job"]["state"] == "pending":
                # The first `start` jobs of the reply run at once, and so do jobs of a lifecycle in which a claim is a start.
                give(world, one, data, starts=one["job"]["oneStep"] or len(claimed) < data["start"])
                claimed.append(one)
    found = {"jobs": [course.record(project(row, world.now)) for row in claimed]}
    waiting = [one["name"] for one in data["queues"] if could_claim_apart_from_rate(world, one["name"])]
    instants = [queues.claimable_at(world.queues[name], world.now) for name in waiting]
    instants = [at for at in instants if at > world.now]
    if instants and len(claimed) < data["count"]:
        found["nextAt"] = min(instants)
    return 200, found
