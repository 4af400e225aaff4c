"""Jobs that workers put back, because none of those that claimed them has a handler for their type (JOBS 3, Unknown types).

A store does not know types: a claim does not choose by type, and another worker may have the handler. So this is no problem of the store
(`Store.problems`); it is read from the jobs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base.stopwatch import doubled
from ..calls.call import envelope

if TYPE_CHECKING:
    from .._core import Store

__all__ = ["PutBack", "no_handler", "pause_after", "put_back", "put_back_in", "streak"]

#: The first pause before such a job can be claimed again, and the longest (ms); each is twice as long as the one before.
_FIRST_PAUSE, _LONGEST_PAUSE = 1000, 300_000
#: The most timers that are read to find such jobs: each is due again within the longest pause.
_MOST_TIMERS = 1000
#: The most jobs that are read.
_MOST_JOBS = 200


class PutBack(NamedTuple):
    """A job that was put back.

    Attributes:
        id: Of the job.
        type: Its type.
        queue: Its queue.
        worker: The worker that put it back last.
        since: When that began, in Unix ms.
    """

    id: str
    type: str
    queue: str
    worker: str
    since: int


def no_handler(worker: str, type: str) -> str:
    """Return the line that a worker adds to the report of a job whose type it has no handler for.

    Example:
        >>> from resonate_core.explain.unknown_types import no_handler
        >>> no_handler("w", "mail")
        "worker 'w' has no handler for type 'mail'"
    """
    return f"worker {worker!r} has no handler for type {type!r}"


def pause_after(snoozed: int) -> int:
    """Return for how long such a job is put back, in ms.

    Args:
        snoozed: How many attempts in a row have been snoozed before.

    Example:
        >>> from resonate_core.explain.unknown_types import pause_after
        >>> [pause_after(snoozed) for snoozed in (0, 1, 8, 9, 90)]
        [1000, 2000, 256000, 300000, 300000]
    """
    return int(doubled(_FIRST_PAUSE, snoozed, _LONGEST_PAUSE))


def streak(attempts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the last attempts that ended, as far as all of them were snoozed, the last one first."""
    ended = (attempt for attempt in reversed(attempts) if "outcome" in attempt)
    return list(takewhile(lambda attempt: attempt["outcome"] == "snoozed", ended))


def put_back(job: Mapping[str, Any]) -> PutBack | None:
    """Return how a job was put back; None: it was not, or for another reason.

    Args:
        job: The job, as on the wire.
    """
    snoozed = streak(job.get("attempts", ())) if job["state"] == "scheduled" else []
    if not snoozed or job["processAt"] - snoozed[0]["finishedAt"] != pause_after(len(snoozed) - 1):
        return None
    worker, first = snoozed[0]["worker"], snoozed[-1]
    told = {no_handler(attempt["worker"], job["type"]) for attempt in snoozed}
    lines = job.get("report", {}).get("lines", ())
    cut = first["number"] > 1 and first is job["attempts"][0]  # the attempts before it are not kept, that of the line among them
    if not any(line["text"] in told and (cut or line["attempt"] >= first["number"]) for line in lines):
        return None
    return PutBack(job["id"], job["type"], job["queue"], worker, first["startedAt"])


def put_back_in(
    store: Store, read: Callable[[Sequence[str]], Iterable[Mapping[str, Any]]] | None = None, prefix: str = ""
) -> list[PutBack]:
    """Return the jobs of a store that were put back, of the 200 jobs that are due next; one read of timers, and one of jobs.

    Args:
        store: The store.
        read: Returns the jobs with these ids; None: of the store.
        prefix: Only jobs whose ids begin with it are read.

    Example:
        >>> from resonate_core.explain.unknown_types import put_back_in
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.jobs.enqueue("mail", id="a")
        >>> _ = rc.worker.Worker(store, name="w").run_until_idle()
        >>> put_back_in(store)
        [PutBack(id='a', type='mail', queue='default', worker='w', since=0)]
    """
    end = store.now + _LONGEST_PAUSE
    timers = store.views.due(_MOST_TIMERS, prefix=prefix)
    due = [step["id"] for step in timers if step["kind"] == "dispatch" and (step["at"] is None or step["at"] <= end)]
    if not due:
        return []
    found = (put_back(job) for job in (read or (lambda ids: _jobs(store, ids)))(due[:_MOST_JOBS]))
    return [one for one in found if one is not None]


def _jobs(store: Store, ids: Sequence[str]) -> Iterable[Mapping[str, Any]]:
    answers = store.apply([envelope("job.get", {"id": id}, corr_id=id) for id in ids])
    return [answer["data"]["job"] for answer in answers if answer["head"]["status"] == 200]
