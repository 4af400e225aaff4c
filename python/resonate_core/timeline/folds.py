"""Folds of a timeline: rows that belong together, counted over time."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

from resonate_core.explain.lifespans import Life

__all__ = ["Fold", "fold_data", "folds_of"]

FEWEST_MEMBERS = 4
"""The minimum of rows that are folded to one."""

BUCKETS = 240
"""The maximum of stretches of time in which the members are counted."""

_NUMBERS = re.compile(r"[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*|\d+")
_STEPS = [
    unit * factor
    for unit, factors in (
        (1, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (1000, (1, 2, 5, 10, 15, 30)),
        (60_000, (1, 2, 5, 10, 15, 30)),
        (3_600_000, (1, 2, 3, 6, 12)),
        (86_400_000, (1, 2, 7, 30, 90, 365)),
    )
    for factor in factors
]
_WAITING = ("pending", "retry", "suspended", "scheduled", "waiting")
_RUNNING = ("running", "acquired", "claimed")
_GOOD = ("completed", "resolved")
_BAD = ("failed", "rejected", "rejected_timedout", "expired")


@dataclass
class Fold:
    """Rows of one schedule, of one type of job, or whose ids differ in a number only."""

    label: str
    kind: str
    members: list[Life]


def folds_of(lives: list[Life]) -> list[Fold]:
    """Return the folds of lives, in order of their first member."""
    found: dict[tuple[str, str], list[Life]] = {}
    for life in lives:
        key = _key(life)
        if key is not None:
            found.setdefault(key, []).append(life)
    return [Fold(label, kind, members) for (kind, label), members in found.items() if len(members) >= FEWEST_MEMBERS]


def _key(life: Life) -> tuple[str, str] | None:
    if life.timeout_at is None:
        return None
    if life.schedule is not None:
        return "schedule", life.schedule
    if life.job is not None:
        return "type", str(life.job["type"])
    if life.of_workflow is not None and life.of_workflow.name:
        return "step", life.of_workflow.name
    label = _NUMBERS.sub("#", life.id)
    return ("name", label) if label != life.id else None


def fold_data(fold: Fold, first: int, last: int) -> dict[str, Any]:
    """Return a fold as JSON-able data: the states of its members at the end, and how many ran, waited, ended and failed over time."""
    step = next((step for step in _STEPS if step * BUCKETS > last - first), (last - first) // BUCKETS + 1)
    count = (last - first) // step + 1
    running, waiting = _Coverage(first, step, count), _Coverage(first, step, count)
    done, failed = [0] * count, [0] * count
    for life in fold.members:
        for span in life.spans:
            into = running if span.state in _RUNNING else waiting if span.state in _WAITING else None
            if into is not None:
                into.add(span.start, last if span.end is None else span.end)
        bad = {span.end for span in life.spans if span.outcome in ("failed", "crashed", "timed_out") and span.end is not None}
        for at in bad:
            _count(failed, at, first, step)
        for at, state in life.changes:
            if state in _GOOD:
                _count(done, at, first, step)
            elif state in _BAD and at not in bad:
                _count(failed, at, first, step)
    return {
        "label": fold.label,
        "kind": fold.kind,
        "members": len(fold.members),
        "states": dict(Counter(life.state for life in fold.members)),
        "step": step,
        "running": running.means(),
        "waiting": waiting.means(),
        "done": done,
        "failed": failed,
    }


def _count(into: list[int], at: int, first: int, step: int) -> None:
    bucket = (at - first) // step
    if 0 <= bucket < len(into):
        into[bucket] += 1


class _Coverage:
    """The average number of spans that cover each bucket of time; adding a span takes the same time for any length."""

    def __init__(self, first: int, step: int, count: int) -> None:
        self._first, self._step, self._count = first, step, count
        self._partial = [0] * count  # ms
        self._whole = [0] * (count + 1)  # changes of the number that cover a whole bucket

    def add(self, start: int, end: int) -> None:
        start, end = max(start - self._first, 0), min(end - self._first, self._count * self._step)
        if end <= start:
            return
        left, right = start // self._step, (end - 1) // self._step
        if left == right:
            self._partial[left] += end - start
            return
        self._partial[left] += (left + 1) * self._step - start
        self._partial[right] += end - right * self._step
        self._whole[left + 1] += 1
        self._whole[right] -= 1

    def means(self) -> list[float]:
        whole, means = 0, []
        for bucket in range(self._count):
            whole += self._whole[bucket]
            means.append(round(whole + self._partial[bucket] / self._step, 3))
        return means
