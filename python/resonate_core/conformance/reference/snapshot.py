"""The two snapshots: the full snapshot, from which a store is restored, and that of ``debug.snap``."""

from __future__ import annotations

import copy

from . import wire
from .jobs_queues import counts
from .world import NEW, id_order


def in_order(rows):
    return sorted(rows.values(), key=lambda row: id_order(row["id"]))


def full(world):
    """Everything that is stored, in the format ``resonate_core/1``."""
    taken = {
        "format": "resonate_core/1",
        "now": world.stored_now,
        "dropped": world.dropped,
        "promises": in_order(world.promises),
        "schedules": in_order(world.schedules),
        "messages": world.messages,
    }
    if world.generated_jobs:
        taken["generatedJobs"] = world.generated_jobs
    if world.queues:
        taken["queues"] = [dict(world.queues[name], counts=counts(world, name)) for name in sorted(world.queues, key=id_order)]
    return copy.deepcopy(taken)


def load(world, snapshot):
    """Replaces everything that is stored by a full snapshot."""
    snapshot = copy.deepcopy(snapshot)
    world.now = max(world.now, snapshot["now"])
    world.stored_now = snapshot["now"]
    world.dropped = snapshot["dropped"]
    world.generated_jobs = snapshot.get("generatedJobs", 0)
    world.promises = {row["id"]: row for row in snapshot["promises"]}
    world.schedules = {row["id"]: row for row in snapshot["schedules"]}
    world.queues = {row["name"]: row for row in snapshot.get("queues", [])}
    for queue in world.queues.values():
        del queue["counts"]
        queue.pop("hour", None)  # the model counts no hours
    world.messages = snapshot["messages"]


def debug(world):
    """The stored rows, not projected, as ``debug.snap`` shows them."""
    rows = in_order(world.promises)
    with_task = [row for row in rows if "task" in row]
    timeouts = []
    for row in with_task:
        for kind, name in enumerate(("retryAt", "expiresAt")):
            if name in row["task"]:
                timeouts.append({"id": row["id"], "type": kind, "timeout": row["task"][name]})
    executes = [message for message in world.messages if "version" in message]
    unblocks = [message for message in world.messages if "version" not in message]
    executes.sort(key=lambda message: id_order(message["id"]))
    unblocks.sort(key=lambda message: (id_order(message["id"]), id_order(message["address"])))
    messages = [wire.message(message, world.promises) for message in executes + unblocks]
    return {
        "promises": [wire.promise(row, NEW) for row in rows],
        "promiseTimeouts": [
            {"id": row["id"], "timeout": row["timeoutAt"]} for row in rows if row["state"] == "pending" and row["external"]
        ],
        "callbacks": [{"awaiter": awaiter, "awaited": row["id"]} for row in rows for awaiter in row["callbacks"]],
        "listeners": [{"id": row["id"], "address": one["address"]} for row in rows for one in row["listeners"]],
        "tasks": [wire.task(row, NEW) for row in with_task],
        "taskTimeouts": timeouts,
        "messages": [{"address": one["address"], "message": one["message"]} for one in messages],
    }
