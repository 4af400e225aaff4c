"""Checks values that no call of a store checks: texts and durations of a worker, a connection or a wait."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from ..errors import Invalid

__all__ = ["Duration", "instant_ms", "milliseconds", "rounded_milliseconds", "text"]

#: Milliseconds, or a timedelta of a whole number of them.
Duration = int | timedelta

_MILLISECOND = timedelta(milliseconds=1)


def text(name: str, given: str) -> str:
    """Return a str, which UTF-8 must be able to encode."""
    if not isinstance(given, str):
        raise TypeError(f"{name} must be str, got {type(given).__name__}")
    if not given.isascii():
        try:
            given.encode()
        except UnicodeEncodeError as error:
            raise Invalid(f"{name} must be text that UTF-8 can encode, got a lone surrogate") from error
    return given


def milliseconds(name: str, duration: Duration, least: int = 0) -> int:
    """Return a duration in ms that is at least `least`.

    Args:
        name: Its name in an error.
        duration: Ms, or a timedelta of a whole number of them.
        least: The shortest allowed duration, in ms.

    Raises:
        Invalid: It is shorter, or has parts of a millisecond.
        TypeError: It is neither an int nor a timedelta.
    """
    if isinstance(duration, timedelta):
        whole, rest = divmod(duration, _MILLISECOND)
        if rest:
            raise Invalid(f"{name} must be a whole number of milliseconds, got {duration!r}")
        duration = whole
    if isinstance(duration, bool) or not isinstance(duration, int):
        raise TypeError(f"{name} must be an int (ms) or a timedelta, got {duration!r}")
    if duration < least:
        raise Invalid(f"{name} must be at least {least} ms, got {duration} ms")
    return duration


def instant_ms(name: str, instant: int | datetime) -> int:
    """An instant in Unix ms.

    Args:
        name: Of the argument, for errors.
        instant: In Unix ms, or as a datetime with a time zone.

    Raises:
        TypeError: It is neither.
        Invalid: It is before 1970, or has no time zone.

    Example:
        >>> from datetime import datetime, timezone
        >>> from resonate_core.calls.values import instant_ms
        >>> instant_ms("at", datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc))
        1000
    """
    if isinstance(instant, datetime):
        if instant.utcoffset() is None:
            raise Invalid(f"{name} must have a time zone, got {instant!r}")
        found = (instant - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)
    elif isinstance(instant, int) and not isinstance(instant, bool):
        found = instant
    else:
        raise TypeError(f"{name} must be an int of Unix ms or a datetime, got {instant!r}")
    if found < 0:
        raise Invalid(f"{name} must not be before 1970, got {instant!r}")
    return found


def rounded_milliseconds(name: str, duration: Duration) -> int:
    """A duration in ms; of a timedelta the whole number of them.

    Raises:
        Invalid: It is negative.
        TypeError: It is neither an int nor a timedelta.
    """
    return milliseconds(name, duration // _MILLISECOND if isinstance(duration, timedelta) else duration)
