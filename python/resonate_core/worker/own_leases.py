"""When the leases of a worker's jobs end, as far as the worker knows by its own clock: without an answer, no lease is longer than that."""

from __future__ import annotations

import math
from collections.abc import Collection

from .job_source import Held

__all__ = ["OwnLeases"]


class OwnLeases:
    """The ends of leases. Instants are those of the event loop.

    A job is not noted when it is claimed, which would cost each job something, but at the first look at what is held. Its lease began after
    the look before.

    Args:
        lease: The shortest lease, in seconds.

    Attributes:
        since: From when on a job that no look has seen may have its lease.

    Example:
        >>> from resonate_core.worker.own_leases import OwnLeases
        >>> leases = OwnLeases(30)
        >>> leases.look([("a", 1)], 10)
        >>> leases.first_end, leases.over(29), leases.over(30)
        (30.0, [], [('a', 1)])
    """

    def __init__(self, lease: float) -> None:
        self._lease = lease
        self._ends: dict[Held, float] = {}
        self.since = 0.0

    def look(self, held: Collection[Held], since: float) -> None:
        """Note what is held now.

        Args:
            held: Id and version of each job.
            since: From when on other jobs may have their leases.
        """
        first = self.since + self._lease
        self._ends = {one: self._ends.get(one, first) for one in held}
        self.since = since

    def renew(self, held: Collection[Held], at: float) -> None:
        """Note that the leases of these jobs were renewed at this instant or later."""
        self._ends.update((one, at + self._lease) for one in held if one in self._ends)

    @property
    def first_end(self) -> float:
        """When the first lease ends."""
        return min(self._ends.values(), default=math.inf)

    def over(self, now: float) -> list[Held]:
        """Return the jobs whose leases are over, and those that still are held then a lease later again."""
        over = [one for one, end in self._ends.items() if end <= now]
        self._ends.update((one, now + self._lease) for one in over)
        return over

    def wait_until(self, at: float) -> None:
        """Let no lease end before an instant: the worker could not ask for a while, and does so now."""
        self._ends = {one: max(end, at) for one, end in self._ends.items()}
