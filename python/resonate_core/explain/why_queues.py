"""Why a schedule or a queue does not move."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.instants import NEVER, counted, when
from .job_waits import Waits
from .reasons import Advice, Next, Reason
from .store_queries import jobs_in, put_back_of
from .store_reader import StoreReader
from .why_jobs import briefs_of, place_free, standstill_in

if TYPE_CHECKING:
    from .._core import JobState

__all__ = ["why_queue", "why_schedule"]

#: The most scheduled jobs and retries of a queue, and steps, among which the first is searched.
_MOST_WAITING = 1000
#: The most waiting jobs of a queue of which is asked what holds them up.
_MOST_EXAMINED = 10


def why_schedule(reader: StoreReader, schedule: Mapping[str, Any]) -> Reason:
    """Return why a schedule does not move."""
    id, at, now = schedule["id"], schedule["nextRunAt"], reader.store.now
    problem = schedule.get("problem") or next(
        (one.detail for one in reader.store.problems() if one.name == "schedule_set_aside" and one.id == id), None
    )
    if problem is not None:
        retry = schedule.get("retryAt")
        what = Next("it is examined again", retry) if retry is not None else None
        return Reason(id, "schedule", "set aside", f"Schedule {id} is set aside: {problem}.", what, stuck=True)
    if schedule.get("paused"):
        advice = (("resume the schedule", ("schedule.resume", {"id": id})),)
        return Reason(id, "schedule", "paused", f"Schedule {id} is paused.", None, stuck=True, advice=advice)
    if at == NEVER:
        return Reason(id, "schedule", "ended", f"Schedule {id} has no further occurrence.", None)
    due = Next("its occurrence fires", at, is_step=True)
    if at <= now:
        return Reason(id, "schedule", "late", f"Schedule {id} is late: its occurrence was due at {when(at, now)}.", due)
    return Reason(id, "schedule", "waiting", f"Schedule {id} waits for its next occurrence at {when(at, now)}.", due)


def why_queue(reader: StoreReader, name: str) -> Reason | None:
    """Return why a queue does not move; None if there is none of this name, or it is not visible."""
    (found, known), (counted_jobs, stats) = reader.ask_all([("queue.get", {"queue": name}), ("job.stats", {"queue": name})])
    if found != 200 or counted_jobs != 200:
        return None
    queue, counts = known["queue"], stats["queues"][0]["counts"] if stats["queues"] else {}
    advice: tuple[Advice, ...] = ()
    if counts.get("archived"):
        advice = (("run the archived jobs again", ("job.run", {"queue": name, "state": "archived"})),)
    others = _others(counts)
    pending, verb = counted(counts.get("pending", 0), "job"), "waits" if counts.get("pending") == 1 else "wait"
    if queue["paused"]:
        advice = (("resume the queue", ("queue.resume", {"queue": name})), *advice)
        text = f"Queue {name} is paused; {pending} {verb}{others}."
        return Reason(name, "queue", "paused", text, _first_of(reader, name, counts), stuck=True, advice=advice)
    limit = queue.get("concurrency")
    if limit is not None and queue["active"] >= limit:
        text = f"Queue {name} has reached its limit of {limit} claimed and running jobs"
        text += f"; {pending} {verb}{others}." if counts.get("pending") or others else "."
        return Reason(name, "queue", "full", text, place_free(reader, name), advice=advice)
    active = f"{queue['active']} {_are(queue['active'])} claimed or running"
    text = f"Queue {name} is open: {pending} {verb} for a worker, {active}{others}."
    unknown = sorted({back.type for back in put_back_of(reader) if back.queue == name}) if counts.get("scheduled") else []
    if unknown:
        types = f"type{'s' if len(unknown) > 1 else ''} {', '.join(map(repr, unknown))}"
        text = f"{text.removesuffix('.')}; jobs of {types} are put back, because workers that claimed them have no handler."
        advice = ((f"start a worker that has a handler for {types}", None), *advice)
    held_up = _held_up(reader, name) if counts.get("waiting") else None
    if held_up is not None:
        text = f"{text.removesuffix('.')}; {held_up}."
    still, next = standstill_in(reader, name), _first_of(reader, name, counts)
    if still is not None:
        return Reason(name, "queue", "open", f"{text.removesuffix('.')}; {still}.", next, stuck=True, advice=advice)
    return Reason(name, "queue", "open", text, next, advice=advice)


def _first_of(reader: StoreReader, queue: str, counts: Mapping[str, int]) -> Next | None:
    """Return which of the scheduled jobs and retries of a queue becomes pending first; None if there is none."""
    states: tuple[JobState, ...] = ("scheduled", "retry")
    number = sum(counts.get(state, 0) for state in states)
    if not number:
        return None
    if number <= _MOST_WAITING:
        waiting = {job["id"]: job for job in jobs_in(reader, queue, states, _MOST_WAITING)}
        for step in reader.store.views.due(_MOST_WAITING, prefix=reader.prefix):
            job = waiting.get(step["id"])
            if job is not None and step["kind"] == "dispatch":
                what = f"the batch of job {step['id']} is ready" if job.get("gathering") else f"job {step['id']} becomes pending"
                return Next(what, reader.store.now if step["at"] is None else step["at"], is_step=True)
    return Next("its scheduled jobs and retries become pending, each at its time", None)


def _held_up(reader: StoreReader, queue: str) -> str | None:
    """Return which of the newest waiting jobs of a queue is held up, and by what; None if there is none."""
    for job in jobs_in(reader, queue, ("waiting",), _MOST_EXAMINED):
        obstacle = Waits(reader, job["id"]).obstacle
        if obstacle:
            cause = obstacle[-1]
            return f"job {job['id']} is held up by {cause} ({briefs_of(reader, [cause])[cause]})"
    return None


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _others(counts: Mapping[str, int]) -> str:
    """Return how many jobs of a queue wait for a time, a retry or a person, as the end of a sentence."""
    retry, scheduled, archived = (counts.get(state, 0) for state in ("retry", "scheduled", "archived"))
    parts = [f"{retry} {'waits' if retry == 1 else 'wait'} for a retry"] if retry else []
    parts += [f"{scheduled} {_are(scheduled)} scheduled"] if scheduled else []
    waiting = counts.get("waiting", 0)
    parts += [f"{waiting} {'waits' if waiting == 1 else 'wait'} for other promises"] if waiting else []
    them = "it" if archived == 1 else "them"
    parts += [f"{archived} {_are(archived)} archived, until a person runs or deletes {them}"] if archived else []
    return "".join(f", {part}" for part in parts)
