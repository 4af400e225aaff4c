"""IP addresses in texts, and which of them are loopback addresses."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

__all__ = ["address_in", "is_loopback"]


def address_in(text: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address that a text is, an IPv4 address inside an IPv6 one as IPv4; None for any other text.

    Example:
        >>> from resonate_core.base.loopback import address_in
        >>> address_in("::ffff:10.0.0.1"), address_in("example.org")
        (IPv4Address('10.0.0.1'), None)
    """
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def is_loopback(host: str) -> bool:
    """Return whether an address or a name is a loopback address of this machine.

    Example:
        >>> from resonate_core.base.loopback import is_loopback
        >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
        [True, True, True, False, False]
    """
    if host.lower() == "localhost":
        return True
    address = address_in(host)
    return address is not None and address.is_loopback
