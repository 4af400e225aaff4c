"""Requests on promises (PROTOCOL 3.1 to 3.7). Each takes the world and validated data and returns (status, data)."""

from __future__ import annotations

from . import jobs_steps, wire
from .shape import Refused
from .world import OLD, born_external, dispatch_instant, id_order, is_timer, project, settle, target, verdict

OUTSIDE = {"resolved": "completed", "rejected": "failed"}
"""The outcome of a job's attempt in the statistics if a settlement from outside ends it."""


def find(world, promise_id):
    """The stored row.

    Raises:
        Refused: With 404.
    """
    if promise_id not in world.promises:
        raise Refused(404, f"no promise {promise_id!r}")
    return world.promises[promise_id]


def answer(world, row, dialect):
    """The projected record."""
    return {"promise": wire.promise(project(row, world.now), dialect)}


def get(world, data, dialect):
    return 200, answer(world, find(world, data["id"]), dialect)


def check_creation_key(row, data):
    if data["ikc"] is not None and row.get("ikc") != data["ikc"]:
        raise Refused(409, f"{data['id']!r} was created under another key than {data['ikc']!r}")


def insert(world, data, dialect):
    """Stores a new promise without a task; it is settled at once if its deadline has passed."""
    born_dead = data["timeoutAt"] <= world.now
    row = {
        "id": data["id"],
        "state": "pending",
        "param": data["param"],
        "value": {},
        "tags": data["tags"],
        "timeoutAt": data["timeoutAt"],
        "createdAt": data["timeoutAt"] if born_dead else world.now,
        "dialect": dialect,
        "external": born_external(data["tags"], dialect),
        "callbacks": [],
        "listeners": [],
    }
    if data["ikc"] is not None:
        row["ikc"] = data["ikc"]
    if born_dead:
        settle(row, verdict(row["tags"]), {}, row["timeoutAt"])
    world.promises[row["id"]] = row
    return row


def create(world, data, dialect):
    if data["id"] in world.promises:
        row = world.promises[data["id"]]
        check_creation_key(row, data)
        return 200, answer(world, row, dialect)
    return 200, answer(world, insert_with_task(world, data, dialect), dialect)


def insert_with_task(world, data, dialect):
    """Stores a new promise, with a task if it has a target."""
    row = insert(world, data, dialect)
    if target(row) is not None and row["state"] == "pending":
        retry_at = dispatch_instant(row, world.now)
        if not is_timer(row["tags"]):
            retry_at = max(retry_at, int(row["tags"].get("resonate:delay", "0")))
        row["task"] = {"state": "pending", "acquisitions": 0, "resumes": [], "retryAt": retry_at}
    elif target(row) is not None:
        row["task"] = {"state": "fulfilled", "acquisitions": 0, "resumes": []}
    return row


def settle_pending(world, row, data):
    """Settles a pending promise at a client's request."""
    jobs_steps.before_end(world, row, OUTSIDE.get(data["state"]), world.now, cancelled=data["state"] == "rejected_canceled")
    settle(row, data["state"], data["value"], world.now)
    if data["iku"] is not None:
        row["iku"] = data["iku"]


def settle_request(world, data, dialect):
    row = find(world, data["id"])
    if project(row, world.now)["state"] == "pending":
        settle_pending(world, row, data)
    elif data["iku"] is not None and row.get("iku") != data["iku"]:
        raise Refused(409, f"{data['id']!r} was settled under another key than {data['iku']!r}")
    return 200, answer(world, row, dialect)


def check_external(world, row, dialect):
    """Strict rules allow edges on external promises only."""
    if world.strict(dialect) and not row["external"]:
        raise Refused(422, f"{row['id']!r} is internal")


def add_callback(row, awaiter_id):
    """Adds a callback to a promise, which is external from then on."""
    if awaiter_id not in row["callbacks"]:
        row["callbacks"].append(awaiter_id)
    row["external"] = True


def register(world, data, dialect):
    """``register_callback`` (2026) and ``register`` (2025)."""
    awaited = find(world, data["awaited"])
    awaiter = world.promises.get(data["awaiter"])
    if awaiter is None:
        raise Refused(404 if dialect == OLD else 422, f"no awaiter {data['awaiter']!r}")
    if dialect != OLD and target(awaiter) is None:
        raise Refused(422, f"the awaiter {data['awaiter']!r} has no target")
    if "job" in awaiter:
        raise Refused(422, f"the awaiter {data['awaiter']!r} is a job")
    check_external(world, awaited, dialect)
    if project(awaited, world.now)["state"] == project(awaiter, world.now)["state"] == "pending":
        add_callback(awaited, data["awaiter"])
    return 200, answer(world, awaited, dialect)


def listen(world, data, dialect):
    """``register_listener`` (2026) and ``subscribe`` (2025)."""
    row = find(world, data["awaited"])
    check_external(world, row, dialect)
    if project(row, world.now)["state"] == "pending":
        if data["address"] not in [known["address"] for known in row["listeners"]]:
            row["listeners"].append({"address": data["address"], "dialect": dialect})
        row["external"] = True
    return 200, answer(world, row, dialect)


def carries(tags, wanted):
    """Whether the tags include all wanted tags."""
    return all(tags.get(name) == text for name, text in wanted.items())


def matches_glob(pattern, text):
    """Whether a text matches a pattern in which ``*`` matches any characters; nothing else is special."""
    beginning, *parts = pattern.split("*")
    if not parts:
        return text == pattern
    if not text.startswith(beginning):
        return False
    at = len(beginning)
    for part in parts[:-1]:  # the first occurrence of each part leaves the most for the others
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(text) - at >= len(parts[-1]) and text.endswith(parts[-1])


def page(rows, data):
    """One page of rows ordered by id, and the cursor if there are more."""
    found = []
    for row in sorted(rows, key=lambda row: id_order(row["id"])):
        if data["cursor"] and id_order(row["id"]) <= id_order(data["cursor"]):
            continue
        if data["id"] is not None and not matches_glob(data["id"], row["id"]):
            continue
        found.append(row)
    more = {"cursor": found[data["limit"] - 1]["id"]} if len(found) > data["limit"] else {}
    return found[: data["limit"]], more


def search(world, data, dialect):
    rows = []
    for row in world.promises.values():
        seen = project(row, world.now)
        if data["state"] in (None, seen["state"]) and carries(seen["tags"], data["tags"]):
            rows.append(seen)
    rows, more = page(rows, data)
    return 200, {"promises": [wire.promise(row, dialect) for row in rows], **more}
