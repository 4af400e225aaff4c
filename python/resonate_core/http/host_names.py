"""Names in `Host` that no foreign web page can have: the owner of a page can let its name resolve to this machine (DNS rebinding)."""

from __future__ import annotations

import re
import socket
from collections.abc import Collection
from functools import lru_cache

from ..base.loopback import is_loopback

__all__ = ["is_own_name", "machine_names", "name_in"]

#: A host and a port: nothing of an address before or after it, such as a user or a path.
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s/?#@\\:\[\]]+)(:[0-9]{0,5})?")

#: No public name server knows names below these.
_PRIVATE_SUFFIXES = (".localhost", ".internal")


@lru_cache(maxsize=1)
def machine_names() -> frozenset[str]:
    """Return the names of this machine, in lower case."""
    name = socket.gethostname().lower()
    return frozenset((name, name.partition(".")[0]))


def name_in(host: str) -> str | None:
    """Return the name in a `Host`, without its port, in lower case; None if there is none, or more than a name and a port.

    Example:
        >>> from resonate_core.http.host_names import name_in
        >>> name_in("Shop.:80"), name_in("[::1]:80"), name_in("me@127.0.0.1"), name_in("")
        ('shop', '::1', None, None)
    """
    found = _HOST.fullmatch(host)
    return None if found is None else found[1].strip("[]").removesuffix(".").lower()


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
    name = name_in(host)
    return name is not None and (
        name in others
        or name in machine_names()
        or is_loopback(name)
        or name.endswith(_PRIVATE_SUFFIXES)
        or ("." not in name and ":" not in name)
    )
