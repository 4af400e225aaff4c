"""job.enqueue and job.enqueue_many: the members of a new job, and when a job is refused (JOBS 2, 4 and 5)."""

from __future__ import annotations

import copy

from . import (
    jobs_cancellation,
    jobs_children as children,
    jobs_course as course,
    jobs_found,
    jobs_groups as groups,
    jobs_waiting,
    promises,
    wire,
)
from .jobs_policy import DAY
from .jobs_queues import jobs_of, queue_row
from .shape import Refused
from .values import same_value
from .world import INT64_MAX, fulfilled_task, id_order, is_timer, later, project

LIFECYCLES = {
    "asynq": {
        "oneStep": True,
        "maxRetries": 25,
        "retryPolicy": {"kind": "asynq"},
        "onExhausted": "archived",
        "retention": 0,
        "cancelWithAwaiters": False,
    },
    "horsies": {
        "oneStep": False,
        "maxRetries": 0,
        "retryPolicy": {"kind": "fixed", "intervals": [0]},
        "onExhausted": "failed",
        "cancelWithAwaiters": True,
    },
    "workflow": {
        "oneStep": True,
        "workflow": True,
        "maxRetries": 100,
        "retryPolicy": {"kind": "fixed", "intervals": [0, 1_000, 10_000, 60_000], "codes": ["WorkerCrashed"]},
        "onExhausted": "failed",
        "retention": 7 * DAY,
        "cancelWithAwaiters": True,
    },
    "default": {
        "oneStep": False,
        "maxRetries": 25,
        "retryPolicy": {"kind": "asynq"},
        "onExhausted": "archived",
        "cancelWithAwaiters": True,
    },
}
DEFAULT_PRIORITY = 50


MOST_LEVELS = 1000
"""The most levels of child jobs below a job without a parent."""


def process_at(world, data):
    """The instant before which a job must not run, or None."""
    return data["processAt"] if data["processIn"] is None else later(world.now, data["processIn"])


def spec_of(world, data):
    """The members that are fixed at enqueue: the request's, else the queue's defaults, else the lifecycle's."""
    queue = world.queues.get(data["queue"], {})
    defaults = queue.get("defaults", {})
    lifecycle = data["lifecycle"] or queue.get("lifecycle", "default")
    preset = LIFECYCLES[lifecycle]
    if lifecycle == "workflow":
        defaults = {name: value for name, value in defaults.items() if name == "priority"}
    names = ("maxRetries", "retryPolicy", "onExhausted", "priority", "timeout", "cancelWithAwaiters")
    own = {name: data[name] for name in names if data[name] is not None}
    if "retention" in data:
        own["retention"] = data["retention"]
    given = {**defaults, **own}
    spec = {"queue": data["queue"], "type": data["type"], "priority": DEFAULT_PRIORITY, **preset, **given}
    if lifecycle == "horsies" and "retryPolicy" not in given:
        spec["maxRetries"] = 0
    elif lifecycle == "horsies" and "maxRetries" not in given:
        policy = given["retryPolicy"]
        spec["maxRetries"] = len(policy["intervals"]) if policy["kind"] == "fixed" else 25
    for name in ("goodUntil", "uniqueKey", "uniqueFor", "group", "after"):
        if data[name] is not None:
            spec[name] = data[name]
    if data["after"] is not None:
        spec["afterFailed"] = data["afterFailed"] or "cancel"
    if data["goodFor"] is not None:
        spec["goodUntil"] = later(max(world.now, process_at(world, data) or 0), data["goodFor"])
    if not spec["cancelWithAwaiters"]:
        # Like a job of an earlier release, which has no such member.
        del spec["cancelWithAwaiters"]
    if spec.get("retention", 0) is None:
        del spec["retention"]
    if spec.get("goodUntil") == INT64_MAX:
        # The largest instant means that the job never expires.
        del spec["goodUntil"]
    return spec


def generated_id(world):
    """An id for a request without one: the next number that no promise has."""
    while True:
        world.generated_jobs += 1
        found = f"job:{world.generated_jobs:016x}"
        if found not in world.promises:
            return found


def same(row, data):
    """Whether a request enqueues this same job again."""
    job = row["job"]
    payload = data["payload"]
    if "adopted" in job and "payload" not in job:
        # The payload is the param of the adopted promise; the request that adopted it had none.
        payload = payload or row["param"]
    if (job["queue"], job["type"]) != (data["queue"], data["type"]):
        return False
    return same_value(course.payload_of(row), payload)


def enqueue_one(world, data):
    """Creates a job, or finds the same job.

    Returns:
        Its stored row.

    Raises:
        Refused: With 409 or 422.
    """
    job_id = data["id"]
    row = world.promises.get(job_id)
    if row is not None and "job" in row:
        if same(row, data):
            return row
        raise Refused(409, f"{job_id!r} is another job")
    if row is not None and ("task" in row or is_timer(row["tags"]) or project(row, world.now)["state"] != "pending"):
        raise Refused(409, f"{job_id!r} is there and cannot become a job")
    if row is not None and data["after"] is not None:
        raise Refused(409, f"{job_id!r} is there, and a job with after adopts no promise")
    if row is not None and data["parent"] is not None:
        raise Refused(409, f"{job_id!r} is there, and a job with a parent adopts no promise")
    parent = None if data["parent"] is None else parent_of(world, data["parent"])
    if data["uniqueKey"] is not None:
        check_key(world, data)
    jobs_waiting.awaited_rows(world, data["after"] or [], data["dialect"])
    data = dict(data, id=generated_id(world) if job_id is None else job_id)
    return insert(world, data, row) if parent is None else insert_child(world, data, parent)


def parent_of(world, named):
    """The stored row of a parent. One that does not exist does not run either.

    Raises:
        Refused: With 409 or 422.
    """
    try:
        row = jobs_found.find_in_state(world, named, "running")
    except Refused as refused:
        raise Refused(409, refused.message) from None
    levels, above = 1, row
    while "child" in above and (above := world.promises.get(above["child"]["parent"])) is not None:
        levels += 1
    if levels > MOST_LEVELS:
        raise Refused(422, f"job {row['id']!r} is {MOST_LEVELS} levels below a job without a parent")
    return row


def insert_child(world, data, parent):
    """Stores a child job; its parent awaits it from the beginning, unless it is settled at once."""
    tags = {**children.lineage(parent, data["id"]), **data["tags"]}
    row = insert(world, {**data, "tags": tags}, None)
    children.add(row, parent, "job")
    if project(row, world.now)["state"] == "pending":
        promises.add_callback(row, parent["id"])
    return row


def check_lifecycle(world, data):
    """Refuses retries without a policy under the lifecycle horsies, and a group under workflow (JOBS 4).

    Raises:
        Refused: With 400.
    """
    queue = world.queues.get(data["queue"], {})
    lifecycle = data["lifecycle"] or queue.get("lifecycle")
    has_policy = data["retryPolicy"] is not None or "retryPolicy" in queue.get("defaults", {})
    if lifecycle == "horsies" and data["maxRetries"] and not has_policy:
        raise Refused(400, "maxRetries without a retryPolicy")
    if lifecycle == "workflow" and data["group"] is not None:
        raise Refused(400, "a group under the lifecycle workflow")


def check_key(world, data):
    """Refuses a job if another job of the queue holds its key."""
    for other in sorted(jobs_of(world, data["queue"]), key=lambda row: id_order(row["id"])):
        seen = project(other, world.now)["job"]
        if seen.get("uniqueKey") == data["uniqueKey"] and course.holds_key(seen, world.now):
            raise Refused(409, f"{data['uniqueKey']!r} is held by {other['id']!r}")


def insert(world, data, row):
    """Stores the job, on a new promise or on the promise that it adopts."""
    spec = spec_of(world, data)
    queue_row(world, data["queue"])
    adopts = row is not None
    if not adopts:
        deadline = INT64_MAX if data["deadline"] is None else data["deadline"]
        # If goodUntil has passed, the promise is created as of goodUntil.
        born = min(world.now, spec.get("goodUntil", world.now))
        promise = {"id": data["id"], "timeoutAt": deadline, "param": data["payload"], "tags": data["tags"], "ikc": None}
        row = promises.insert(world, promise, data["dialect"])
        row["createdAt"] = min(row["createdAt"], born)
    row["external"] = True
    job = dict(spec)
    if adopts and data["payload"]:
        job["payload"] = data["payload"]
    job.update(retryCount=0, attempts=[], attemptCount=0, awaiters=[])
    job["sentAt"] = world.now if data["sentAt"] is None else min(data["sentAt"], world.now)
    if adopts:
        job["adopted"] = True
        jobs_cancellation.forget_cancelled(world, row, job)
    instant = process_at(world, data)
    if instant is not None:
        job["processAt"] = instant
    row["job"] = job
    if instant is not None and instant > world.now:
        job["state"] = "scheduled"
        row["task"] = {"state": "pending", "acquisitions": 0, "resumes": [], "retryAt": instant}
    else:
        course.make_pending(job, world.now)
        row["task"] = {"state": "pending", "acquisitions": 0, "resumes": [], "retryAt": row["timeoutAt"]}
    if row["state"] != "pending":
        # It was created after its deadline, so it is never claimable.
        job.pop("enqueuedAt", None)
        job.pop("processAt", None)
        course.follow(job, row["state"], row["settledAt"])
        row["task"] = fulfilled_task(row["task"])
    elif data["after"] is not None:
        jobs_waiting.begin(world, row, [world.promises[one] for one in data["after"]])
    elif job["state"] == "pending" and "group" in job and course.death(row, world.now) is None:
        groups.join(world, row, world.now)
    return row


def answer(world, row):
    """The record of the job, projected."""
    return {"job": course.record(project(row, world.now))}


def enqueue_asked(world, data, dialect):
    """`enqueue_one` for requests, whose lifecycle is checked first; an occurrence of a schedule cannot be refused for it."""
    check_asked_lifecycle(world, data)
    return enqueue_one(world, dict(data, dialect=dialect))


def check_asked_lifecycle(world, data):
    """`check_lifecycle` unless the job exists, which is answered first."""
    if "job" not in world.promises.get(data["id"], {}):
        check_lifecycle(world, data)


def enqueue(world, data, dialect):
    return 200, answer(world, enqueue_asked(world, data, dialect))


def each(world, items, run, dialect):
    """The outcomes of a batch in which each item succeeds or is refused by itself."""
    outcomes = []
    for one in items:
        try:
            if isinstance(one, Refused):
                raise one
            outcomes.append({"status": 200, **run(one)})
        except Refused as refused:
            outcomes.append({"status": wire.status(refused.status, dialect), "error": refused.message})
    return 200, {"jobs": outcomes}


def refuse_any(world, items, dialect):
    """Enqueues the items on a copy, to see whether one is refused.

    Raises:
        Refused: With the status of the first item that is refused, and its place.
    """
    scratch = copy.deepcopy(world)
    ids, keys = set(), set()
    for place, one in enumerate(items):
        try:
            if isinstance(one, Refused):
                raise one
            check_asked_lifecycle(world, one)
            if one["id"] in ids:
                raise Refused(409, f"id {one['id']!r} comes twice")
            if "job" not in world.promises.get(one["id"], {}):
                check_keys_differ(one, keys)
            enqueue_one(scratch, dict(one, dialect=dialect))
        except Refused as refused:
            raise Refused(refused.status, f"jobs[{place}]: {refused.message}") from None
        ids |= {one["id"]} - {None}
        keys.add((one["queue"], one["uniqueKey"]))


def check_keys_differ(one, keys):
    if one["uniqueKey"] is not None and (one["queue"], one["uniqueKey"]) in keys:
        raise Refused(409, f"uniqueKey {one['uniqueKey']!r} of queue {one['queue']!r} comes twice")


def enqueue_many(world, data, dialect):
    if data["atomic"]:
        refuse_any(world, data["jobs"], dialect)
    return each(world, data["jobs"], lambda one: answer(world, enqueue_asked(world, one, dialect)), dialect)
