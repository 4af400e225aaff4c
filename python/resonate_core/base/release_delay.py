"""A delay before a task that was released again and again is delivered again.

A worker releases a task that it cannot run: it does not know the function, or fails before the first step. The store dispatches
a released task at once, so without a delay such a task would circulate for ever. The delay does not affect other tasks. The
server and the SDK's connection both use it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from .stopwatch import doubled

__all__ = ["ENDS_OF_RUNS", "IN_A_ROW", "Damper"]

#: The requests that end a worker's run of a task.
ENDS_OF_RUNS = frozenset(("task.release", "task.suspend", "task.fulfill"))

#: Seconds of the delay after the second release in a row; doubled with each further one, up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
#: Releases further apart than this, in seconds, are not in a row.
IN_A_ROW = 60.0
#: The most tasks that are remembered; the task with the oldest release is forgotten first.
_REMEMBERED = 10_000


class Damper:
    """Counts the releases of tasks, and computes the delay of each.

    Args:
        now: Seconds of a clock that does not go back.
        in_a_row: Releases further apart than this, in seconds, are not in a row.
    """

    def __init__(self, now: Callable[[], float], in_a_row: float = IN_A_ROW) -> None:
        self._now = now
        self._in_a_row = in_a_row
        self._released: OrderedDict[str, tuple[int, float]] = OrderedDict()  # how often in a row, and when last

    def __bool__(self) -> bool:
        return bool(self._released)

    def run_ended(self, kind: str, id: str) -> None:
        """Record the end of a run of a task: a release is counted, any other end resets the count.

        Args:
            kind: The request that ended it, of `ENDS_OF_RUNS`.
            id: The task.
        """
        if kind == "task.release":
            self._released[id] = (self.releases(id) + 1, self._now())
            self._released.move_to_end(id)
            if len(self._released) > _REMEMBERED:
                self._released.popitem(last=False)
        else:
            self._released.pop(id, None)

    def releases(self, id: str) -> int:
        """Return how often a task was released in a row."""
        times, last = self._released.get(id, (0, 0.0))
        return times if self._now() - last <= self._in_a_row else 0

    def wait(self, id: str) -> float:
        """Return the seconds until a task may be delivered again.

        After its first release there is no delay: a worker that stops releases tasks that others can run.
        """
        times, last = self._released.get(id, (0, 0.0))
        if times < 2:
            return 0.0
        pause = doubled(FIRST_PAUSE, times - 2, LONGEST_PAUSE)
        return max(0.0, last + pause - self._now())
