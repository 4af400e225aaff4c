"""job.record: a running job records the steps of its function (JOBS 9)."""

from __future__ import annotations

from . import jobs_children as children, jobs_found, promises, tag_rules, wire
from .world import INT64_MAX, later, project, settle


def deadline_in(world, timeout_in):
    """The deadline of a step, from the time until then; without it, the step has none."""
    return INT64_MAX if timeout_in is None else later(world.now, timeout_in)


def insert(world, step, parent, dialect):
    """Stores a new child that is no job; it is external, and settled at once if its deadline has passed."""
    row = promises.insert_with_task(world, step, dialect)
    row["external"] = True
    children.add(row, parent)
    return row


def record(world, data, dialect):
    steps = [{**step, "timeoutAt": deadline_in(world, step["timeoutIn"]), "ikc": None} for step in data["steps"]]
    for step in steps:
        # Not one of the checks before: the rule on delays needs the deadline, and so the clock.
        tag_rules.check_promise(step["tags"], step["timeoutAt"], dialect, world.strict(dialect))
    parent = jobs_found.find_in_state(world, data, "running")
    for step in steps:
        children.check(world, step["id"], parent)
    rows = [take(world, step, parent, dialect) for step in steps]
    return 200, {"promises": [wire.promise(project(row, world.now), dialect) for row in rows]}


def take(world, step, parent, dialect):
    """Creates or settles the promise of a step, or finds it as it is; returns its row."""
    row = world.promises.get(step["id"])
    if row is None:
        row = insert(world, {**step, "tags": {**children.lineage(parent), **step["tags"]}}, parent, dialect)
        if row["state"] == "pending" and step["state"] != "pending":
            settle(row, step["state"], step["value"], world.now)
    elif step["state"] != "pending" and project(row, world.now)["state"] == "pending":
        promises.settle_pending(world, row, {"state": step["state"], "value": step["value"], "iku": None})
    return row
