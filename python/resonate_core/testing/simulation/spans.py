"""Durations of scenarios: milliseconds, a timedelta, or text such as ``"10 days"``."""

from __future__ import annotations

import re
from datetime import timedelta

from ...errors import Invalid

__all__ = ["Span", "span"]

#: Milliseconds, a timedelta, or a number and a unit.
Span = int | float | timedelta | str

_UNITS = {
    "ms": 1,
    "millisecond": 1,
    "s": 1000,
    "sec": 1000,
    "second": 1000,
    "m": 60_000,
    "min": 60_000,
    "minute": 60_000,
    "h": 3_600_000,
    "hour": 3_600_000,
    "d": 86_400_000,
    "day": 86_400_000,
    "week": 7 * 86_400_000,
}
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", re.IGNORECASE)


def span(name: str, given: Span) -> int:
    """Return a duration in ms.

    Args:
        name: Its name in an error.
        given: Milliseconds, a timedelta, or text: a number and a unit, of ms, s, min, h, days or weeks.

    Raises:
        Invalid: It is negative, or a text of another form.
        TypeError: It is none of these.

    Example:
        >>> from resonate_core.testing.simulation.spans import span
        >>> span("within", "10 days"), span("within", "1.5 s"), span("within", 250)
        (864000000, 1500, 250)
    """
    if isinstance(given, str):
        found = _TEXT.fullmatch(given)
        unit = found and (_UNITS.get(found[2].lower()) or _UNITS.get(found[2].lower().removesuffix("s")))
        if found is None or not unit:
            raise Invalid(f"{name} must be a number and a unit such as '10 days', '5 s' or '250 ms', got {given!r}")
        return round(float(found[1]) * unit)
    if isinstance(given, timedelta):
        made = round(given / timedelta(milliseconds=1))
    elif isinstance(given, bool) or not isinstance(given, int | float):
        raise TypeError(f"{name} must be milliseconds, a timedelta or a text such as '10 days', got {given!r}")
    else:
        made = round(given)
    if made < 0:
        raise Invalid(f"{name} must be at least 0 ms, got {made} ms")
    return made
