"""Why a job does not move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.instants import NEVER, counted, when
from ..base.rates import claimable_at
from ..base.standstills import Standstill, standstill_line, standstills_of
from ..base.states import ENDED_AT, expires_at
from ..base.step_lines import ToldStep
from ..calls.workflow_records import name_in, retry_in
from .job_waits import Waits, received_topic, waits_before_start
from .reasons import Advice, Next, Reason
from .store_queries import batch_ready_at, jobs_in, leases_in, queue_row, waiting_in
from .store_reader import StoreReader
from .unknown_types import put_back
from .workflow_steps import steps_that_run, told

__all__ = ["briefs_of", "next_token", "place_free", "standstill_in", "why_job"]

#: The most running jobs of a queue whose reports are read.
_MOST_REPORTING = 20
_AT_A_STANDSTILL: tuple[Advice, ...] = (
    ("start another worker of this queue, or give the jobs that others wait for a queue and a worker of their own", None),
)

#: The most ids that a sentence about a waiting job names.
_MOST_NAMED = 3
#: The most failed dependencies that are followed to the first.
_MOST_FOLLOWED = 20

#: The default of `grace`, in ms.
_GRACE = 60_000


def why_job(reader: StoreReader, job: Mapping[str, Any]) -> Reason:
    """Return why a job does not move."""
    state = job["state"]
    if state in ENDED_AT:
        return _final(reader, job)
    tell = {
        "pending": _pending,
        "scheduled": _scheduled,
        "waiting": _waiting,
        "retry": _retry,
        "archived": _archived,
    }
    return tell.get(state, _held)(reader, job)


def _reason(job: Mapping[str, Any], sentence: str, next: Next | None, **more: Any) -> Reason:
    return Reason(job["id"], "job", job["state"], f"Job {job['id']} {sentence}", next, **more)


def _ends(job: Mapping[str, Any], *others: Next | None) -> Next | None:
    """Return the earliest of the steps that end a wait: the given ones, the expiry before the first start, the deadline."""
    found = [one for one in others if one is not None]
    good, deadline = expires_at(job, job["state"]), job.get("deadline", NEVER)
    if good != NEVER:
        found.append(Next("it expires if its first attempt has not started", good, is_step=True))
    if deadline != NEVER:
        found.append(Next("its deadline is reached, and it fails", deadline, is_step=True))
    return min(found, key=lambda one: NEVER if one.at is None else one.at) if found else None


def _failure(reader: StoreReader, job: Mapping[str, Any]) -> str:
    error = job.get("error")
    if error is None:
        return ""
    message = reader.said(job, error["message"]) if error.get("message") else None
    return f" after {error['code']}" + (f" ({message})" if message else "")


def _pending(reader: StoreReader, job: Mapping[str, Any]) -> Reason:
    queue, now = job["queue"], reader.store.now
    status, data = reader.ask("queue.get", {"queue": queue})
    known: Mapping[str, Any] = data["queue"] if status == 200 else {"paused": False, "active": 0}
    if known["paused"]:
        advice: tuple[Advice, ...] = (("resume the queue", ("queue.resume", {"queue": queue})),)
        return _reason(job, f"is pending: queue {queue} is paused.", _ends(job), stuck=True, advice=advice)
    limit = known.get("concurrency")
    if limit is not None and known["active"] >= limit:
        raise_it: tuple[Advice, ...] = (
            ("raise the limit of the queue", ("queue.set", {"queue": queue, "concurrency": limit + 1})),
        )
        sentence = f"is pending: queue {queue} has reached its limit of {limit} claimed and running jobs."
        held = [one["id"] for one in leases_in(reader, queue)[:3]]
        return _reason(job, sentence, _ends(job, place_free(reader, queue)), waits_for=held, advice=raise_it)
    token = next_token(reader, queue)
    if token is not None and token > now:
        next = Next("the rate of the queue allows a claim", token)
        return _reason(job, f"is pending: queue {queue} has reached its rate.", _ends(job, next))
    waiting = waiting_in(reader, queue)
    ahead = f", with {counted(waiting - 1, 'other job')}" if waiting > 1 else ""
    since = when(job["enqueuedAt"], now)
    still = standstill_in(reader, queue)
    if still is not None:
        sentence = f"waits for a worker of queue {queue}{ahead} since {since}: {still}."
        return _reason(job, sentence, _ends(job), stuck=True, advice=_AT_A_STANDSTILL)
    if not known["active"]:
        sentence = f"waits for a worker of queue {queue}{ahead} since {since}: no worker holds a job of this queue."
    else:
        sentence = f"waits for a worker of queue {queue}{ahead} since {since}; its workers are busy with other jobs."
    return _reason(job, sentence, _ends(job))


def place_free(reader: StoreReader, queue: str) -> Next | None:
    """Return when a queue at its limit has a place again; None if no lease on its jobs is visible."""
    ends = min((one["expiresAt"] for one in leases_in(reader, queue)), default=None)
    return Next("a place is free when one of them ends, at the latest when the first lease ends", ends) if ends else None


def next_token(reader: StoreReader, queue: str) -> int | None:
    """Return when the rate of a queue allows its next claim; None if it has no rate or that is not known."""
    row = queue_row(reader, queue)
    return None if row is None else claimable_at(row)


def _scheduled(reader: StoreReader, job: Mapping[str, Any]) -> Reason:
    now = reader.store.now
    if job.get("gathering"):
        row = reader.row(job["id"])
        due = batch_ready_at(reader, job)
        limits = (queue_row(reader, job["queue"]) or {}).get("groups", {})
        size = limits.get("size")
        until = f"until {size} members have joined" if size else "until it is ready"
        sentence = f"gathers with group {job['group']} of queue {job['queue']}, {until}."
        advice: tuple[Advice, ...] = ()
        if "maxDelay" not in limits:
            sentence += " The queue has no maxDelay, so each job that joins puts the batch off."
            longest = {**limits, "maxDelay": max(1, 10 * limits.get("grace", _GRACE))}
            advice = (("set a maxDelay, from the next job on", ("queue.set", {"queue": job["queue"], "groups": longest})),)
        next = Next("the batch is ready", due, is_step=True) if due is not None and row is not None else None
        return _reason(job, sentence, _ends(job, next), advice=advice)
    at = job["processAt"]
    next = Next("it becomes pending", at, is_step=True)
    run: tuple[Advice, ...] = (("run the job now", ("job.run", {"id": job["id"]})),)
    if put_back(job) is not None:
        run = ((f"start a worker that has a handler for type {job['type']!r}", None), *run)
    return _reason(job, f"is scheduled for {when(at, now)}{_snoozed(reader, job)}.", _ends(job, next), advice=run)


def _snoozed(reader: StoreReader, job: Mapping[str, Any]) -> str:
    """Return why the job was put back, if its last attempts were snoozed: the last line that they reported."""
    attempts = job.get("attempts", [])
    if not attempts or attempts[-1].get("outcome") != "snoozed":
        return ""
    first = 1 + max((one["number"] for one in attempts if one.get("outcome") != "snoozed"), default=0)
    lines = [line["text"] for line in job.get("report", {}).get("lines", []) if line["attempt"] >= first]
    line = reader.said(job, lines[-1]) if lines else None
    return f": attempt {attempts[-1]['number']} was snoozed" + (f" ({line})" if line is not None else "")


def _waiting(reader: StoreReader, job: Mapping[str, Any]) -> Reason:
    id, count, by_after = job["id"], job["awaits"]["count"], waits_before_start(job)
    waits = Waits(reader, id)
    awaited, obstacle = waits.in_order, waits.obstacle
    named = waits.lacks.get(id, [])[:_MOST_NAMED]
    if awaited and awaited[0] not in named:
        named = [*named[:-1], awaited[0]]
    briefs = briefs_of(reader, [*named, *obstacle])
    more = count - len(named)
    text = ", ".join(f"{other} ({briefs[other]})" for other in named) + (f" and {more} more" if named and more else "")
    total = len(job["after"]) if by_after else count
    if total > 1:
        number = f"{count} of {total}" if by_after else f"one of {count}" if id in waits.needs_one else str(count)
        text = f"{number}: {text}" if text else f"{number} that are not visible"
    sentence = f"waits for {text or 'a promise that is not visible'}"
    if len(obstacle) > 1:
        cause, path = obstacle[-1], [id, *obstacle]
        if waits.has_circle:
            circle = path[path.index(cause) :]
            sentence += f"; these wait for each other, and nothing ends this circle: {', '.join(circle)}"
        else:
            sentence += f"; it is held up by {cause} ({briefs[cause]})"
    sentence += "."
    if by_after:
        failed = "one of them" if total > 1 else "it"
        sentence += f" It {'runs even' if job['afterFailed'] == 'run' else 'is cancelled'} if {failed} fails."
    advice: tuple[Advice, ...] = (
        ("run the job anyway, without what it waits for", ("job.run", {"id": id})),
        ("cancel the job", ("job.cancel", {"id": id})),
    )
    last = "one of them" if id in waits.needs_one else "the last of them"
    wake = None if obstacle else Next(f"it becomes pending when {last if total > 1 else 'that'} is settled", None)
    return _reason(job, sentence, _ends(job, wake), waits_for=awaited, stuck=bool(obstacle), advice=advice, names_cause=True)


def briefs_of(reader: StoreReader, ids: Sequence[str]) -> dict[str, str]:
    """Return the state of each awaited id in a few words."""
    jobs = reader.find_all("job", list(dict.fromkeys(ids)))
    rows = reader.rows([id for id in ids if id not in jobs])
    return {id: _brief_job(reader, jobs[id]) if id in jobs else _brief_promise(reader, rows.get(id)) for id in ids}


def _brief_job(reader: StoreReader, job: Mapping[str, Any]) -> str:
    called = name_in(job.get("tags", {}))  # of a child job
    return f"{called}: {_state_of_job(reader, job)}" if called else _state_of_job(reader, job)


def _state_of_job(reader: StoreReader, job: Mapping[str, Any]) -> str:
    state, now = job["state"], reader.store.now
    if state == "running":
        return f"running since {when(job['startedAt'], now)}"
    if state == "retry":
        return f"retry at {when(job['nextRetryAt'], now)}"
    if state == "scheduled" and "processAt" in job and not job.get("gathering"):
        return f"scheduled for {when(job['processAt'], now)}"
    if state == "pending":
        status, data = reader.ask("queue.get", {"queue": job["queue"]})
        if status == 200 and data["queue"]["paused"]:
            return f"pending, queue {job['queue']} is paused"
    has_failed = "error" in job and (state in ("archived", "failed", "expired") or _lost_dependency(job))
    return f"{state} after {job['error']['code']}" if has_failed else str(state)


def _brief_promise(reader: StoreReader, row: Mapping[str, Any] | None) -> str:
    if row is None:
        return "does not exist or is not visible"
    if row["state"] != "pending":
        return str(row["state"])
    retry = retry_in(row)
    if retry is not None:
        after = "" if retry.error is None else f", after {reader.error_of(row['id'], str(retry.error))}"
        return f"attempt {retry.failed + 1} of step {retry.name} at {when(row['timeoutAt'], reader.store.now)}{after}"
    if row["tags"].get("resonate:timer") == "true":
        return f"timer until {when(row['timeoutAt'], reader.store.now)}"
    topic = received_topic(row)
    if topic is not None:
        return f"no message of topic {topic} yet"
    if row.get("task") is None:
        return "promise, not settled"
    called = name_in(row["tags"])  # of a call of a program
    return f"{called}: task {row['task']['state']}" if called else f"task {row['task']['state']}"


def _retry(reader: StoreReader, job: Mapping[str, Any]) -> Reason:
    at, now = job["nextRetryAt"], reader.store.now
    next = Next("its next attempt can start", at, is_step=True)
    sentence = f"waits for retry {job['retryCount']} of {job['maxRetries']} at {when(at, now)}{_failure(reader, job)}."
    run: tuple[Advice, ...] = (("run the job now", ("job.run", {"id": job["id"]})),)
    return _reason(job, sentence, _ends(job, next), advice=run)


def _archived(reader: StoreReader, job: Mapping[str, Any]) -> Reason:
    id = job["id"]
    row = reader.row(id)
    remove: Advice = ("delete the job", ("job.delete", {"id": id}))
    if row is not None and row["callbacks"]:  # it cannot be deleted
        remove = ("cancel the job; its awaiters are then notified", ("job.cancel", {"id": id}))
    advice: tuple[Advice, ...] = (("run the job again", ("job.run", {"id": id})), remove)
    sentence = (
        f"is archived{_failure(reader, job)}: no retry is left, and its awaiters keep waiting until a person runs or cancels it."
    )
    if job["retryCount"] < job["maxRetries"]:
        sentence = f"is archived{_failure(reader, job)}; its awaiters keep waiting until a person runs or cancels it."
    return _reason(job, sentence, _ends(job), stuck=True, advice=advice)


def _held(reader: StoreReader, job: Mapping[str, Any]) -> Reason:
    now, worker, ends = reader.store.now, job.get("claimedBy", "a worker"), job.get("leaseUntil")
    then = "it is pending again" if job["state"] == "claimed" else "its attempt fails with WorkerCrashed"
    lease = None
    if ends is not None:
        lease = Next(f"its lease ends unless {worker} renews it; then {then}", ends, is_step=True)
    cancel: tuple[Advice, ...] = (("cancel the job", ("job.cancel", {"id": job["id"]})),)
    if job["state"] == "claimed":
        return _reason(job, f"is claimed by {worker} and has not started.", _ends(job, lease), advice=cancel)
    since, others = when(job["startedAt"], now), [lease]
    if "timeout" in job:
        at = job["startedAt"] + job["timeout"]
        others.append(Next("its attempt fails with TaskTimeout", at, is_step=True))
    still = _standstill_in_holder(reader, job)
    if still is not None:
        waits = next((slot.awaits for slot in still.held if slot.id == job["id"]), ())
        sentence = f"is run by {worker} since {since}; {still.sentence(reader.sees)}."
        return _reason(job, sentence, _ends(job, *others), waits_for=waits, stuck=True, advice=(*cancel, *_AT_A_STANDSTILL))
    reported = _reported_standstill(reader, job)
    if reported is not None:
        return _reason(job, f"is run by {worker} since {since}; {reported}.", _ends(job, *others), stuck=True, advice=cancel)
    steps = _steps_that_run(reader, job)
    for step in steps:
        if step.begins_at is not None and step.begins_at > now:
            others.append(Next(f"attempt {step.attempt} of step {step.name} begins", step.begins_at))
    said = told(steps, now, lambda error: reader.error_of(job["id"], error))
    doing = f"; {said}" if said else ""
    return _reason(job, f"is run by {worker} since {since}{doing}.", _ends(job, *others), advice=cancel)


def _steps_that_run(reader: StoreReader, job: Mapping[str, Any]) -> list[ToldStep]:
    """Return the steps of a workflow that run, with what they have raised last, which a timer keeps if a line does not."""

    def settled(ids: list[str]) -> list[str]:
        return [id for id, row in reader.rows(ids).items() if row["state"] != "pending"]

    steps = steps_that_run(job, settled)
    for step in steps:
        timer = None if step.error is not None or step.attempt == 1 else reader.row(f"{step.id}:{step.attempt - 1}")
        retry = None if timer is None else retry_in(timer)
        if retry is not None and retry.error is not None:
            step.error = str(retry.error)
    return steps


def _standstill_in_holder(reader: StoreReader, job: Mapping[str, Any]) -> Standstill | None:
    """Return the standstill of the worker that holds a job, if this process runs it."""
    return next((one for one in standstills_of(reader.store) if one.worker == job.get("claimedBy")), None)


def standstill_in(reader: StoreReader, queue: str) -> str | None:
    """Return the sentence that a worker of a queue stands still, if one does.

    That is known of the workers of this process, and of those of others if one of their jobs has reported it.
    """
    here = next((one for one in standstills_of(reader.store) if queue in one.queues), None)
    if here is not None:
        return here.sentence(reader.sees)
    reported = (_reported_standstill(reader, job) for job in jobs_in(reader, queue, ("running",), _MOST_REPORTING))
    return next((one for one in reported if one is not None), None)


def _reported_standstill(reader: StoreReader, job: Mapping[str, Any]) -> str | None:
    """Return the last line of the report of the running attempt, if its worker has added there that it stands still."""
    lines = job.get("report", {}).get("lines", [])
    attempts = job.get("attempts", [])
    if not lines or not attempts or lines[-1]["attempt"] != attempts[-1]["number"]:
        return None
    if lines[-1]["text"] != standstill_line(job.get("claimedBy", "")):  # the line of the worker itself, not one of a handler
        return None
    return reader.said(job, lines[-1]["text"])


def _final(reader: StoreReader, job: Mapping[str, Any]) -> Reason:
    state, now = job["state"], reader.store.now
    at = job.get(ENDED_AT[state], now)
    word = "has completed" if state == "completed" else f"was {state}" if state == "cancelled" else f"has {state}"
    reason = _failure(reader, job) if state in ("failed", "expired") or _lost_dependency(job) else ""
    reason += _first_failure(reader, job) if _lost_dependency(job) else ""
    row = reader.row(job["id"])
    waiting = reader.messages(job["id"])
    next = None
    if "retention" in job and state == "completed":
        gone = min(at + job["retention"], NEVER)
        next = None if gone == NEVER else Next("it is deleted, unless something still refers to it", gone)
    if waiting:
        are = "is" if len(waiting) == 1 else "are"
        reason += f"; {counted(len(waiting), 'message')} about it {are} not delivered, the first to {waiting[0]['address']}"
    elif row is not None and row["callbacks"]:
        next = Next(f"{reader.count_of(row, 'callbacks')} awaiters are notified now", now, is_step=True)
    return _reason(job, f"{word} at {when(at, now)}{reason}.", next)


def _lost_dependency(job: Mapping[str, Any]) -> bool:
    """Return whether a job was cancelled because one that it waited for is not resolved (JOBS 3)."""
    return bool(job["state"] == "cancelled" and job.get("error", {}).get("code") == "DependencyFailed")


def _first_failure(reader: StoreReader, job: Mapping[str, Any]) -> str:
    """Return the job or promise whose failure began a chain of failed dependencies; empty if the message of this one names it."""
    found, last = "", job
    for depth in range(_MOST_FOLLOWED):
        promises = reader.find_all("promise", last["after"])
        failed = [one for one in promises.values() if one["state"] not in ("pending", "resolved")]
        if not failed:
            break
        id = min(failed, key=lambda one: (one["settledAt"], one["id"]))["id"]
        found = f"; this began with {id} ({briefs_of(reader, [id])[id]})" if depth else ""
        cause = reader.find("job", id)
        if cause is None or not _lost_dependency(cause):
            break
        last = cause
    return found
