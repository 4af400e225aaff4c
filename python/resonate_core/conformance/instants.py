"""The server's clock, seen from here: between which two instants a request has run."""

from __future__ import annotations

import math
import time

from .exchange import local_ms

__all__ = ["ServerTime"]

_SLACK = 1  # ms: instants are whole milliseconds on both sides
_NAP = 0.02  # seconds; the longest sleep that ends a wait too early


class ServerTime:
    """Bounds on the difference between the server's clock and the stopwatch of this process.

    Each instant that a reply shows of its own request narrows them: it lies between the sending of the request and the arrival of the
    answer. No request asks for the time alone.

    Attributes:
        fixed: The instant of a server with a manual clock, which only the judge moves; None: its clock runs.

    Example:
        >>> clock = ServerTime()
        >>> clock.learn(100.0, 110.0, 5_000)  # a reply between 100 and 110 on the stopwatch shows the instant 5000
        >>> clock.bounds(200.0, 201.0)
        (5089, 5103)
    """

    def __init__(self) -> None:
        self._low, self._high = -math.inf, math.inf
        self.fixed: int | None = None

    @property
    def known(self) -> bool:
        """Whether an instant was seen."""
        return self.fixed is not None or self._low > -math.inf

    def learn(self, begin: float, end: float, instant: int) -> None:
        """Note that the server's clock showed an instant between two readings of the stopwatch."""
        low, high = instant - end, instant + 1 - begin
        if low > self._high or high < self._low:  # one of the clocks was set, or this is another server behind the same URL
            self._low, self._high = low, high
        else:
            self._low, self._high = max(low, self._low), min(high, self._high)

    def bounds(self, begin: float, end: float) -> tuple[int, int]:
        """The first and the last instant that the server's clock may have shown between two readings of the stopwatch."""
        if self.fixed is not None:
            return self.fixed, self.fixed
        return math.floor(begin + self._low) - _SLACK, math.floor(end + self._high) + _SLACK

    def contradicts(self, begin: float, end: float, instant: int) -> bool:
        """Whether an instant cannot have been the server's time between two readings of the stopwatch."""
        low, high = self.bounds(begin, end)
        return not low <= instant <= high

    def now(self) -> tuple[int, int]:
        """The bounds of the present instant."""
        here = local_ms()
        return self.bounds(here, here)

    def sleep_past(self, instant: int) -> None:
        """Sleep until the server's clock has certainly passed an instant."""
        while (low := self.now()[0]) <= instant:
            time.sleep(max(_NAP, (instant - low) / 1000))
