"""Requests that administer jobs (JOBS 3 and 5): get, search, cancel, run, archive, delete."""

from __future__ import annotations

from . import (
    jobs_cancellation,
    jobs_course as course,
    jobs_enqueue,
    jobs_found,
    jobs_leaving as leaving,
    jobs_moves as moves,
    jobs_removal as removal,
    promises,
    steps,
)
from .shape import Refused
from .world import id_order, project

AT_ONCE = 1000


def get(world, data, dialect):
    return 200, jobs_enqueue.answer(world, jobs_found.find(world, data["id"]))


def matching(world, data):
    """The stored rows of the jobs that match a filter, by id; the filter compares projected states."""
    found = []
    for row in sorted(world.promises.values(), key=lambda row: id_order(row["id"])):
        if "job" not in row:
            continue
        job = project(row, world.now)["job"]
        named = all(data[name] in (None, job.get(name)) for name in ("queue", "type", "state", "group"))
        if named and promises.carries(row["tags"], data["tags"]):
            found.append(row)
    return found


def search(world, data, dialect):
    rows = [row for row in matching(world, data) if data["uniqueKey"] in (None, row["job"].get("uniqueKey"))]
    rows, more = promises.page(rows, data)
    return 200, {"jobs": [course.record(project(row, world.now)) for row in rows], **more}


def one_or_many(guard, act, passes_over=lambda world, row: False):
    """A request on a job by id, or on the jobs that match and pass the guard.

    Args:
        guard: Returns why a (projected) row is refused, or None.
        act: Changes the world; for a request by id, its result is the reply.
        passes_over: Whether a request with a filter skips a row.
    """

    def run(world, data, dialect):
        if data["id"] is not None:
            row = jobs_found.find(world, data["id"])
            refusal = guard(project(row, world.now))
            if refusal is not None:
                raise Refused(409, f"job {data['id']!r} {refusal}")
            return 200, act(world, row)
        rows = [row for row in matching(world, data) if guard(project(row, world.now)) is None and not passes_over(world, row)]
        for row in rows[:AT_ONCE]:
            act(world, row)
        return 200, {"count": len(rows[:AT_ONCE]), "more": len(rows) > AT_ONCE}

    return run


def not_in(states):
    return lambda seen: None if seen["job"]["state"] in states else f"is {seen['job']['state']}"


def cancel_job(world, row):
    jobs_cancellation.cancel(world, row)
    return jobs_enqueue.answer(world, row)


def run_job(world, row):
    leaving.leave(world, row)
    moves.become_claimable(row, world.now)
    return jobs_enqueue.answer(world, row)


def archive_job(world, row):
    leaving.leave(world, row)
    moves.halt(row)
    return jobs_enqueue.answer(world, row)


def cannot_be_deleted(seen):
    if seen["job"]["state"] in course.HELD:
        return f"is {seen['job']['state']}"
    if seen["state"] == "pending" and (seen["callbacks"] or seen["listeners"]):
        return "is awaited"
    if seen["state"] == "pending" and "steps" in seen["job"]:
        return "has children"
    return None


def mark_deleted(world, row):
    """Lets the steps delete a final job."""
    row["job"].update(deleted=True, reclaimAt=world.now)


def delete_job(world, row):
    """Deletes a pending job at once, and a settled one as soon as nothing refers to it."""
    if project(row, world.now)["state"] == "pending":
        leaving.leave(world, row)
        removal.forget_all(world, row)
        return {}
    if row["state"] == "pending":
        # The job is dead already. Its settlement is stored together with the mark, not by a later step.
        kind = "job_expiry" if course.death(row, world.now) == "good_until" else "promise_timeout"
        steps.take(world, row["timeoutAt"], kind, row["id"])
    if "deleted" not in row["job"]:
        mark_deleted(world, row)
    return {}


def is_passed_over(world, row):
    """Whether a request with a filter does not delete a job: it is marked already, or messages would go with it at once."""
    return "deleted" in row["job"] or ("made" in row["job"] and project(row, world.now)["state"] == "pending")


cancel = one_or_many(not_in([state for state in course.STATES if state not in course.TERMINAL]), cancel_job)
run = one_or_many(not_in(["scheduled", "waiting", "retry", "archived"]), run_job)
archive = one_or_many(not_in(["scheduled", "waiting", "pending", "retry"]), archive_job)
delete = one_or_many(cannot_be_deleted, delete_job, is_passed_over)
