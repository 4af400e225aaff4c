"""Durations as callers give them."""

from __future__ import annotations

from datetime import timedelta

from ..errors import Invalid

__all__ = ["Duration", "milliseconds"]

Duration = int | timedelta


def milliseconds(name: str, duration: Duration, least: int = 0) -> int:
    """A duration in ms.

    Args:
        name: What it is called in an error.
        duration: Ms, or a timedelta of a whole number of them.
        least: The shortest that is allowed, in ms.

    Raises:
        Invalid: It is shorter, or has parts of a millisecond.
        TypeError: It is neither an int nor a timedelta.
    """
    if isinstance(duration, timedelta):
        whole, rest = divmod(duration, timedelta(milliseconds=1))
        if rest:
            raise Invalid(f"{name} is {duration!r}; it has to be a whole number of milliseconds")
        duration = whole
    if isinstance(duration, bool) or not isinstance(duration, int):
        raise TypeError(f"{name} has to be an int (ms) or a timedelta, unlike {duration!r}")
    if duration < least:
        raise Invalid(f"{name} is {duration} ms; it has to be {least} or more")
    return duration
