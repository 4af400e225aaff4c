"""The future of a store: a slider that moves a fork, the fork's timeline, and its differences from the store."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from resonate_core._core import ManualClock, Store
from resonate_core.base.extras import how_to_install
from resonate_core.errors import Invalid, ResonateError
from resonate_core.explain.diff import diff
from resonate_core.explain.recordings import trace_lines
from resonate_core.timeline.data import Event, timeline_data

if TYPE_CHECKING:
    from resonate_core.history import Source
    from resonate_core.notebook.widget_view import Picture
    from resonate_core.timeline.widget import TimelineWidget

__all__ = ["DAY", "MovedFork", "widget_of", "widget_of_fork"]

DAY = 86_400_000

MOST_STEPS = 200_000
"""The maximum of steps that one move of the fork may take; it stops there and reports it."""


MOST_CHANGES = 500
"""The maximum of differences that the widget shows; a last line counts the others."""


class MovedFork:
    """A fork of a store on a clock of its own, moved forward and back. The store itself never changes.

    Args:
        store: The store.
        horizon: How far the clock of the fork may go, in ms.
        history: A recording that led to the state of the store; None if there is none.
        events: What the story says beside it.

    Example:
        >>> from resonate_core.timeline.fork_slider import MovedFork
        >>> store = rc.Store(clock=rc.ManualClock())
        >>> _ = store.promises.create("a", timeout=1000, tags={"resonate:timer": "true"})
        >>> fork = MovedFork(store, 5000)
        >>> state = fork(2000)
        >>> fork.fork.promises.get("a").state, fork(500)["fork_at"], fork.fork.promises.get("a").state, store.now
        ('resolved', 500, 'pending', 0)
    """

    def __init__(self, store: Store, horizon: int, history: Source | None = None, events: Iterable[Event] = ()) -> None:
        if horizon < 1:
            raise Invalid(f"horizon must be at least 1 ms, got {horizon}")
        self._start = store.now
        self._base: Store = store.fork(clock=ManualClock(self._start))
        self._end = self._start + horizon
        self._before = _lines_of(history)
        self._events = list(events)
        self._begin()

    def _begin(self) -> None:
        self.clock = ManualClock(self._start)
        self.fork: Store = self._base.fork(clock=self.clock)
        self._trace = io.StringIO()
        self.fork.record(self._trace)

    def lines(self) -> list[str | bytes]:
        """Return the recording of the store, if there is one, and of the fork."""
        return [*self._before, *trace_lines(self._trace)]

    def __call__(self, at: int | None) -> dict[str, Any]:
        """Move the fork to an instant, and return what the widget shows: its data, the diff to the store, and what is due next."""
        problem = ""
        wanted = self._start if at is None else min(max(at, self._start), self._end)
        if wanted < self.clock.now:
            self._begin()
        try:
            problem = self._advance(wanted)
        except ResonateError as error:
            problem = str(error)
        data = timeline_data(self.lines(), end=self.clock.now, events=self._events)
        due = self.fork.next_due()
        return {
            "data": {**data, "source": "fork", "horizon": [self._start, self._end]},
            "fork_at": self.clock.now,
            "horizon": [self._start, self._end],
            "next_due": due if due is not None and due <= self._end else None,
            "diff": diff(self._base, self.fork, labels=("store", "fork"), most=MOST_CHANGES).to_dict(),
            "problem": problem,
        }

    def _advance(self, wanted: int) -> str:
        steps = 0
        while self.clock.now < wanted:
            due = self.fork.next_due()
            if due is None or due > wanted:
                self.clock.advance_to(wanted)
                return ""
            steps += len(self.clock.advance_to(max(due, self.clock.now))) or 1
            if steps > MOST_STEPS:
                return f"the fork stopped after {MOST_STEPS:,} steps, before {wanted}"
            if due <= self.clock.now and self.fork.next_due() == due:
                self.clock.advance_to(wanted)
        return ""


def _lines_of(history: Source | None) -> list[str | bytes]:
    return [] if history is None else list(trace_lines(history))


def widget_of_fork(
    store: Store,
    horizon: timedelta | int,
    history: Source | None,
    events: Iterable[Event],
    draw: Callable[[list[str | bytes]], Picture | None],
) -> TimelineWidget:
    """See `resonate_core.display.explore`; `draw` makes the static picture of a recording."""
    length = round(horizon / timedelta(milliseconds=1)) if isinstance(horizon, timedelta) else horizon
    made = _widget_class()
    fork = MovedFork(store, length, history, events)
    return made({}, fork, lambda: draw(fork.lines()))


def widget_of(data: dict[str, Any], source: Any, picture: Callable[[], Picture]) -> TimelineWidget:
    """Return the widget of a timeline with its static picture; for a store, with a slider that moves a fork."""
    made = _widget_class()
    if isinstance(source, Store) and not source.closed:
        return made(data, MovedFork(source, DAY, events=data["events"]), picture)
    return made(data, None, picture)


def _widget_class() -> type[TimelineWidget]:
    try:
        from resonate_core.timeline.widget import TimelineWidget
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("anywidget", "traitlets"):
            raise
        message = f"the interactive timeline needs anywidget, which is not installed: {how_to_install('notebook')}"
        raise ModuleNotFoundError(message, name=error.name) from error
    return TimelineWidget
