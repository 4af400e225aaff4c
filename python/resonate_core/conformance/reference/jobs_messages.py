"""Messages to a job: job.send leaves one for a topic, job.receive takes the oldest (JOBS 9).

The tag ``resonate:topic`` of a message and of a receive has the topic. The job's row has ``unread``, how many messages no receive has
taken, and ``sent``, the last number that was the key of a message.
"""

from __future__ import annotations

from . import (
    jobs_children as children,
    jobs_course as course,
    jobs_found,
    jobs_record as records,
    promises,
)
from .shape import Refused
from .world import INT64_MAX, project, settle

MOST_UNREAD = 1000
TOPIC = "resonate:topic"


def send(world, data, dialect):
    row = jobs_found.find(world, data["id"])
    number = None if data["key"] is not None else next_number(world, row, data["topic"])
    message_id = id_of(row, data["topic"], f"#{number}" if data["key"] is None else data["key"])
    found = world.promises.get(message_id)
    if found is not None and not is_message(found, row):
        raise Refused(409, f"{message_id!r} is no message of job {data['id']!r}")
    if found is None:
        state = project(row, world.now)["job"]["state"]
        if state in course.TERMINAL:
            raise Refused(409, f"job {data['id']!r} is {state}")
        waits = first_receive(world, data["id"], data["topic"]) is not None
        if row["job"].get("unread", 0) >= MOST_UNREAD and not waits:
            raise Refused(422, f"{MOST_UNREAD} messages of job {data['id']!r} are unread")
        found = leave(world, row, message_id, data, dialect)
        if number is not None:
            row["job"]["sent"] = number
    return 200, promises.answer(world, found, dialect)


def id_of(row, topic, key):
    return f"{row['id']}:@{topic}:{key}"


def is_message(found, row):
    """Whether a promise is a message of this job."""
    return children.parent_of(found) == row["id"] and found["child"]["kind"] == "message"


def next_number(world, row, topic):
    """The number of the next message without a key; a number whose id something else has is passed over."""
    number = row["job"].get("sent", 0) + 1
    while id_of(row, topic, f"#{number}") in world.promises:
        number += 1
    return number


def leave(world, row, message_id, data, dialect):
    """Stores a new message, and delivers it if a receive waits for it; returns its row."""
    tags = {**children.lineage(row), TOPIC: data["topic"]}
    created = {"id": message_id, "timeoutAt": INT64_MAX, "param": {}, "tags": tags, "ikc": None}
    message = promises.insert(world, created, dialect)
    message["external"] = True
    children.mark(message, row, "message")
    settle(message, "resolved", data["value"], world.now)
    waiting = first_receive(world, row["id"], data["topic"])
    if waiting is not None:
        promises.settle_pending(world, waiting, {"state": "resolved", "value": dict(data["value"]), "iku": None})
    else:
        message["child"]["unread"] = True
        children.count(row["job"], "unread", 1)
    return message


def first_receive(world, job_id, topic):
    """The oldest receive of the topic that is pending now, or None."""
    for child in children.children_of(world, job_id):
        is_receive = child["child"]["kind"] == "receive" and child["tags"][TOPIC] == topic
        if is_receive and project(child, world.now)["state"] == "pending":
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
    tags = {**children.lineage(parent), TOPIC: data["topic"]}
    message = next((one for one in children.below(world, data["id"]) if is_unread(one, data["topic"])), None)
    # A receive that would not wait at all still takes a message that is there.
    timeout = None if message is not None and data["timeoutIn"] == 0 else data["timeoutIn"]
    timeout_at = records.deadline_in(world, timeout)
    created = {"id": data["step"], "timeoutAt": timeout_at, "param": {}, "tags": tags, "ikc": None}
    row = records.insert(world, created, parent, "receive", dialect)
    if message is not None:
        settle(row, "resolved", dict(message["value"]), world.now)
        del message["child"]["unread"]
        children.count(parent["job"], "unread", -1)
    return row


def is_unread(row, topic):
    return "unread" in row["child"] and row["tags"][TOPIC] == topic
