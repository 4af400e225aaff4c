"""The reports of running attempts, kept until they are sent to the store."""

from __future__ import annotations

import threading
from collections import deque

from ..errors import Invalid

__all__ = ["LINES_KEPT", "LINE_BYTES", "ReportBuffer"]

#: The longest line, and the most of one request and of one job (JOBS 5 job.report).
LINE_BYTES, LINES_KEPT = 1000, 100


class ReportBuffer:
    """The reports of one attempt that were not sent yet: the newest progress, and the newest 100 lines.

    A handler adds to them in any thread; the worker takes them.

    Attributes:
        sending: Held while they are sent, so that the end of the attempt waits until they are.
    """

    __slots__ = ("_lines", "_lock", "_progress", "sending")

    def __init__(self) -> None:
        self._progress: float | None = None
        self._lines: deque[str] = deque(maxlen=LINES_KEPT)
        self._lock = threading.Lock()
        self.sending = threading.Lock()

    def __bool__(self) -> bool:
        return self._progress is not None or bool(self._lines)

    def add(self, progress: float | None, text: str | None) -> bool:
        """Keep a report for the worker, as `JobContext.report`; return whether there was something in it."""
        if progress is not None and (isinstance(progress, bool) or not isinstance(progress, (int, float))):
            raise TypeError(f"progress must be int or float, got {type(progress).__name__}")
        if progress is not None and not 0 <= progress <= 1:
            raise Invalid(f"progress must be within 0..1, got {progress}")
        if text is not None and not isinstance(text, str):
            raise TypeError(f"text must be str, got {type(text).__name__}")
        lines = [] if text is None else [_cut(line) for line in text.splitlines() if line.strip()]
        with self._lock:
            self._progress = self._progress if progress is None else progress
            self._lines.extend(lines)
        return progress is not None or bool(lines)

    def take(self) -> tuple[float | None, list[str]]:
        """Return the reports and remove them."""
        with self._lock:
            taken = self._progress, list(self._lines)
            self._progress = None
            self._lines.clear()
        return taken

    def put_back(self, progress: float | None, lines: list[str]) -> None:
        """Keep reports that could not be sent, before those that were added since."""
        with self._lock:
            self._progress = progress if self._progress is None else self._progress
            self._lines = deque([*lines, *self._lines], maxlen=LINES_KEPT)


def _cut(line: str) -> str:
    """Return a line, cut to the length that a request may have."""
    line = line.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if len(line.encode()) <= LINE_BYTES:
        return line
    return line.encode()[: LINE_BYTES - len("…".encode())].decode("utf-8", "ignore") + "…"
