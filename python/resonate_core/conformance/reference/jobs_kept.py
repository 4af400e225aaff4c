"""Settled jobs and children that others keep (JOBS 8 and 9): ``keptBy`` has the ids of those that waited, and may read them until they end."""

from __future__ import annotations

from .world import project

MOST_TAKEN = 10_000
"""The most keepers that one check of a retention takes away."""


def keep(row, job_id):
    """Makes a job a keeper of a settled job or child; other promises have no keepers, since only a purge removes them.

    A parent needs no keeper for its children: they stay until it is final.
    """
    if row.get("child", {}).get("kind") != "message" and row.get("child", {}).get("parent") == job_id:
        return
    if ("job" in row or "child" in row) and job_id not in row.get("keptBy", []):
        row.setdefault("keptBy", []).append(job_id)


def is_over(world, keeper_id):
    """Whether a keeper is settled or does not exist."""
    row = world.promises.get(keeper_id)
    return row is None or project(row, world.now)["state"] != "pending"


def is_kept(world, row):
    """Whether a keeper is not final."""
    return any(not is_over(world, one) for one in row.get("keptBy", []))


def drop_keepers(world, row):
    """Takes keepers that are over from the front of the list, as many as one check may.

    Returns:
        Whether a keeper is left.
    """
    kept_by = row.get("keptBy", [])
    taken = 0
    while taken < min(len(kept_by), MOST_TAKEN) and is_over(world, kept_by[taken]):
        taken += 1
    del kept_by[:taken]
    if not kept_by:
        row.pop("keptBy", None)
    return bool(kept_by)
