"""The timeline of a history as JSON-able data: what `timeline.js` draws, and what the static picture folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from resonate_core._core import Store
from resonate_core.base.globs import Globs
from resonate_core.errors import Invalid
from resonate_core.explain.lifespans import Life
from resonate_core.history import History
from resonate_core.timeline.folds import Fold, fold_data, folds_of

if TYPE_CHECKING:
    from resonate_core.history import Source

__all__ = ["DATES_FROM", "Event", "id_pattern", "lives_between", "record_history", "story_events", "timeline_data", "worker_colour"]

record_history = History.of_records

#: What a story says beside the recording: `at`, `text`, and optionally `kind`, `end`, `id`, `worker`.
Event: TypeAlias = Mapping[str, Any]

DATES_FROM = 631_152_000_000
"""The first instant that is drawn as a date, the year 1990: earlier ones are distances from 0."""

LATEST = 253_402_300_799_999
"""The last deadline that is shown, in the year 9999: a later one means that there is none."""

WORKER_COLOURS = 16
"""The number of colours of workers."""

MOST_MARKS = 400
"""The maximum of marks of one kind in a row."""

MOST_WAKES = 5000
"""The maximum of arrows."""

_EVENT_MEMBERS = ("at", "end", "kind", "text", "worker", "id")


def worker_colour(name: str) -> int:
    """Return the number of a worker's colour, 0 to 15: a hash of its name, the same in each picture and program.

    The hash is FNV-1a with the finalizer of MurmurHash3, since the low bits of FNV-1a alone are alike for short names.

    Example:
        >>> from resonate_core.timeline.data import worker_colour
        >>> worker_colour("ann"), worker_colour("bob")
        (5, 6)
    """
    mixed = 0x811C9DC5
    for byte in name.encode("utf-8", "surrogatepass"):
        mixed = (mixed ^ byte) * 0x01000193 & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    mixed = (mixed ^ mixed >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return (mixed ^ mixed >> 16) % WORKER_COLOURS


def id_pattern(ids: str | None) -> Globs:
    """Return the matcher of a pattern in which `*` stands for any run of characters; None means all ids."""
    return Globs(["*" if ids is None else ids])


def lives_between(history: History, ids: str | None, start: int, end: int) -> list[Life]:
    """Return the lives that match a pattern and were there between two instants, by their creation; a workflow before its records."""
    wanted = id_pattern(ids)

    def is_there(life: Life) -> bool:
        if not wanted.match(life.id):
            return False
        return life.created_at <= end and (life.settled_at is None or life.settled_at >= start)

    def place(life: Life) -> tuple[int, bool, str]:
        return life.created_at, life.of_workflow is not None, "" if life.of_workflow is None else life.id

    return sorted(filter(is_there, history.lives.values()), key=place)


def extent(history: History, ids: str | None, start: int | None, end: int | None) -> tuple[int, int]:
    """Return the first and the last instant to draw."""
    if start is not None and end is not None and end < start:
        raise Invalid(f"end must be at least start, {start}, got {end}")
    last = history.end if end is None else end
    if start is not None:
        return start, max(last, start)
    lives = lives_between(history, ids, -(2**63), last)
    return min((life.created_at for life in lives), default=min(history.start or 0, last)), last


def timeline_data(
    source: Source | History,
    *,
    ids: str | None = None,
    start: int | None = None,
    end: int | None = None,
    title: str | None = None,
    events: Iterable[Event] = (),
    most_rows: int = 2000,
) -> dict[str, Any]:
    """See `resonate_core.display.timeline_data`."""
    if most_rows < 1:
        raise Invalid(f"most_rows must be at least 1, got {most_rows}")
    history = source if isinstance(source, History) else History(source)
    first, last = extent(history, ids, start, end)
    lives = lives_between(history, ids, first, last)
    folds = folds_of(lives)
    kept = _kept(lives, folds, most_rows)
    shown = {life.id for life in kept}
    place = {id(life): number for number, fold in enumerate(folds) for life in fold.members}
    row_data = [_row(life, place.get(id(life)), first, last) for life in kept]
    wakes = [
        [at, settled, awaiter] for at, settled, awaiter in history.wakes if {settled, awaiter} <= shown and first <= at <= last
    ]
    left_out = {
        "rows": len(lives) - len(kept),
        "marks": sum(left for _, left in row_data),
        "wakes": max(len(wakes) - MOST_WAKES, 0),
    }
    return {
        "format": "resonate-timeline/1",
        "title": title,
        "source": "store" if isinstance(source, Store) else "records" if history.of_some_records else "recording",
        "start": first,
        "end": last,
        "dates": first >= DATES_FROM,
        "rows": [row for row, _ in row_data],
        "folds": [fold_data(fold, first, last) for fold in folds],
        "wakes": wakes[:MOST_WAKES],
        "events": story_events(events),
        "leftOut": left_out,
        "notes": _notes(left_out, len(lives)),
    }


def _kept(lives: list[Life], folds: list[Fold], most: int) -> list[Life]:
    """Return the rows to show: single ones first, then the members of folds that failed or have not ended, then the others."""
    if len(lives) <= most:
        return lives
    folded = {id(life) for fold in folds for life in fold.members}

    def last_of_all(life: Life) -> tuple[bool, bool]:
        quiet = life.state in ("completed", "resolved") and not any(span.outcome in TROUBLE for span in life.spans)
        return id(life) in folded, quiet

    kept = {id(life) for life in sorted(lives, key=last_of_all)[:most]}
    return [life for life in lives if id(life) in kept]


TROUBLE = ("failed", "crashed", "timed_out")


def _notes(left_out: Mapping[str, int], rows: int) -> list[str]:
    notes = []
    if left_out["rows"]:
        notes.append(f"{left_out['rows']:,} of {rows:,} rows are not shown; the folded rows count them")
    if left_out["marks"]:
        notes.append(f"{left_out['marks']:,} marks that stand close to others are not shown")
    if left_out["wakes"]:
        notes.append(f"{left_out['wakes']:,} arrows are not shown")
    return notes


def _row(life: Life, fold: int | None, first: int, last: int) -> tuple[dict[str, Any], int]:
    """Return the data of a row, and the number of marks left out."""
    marks, left_out = _thinned(life, first, last)
    deadline = life.timeout_at if life.timeout_at is not None and life.timeout_at <= LATEST else None
    row: dict[str, Any] = {
        "id": life.id,
        "kind": _kind(life),
        "createdAt": life.created_at,
        "deadline": deadline,
        "changes": [list(change) for change in life.changes],
        "spans": [_span(span) for span in life.spans],
        "marks": marks,
        "fold": fold,
    }
    optional = {"name": name_of(life), "parent": life.parent if life.parent != life.id else None, "schedule": life.schedule}
    if life.job is not None:
        optional.update({name: life.job.get(name) for name in ("type", "queue", "group")})
    row.update((name, value) for name, value in optional.items() if value is not None)
    return row, left_out


def _kind(life: Life) -> str:
    if life.timeout_at is None:
        return "schedule"
    if life.job is not None:
        return "job"
    if life.of_workflow is not None and life.of_workflow.kind == "step":
        return "step"
    has_task = bool(life.spans) or "resonate:target" in life.tags or "resonate:invoke" in life.tags
    return "task" if has_task else "promise"


def name_of(life: Life) -> str | None:
    """Return what a record of a workflow has called; None: it is none."""
    return None if life.of_workflow is None else life.of_workflow.name or None


def _span(span: Any) -> dict[str, Any]:
    optional = {"worker": span.pid, "attempt": span.number, "outcome": span.outcome, "code": span.code}
    data = {"state": span.state, "start": span.start, "end": span.end}
    data.update((name, value) for name, value in optional.items() if value is not None)
    return data


def _thinned(life: Life, first: int, last: int) -> tuple[list[list[Any]], int]:
    """Return the marks without those that are too close to another of their kind to be seen."""
    if len(life.marks) <= MOST_MARKS:
        return [[mark.at, mark.kind, mark.text] for mark in life.marks], 0
    width = max((last - first) // MOST_MARKS, 1)
    kept = {(mark.kind, mark.at // width): mark for mark in reversed(life.marks)}
    marks = sorted(kept.values(), key=lambda mark: mark.at)
    return [[mark.at, mark.kind, mark.text] for mark in marks], len(life.marks) - len(marks)


def story_events(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return events with their instants in ms, in order.

    Raises:
        Invalid: An event has no instant or no text, or ends before it begins.
    """
    listed = [_event(number, event) for number, event in enumerate(events)]
    return sorted(listed, key=lambda event: event["at"])


def _event(number: int, event: Event) -> dict[str, Any]:
    unknown = sorted(set(event) - set(_EVENT_MEMBERS))
    if unknown:
        raise Invalid(f"members of event {number} must be {', '.join(_EVENT_MEMBERS)}, got {unknown[0]!r}")
    data = {"kind": "note", **{name: value for name, value in event.items() if value is not None}}
    for name in ("at", "end"):
        if name in data or name == "at":
            data[name] = _instant(f"{name} of event {number}", data.get(name))
    if not isinstance(data.get("text"), str) or not isinstance(data["kind"], str):
        raise Invalid(f"text and kind of event {number} must be text, got {data.get('text')!r} and {data['kind']!r}")
    if data.get("end", data["at"]) < data["at"]:
        raise Invalid(f"end of event {number} must be at least {data['at']}, got {data['end']}")
    return data


def _instant(name: str, value: Any) -> int:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return int(value.timestamp() * 1000)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Invalid(f"{name} must be Unix ms or an aware datetime, got {value!r}")
    return value
