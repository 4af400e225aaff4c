"""The checks of requests on jobs and queues that need neither state nor clock (JOBS 5); they refuse with 400."""

from __future__ import annotations

from . import tag_rules
from .jobs_course import STATES
from .jobs_groups import DEFAULTS as GROUPS
from .jobs_policy import DAY
from .shape import Refused, integer, listing, mapping, optional_text, string_map, text, value_of
from .world import INT64_MAX, is_timer

MOST_JOBS = MOST_AWAITED = 10_000
MOST_GATHERED = 1000
MOST_QUEUES = MOST_WEIGHT = MOST_FOUND = 1000
MOST_TOKENS = 1_000_000
MOST_FACTOR = 1000
LONGEST_PER = 366 * DAY
MOST_INTERVALS = MOST_PRIORITY = 100
ON_EXHAUSTED = ("archived", "failed")
MOST_LINES, LINE_BYTES = 100, 1000
LIFECYCLES = ("asynq", "horsies", "workflow")
AFTER_FAILED = ("cancel", "run")
UNTIL = ("any", "all")
RUNNABLE = ("scheduled", "waiting", "retry", "archived")
ARCHIVABLE = ("scheduled", "waiting", "pending", "retry")
DELETABLE = tuple(state for state in STATES if state not in ("claimed", "running"))


class Reading:
    """Reads the members of one object. A wrong type is refused at once; a broken rule is remembered until the end.

    The difference matters in a batch: an item that breaks a rule is refused by itself, a wrong type refuses the whole batch.
    """

    def __init__(self, data, broken=None):
        self.data = data
        self.broken = [] if broken is None else broken

    def rule(self, holds, message):
        if not holds:
            self.broken.append(message)

    def checked(self, found):
        """Returns what was read.

        Raises:
            Refused: With 400 for the first rule that was broken.
        """
        if self.broken:
            raise Refused(400, self.broken[0])
        return found

    def has(self, name):
        return self.data.get(name) is not None

    def named(self, name):
        """A required string that is not empty and has no NUL."""
        found = text(self.data, name)
        self.rule(found != "" and "\0" not in found, f"{name} is {found!r}")
        return found

    def optional_name(self, name):
        return self.named(name) if self.has(name) else None

    def number(self, name, low, high=INT64_MAX):
        """A required integer in a range."""
        found = integer(self.data, name)
        self.rule(low <= found <= high, f"{name} is {found}, not of {low} to {high}")
        return found

    def optional_number(self, name, low, high=INT64_MAX, default=None):
        return self.number(name, low, high) if self.has(name) else default

    def choice(self, name, choices):
        found = optional_text(self.data, name)
        self.rule(found is None or found in choices, f"{name} is {found!r}, none of {choices}")
        return found

    def flag(self, name, default):
        found = self.data.get(name, default)
        if not isinstance(default if found is None else found, bool):
            raise Refused(400, f"{name} is {found!r}, true or false is needed")
        return default if found is None else found

    def optional_flag(self, name):
        return self.flag(name, False) if self.has(name) else None

    def real(self, name, low, high, default):
        """A number in a range, not necessarily an integer. An integer is within int64, as everywhere."""
        found = self.data.get(name)
        if found is None:
            return default
        if type(found) is not float:
            found = integer(self.data, name)
        self.rule(low <= found <= high, f"{name} is {found}, not of {low} to {high}")
        return found

    def items(self, name, most):
        """A list that is neither empty nor too long."""
        found = listing(self.data, name)
        self.rule(1 <= len(found) <= most, f"{name} has {len(found)} items, not 1 to {most}")
        return found

    def awaited(self, name, own_id):
        """The ids of promises for which a job is to wait, without repetitions."""
        found = [Reading({"id": one}, self.broken).named("id") for one in self.items(name, MOST_AWAITED)]
        self.rule(own_id not in found, f"{own_id!r} would wait for itself")
        return list(dict.fromkeys(found))

    def part(self, name):
        """A member that is an object."""
        return Reading(mapping(self.data, name), self.broken)

    def retention(self, found):
        """Copies the retention of a completed job, if it is given: a number, or null (forever)."""
        if "retention" in self.data:
            found["retention"] = self.optional_number("retention", 0)

    def policy(self, name):
        """A retry policy with its defaults filled in, or None."""
        if not self.has(name):
            return None
        given = self.part(name)
        found = {"kind": text(given.data, "kind")}
        if found["kind"] == "fixed":
            found["intervals"] = [
                Reading({"interval": one}, self.broken).number("interval", 0) for one in given.items("intervals", MOST_INTERVALS)
            ]
        elif found["kind"] == "exponential":
            found["base"] = given.number("base", 1)
            found["factor"] = given.real("factor", 1, MOST_FACTOR, 2)
            found["cap"] = given.optional_number("cap", 1, default=DAY)
            found["jitter"] = given.real("jitter", 0, 1, 0)
            self.rule(found["base"] <= found["cap"], f"cap {found['cap']} is below base {found['base']}")
        elif found["kind"] != "asynq":
            # The other members depend on the kind, so an unknown kind is a wrong shape, not a broken rule.
            raise Refused(400, f"{name} is of kind {found['kind']!r}")
        if given.has("codes"):
            found["codes"] = [Reading({"code": one}, self.broken).named("code") for one in listing(given.data, "codes")]
        return found


# ---- requests of jobs


def read_enqueue(reading, dialect, strict):
    """The members by name; a member that is not given is None, except ``retention``, which is then absent."""
    found = {
        "id": reading.optional_name("id"),
        "queue": reading.optional_name("queue") or "default",
        "type": reading.named("type"),
        "payload": value_of(reading.data, "payload"),
        "tags": string_map(reading.data, "tags"),
        "priority": reading.optional_number("priority", 1, MOST_PRIORITY),
        "processAt": reading.optional_number("processAt", 0),
        "processIn": reading.optional_number("processIn", 0),
        "goodUntil": reading.optional_number("goodUntil", 0),
        "goodFor": reading.optional_number("goodFor", 1),
        "timeout": reading.optional_number("timeout", 1),
        "deadline": reading.optional_number("deadline", 0),
        "maxRetries": reading.optional_number("maxRetries", 0),
        "retryPolicy": reading.policy("retryPolicy"),
        "onExhausted": reading.choice("onExhausted", ON_EXHAUSTED),
        "lifecycle": reading.choice("lifecycle", LIFECYCLES),
        "uniqueKey": reading.optional_name("uniqueKey"),
        "uniqueFor": reading.optional_number("uniqueFor", 1),
        "group": reading.optional_name("group"),
        "cancelWithAwaiters": reading.optional_flag("cancelWithAwaiters"),
        "sentAt": reading.optional_number("sentAt", 0),
    }
    found["after"] = reading.awaited("after", found["id"]) if reading.has("after") else None
    found["afterFailed"] = reading.choice("afterFailed", AFTER_FAILED)
    found["parent"] = read_versioned(reading.part("parent")) if reading.has("parent") else None
    reading.retention(found)
    reading.rule(found["after"] is None or found["group"] is None, "after and group")
    reading.rule(found["parent"] is None or found["parent"]["id"] != found["id"], "a job is no parent of itself")
    reading.rule(found["afterFailed"] is None or found["after"] is not None, "afterFailed without after")
    reading.rule(found["processAt"] is None or found["processIn"] is None, "processAt and processIn")
    reading.rule(found["goodUntil"] is None or found["goodFor"] is None, "goodUntil and goodFor")
    reading.rule(found["uniqueFor"] is None or found["uniqueKey"] is not None, "uniqueFor without uniqueKey")
    reading.rule(not is_timer(found["tags"]), "a job is no timer")
    reading.rule("resonate:delay" not in found["tags"], "a job has processAt, no delay")
    try:
        tag_rules.check_target(found["tags"], dialect, strict)
    except Refused as refused:
        reading.rule(False, refused.message)
    return found


OF_THE_SCHEDULE = ("id", "payload", "tags", "deadline", "processAt", "goodUntil", "sentAt", "after", "afterFailed", "parent")
"""Members of job.enqueue that a schedule's job must not have: they follow from the schedule or its occurrence."""


def template(data, promise_tags, dialect, strict):
    """The job of a schedule: its given members."""
    reading = Reading(data)
    read = read_enqueue(reading, dialect, strict)
    for name in OF_THE_SCHEDULE:
        # Empty tags and an empty payload count as absent.
        reading.rule(read[name] in (None, {}), f"the job of a schedule has no {name}")
    reading.rule(not is_timer(promise_tags), "a job is no timer")
    given = {name: value for name, value in read.items() if value is not None or name == "retention"}
    return reading.checked({name: value for name, value in given.items() if name not in OF_THE_SCHEDULE})


def read_complete(reading, dialect, strict):
    return {**read_versioned(reading), "result": value_of(reading.data, "result")}


def read_versioned(reading, *_):
    return {"id": reading.named("id"), "version": reading.number("version", 0)}


def single(read_one):
    """A reader of a request with one object."""

    def read_data(data, dialect, strict):
        reading = Reading(data)
        return reading.checked(read_one(reading, dialect, strict))

    return read_data


def many(read_one, alone=False):
    """A reader of a batch. With `alone`, an item that breaks a rule is refused by itself: its refusal replaces it."""

    def read_data(data, dialect, strict):
        whole = Reading(data)
        found = []
        for one in whole.items("jobs", MOST_JOBS):
            if not isinstance(one, dict):
                raise Refused(400, f"a job is {one!r}, an object is needed")
            reading = Reading(one)
            read = read_one(reading, dialect, strict)
            if not alone:
                reading.checked(read)
            found.append(Refused(400, reading.broken[0]) if reading.broken else read)
        return whole.checked({"jobs": found})

    return read_data


enqueue = single(read_enqueue)


def enqueue_many(data, dialect, strict):
    return {**many(read_enqueue, alone=True)(data, dialect, strict), "atomic": Reading(data).flag("atomic", False)}


complete, complete_many = single(read_complete), many(read_complete)
versioned = single(read_versioned)


def start_many(data, dialect, strict):
    whole = Reading(data)
    return whole.checked({**many(read_versioned)(data, dialect, strict), "lease": whole.optional_number("lease", 1)})


def by_id(data, dialect, strict):
    reading = Reading(data)
    return reading.checked({"id": reading.named("id")})


def claim(data, dialect, strict):
    reading = Reading(data)
    queues = []
    for one in reading.items("queues", MOST_QUEUES):
        one = {"name": one} if isinstance(one, str) else one
        if not isinstance(one, dict):
            raise Refused(400, f"a queue is {one!r}")
        each = Reading(one, reading.broken)
        queues.append({"name": each.named("name"), "weight": each.optional_number("weight", 1, MOST_WEIGHT)})
    reading.rule(len({one["name"] for one in queues}) == len(queues), "a queue is named twice")
    found = {
        "queues": queues,
        "count": reading.optional_number("count", 1, MOST_JOBS, 1),
        "worker": reading.named("worker"),
        "lease": reading.number("lease", 1),
        "runLease": reading.optional_number("runLease", 1),
        "strict": reading.flag("strict", False),
        "start": reading.optional_number("start", 0, default=0),
    }
    return reading.checked(found)


def start(data, dialect, strict):
    reading = Reading(data)
    return reading.checked({**read_versioned(reading), "lease": reading.optional_number("lease", 1)})


def heartbeat(data, dialect, strict):
    reading = Reading(data)
    found = {"worker": reading.named("worker"), "jobs": []}
    for one in listing(data, "jobs"):
        if not isinstance(one, dict):
            raise Refused(400, f"a job is {one!r}")
        found["jobs"].append(read_versioned(Reading(one, reading.broken)))
    return reading.checked(found)


def fail(data, dialect, strict):
    reading = Reading(data)
    given = reading.part("error")
    found = {"code": given.named("code"), "message": optional_text(given.data, "message") or ""}
    if given.has("data"):
        found["data"] = text(given.data, "data")
    found = {
        **read_versioned(reading),
        "error": found,
        "retryable": reading.flag("retryable", True),
        "retryAfter": reading.optional_number("retryAfter", 0),
        "archive": reading.flag("archive", False),
    }
    return reading.checked(found)


def snooze(data, dialect, strict):
    reading = Reading(data)
    return reading.checked({**read_versioned(reading), "delay": reading.number("delay", 0)})


def suspend(data, dialect, strict):
    reading = Reading(data)
    found = read_versioned(reading)
    found["awaits"] = reading.awaited("awaits", found["id"])
    found["until"] = reading.choice("until", UNTIL) or "any"
    return reading.checked(found)


def report(data, dialect, strict):
    reading = Reading(data)
    found = {**read_versioned(reading), "progress": reading.real("progress", 0, 1, None), "lines": []}
    if reading.has("lines"):
        found["lines"] = [Reading({"line": one}, reading.broken).named("line") for one in listing(data, "lines")]
    reading.rule(len(found["lines"]) <= MOST_LINES, f"{len(found['lines'])} lines")
    reading.rule(all(len(line.encode()) <= LINE_BYTES for line in found["lines"]), "a line is too long")
    reading.rule(found["lines"] or found["progress"] is not None, "neither progress nor lines")
    return reading.checked(found)


def members(reading, states):
    """The members of a filter; None, or an empty dict of tags, does not filter."""
    return {
        "queue": reading.optional_name("queue"),
        "type": reading.optional_name("type"),
        "tags": string_map(reading.data, "tags") if reading.has("tags") else {},
        "state": reading.choice("state", states),
        "group": reading.optional_name("group"),
    }


def one_or_many(states):
    """A reader of requests on one job by id or on all jobs that match a filter; with `states`, a filter must name one of them."""

    def read_data(data, dialect, strict):
        reading = Reading(data)
        found = {"id": reading.optional_name("id"), **members(reading, states)}
        # Empty tags are not a filter; otherwise such a request would cancel all jobs.
        filters = [name for name in ("queue", "type", "tags", "state", "group") if found[name]]
        if found["id"] is not None:
            reading.rule(not filters, f"an id, and {filters}")
        else:
            reading.rule(filters and (not states or found["state"] is not None), "an id or a filter is needed")
        return reading.checked(found)

    return read_data


def search(data, dialect, strict):
    reading = Reading(data)
    names = ("id", "queue", "type", "uniqueKey")
    found = {
        # A text that no job can have finds no job.
        **{name: optional_text(data, name) for name in names},
        "tags": string_map(data, "tags") if reading.has("tags") else {},
        "state": reading.choice("state", STATES),
        "limit": reading.optional_number("limit", 1, MOST_FOUND, 100),
        "cursor": optional_text(data, "cursor") or "",
        "group": reading.optional_name("group"),
    }
    return reading.checked(found)


def stats(data, dialect, strict):
    reading = Reading(data)
    return reading.checked({"queue": reading.optional_name("queue")})


# ---- requests of queues


def by_queue(data, dialect, strict):
    reading = Reading(data)
    return reading.checked({"queue": reading.named("queue")})


def rate(given):
    limit = given.number("limit", 1, MOST_TOKENS)
    return {
        "limit": limit,
        "per": given.number("per", 1, LONGEST_PER),
        "burst": given.optional_number("burst", 1, MOST_TOKENS, limit),
    }


def groups(given):
    found = {
        "size": given.optional_number("size", 1, MOST_GATHERED, GROUPS["size"]),
        "grace": given.optional_number("grace", 0, default=GROUPS["grace"]),
    }
    if given.has("maxDelay"):
        found["maxDelay"] = given.number("maxDelay", 1)
    return found


def defaults(given):
    found = {
        "maxRetries": given.optional_number("maxRetries", 0),
        "retryPolicy": given.policy("retryPolicy"),
        "onExhausted": given.choice("onExhausted", ON_EXHAUSTED),
        "timeout": given.optional_number("timeout", 1),
        "priority": given.optional_number("priority", 1, MOST_PRIORITY),
        "cancelWithAwaiters": given.optional_flag("cancelWithAwaiters"),
    }
    found = {name: value for name, value in found.items() if value is not None}
    given.retention(found)
    return found


def queue_set(data, dialect, strict):
    """The given members; None removes a setting."""
    reading = Reading(data)
    found = {"queue": reading.named("queue")}
    if "lifecycle" in data:
        found["lifecycle"] = reading.choice("lifecycle", LIFECYCLES)
    if reading.has("weight"):
        found["weight"] = reading.number("weight", 1, MOST_WEIGHT)
    if "concurrency" in data:
        found["concurrency"] = reading.optional_number("concurrency", 1)
    for name, read in (("rate", rate), ("groups", groups), ("defaults", defaults)):
        if name in data:
            found[name] = read(reading.part(name)) if reading.has(name) else None
    return reading.checked(found)


def nothing(data, dialect, strict):
    return {}


READERS = {
    "job.enqueue": enqueue,
    "job.enqueue_many": enqueue_many,
    "job.get": by_id,
    "job.claim": claim,
    "job.start": start,
    "job.start_many": start_many,
    "job.heartbeat": heartbeat,
    "job.complete": complete,
    "job.complete_many": complete_many,
    "job.fail": fail,
    "job.release": versioned,
    "job.snooze": snooze,
    "job.report": report,
    "job.suspend": suspend,
    "job.cancel": one_or_many(()),
    "job.run": one_or_many(RUNNABLE),
    "job.archive": one_or_many(ARCHIVABLE),
    "job.delete": one_or_many(DELETABLE),
    "job.search": search,
    "job.stats": stats,
    "queue.set": queue_set,
    "queue.get": by_queue,
    "queue.pause": by_queue,
    "queue.resume": by_queue,
    "queue.list": nothing,
}
