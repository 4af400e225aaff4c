"""Jobs that wait for promises: by ``after`` before their first start, by job.suspend in the middle of their work (JOBS 8)."""

from __future__ import annotations

from . import (
    jobs_cancellation,
    jobs_course as course,
    jobs_kept,
    jobs_leaving as leaving,
    jobs_moves as moves,
    promises,
)
from .jobs_policy import error
from .shape import Refused
from .world import project

HOW = {
    "rejected": "was rejected",
    "rejected_canceled": "was cancelled",
    "rejected_timedout": "timed out",
}
"""What happened to a promise that is settled and not resolved."""


def awaited_rows(world, ids, dialect):
    """The stored rows of the promises that a job is to wait for.

    Raises:
        Refused: With 422.
    """
    found = []
    for one in ids:
        if one not in world.promises:
            raise Refused(422, f"no awaited promise {one!r}")
        promises.check_external(world, world.promises[one], dialect)
        found.append(world.promises[one])
    return found


def state_of(world, row):
    return project(row, world.now)["state"]


def pending_of(world, rows):
    return [row for row in rows if state_of(world, row) == "pending"]


def failed_of(world, rows):
    """The rows that are settled and not resolved."""
    return [row for row in rows if state_of(world, row) in HOW]


def settled_of(world, rows):
    return [row for row in rows if state_of(world, row) != "pending"]


def dependency_failed(world, awaited):
    """The error of a job that is cancelled because a promise that it waits for is not resolved."""
    return error("DependencyFailed", f'the awaited promise "{awaited["id"]}" {HOW[state_of(world, awaited)]}')


# ---- after


def begin(world, row, rows):
    """A new job with ``after`` waits for what is missing, or is cancelled at once. It is alive, or has only passed its goodUntil."""
    job = row["job"]
    failed = failed_of(world, rows)
    if failed and job["afterFailed"] == "cancel" and course.death(row, world.now) is None:
        jobs_cancellation.cancel(world, row, dependency_failed(world, failed[0]))
        job.pop("enqueuedAt", None)
        return
    for one in settled_of(world, rows):
        jobs_kept.keep(one, row["id"])
    missing = pending_of(world, rows)
    if missing:
        wait_for(row, missing)


def wait_for(row, missing, **more):
    """Puts a job into the state waiting."""
    moves.suspend(row, awaits=[one["id"] for one in missing], **more)
    for one in missing:
        promises.add_callback(one, row["id"])


# ---- job.suspend


def need_not_wait(world, rows, until):
    """Whether a job that wants to wait for these promises continues to run instead."""
    settled = settled_of(world, rows)
    return len(settled) == len(rows) or bool(failed_of(world, rows) if until == "all" else settled)


def suspend(world, row, rows, until):
    """The attempt of a running job ends, and the job waits."""
    job = row["job"]
    course.close_attempt(job, "suspended", world.now)
    job.setdefault("firstEnqueuedAt", job["enqueuedAt"])
    for one in settled_of(world, rows):
        jobs_kept.keep(one, row["id"])
    wait_for(row, pending_of(world, rows), until=until)


# ---- wake-ups


def settled(world, row, awaited):
    """A promise is settled for which a job may wait: the job is woken or cancelled, or waits for less, or nothing happens."""
    seen = project(row, world.now)["job"]
    if seen["state"] != "waiting" or awaited["id"] not in seen["awaits"]:
        return
    job = row["job"]
    failed = awaited["state"] in HOW
    if failed and "until" not in job and job["afterFailed"] == "cancel":
        jobs_cancellation.cancel(world, row, dependency_failed(world, awaited))
        return
    jobs_kept.keep(awaited, row["id"])
    job["awaits"].remove(awaited["id"])
    until = job.get("until")
    if not job["awaits"] or until == "any" or (until == "all" and failed):
        wake(world, row)


def wake(world, row):
    """Nothing holds a waiting job back any more."""
    leaving.leave(world, row)
    process_at = row["job"].get("processAt", 0)
    if "until" not in row["job"] and process_at > world.now:
        moves.wait(row, "scheduled", process_at)
    else:
        moves.become_claimable(row, world.now)
