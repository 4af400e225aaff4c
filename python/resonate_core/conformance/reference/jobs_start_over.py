"""job.start_over: a workflow without end begins its next run, without the steps of this one (JOBS 9)."""

from __future__ import annotations

from . import (
    jobs_children as children,
    jobs_course as course,
    jobs_enqueue,
    jobs_found,
    jobs_kept,
    jobs_moves as moves,
    jobs_queues as queues,
    jobs_removal as removal,
)
from .shape import Refused


def is_used(world, row):
    """Whether something else than the job that made it needs a row, or is to be notified of it."""
    own = children.parent_of(row)
    others = [one for one in row["callbacks"] if one != own]
    keepers = [one for one in row.get("keptBy", []) if one != own and not jobs_kept.is_over(world, one)]
    return bool(others or keepers) or removal.is_to_be_told(world, {**row, "callbacks": []}) or removal.is_awaited(world, row)


def check(world, row):
    """Nothing needs the children of a job, nor what is below them.

    Raises:
        Refused: With 409.
    """
    for child in children.children_of(world, row["id"]):
        if "job" in child and not children.is_final(world, child):
            raise Refused(409, f"child job {child['id']!r} is not final")
        if is_used(world, child):
            raise Refused(409, f"{child['id']!r} is awaited")
        if "job" in child:
            check(world, child)


def start_over(world, data, dialect):
    row = jobs_found.find_in_state(world, data, "running")
    check(world, row)
    for child in children.children_of(world, row["id"]):
        removal.forget_all(world, child)
    job = row["job"]
    course.close_attempt(job, "completed", world.now)
    queues.count_attempt(world, job, "completed", world.now)
    for name in ("firstEnqueuedAt", "error", "failedAt"):
        job.pop(name, None)
    job["retryCount"] = 0
    job["args"] = data["args"]
    job["restarts"] = job.get("restarts", 0) + 1
    moves.become_claimable(row, world.now)
    return 200, jobs_enqueue.answer(world, row)
