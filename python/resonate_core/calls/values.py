"""Arguments of typed calls as they are on the wire: one function for each kind of argument."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from ..errors import Invalid

__all__ = [
    "Duration",
    "Instant",
    "boolean",
    "camel",
    "duration",
    "given",
    "held",
    "instant",
    "integer",
    "items",
    "json_members",
    "milliseconds",
    "retention",
    "string_map",
    "text",
    "texts",
]

#: Milliseconds, or a timedelta of a whole number of them.
Duration = int | timedelta
#: Unix milliseconds, or an aware datetime.
Instant = int | datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)
# Made once: `isinstance(x, a | b)` makes the union at each call.
_NO_ITEMS = (str, bytes, dict)
_LISTS = (list, tuple)


def camel(name: str) -> str:
    """A member's name on the wire: process_at is processAt.

    Example:
        >>> from resonate_core.calls.values import camel
        >>> camel("retry_policy")
        'retryPolicy'
    """
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def given(**members: Any) -> dict[str, Any]:
    """The members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


def text(name: str, given: str) -> str:
    """A str that UTF-8 can encode."""
    if not isinstance(given, str):
        raise TypeError(f"{name} must be str, got {type(given).__name__}")
    if not given.isascii():
        try:
            given.encode()
        except UnicodeEncodeError as error:
            raise Invalid(f"{name} must be text that UTF-8 can encode, got a lone surrogate") from error
    return given


def integer(name: str, given: int) -> int:
    """An int; a bool is none."""
    if type(given) is int:
        return given
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{name} must be int, got {type(given).__name__}")
    return int(given.__index__())


def number(name: str, given: float) -> float:
    """An int or a float; a bool is none."""
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise TypeError(f"{name} must be int or float, got {type(given).__name__}")
    return given


def boolean(name: str, given: bool) -> bool:
    """True or False."""
    if not isinstance(given, bool):
        raise TypeError(f"{name} must be bool, got {type(given).__name__}")
    return given


def milliseconds(name: str, duration: Duration, least: int = 0) -> int:
    """A duration in ms, which the caller limits.

    Args:
        name: Its name in an error.
        duration: Ms, or a timedelta of a whole number of them.
        least: The shortest that is allowed, in ms.

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


def duration(name: str, given: Duration) -> int:
    """A duration in ms, which the engine limits."""
    if isinstance(given, timedelta):
        whole, rest = divmod(given, _MILLISECOND)
        if rest:
            raise Invalid(f"{name} must be a whole number of milliseconds, got {given}")
        return whole
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{name} must be a duration, an int of milliseconds or a timedelta, got {type(given).__name__}")
    return integer(name, given)


def instant(name: str, given: Instant) -> int:
    """An instant in Unix ms."""
    if type(given) is int:
        return given
    if isinstance(given, datetime):
        if given.utcoffset() is None:
            hint = "give it a time zone, e.g. datetime." + "now(timezone.utc)"  # in two parts: no code here reads a clock
            raise Invalid(f"{name} must be an aware datetime, got {given!r}: {hint}")
        return (given - _EPOCH) // _MILLISECOND
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{name} must be an int of Unix milliseconds or an aware datetime, got {type(given).__name__}")
    return integer(name, given)


def string_map(name: str, given: Mapping[str, str]) -> dict[str, str]:
    """A mapping of str to str."""
    if not isinstance(given, dict) and not hasattr(given, "keys"):
        raise TypeError(f"{name} must be a mapping of str to str, got {type(given).__name__}")
    made = dict(given)
    for key, value in made.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            wrong = value if isinstance(key, str) else key
            raise TypeError(f"{name} must be a mapping of str to str, got {type(wrong).__name__}")
    return made


def items(name: str, given: Iterable[Any], expected: str) -> Sequence[Any]:
    """The items of an iterable that is neither text nor a mapping."""
    if isinstance(given, _NO_ITEMS) or not hasattr(given, "__iter__"):
        raise TypeError(f"{name} must be {expected}, got {type(given).__name__}")
    return given if isinstance(given, _LISTS) else list(given)


def texts(name: str, given: Iterable[str]) -> list[str]:
    """Several str."""
    return [text(name, one) for one in items(name, given, "an iterable of str")]


def held(name: str, given: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    """Pairs of id and version."""
    made = []
    for one in items(name, given, "an iterable of (id, version)"):
        pair = items(name, one, "an iterable of (id, version)")
        if len(pair) != 2:
            raise Invalid(f"{name} must contain (id, version), got {one!r}")
        made.append({"id": text(name, pair[0]), "version": integer(name, pair[1])})
    return made


def retention(name: str, given: Duration | str) -> int | None:
    """A duration of 0 or more; "kept" is None."""
    if isinstance(given, str):
        if given != "kept":
            raise Invalid(f"{name} is '{given}'; it has to be a duration or 'kept'")
        return None
    made = duration(name, given)
    if made < 0:
        raise Invalid(f"{name} is {made} ms; it has to be 0 or more, or 'kept'")
    return made


def json_members(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping that is written as it is: its members have the names of the wire."""
    if not hasattr(given, "keys"):
        raise TypeError(f"{name} must be a mapping, got {type(given).__name__}")
    return dict(given)
