"""Durations as callers give them."""

from __future__ import annotations

from datetime import timedelta

from ..errors import Invalid

__all__ = ["Duration", "milliseconds"]

Duration = int | timedelta


def milliseconds(name: str, duration: Duration, least: int = 0) -> int:
    """A duration in ms.

    Args:
        name: Its name in an error.
        duration: Ms, or a timedelta of a whole number of them.
        least: The shortest that is allowed, in ms.

    Raises:
        Invalid: It is shorter, or has parts of a millisecond.
        TypeError: It is neither an int nor a timedelta.
    """
    if isinstance(duration, timedelta):
        whole, rest = divmod(duration, timedelta(milliseconds=1))
        if rest:
            raise Invalid(f"{name} must be a whole number of milliseconds, got {duration!r}")
        duration = whole
    if isinstance(duration, bool) or not isinstance(duration, int):
        raise TypeError(f"{name} must be an int (ms) or a timedelta, got {duration!r}")
    if duration < least:
        raise Invalid(f"{name} must be at least {least} ms, got {duration} ms")
    return duration
