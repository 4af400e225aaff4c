"""The events of a recording, in little memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

__all__ = ["Event", "Events"]


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened: a request with the steps that it made due, or a step of a tick.

    Attributes:
        n: Its place; the state after it is that of `Recording.state(n)`.
        at: When it ran, in Unix ms.
        kind: The kind of the request, `step.` and the kind of the step, `open` or `messages.take`.
        ids: The ids that it names.
        status: The status of the reply; None for a step.
        text: A sentence about it, in one line.
        lines: The first of its lines in the recording, and the one after the last.
    """

    n: int
    at: int
    kind: str
    ids: tuple[str, ...]
    status: int | None
    text: str
    lines: tuple[int, int]


class Events(Sequence[Event]):
    """The events of a recording. Each is made anew when it is asked for.

    Each event is kept as a plain tuple of texts and numbers, which the garbage collector stops tracking. It would track each object of
    a class, and a full run of the collector stops all threads: with many events it would take several times as long.

    Example:
        >>> from resonate_core.ui.recorded_events import Event, Events
        >>> events = Events()
        >>> events.append(Event(0, 1000, "promise.create", ("a",), 200, "promise.create a", (1, 2)))
        >>> len(events), events[0].ids, [event.lines for event in events[-1:]]
        (1, ('a',), [(1, 2)])
    """

    def __init__(self) -> None:
        self._kept: list[tuple[Any, ...]] = []

    def append(self, event: Event) -> None:
        """Add the last event; its number is its place."""
        self._kept.append((event.at, event.kind, event.status, event.text, *event.lines, *event.ids))

    def __len__(self) -> int:
        return len(self._kept)

    @overload
    def __getitem__(self, place: int) -> Event: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Event]: ...
    def __getitem__(self, place: int | slice) -> Event | Sequence[Event]:
        if isinstance(place, slice):
            return [self._made(n) for n in range(*place.indices(len(self._kept)))]
        return self._made(range(len(self._kept))[place])

    def _made(self, n: int) -> Event:
        at, kind, status, text, first, end, *ids = self._kept[n]
        return Event(n, at, kind, tuple(ids), status, text, (first, end))
