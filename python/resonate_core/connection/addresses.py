"""The ``poll://`` addresses that a connection serves (WIRE 3)."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Address", "anycast", "parse", "served_by", "unicast"]

_SHAPE = re.compile(r"poll://(any|uni)@([^/]+)(?:/(.*))?", re.DOTALL)


class Address(NamedTuple):
    """One parsed address: any member of a group (a given one by preference), or exactly one."""

    any_stream: bool
    group: str
    pid: str | None


def unicast(group: str, pid: str) -> str:
    """Return the address of one worker alone."""
    return f"poll://uni@{group}/{pid}"


def anycast(group: str) -> str:
    """Return the address of any one member of a group."""
    return f"poll://any@{group}"


def parse(address: str) -> Address:
    """Take an address apart.

    Raises:
        ValueError: It is not a ``poll://`` address.
    """
    match = _SHAPE.fullmatch(address)
    if match is None:
        raise ValueError(f"address must be a poll:// address, got {address!r}")
    return Address(match[1] == "any", match[2], match[3] or None)


def served_by(group: str, pid: str) -> tuple[str, str, str]:
    """Return what one worker serves, as patterns for ``Store.take_messages``: a final ``*`` matches by prefix."""
    return anycast(group), anycast(group) + "/*", unicast(group, pid)
