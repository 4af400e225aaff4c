"""Addresses of messages: the transport that serves them, and the streams that ``poll://`` names (WIRE 3)."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

__all__ = ["PollAddress", "canonical_poll", "parse_poll", "scheme_of"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
# Group and id keep their case. A password, a port, a query and a fragment say nothing here.
_POLL = re.compile(r"poll://(any|uni)(?::[^@]*)?@([^/?#:]+)(?::\d*)?(?:/([^?#]*))?(?:[?#].*)?", re.DOTALL | re.IGNORECASE)


class PollAddress(NamedTuple):
    """One parsed address: any member of a group, a given one by preference, or exactly that one."""

    any_stream: bool
    group: str
    id: str | None


def scheme_of(address: str) -> str:
    """Return the scheme in lower case; empty without one.

    Example:
        >>> scheme_of("HTTPS://example.org/hook")
        'https'
    """
    match = _SCHEME.match(address)
    return match[1].lower() if match else ""


def parse_poll(address: str) -> PollAddress | None:
    """Parse a ``poll://`` address; None if it is not one.

    Group and id are percent-decoded, as they are in the path of a stream.

    Example:
        >>> parse_poll("poll://any@workers/w%201")
        PollAddress(any_stream=True, group='workers', id='w 1')
        >>> parse_poll("poll://everybody@workers") is None
        True
    """
    match = _POLL.fullmatch(address)
    if match is None:
        return None
    return PollAddress(match[1].lower() == "any", unquote(match[2]), unquote(match[3]) if match[3] else None)


def canonical_poll(address: PollAddress) -> str:
    """Write a ``poll://`` address as clients do: nothing is encoded, and empty parts are left out.

    Example:
        >>> canonical_poll(PollAddress(True, "workers", "w1"))
        'poll://any@workers/w1'
    """
    return f"poll://{'any' if address.any_stream else 'uni'}@{address.group}" + (f"/{address.id}" if address.id is not None else "")
