"""When a request is sent again: after no answer, or the answer of a busy server."""

from __future__ import annotations

from random import uniform

from ..base.stopwatch import doubled, seconds
from ..errors import Unreachable

__all__ = ["Retries"]

#: Seconds: the first and the longest pause before a request is sent again. Each is doubled, and shortened by up to a half by chance,
#: so that the clients of a server that was away do not all send at one instant.
_FIRST, _LONGEST = 0.1, 5.0


class Retries:
    """The attempts of one call.

    Args:
        again: Whether the request can run twice with the effect of one run.
        retry_for: Seconds for which it is repeated.
    """

    def __init__(self, again: bool, retry_for: float) -> None:
        self._again = again
        self._until = seconds() + retry_for
        self._failed = 0

    def pause_after(self, error: Unreachable) -> float:
        """Return the seconds before the next attempt.

        Raises:
            Unreachable: There is none: the time is over, or the request may have been executed and must not run twice.
        """
        if error.executed and not self._again:
            raise error
        pause = doubled(_FIRST, self._failed, _LONGEST) * uniform(0.5, 1)
        if error.retry_after is not None:
            pause = max(pause, error.retry_after)
        self._failed += 1
        if seconds() + pause > self._until:
            raise error
        return pause
