"""Time travel: a recording as a list of events, and the state after each."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from sys import getsizeof
from typing import Any

from .._core import Envelope, Fired, ManualClock, RequestLimits, Store
from ..base.states import ONE_OR_MANY
from ..base.stopwatch import processor_seconds
from ..errors import Invalid
from ..explain.recordings import LineReader
from .recorded_events import Event, Events
from .steps import step_text

__all__ = ["MOST_LINES", "Recording", "TooLarge", "growth_of"]

#: The most lines of a recording.
MOST_LINES = 200_000
#: The number of events between two states that are kept, at least, and the most of such states.
_BETWEEN, _MOST_KEPT = 50, 200
#: Bytes that a promise or a job takes in a state beside the texts in its line.
_ROW = 600
#: Bytes of the kept states together, beside those of the rows that they share: of a row that changed since the last one, at most, and of
#: each row. A state copies the parts of its indexes that change.
_STATES, _CHANGED, _INDEXED = 100_000_000, 10_000, 160
#: Seconds of a processor that a recording may take: a request that reads all rows is short, and its repetition is not.
_LONGEST = 120
#: Lines between two pauses, and their seconds: the threads of other requests run meanwhile, which all need the lock of the interpreter.
_SLICE, _PAUSE = 16, 0.002
#: Bytes of replies that a recording may cause beside those that its own lines have.
_REPLIES = 16_777_216
#: The most ids that an event names.
_MOST_IDS = 20
#: Members of requests and replies that hold others with ids.
_NESTED = frozenset(("action", "data", "actions", "jobs", "tasks", "job", "promise", "task", "schedule"))


class TooLarge(Invalid):
    """A recording needs more memory than it may."""


class _Counter:
    """A target for recordings of which only the size is counted."""

    def __init__(self) -> None:
        self.size = 0

    def write(self, text: str) -> int:
        self.size += len(text)
        return len(text)

    def flush(self) -> None:
        """Nothing is kept."""


class _Player:
    """A store in memory that repeats the lines of a recording."""

    def __init__(self, options: Mapping[str, Any], snapshot: Mapping[str, Any]) -> None:
        self._options = options
        self.replied = 0
        self.open(snapshot)

    def open(self, snapshot: Mapping[str, Any]) -> None:
        self.clock = ManualClock(snapshot["now"])
        self.store = Store(clock=self.clock, **self._options)
        self.store.restore(dict(snapshot))

    @classmethod
    def at(cls, options: Mapping[str, Any], store: Store) -> _Player:
        made = cls.__new__(cls)
        made._options, made.clock, made.replied = options, ManualClock(store.now), 0
        made.store = store.fork(made.clock)
        return made

    def play(self, line: Mapping[str, Any]) -> int:
        """Repeat a line; return the bytes that the store grew by and its own recording does not show."""
        kind, now = line["kind"], line["now"]
        if kind == "open":
            self.open(line["res"]["snapshot"])
        elif kind == "messages.take":
            keys = set(line["req"]["keys"])
            self.store.acknowledge([message.number for message in self.store.messages() if message.key in keys])
        elif kind.startswith("step."):
            return sum(growth_of(self.store, step) for step in self.store.tick(now, limit=1))
        else:
            head = {**line["req"]["head"], "resonate:debug_time": now}
            envelope = Envelope(json.dumps({**line["req"], "head": head}).encode(), RequestLimits())
            if line.get("scope"):
                envelope.restrict(line["scope"])
            ((_, reply),) = self.store.run([envelope])
            self.replied += len(reply)
        return 0


def growth_of(store: Store, step: Fired) -> int:
    """Return the bytes that a step added to a store beyond what a recording says of it: an occurrence has the payload of its schedule."""
    made = step.detail.get("promise_id") if step.kind == "schedule" else None
    if not isinstance(made, str):
        return 0
    promise = store.promises.get(made)
    return _ROW + len(promise.param.data or "") + sum(len(text) for pair in (promise.param.headers or {}).items() for text in pair)


class _Kept:
    """States after some events. There are fewer of them where each takes much memory.

    Args:
        between: The least events between two.
        most: The most bytes of memory that they need beside the rows.

    Attributes:
        states: By event.
        bytes: The memory that they need.
    """

    def __init__(self, between: int, most: int) -> None:
        self._between, self._most = between, most
        self._rows = 0
        self._changed: dict[int, float] = {}  # the rows that changed since the state before, by event
        self._all: dict[int, int] = {}  # and all rows
        self._since = 0.0
        self.bytes = 0
        self.states: dict[int, Store] = {}

    def see(self, n: int, rows: int, changed: float, player: _Player) -> None:
        """Take note of an event, and keep the state after it if it is time."""
        self._rows += rows
        self._since += changed
        if n % self._between:
            return
        self.states[n] = player.store.fork(ManualClock(player.clock.now))
        self._changed[n], self._all[n], self._since = self._since, self._rows, 0.0
        self.bytes = self._size()
        while self.bytes > self._most and len(self.states) > 2:
            self._between *= 2
            for dropped in [one for one in self.states if one % self._between]:
                following = next((one for one in self.states if one > dropped), None)
                if following is None:
                    self._since += self._changed[dropped]
                else:
                    self._changed[following] += self._changed[dropped]
                del self.states[dropped], self._changed[dropped], self._all[dropped]
            self.bytes = self._size()

    def _size(self) -> int:
        """Return the memory that the states need beside the rows."""
        return int(sum(min(changed * _CHANGED, self._all[n] * _INDEXED) for n, changed in self._changed.items()))


class Recording:
    """A recording that can be looked at as of each of its events.

    Args:
        lines: The lines of `Store.record`.
        name: A name for people.
        prefix: The beginning of ids that its owner sees.
        most: The most bytes of memory that it may need; None: any number.

    Attributes:
        bytes: The memory that it needs, as far as it is known: its lines, events and kept states.

    Raises:
        Invalid: A line is not part of a recording, or there are too many; the message has its number.
        TooLarge: It needs more memory.

    Example:
        >>> import io
        >>> import resonate_core as rc
        >>> from resonate_core.ui.recording import Recording
        >>> clock = rc.ManualClock()
        >>> store = rc.Store(clock=clock)
        >>> trace = io.StringIO()
        >>> with store.record(trace):
        ...     _ = store.promises.create("a", timeout=1000, tags={"resonate:external": "true"})
        ...     _ = clock.advance(1000)
        >>> recording = Recording(trace.getvalue().splitlines())
        >>> [(event.at, event.text) for event in recording.events]
        [(0, 'the recording begins'), (0, 'promise.create a'), (1000, 'a times out')]
        >>> recording.state(1).promises.get("a").state, recording.state(2).promises.get("a").state
        ('pending', 'rejected_timedout')
    """

    def __init__(self, lines: Iterable[str | bytes], name: str = "recording", prefix: str = "", *, most: int | None = None) -> None:
        self.name, self.prefix = name, prefix
        self.bytes, self._most = 0, most
        self._lines: list[bytes] = []
        for line in lines:
            if line.strip():
                if len(self._lines) == MOST_LINES:
                    raise Invalid(f"a recording must have at most {MOST_LINES} lines, got more")
                self._lines.append(_packed(line))
        if not self._lines:
            raise Invalid('trace line 1: kind must be "open", got no line')
        self._grow(sum(getsizeof(line) + 8 for line in self._lines))
        self._options: Mapping[str, Any] = {}
        self.events = Events()
        self._kept: dict[int, Store] = {}
        self._play()

    def _grow(self, size: int) -> None:
        self.bytes += size
        if self._most is not None and self.bytes > self._most:
            raise TooLarge(f"a recording must need at most {self._most} bytes of memory, got more: record a shorter time")

    def _play(self) -> None:
        """Check and run the whole recording once: which lines belong together, and a state now and then."""
        reader = LineReader(first=True)
        room = _STATES if self._most is None else min(_STATES, self._most // 4)
        kept = _Kept(max(_BETWEEN, len(self._lines) // _MOST_KEPT), room)
        until = processor_seconds() + _LONGEST
        most_replies = _REPLIES + sum(map(len, self._lines))
        ids: dict[str, str] = {}
        player, recording, counter = None, None, _Counter()
        before = grown = 0
        follow = 0  # lines of the event before
        for place, text in enumerate(self._lines):
            line = reader.read(text)
            if place % _SLICE == _SLICE - 1 and self._most is not None:
                time.sleep(_PAUSE)
            if follow:
                follow -= 1
                continue
            try:
                if player is None:
                    self._options = _options(line["req"]["options"])
                    player, grown = _Player(self._options, line["res"]["snapshot"]), 0
                else:
                    before = recording.lines if recording is not None else 0
                    grown = player.play(line)
            except Exception as error:
                raise Invalid(f"trace line {place + 1} cannot be played: {error}") from error
            if line["kind"] == "open":
                recording, made = player.store.record(counter), 1  # type: ignore[arg-type]
                grown = _ROW * sum(len(line["res"]["snapshot"][name]) for name in ("promises", "schedules", "messages"))
            else:
                assert recording is not None
                made = max(recording.lines - before, 1)
            if player.replied > most_replies:
                raise TooLarge(
                    f"trace line {place + 1}: the replies of a recording must have at most {most_replies} bytes, got more"
                )
            follow = min(made, len(self._lines) - place) - 1
            event = _event(len(self.events), line, (place, place + 1 + follow), ids)
            self.events.append(event)
            rows = made + grown // _ROW
            kept.see(event.n, rows, math.inf if _names_no_row(line) else rows + counter.size // 500, player)
            self._grow(grown + made * _ROW + counter.size + _size(event))
            if self._most is not None and self.bytes + kept.bytes > self._most:
                self._grow(kept.bytes)
            if processor_seconds() > until:
                raise TooLarge(
                    f"trace line {place + 1}: a recording must be played in {_LONGEST} s of a processor: record a shorter time"
                )
            counter.size = 0
        self._kept = kept.states
        self._grow(kept.bytes)
        if recording is not None:
            recording.close()

    def line(self, event: Event) -> dict[str, Any]:
        """Return the first line of an event."""
        return LineReader().read(self._lines[event.lines[0]])

    def size(self, event: Event) -> int:
        """Return the bytes of the first line of an event."""
        return len(self._lines[event.lines[0]])

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
            player.play(self.line(event))
        return player.store

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of its store."""
        return self._options


def _names_no_row(line: Mapping[str, Any]) -> bool:
    """Return whether a request changes all rows that match."""
    return line["kind"] in ONE_OR_MANY and "id" not in line["req"]["data"]


def _packed(line: str | bytes) -> bytes:
    return line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line


def _size(event: Event) -> int:
    """Return a bound on the memory of an event in bytes. Its ids are counted once in a recording, with its lines."""
    return getsizeof(event) + getsizeof(event.text) + getsizeof(event.ids) + getsizeof(event.lines) + 8 * len(event.ids) + 120


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    names = ("rules", "retry_timeout", "catchup", "unblock_retention")
    return {name: given[name] for name in names if name in given}


def _event(n: int, line: Mapping[str, Any], lines: tuple[int, int], known: dict[str, str]) -> Event:
    kind, req, res = sys.intern(line["kind"]), line["req"], line["res"]
    if kind == "open":
        return Event(n, line["now"], kind, (), None, "the recording begins" if n == 0 else "the whole state is replaced", lines)
    if kind == "messages.take":
        return Event(
            n, line["now"], kind, tuple(req["keys"][:_MOST_IDS]), None, f"{len(req['keys'])} messages leave the store", lines
        )
    if kind.startswith("step."):
        text = step_text(kind.removeprefix("step."), req["id"], res)
        id = known.setdefault(req["id"], req["id"])
        return Event(n, line["now"], kind, (id,), None, text, lines)
    ids = tuple(known.setdefault(id, id) for id in dict.fromkeys(_ids(req["data"], res["data"])))[:_MOST_IDS]
    status = res["head"]["status"]
    who = req["data"].get("worker") or req["data"].get("pid")
    text = f"{kind} {', '.join(ids[:3])}".strip() + (" …" if len(ids) > 3 else "") + (f" by {who}" if isinstance(who, str) else "")
    if status not in (200, 300):
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
