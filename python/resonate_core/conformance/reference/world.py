"""The rows of the model and the facts that are derived from them (PROTOCOL 1)."""

from __future__ import annotations

import copy

from . import jobs_course

INT64_MAX = 2**63 - 1
NEW, OLD = "2026-04-01", "2025-01-15"


class World:
    """Everything that is stored, and the options of the store.

    Attributes:
        promises: Rows by id; a row is exactly the dict that the snapshot shows.
        schedules: Rows by id.
        queues: Queues of jobs by name.
        generated_jobs: The last number that was given to a batch or to a job without an id.
        messages: The outbox, in the order of queueing.
        now: The last instant seen.
        stored_now: The instant of the last tick, or of the last request that was not a read; a snapshot shows it.
        fired: Records of the internal steps that ran since the list was last emptied.
    """

    def __init__(self, rules, retry_timeout, catchup, unblock_retention, start, debug):
        self.rules = rules
        self.retry_timeout = retry_timeout
        self.catchup = catchup
        self.unblock_retention = unblock_retention
        self.debug = debug
        self.now = self.stored_now = start
        self.clear()

    def strict(self, dialect):
        """Whether the strict column of PROTOCOL 2.1 applies to the requests of a dialect."""
        return binds_strictly(self.rules, dialect)

    @property
    def literal(self):
        """Whether both versions follow their texts in empty heartbeats and in the tags of occurrences (PROTOCOL 2.1)."""
        return self.rules == "strict"

    def clear(self):
        """Removes all rows (``debug.reset``); the clock does not change."""
        self.dropped = 0
        self.generated_jobs = 0
        self.promises = {}
        self.schedules = {}
        self.queues = {}
        self.messages = []
        self.fired = []


def binds_strictly(rules, dialect):
    """Whether all strict rules apply. Of 2025-01-15 only the two rules that ``World.literal`` names differ (PROTOCOL 2.1)."""
    return rules == "strict" and dialect == NEW


def later(instant, duration):
    """Adds a duration, saturating at the greatest int64 (PROTOCOL 8)."""
    return min(instant + duration, INT64_MAX)


def id_order(text):
    """The sort key of every order by id: bytewise UTF-8."""
    return text.encode("utf-8")


def target_of(tags, dialect):
    """The delivery address in the tags, or None."""
    if "resonate:target" in tags:
        return tags["resonate:target"]
    if dialect == OLD and "resonate:invoke" in tags:
        return tags["resonate:invoke"]
    return None


def target(row):
    """The delivery address of a stored promise, or None."""
    return target_of(row["tags"], row["dialect"])


def is_timer(tags):
    """Whether the deadline resolves the promise."""
    return tags.get("resonate:timer") == "true"


def born_external(tags, dialect):
    """Whether a promise with these tags is external when it is created."""
    return dialect == OLD or tags.get("resonate:external") == "true" or target_of(tags, dialect) is not None or is_timer(tags)


def verdict(tags):
    """The state of a promise after its deadline."""
    return "resolved" if is_timer(tags) else "rejected_timedout"


def fulfilled_task(task):
    """A task after its promise is settled."""
    return {"state": "fulfilled", "acquisitions": task["acquisitions"], "resumes": []}


def project(row, now):
    """The projection of a row at ``now``: the deadline always wins (PROTOCOL 1.2)."""
    if row["state"] != "pending":
        return row
    if "job" in row and (death := jobs_course.death(row, now)) is not None:
        seen = copy.deepcopy(row)
        if death == "good_until":
            settle(seen, *jobs_course.expire(seen))
        else:
            settle(seen, verdict(seen["tags"]), {}, seen["timeoutAt"])
        return seen
    if row["timeoutAt"] > now:
        return row
    seen = dict(row, state=verdict(row["tags"]), settledAt=row["timeoutAt"], value={})
    if "task" in row:
        seen["task"] = fulfilled_task(row["task"])
    return seen


def settle(row, state, value, settled_at):
    """Settles a promise and fulfils its task; a job that has not ended yet ends in the state that corresponds to the promise's."""
    if "job" in row and row["job"]["state"] not in jobs_course.TERMINAL:
        jobs_course.follow(row["job"], state, settled_at)
    row["state"] = state
    row["value"] = value
    row["settledAt"] = settled_at
    if "task" in row:
        row["task"] = fulfilled_task(row["task"])


def drop_lease(task):
    for name in ("pid", "ttl", "expiresAt"):
        task.pop(name, None)


def dispatch_instant(row, now):
    """The ``retryAt`` of a task that becomes pending at ``now`` (PROTOCOL 1.1)."""
    if is_timer(row["tags"]) or target(row) is None or "job" in row:
        return row["timeoutAt"]
    return now


def task_version(task, dialect):
    """The version of a task as the dialect shows it (PROTOCOL 2)."""
    if dialect == OLD and task["state"] in ("acquired", "suspended"):
        # A job that waits before its first claim is suspended without an acquisition.
        return max(0, task["acquisitions"] - 1)
    return task["acquisitions"]
