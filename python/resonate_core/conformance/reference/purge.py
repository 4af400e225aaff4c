"""Purge: deletes promises that were settled long ago, with their tasks and jobs, as far as nothing needs them (PROTOCOL 1, JOBS 3 and 8)."""

from __future__ import annotations

from . import jobs_admin, jobs_children as children, jobs_course as course, jobs_kept, jobs_removal as removal, steps
from .world import id_order, project


def run(world, settled_before):
    """Runs the due steps, then deletes.

    Returns:
        The number of deleted promises.
    """
    steps.begin(world)
    steps.run(world)
    needed = needed_ids(world)
    deleted = 0
    for row in sorted(world.promises.values(), key=lambda row: id_order(row["id"])):
        seen = project(row, world.now)
        if seen["state"] == "pending" or seen["settledAt"] >= settled_before or row["id"] in needed:
            continue
        if row["callbacks"] or row["listeners"] or is_of_a_pending_workflow(world, row) or is_read_as_a_job(world, row):
            continue
        if "child" in row:
            continue
        if "made" not in row.get("job", {}):
            del world.promises[row["id"]]
            deleted += 1
        elif "deleted" not in row["job"] and not has_open_job(world, row):
            jobs_admin.mark_deleted(world, row)
            deleted += 1
    steps.run(world)
    return deleted


def has_open_job(world, row):
    """Whether a child job is not final, so that its parent stays anyway."""
    return any(
        child["child"]["kind"] == "job" and not children.is_final(world, child) for child in children.children_of(world, row["id"])
    )


def needed_ids(world):
    """The ids to which a message, a callback, a pending task or a job that is not final refers."""
    found = {message["id"] for message in world.messages}
    for row in world.promises.values():
        found.update(row["callbacks"])
        if row["state"] == "pending" and "task" in row:
            found.update(row["task"]["resumes"])
            found.add(row["task"].get("current"))
        if "job" in row and row["job"]["state"] not in course.TERMINAL:
            found.update(row["job"].get("after", []))
            found.update(row["job"].get("awaits", []))
    return found


def is_of_a_pending_workflow(world, row):
    """Whether the root of the row's workflow is pending: its next run reads the settled promises."""
    origin = row["tags"].get("resonate:origin", row["id"])
    return origin != row["id"] and origin in world.promises and project(world.promises[origin], world.now)["state"] == "pending"


def is_read_as_a_job(world, row):
    """Whether an awaiter that is not settled, or a keeper that is not final, may still read a job."""
    return "job" in row and (removal.is_awaited(world, row) or jobs_kept.is_kept(world, row))
