"""Why an id does not move, what happens to it next, and when: `why`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, overload

from .._core import ManualClock, Store
from ..base.instants import NEVER, counted, length, when
from .access import Refused, StoreAccess
from .options import UiOptions
from .principal import Principal
from .redaction import Redaction, Rules
from .store_queries import jobs_in, put_back_of
from .stuck_jobs import place_free, standstill_of, why_job
from .stuck_promises import why_promise
from .verdict import Advice, Next, Verdict, Why

if TYPE_CHECKING:
    from .._core import JobState
    from ..aio import AsyncStore
    from ..client import AsyncClient, Client

__all__ = ["explain", "why"]

#: The most links of a chain of waits.
_LONGEST_CHAIN = 20
#: The most scheduled jobs and retries of a queue, and steps, among which the first is searched.
_MOST_WAITING = 1000
#: A step that is due for longer is overdue (ms): a server ticks at once, and other processes see a commit within 50 ms.
_OVERDUE = 5000


@overload
def why(store: Store[Any] | Client | Mapping[str, Any], id: str) -> Why: ...
@overload
def why(store: AsyncStore | AsyncClient, id: str) -> Awaitable[Why]: ...
def why(store: Any, id: str) -> Why | Awaitable[Why]:
    """Return why a promise, task, job, schedule or queue does not move, what happens to it next, and when. A read.

    Args:
        store: A store or a fork; a full snapshot; the client of a server that has a dashboard (`serve --ui`); or `aio` of a store or
            client: await the result.
        id: An id, or the name of a queue.

    Raises:
        TypeError: `store` is none of these, or `id` is no text.
        Unsupported: The server has no dashboard.
        Unreachable: The server did not answer.

    Example:
        >>> import resonate_core as rc
        >>> clock = rc.ManualClock()
        >>> store = rc.Store(clock=clock)
        >>> _ = store.jobs.enqueue("mail", id="j1")
        >>> _ = store.queues.pause("default")
        >>> print(rc.why(store, "j1"))
        Job j1 is pending: queue default is paused.
        Next: nothing happens by itself.
        You can: resume the queue.
    """
    if not isinstance(id, str):
        raise TypeError(f"id must be str, got {type(id).__name__}")
    if isinstance(store, Store):
        return _of_store(store, id)
    if isinstance(store, Mapping) and {"promises", "schedules", "messages", "now"} <= store.keys():
        copy = Store(clock=ManualClock(store["now"]))
        copy.restore(dict(store))
        return _of_store(copy, id)
    return _of_others(store, id)


def _of_store(store: Store[Any], id: str) -> Why:
    return explain(StoreAccess(store, Principal("operate"), Redaction(Rules(UiOptions()))), id)


def _of_others(given: Any, id: str) -> Why | Awaitable[Why]:
    from ..aio import AsyncStore
    from ..calls.store_threads import call_apart  # not above: a store alone needs neither asyncio nor HTTP
    from ..client import AsyncClient, Client
    from .asked import why_of_server, why_of_server_async

    if isinstance(given, AsyncStore):
        store = given._runner.store
        return call_apart(store, _of_store, store, id)
    if isinstance(given, Client):
        return why_of_server(given, id)
    if isinstance(given, AsyncClient):
        return why_of_server_async(given, id)
    raise TypeError(
        f"store must be a Store, a full snapshot, a Client of resonate_core.connect or an aio of them, got {type(given).__name__}"
    )


def explain(access: StoreAccess, id: str, listening: Callable[[str], bool | None] | None = None) -> Why:
    """Return why an id does not move, as one principal sees it.

    Args:
        access: To the store, with the redaction of the response.
        id: An id, or the name of a queue.
        listening: Returns whether a worker listens on an address; None if that is not known.
    """
    first = _verdict(access, id, listening)
    if first is None:
        sentence = f"There is no promise, task, job, schedule or queue {id}: it was never created, or it was deleted."
        return Why(id, "unknown", None, sentence, now=access.store.now)
    chain: list[tuple[str, str]] = []
    last, seen = first, {id}
    circle = None
    while last.waits_for and len(chain) < _LONGEST_CHAIN:
        waited = last.waits_for[0]
        if waited in seen:
            circle = waited
            break
        seen.add(waited)
        found = _verdict(access, waited, listening)
        if found is None:
            chain.append((waited, f"{waited} is not visible or does not exist."))
            break
        chain.append((waited, found.sentence))
        last = found
    next, stuck, advice = first.next, first.stuck, list(first.advice)
    if circle is not None:
        chain.append((circle, f"{circle} waits for itself: this circle of waits does not end by itself."))
        stuck = True
    elif last is not first:
        stuck = stuck or last.stuck
        advice += [(f"{text} ({last.id})", action) for text, action in last.advice]
    sentence, following = _with_chain(access, first, chain), _overdue(access, next)
    return Why(id, first.kind, first.state, sentence, following, tuple(chain), stuck, tuple(advice), access.store.now)


def _with_chain(access: StoreAccess, first: Verdict, chain: list[tuple[str, str]]) -> str:
    if len(chain) < 2:
        return first.sentence
    return f"{first.sentence.removesuffix('.')}, which waits for {', which waits for '.join(id for id, _ in chain[1:])}."


def _overdue(access: StoreAccess, next: Next | None) -> Next | None:
    """Add a note if a step is overdue: then no process ticks the store."""
    if next is None or next.at is None or not next.is_step:
        return next
    late = access.store.now - next.at
    if late < _OVERDUE:
        return next
    return Next(f"{next.what}; this is overdue by {length(late)}: no process ticks this store", next.at)


def _verdict(access: StoreAccess, id: str, listening: Callable[[str], bool | None] | None) -> Verdict | None:
    job = access.find("job", id)
    if job is not None:
        return why_job(access, job)
    promise = access.find("promise", id)
    if promise is not None:
        return why_promise(access, promise, access.find("task", id), listening)
    schedule = access.find("schedule", id)
    if schedule is not None:
        return _schedule(access, schedule)
    return _queue(access, id)


def _schedule(access: StoreAccess, schedule: Mapping[str, Any]) -> Verdict:
    id, at, now = schedule["id"], schedule["nextRunAt"], access.store.now
    problem = schedule.get("problem") or next(
        (one.detail for one in access.store.problems() if one.name == "schedule_set_aside" and one.id == id), None
    )
    if problem is not None:
        retry = schedule.get("retryAt")
        what = Next("it is examined again", retry) if retry is not None else None
        return Verdict(id, "schedule", "set aside", f"Schedule {id} is set aside: {problem}.", what, stuck=True)
    if schedule.get("paused"):
        advice = (("resume the schedule", ("schedule.resume", {"id": id})),)
        return Verdict(id, "schedule", "paused", f"Schedule {id} is paused.", None, stuck=True, advice=advice)
    if at == NEVER:
        return Verdict(id, "schedule", "ended", f"Schedule {id} has no further occurrence.", None)
    due = Next("its occurrence fires", at, is_step=True)
    if at <= now:
        return Verdict(id, "schedule", "late", f"Schedule {id} is late: its occurrence was due at {when(at, now)}.", due)
    return Verdict(id, "schedule", "waiting", f"Schedule {id} waits for its next occurrence at {when(at, now)}.", due)


def _queue(access: StoreAccess, name: str) -> Verdict | None:
    try:
        queue = access.send("queue.get", {"queue": name})["queue"]
        stats = access.send("job.stats", {"queue": name})["queues"]
    except Refused:
        return None
    counts = stats[0]["counts"] if stats else {}
    advice: tuple[Advice, ...] = ()
    if counts.get("archived"):
        advice = (("run the archived jobs again", ("job.run", {"queue": name, "state": "archived"})),)
    others = _others(counts)
    pending, verb = counted(counts.get("pending", 0), "job"), "waits" if counts.get("pending") == 1 else "wait"
    if queue["paused"]:
        advice = (("resume the queue", ("queue.resume", {"queue": name})), *advice)
        text = f"Queue {name} is paused; {pending} {verb}{others}."
        return Verdict(name, "queue", "paused", text, _first_of(access, name, counts), stuck=True, advice=advice)
    limit = queue.get("concurrency")
    if limit is not None and queue["active"] >= limit:
        text = f"Queue {name} has reached its limit of {limit} claimed and running jobs"
        text += f"; {pending} {verb}{others}." if counts.get("pending") or others else "."
        return Verdict(name, "queue", "full", text, place_free(access, name), advice=advice)
    active = f"{queue['active']} {_are(queue['active'])} claimed or running"
    text = f"Queue {name} is open: {pending} {verb} for a worker, {active}{others}."
    unknown = sorted({back.type for back in put_back_of(access) if back.queue == name}) if counts.get("scheduled") else []
    if unknown:
        types = f"type{'s' if len(unknown) > 1 else ''} {', '.join(map(repr, unknown))}"
        text = f"{text.removesuffix('.')}; jobs of {types} are put back, because workers that claimed them have no handler."
        advice = ((f"start a worker that has a handler for {types}", None), *advice)
    still, next = standstill_of(access, name), _first_of(access, name, counts)
    if still is not None:
        return Verdict(name, "queue", "open", f"{text.removesuffix('.')}; {still}.", next, stuck=True, advice=advice)
    return Verdict(name, "queue", "open", text, next, advice=advice)


def _first_of(access: StoreAccess, queue: str, counts: Mapping[str, int]) -> Next | None:
    """Return which of the scheduled jobs and retries of a queue becomes pending first; None if there is none."""
    states: tuple[JobState, ...] = ("scheduled", "retry")
    number = sum(counts.get(state, 0) for state in states)
    if not number:
        return None
    if number <= _MOST_WAITING:
        waiting = {job["id"]: job for job in jobs_in(access, queue, states, _MOST_WAITING)}
        for step in access.store.views.due(_MOST_WAITING, prefix=access.principal.prefix):
            job = waiting.get(step["id"])
            if job is not None and step["kind"] == "dispatch":
                what = f"the batch of job {step['id']} is ready" if job.get("gathering") else f"job {step['id']} becomes pending"
                return Next(what, access.store.now if step["at"] is None else step["at"], is_step=True)
    return Next("its scheduled jobs and retries become pending, each at its time", None)


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _others(counts: Mapping[str, int]) -> str:
    """Return how many jobs of a queue wait for a time, a retry or a person, as the end of a sentence."""
    retry, scheduled, archived = (counts.get(state, 0) for state in ("retry", "scheduled", "archived"))
    parts = [f"{retry} {'waits' if retry == 1 else 'wait'} for a retry"] if retry else []
    parts += [f"{scheduled} {_are(scheduled)} scheduled"] if scheduled else []
    them = "it" if archived == 1 else "them"
    parts += [f"{archived} {_are(archived)} archived, until a person runs or deletes {them}"] if archived else []
    return "".join(f", {part}" for part in parts)
