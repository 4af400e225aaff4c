"""When a worker claims jobs: at once while it has a backlog, and otherwise when the store wakes it, or after a pause."""

from __future__ import annotations

import asyncio
import math
import random

from ..base.instants import NEVER
from ..base.stopwatch import doubled
from .claiming import Round
from .environment import ClaimWakeup
from .settings import WorkerParts

__all__ = ["ClaimPace"]

#: The first pause between two rounds that found nothing to claim (s); each next one is twice as long, up to the worker's
#: poll_interval.
_FIRST_PAUSE = 0.01
#: Of a fleet that shares a database: how far apart its workers look for jobs that become due, and how often all of them together poll
#: if `poll_interval` is shorter, as long as none of them polls less often than the last (s).
_TURN, _POLL_OF_EACH, _LONGEST_POLL = 0.01, 0.2, 30.0
#: The shortest pause before a claim of jobs that become due (s).
_SHORTEST_PAUSE = 0.002
#: After so many full claims in a row, a worker of a fleet lets no commit wake it.
_BACKLOG = 8


class ClaimPace:
    """When a worker claims next.

    Args:
        parts: The parts of the worker.
        loop: Its event loop.
        wake: Set when it is to claim at once.

    Attributes:
        wakeup: Calls `claim_now`; set before the first claim.
        next_at: The next claim, by the time of the loop.
    """

    wakeup: ClaimWakeup

    def __init__(self, parts: WorkerParts, loop: asyncio.AbstractEventLoop, wake: asyncio.Event) -> None:
        self._settings = parts.settings
        self._client = parts.client
        self._polls = parts.environment.polls
        self._loop = loop
        self._wake = wake
        self.next_at = 0.0
        self._watched = True  # whether a commit since the last claim wakes
        self._woken = False  # by the store, since the last claim
        self._full = 0  # claims in a row that took all jobs that they asked for
        self._empty = 0  # claims in a row that found nothing

    def claim_now(self) -> None:
        """Claim at once: the store has woken the worker."""
        self._woken = True
        self.next_at = 0.0
        self._empty = 0
        self._wake.set()

    def before_claim(self) -> None:
        """Let commits wake the worker from here on, except if it has a backlog and is to claim again anyway.

        A fleet with a backlog would get a notice of each commit for each of its workers.
        """
        self._woken = False  # a wake-up from here on may be for something that this claim does not see
        fleet = self._client.fleet()
        self._watched = self._full < _BACKLOG or fleet <= 1
        if self._watched:
            longest = int(self._longest_pause(fleet) * 1000)
            self.wakeup.rearm(min(self._client.now() + longest, NEVER) if self._polls else None)

    def after_claim(self, round: Round, room: int) -> None:
        """Plan the next claim.

        Args:
            round: The claim.
            room: How many jobs it asked for.
        """
        if round.taken >= room:
            self._full += 1
            self._empty, self.next_at = 0, 0.0
            return
        self._full = 0
        if not self._watched:  # the commits since it began have not woken it: look once more
            self.next_at = 0.0
            return
        self._empty = 0 if round.taken else self._empty + 1
        fleet = self._client.fleet()
        first = max(_FIRST_PAUSE, fleet * _TURN)
        pause = doubled(first, self._empty, self._longest_pause(fleet)) if self._polls else math.inf
        if round.next_at is not None and not self._client.manual:
            # The workers of a fleet wait for the same instant: one of them runs the step and the others find it done.
            turn = random.uniform(0, fleet * _TURN) if fleet > 1 else 0
            pause = max(_SHORTEST_PAUSE, min(pause, (round.next_at - self._client.now()) / 1000 + turn))
        self.next_at = 0.0 if self._woken else self._loop.time() + pause

    def _longest_pause(self, fleet: int) -> float:
        """Return the longest pause between two claims that found nothing (s)."""
        return max(self._settings.poll_interval, min(fleet * _POLL_OF_EACH, _LONGEST_POLL))
