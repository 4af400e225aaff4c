"""Requests that a proxy has forwarded: whether one was, and the address of its client."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any

from .loopback import address_in

__all__ = ["PEER_IS_KNOWN", "client_address", "ip_text", "is_forwarded"]

#: Names of headers, in lower case, that browsers and programs send to a server. Every other one may be of a proxy: each proxy has names of
#: its own, and there is no list of all. A client that adds one loses a right, and gets none.
_OF_CLIENTS = re.compile(
    rb"accept(-charset|-encoding|-language)?|access-control-request-.*|authorization|baggage|cache-control|connection"
    rb"|content-(encoding|language|length|type)|cookie|date|dnt|expect|host|http2-settings|if-.*|keep-alive|last-event-id|origin|pragma"
    rb"|priority|purpose|range|referer|save-data|sec-.*|te|trace(parent|state)|trailer|transfer-encoding|upgrade"
    rb"|upgrade-insecure-requests|user-agent|x-requested-with|x-resonate-(name|ui)"
)
#: An entry of X-Forwarded-For may have a port, and an IPv6 address in brackets then.
_ENTRY = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::\d+)?|([0-9.]+)(?::\d+)?|([0-9A-Fa-f:.]+)", re.ASCII)
_MOST_ENTRIES, _LONGEST = 32, 4096
#: In a scope: whether its `client` is the peer of the connection for certain.
PEER_IS_KNOWN = "resonate_core.peer_is_known"

Networks = Sequence[IPv4Network | IPv6Network]


def is_forwarded(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Return whether a proxy may have forwarded a request: it has a header that clients do not send. Its peer may not be its client then.

    Args:
        headers: As in an ASGI scope, with names in lower case.

    Example:
        >>> from resonate_core.base.forwarded import is_forwarded
        >>> is_forwarded([(b"host", b"localhost"), (b"x-some-proxy", b"1")]), is_forwarded([(b"host", b"localhost")])
        (True, False)
    """
    return any(_OF_CLIENTS.fullmatch(name) is None for name, _ in headers)


def ip_text(text: str | None) -> str | None:
    """Return an IP address in its usual form; None for any other text.

    Example:
        >>> from resonate_core.base.forwarded import ip_text
        >>> ip_text("::FFFF:10.0.0.1"), ip_text("root from 10.0.0.1"), ip_text("fe80::1%x")
        ('10.0.0.1', None, None)
    """
    if text is None or "%" in text:  # the zone of an address may be any text
        return None
    address = address_in(text)
    return None if address is None else str(address)


def client_address(scope: Mapping[str, Any], trusted: Networks = ()) -> str | None:
    """Return the address of the client of a request: that of its peer, or what a trusted proxy says in `X-Forwarded-For`.

    The entries are read from the last one on, as long as each was added by a trusted proxy. An entry that is no address ends this.

    Args:
        scope: That of ASGI.
        trusted: The networks of the trusted proxies.

    Returns:
        An IP address; None if the peer has none, for example on a Unix socket, or if uvicorn has replaced it by what a header says.

    Example:
        >>> from ipaddress import ip_network
        >>> from resonate_core.base.forwarded import client_address
        >>> scope = {"client": ("10.0.0.1", 5000), "headers": [(b"x-forwarded-for", b"203.0.113.9")]}
        >>> client_address(scope), client_address(scope, [ip_network("10.0.0.1")])
        ('10.0.0.1', '203.0.113.9')
    """
    client = scope.get("client")
    peer = address = None if client is None else ip_text(str(client[0]))
    given = ",".join(value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for")
    entries = given[-_LONGEST:].split(",")[-_MOST_ENTRIES:]
    if client is not None and not scope.get(PEER_IS_KNOWN) and _is_said(client, given.split(",")):
        return None
    if address is None or not _is_in(address, trusted):
        return address
    for entry in reversed(entries):
        found = _ENTRY.fullmatch(entry.strip(" \t"))
        said = None if found is None else ip_text(found[1] or found[2] or found[3])
        if said is None:
            return peer
        address = said
        if not _is_in(address, trusted):
            break
    return address


def _is_said(client: Sequence[Any], entries: Iterable[str]) -> bool:
    """Whether uvicorn has replaced a peer by an entry of the header: it believes every process of this machine by default.

    The port is then that of the entry, or 0, which no peer has.
    """
    return client[1] == 0 or f"{client[0]}:{client[1]}" in (entry.strip().replace("[", "").replace("]", "") for entry in entries)


def _is_in(address: str, networks: Networks) -> bool:
    one = ip_address(address)
    return any(one in network for network in networks)
