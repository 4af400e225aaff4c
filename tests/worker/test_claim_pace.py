"""When a worker claims next, and whether a commit wakes it."""

from __future__ import annotations

import asyncio
from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from resonate_core.worker.claim_pace import ClaimPace
from resonate_core.worker.claiming import Round

ROOM = 4


class Pace:
    """The pace of a worker in a fleet of so many, at the time 100 of its loop."""

    def __init__(self, fleet: int) -> None:
        client = SimpleNamespace(now=lambda: 0, fleet=lambda: fleet, manual=False)
        parts: Any = SimpleNamespace(
            settings=SimpleNamespace(poll_interval=1.0), client=client, environment=SimpleNamespace(polls=True)
        )
        loop: Any = SimpleNamespace(time=lambda: 100.0)
        self.of = ClaimPace(parts, loop, asyncio.Event())
        self.rearmed = 0
        self.of.wakeup = self  # type: ignore[assignment]

    def rearm(self, until: int | None) -> None:
        self.rearmed += 1

    def claim(self, taken: int) -> bool:
        """Claim, and return whether a commit meanwhile would have woken the worker."""
        before = self.rearmed
        self.of.before_claim()
        self.of.after_claim(Round(deque(), deque(), ROOM, ROOM, taken=taken), ROOM)
        return self.rearmed > before

    def follows_at_once(self) -> bool:
        return self.of.next_at == 0


def test_a_worker_of_a_fleet_that_has_a_backlog_lets_no_commit_wake_it() -> None:
    pace = Pace(fleet=3)
    assert [pace.claim(ROOM) for _ in range(12)] == [True] * 8 + [False] * 4
    assert pace.follows_at_once()
    assert not pace.claim(ROOM - 1)
    assert pace.follows_at_once(), "a job that came during the claim has woken nobody"
    assert pace.claim(0)
    assert not pace.follows_at_once()
    assert [pace.claim(ROOM) for _ in range(9)] == [True] * 8 + [False]


@pytest.mark.parametrize("fleet", [0, 1])
def test_the_only_worker_is_always_woken(fleet: int) -> None:
    """It has no share in what notices cost a fleet, and looks no second time when its backlog ends."""
    pace = Pace(fleet)
    assert all(pace.claim(ROOM) for _ in range(12))
    pace.claim(0)
    assert not pace.follows_at_once()


def test_a_commit_during_a_claim_makes_the_next_one_follow_at_once() -> None:
    pace = Pace(fleet=3)
    pace.of.before_claim()
    pace.of.claim_now()
    pace.of.after_claim(Round(deque(), deque(), ROOM, ROOM), ROOM)
    assert pace.follows_at_once()
