"""The faults of a simulation: how often each happens, and how long it lasts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from ...errors import Invalid
from .spans import Span, span

__all__ = ["Faults"]

_RATES = ("lose_request", "lose_reply", "delay", "duplicate", "reorder", "busy", "crash", "partition", "skew")
_LENGTHS = ("longest_delay", "timeout", "restart", "longest_partition", "largest_skew")


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong, as probabilities from 0 to 1, and the longest times in ms.

    Attributes:
        lose_request: A request never arrives.
        lose_reply: A request is executed, and its reply never arrives.
        delay: A request, or its reply, is late by up to `longest_delay`.
        duplicate: A request is executed a second time, up to `longest_delay` later. The second reply is ignored.
        reorder: A request lets requests overtake that are made in the next few ms.
        busy: The store refuses to answer: another process held its file for too long. Nothing is executed.
        crash: The process that makes the request crashes, before the request or after it.
        partition: The process that makes the request is cut off from the store for up to `longest_partition`.
        skew: A process starts with a clock that is up to `largest_skew` ahead or behind.
        longest_delay: See `delay`.
        timeout: How long a process waits for a reply that does not arrive, at most.
        restart: How long a crashed process is away, at most. None: for ever.
        longest_partition: See `partition`.
        largest_skew: See `skew`.
        processes: The names of those that faults happen to; None: all.
    """

    lose_request: float = 0
    lose_reply: float = 0
    delay: float = 0
    duplicate: float = 0
    reorder: float = 0
    busy: float = 0
    crash: float = 0
    partition: float = 0
    skew: float = 0
    longest_delay: int = 1000
    timeout: int = 5000
    restart: int | None = 60_000
    longest_partition: int = 60_000
    largest_skew: int = 60_000
    processes: frozenset[str] | None = None

    @property
    def any_of_requests(self) -> bool:
        """Whether a fault may happen to a request."""
        return any(getattr(self, rate) > 0 for rate in _RATES if rate != "skew")

    def concern(self, name: str) -> bool:
        """Whether they happen to this process."""
        return self.processes is None or name in self.processes

    def with_options(self, **options: Any) -> Faults:
        """Return these faults with others in place of some.

        Raises:
            Invalid: A rate that is no probability, or a duration that is none.
            TypeError: There is no such fault.
        """
        known = {each.name for each in fields(self)}
        for name, value in options.items():
            if name not in known:
                raise TypeError(f"there is no fault {name}; there are {', '.join(sorted(known))}")
            if name in _RATES:
                if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
                    raise Invalid(f"{name} must be a probability from 0 to 1, got {value!r}")
            elif name in _LENGTHS:
                options[name] = None if value is None and name == "restart" else span(name, value)
            elif value is not None:
                options[name] = _names(value)
        return replace(self, **options)


def _names(given: str | Iterable[str]) -> frozenset[str]:
    return frozenset([given] if isinstance(given, str) else given)


Lengths = Span | None
