"""A job leaves what it waits with or for: its gathering group, and the promises that it lacks (JOBS 3 and 8).

Every change that ends the wait calls this first, whatever the reason: a wake-up, an operator, a deadline, a settlement.
"""

from __future__ import annotations

from . import jobs_children as children, jobs_groups as groups


def leave(world, row, cancelled=False):
    """Ends the wait of a job.

    Args:
        cancelled: Whether the job's promise is cancelled next. Then the steps `cancel_drain` take the callbacks that cancel what an
            adopted promise awaits. The callbacks on its child jobs stay in any case.
    """
    groups.leave(world, row)
    for one in row.get("job", {}).get("awaits", []):
        awaited = world.promises.get(one, {"callbacks": []})
        is_child_job = "job" in awaited and children.is_child(awaited, row["id"])
        cancels = "adopted" in row["job"] and "cancelWithAwaiters" in awaited.get("job", {})
        if row["id"] in awaited["callbacks"] and not is_child_job and not (cancelled and cancels):
            awaited["callbacks"].remove(row["id"])
