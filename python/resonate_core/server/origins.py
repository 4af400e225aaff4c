"""Checks whether a request was meant for this server: a foreign web page can make a browser send requests, also under a name of its own.

A page cannot choose its ``Origin``, nor the name in ``Host`` that its browser looked up. Published clients send no ``Origin``, and
the name of their URL as ``Host``.
"""

from __future__ import annotations

import socket
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.types import Scope

    from .settings import ServerSettings

__all__ = ["Origins", "is_loopback"]

#: Names that were looked at once are not looked at again; so many are remembered.
_REMEMBERED = 1000
#: Names below these belong to nobody: no public name server knows them, so no page of somebody else has one.
_NOBODYS = (".localhost", ".internal")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def is_loopback(host: str) -> bool:
    """Return whether an address or a name is a loopback address of this machine.

    Example:
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


class Origins:
    """Judges by ``Origin`` and ``Host``.

    Args:
        settings: The origins and names that are meant.
        asks: Whether tokens are asked for. Then a page that does not have one gets nowhere by any name.
    """

    def __init__(self, settings: ServerSettings, asks: bool) -> None:
        self._any_origin = "*" in settings.cors_origins
        self._origins = set(settings.cors_origins)
        self._any_host = "*" in settings.hosts
        self._everywhere = bool(settings.hosts)
        self._asks = asks
        self._hosts = {name.lower() for name in settings.hosts}
        self._hosts.update(_machine_names())
        if settings.url is not None:
            url = urlsplit(settings.url)
            self._origins.add(f"{url.scheme}://{url.netloc}".lower())
            self._hosts.add((url.hostname or "").lower())
        self._meant: set[bytes] = set()
        self._loopback: dict[str, bool] = {}

    def refusal(self, scope: Scope, path: str) -> tuple[int, str] | None:
        """A status and why; None where the request was meant for this server."""
        host = origin = site = None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value
            elif name == b"origin":
                origin = value
            elif name == b"sec-fetch-site":
                site = value
        if host and host not in self._meant and self._judges_host(scope):
            name = host.decode("latin-1")
            if not self._is_meant(name):
                return 421, f"Host must be a name of this server, got {name!r}; if it is meant, add it to server.hosts"
            if len(self._meant) < _REMEMBERED:
                self._meant.add(host)
        if origin is not None:
            shown = origin.decode("latin-1")
            if not (self._any_origin or shown in self._origins or _is_same(shown, host, scope["scheme"])):
                return 403, f"Origin must be this server's own or one of server.cors_origins, got {shown!r}"
        elif site in (b"cross-site", b"same-site") and path.startswith("/poll/") and not self._any_origin:
            # A page may give the address of a stream as that of a picture: then there is no Origin, and messages would be lost.
            return 403, "a page of another origin must not embed a stream"
        return None

    def _judges_host(self, scope: Scope) -> bool:
        if self._any_host:
            return False
        if self._everywhere:
            return True
        server = scope.get("server")
        if self._asks or server is None:
            return False
        known = self._loopback.get(server[0])
        if known is None:
            known = self._loopback[server[0]] = is_loopback(server[0])
        return known

    def _is_meant(self, host: str) -> bool:
        name = _name_of(host)
        return name is not None and (
            name in self._hosts or is_loopback(name) or name.endswith(_NOBODYS) or ("." not in name and ":" not in name)
        )


def _machine_names() -> set[str]:
    name = socket.gethostname().lower()
    return {name, name.partition(".")[0]}


def _name_of(host: str) -> str | None:
    """The name in a ``Host``, without its port."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return None
    return None if name is None else name.removesuffix(".")


def _is_same(origin: str, host: bytes | None, scheme: str) -> bool:
    """Whether an origin is where a request went. A proxy in front may have TLS, so that the schemes differ."""
    try:
        its, ours = urlsplit(origin), urlsplit("//" + (host or b"").decode("latin-1"))
        default = _DEFAULT_PORTS.get(its.scheme)
        return (
            default is not None
            and not (its.scheme == "http" and scheme == "https")
            and its.hostname is not None
            and (its.hostname, its.port or default) == (ours.hostname, ours.port or default)
        )
    except ValueError:
        return False
