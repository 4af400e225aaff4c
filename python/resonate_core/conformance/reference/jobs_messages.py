"""Messages to a job: job.send leaves one for a topic, job.receive takes the oldest (JOBS 9).

The row of a receive has ``receives``, its topic.
"""

from __future__ import annotations

from . import (
    jobs_children as children,
    jobs_course as course,
    jobs_found,
    jobs_mailbox as mailbox,
    jobs_record as records,
    promises,
)
from .shape import Refused
from .world import INT64_MAX, project, settle

MOST_UNREAD = 1000


def send(world, data, dialect):
    row = jobs_found.find(world, data["id"])
    keyless = data["key"] is None
    key = f"#{row['job'].get('keyless', 0) + 1}" if keyless else data["key"]
    message_id = f"{data['id']}:@{data['topic']}:{key}"
    found = world.promises.get(message_id)
    if found is not None and found.get("message", {}).get("job") != data["id"]:
        raise Refused(409, f"{message_id!r} is no message of job {data['id']!r}")
    if found is None:
        state = project(row, world.now)["job"]["state"]
        if state in course.TERMINAL:
            raise Refused(409, f"job {data['id']!r} is {state}")
        if len(mailbox.unread(world, data["id"])) >= MOST_UNREAD:
            raise Refused(422, f"{MOST_UNREAD} messages of job {data['id']!r} are unread")
        found = leave(world, row, message_id, data, keyless, dialect)
    return 200, promises.answer(world, found, dialect)


def leave(world, row, message_id, data, keyless, dialect):
    """Stores a new message, and delivers it if a receive waits for it; returns its row."""
    job = row["job"]
    job["messages"] = job.get("messages", 0) + 1
    job["sent"] = job.get("sent", 0) + 1
    if keyless:
        job["keyless"] = job.get("keyless", 0) + 1
    created = {"id": message_id, "timeoutAt": INT64_MAX, "param": {}, "tags": {}, "ikc": None}
    message = promises.insert(world, created, dialect)
    message["external"] = True
    message["message"] = {"job": row["id"], "topic": data["topic"], "number": job["sent"]}
    settle(message, "resolved", data["value"], world.now)
    waiting = first_receive(world, row["id"], data["topic"])
    if waiting is not None:
        promises.settle_pending(world, waiting, {"state": "resolved", "value": dict(data["value"]), "iku": None})
        message["message"]["read"] = True
    return message


def first_receive(world, job_id, topic):
    """The oldest receive of the topic that is pending now, or None."""
    for child in children.children_of(world, job_id):
        if child.get("receives") == topic and project(child, world.now)["state"] == "pending":
            return child
    return None


def receive(world, data, dialect):
    parent = jobs_found.find_in_state(world, data, "running")
    children.check(world, data["step"], parent)
    row = world.promises.get(data["step"])
    if row is None:
        row = wait_for_message(world, data, parent, dialect)
    return 200, promises.answer(world, row, dialect)


def wait_for_message(world, data, parent, dialect):
    """Stores a new receive, which takes the oldest unread message of its topic; returns its row."""
    message = next((one for one in mailbox.unread(world, data["id"]) if one["message"]["topic"] == data["topic"]), None)
    # With a message, the deadline does not matter: a receive that would not wait at all still finds it.
    timeout_at = INT64_MAX if message is not None and data["timeoutIn"] == 0 else records.deadline_in(world, data["timeoutIn"])
    tags = {**children.lineage(parent), "resonate:topic": data["topic"]}
    created = {"id": data["step"], "timeoutAt": timeout_at, "param": {}, "tags": tags, "ikc": None}
    row = records.insert(world, created, parent, dialect)
    row["receives"] = data["topic"]
    if message is not None:
        settle(row, "resolved", dict(message["value"]), world.now)
        message["message"]["read"] = True
    return row
