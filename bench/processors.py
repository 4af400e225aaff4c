"""How busy the processors of the machine are while something is measured."""

from __future__ import annotations

from pathlib import Path


class BusyShare:
    """Measures from its creation on.

    Example:
        >>> from bench.processors import BusyShare
        >>> 0 <= BusyShare().percent() <= 100
        True
    """

    def __init__(self) -> None:
        self._before = _ticks()

    def percent(self) -> float:
        """The time of all processors that was not idle, of all programs together. Below 100 something else than they is the limit."""
        busy, idle = (now - before for now, before in zip(_ticks(), self._before, strict=True))
        return 100 * busy / (busy + idle) if busy + idle else 0.0


def _ticks() -> tuple[int, int]:
    """Of all processors since the start of the machine: busy, and idle or waiting for a disk."""
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return sum(fields) - idle, idle
