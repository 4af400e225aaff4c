"""job.fork: a new job with the recorded steps of another, up to one of them (JOBS 9)."""

from __future__ import annotations

import copy

from . import (
    jobs_children as children,
    jobs_course as course,
    jobs_enqueue,
    jobs_found,
    promises,
)
from .shape import Refused
from .world import INT64_MAX, fulfilled_task, project, settle, target

MOST_COPIED = 10_000
LONGEST_COPY = 1000
POLICY = (
    *("queue", "type", "priority", "oneStep", "workflow", "maxRetries", "retryPolicy", "onExhausted", "timeout", "retention"),
    *("cancelWithAwaiters", "args"),
)
"""The members of a job that a fork has, too, as far as they are set."""


def own_tags(world, row):
    """The tags of a child without those of lineage that its parent gave it; all tags of another row."""
    parent = world.promises.get(children.parent_of(row))
    given = {} if parent is None else children.lineage(parent, row["id"] if begins_branch(row) else None)
    return {name: text for name, text in row["tags"].items() if given.get(name) != text}


def begins_branch(row):
    return row["tags"].get("resonate:branch") == row["id"]


def fork(world, data, dialect):
    row = jobs_found.find(world, data["id"])
    old, new = data["id"], data["newId"]
    if new in world.promises:
        raise Refused(409, f"{new!r} is there")
    made = children.children_of(world, old)
    last = next((one for one in made if one["id"] == data["from"]), None)
    if last is None:
        raise Refused(422, f"{data['from']!r} is no step of job {old!r}")
    earlier = [one for one in made if one["child"]["number"] < last["child"]["number"] and one["id"].startswith(f"{old}:")]
    if len(earlier) > MOST_COPIED:
        raise Refused(422, f"{len(earlier)} steps before {data['from']!r}")
    copies = []
    for one in earlier:
        seen = project(one, world.now)
        if seen["state"] == "pending":
            raise Refused(422, f"step {one['id']!r} is pending")
        copies.append((new + one["id"].removeprefix(old), seen))
        if len(copies[-1][0].encode()) > LONGEST_COPY:
            raise Refused(422, f"the id of a copy has more than {LONGEST_COPY} bytes")
        if copies[-1][0] in world.promises:
            raise Refused(409, f"{copies[-1][0]!r} is there")
    job = insert_job(world, row, new, dialect)
    for copy_id, seen in copies:
        insert_copy(world, copy_id, seen, job, dialect)
    return 200, jobs_enqueue.answer(world, job)


def insert_job(world, row, new_id, dialect):
    """Stores the new job; returns its row."""
    promise = {"id": new_id, "timeoutAt": INT64_MAX, "param": course.payload_of(row), "tags": own_tags(world, row), "ikc": None}
    found = promises.insert(world, copy.deepcopy(promise), dialect)
    found["external"] = True
    found["job"] = copy.deepcopy({name: row["job"][name] for name in POLICY if name in row["job"]})
    found["job"].update(retryCount=0, attempts=[], attemptCount=0, awaiters=[], sentAt=world.now)
    course.make_pending(found["job"], world.now)
    found["task"] = {"state": "pending", "acquisitions": 0, "resumes": [], "retryAt": found["timeoutAt"]}
    if found["state"] != "pending":
        # At the largest instant, nothing can run any more.
        found["job"].pop("enqueuedAt")
        course.follow(found["job"], found["state"], found["settledAt"])
        found["task"] = fulfilled_task(found["task"])
    return found


def insert_copy(world, copy_id, seen, job, dialect):
    """Stores a copy of a settled child (projected), with the lineage of the new job."""
    given = children.lineage(job, copy_id if begins_branch(seen) else None)
    promise = {
        "id": copy_id,
        "timeoutAt": INT64_MAX,
        "param": course.payload_of(seen) if "job" in seen else seen["param"],
        "tags": {**given, **own_tags(world, seen)},
        "ikc": None,
    }
    row = promises.insert(world, copy.deepcopy(promise), dialect)
    row["external"] = True
    if row["state"] == "pending":
        if seen["state"] == "rejected_timedout":
            row["timeoutAt"] = world.now
        settle(row, seen["state"], copy.deepcopy(seen["value"]), world.now)
    if target(row) is not None:
        row["task"] = {"state": "fulfilled", "acquisitions": 0, "resumes": []}
    children.add(row, job, "receive" if seen["child"]["kind"] == "receive" else "record")
