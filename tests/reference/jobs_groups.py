"""Jobs that gather by their group until they are many, none has joined for a while, or the first has waited long (JOBS 2).

A *flight* is those jobs of one queue, type and group that gather now. Its first job leads it: that row alone stores the
flight, and its task's ``retryAt`` is the flight's timer.
"""

from __future__ import annotations

from . import jobs_course as course
from .jobs_queues import jobs_of
from .world import id_order, later

DEFAULTS = {"size": 1000, "grace": 60_000}


def limits(world, name):
    """How long the groups of a queue gather."""
    return world.queues.get(name, {}).get("groups", DEFAULTS)


def gathering(world, row):
    """The stored rows of the flight that a job is of, or would be of, by id."""
    job = row["job"]
    found = [
        other
        for other in jobs_of(world, job["queue"])
        if "gathering" in other["job"] and (other["job"]["type"], other["job"]["group"]) == (job["type"], job["group"])
    ]
    return sorted(found, key=lambda other: id_order(other["id"]))


def leader_of(rows):
    """The row of a flight that leads it, or None."""
    return next((row for row in rows if "flight" in row["job"]), None)


def timer(flight, found):
    """The instant at which a flight is ready if nobody joins any more; never before the last one joined."""
    instant = later(flight["lastAt"], found["grace"])
    if "maxDelay" in found:
        instant = min(instant, later(flight["firstAt"], found["maxDelay"]))
    return max(instant, flight["lastAt"])


def join(world, row, at):
    """A job begins to gather as of an instant."""
    leader = leader_of(gathering(world, row))
    if leader is not None and leader["task"]["retryAt"] <= at:
        # Its time is over; only its step has not come yet.
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
    """All jobs of a flight are ready as of an instant, also those that are dead but have not been told so."""
    for row in gathering(world, leader):
        row["job"].pop("flight", None)
        del row["job"]["gathering"]
        row["task"]["retryAt"] = row["timeoutAt"]
        course.make_pending(row["job"], at)


def leave(world, row):
    """A job stops gathering without its flight; the next by id leads the others. Nothing for a job that does not gather."""
    if "gathering" not in row.get("job", {}):
        return
    left = row["job"]
    flight = left.get("flight")
    course.leave_flight(left)
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
