"""The screen of the dash: it shows all queues, one queue, or one job. Keys change which one, and select a line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from resonate_core.cli.dash_frame import Frame

__all__ = ["KEYS", "Screen", "Shown"]

#: Keys and what they do, for the line at the bottom.
KEYS = (("q", "quit"), ("p", "pause"), ("/", "filter"), ("↑↓", "select"), ("enter", "open"), ("esc", "back"), ("r", "refresh"))


@dataclass(frozen=True)
class Shown:
    """One thing that is shown.

    Attributes:
        kind: `all`, `queue` or `job`.
        name: The name of the queue, or the id of the job.
    """

    kind: str = "all"
    name: str = ""


@dataclass
class Screen:
    """The shown, selected and filtered lines.

    Attributes:
        stack: All opened things, one in the other; the last is shown.
        filter: A part of a queue, an id, a type, a worker or an error; only what has it is shown.
        is_typing: Keys go into the filter.
        is_paused: Frames are not refreshed.
        selected: The number of the selected line, among all lines that can be opened.
        has_ended: The person wants to quit.
        wants_frame: A frame is needed at once.

    Example:
        >>> from resonate_core.cli.dash_screen import Screen
        >>> screen = Screen()
        >>> for key in ["/", "m", "a", "enter", "p"]:
        ...     screen.press(key, [])
        >>> screen.filter, screen.is_typing, screen.is_paused
        ('ma', False, True)
    """

    stack: list[Shown] = field(default_factory=lambda: [Shown()])
    filter: str = ""
    is_typing: bool = False
    is_paused: bool = False
    selected: int = 0
    has_ended: bool = False
    wants_frame: bool = False

    @property
    def shown(self) -> Shown:
        """The last opened thing."""
        return self.stack[-1]

    def press(self, key: str, lines: list[Shown]) -> None:
        """Does what a key says.

        Args:
            key: As `Keys` names it.
            lines: What can be opened, in the order on the screen.
        """
        if self.is_typing:
            self._type(key)
            return
        steps = {"up": -1, "k": -1, "down": 1, "j": 1, "page up": -10, "page down": 10, "home": -(10**9), "end": 10**9}
        if key in steps:
            self.selected = min(max(self.selected + steps[key], 0), max(len(lines) - 1, 0))
        elif key == "q":
            self.has_ended = True
        elif key in ("p", " "):
            self.is_paused = not self.is_paused
            self.wants_frame = not self.is_paused
        elif key == "/":
            self.is_typing = True
        elif key == "r":
            self.wants_frame = True
        elif key in ("enter", "right") and self.selected < len(lines):
            self.stack.append(lines[self.selected])
            self.selected, self.wants_frame = 0, True
        elif key in ("escape", "left", "backspace"):
            self._back()

    def _type(self, key: str) -> None:
        if key in ("enter", "escape"):
            self.is_typing = False
            if key == "escape":
                self.filter = ""
        elif key == "backspace":
            self.filter = self.filter[:-1]
        elif len(key) == 1:
            self.filter += key
        self.selected = 0

    def _back(self) -> None:
        if len(self.stack) > 1:
            self.stack.pop()
            self.wants_frame = True
        else:
            self.filter = ""
        self.selected = 0

    def narrowed(self, frame: Frame) -> Frame:
        """Return the part of a frame that is shown: the opened queue's, and the lines that contain the text of the filter."""
        queue = self.shown.name if self.shown.kind == "queue" else None
        queues = [one for one in frame.queues if queue is None or one.name == queue]
        jobs = {"running": frame.running, "failures": frame.failures}
        if queue is not None:
            jobs = {name: [job for job in found if job["queue"] == queue] for name, found in jobs.items()}
        if self.filter:
            jobs = {name: [job for job in found if self._has(job)] for name, found in jobs.items()}
            named = {job["queue"] for found in jobs.values() for job in found}
            queues = [one for one in queues if self.filter.lower() in one.name.lower() or one.name in named]
        return replace(frame, queues=queues, running=jobs["running"], failures=jobs["failures"])

    def _has(self, job: Mapping[str, Any]) -> bool:
        error = job.get("error") or {}
        texts = (job["id"], job["type"], job["queue"], job["state"], job.get("claimedBy"), error.get("code"), error.get("message"))
        return any(self.filter.lower() in str(one).lower() for one in texts if one)

    def lines(self, frame: Frame) -> list[Shown]:
        """Return the lines of a narrowed frame that can be opened, in the order on the screen."""
        if self.shown.kind == "job":
            return []
        queues = [Shown("queue", one.name) for one in frame.queues] if self.shown.kind == "all" else []
        return queues + [Shown("job", job["id"]) for job in (*frame.running, *frame.failures)]
