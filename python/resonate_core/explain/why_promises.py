"""Why a promise or its task does not move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..base.failed_attempts import FailedAttempt, failed_attempts
from ..base.first_few import first_few
from ..base.instants import NEVER, counted, when
from ..calls.workflow_records import retry_in
from .job_waits import received_topic
from .reasons import Advice, Next, Reason
from .store_queries import awaited_elsewhere
from .store_reader import StoreReader
from .workflow_steps import outcome_of, record_in_words

__all__ = ["awaited_by_task", "why_promise"]

#: A lease that lasts longer is not waited for (ms): clients ask for 2^50 ms if they want none.
_ENDLESS = 366 * 86_400_000
_ENDS = {"resolved": "resolved", "rejected": "rejected", "rejected_canceled": "cancelled", "rejected_timedout": "timed out"}
#: The most ids that a sentence names.
_NAMED = 3


def why_promise(
    reader: StoreReader,
    promise: Mapping[str, Any],
    task: Mapping[str, Any] | None,
    listening: Callable[[str], bool | None] | None,
) -> Reason:
    """Return why a promise that is no job, or its task, does not move."""
    if promise["state"] != "pending":
        return _settled(reader, promise)
    if task is not None and not _is_timer(promise):
        return _task(reader, promise, task, listening)
    id, now, deadline = promise["id"], reader.store.now, promise["timeoutAt"]
    if _is_timer(promise):
        return _timer(reader, promise)
    row, caller = reader.row(id), promise["tags"].get("resonate:parent")
    settle: Advice = ("settle the promise", ("promise.settle", {"id": id, "state": "resolved"}))
    topic = None if row is None else received_topic(row)
    if topic is not None:
        sentence = f"Promise {id} waits for the next message of topic {topic} to job {caller}."
        send: Advice = (f"send a message of topic {topic} to the job", None)
        return Reason(id, "promise", "pending", sentence, _deadline(promise, now), advice=(send, settle))
    if caller and caller != id and _is_awaited_by(reader, id, caller):
        sentence = f"Promise {id} is a step of job {caller}, which waits for it until a client settles it."
        return Reason(id, "promise", "pending", sentence, _deadline(promise, now), advice=(settle,))
    record = record_in_words(promise)
    if record is not None and caller and reader.find("job", caller) is not None:
        sentence = f"{record} is run by job {caller}."
        return Reason(id, "promise", "pending", sentence, _deadline(promise, now), (caller,), advice=(settle,))
    if promise["tags"].get("resonate:scope") == "local" and caller and caller != id:
        failures = [failed for failed in _failures(reader, id) if failed.id == id]
        sentence = f"Promise {id} is settled by its caller {caller}, which runs it locally{_failed(reader, failures)}."
        following = _retry(failures, now) or _deadline(promise, now)
        return Reason(id, "promise", "pending", sentence, following, (caller,), advice=(settle,))
    sentence = f"Promise {id} waits until a client settles it; no task or job does it."
    return Reason(id, "promise", "pending", sentence, _deadline(promise, now), stuck=deadline == NEVER, advice=(settle,))


def _timer(reader: StoreReader, promise: Mapping[str, Any]) -> Reason:
    id, now, deadline = promise["id"], reader.store.now, promise["timeoutAt"]
    retry, record, job = retry_in(promise), record_in_words(promise), promise["tags"].get("resonate:parent")
    sentence = f"Timer {id} sleeps until {when(deadline, now)}."
    if retry is not None:
        after = "" if retry.error is None else f", after {reader.error_of(id, str(retry.error))}"
        sentence = f"{record} of job {job} begins at {when(deadline, now)}{after}."
    return Reason(id, "promise", "pending", sentence, Next("it is resolved", deadline, is_step=True))


def _is_awaited_by(reader: StoreReader, id: str, parent: str) -> bool:
    """Return whether a promise is a child of a job that waits for it: then no attempt of the job settles it."""
    row, its = reader.row(id), reader.row(parent)
    if row is None or its is None or row.get("child", {}).get("kind") != "record":
        return False
    job = its.get("job", {})
    return job.get("state") == "waiting" and id in job["awaits"]


def _message(row: Mapping[str, Any], promise: Mapping[str, Any], now: int) -> str:
    child = row["child"]
    topic = row["id"].removeprefix(f"{child['parent']}:@").partition(":")[0]
    read = "no step of it has received it yet" if child.get("unread") else "a step of it has received it"
    return f"Message {row['id']} of topic {topic} was sent to job {child['parent']} at {when(promise['settledAt'], now)}; {read}."


def _settled(reader: StoreReader, promise: Mapping[str, Any]) -> Reason:
    id, now = promise["id"], reader.store.now
    sentence = f"Promise {id} was {_ENDS[promise['state']]} at {when(promise['settledAt'], now)}."
    record = record_in_words(promise)
    if record is not None:
        outcome = outcome_of(promise, now, lambda error: reader.error_of(id, error))
        sentence = f"{record} of job {promise['tags'].get('resonate:parent')} {outcome}."
    waiting = [message for message in reader.messages(id) if message["kind"] in ("unblock", "notify")]
    if waiting:
        are = "is" if len(waiting) == 1 else "are"
        undelivered = f"{counted(len(waiting), 'message')} about it {are} not delivered"
        sentence = f"{sentence[:-1]}; {undelivered}, the first to {waiting[0]['address']}."
    row = reader.row(id)
    if row is not None and row.get("child", {}).get("kind") == "message":
        sentence = _message(row, promise, now)
    if row is not None and (row["callbacks"] or row["listeners"]):
        left = reader.count_of(row, "callbacks") + reader.count_of(row, "listeners")
        drain = Next(f"{left} awaiters and listeners are notified now", now, is_step=True)
        return Reason(id, "promise", promise["state"], sentence, drain)
    return Reason(id, "promise", promise["state"], sentence, None)


def _task(
    reader: StoreReader, promise: Mapping[str, Any], task: Mapping[str, Any], listening: Callable[[str], bool | None] | None
) -> Reason:
    id, state, now = promise["id"], task["state"], reader.store.now
    row = reader.row(id)
    stored: Mapping[str, Any] = {} if row is None else row.get("task", {})
    deadline = _deadline(promise, now)
    if state == "acquired":
        return _acquired(reader, task, stored, deadline)
    if state == "suspended":
        return _suspended(reader, promise, deadline)
    if state == "halted":
        advice: tuple[Advice, ...] = (("continue the task", ("task.continue", {"id": id})),)
        sentence = f"Task {id} is halted; it waits until a person continues it."
        return Reason(id, "task", state, sentence, deadline, stuck=True, advice=advice)
    return _pending(reader, promise, stored, deadline, listening)


def _acquired(reader: StoreReader, task: Mapping[str, Any], stored: Mapping[str, Any], deadline: Next | None) -> Reason:
    id, now, ends = task["id"], reader.store.now, stored.get("expiresAt")
    failures = _failures(reader, id)
    failed = _failed(reader, failures)
    advice: tuple[Advice, ...] = (("halt the task, then continue it: another worker acquires it", ("task.halt", {"id": id})),)
    if ends is None:
        return Reason(id, "task", "acquired", f"Task {id} is run by {task['pid']}{failed}.", deadline, advice=advice)
    if ends - now > _ENDLESS:
        sentence = f"Task {id} is run by {task['pid']}, whose lease has no end: if that worker has died, nobody notices."
        return Reason(id, "task", "acquired", sentence, deadline, stuck=deadline is None, advice=advice)
    beat = when(ends - task["ttl"], now)
    expiry = Next(f"its lease ends unless {task['pid']} renews it; it is then dispatched again", ends, is_step=True)
    sentence = f"Task {id} is run by {task['pid']}, which last renewed its lease at {beat}{failed}."
    return Reason(id, "task", "acquired", sentence, _retry(failures, now) or _first(expiry, deadline), advice=advice)


def _failures(reader: StoreReader, id: str) -> list[FailedAttempt]:
    """Return the failures of a promise, or of the calls of a task, that a worker of this process tries again; the next one first."""
    found = failed_attempts(reader.store).held(lambda task: reader.find("task", task), ids=(id,))
    return sorted(found, key=lambda failed: (failed.next_at, failed.id))


def _failed(reader: StoreReader, failures: list[FailedAttempt]) -> str:
    """Return the first of these failures as the end of a sentence, and how many more there are; empty if there are none."""
    if not failures:
        return ""
    first = failures[0]
    more = f", and {len(failures) - 1} other calls have failed" if len(failures) > 1 else ""
    return f"; {first.told(reader.store.now, reader.failure(first))}{more}"


def _retry(failures: list[FailedAttempt], now: int) -> Next | None:
    """Return the next attempt of these failures, if it has not begun."""
    at = min((failed.next_at for failed in failures if failed.next_at > now), default=None)
    return None if at is None else Next("its next attempt begins", at)


def _suspended(reader: StoreReader, promise: Mapping[str, Any], deadline: Next | None) -> Reason:
    id = promise["id"]
    awaited = awaited_by_task(reader, id, promise)
    if not awaited:
        return Reason(id, "task", "suspended", f"Task {id} is suspended until a promise that it awaits is settled.", deadline)
    waits = f"it waits for {first_few(awaited, _NAMED)}"
    return Reason(id, "task", "suspended", f"Task {id} is suspended: {waits}.", deadline, tuple(awaited))


def _pending(
    reader: StoreReader,
    promise: Mapping[str, Any],
    stored: Mapping[str, Any],
    deadline: Next | None,
    listening: Callable[[str], bool | None] | None,
) -> Reason:
    id, now, tags = promise["id"], reader.store.now, promise["tags"]
    address = tags.get("resonate:target") or tags.get("resonate:invoke")
    if not address:
        sentence = f"Task {id} has no address, so no message is sent: a worker must acquire it by its id."
        return Reason(id, "task", "pending", sentence, deadline, stuck=deadline is None)
    message = next((one for one in reader.messages(id) if one["kind"] in ("execute", "invoke", "resume")), None)
    retry = stored.get("retryAt", NEVER)
    if message is None:
        delay = tags.get("resonate:delay", "")
        again = Next("it is dispatched", retry, is_step=True) if retry != NEVER else None
        if delay.isascii() and delay.isdigit() and int(delay) > now:
            return Reason(id, "task", "pending", f"Task {id} is delayed until {when(int(delay), now)}.", _first(again, deadline))
        sentence = f"Task {id} was dispatched to {address}, and no worker has acquired it yet."
        if retry <= now:
            sentence = f"Task {id} is due to be dispatched to {address}."
        return Reason(id, "task", "pending", sentence, _first(again, deadline))
    since = when(message["queuedAt"], now)
    if message.get("leasedUntil", 0) > now:
        sentence = f"Task {id} waits: {message['holder']} is delivering its message to {address}."
        ends = Next("another process may deliver it", message["leasedUntil"])
        return Reason(id, "task", "pending", sentence, _first(ends, deadline))
    if listening is not None and listening(address) is False:
        sentence = f"Task {id} waits for a worker: no worker listens on {address}; its message is queued since {since}."
        return Reason(id, "task", "pending", sentence, deadline, stuck=True)
    failed = f", after {counted(message['attempts'], 'attempt')} to deliver it" if message["attempts"] else ""
    sentence = f"Task {id} waits for a worker: its message to {address} is not delivered since {since}{failed}."
    return Reason(id, "task", "pending", sentence, deadline)


def awaited_by_task(reader: StoreReader, id: str, promise: Mapping[str, Any]) -> list[str]:
    """Return the pending promises that a task awaits, in order of their creation.

    The store keeps for each promise who awaits it. So the promises of the same workflow are examined, and the jobs that it awaits.
    """
    family = {one["id"]: one for one in reader.family(promise)}
    pending = sorted((one["createdAt"], one["id"]) for one in family.values() if one["state"] == "pending" and one["id"] != id)
    found = reader.awaited_of(id, [other for _, other in pending])
    return [*found, *(other for other in awaited_elsewhere(reader, id) if other not in found)]


def _is_timer(promise: Mapping[str, Any]) -> bool:
    return bool(promise["tags"].get("resonate:timer") == "true")


def _deadline(promise: Mapping[str, Any], now: int) -> Next | None:
    at = promise["timeoutAt"]
    return None if at == NEVER else Next("it times out", at, is_step=True)


def _first(*candidates: Next | None) -> Next | None:
    """Return the earliest of several steps."""
    given = [one for one in candidates if one is not None and one.at is not None and one.at != NEVER]
    return min(given, key=lambda one: one.at or 0) if given else None
