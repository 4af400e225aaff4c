"""The views of time travel."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any

from .._core import ManualClock, Store
from .access import Refused, StoreAccess
from .actions import requests_of
from .dashboard import Dashboard
from .overview import due_view
from .parameters import Parameters, listed
from .recorded_events import Event
from .recording import MOST_LINES, Recording, TooLarge, growth_of
from .rooms import room_of
from .steps import changes_shown

__all__ = ["LIVE", "diff_view", "fork", "opened", "recording_of", "state_view", "steps_view", "travels"]

#: The name of the store itself where a recording is asked for.
LIVE = "store"
#: A store in a file or a database is copied for a fork: only if it has no more promises.
_MOST_COPIED = 50_000
#: The most steps of a fork, and its longest advance.
_MOST_STEPS, _LONGEST = 2000, 366 * 86_400_000
_MOST_CHANGES = 2000
_MOST_ACTIONS = 50


def recording_of(access: StoreAccess, id: str, dashboard: Dashboard) -> Recording:
    """Return an open recording.

    Raises:
        Refused: There is none.
    """
    found = dashboard.recordings.get(id, access.principal.prefix)
    if found is None:
        raise Refused(404, f"recording {id!r} is not open; it may have been closed for newer ones")
    return found


def opened(access: StoreAccess, body: bytes, name: str, dashboard: Dashboard) -> dict[str, Any]:
    """Open a recording."""
    return _added(access, body, name, dashboard)


def _added(access: StoreAccess, lines: bytes, name: str, dashboard: Dashboard) -> dict[str, Any]:
    if lines.count(b"\n") > 2 * MOST_LINES:
        raise Refused(400, f"a recording must have at most {MOST_LINES} lines, got {lines.count(10)} with the empty ones")
    try:
        recording = Recording(io.BytesIO(lines), name, access.principal.prefix, most=dashboard.recordings.bytes)
    except TooLarge as error:
        raise Refused(413, f"{error} (ui.recording_bytes)") from error
    return _described(dashboard.recordings.add(recording, room_of(access.principal)), recording)


def travels(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The open recordings."""
    return listed([_described(id, recording) for id, recording in dashboard.recordings.all(access.principal.prefix)], None)


def _described(id: str, recording: Recording) -> dict[str, Any]:
    events = recording.events
    return {"travel": id, "name": recording.name, "steps": len(events), "from": events[0].at, "to": events[-1].at}


def steps_view(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The events of a recording from `start` on, or those of them that name an id, in order."""
    recording, id = recording_of(access, given.need("travel"), dashboard), given.text("id")
    start = given.number("start", 0, 2**31) if given.cursor is None else given.offset()
    events = (recording.events[n] for n in range(start or 0, len(recording.events)))
    shown = (event for event in events if _visible(access, event) and (id is None or id in event.ids))
    chosen = list(islice(shown, given.limit + 1))
    page = chosen[: given.limit]
    return listed([_event(event) for event in page], page[-1].n + 1 if len(chosen) > len(page) else None)


def _visible(access: StoreAccess, event: Event) -> bool:
    return not access.principal.prefix or not event.ids or all(access.principal.sees(id) for id in event.ids)


def _event(event: Event) -> dict[str, Any]:
    return {
        "n": event.n,
        "at": event.at,
        "kind": event.kind,
        "ids": list(event.ids),
        "status": event.status,
        "text": event.text,
    }


def place(recording: Recording, given: Parameters, name: str = "n") -> int:
    """Return the place of an event that a request names; by default the last one."""
    found = given.number(name, 0, len(recording.events) - 1, len(recording.events) - 1)
    assert found is not None
    return found


def state_view(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """The state after an event: counts, what the event changed, and what follows."""
    recording = recording_of(access, given.need("travel"), dashboard)
    n = place(recording, given)
    store = recording.state(n)
    snapshot = store.snapshot()
    changes = changes_shown(access, recording.state(n - 1).snapshot(), snapshot) if n else []
    here = StoreAccess(store, access.principal, access.redaction)
    following = recording.events[n + 1] if n + 1 < len(recording.events) else None
    rows = [row for row in snapshot["promises"] if access.principal.sees(row["id"])]
    return {
        "n": n,
        "at": recording.events[n].at,
        "event": _event(recording.events[n]),
        "counts": {
            "promises": dict(Counter(row["state"] for row in rows)),
            "tasks": dict(Counter(row["task"]["state"] for row in rows if "task" in row)),
            "jobs": dict(Counter(row["job"]["state"] for row in rows if "job" in row)),
            "messages": sum(access.principal.sees(message["id"]) for message in snapshot["messages"]),
        },
        "changes": changes[:_MOST_CHANGES],
        "next": None if following is None else {"n": following.n, "at": following.at, "kind": following.kind},
        "upcoming": due_view(here, given, dashboard)["items"],
    }


def diff_view(access: StoreAccess, given: Parameters, dashboard: Dashboard) -> dict[str, Any]:
    """What differs between two instants of a recording, or between two recordings."""
    first = recording_of(access, given.need("travel"), dashboard)
    other = given.text("other")
    second = first if other is None else recording_of(access, other, dashboard)
    a, b = place(first, given, "a"), place(second, given, "b")
    states = [first.state(a).snapshot(), second.state(b).snapshot()]
    items = changes_shown(access, *states)
    counts = {"added": 0, "removed": 0, "changed": 0} | Counter(item["change"] for item in items)
    labels = [f"{recording.name}, event {n}" for recording, n in ((first, a), (second, b))]
    return {
        "format": "resonate-diff/1",
        "a": {"label": labels[0], "now": states[0]["now"]},
        "b": {"label": labels[1], "now": states[1]["now"]},
        "items": items[:_MOST_CHANGES],
        "counts": counts,
        "leftOut": max(len(items) - _MOST_CHANGES, 0),
    }


def fork(access: StoreAccess, body: Mapping[str, Any], dashboard: Dashboard) -> dict[str, Any]:
    """Open a fork of a state as a recording: with some actions, and with time moved on."""
    base = _base(access, body, dashboard)
    actions, advance = body.get("do", []), body.get("advanceMs", 0)
    if not isinstance(actions, list) or len(actions) > _MOST_ACTIONS:
        raise Refused(400, f"do must be a list of at most {_MOST_ACTIONS} actions, got {actions!r:.80}")
    if isinstance(advance, bool) or not isinstance(advance, int) or not 0 <= advance <= _LONGEST:
        raise Refused(400, f"advanceMs must be from 0 to {_LONGEST}, got {advance!r}")
    lines = _Lines(dashboard.recordings.bytes)
    here = StoreAccess(base, access.principal, access.redaction)
    with base.record(lines):  # type: ignore[arg-type]
        for action in actions:
            if not isinstance(action, Mapping) or not isinstance(action.get("data", {}), Mapping):
                raise Refused(400, f"each of do must be an object with kind and data, got {action!r:.80}")
            for kind, data in requests_of(here, str(action.get("kind")), action.get("data", {})):
                here.ask(kind, data)
                lines.check()
        _advance(base, min(base.now + advance, 2**63 - 2), lines)
    return _added(access, lines.text().encode(), str(body.get("name") or "fork")[:80], dashboard)


def _base(access: StoreAccess, body: Mapping[str, Any], dashboard: Dashboard) -> Store[ManualClock]:
    """The state that is forked, on a manual clock of its own."""
    travel = body.get("travel", LIVE)
    if travel != LIVE:
        recording = recording_of(access, str(travel), dashboard)
        n = body.get("n", len(recording.events) - 1)
        if isinstance(n, bool) or not isinstance(n, int):
            raise Refused(400, f"n must be a whole number, got {n!r}")
        return recording.state(n)
    store = access.store
    if access.principal.prefix:
        raise Refused(403, "a fork of the whole store needs a token without a prefix")
    if store.shared and store.promises.count() > _MOST_COPIED:
        raise Refused(409, f"a store in a file or a database is copied for a fork only up to {_MOST_COPIED} promises")
    return store.fork(ManualClock(store.now))


def _advance(base: Store[ManualClock], until: int, lines: _Lines) -> None:
    """Run what is due until an instant, each step at its own, and stop early after many."""
    steps = 0
    while steps < _MOST_STEPS:
        due = base.next_due()
        if due is None or due > until:
            if until > base.now:
                base.clock.advance_to(until)
            return
        fired = base.tick(max(due, base.now), limit=1)
        lines.size += sum(growth_of(base, step) for step in fired)
        lines.check()
        steps += len(fired)


class _Lines:
    """A target for recordings in memory.

    Args:
        most: The most bytes of the lines, and of what the store grows by beside them.
    """

    def __init__(self, most: int) -> None:
        self._parts: list[str] = []
        self._most = most
        self.size = 0

    def write(self, text: str) -> int:
        self._parts.append(text)
        self.size += len(text)
        return len(text)

    def flush(self) -> None:
        """Everything is here."""

    def check(self) -> None:
        """Refuse a fork that is too large."""
        if self.size > self._most:
            raise Refused(413, f"a fork must need at most {self._most} bytes of memory, got more (ui.recording_bytes)")

    def text(self) -> str:
        return "".join(self._parts)
