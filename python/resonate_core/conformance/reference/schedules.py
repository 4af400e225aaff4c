"""Requests on schedules, and the promise or job that an occurrence creates (PROTOCOL 3.18 and 4, JOBS 5)."""

from __future__ import annotations

import re

from . import cron, jobs_enqueue, jobs_validation, promises, wire
from .shape import Refused
from .world import INT64_MAX, born_external, dispatch_instant, later, settle, target, verdict


def find(world, schedule_id):
    """The stored row.

    Raises:
        Refused: With 404.
    """
    if schedule_id not in world.schedules:
        raise Refused(404, f"no schedule {schedule_id!r}")
    return world.schedules[schedule_id]


def next_run(row, instant):
    """The next occurrence; after the end of the calendar, the largest instant, which is never reached."""
    found = cron.next_after(row["cron"], instant)
    return INT64_MAX if found is None else found


def get(world, data, dialect):
    return 200, {"schedule": wire.schedule(find(world, data["id"]), dialect)}


def create(world, data, dialect):
    if data["id"] not in world.schedules:
        row = dict(data, createdAt=world.now, dialect=dialect)
        row["nextRunAt"] = next_run(row, world.now)
        if row["nextRunAt"] == INT64_MAX:
            raise Refused(400, f"cron {row['cron']!r} never fires after {world.now}")
        if "job" in row:
            job = {"queue": "default", "lifecycle": None, "maxRetries": None, "retryPolicy": None, "group": None, **row["job"]}
            jobs_enqueue.check_lifecycle(world, job)
        world.schedules[data["id"]] = row
    return 200, {"schedule": wire.schedule(world.schedules[data["id"]], dialect)}


def delete(world, data, dialect):
    find(world, data["id"])
    del world.schedules[data["id"]]
    return 200, {}


def pause(world, data, dialect):
    row = find(world, data["id"])
    row["paused"] = True
    return 200, {"schedule": wire.schedule(row, dialect)}


def resume(world, data, dialect):
    row = find(world, data["id"])
    if row.pop("paused", False):
        row["nextRunAt"] = next_run(row, world.now)
    return 200, {"schedule": wire.schedule(row, dialect)}


def search(world, data, dialect):
    rows = [row for row in world.schedules.values() if promises.carries(row["promiseTags"], data["tags"])]
    rows, more = promises.page(rows, data)
    return 200, {"schedules": [wire.schedule(row, dialect) for row in rows], **more}


def promise_id(row, occurrence):
    """The id from the template, whose two names are replaced in one pass."""
    names = {"{{.id}}": row["id"], "{{.timestamp}}": str(occurrence)}
    return re.sub(r"\{\{\.(id|timestamp)\}\}", lambda found: names[found.group()], row["promiseId"])


def occur(world, row, occurrence):
    """Creates the promise or the job of one occurrence, as of its instant.

    Returns:
        Its id, and whether it was created.
    """
    new_id = promise_id(row, occurrence)
    if new_id in world.promises:
        return new_id, False
    tags = dict(row["promiseTags"])
    if not world.literal:
        tags["resonate:schedule"] = row["id"]
        for name in ("origin", "branch", "parent", "prefix"):
            tags.setdefault(f"resonate:{name}", new_id)
    if "job" in row:
        return new_id, enqueue(world, row, new_id, tags, occurrence)
    promise = {
        "id": new_id,
        "state": "pending",
        "param": row["promiseParam"],
        "value": {},
        "tags": tags,
        "timeoutAt": later(occurrence, row["promiseTimeout"]),
        "createdAt": occurrence,
        "dialect": row["dialect"],
        "external": born_external(tags, row["dialect"]),
        "callbacks": [],
        "listeners": [],
    }
    if target(promise) is not None:
        promise["task"] = {"state": "pending", "acquisitions": 0, "resumes": []}
        promise["task"]["retryAt"] = dispatch_instant(promise, occurrence)
    if promise["timeoutAt"] == occurrence:
        settle(promise, verdict(tags), {}, occurrence)
    world.promises[new_id] = promise
    return new_id, True


def enqueue(world, row, job_id, tags, occurrence):
    """Enqueues a job as job.enqueue does, at the instant of the occurrence.

    Returns:
        Whether a job was created; none is if another job holds its unique key.
    """
    its_own = {
        "id": job_id,
        "payload": row["promiseParam"],
        "tags": tags,
        "deadline": later(occurrence, row["promiseTimeout"]),
        "sentAt": occurrence,
    }
    order = jobs_validation.enqueue({**row["job"], **its_own}, row["dialect"], world.strict(row["dialect"]))
    now, world.now = world.now, occurrence
    try:
        jobs_enqueue.enqueue_one(world, dict(order, dialect=row["dialect"]))
    except Refused:
        return False
    finally:
        world.now = now
    return True
