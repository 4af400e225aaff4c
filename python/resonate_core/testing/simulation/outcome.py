"""The outcome of a simulated run: its value, its story and its trace."""

from __future__ import annotations

from typing import Any

from .run_story import events_of, recording_of, story_of_run, trace_of

__all__ = ["Run"]


class Run:
    """What a simulated run did.

    Attributes:
        value: What the scenario returned.
        steps: The number of callbacks that ran.
        now: The instant at which it ended, in Unix ms.
        tape: The choices that were drawn.
    """

    def __init__(self, raw: list[Any], steps: int, now: int, tape: list[int]) -> None:
        self._raw = raw
        self.value: Any = None
        self.steps = steps
        self.now = now
        self.tape = tape

    def __repr__(self) -> str:
        return f"<Run of {self.steps} steps until t={self.now}>"

    @property
    def trace(self) -> list[str]:
        """Everything that happened, one line each: equal runs have equal traces."""
        return trace_of(self._raw)

    @property
    def story(self) -> list[str]:
        """The events that a person wants to see: crashes, faults, and claims, starts, completions and settlements, with instants in ms."""
        return story_of_run(self._raw)

    @property
    def recording(self) -> list[str]:
        """The recording of the store, as `Store.record` writes it: a source for `resonate_core.display.timeline`."""
        return recording_of(self._raw)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The faults, crashes and notes, as the events of a timeline."""
        return events_of(self._raw)
