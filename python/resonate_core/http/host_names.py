"""Names in `Host` that no foreign web page can have: the owner of a page can let its name resolve to this machine (DNS rebinding)."""

from __future__ import annotations

import socket
from collections.abc import Collection
from functools import lru_cache
from urllib.parse import urlsplit

from ..base.loopback import is_loopback

__all__ = ["is_own_name", "machine_names"]

#: No public name server knows names below these.
_PRIVATE_SUFFIXES = (".localhost", ".internal")


@lru_cache(maxsize=1)
def machine_names() -> frozenset[str]:
    """Return the names of this machine, in lower case."""
    name = socket.gethostname().lower()
    return frozenset((name, name.partition(".")[0]))


def is_own_name(host: str, others: Collection[str] = ()) -> bool:
    """Return whether a `Host`, with or without a port, is a name of this machine, or one of some others.

    Args:
        host: The value of the header.
        others: Further names, in lower case.

    Example:
        >>> from resonate_core.http.host_names import is_own_name
        >>> [is_own_name(host) for host in ("localhost:80", "[::1]", "shop", "a.localhost", "evil.example", "x@evil.example")]
        [True, True, True, True, False, False]
    """
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return False
    if name is None:
        return False
    name = name.removesuffix(".")
    return (
        name in others
        or name in machine_names()
        or is_loopback(name)
        or name.endswith(_PRIVATE_SUFFIXES)
        or ("." not in name and ":" not in name)
    )
