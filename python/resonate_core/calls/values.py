"""Checks values that no call of a store checks: texts and durations of a worker, a connection or a wait."""

from __future__ import annotations

from datetime import timedelta

from ..errors import Invalid

__all__ = ["Duration", "milliseconds", "rounded_milliseconds", "text"]

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


def rounded_milliseconds(name: str, duration: Duration) -> int:
    """A duration in ms; of a timedelta the whole number of them.

    Raises:
        Invalid: It is negative.
        TypeError: It is neither an int nor a timedelta.
    """
    return milliseconds(name, duration // _MILLISECOND if isinstance(duration, timedelta) else duration)
