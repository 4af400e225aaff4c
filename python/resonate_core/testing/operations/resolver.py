"""Turns an operation into an envelope and an instant that fit the rows of a store."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ..._core import cron_next
from ...calls.call import envelope
from ...errors import Invalid
from . import pools
from .rows import Row, Rows, RowSource

__all__ = ["NEEDS", "NEW", "OLD", "Data", "Operation", "Resolver", "corrupt", "request"]

Operation = Mapping[str, Any]
Data = dict[str, Any]

NEW, OLD = "2026-04-01", "2025-01-15"
# After this instant, libraries disagree about calendars.
LAST_CALENDAR_INSTANT = 4_000_000_000_000
OF_BOTH = {
    "unique_enqueue": "job.enqueue",
    "group_enqueue": "job.enqueue",
    "group_enqueue_many": "job.enqueue_many",
    "join_late": "job.enqueue",
    "after_enqueue": "job.enqueue",
    "after_enqueue_many": "job.enqueue_many",
    "graph_enqueue": "job.enqueue_many",
    "child_enqueue": "job.enqueue",
    "run_gathering": "job.run",
    "job_schedule": "schedule.create",
}
RENAMED = {
    OLD: {"register": "promise.register", "listen": "promise.subscribe", **OF_BOTH},
    NEW: {"register": "promise.register_callback", "listen": "promise.register_listener", **OF_BOTH},
}
NEEDS: dict[str, str] = {
    "task_acquire": "pending",
    "task_continue": "halted",
    "task_release": "acquired",
    "task_suspend": "acquired",
    "task_fulfill": "acquired",
    "register": "acquired",
    "fence_create": "acquired",
    "fence_settle": "acquired",
    "task_heartbeat": "acquired",
}


class Resolver:
    """Reads rows and changes nothing.

    Args:
        model: Has the rows.

    Attributes:
        most_occurrences: The maximum number of occurrences of a schedule in one step of time.
    """

    most_occurrences = 40

    def __init__(self, model: RowSource) -> None:
        self.model = model

    @property
    def world(self) -> Rows:
        # Read each time, since an undone batch replaces the model's world.
        return self.model.world

    def request(self, operation: Operation, now: int | None) -> Data:
        """The request of an operation that is to run at ``now`` (None: the clock's instant)."""
        name, dialect = operation["name"], operation["dialect"]
        if name == "debug":
            return request(operation["kind"], NEW, {})
        if operation.get("aimed") and not self.fitting(operation):
            return self.preparation(operation)
        if name in ("schedule_create", "job_schedule") and max(now or 0, self.world.now) > LAST_CALENDAR_INSTANT:
            name = "schedule_get"
        data = getattr(self, name)(operation)
        kind = RENAMED[dialect].get(name) or name.replace("_", ".", 1)
        if name.startswith("fence"):
            kind = "task.fence"
        if kind.endswith("search") or kind in ("task.halt", "task.continue"):
            # The older dialect does not have these kinds; some requests use it to get the 400.
            dialect = OLD if dialect == OLD and operation["when"] != ("still",) else NEW
        return request(kind, dialect, data)

    # ---- names, numbers and instants

    def fitting(self, operation: Operation) -> list[str]:
        """The ids at which an operation can be aimed."""
        needed = NEEDS.get(operation["name"])
        return [
            row["id"]
            for row in self.world.promises.values()
            if needed in (None, row.get("task", {}).get("state"))
            and (needed is None or row["timeoutAt"] > self.world.now)
            and ("task" in row or not operation["name"].startswith("task"))
        ]

    def preparation(self, operation: Operation) -> Data:
        """A request that leads toward a row at which the operation can be aimed."""
        dialect = operation["dialect"]
        for state, name in (("acquired", "task_halt"), ("pending", "task_acquire")):
            known = self.fitting({"name": name})
            known = [one for one in known if self.world.promises[one].get("task", {}).get("state") == state]
            if known and NEEDS.get(operation["name"]) not in (None, "pending", state):
                task_id = known[0]
                data = {"id": task_id, "version": self.task_version(task_id, "right", dialect), "pid": "w1", "ttl": 1000}
                return request(name.replace("_", "."), NEW if name == "task_halt" else dialect, data)
        unused = [one for one in pools.IDS if one not in self.world.promises] or pools.IDS
        promise = {"id": unused[0], "timeoutAt": self.deadline(("in", 100_000)), "tags": {"resonate:target": "poll://any@g"}}
        if NEEDS.get(operation["name"]) in (None, "pending"):
            return request("promise.create", dialect, promise)
        action = {"kind": "promise.create", "data": promise}
        return request("task.create", dialect, {"pid": "w1", "ttl": 1000, "action": action})

    def aim(self, operation: Operation) -> str:
        """An id that fits the operation, or else any id."""
        fitting = self.fitting(operation) if operation["aimed"] else []
        rare = [one for one in fitting if self.is_rare(operation["name"], self.world.promises[one])]
        # Every other aimed operation goes to a row on which it has further effects.
        if rare and operation["who"] % 2 == 0:
            return str(rare[operation["who"] // 2 % len(rare)])
        return fitting[operation["who"] % len(fitting)] if fitting else self.promise_id(operation["who"])

    def is_rare(self, name: str, row: Row) -> bool:
        """Whether an operation of this name on the row has further effects, such as waking a task."""
        alive = row["state"] == "pending" and row["timeoutAt"] > self.world.now
        if name == "promise_settle":
            return alive and bool(row["callbacks"])
        if name == "listen":
            return alive and not row["external"]
        if name == "task_halt":
            return alive and bool(row["task"]["state"] == "suspended")
        return False

    def promise_id(self, number: int) -> str:
        """An id of the pool, or of another promise that exists (an occurrence of a schedule)."""
        others = sorted(set(self.world.promises) - set(pools.IDS))
        names = pools.IDS + others[-6:]
        return names[number % len(names)]

    def awaited_id(self, number: int, aim: str, awaiter: str) -> str:
        """Any id, or the id of a promise that is settled, or that is pending (and external in the strict rule set)."""
        fitting = []
        for row in self.world.promises.values():
            alive = row["state"] == "pending" and row["timeoutAt"] > self.world.now
            if row["id"] != awaiter and alive == (aim == "pending") and (row["external"] or self.world.rules != "strict"):
                fitting.append(row["id"])
        return fitting[number % len(fitting)] if aim != "any" and fitting else self.promise_id(number)

    def task_version(self, task_id: str, wanted: str, dialect: str) -> int:
        """The version that the dialect shows, or a version that differs from it in the wanted way."""
        task = self.world.promises.get(task_id, {}).get("task")
        if task is None or wanted == "zero":
            return 0
        if wanted == "huge":
            return pools.INT64_MAX
        held = task["state"] in ("acquired", "suspended")
        right = task["acquisitions"] - (1 if held and dialect == OLD else 0)
        other = task["acquisitions"] - (1 if held and dialect == NEW else 0)
        versions: dict[str, int] = {"right": right, "other dialect": other, "next": right + 1, "previous": max(0, right - 1)}
        return versions[wanted]

    def deadline(self, timeout: tuple[str, int]) -> int:
        """A deadline relative to now, or an absolute one."""
        how, number = timeout
        return number if how == "at" else min(max(0, self.world.now + number), pools.INT64_MAX)

    def instant_of(self, operation: Operation) -> int | None:
        """The instant of an operation, which may be the deadline of the row at which it is aimed (of several, the first)."""
        first = {**operation, **(operation.get("tasks") or [{}])[0]}
        return self.instant(operation["when"], self.aim(first) if {"aimed", "who"} <= first.keys() else None)

    def instant(self, when: Any, aimed_at: str | None = None) -> int | None:
        """The instant of a request, or None for the clock's.

        It is not so far ahead that a schedule would have too many occurrences, which would make a test slow.
        """
        now = self.world.now
        if when[0] == "still":
            return None
        if when[0] == "after":
            return self.not_too_far(now + when[1])
        if when[0] == "timer":
            known = self.timers()
            if not known:
                return None
            return self.not_too_far(known[when[1] % len(known)] + when[2])
        if when[0] == "own deadline":
            row = None if aimed_at is None else self.world.promises.get(aimed_at)
            return None if row is None else self.not_too_far(row["timeoutAt"] + when[2])
        if when[1] < len(pools.FAR_INSTANTS):
            return self.not_too_far(pools.FAR_INSTANTS[when[1]])
        return now - 1 if when[1] < 10 and now else None

    def timers(self) -> list[int]:
        """The instants of all stored timers that are not in the past."""
        found = set()
        for row in self.world.promises.values():
            task = row.get("task", {})
            found |= {row["timeoutAt"], task.get("expiresAt", 0), task.get("retryAt", 0)}
        found |= {row["nextRunAt"] for row in self.world.schedules.values()}
        return sorted(instant for instant in found if instant >= self.world.now)

    def not_too_far(self, instant: int) -> int:
        """The instant, limited to `most_occurrences` of any schedule and to int64."""
        for row in self.world.schedules.values():
            last = row["nextRunAt"]
            for _ in range(self.most_occurrences):
                if last >= instant:
                    break
                last = next_occurrence(row["cron"], last)
            instant = min(instant, last)
        return max(self.world.now, min(instant, pools.INT64_MAX))

    # ---- data of the requests

    def promise_get(self, operation: Operation) -> Data:
        return {"id": self.aim(operation)}

    task_get = promise_get

    def promise_create(self, operation: Operation) -> Data:
        data = {"id": self.promise_id(operation["who"]), "timeoutAt": self.deadline(operation["timeout"])}
        if operation["tags"]:
            data["tags"] = self.tags(operation["tags"])
        if operation["param"] is not None:
            data["param"] = operation["param"]
        if operation["ikc"] is not None:
            data["ikc"] = operation["ikc"]
        return data

    def tags(self, drawn: Mapping[str, Any]) -> dict[str, str]:
        named = {}
        for name, text in drawn.items():
            if name == "delay" and isinstance(text, int):
                text = str(min(self.world.now + text, pools.INT64_MAX))
            named[name if name == "own" else f"resonate:{name}"] = text
        return named

    def promise_settle(self, operation: Operation) -> Data:
        return {"id": self.aim({"name": "promise_settle", **operation}), **settlement(operation)}

    def register(self, operation: Operation) -> Data:
        awaiter = self.aim({"name": "register", "who": operation["awaiter"], "aimed": operation["aimed"]})
        return {"awaited": self.awaited_id(operation["awaited"], operation["aim_awaited"], awaiter), "awaiter": awaiter}

    def listen(self, operation: Operation) -> Data:
        return {"awaited": self.aim(operation), "address": operation["address"]}

    def page(self, operation: Operation) -> Data:
        data = {name: operation[name] for name in ("id", "limit", "cursor")}
        data["tags"] = None if operation["own"] is None else {"own": operation["own"]}
        return data

    schedule_search = page

    def promise_search(self, operation: Operation) -> Data:
        return {**self.page(operation), "state": operation["state"]}

    def task_search(self, operation: Operation) -> Data:
        return {**self.page(operation), "state": operation["state"], "target": operation["target"]}

    def task_create(self, operation: Operation) -> Data:
        action = {"kind": "promise.create", "data": self.promise_create(operation)}
        return {"pid": operation["pid"], "ttl": operation["ttl"], "action": action}

    def versioned(self, operation: Operation) -> Data:
        """Id and version of a task."""
        task_id = self.aim(operation)
        return {"id": task_id, "version": self.task_version(task_id, operation["version"], operation["dialect"])}

    task_release = versioned

    def task_acquire(self, operation: Operation) -> Data:
        return {**self.versioned(operation), "pid": operation["pid"], "ttl": operation["ttl"]}

    def task_suspend(self, operation: Operation) -> Data:
        data = self.versioned(operation)
        kind = RENAMED[operation["dialect"]]["register"]
        awaited = [self.awaited_id(one, operation["aim_awaited"], data["id"]) for one in operation["awaited"]]
        data["actions"] = [{"kind": kind, "data": {"awaiter": data["id"], "awaited": one}} for one in awaited]
        return data

    def task_fulfill(self, operation: Operation) -> Data:
        data = self.versioned(operation)
        data["action"] = {"kind": "promise.settle", "data": {"id": data["id"], **settlement(operation)}}
        return data

    def fence_create(self, operation: Operation) -> Data:
        action = {"kind": "promise.create", "data": self.promise_create(operation["create"])}
        return {**self.versioned(operation), "action": action}

    def fence_settle(self, operation: Operation) -> Data:
        action = {"kind": "promise.settle", "data": self.promise_settle(operation["settle"])}
        return {**self.versioned(operation), "action": action}

    def task_heartbeat(self, operation: Operation) -> Data:
        named = [{"name": "task_heartbeat", "dialect": operation["dialect"], **one} for one in operation["tasks"]]
        pid = operation["pid"]
        if pid == "its holder":
            holders = (self.world.promises.get(self.aim(one), {}).get("task", {}).get("pid") for one in named)
            pid = next(filter(None, holders), pools.PIDS[0])
        return {"pid": pid, "tasks": [self.versioned(one) for one in named]}

    def task_halt(self, operation: Operation) -> Data:
        return {"id": self.aim(operation)}

    task_continue = task_halt

    def schedule_get(self, operation: Operation) -> Data:
        return {"id": [*pools.SCHEDULE_IDS, "none"][operation["who"]]}

    schedule_delete = schedule_pause = schedule_resume = schedule_get

    def schedule_create(self, operation: Operation) -> Data:
        data = {
            "id": pools.SCHEDULE_IDS[operation["who"]],
            "cron": operation["cron"],
            "promiseId": operation["template"],
            "promiseTimeout": operation["timeout"],
            "promiseTags": self.tags(operation["tags"]),
        }
        if operation["param"] is not None:
            data["promiseParam"] = operation["param"]
        return data

    def debug_tick(self, operation: Operation) -> Data:
        instant = self.instant_of(operation)
        return {"time": self.world.now if instant is None else instant}


def next_occurrence(cron: str, after: int) -> int:
    """Return the next occurrence of a cron expression, or the largest instant if there is none."""
    try:
        found = cron_next(cron, after, 1)
    except Invalid:
        return pools.INT64_MAX
    return found[0] if found else pools.INT64_MAX


def settlement(operation: Operation) -> Data:
    """The members of a settlement except the id."""
    data = {"state": operation["state"]}
    if operation["value"] is not None:
        data["value"] = operation["value"]
    if operation["iku"] is not None:
        data["iku"] = operation["iku"]
    return data


def request(kind: str, dialect: str, data: Any) -> Data:
    """A request; values of the pools are copied."""
    return copy.deepcopy(envelope(kind, data, "c", dialect))


def corrupt(request: Any, corruption: tuple[int, str, Any]) -> Any:
    """Replaces, removes or renames one member of an envelope."""
    number, how, wrong = corruption
    places = [(request, name) for name in request]
    for container, name in places:
        inner = container[name]
        if isinstance(inner, dict):
            places += [(inner, one) for one in inner]
        elif isinstance(inner, list):
            places += [(inner, one) for one in range(len(inner))]
    container, name = places[number % len(places)]
    if how == "put" or isinstance(container, list):
        container[name] = wrong
    else:
        value = container.pop(name)
        if how == "rename":
            container[f"{name}s"] = value
    return request
