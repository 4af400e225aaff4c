"""The checks of the requests on records, messages and children of a job that need neither state nor clock (JOBS 9); they refuse with 400."""

from __future__ import annotations

import re

from . import tag_rules
from .jobs_validation import MOST_FOUND, Reading, read_versioned
from .shape import Refused, listing, optional_text, string_map, value_of
from .world import INT64_MAX

MOST_STEPS = 1000
STEP_STATES = ("pending", "resolved", "rejected", "rejected_canceled")
CURSOR = re.compile("([0-9]+):(.+)", re.DOTALL)


def step_id(reading, name, job_id):
    """The id of a step, which begins with the job's id and a colon; in the ids of messages, an @ follows."""
    found = reading.named(name)
    reading.rule(found.startswith(f"{job_id}:"), f"{found!r} does not begin with {job_id!r} and a colon")
    reading.rule(not found.startswith(f"{job_id}:@"), f"{found!r} is of messages")
    return found


def topic(reading):
    found = reading.named("topic")
    reading.rule(":" not in found, f"topic is {found!r}")
    return found


def read_step(reading, job_id, dialect, strict):
    found = {
        "id": step_id(reading, "id", job_id),
        "state": reading.choice("state", STEP_STATES) or "pending",
        "value": value_of(reading.data, "value"),
        "param": value_of(reading.data, "param"),
        "tags": string_map(reading.data, "tags"),
        "timeoutIn": reading.optional_number("timeoutIn", 0),
    }
    reading.rule(found["state"] != "pending" or not found["value"], f"a value of the pending step {found['id']!r}")
    reading.rule("resonate:delay" not in found["tags"], "a step has no delay")
    try:
        tag_rules.check_target(found["tags"], dialect, strict)
    except Refused as refused:
        reading.rule(False, refused.message)
    return found


def record(data, dialect, strict):
    reading = Reading(data)
    found = {**read_versioned(reading), "steps": []}
    for one in listing(data, "steps"):
        if not isinstance(one, dict):
            raise Refused(400, f"a step is {one!r}, an object is needed")
        found["steps"].append(read_step(Reading(one, reading.broken), found["id"], dialect, strict))
    reading.rule(len(found["steps"]) <= MOST_STEPS, f"{len(found['steps'])} steps")
    return reading.checked(found)


def receive(data, dialect, strict):
    reading = Reading(data)
    found = read_versioned(reading)
    found["step"] = step_id(reading, "step", found["id"])
    found["topic"] = topic(reading)
    found["timeoutIn"] = reading.optional_number("timeoutIn", 0)
    return reading.checked(found)


def send(data, dialect, strict):
    reading = Reading(data)
    found = {
        "id": reading.named("id"),
        "topic": topic(reading),
        "value": value_of(data, "value"),
        "key": reading.optional_name("key"),
    }
    reading.rule(found["key"] is None or not found["key"].startswith("#"), f"key is {found['key']!r}")
    return reading.checked(found)


def cursor_of(reading):
    """The place after which a page of a history begins, or None."""
    given = optional_text(reading.data, "cursor")
    if not given:
        return None
    found = CURSOR.fullmatch(given)
    if found is None or int(found[1]) > INT64_MAX or "\0" in given:
        reading.rule(False, f"cursor is {given!r}")
        return None
    return int(found[1]), found[2]


def history(data, dialect, strict):
    reading = Reading(data)
    found = {"id": reading.named("id"), "limit": reading.optional_number("limit", 1, MOST_FOUND, 100), "cursor": cursor_of(reading)}
    return reading.checked(found)


def start_over(data, dialect, strict):
    reading = Reading(data)
    return reading.checked({**read_versioned(reading), "args": value_of(data, "args")})


def fork(data, dialect, strict):
    reading = Reading(data)
    return reading.checked({name: reading.named(name) for name in ("id", "from", "newId")})


READERS = {
    "job.record": record,
    "job.receive": receive,
    "job.send": send,
    "job.history": history,
    "job.start_over": start_over,
    "job.fork": fork,
}
