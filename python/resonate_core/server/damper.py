"""A pause before a task that was given back is offered again.

A worker that cannot run a task (it does not know the function, or fails before the first step) releases it, and the store
offers a released task at once: as often as messages go around, for ever. The pause costs such a task nothing, and
nobody else is kept waiting.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from .._stopwatch import doubled

__all__ = ["Damper"]

#: Seconds before the second offer in a row; doubled with each further one, up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
#: Releases further apart than this, in seconds, are not in a row.
_IN_A_ROW = 60.0
#: How many tasks are remembered; those that were released longest ago are forgotten first.
_REMEMBERED = 10_000


class Damper:
    """Knows which tasks were released again and again without having got any further.

    Args:
        now: Seconds of a clock that does not go back.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._released: OrderedDict[str, tuple[int, float]] = OrderedDict()  # how often in a row, and when last

    def __bool__(self) -> bool:
        return bool(self._released)

    def released(self, id: str) -> None:
        """A worker gave a task back."""
        times, last = self._released.pop(id, (0, 0.0))
        now = self._now()
        self._released[id] = (times + 1 if now - last <= _IN_A_ROW else 1, now)
        if len(self._released) > _REMEMBERED:
            self._released.popitem(last=False)

    def got_further(self, id: str) -> None:
        """A task was suspended or fulfilled: its releases before that mean nothing."""
        self._released.pop(id, None)

    def wait(self, id: str) -> float:
        """For how many seconds more a task is not offered.

        After its first release it is offered at once: a worker that stops gives back what others can run.
        """
        known = self._released.get(id)
        if known is None or known[0] < 2:
            return 0.0
        times, last = known
        pause = doubled(FIRST_PAUSE, times - 2, LONGEST_PAUSE)
        return max(0.0, last + pause - self._now())
