"""job.record: a running job records the steps of its function (JOBS 9)."""

from __future__ import annotations

from . import jobs_children as children, jobs_found, promises, wire
from .world import INT64_MAX, later, project, settle, target_of


def deadline_in(world, timeout_in):
    """The deadline of a step, from the time until then; without it, the step has none."""
    return INT64_MAX if timeout_in is None else later(world.now, timeout_in)


def insert(world, step, parent, kind, dialect):
    """Stores a new child that is no job; it is external, and settled at once if its deadline has passed."""
    row = promises.insert_with_task(world, step, dialect)
    row["external"] = True
    children.add(row, parent, kind)
    return row


def record(world, data, dialect):
    steps = [{**step, "timeoutAt": deadline_in(world, step["timeoutIn"]), "ikc": None} for step in data["steps"]]
    parent = jobs_found.find_in_state(world, data, "running")
    for step in steps:
        children.check(world, step["id"], parent)
    rows = [take(world, step, parent, dialect) for step in steps]
    return 200, {"promises": [wire.promise(project(row, world.now), dialect) for row in rows]}


def take(world, step, parent, dialect):
    """Creates or settles the promise of a step, or finds it as it is; returns its row."""
    row = world.promises.get(step["id"])
    if row is None:
        # A call of another program begins a branch of its own, like a child job.
        given = children.lineage(parent, step["id"] if target_of(step["tags"], dialect) is not None else None)
        row = insert(world, {**step, "tags": {**given, **step["tags"]}}, parent, "record", dialect)
        if row["state"] == "pending" and step["state"] != "pending":
            settle(row, step["state"], step["value"], world.now)
    elif step["state"] != "pending" and project(row, world.now)["state"] == "pending":
        promises.settle_pending(world, row, {"state": step["state"], "value": step["value"], "iku": None})
    return row
