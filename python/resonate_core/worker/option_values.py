"""Options as callers give them: durations, numbers, texts. A refusal names the option, the rule and the value."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..base.instants import NEVER
from ..calls.values import Duration, milliseconds
from ..errors import Invalid

__all__ = ["bounded_ms", "flag", "group_or_none", "known", "name_or_none", "queues_of", "text", "whole"]

_GROUP = re.compile(r"[^\s/?#@:*]+")


def whole(name: str, given: object, least: int | None = None) -> int:
    """An int, and perhaps the least one; a bool is none.

    Raises:
        Invalid: It is less.
        TypeError: It is no int.

    Example:
        >>> from resonate_core.worker.option_values import whole
        >>> whole("concurrency", True, 1)
        Traceback (most recent call last):
        ...
        TypeError: concurrency must be int, got True
    """
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"{name} must be int, got {given!r}")
    found = int(given.__index__())
    if least is not None and found < least:
        raise Invalid(f"{name} must be at least {least}, got {found}")
    return found


def bounded_ms(name: str, given: Duration, least: int = 0) -> int:
    """A duration in ms that the store can hold.

    Raises:
        Invalid: It is too short or too long, or has parts of a millisecond.
        TypeError: It is neither an int nor a timedelta.
    """
    found = milliseconds(name, given, least)
    if found > NEVER:
        raise Invalid(f"{name} must fit into 64 bits, got {found} ms")
    return found


def flag(name: str, given: object) -> bool:
    """True or False.

    Raises:
        TypeError: It is neither.
    """
    if not isinstance(given, bool):
        raise TypeError(f"{name} must be bool, got {given!r}")
    return given


def text(name: str, given: object) -> str:
    """A str that is not empty.

    Raises:
        Invalid: It is empty.
        TypeError: It is no str.
    """
    if not isinstance(given, str):
        raise TypeError(f"{name} must be str, got {given!r}")
    if not given:
        raise Invalid(f"{name} must not be empty, got ''")
    return given


def name_or_none(name: str, given: object) -> str | None:
    """As `text`, or None."""
    return None if given is None else text(name, given)


def group_or_none(name: str, given: object) -> str | None:
    """The name of a group of workers, as in an address such as ``poll://any@group``, or None.

    Raises:
        Invalid: It is empty, or an address cannot hold it.
        TypeError: It is no str.
    """
    found = name_or_none(name, given)
    if found is not None and not _GROUP.fullmatch(found):
        raise Invalid(
            f"{name} must be a name that an address can hold, without spaces and the characters / ? # @ : *, got {found!r}"
        )
    return found


def known(name: str, given: object, values: Iterable[str]) -> str | None:
    """One of these texts, or None.

    Raises:
        Invalid: It is another text.
        TypeError: It is no str.
    """
    rule = f"{name} must be {', '.join(values)} or None, got {given!r}"
    if given is not None and not isinstance(given, str):
        raise TypeError(rule)
    if given is not None and given not in values:
        raise Invalid(rule)
    return given


def queues_of(given: Any) -> str | list[str] | dict[str, int]:
    """The queues of a worker: a name, several names, or weights by name.

    Raises:
        Invalid: There is none, or a name is empty.
        TypeError: It is none of these.

    Example:
        >>> from resonate_core.worker.option_values import queues_of
        >>> queues_of({"mail", "mail"}), queues_of({"mail": 3})
        (['mail'], {'mail': 3})
        >>> queues_of(5)
        Traceback (most recent call last):
        ...
        TypeError: queues must be a name, several names, or weights by name, got 5
    """
    if isinstance(given, str):
        return text("queues", given)
    if isinstance(given, (bytes, bytearray, memoryview)) or not hasattr(given, "__iter__") or isinstance(given, type):
        raise TypeError(f"queues must be a name, several names, or weights by name, got {given!r}")
    weights = (
        {name: whole(f"weight of {name!r} in queues", weight) for name, weight in given.items()}
        if isinstance(given, Mapping)
        else {}
    )
    names = list(weights or given)
    if not names:
        raise Invalid(f"queues must name at least one queue, got {given!r}")
    for name in names:
        if not isinstance(name, str) or not name:
            kind: type[Exception] = Invalid if name == "" else TypeError
            raise kind(f"queues must have names that are not empty, got {name!r} in {given!r}")
    return weights or names
