"""How a job is deleted: what still refers to it, and the rows below it that go before it (JOBS 3 and 9)."""

from __future__ import annotations

from . import jobs_cancellation, jobs_children as children, jobs_kept
from .world import later, project

SOONEST, LATEST = 1000, 3_600_000


def is_referred_to(world, row):
    """Whether a promise, or a message about its end, still needs a row."""
    return is_to_be_told(world, row) or is_awaited(world, row)


def is_to_be_told(world, row):
    """Whether something is not told yet that a row is settled."""
    undelivered = any(message["id"] == row["id"] and "version" not in message for message in world.messages)
    return undelivered or bool(row["callbacks"] or row["listeners"]) or jobs_cancellation.first_awaited(world, row) is not None


def is_awaited(world, row):
    """Whether a promise that awaited a job is not settled yet, and may still read it. Other rows have such promises as keepers."""
    awaiters = (world.promises[one] for one in row.get("job", {}).get("awaiters", []) if one in world.promises)
    return any(project(awaiter, world.now)["state"] == "pending" for awaiter in awaiters)


def is_too_young(world, row):
    """Whether a job was created at this instant, so that ``createdAt`` would not tell it apart from the next one with its id."""
    return any(name in row["job"] for name in ("workflow", "made")) and row["createdAt"] >= world.now


def rows_below(world, row):
    """The children and the messages of a job, in the order in which they go."""
    return sorted(children.below(world, row["id"]), key=children.place)


def first_to_go(world, row):
    """The row that goes first of a settled row and all that is below it; None if something prevents it now."""
    if is_referred_to(world, row) or jobs_kept.drop_keepers(world, row):
        return None
    if "job" not in row:
        return row
    if children.is_spared(world, row) or is_too_young(world, row):
        return None
    below = rows_below(world, row)
    if row["state"] == "pending" or any(one["child"]["kind"] == "job" and one["state"] == "pending" for one in below):
        return None
    return first_to_go(world, below[0]) if below else row


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
    first = first_to_go(world, row)
    if first is None:
        wait = min(max(SOONEST, world.now - row["settledAt"]), LATEST)
        row["job"]["reclaimAt"] = later(world.now, 1 if is_too_young(world, row) else wait)
        return None
    children.forget(world, first)
    return first["id"]
