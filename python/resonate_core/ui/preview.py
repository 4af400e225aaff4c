"""Previews: the effects of an action, computed on an overlay of the rows that it concerns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import count
from typing import Any

from .._core import ManualClock, Store
from ..base.instants import counted
from ..explain.store_reader import MOST_EDGES, MOST_ROWS
from ..explain.why_promises import awaited_by_task
from .access import StoreAccess
from .actions import answered, results_of
from .recording import growth_of
from .steps import changes_shown, messages_of, step_text

__all__ = ["LONGEST_HORIZON", "preview"]

LONGEST_HORIZON = 30 * 86_400_000
#: The most rows of an overlay, and the number of links that are followed from the named ids.
_MOST_ROWS, _HOPS = 2000, 4
#: The most internal steps that are run on an overlay.
_MOST_STEPS = 500
#: The most bytes that the occurrences of schedules may add to a fork, and the steps between two looks at that.
_MOST_GROWN, _STEPS_AT_ONCE = 33_554_432, 10
#: The requests that concern all children of a job.
_OF_CHILDREN = ("job.fork", "job.delete")
_FILTERS = ("queue", "type", "group", "tags", "state")


def preview(
    access: StoreAccess, requests: Sequence[tuple[str, dict[str, Any]]], horizon: int, *, bulk: bool = False
) -> dict[str, Any]:
    """Return the immediate effects of the requests, and the steps that would follow.

    The rows that the requests name, and those that are linked with them, are read into a store in memory; the requests run there, on
    a clock that begins at the store's instant. The same rows without the requests show what would happen anyway.

    Args:
        access: To the store, with the redaction of the response. Its principal judges the requests as if they were done.
        requests: Kinds and data.
        horizon: How far to look ahead, in ms.
        bulk: Whether a refused request does not stop the others.
    """
    base, complete = _part(access, requests)
    now = access.store.now
    clocks = [ManualClock(now), ManualClock(now)]
    changed, unchanged = (_overlay(access.store, base, clock) for clock in clocks)
    before = changed.snapshot()
    answers = StoreAccess(changed, access.principal, access.redaction).ask_all(requests)
    results = results_of(requests, answers) if bulk else None
    status, data = (200, None) if bulk else answers[0]
    error = None if 200 <= status <= 300 else data if isinstance(data, str) else json.dumps(data)
    after = changed.snapshot()
    access.note_ancestry(after)
    until = min(now + horizon, 2**63 - 2)
    later, cut = _later(access, changed, clocks[0], unchanged, clocks[1], until)
    changes = changes_shown(access, before, after, partial=True)
    follow = changes_shown(access, after, changed.snapshot(), partial=True)
    rows = len(base["promises"]) + len(base["schedules"])
    text = f"{counted(rows, 'row')}: what the action names, and what is linked with that"
    if not complete:
        text += "; there may be more, which were left out"
    if cut:
        text += f"; only the first {_MOST_STEPS} steps" if len(later) >= _MOST_STEPS else "; only the first steps"
    return {
        "status": status,
        "error": error,
        "data": None if error is not None else answered(access, data),
        "results": results,
        "now": now,
        "horizonMs": horizon,
        "until": until,
        "changes": changes,
        "later": later,
        "laterChanges": follow,
        "messages": {"added": messages_of(changes, "added", "after"), "removed": messages_of(changes, "removed", "before")},
        "scope": {"complete": complete and not cut, "rows": rows, "text": text},
    }


def _overlay(store: Store, part: Mapping[str, Any], clock: ManualClock) -> Store:
    options: dict[str, Any] = {"rules": store.rules, "retry_timeout": store.retry_timeout, "catchup": store.catchup}
    made = Store(clock=clock, **options)
    made.restore(dict(part), check=False)
    return made


def _part(access: StoreAccess, requests: Sequence[tuple[str, dict[str, Any]]]) -> tuple[dict[str, Any], bool]:
    """The rows that the requests concern, as a snapshot, and whether these are all."""
    ids, complete = _named(access, requests)
    seen: dict[str, None] = dict.fromkeys(ids)
    frontier = list(seen)
    for hop in count():
        found = access.rows(frontier)
        complete = complete and all(access.is_whole(row, "callbacks", "keptBy") for row in found.values())
        # However long a chain of jobs that wait for each other is, the first decides about the last.
        links = [(_linked(access, row) if hop < _HOPS else row["callbacks"] if "job" in row else ()) for row in found.values()]
        following = [other for linked in links for other in linked]
        frontier = [other for other in dict.fromkeys(following) if other not in seen]
        if len(seen) + len(frontier) > _MOST_ROWS:
            complete = False
            frontier = frontier[: max(_MOST_ROWS - len(seen), 0)]
        seen.update(dict.fromkeys(frontier))
        if not frontier:
            break
    visible = [id for id in seen if access.principal.sees(id)]
    part = _rows(access.store, visible)
    kept = {row["id"] for row in part["promises"]}
    # An edge to a row that is not here would be followed into nothing.
    return {**part, "promises": [_without_loose_edges(row, kept) for row in part["promises"]]}, complete


def _rows(store: Store, ids: list[str]) -> dict[str, Any]:
    """Return the rows of these ids as one snapshot, however many they are."""
    parts = [ids[start : start + MOST_ROWS] for start in range(0, max(len(ids), 1), MOST_ROWS)]
    pages = [store.views.rows(part, edges=MOST_EDGES) for part in parts]
    pages[0].pop("cut")
    of_ids = {name: [row for page in pages for row in page[name]] for name in ("promises", "schedules", "messages")}
    return {**pages[0], **of_ids}


def _without_loose_edges(row: Mapping[str, Any], kept: Set[str]) -> dict[str, Any]:
    edges = {name: [other for other in row[name] if other in kept] for name in ("callbacks", "keptBy") if name in row}
    return {**row, **edges}


def _named(access: StoreAccess, requests: Iterable[tuple[str, dict[str, Any]]]) -> tuple[list[str], bool]:
    ids: list[str] = []
    complete = True
    for kind, data in requests:
        if isinstance(data.get("id"), str):
            ids.append(data["id"])
            if kind in _OF_CHILDREN:
                children, all_of_them = _children(access, data["id"])
                ids += [child["id"] for child in children]
                complete = complete and all_of_them
        elif kind.startswith("job.") and kind != "job.enqueue":
            query = {name: data[name] for name in _FILTERS if data.get(name) is not None}
            status, found = access.ask("job.search", {**query, "limit": 1000})
            if status == 200:
                ids += [job["id"] for job in found["jobs"]]
                complete = complete and found.get("cursor") is None
    return ids, complete


def _children(access: StoreAccess, id: str) -> tuple[list[dict[str, Any]], bool]:
    """Return the records and child jobs of a job, the first ones of very many, and whether these are all."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    while len(found) < _MOST_ROWS:
        query = {"id": id, "limit": MOST_ROWS, **({} if cursor is None else {"cursor": cursor})}
        status, page = access.ask("job.history", query)
        if status != 200:
            return found, True
        found += page["promises"]
        cursor = page.get("cursor")
        if cursor is None:
            return found, True
    return found, False


def _linked(access: StoreAccess, row: Mapping[str, Any]) -> list[str]:
    """Return the ids that await a row, those that it awaits, its own open calls, and the members of its batch."""
    linked = list(row["callbacks"])
    task, job = row.get("task"), row.get("job", {})
    if job.get("steps"):
        linked += [child["id"] for child in _children(access, row["id"])[0] if child["state"] == "pending"]
    if job.get("state") == "waiting":
        linked += job["awaits"]
    elif task is not None and task["state"] == "suspended":
        linked += awaited_by_task(access, row["id"], row)
    if job.get("gathering"):
        query = {"queue": job["queue"], "type": job["type"], "group": job["group"], "state": "scheduled", "limit": 1000}
        status, found = access.ask("job.search", query)
        linked += [one["id"] for one in found["jobs"]] if status == 200 else []
    return linked


def _later(
    access: StoreAccess, changed: Store, clock: ManualClock, unchanged: Store, other: ManualClock, until: int
) -> tuple[list[dict[str, Any]], bool]:
    """The steps until an instant, each with whether it happens with the action only, without it only, or in both cases."""
    sides = [_run(store, its, until) for store, its in ((changed, clock), (unchanged, other))]
    keys = [{(step.kind, step.id, step.at) for step in steps} for steps, _ in sides]
    made = []
    for side, (steps, _) in enumerate(sides):
        for step in steps:
            key = (step.kind, step.id, step.at)
            both = key in keys[1 - side]
            if (both and side == 1) or not access.principal.sees(step.id):
                continue
            only = "both" if both else "with" if side == 0 else "without"
            text = step_text(step.kind, step.id, step.detail)
            made.append({"at": step.now, "kind": step.kind, "id": step.id, "detail": step.detail, "text": text, "only": only})
    made.sort(key=lambda step: step["at"])
    return made, any(cut for _, cut in sides)


def _run(store: Store, clock: ManualClock, until: int) -> tuple[list[Any], bool]:
    steps: list[Any] = []
    grown = 0
    while len(steps) < _MOST_STEPS and grown < _MOST_GROWN:
        due = store.next_due()
        if due is None or due > until:
            return steps, False
        fired = store.tick(max(due, store.now), limit=min(_MOST_STEPS - len(steps), _STEPS_AT_ONCE))
        grown += sum(growth_of(store, step) for step in fired)
        steps += fired
    return steps, True
