"""What running attempts say about their work: it is kept until it is sent to the store."""

from __future__ import annotations

import threading
from collections import deque

from ..errors import Invalid

__all__ = ["LINES_KEPT", "LINE_BYTES", "Progress"]

#: The longest line, and the most of one request and of one job (JOBS 5 job.report).
LINE_BYTES, LINES_KEPT = 1000, 100


class Progress:
    """The reports of one attempt that were not sent yet. A handler adds to them in any thread; the worker takes them.

    Attributes:
        sending: Held while they are sent, so that the end of the attempt waits until they are.
    """

    __slots__ = ("_said", "sending")

    def __init__(self) -> None:
        self._said: deque[tuple[float | None, list[str]]] = deque()
        self.sending = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._said)

    def add(self, progress: float | None, text: str | None) -> bool:
        """Keep a report for the worker, as `JobContext.report`; return whether there was something in it."""
        if progress is not None and (isinstance(progress, bool) or not isinstance(progress, (int, float))):
            raise TypeError(f"progress must be int or float, got {type(progress).__name__}")
        if progress is not None and not 0 <= progress <= 1:
            raise Invalid(f"progress must be within 0..1, got {progress}")
        if text is not None and not isinstance(text, str):
            raise TypeError(f"text must be str, got {type(text).__name__}")
        lines = [] if text is None else [_cut(line) for line in text.splitlines() if line.strip()]
        if progress is None and not lines:
            return False
        self._said.append((progress, lines[-LINES_KEPT:]))
        return True

    def take(self) -> tuple[float | None, list[str]]:
        """The newest progress, and the newest lines, which are then no longer here."""
        progress: float | None = None
        lines: list[str] = []
        for _ in range(len(self._said)):
            newer, more = self._said.popleft()
            progress = progress if newer is None else newer
            lines += more
        return progress, lines[-LINES_KEPT:]

    def put_back(self, progress: float | None, lines: list[str]) -> None:
        """Keep what could not be sent, before what was added since."""
        self._said.appendleft((progress, lines))


def _cut(line: str) -> str:
    """The line as a request can carry it."""
    line = line.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if len(line.encode()) <= LINE_BYTES:
        return line
    return line.encode()[: LINE_BYTES - len("…".encode())].decode("utf-8", "ignore") + "…"
