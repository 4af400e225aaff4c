"""Time travel: a recording as a list of events, and the state after each."""

from __future__ import annotations

import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._core import Envelope, ManualClock, RequestLimits, Store
from ..errors import Invalid
from .steps import step_text

__all__ = ["Event", "Journey", "Journeys"]

#: The most lines of a recording.
MOST_LINES = 200_000
#: The number of events between two states that are kept, at least, and the most of such states.
_BETWEEN, _MOST_KEPT = 50, 200
#: The most journeys of one dashboard.
_MOST_JOURNEYS = 8
#: The most ids that an event names.
_MOST_IDS = 20
#: Members of requests and replies that hold others with ids.
_NESTED = frozenset(("action", "data", "actions", "jobs", "tasks", "job", "promise", "task", "schedule"))


@dataclass(frozen=True)
class Event:
    """Something that happened: a request with the steps that it made due, or a step of a tick.

    Attributes:
        n: Its place; the state after it is that of `Journey.state(n)`.
        at: When it ran, in Unix ms.
        kind: The kind of the request, `step.` and the kind of the step, `open` or `messages.take`.
        ids: The ids that it names.
        status: The status of the reply; None for a step.
        text: What happened, in one line.
        lines: The first of its lines in the recording, and the one after the last.
    """

    n: int
    at: int
    kind: str
    ids: tuple[str, ...]
    status: int | None
    text: str
    lines: tuple[int, int]


class _Nowhere:
    """A target for recordings of which only the lines are counted."""

    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        """Nothing is kept."""


class _Player:
    """A store in memory that repeats the lines of a recording."""

    def __init__(self, options: Mapping[str, Any], snapshot: Mapping[str, Any]) -> None:
        self._options = options
        self.open(snapshot)

    def open(self, snapshot: Mapping[str, Any]) -> None:
        self.clock = ManualClock(snapshot["now"])
        self.store = Store(clock=self.clock, **self._options)
        self.store.restore(dict(snapshot), check=False)

    @classmethod
    def at(cls, options: Mapping[str, Any], store: Store) -> _Player:
        made = cls.__new__(cls)
        made._options, made.clock = options, ManualClock(store.now)
        made.store = store.fork(made.clock)
        return made

    def play(self, line: Mapping[str, Any]) -> None:
        kind, now = line["kind"], line["now"]
        if kind == "open":
            self.open(line["res"]["snapshot"])
        elif kind == "messages.take":
            keys = set(line["req"]["keys"])
            self.store.acknowledge([message.number for message in self.store.messages() if message.key in keys])
        elif kind.startswith("step."):
            self.store.tick(now, limit=1)
        else:
            head = {**line["req"]["head"], "resonate:debug_time": now}
            envelope = Envelope(json.dumps({**line["req"], "head": head}).encode(), RequestLimits())
            if line.get("scope"):
                envelope.restrict(line["scope"])
            self.store.run([envelope])


class Journey:
    """A recording that can be looked at as of each of its events.

    Args:
        lines: The lines of `Store.record`.
        name: A name for people.
        prefix: The beginning of ids that its owner sees.

    Raises:
        Invalid: A line is not part of a recording, or there are too many; the message has its number.

    Example:
        >>> import io
        >>> import resonate_core as rc
        >>> from resonate_core.ui.journeys import Journey
        >>> clock = rc.ManualClock()
        >>> store = rc.Store(clock=clock)
        >>> trace = io.StringIO()
        >>> with store.record(trace):
        ...     _ = store.promises.create("a", timeout=1000, tags={"resonate:external": "true"})
        ...     _ = clock.advance(1000)
        >>> journey = Journey(trace.getvalue().splitlines())
        >>> [(event.at, event.text) for event in journey.events]
        [(0, 'the recording begins'), (0, 'promise.create a'), (1000, 'a times out')]
        >>> journey.state(1).promises.get("a").state, journey.state(2).promises.get("a").state
        ('pending', 'rejected_timedout')
    """

    def __init__(self, lines: Iterable[str | bytes], name: str = "recording", prefix: str = "") -> None:
        self.name, self.prefix = name, prefix
        self.lines = [_read(number, line) for number, line in enumerate(_nonempty(lines), start=1)]
        if not self.lines or self.lines[0]["kind"] != "open":
            raise Invalid('trace line 1: kind must be "open"')
        if len(self.lines) > MOST_LINES:
            raise Invalid(f"a recording must have at most {MOST_LINES} lines, got {len(self.lines)}")
        try:
            self._options = _options(self.lines[0]["req"]["options"])
            self.events, self._kept = self._play()
        except (KeyError, TypeError, ValueError) as error:
            raise Invalid(f"the recording cannot be played: {error}") from error

    def _play(self) -> tuple[list[Event], dict[int, Store]]:
        """Run the whole recording once: which lines belong together, and a state now and then."""
        player = _Player(self._options, self.lines[0]["res"]["snapshot"])
        events = [_event(0, self.lines[0], (0, 1))]
        kept: dict[int, Store] = {0: player.store.fork(ManualClock(player.clock.now))}
        between = max(_BETWEEN, len(self.lines) // _MOST_KEPT)
        counter = player.store.record(_Nowhere())  # type: ignore[arg-type]
        place = 1
        while place < len(self.lines):
            line = self.lines[place]
            before = counter.lines
            try:
                player.play(line)
            except Exception as error:
                raise Invalid(f"trace line {place + 1} cannot be played: {error}") from error
            if line["kind"] == "open":
                counter = player.store.record(_Nowhere())  # type: ignore[arg-type]
                made = 1
            else:
                made = max(counter.lines - before, 1)
            events.append(_event(len(events), line, (place, min(place + made, len(self.lines)))))
            place += made
            if (len(events) - 1) % between == 0:
                kept[len(events) - 1] = player.store.fork(ManualClock(player.clock.now))
        counter.close()
        return events, kept

    def state(self, n: int) -> Store[ManualClock]:
        """Return a store in memory with the state after an event, on a manual clock of its own.

        Raises:
            Invalid: There is no such event.
        """
        if not 0 <= n < len(self.events):
            raise Invalid(f"n must be from 0 to {len(self.events) - 1}, got {n}")
        start = max(place for place in self._kept if place <= n)
        player = _Player.at(self._options, self._kept[start])
        for event in self.events[start + 1 : n + 1]:
            player.play(self.lines[event.lines[0]])
        return player.store

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of its store."""
        return self._options


class Journeys:
    """The recordings that are open in a dashboard; the least recently used is closed first."""

    def __init__(self) -> None:
        self._open: OrderedDict[str, Journey] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, journey: Journey, id: str | None = None) -> str:
        """Open a recording; return its id."""
        id = id or secrets.token_urlsafe(9)
        with self._lock:
            self._open[id] = journey
            while len(self._open) > _MOST_JOURNEYS:
                self._open.popitem(last=False)
        return id

    def get(self, id: str, prefix: str) -> Journey | None:
        """Return an open recording that a principal with this prefix may see."""
        with self._lock:
            journey = self._open.get(id)
            if journey is None or prefix not in ("", journey.prefix):
                return None
            self._open.move_to_end(id)
            return journey

    def all(self, prefix: str) -> list[tuple[str, Journey]]:
        """Return the open recordings that a principal with this prefix may see."""
        with self._lock:
            return [(id, journey) for id, journey in self._open.items() if prefix in ("", journey.prefix)]


def _nonempty(lines: Iterable[str | bytes]) -> Iterable[str | bytes]:
    return (line for line in lines if line.strip())


def _read(number: int, line: str | bytes) -> dict[str, Any]:
    try:
        made = json.loads(line)
        if isinstance(made["kind"], str) and isinstance(made["now"], int) and isinstance(made["req"], dict) and "res" in made:
            return dict(made)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise Invalid(f"trace line {number} must be a line of a recording, got {line[:80]!r}")


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    names = ("rules", "retry_timeout", "catchup", "unblock_retention")
    return {name: given[name] for name in names if name in given}


def _event(n: int, line: Mapping[str, Any], lines: tuple[int, int]) -> Event:
    kind, req, res = line["kind"], line["req"], line["res"]
    if kind == "open":
        return Event(n, line["now"], kind, (), None, "the recording begins" if n == 0 else "the whole state is replaced", lines)
    if kind == "messages.take":
        return Event(
            n, line["now"], kind, tuple(req["keys"][:_MOST_IDS]), None, f"{len(req['keys'])} messages leave the store", lines
        )
    if kind.startswith("step."):
        detail = res if isinstance(res, dict) else {}
        text = step_text(kind.removeprefix("step."), req["id"], detail)
        return Event(n, line["now"], kind, (req["id"],), None, text, lines)
    ids = tuple(dict.fromkeys(_ids(req.get("data", {}), res.get("data"))))[:_MOST_IDS]
    status = res.get("head", {}).get("status")
    who = req.get("data", {}).get("worker") or req.get("data", {}).get("pid")
    text = f"{kind} {', '.join(ids[:3])}".strip() + (" …" if len(ids) > 3 else "") + (f" by {who}" if isinstance(who, str) else "")
    if status not in (200, 300, None):
        text += f": refused with {status}"
    return Event(n, line["now"], kind, ids, status, text, lines)


def _ids(*parts: Any) -> Sequence[str]:
    """The ids in a request and in the records of its reply."""
    found: list[str] = []
    waiting = [part for part in reversed(parts) if isinstance(part, (dict, list))]
    while waiting and len(found) < 10 * _MOST_IDS:
        one = waiting.pop()
        members = one.items() if isinstance(one, dict) else enumerate(one)
        for name, value in members:
            if name in ("id", "awaited", "awaiter") and isinstance(value, str):
                found.append(value)
            elif (isinstance(name, int) or name in _NESTED) and isinstance(value, (dict, list)):
                waiting.append(value)
    return found
