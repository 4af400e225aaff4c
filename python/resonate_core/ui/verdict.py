"""A finding about one id: the parts of `Why` before its chain is followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["Advice", "Next", "Verdict"]

#: A text, and the kind and data of the request that does it.
Advice = tuple[str, "tuple[str, dict[str, Any]] | None"]


class Next(NamedTuple):
    """What happens next.

    Attributes:
        what: In words, without the instant.
        at: When, in Unix ms; None if it is not known.
        is_step: Whether it is an internal step, which needs a process that ticks the store.
    """

    what: str
    at: int | None
    is_step: bool = False


@dataclass(frozen=True)
class Verdict:
    """Why one id does not move, without what it waits for in turn.

    Attributes:
        id: The id.
        kind: As in `Why`.
        state: As in `Why`.
        sentence: The reason.
        next: What happens next by itself.
        waits_for: The ids that it waits for, the most telling first.
        stuck: Whether nothing happens by itself that lets it continue.
        advice: What a person can do.
    """

    id: str
    kind: str
    state: str | None
    sentence: str
    next: Next | None
    waits_for: Sequence[str] = ()
    stuck: bool = False
    advice: tuple[Advice, ...] = ()
