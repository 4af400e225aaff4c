"""Internal steps, one at a time (PROTOCOL 4)."""

from __future__ import annotations

from . import jobs_cancellation, jobs_kept, jobs_steps, jobs_waiting, schedules, wire
from .tasks import become_pending
from .world import INT64_MAX, OLD, id_order, is_timer, later, project, settle, target, verdict

DEFAULT_RETRY = 5000
TOO_LATE = 60_000
RANKS = {
    "promise_timeout": 0,
    "job_expiry": 0,
    "lease_expiry": 1,
    "job_lease": 1,
    "job_timeout": 1,
    "dispatch": 2,
    "job_ready": 2,
    "job_batch": 2,
    "job_retention": 3,
    "schedule": 4,
}
"""The order of kinds at one instant."""
BUDGET = 64
"""The maximum number of steps that follow most requests."""


def budget_after(request):
    """The maximum number of steps that follow the request; None: every step that is due, as in a tick."""
    if request.kind in ("debug.start", "debug.stop"):
        return None
    return BUDGET + (len(request.data["jobs"]) if request.kind == "job.complete_many" else 0)


def begin(world):
    """Runs before every tick and every request except reads: drops unblocks whose retention has passed, and counts them."""
    see(world)
    kept = []
    for message in world.messages:
        # No saturation here: an unblock is kept for the whole retention even if that ends after the largest instant.
        kept_until = message["queuedAt"] + world.unblock_retention
        if message["kind"] in ("unblock", "notify") and kept_until <= world.now:
            world.dropped += 1
        else:
            kept.append(message)
    world.messages = kept


def see(world):
    """Stores the current instant. If a task's message is still queued, its retryAt moves as if each retry had queued it again."""
    for row in world.promises.values():
        if rests(world, row):
            task = row["task"]
            while task["retryAt"] <= world.now:
                # All missed intervals at once, since there may be 2^60 of them.
                missed = (world.now - task["retryAt"]) // retry_interval(world, task) + 1
                task["retryAt"] = later(task["retryAt"], missed * retry_interval(world, task))
                if task["retryAt"] == INT64_MAX:
                    break
    world.stored_now = world.now


def rests(world, row):
    """Whether no timer dispatches a pending task, because its last message is still in the outbox.

    A dispatch that is already due still runs; then the queued message is an older one.
    """
    task = row.get("task")
    if task is None or task["state"] != "pending" or "job" in row or target(row) is None or is_timer(row["tags"]):
        return False
    waits = any("version" in message and message["id"] == row["id"] for message in world.messages)
    return waits and task["retryAt"] > world.stored_now


def retry_interval(world, task):
    """Milliseconds from one message of a pending task to the next."""
    return task.get("lastTtl", DEFAULT_RETRY) if world.retry_timeout == "ttl" else world.retry_timeout


def run(world, budget=None):
    """Runs the first step that is due, again and again until there is none or the budget is used."""
    taken = 0
    while budget is None or taken < budget:
        row = next_drain(world)
        if row is not None:
            drain(world, row)
        else:
            due = [step for step in timers(world) if step[0] <= world.now]
            if not due:
                return
            take(world, *min(due, key=lambda step: (step[0], RANKS[step[1]], id_order(step[2]))))
        taken += 1


def next_due(world):
    """The instant of the next step, or None."""
    instants = [step[0] for step in timers(world)]
    if next_drain(world) is not None:
        instants.append(world.now)
    # A step that was due before is due now.
    return max(min(instants), world.now) if instants else None


def timers(world):
    """All timers as (deadline, kind, id), including those that are not due yet."""
    found = []
    for row in world.promises.values():
        if "job" in row:
            found += [(at, kind, row["id"]) for at, kind in jobs_steps.timers(world, row)]
        if row["state"] != "pending":
            continue
        # A job without a deadline never times out, not even at the largest instant.
        if row["external"] and not ("job" in row and row["timeoutAt"] == INT64_MAX):
            found.append((row["timeoutAt"], "promise_timeout", row["id"]))
        if "task" not in row or "job" in row or row["timeoutAt"] <= world.now:
            continue
        task = row["task"]
        if task["state"] == "acquired":
            found.append((task["expiresAt"], "lease_expiry", row["id"]))
        if task["state"] == "pending" and target(row) is not None and not is_timer(row["tags"]) and not rests(world, row):
            found.append((task["retryAt"], "dispatch", row["id"]))
    for row in world.schedules.values():
        if row["nextRunAt"] < INT64_MAX and not row.get("paused"):
            found.append((row["nextRunAt"], "schedule", row["id"]))
    return found


def take(world, deadline, kind, row_id):
    if kind == "schedule":
        run_schedule(world, world.schedules[row_id])
        return
    row = world.promises[row_id]
    detail = {"batch": row["job"]["batch"]} if kind == "job_batch" else {}
    if kind == "promise_timeout":
        jobs_steps.before_end(world, row, "timed_out", row["timeoutAt"])
        settle(row, verdict(row["tags"]), {}, row["timeoutAt"])
    elif kind == "lease_expiry":
        become_pending(row, world.now)
    elif kind == "dispatch":
        dispatch(world, row)
        detail = {"address": target(row)}
    else:
        row_id = jobs_steps.take(world, row, kind, deadline)
        if row_id is None:
            return
    record(world, kind, row_id, deadline, detail)


def record(world, kind, row_id, at, detail):
    world.fired.append({"kind": kind, "id": row_id, "at": at, "now": world.now, "detail": detail})


def dispatch(world, row):
    """Queues the task's message and sets its next retry."""
    task = row["task"]
    kind = "execute"
    if row["dialect"] == OLD:
        kind = "resume" if "current" in task else "invoke"
    queue(
        world,
        {
            "kind": kind,
            "id": row["id"],
            "version": task["acquisitions"],
            "address": target(row),
            "attempts": 0,
            "queuedAt": world.now,
        },
    )
    task["retryAt"] = later(world.now, retry_interval(world, task))


def queue(world, message):
    """Adds a message at the end of the outbox; it replaces an older message with the same key."""
    world.messages = [old for old in world.messages if wire.message_key(old) != wire.message_key(message)]
    world.messages.append(message)


def next_drain(world):
    """The first settled promise by id that still has listeners, callbacks or, if it was cancelled, jobs that it awaits."""
    waiting = [
        row
        for row in world.promises.values()
        if row["state"] != "pending"
        and (row["listeners"] or row["callbacks"] or jobs_cancellation.first_awaited(world, row) is not None)
    ]
    return min(waiting, key=lambda row: id_order(row["id"]), default=None)


def drain(world, row):
    """Notifies one listener of a settled promise, or else one awaiter; then a cancelled one leaves a job that it awaits."""
    if row["listeners"]:
        listener = row["listeners"].pop(0)
        queue(
            world,
            {
                "kind": "notify" if listener["dialect"] == OLD else "unblock",
                "id": row["id"],
                "address": listener["address"],
                "attempts": 0,
                "queuedAt": world.now,
            },
        )
        record(world, "listener_drain", row["id"], row["settledAt"], {"address": listener["address"]})
        return
    if not row["callbacks"]:
        awaited = jobs_cancellation.first_awaited(world, row)
        cancelled = jobs_cancellation.cancel_awaited(world, row, awaited)
        record(world, "cancel_drain", row["id"], row["settledAt"], {"job": awaited["id"], "cancelled": cancelled})
        return
    awaiter_id = row["callbacks"].pop(0)
    awaiter = world.promises.get(awaiter_id, {})
    if "job" in awaiter:
        jobs_waiting.settled(world, awaiter, row)
    else:
        if "job" in row and awaiter_id not in row["job"]["awaiters"]:
            row["job"]["awaiters"].append(awaiter_id)
        if awaiter:
            resume(world, awaiter, row["id"])
            if "job" not in row:
                jobs_kept.keep(row, awaiter_id)
    record(world, "callback_drain", row["id"], row["settledAt"], {"awaiter": awaiter_id})


def resume(world, awaiter, awaited_id):
    """Wakes a task whose awaited promise is settled, or adds the promise to its resumes."""
    task = project(awaiter, world.now).get("task")
    if task is None or task["state"] == "fulfilled":
        return
    if task["state"] == "suspended":
        become_pending(awaiter, world.now)
        task["resumes"] = [awaited_id]
        task["current"] = awaited_id
    elif awaited_id not in task["resumes"]:
        task["resumes"].append(awaited_id)


def run_schedule(world, row):
    """Makes one occurrence or skips it, and sets the next instant."""
    deadline = occurrence = row["nextRunAt"]
    if world.catchup != "all":
        while schedules.next_run(row, occurrence) <= min(world.now, INT64_MAX - 1):
            occurrence = schedules.next_run(row, occurrence)
    row["nextRunAt"] = schedules.next_run(row, occurrence)
    if world.catchup == "none" and world.now - occurrence > TOO_LATE:
        promise_id, created = None, False
    else:
        promise_id, created = schedules.occur(world, row, occurrence)
        row["lastRunAt"] = occurrence
    record(world, "schedule", row["id"], deadline, {"promise_id": promise_id, "created": created})
