"""Requests of a worker on the jobs that it holds (JOBS 3): start, heartbeat, complete, fail, release, snooze, suspend, report."""

from __future__ import annotations

from . import jobs_claim, jobs_course as course, jobs_enqueue, jobs_moves as moves, jobs_queues as queues, jobs_waiting
from .jobs_found import find_in_state
from .shape import Refused
from .world import later, project, settle


def start_one(world, data, lease):
    row = find_in_state(world, data, "claimed")
    task = row["task"]
    task["ttl"] = task["lastTtl"] = row["job"]["runLease"] if lease is None else lease
    task["expiresAt"] = later(world.now, task["ttl"])
    jobs_claim.run(world, row)
    return jobs_enqueue.answer(world, row)


def start(world, data, dialect):
    return 200, start_one(world, data, data["lease"])


def start_many(world, data, dialect):
    return jobs_enqueue.each(world, data["jobs"], lambda one: start_one(world, one, data["lease"]), dialect)


def heartbeat(world, data, dialect):
    found = {"cancelled": [], "lost": []}
    for one in data["jobs"]:
        row = world.promises.get(one["id"])
        if row is None or "job" not in row:
            found["lost"].append(one["id"])
            continue
        seen = project(row, world.now)
        if seen["job"]["state"] == "cancelled":
            found["cancelled"].append(one["id"])
        elif (
            seen["job"]["state"] in course.HELD
            and seen["task"]["pid"] == data["worker"]
            and seen["task"]["acquisitions"] == one["version"]
        ):
            row["task"]["expiresAt"] = later(world.now, row["task"]["ttl"])
        else:
            found["lost"].append(one["id"])
    return 200, found


def complete_one(world, data):
    row = find_in_state(world, data, "running")
    course.end(row["job"], "completed", "completedAt", world.now, outcome="completed")
    settle(row, "resolved", data["result"], world.now)
    queues.count_attempt(world, row["job"], "completed", world.now)
    return jobs_enqueue.answer(world, row)


def complete(world, data, dialect):
    return 200, complete_one(world, data)


def complete_many(world, data, dialect):
    return jobs_enqueue.each(world, data["jobs"], lambda one: complete_one(world, one), dialect)


def fail(world, data, dialect):
    row = find_in_state(world, data, "running")
    moves.fail_attempt(world, row, data["error"], "failed", data["retryable"], data["retryAfter"], data["archive"])
    return 200, jobs_enqueue.answer(world, row)


def release(world, data, dialect):
    row = find_in_state(world, data, "claimed")
    moves.release_claim(row)
    return 200, jobs_enqueue.answer(world, row)


def snooze(world, data, dialect):
    row = find_in_state(world, data, "running")
    course.close_attempt(row["job"], "snoozed", world.now)
    process_at = later(world.now, data["delay"])
    moves.wait(row, "scheduled", process_at, processAt=process_at)
    return 200, jobs_enqueue.answer(world, row)


def suspend(world, data, dialect):
    row = find_in_state(world, data, "running")
    if "batch" in row["job"]:
        raise Refused(400, f"job {data['id']!r} is of a batch and cannot wait")
    rows = jobs_waiting.awaited_rows(world, data["awaits"], dialect)
    if jobs_waiting.need_not_wait(world, rows, data["until"]):
        return 300, jobs_enqueue.answer(world, row)
    jobs_waiting.suspend(world, row, rows, data["until"])
    return 200, jobs_enqueue.answer(world, row)


def report(world, data, dialect):
    row = find_in_state(world, data, "running")
    course.add_report(row["job"], data["progress"], data["lines"], world.now)
    return 200, jobs_enqueue.answer(world, row)
