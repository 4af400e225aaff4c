"""Which addresses are loopback addresses."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

__all__ = ["is_loopback"]


def is_loopback(host: str) -> bool:
    """Return whether an address or a name is a loopback address of this machine.

    Example:
        >>> from resonate_core._loopback import is_loopback
        >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "example.org")]
        [True, True, True, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_loopback
