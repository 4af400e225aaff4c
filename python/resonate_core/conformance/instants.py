"""The server's clock as estimated here: the bounds of the instant at which a request ran."""

from __future__ import annotations

import math
import time

from .exchange import local_ms

__all__ = ["ServerTime"]

_SLACK = 25  # ms: instants are whole milliseconds, and the wall clock of a server is set by some of them now and then
_DRIFT = 0.002  # how much faster or slower the server's clock may be: one that NTP corrects is 0.0005 off
_NAP = 0.02  # seconds; the longest sleep that ends a wait too early


class ServerTime:
    """Bounds on the difference between the server's clock and the stopwatch of this process.

    The instant of a promise that a request has created narrows them: it lies between the sending of the request and the arrival of the
    answer. No request asks for the time alone.

    Attributes:
        fixed: The instant of a server with a manual clock, which only the judge moves; None: its clock runs.

    Example:
        >>> clock = ServerTime()
        >>> clock.learn(100.0, 110.0, 5_000)  # a reply between 100 and 110 on the stopwatch shows the instant 5000
        >>> clock.bounds(200.0, 201.0)
        (5064, 5127)
    """

    def __init__(self) -> None:
        # The bounds, and when they were learned: one value, since several connections read it.
        self._learned = (-math.inf, math.inf, 0.0)
        self.fixed: int | None = None

    def forget(self) -> None:
        """Forget the bounds."""
        self._learned = (-math.inf, math.inf, 0.0)

    @property
    def known(self) -> bool:
        """Whether an instant of the server is known."""
        return self.fixed is not None or self._learned[0] > -math.inf

    def learn(self, begin: float, end: float, instant: int) -> None:
        """Learn that the server's clock showed an instant between two readings of the stopwatch."""
        low, high = instant - end, instant + 1 - begin
        known_low, known_high = self._offset(end)
        if low > known_high or high < known_low:  # one of the clocks was set, or this is another server behind the same URL
            known_low, known_high = low, high
        self._learned = (max(low, known_low), min(high, known_high), end)

    def bounds(self, begin: float, end: float) -> tuple[int, int]:
        """The first and the last instant that the server's clock may have shown between two readings of the stopwatch."""
        if self.fixed is not None:
            return self.fixed, self.fixed
        low, high = self._offset(end)
        return math.floor(begin + low) - _SLACK, math.floor(end + high) + _SLACK

    def _offset(self, at: float) -> tuple[float, float]:
        """The bounds of the difference between the clocks, which the drift has widened since they were learned."""
        low, high, seen = self._learned
        drift = _DRIFT * max(0.0, at - seen)
        return low - drift, high + drift

    def now(self) -> tuple[int, int]:
        """The bounds of the present instant."""
        here = local_ms()
        return self.bounds(here, here)

    def sleep_past(self, instant: int) -> None:
        """Sleep until the server's clock has certainly passed an instant."""
        while (low := self.now()[0]) <= instant:
            time.sleep(max(_NAP, (instant - low) / 1000))
