"""Requests on tasks (PROTOCOL 3.8 to 3.17). Each takes the world and validated data and returns (status, data)."""

from __future__ import annotations

from . import promises, wire
from .shape import Refused
from .world import NEW, OLD, dispatch_instant, drop_lease, id_order, later, project, target, task_version

MOST_PRELOADED = 2**20
"""The maximum size of preloaded promises: bytes of ids, tags, params and values."""


def find(world, task_id):
    """The stored row of a promise that has a task.

    Raises:
        Refused: With 404.
    """
    row = world.promises.get(task_id)
    if row is None or "task" not in row:
        raise Refused(404, f"no task {task_id!r}")
    return row


def refuse_job(row):
    """Refuses requests on a job's task that only ``job.*`` may make."""
    if "job" in row:
        raise Refused(409, f"{row['id']!r} is a job: use job.*")


def find_in_state(world, data, state, dialect):
    """The stored row, if its task is in this state and shows this version.

    Raises:
        Refused: With 404 or 409.
    """
    row = find(world, data["id"])
    task = project(row, world.now)["task"]
    if task["state"] != state:
        raise Refused(409, f"task {data['id']!r} is {task['state']}, not {state}")
    if task_version(task, dialect) != data["version"]:
        raise Refused(409, f"task {data['id']!r} is not at version {data['version']}")
    return row


def answer(world, row, dialect):
    """Task and promise, projected."""
    seen = project(row, world.now)
    return {"task": wire.task(seen, dialect), "promise": wire.promise(seen, dialect)}


def preload(world, task_id):
    """The other promises of the same branch, up to `MOST_PRELOADED` bytes, and whether some were left out."""
    branch = world.promises[task_id]["tags"].get("resonate:branch", "")
    others = []
    size = 0
    for row in sorted(world.promises.values(), key=lambda row: id_order(row["id"])):
        if branch and row["id"] != task_id and row["tags"].get("resonate:branch") == branch:
            size += payload_bytes(row)
            if size > MOST_PRELOADED:
                return {"preload": others, "preloadCut": True}
            others.append(wire.promise(project(row, world.now), NEW))
    return {"preload": others}


def payload_bytes(row):
    values = [row["param"], row["value"]]
    texts = [row["id"], *(value.get("data", "") for value in values)]
    for strings in (row["tags"], *(value.get("headers", {}) for value in values)):
        texts += [*strings, *strings.values()]
    return sum(len(text.encode()) for text in texts)


def take_lease(world, row, data):
    """Makes a pending (or new) task acquired."""
    task = row["task"]
    task.pop("retryAt", None)
    task["state"] = "acquired"
    task["acquisitions"] += 1
    task["pid"] = data["pid"]
    task["ttl"] = task["lastTtl"] = data["ttl"]
    task["expiresAt"] = later(world.now, data["ttl"])


def become_pending(row, now):
    """Makes a task pending; its message is due at once."""
    drop_lease(row["task"])
    row["task"]["state"] = "pending"
    row["task"]["retryAt"] = dispatch_instant(row, now)


def get(world, data, dialect):
    row = project(find(world, data["id"]), world.now)
    return 200, {"task": wire.task(row, dialect)}


def create(world, data, dialect):
    action = data["action"]
    if action["id"] in world.promises:
        return create_existing(world, world.promises[action["id"]], data, dialect)
    row = promises.insert(world, action, dialect)
    row["task"] = {"state": "fulfilled", "acquisitions": 0, "resumes": []}
    if row["state"] == "pending":
        take_lease(world, row, data)
    if dialect == OLD:
        found = answer(world, row, dialect)
        return 200, found if row["state"] == "pending" else {"promise": found["promise"]}
    return 200, dict(answer(world, row, dialect), **acquired_preload(world, row))


def acquired_preload(world, row):
    return preload(world, row["id"]) if row["task"]["state"] == "acquired" else {"preload": []}


def create_existing(world, row, data, dialect):
    refuse_job(row)
    promises.check_creation_key(row, data["action"])
    if dialect == OLD:
        return 200, promises.answer(world, row, dialect)
    if "task" not in row:
        raise Refused(409 if world.strict(dialect) and target(row) is not None else 422, f"{row['id']!r} has no task")
    state = project(row, world.now)["task"]["state"]
    if state == "fulfilled":
        return 200, dict(answer(world, row, dialect), preload=[])
    if state != "pending":
        raise Refused(409, f"task {row['id']!r} is {state}")
    take_lease(world, row, data)
    row["task"]["resumes"] = []
    return 200, dict(answer(world, row, dialect), **preload(world, row["id"]))


def acquire(world, data, dialect):
    refuse_job(find(world, data["id"]))
    row = find_in_state(world, data, "pending", dialect)
    take_lease(world, row, data)
    task = row["task"]
    if dialect != OLD:
        task["resumes"] = []
        return 200, dict(answer(world, row, dialect), **preload(world, row["id"]))
    invoked = wire.promise(row, dialect)
    if "current" not in task:
        return 200, {"kind": "invoke", "data": {"invoked": invoked}}
    task["resumes"] = [awaited for awaited in task["resumes"] if awaited != task["current"]]
    awaited = promises.answer(world, world.promises[task["current"]], dialect)["promise"]
    return 200, {"kind": "resume", "data": {"invoked": invoked, "awaited": awaited}}


def release(world, data, dialect):
    refuse_job(find(world, data["id"]))
    row = find_in_state(world, data, "acquired", dialect)
    become_pending(row, world.now)
    return 200, {}


def suspend(world, data, dialect):
    refuse_job(find(world, data["id"]))
    row = find_in_state(world, data, "acquired", dialect)
    task = row["task"]
    awaited_rows = []
    for awaited_id in data["awaited"]:
        if awaited_id not in world.promises:
            raise Refused(422, f"no awaited promise {awaited_id!r}")
        awaited_rows.append(world.promises[awaited_id])
    for awaited in awaited_rows:
        promises.check_external(world, awaited, dialect)
    settled = [one["id"] for one in awaited_rows if project(one, world.now)["state"] != "pending"]
    if dialect == OLD and task["resumes"]:
        task["current"] = task["resumes"].pop(0)
        return 300, {}
    if dialect == OLD and settled:
        task["current"] = settled[0]
        return 300, {}
    if settled:
        task["resumes"] = []
        return 300, preload(world, row["id"])
    for awaited in awaited_rows:
        promises.add_callback(awaited, row["id"])
    drop_lease(task)
    task["state"] = "suspended"
    task["resumes"] = []
    task.pop("current", None)
    return 200, {}


def fulfill(world, data, dialect):
    row = find_in_state(world, data, "acquired", dialect)
    promises.settle_pending(world, row, data["action"])
    return 200, promises.answer(world, row, dialect)


def fence(world, data, dialect, corr_id):
    find_in_state(world, data, "acquired", dialect)
    run = promises.create if data["kind"] == "promise.create" else promises.settle_request
    try:
        if data["refusal"] is not None:
            raise data["refusal"]
        status, inner = run(world, data["action"], dialect)
    except Refused as refused:
        status, inner = wire.status(refused.status, dialect), refused.message
    reply = {"action": wire.reply(data["kind"], corr_id, status, dialect, inner)}
    if dialect != OLD:
        reply |= preload(world, data["id"])
    return 200, reply


def heartbeat(world, data, dialect):
    named = data["tasks"]
    known = [one for one in named if "task" in world.promises.get(one["id"], {})]
    if dialect == OLD and named and not known:
        raise Refused(404, "none of the tasks exists")
    for row in world.promises.values():
        task = project(row, world.now).get("task", {})
        if task.get("state") != "acquired" or task["pid"] != data["pid"]:
            continue
        mine = {"id": row["id"], "version": task_version(task, dialect)}
        # Without a list of tasks, the heartbeat renews all tasks of the pid, except jobs.
        if mine in named or (not named and not world.literal and "job" not in row):
            task["expiresAt"] = later(world.now, task["ttl"])
    return 200, {}


def halt(world, data, dialect):
    row = find(world, data["id"])
    refuse_job(row)
    if project(row, world.now)["task"]["state"] == "fulfilled":
        raise Refused(409, f"task {data['id']!r} is fulfilled")
    drop_lease(row["task"])
    row["task"].pop("retryAt", None)
    row["task"]["state"] = "halted"
    return 200, {}


def continue_(world, data, dialect):
    row = find(world, data["id"])
    refuse_job(row)
    if project(row, world.now)["task"]["state"] != "halted":
        raise Refused(409, f"task {data['id']!r} is not halted")
    become_pending(row, world.now)
    if row["task"]["resumes"]:
        row["task"]["current"] = row["task"]["resumes"][0]
    return 200, {}


def search(world, data, dialect):
    rows = []
    for row in world.promises.values():
        seen = project(row, world.now)
        if (
            "task" in seen
            and data["state"] in (None, seen["task"]["state"])
            and data["target"] in (None, target(seen))
            and promises.carries(seen["tags"], data["tags"])
        ):
            rows.append(seen)
    rows, more = promises.page(rows, data)
    return 200, {"tasks": [wire.task(row, dialect) for row in rows], **more}
