"""The checks of a request before any state is read; they refuse with 400 (PROTOCOL 3).

A request is checked twice. *Shape* is about JSON types, missing members and integers
outside int64. *Rules* are about well-typed values. The two are separate because the
strict rule set refuses a fenced action differently for each of them.
"""

from __future__ import annotations

from . import jobs_validation, jobs_workflow_validation, tag_rules
from .shape import Refused, check_text, integer, listing, mapping, optional_text, string_map, text, value_of
from .world import NEW, OLD

SETTLED_BY_CLIENTS = ("resolved", "rejected", "rejected_canceled")
PROMISE_STATES = ("pending", *SETTLED_BY_CLIENTS, "rejected_timedout")
TASK_STATES = ("pending", "acquired", "suspended", "halted", "fulfilled")
ACTION = {
    NEW: {"suspend": "promise.register_callback"},
    OLD: {"suspend": "promise.register"},
}


class Request:
    """A valid request: its kind, dialect, corrId, instant (or None) and data."""

    def __init__(self, kind, dialect, corr_id, instant, data):
        self.kind = kind
        self.dialect = dialect
        self.corr_id = corr_id
        self.instant = instant
        self.data = data


def read(envelope, world):
    """Turns an envelope into a Request.

    Raises:
        Refused: With 400, or 403 for a debug operation while debug is off.
    """
    if not isinstance(envelope, dict):
        raise Refused(400, "the envelope is not an object")
    kind = text(envelope, "kind")
    head = mapping(envelope, "head")
    corr_id = text(head, "corrId")
    version = text(head, "version")
    optional_text(head, "auth")
    instant = None
    if head.get("resonate:debug_time") is not None:
        instant = integer(head, "resonate:debug_time")
    data = mapping(envelope, "data")
    if version not in (NEW, OLD):
        raise Refused(400, f"version {version!r}, kind {kind!r}")
    if kind not in READERS[version]:
        raise Refused(400, f"kind {kind!r} is not in version {version!r}")
    if kind.startswith("debug.") and not world.debug:
        raise Refused(403, "debug is off")
    if not world.debug:
        instant = None
    read_data = READERS[version][kind](data, version, world.strict(version))
    if kind == "debug.tick":
        if instant is not None and instant != read_data["time"]:
            raise Refused(400, "two different times")
        instant = read_data["time"]
    return Request(kind, version, corr_id, instant, read_data)


def by_id(data, dialect, strict):
    return {"id": identifier(data, "id")}


def identifier(data, name):
    """A required non-empty string without NUL."""
    found = text(data, name)
    check_text(found, name)
    return found


def at_least(low, data, name):
    """A required integer that is not below ``low``."""
    found = integer(data, name)
    if found < low:
        raise Refused(400, f"{name} is {found}")
    return found


# ---- promises


def create_shape(data):
    return {
        "id": text(data, "id"),
        "timeoutAt": integer(data, "timeoutAt"),
        "param": value_of(data, "param"),
        "tags": string_map(data, "tags"),
        "ikc": optional_text(data, "ikc"),
    }


def create_rules(created, dialect, strict):
    check_text(created["id"], "id")
    if created["timeoutAt"] < 0:
        raise Refused(400, f"timeoutAt is {created['timeoutAt']}")
    tag_rules.check_promise(created["tags"], created["timeoutAt"], dialect, strict)


def promise_create(data, dialect, strict):
    created = create_shape(data)
    create_rules(created, dialect, strict)
    return created


def settle_shape(data):
    return {
        "id": text(data, "id"),
        "state": text(data, "state"),
        "value": value_of(data, "value"),
        "iku": optional_text(data, "iku"),
    }


def settle_rules(settled):
    check_text(settled["id"], "id")
    if settled["state"] not in SETTLED_BY_CLIENTS:
        raise Refused(400, f"state is {settled['state']!r}")


def promise_settle(data, dialect, strict):
    settled = settle_shape(data)
    settle_rules(settled)
    return settled


def edge(data, dialect, strict):
    """``register_callback`` and ``register``."""
    awaited = identifier(data, "awaited")
    awaiter = identifier(data, "awaiter")
    if awaited == awaiter:
        raise Refused(400, f"{awaited!r} would await itself")
    return {"awaited": awaited, "awaiter": awaiter}


def listener(data, dialect, strict):
    """``register_listener`` and ``subscribe``."""
    awaited = identifier(data, "awaited")
    address = identifier(data, "address")
    tag_rules.check_listener_address(address, strict)
    return {"awaited": awaited, "address": address}


# ---- searches


def page(data, default, states=()):
    limit = default if data.get("limit") is None else integer(data, "limit")
    if not 1 <= limit <= 1000:
        raise Refused(400, f"limit is {limit}")
    state = optional_text(data, "state") if states else None
    if state is not None and state not in states:
        raise Refused(400, f"state is {state!r}")
    tags = {} if data.get("tags") is None else string_map(data, "tags")
    return {
        "id": optional_text(data, "id"),
        "state": state,
        "tags": tags,
        "limit": limit,
        "cursor": optional_text(data, "cursor") or "",
    }


def promise_search(data, dialect, strict):
    return page(data, 100, PROMISE_STATES)


def task_search(data, dialect, strict):
    return dict(page(data, 100, TASK_STATES), target=optional_text(data, "target"))


def schedule_search(data, dialect, strict):
    return page(data, 10)


# ---- tasks


def action_of(data, *kinds):
    """The kind and data of an inner request; its head is ignored (PROTOCOL 8)."""
    action = mapping(data, "action")
    return inner(action, *kinds)


def inner(action, *kinds):
    if not isinstance(action, dict):
        raise Refused(400, "an action is no object")
    kind = text(action, "kind")
    if kind not in kinds:
        raise Refused(400, f"action kind {kind!r}")
    return kind, mapping(action, "data")


def task_create(data, dialect, strict):
    pid = identifier(data, "pid")
    ttl = at_least(1, data, "ttl")
    _, action = action_of(data, "promise.create")
    created = promise_create(action, dialect, strict)
    tag_rules.check_task_create(created["tags"], dialect)
    return {"pid": pid, "ttl": ttl, "action": created}


def task_version_of(data, dialect, strict):
    """``task.release``: an id and a version."""
    return {"id": identifier(data, "id"), "version": at_least(0, data, "version")}


def task_acquire(data, dialect, strict):
    found = task_version_of(data, dialect, strict)
    return dict(found, pid=identifier(data, "pid"), ttl=at_least(1, data, "ttl"))


def task_suspend(data, dialect, strict):
    found = task_version_of(data, dialect, strict)
    awaited = []
    for action in listing(data, "actions"):
        _, action_data = inner(action, ACTION[dialect]["suspend"])
        one = edge(action_data, dialect, strict)
        if one["awaiter"] != found["id"]:
            raise Refused(400, f"awaiter {one['awaiter']!r} is not the task")
        if one["awaited"] not in awaited:
            awaited.append(one["awaited"])
        elif strict:
            raise Refused(400, f"{one['awaited']!r} is named twice")
    if not awaited:
        raise Refused(400, "no actions")
    return dict(found, awaited=awaited)


def task_fulfill(data, dialect, strict):
    found = task_version_of(data, dialect, strict)
    _, action = action_of(data, "promise.settle")
    settled = promise_settle(action, dialect, strict)
    if settled["id"] != found["id"]:
        raise Refused(400, f"action id {settled['id']!r} is not the task")
    return dict(found, action=settled)


def task_fence(data, dialect, strict):
    found = task_version_of(data, dialect, strict)
    kind, action_data = action_of(data, "promise.create", "promise.settle")
    action = create_shape(action_data) if kind == "promise.create" else settle_shape(action_data)
    if action["id"] == found["id"]:
        raise Refused(400, "the action is on the task's own promise")
    refusal = None
    try:
        if kind == "promise.create":
            create_rules(action, dialect, strict)
        else:
            settle_rules(action)
    except Refused as refused:
        if not strict:
            raise
        refusal = refused
    return dict(found, kind=kind, action=action, refusal=refusal)


def task_heartbeat(data, dialect, strict):
    pid = identifier(data, "pid")
    tasks = []
    for named in listing(data, "tasks"):
        if not isinstance(named, dict):
            raise Refused(400, "a task is no object")
        tasks.append(task_version_of(named, dialect, strict))
    return {"pid": pid, "tasks": tasks}


# ---- schedules and debug


def schedule_create(data, dialect, strict):
    created = {
        "id": identifier(data, "id"),
        "cron": identifier(data, "cron"),
        "promiseId": identifier(data, "promiseId"),
        "promiseTimeout": at_least(0, data, "promiseTimeout"),
        "promiseParam": value_of(data, "promiseParam"),
        "promiseTags": string_map(data, "promiseTags"),
    }
    if data.get("job") is not None:
        created["job"] = jobs_validation.template(mapping(data, "job"), created["promiseTags"], dialect, strict)
    tag_rules.check_schedule(created["promiseTags"], dialect, strict)
    tag_rules.check_cron(created["cron"])
    return created


def nothing(data, dialect, strict):
    return {}


def debug_tick(data, dialect, strict):
    return {"time": integer(data, "time")}


SHARED = {
    "promise.get": by_id,
    "promise.create": promise_create,
    "promise.settle": promise_settle,
    "task.get": by_id,
    "task.create": task_create,
    "task.acquire": task_acquire,
    "task.suspend": task_suspend,
    "task.fulfill": task_fulfill,
    "task.release": task_version_of,
    "task.fence": task_fence,
    "task.heartbeat": task_heartbeat,
    "schedule.get": by_id,
    "schedule.create": schedule_create,
    "schedule.delete": by_id,
    "schedule.pause": by_id,
    "schedule.resume": by_id,
    **jobs_validation.READERS,
    **jobs_workflow_validation.READERS,
}
READERS = {
    OLD: dict(SHARED, **{"promise.register": edge, "promise.subscribe": listener}),
    NEW: dict(
        SHARED,
        **{
            "promise.register_callback": edge,
            "promise.register_listener": listener,
            "promise.search": promise_search,
            "task.halt": by_id,
            "task.continue": by_id,
            "task.search": task_search,
            "schedule.search": schedule_search,
            "debug.start": nothing,
            "debug.stop": nothing,
            "debug.reset": nothing,
            "debug.snap": nothing,
            "debug.tick": debug_tick,
        },
    ),
}
