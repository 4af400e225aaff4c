"""Instants, durations and counts as people read them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

__all__ = ["NEVER", "counted", "length", "moment", "when"]

#: The last instant: a deadline that is never reached.
NEVER = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: Beyond this distance (ms), an instant is shown without the distance.
_FAR = 366 * 86_400_000


def counted(number: int, noun: str) -> str:
    """A number with its noun.

    Example:
        >>> from resonate_core.base.instants import counted
        >>> counted(1, "schedule"), counted(0, "job")
        ('1 schedule', '0 jobs')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def length(ms: int) -> str:
    """A length of time in its two largest units.

    Example:
        >>> from resonate_core.base.instants import length
        >>> length(5_430_000), length(1500), length(42)
        ('1h 30m', '1.5s', '42ms')
    """
    if ms < 1000:
        return f"{ms}ms"
    if ms < 60_000:
        return f"{ms / 1000:.3g}s"
    seconds = ms // 1000
    units = [("d", seconds // 86_400), ("h", seconds // 3600 % 24), ("m", seconds // 60 % 60), ("s", seconds % 60)]
    first = next(index for index, (_, count) in enumerate(units) if count)
    return " ".join(f"{count}{unit}" for unit, count in units[first : first + 2] if count)


def moment(ms: int) -> str:
    """An instant in UTC; beyond the range of the calendar, the number.

    Example:
        >>> from resonate_core.base.instants import moment
        >>> moment(1500), moment(2**62)
        ('1970-01-01T00:00:01.500Z', '4611686018427387904')
    """
    try:
        return (_EPOCH + timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except OverflowError:
        return str(ms)


def when(at: int, now: int) -> str:
    """An instant with its distance from the present.

    Example:
        >>> from resonate_core.base.instants import when
        >>> when(61_500, 1500), when(1500, 61_500), when(1500, 1500)
        ('1970-01-01T00:01:01.500Z (in 1m)', '1970-01-01T00:00:01.500Z (1m ago)', '1970-01-01T00:00:01.500Z (now)')
    """
    distance = at - now
    if distance == 0:
        return f"{moment(at)} (now)"
    if abs(distance) > _FAR:
        return moment(at)
    return f"{moment(at)} (in {length(distance)})" if distance > 0 else f"{moment(at)} ({length(-distance)} ago)"
