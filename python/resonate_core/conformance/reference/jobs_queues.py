"""Queues: their rows and requests, the rate bucket, and the statistics of each (JOBS 5)."""

from __future__ import annotations

import datetime

from .jobs_course import HELD, STATES
from .shape import Refused
from .world import id_order, later, project

MOST_DAYS = 90
COUNTS_KEPT = 60
DAYS_OF_400_YEARS = 146_097
DAY = 86_400_000


def queue_row(world, name):
    """The queue with this name; creates it if it does not exist."""
    if name not in world.queues:
        world.queues[name] = {"name": name, "paused": False, "weight": 1, "current": 0, "days": []}
    return world.queues[name]


def find(world, name):
    """The queue with this name.

    Raises:
        Refused: With 404.
    """
    if name not in world.queues:
        raise Refused(404, f"no queue {name!r}")
    return world.queues[name]


def jobs_of(world, name):
    """The stored rows of a queue's jobs."""
    return [row for row in world.promises.values() if "job" in row and row["job"]["queue"] == name]


def counts(world, name):
    """How many jobs are stored in each state."""
    states = [row["job"]["state"] for row in jobs_of(world, name)]
    return {state: states.count(state) for state in STATES}


def active(world, name):
    found = counts(world, name)
    return sum(found[state] for state in HELD)


def record(world, queue):
    shown = {"name": queue["name"], "paused": queue["paused"], "weight": queue["weight"]}
    shown.update({name: queue[name] for name in ("lifecycle", "concurrency", "rate", "groups", "defaults") if name in queue})
    return {**shown, "active": active(world, queue["name"])}


# ---- the rate: a bucket, whose level counts parts of tokens (``per`` parts are one token), and the claims of the last ``per`` ms


def fill(queue, now):
    """Refills the bucket up to ``now``."""
    rate = queue["rate"]
    grown = queue["level"] + (now - queue["refilledAt"]) * rate["limit"]
    queue["level"] = min(grown, rate["burst"] * rate["per"])
    queue["refilledAt"] = now


def level(queue, now):
    """The level as of ``now``; stores nothing."""
    seen = dict(queue)
    fill(seen, now)
    return seen["level"]


def most_claims(rate):
    """The most claims in any window of ``per`` ms."""
    return max(rate["limit"], rate["burst"])


def slot(rate):
    """The length of the slots by which claims are counted."""
    return 1 if most_claims(rate) <= COUNTS_KEPT else -(-rate["per"] // COUNTS_KEPT)


def in_window(queue, now):
    """The counted claims of the last ``per`` ms, the oldest first."""
    return [one for one in queue.get("claims", []) if later(one["at"], queue["rate"]["per"]) > now]


def claimable_at(queue, now):
    """The first instant from ``now`` on at which the rate of a queue allows a claim: it has a token, and the window has room."""
    if "rate" not in queue:
        return now
    rate = queue["rate"]
    missing = max(0, rate["per"] - level(queue, now))
    at = later(now, -(-missing // rate["limit"]))
    counted = in_window(queue, now)
    taken = sum(one["count"] for one in counted)
    for one in counted:
        if taken < most_claims(rate):
            break
        taken -= one["count"]
        at = max(at, later(one["at"], rate["per"]))
    return at


def count_claim(queue, now):
    if "rate" not in queue:
        return
    fill(queue, now)
    queue["level"] -= queue["rate"]["per"]
    length = slot(queue["rate"])
    at = later(now // length * length, length - 1)
    counted = in_window(queue, now)
    if not counted or counted[-1]["at"] != at:
        counted.append({"at": at, "count": 0})
    counted[-1] = {"at": at, "count": counted[-1]["count"] + 1}
    queue["claims"] = counted


# ---- requests


def check_retries(world, data):
    """Refuses defaults with retries but without a policy under horsies' lifecycle (JOBS 4).

    Raises:
        Refused: With 400.
    """
    known = world.queues.get(data["queue"], {})
    lifecycle = data.get("lifecycle", known.get("lifecycle"))
    defaults = data.get("defaults", known.get("defaults")) or {}
    if lifecycle == "horsies" and defaults.get("maxRetries") and "retryPolicy" not in defaults:
        raise Refused(400, "maxRetries without a retryPolicy")


def set_(world, data, dialect):
    check_retries(world, data)
    queue = queue_row(world, data["queue"])
    before = queue.get("rate")
    for name in ("lifecycle", "weight", "concurrency", "rate", "groups", "defaults"):
        if name in data:
            queue[name] = data[name]
        if name in queue and queue[name] in (None, {}):
            del queue[name]
    if "rate" not in queue:
        for name in ("level", "refilledAt", "claims"):
            queue.pop(name, None)
    elif queue["rate"] != before:
        queue.pop("claims", None)
        queue.update(level=queue["rate"]["burst"] * queue["rate"]["per"], refilledAt=world.now)
    return 200, {"queue": record(world, queue)}


def get(world, data, dialect):
    return 200, {"queue": record(world, find(world, data["queue"]))}


def existing_or_default(world, name):
    """The queue with this name; ``default`` always exists.

    Raises:
        Refused: With 404.
    """
    return queue_row(world, name) if name == "default" else find(world, name)


def pause(world, data, dialect):
    queue = existing_or_default(world, data["queue"])
    queue["paused"] = True
    return 200, {"queue": record(world, queue)}


def resume(world, data, dialect):
    queue = existing_or_default(world, data["queue"])
    queue["paused"] = False
    return 200, {"queue": record(world, queue)}


def in_order(world):
    return [world.queues[name] for name in sorted(world.queues, key=id_order)]


def list_(world, data, dialect):
    return 200, {"queues": [record(world, queue) for queue in in_order(world)]}


# ---- statistics


def count_attempt(world, job, outcome, at):
    """Counts an attempt that ended in the numbers of its queue for that day."""
    if outcome not in ("completed", "failed", "crashed", "timed_out"):
        return
    days = queue_row(world, job["queue"])["days"]
    found = next((one for one in days if one["day"] == at // DAY), None)
    if found is None:
        found = {"day": at // DAY, "processed": 0, "failed": 0}
        days.append(found)
        days.sort(key=lambda one: one["day"])
        del days[:-MOST_DAYS]
    found["processed"] += 1
    found["failed"] += outcome != "completed"


def day_text(day):
    """The date of a day since 1970. The calendar repeats every 400 years, so this also works after the year 9999."""
    cycles, day = divmod(day, DAYS_OF_400_YEARS)
    date = datetime.date(1970, 1, 1) + datetime.timedelta(days=day)
    return f"{date.year + 400 * cycles:04}-{date:%m-%d}"


def statistics(world, queue):
    waiting = [row["job"]["enqueuedAt"] for row in jobs_of(world, queue["name"]) if is_pending(world, row)]
    shown = {"name": queue["name"], "paused": queue["paused"], "counts": counts(world, queue["name"])}
    if waiting:
        shown["oldestPendingAt"] = min(waiting)
    shown["latency"] = world.now - min(waiting) if waiting else 0
    shown["active"] = active(world, queue["name"])
    shown["days"] = [{**one, "day": day_text(one["day"])} for one in queue["days"]]
    return shown


def is_pending(world, row):
    return project(row, world.now)["job"]["state"] == "pending"


def stats(world, data, dialect):
    chosen = in_order(world) if data["queue"] is None else [find(world, data["queue"])]
    return 200, {"queues": [statistics(world, queue) for queue in chosen]}
