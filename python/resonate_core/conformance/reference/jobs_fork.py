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
POLICY = (
    *("queue", "type", "priority", "oneStep", "workflow", "maxRetries", "retryPolicy", "onExhausted", "timeout", "retention"),
    *("cancelWithAwaiters", "args"),
)
"""The members of a job that a fork has, too, as far as they are set."""
LINEAGE = ("origin", "prefix", "parent", "branch")


def renamed(text, old, new):
    """An id below the old job as an id below the new one."""
    return new + text[len(old) :] if text == old or text.startswith(f"{old}:") else text


def copied_tags(tags, old, new):
    names = [f"resonate:{name}" for name in LINEAGE]
    return {name: renamed(text, old, new) if name in names else text for name, text in tags.items()}


def fork(world, data, dialect):
    row = jobs_found.find(world, data["id"])
    old, new = data["id"], data["newId"]
    if new in world.promises:
        raise Refused(409, f"{new!r} is there")
    made = children.children_of(world, old)
    last = next((one for one in made if one["id"] == data["from"]), None)
    if last is None:
        raise Refused(422, f"{data['from']!r} is no step of job {old!r}")
    seen = [project(one, world.now) for one in made if one["child"]["number"] < last["child"]["number"]]
    if len(seen) > MOST_COPIED:
        raise Refused(422, f"{len(seen)} steps before {data['from']!r}")
    for one in seen:
        if one["state"] == "pending":
            raise Refused(422, f"step {one['id']!r} is pending")
    copied = [one for one in seen if one["id"].startswith(f"{old}:")]
    for one in copied:
        if renamed(one["id"], old, new) in world.promises:
            raise Refused(409, f"{renamed(one['id'], old, new)!r} is there")
    job = insert_job(world, row, new, dialect)
    for one in copied:
        insert_copy(world, one, job, old)
    return 200, jobs_enqueue.answer(world, job)


def own_tags(world, row):
    """The tags of a job without those of lineage that its parent gave it."""
    parent = world.promises.get(children.parent_of(row))
    given = {} if parent is None else children.lineage(parent, row["id"])
    return {name: text for name, text in row["tags"].items() if given.get(name) != text}


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


def insert_copy(world, seen, job, old):
    """Stores a copy of a settled child (projected)."""
    promise = {
        "id": renamed(seen["id"], old, job["id"]),
        "timeoutAt": INT64_MAX,
        "param": seen["param"],
        "tags": copied_tags(seen["tags"], old, job["id"]),
        "ikc": None,
    }
    row = promises.insert(world, copy.deepcopy(promise), seen["dialect"])
    row["external"] = True
    if row["state"] == "pending":
        if seen["state"] == "rejected_timedout":
            row["timeoutAt"] = world.now
        settle(row, seen["state"], copy.deepcopy(seen["value"]), world.now)
    if target(row) is not None:
        row["task"] = {"state": "fulfilled", "acquisitions": 0, "resumes": []}
    children.add(row, job, "record")
