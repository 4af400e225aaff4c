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


def is_used(world, row, owners):
    """Whether something else than the jobs that made it needs a row, or is to be notified of it."""
    others = [one for one in row["callbacks"] if one not in owners]
    notified = any(message["id"] == row["id"] and "version" not in message for message in world.messages)
    keepers = [one for one in row.get("keptBy", []) if one not in owners and not jobs_kept.is_over(world, one)]
    return bool(others or row["listeners"] or keepers) or notified or removal.is_awaited(world, row)


def check(world, row, owners):
    """Nothing needs the children of a job, nor theirs.

    Raises:
        Refused: With 409.
    """
    for child in children.children_of(world, row["id"]):
        if "job" in child and not children.is_final(world, child):
            raise Refused(409, f"child job {child['id']!r} is not final")
        if is_used(world, child, owners):
            raise Refused(409, f"{child['id']!r} is awaited")
        if "job" in child:
            check(world, child, {*owners, child["id"]})


def start_over(world, data, dialect):
    row = jobs_found.find_in_state(world, data, "running")
    check(world, row, {row["id"]})
    for child in children.children_of(world, row["id"]):
        drop_executes(world, child)
        removal.forget_all(world, child)
    job = row["job"]
    course.close_attempt(job, "completed", world.now)
    queues.count_attempt(world, job, "completed", world.now)
    for name in ("firstEnqueuedAt", "args", "error", "failedAt"):
        job.pop(name, None)
    job["retryCount"] = 0
    if data["args"]:
        job["args"] = data["args"]
    job["restarts"] = job.get("restarts", 0) + 1
    moves.become_claimable(row, world.now)
    return 200, jobs_enqueue.answer(world, row)


def drop_executes(world, child):
    """A message that asks for the execution of a step that is gone goes with it, and so do those below it."""
    if "job" in child:
        for one in children.children_of(world, child["id"]):
            drop_executes(world, one)
    world.messages = [message for message in world.messages if message["id"] != child["id"]]
