"""Jobs of a group gather until the size is reached, no job has joined for the grace, or the first has waited maxDelay (JOBS 2).

A *gathering group* consists of the jobs of one queue, type and group that gather now. Its first job is the leader. Only the
leader's row stores the data of the gathering group (``flight``), and its task's ``retryAt`` is the timer.
"""

from __future__ import annotations

from . import jobs_course as course
from .jobs_queues import jobs_of
from .world import id_order, later

DEFAULTS = {"size": 1000, "grace": 60_000}


def limits(world, name):
    """The settings of a queue's groups."""
    return world.queues.get(name, {}).get("groups", DEFAULTS)


def gathering(world, row):
    """The stored rows of the gathering group to which a job belongs or would belong, by id."""
    job = row["job"]
    found = [
        other
        for other in jobs_of(world, job["queue"])
        if "gathering" in other["job"] and (other["job"]["type"], other["job"]["group"]) == (job["type"], job["group"])
    ]
    return sorted(found, key=lambda other: id_order(other["id"]))


def leader_of(rows):
    """The leader of a gathering group, or None."""
    return next((row for row in rows if "flight" in row["job"]), None)


def timer(flight, found):
    """The instant at which a gathering group is ready if no other job joins; not before the last job joined."""
    instant = later(flight["lastAt"], found["grace"])
    if "maxDelay" in found:
        instant = min(instant, later(flight["firstAt"], found["maxDelay"]))
    return max(instant, flight["lastAt"])


def join(world, row, at):
    """Makes a job join its gathering group as of an instant."""
    leader = leader_of(gathering(world, row))
    if leader is not None and leader["task"]["retryAt"] <= at:
        # That group is ready by then; only its step has not run yet.
        end(world, leader, leader["task"]["retryAt"])
        leader = None
    job = row["job"]
    course.wait(job, "scheduled")
    job["gathering"] = True
    row["task"]["retryAt"] = row["timeoutAt"]
    if leader is None:
        world.generated_jobs += 1
        job["batch"] = f"batch:{world.generated_jobs:016x}"
        job["flight"] = {"firstAt": at, "lastAt": at, "count": 1}
        leader = row
    else:
        job["batch"] = leader["job"]["batch"]
        flight = leader["job"]["flight"]
        flight["lastAt"] = max(flight["lastAt"], at)
        flight["count"] += 1
    found = limits(world, job["queue"])
    flight = leader["job"]["flight"]
    leader["task"]["retryAt"] = timer(flight, found)
    if flight["count"] >= found["size"]:
        end(world, leader, flight["lastAt"])


def end(world, leader, at):
    """Makes all jobs of a gathering group ready as of an instant, including dead jobs whose step has not run yet."""
    for row in gathering(world, leader):
        row["job"].pop("flight", None)
        del row["job"]["gathering"]
        row["task"]["retryAt"] = row["timeoutAt"]
        course.make_pending(row["job"], at)


def leave(world, row):
    """Removes a job from its gathering group, if it gathers; if it was the leader, the next job by id becomes the leader."""
    if "gathering" not in row.get("job", {}):
        return
    left = row["job"]
    flight = left.get("flight")
    course.leave_group(left)
    rest = gathering(world, row)
    if flight is not None and rest:
        rest[0]["job"]["flight"] = flight
        rest[0]["task"]["retryAt"] = row["task"]["retryAt"]
    if rest:
        leader_of(rest)["job"]["flight"]["count"] -= 1


def companions(world, row):
    """The other jobs of a job's batch, by id."""
    batch = row["job"].get("batch")
    found = [other for other in jobs_of(world, row["job"]["queue"]) if other is not row and other["job"].get("batch") == batch]
    return sorted(found, key=lambda other: id_order(other["id"])) if batch is not None else []
