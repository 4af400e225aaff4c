"""A summary of the problems that a store works around, without ids: /ready needs no token."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .._core import Violation

__all__ = ["summary"]

_DETAILS = {
    "schedule_set_aside": "{count} of the schedules cannot be fired: `resonate-core check` names them and says why",
    "clock_ahead": "the store has seen an instant ahead of the system's clock: `resonate-core check` says by how much",
}


def summary(problems: Iterable[Violation]) -> list[dict[str, str]]:
    """One entry for each name of a problem, in order of the names."""
    counted = Counter(problem.name for problem in problems)
    return [{"name": name, "detail": _DETAILS.get(name, name).format(count=count)} for name, count in sorted(counted.items())]
