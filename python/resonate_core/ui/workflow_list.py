"""The newest workflows: roots of programs of SDKs, and jobs that are workflows, in one list."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from ..base.states import UNFINISHED
from ..calls.workflow_records import WORKFLOW_TAG
from .access import StoreAccess
from .parameters import BadParameter
from .searches import SLICE, JobFilter, PromiseFilter, SearchPage, find_jobs, find_roots

__all__ = ["find_workflows"]

#: The most jobs that the first page examines: no index has the workflows among them.
_FIRST_SLICE = 1000
#: The states of jobs, by those of promises; a job past its deadline has failed.
_STATES: dict[str, tuple[str, ...]] = {
    "pending": tuple(UNFINISHED),
    "resolved": ("completed",),
    "rejected": ("failed", "expired"),
    "rejected_canceled": ("cancelled",),
    "rejected_timedout": (),
}
#: A list that has no more.
_ENDED = ""

Find = Callable[[int, "str | None"], SearchPage]


def find_workflows(access: StoreAccess, wanted: PromiseFilter, limit: int, cursor: str | None) -> SearchPage:
    """Return a page of the matching visible workflows, newest first: promises, and jobs, which have a `type`.

    If the jobs of the page were not all examined, it may have promises that are older than a job of a later page.

    Args:
        access: To the store.
        wanted: The filter; its states are those of promises.
        limit: The most of them.
        cursor: Where the page begins.
    """
    places = _places(cursor)
    states = [state for one in wanted.states for state in _STATES[one]]
    jobs = JobFilter(states, wanted.id, {**wanted.tags, WORKFLOW_TAG: "true"}, wanted.since, wanted.until, root=True)
    slice = _FIRST_SLICE if cursor is None else SLICE
    finds: list[Find] = [
        lambda most, at: find_roots(access, wanted, most, at),
        lambda most, at: find_jobs(access, jobs, most, at, slice),
    ]
    if wanted.states and not states:
        places[1] = _ENDED
    pages = [_empty() if place == _ENDED else find(limit, place) for find, place in zip(finds, places, strict=True)]
    merged = sorted(
        ((one["createdAt"], side, place) for side, page in enumerate(pages) for place, one in enumerate(page.items)),
        key=lambda found: (-found[0], found[1], found[2]),
    )[:limit]
    for side, page in enumerate(pages):
        taken = sum(found[1] == side for found in merged)
        if taken < len(page.items):  # the next page begins behind those that are taken
            place = places[side] if taken == 0 else finds[side](taken, places[side]).cursor
            pages[side] = replace(page, cursor=place)
            places[side] = place
        else:
            places[side] = page.cursor if page.cursor is not None else _ENDED
    open_pages = [page for page, place in zip(pages, places, strict=True) if place != _ENDED]
    reached = [page.reached_at for page in open_pages if page.reached_at is not None]
    items = [pages[side].items[place] for _, side, place in merged]
    return SearchPage(
        items,
        json.dumps(places) if open_pages else None,
        sum(page.examined for page in pages),
        max(reached, default=None),
    )


def _places(cursor: str | None) -> list[str | None]:
    if cursor is None:
        return [None, None]
    try:
        places = json.loads(cursor)
    except ValueError as error:
        raise BadParameter(f"cursor must be that of a page of this view, got {cursor[:80]!r}") from error
    if not (isinstance(places, list) and len(places) == 2 and all(place is None or isinstance(place, str) for place in places)):
        raise BadParameter(f"cursor must be that of a page of this view, got {cursor[:80]!r}")
    return places


def _empty() -> SearchPage:
    return SearchPage([], None, 0, None)
