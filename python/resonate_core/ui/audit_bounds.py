"""The bounds of what the audit keeps: lines of a bounded size, a bounded number of them for each room."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from .rooms import TENANTS, Room

__all__ = ["Brief", "Rings", "cut"]

#: The most entries of a list or an object, and the most levels of them.
_MOST_ENTRIES, _MOST_LEVELS = 20, 3
#: The most characters of a text, and of all texts of a line's target.
_MOST_TEXT, _MOST_TARGET = 200, 2000


class Rings:
    """The newest lines of each room; all tenants together have no more than some times those of one.

    Args:
        kept: The lines of a room.
    """

    def __init__(self, kept: int) -> None:
        self._each, self._all = kept, TENANTS * kept
        self._rings: dict[Room, deque[dict[str, Any]]] = {}
        self._by_tenants = 0

    def add(self, room: Room, line: dict[str, Any]) -> None:
        """Add a line; the oldest one of its room is dropped if the room is full."""
        ring = self._rings.setdefault(room, deque())
        ring.append(line)
        self._by_tenants += bool(room[0])
        if len(ring) > self._each:
            self._drop(room)
        elif self._by_tenants > self._all:
            self._drop(max((one for one in self._rings if one[0]), key=lambda one: len(self._rings[one])))

    def _drop(self, room: Room) -> None:
        ring = self._rings[room]
        ring.popleft()
        self._by_tenants -= bool(room[0])
        if not ring:
            del self._rings[room]

    def prefixes(self) -> list[str]:
        """Return the prefixes of the rooms that have lines."""
        return [prefix for prefix, _ in self._rings]

    def newest(self) -> list[list[dict[str, Any]]]:
        """Return the lines of each room, newest first."""
        return [list(reversed(ring)) for ring in self._rings.values()]


class Brief:
    """Shortens what a request was about: a line of the audit has a bounded size, whatever was sent."""

    def __init__(self) -> None:
        self._left = _MOST_TARGET

    def of(self, value: Any, levels: int = _MOST_LEVELS) -> Any:
        """Return a value with texts, lists and objects cut, and deep ones left out."""
        if isinstance(value, Mapping):
            kept = list(value.items())[:_MOST_ENTRIES] if levels else []
            made = {self._text(str(name)): self.of(one, levels - 1) for name, one in kept}
            return made if len(kept) == len(value) else {**made, "…": f"and {len(value) - len(kept)} more"}
        if isinstance(value, list):
            first = value[:_MOST_ENTRIES] if levels else []
            shown = [self.of(one, levels - 1) for one in first]
            return shown if len(first) == len(value) else [*shown, f"and {len(value) - len(first)} more"]
        if isinstance(value, str):
            return self._text(value)
        is_short = value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and -(2**63) <= value < 2**63)
        return value if is_short else f"a {type(value).__name__} that is no value of the protocol"

    def _text(self, text: str) -> str:
        shown = cut(text, min(_MOST_TEXT, self._left)) or ""
        self._left = max(self._left - len(shown), 0)
        return shown


def cut(text: str | None, most: int = _MOST_TEXT) -> str | None:
    """Return a text with at most so many characters, and a sign if it had more."""
    return text if text is None or len(text) <= most else text[:most] + "…"
