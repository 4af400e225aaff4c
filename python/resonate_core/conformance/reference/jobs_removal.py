"""How a job is deleted: what still refers to it, and the rows below it that go before it (JOBS 3 and 9)."""

from __future__ import annotations

from . import jobs_children as children, jobs_kept
from .world import later, project

SOONEST, LATEST = 1000, 3_600_000


def is_named_by_a_message(world, row):
    return any(message["id"] == row["id"] for message in world.messages)


def is_referred_to(world, row):
    """Whether a message or a promise still needs a row."""
    return is_named_by_a_message(world, row) or is_awaited(world, row) or bool(row["callbacks"] or row["listeners"])


def is_awaited(world, row):
    """Whether a promise that awaited a row is not settled yet, and may still read it."""
    if "job" not in row:
        return is_in_a_task(world, row)
    awaiters = (world.promises[one] for one in row["job"]["awaiters"] if one in world.promises)
    return any(project(awaiter, world.now)["state"] == "pending" for awaiter in awaiters)


def is_in_a_task(world, row):
    """Whether the task of a pending promise names a row in ``current`` or ``resumes``."""
    for other in world.promises.values():
        task = other.get("task", {})
        if row["id"] in (task.get("current"), *task.get("resumes", [])) and project(other, world.now)["state"] == "pending":
            return True
    return False


def is_hindered(world, row):
    """Whether a row must not go yet."""
    return is_referred_to(world, row) or jobs_kept.drop_keepers(world, row)


def rows_below(world, row):
    """The children and the messages of a job, in the order in which they go."""
    return sorted(children.below(world, row["id"]), key=children.place)


def first_below(world, row):
    """The row that goes first of a job and all that is below it."""
    for one in rows_below(world, row):
        return first_below(world, one) if "job" in one else one
    return row


def forget_all(world, row):
    """Deletes a row with all that is below it."""
    if "job" in row:
        for one in rows_below(world, row):
            forget_all(world, one)
    children.forget(world, row)


def take_one(world, row):
    """Deletes the first row of a job that is due for deletion and of all below it; or puts the deletion off.

    Returns:
        The id of the deleted row, or None.
    """
    first = first_below(world, row)
    hindered = is_hindered(world, row) or children.is_spared(world, row) or not children.all_final_below(world, row)
    if hindered or (first is not row and is_hindered(world, first)):
        wait = min(max(SOONEST, world.now - row["settledAt"]), LATEST)
        row["job"]["reclaimAt"] = later(world.now, wait)
        return None
    children.forget(world, first)
    return first["id"]
