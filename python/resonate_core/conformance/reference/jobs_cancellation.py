"""Jobs that are cancelled with their awaiters (JOBS 3): a cancelled promise stops awaiting its jobs, one per step.

Nothing is stored for it: a cancelled promise has such steps as long as a job with ``cancelWithAwaiters`` names it as awaiter.
"""

from __future__ import annotations

import copy

from . import jobs_children as children, jobs_course as course, jobs_leaving as leaving
from .jobs_policy import error, error_value
from .world import id_order, project, settle


def cancel(world, row, why=course.CANCELLED):
    """Cancels a job that is not final."""
    leaving.leave(world, row, cancelled=True)
    course.end(row["job"], "cancelled", "cancelledAt", world.now, copy.deepcopy(why), "cancelled")
    settle(row, "rejected_canceled", error_value(why), world.now)


def is_cancelled(world, awaiter_id):
    return world.promises.get(awaiter_id, {}).get("state") == "rejected_canceled"


def cancels(row, awaited):
    """A job cancels only its children of all that it awaits, unless it was a promise before it became a job."""
    return "job" not in row or "adopted" in row["job"] or children.is_child(awaited, row["id"])


def first_awaited(world, row):
    """The first job by id that a cancelled promise still awaits and that is cancelled with its awaiters; None without one."""
    if row["state"] != "rejected_canceled":
        return None
    follow = [
        other
        for other in world.promises.values()
        if other.get("job", {}).get("cancelWithAwaiters") and row["id"] in other["callbacks"] and cancels(row, other)
    ]
    return min(follow, key=lambda other: id_order(other["id"]), default=None)


def cancel_awaited(world, row, awaited):
    """Removes a cancelled promise from the awaiters of a job, and cancels the job if no other awaiter is pending.

    Returns:
        Whether the job was cancelled.
    """
    awaited["callbacks"].remove(row["id"])
    seen = project(awaited, world.now)
    wanted = any(
        one in world.promises and project(world.promises[one], world.now)["state"] == "pending" for one in awaited["callbacks"]
    )
    follows = seen["job"]["state"] not in course.TERMINAL and not wanted
    if follows:
        cancel(world, awaited, error("Cancelled", f'the awaiter "{row["id"]}" was cancelled'))
    return follows


def forget_cancelled(world, row, job):
    """A job that adopts a promise is not cancelled with awaiters that were cancelled before."""
    if job.get("cancelWithAwaiters"):
        row["callbacks"] = [one for one in row["callbacks"] if not is_cancelled(world, one)]
