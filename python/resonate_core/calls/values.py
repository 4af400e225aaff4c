"""Checks the arguments of typed calls, and returns them as they are on the wire: one function for each kind of argument."""

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
    "rounded_milliseconds",
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
    """Return the name of a member on the wire.

    Example:
        >>> from resonate_core.calls.values import camel
        >>> camel("retry_policy")
        'retryPolicy'
    """
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def given(**members: Any) -> dict[str, Any]:
    """Return the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}


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


def integer(name: str, given: int) -> int:
    """Return an int; a bool is refused."""
    if type(given) is int:
        return given
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{name} must be int, got {type(given).__name__}")
    return int(given.__index__())


def number(name: str, given: float) -> float:
    """Return an int or a float; a bool is refused."""
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise TypeError(f"{name} must be int or float, got {type(given).__name__}")
    return given


def boolean(name: str, given: bool) -> bool:
    """Return a bool."""
    if not isinstance(given, bool):
        raise TypeError(f"{name} must be bool, got {type(given).__name__}")
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


def duration(name: str, given: Duration) -> int:
    """Return a duration in ms. Its range is not checked here: the engine does that."""
    if isinstance(given, timedelta):
        whole, rest = divmod(given, _MILLISECOND)
        if rest:
            raise Invalid(f"{name} must be a whole number of milliseconds, got {given}")
        return whole
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{name} must be a duration, an int of milliseconds or a timedelta, got {type(given).__name__}")
    return integer(name, given)


def instant(name: str, given: Instant) -> int:
    """Return an instant in Unix ms."""
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
    """Return a mapping of str to str as a dict."""
    if not isinstance(given, dict) and not hasattr(given, "keys"):
        raise TypeError(f"{name} must be a mapping of str to str, got {type(given).__name__}")
    made = dict(given)
    for key, value in made.items():
        if not (isinstance(key, str) and isinstance(value, str)):
            wrong = value if isinstance(key, str) else key
            raise TypeError(f"{name} must be a mapping of str to str, got {type(wrong).__name__}")
    return made


def items(name: str, given: Iterable[Any], expected: str) -> Sequence[Any]:
    """Return the items of an iterable, which must be neither text nor a mapping."""
    if isinstance(given, _NO_ITEMS) or not hasattr(given, "__iter__"):
        raise TypeError(f"{name} must be {expected}, got {type(given).__name__}")
    return given if isinstance(given, _LISTS) else list(given)


def texts(name: str, given: Iterable[str]) -> list[str]:
    """Return a list of str."""
    return [text(name, one) for one in items(name, given, "an iterable of str")]


def held(name: str, given: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    """Return pairs of id and version as members of a request."""
    made = []
    for one in items(name, given, "an iterable of (id, version)"):
        pair = items(name, one, "an iterable of (id, version)")
        if len(pair) != 2:
            raise Invalid(f"{name} must contain (id, version), got {one!r}")
        made.append({"id": text(name, pair[0]), "version": integer(name, pair[1])})
    return made


def retention(name: str, given: Duration | str) -> int | None:
    """Return a retention in ms, at least 0; None for "kept"."""
    if isinstance(given, str):
        if given != "kept":
            raise Invalid(f"{name} is '{given}'; it has to be a duration or 'kept'")
        return None
    made = duration(name, given)
    if made < 0:
        raise Invalid(f"{name} is {made} ms; it has to be 0 or more, or 'kept'")
    return made


def json_members(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping unchanged, as a dict: the caller writes its members as they are named on the wire."""
    if not hasattr(given, "keys"):
        raise TypeError(f"{name} must be a mapping, got {type(given).__name__}")
    return dict(given)
