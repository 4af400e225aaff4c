"""Addresses that the server may call: strict parsing of URLs, and connections to permitted addresses only.

A client that creates a promise names an address, and this process calls it from inside its own network. Therefore this module
resolves the host, checks each of its addresses, and connects to an address that it has checked. An unusual spelling of an address, or
a name that resolves to another address the next time, cannot lead to another host.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import quote
from weakref import WeakValueDictionary

import anyio
import httpcore

__all__ = ["AddressPolicy", "GuardedBackend", "NotCallable", "PushTarget", "Resolver", "SystemResolver", "parse_target"]

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]

#: The most addresses of one name that are tried.
MOST_ADDRESSES = 8
#: The look-ups of names of one domain at a time.
_LOOK_UPS_OF_DOMAIN = 4

_URL = re.compile(r"(https?)://([^/?#]*)([^#]*)(?:#.*)?", re.IGNORECASE | re.ASCII)
_AUTHORITY = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::([0-9]{0,5}))?")
_NEVER_IN_A_URL = re.compile(r"[\x00-\x20\x7f\\]")
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_MAPPED = IPv6Network("::ffff:0:0/96")
# IANA's registries reserve these networks; `ipaddress` of some Python versions takes them as public.
_SPECIAL: tuple[Network, ...] = tuple(
    ip_network(text) for text in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")
)
# Services that give credentials to any caller inside a cloud: AWS, GCP, Azure (a public address), Alibaba, Oracle.
_METADATA = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192",
        "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
    )
)  # fmt: skip


class NotCallable(ValueError):
    """An address that cannot or must not be called. Its text names no more than the host."""


class AddressPolicy:
    """Decides which addresses may be called: public unicast addresses and those in `allow`, except those in `deny`.

    If an IPv6 address contains an IPv4 address (mapped, 6to4, Teredo, NAT64), the IPv4 address must be permitted, too. The metadata
    service of a cloud may be called only if `allow` lists its address alone, as in 169.254.169.254/32: a wider network does not
    permit it.

    Example:
        >>> from ipaddress import ip_network
        >>> from resonate_core.server.egress import AddressPolicy
        >>> policy = AddressPolicy(allow=[ip_network("10.1.0.0/16")])
        >>> policy.refusal("10.1.2.3"), policy.refusal("8.8.8.8")
        (None, None)
        >>> policy.refusal("::ffff:127.0.0.1")
        '127.0.0.1 is not a public address and not in push.allow'
    """

    def __init__(self, allow: Iterable[Network] = (), deny: Iterable[Network] = ()) -> None:
        self._allow = [_unmapped_network(network) for network in allow]
        self._deny = [_unmapped_network(network) for network in deny]

    def refusal(self, address: str) -> str | None:
        """Return why an address may not be called; None if it may.

        Raises:
            ValueError: It is not an IPv4 or IPv6 address.
        """
        for reached in _reached_by(ip_address(address)):
            for network in self._deny:
                if reached in network:
                    return f"{reached} is in {network}, a network of push.deny"
            holding = [network for network in self._allow if reached in network]
            if reached in _METADATA:
                if not any(network.num_addresses == 1 for network in holding):
                    return f"{reached} is the metadata service of a cloud: push.allow must list this address alone"
            elif not holding and not _is_public(reached):
                return f"{reached} is not a public address and not in push.allow"
        return None


def _unmapped_network(network: Network) -> Network:
    """Return the IPv4 network that a network of mapped addresses stands for, and any other network unchanged."""
    if isinstance(network, IPv6Network) and network.subnet_of(_MAPPED):
        return IPv4Network((int(network.network_address) & 0xFFFF_FFFF, network.prefixlen - 96))
    return network


def _reached_by(address: Address) -> Iterator[Address]:
    """Yield the address, and each other address that packets to it may reach."""
    if isinstance(address, IPv4Address):
        yield address
    elif address.ipv4_mapped is not None:
        yield address.ipv4_mapped  # the system connects to this one
    else:
        yield address
        if address.sixtofour is not None:
            yield address.sixtofour
        if address.teredo is not None:
            yield from address.teredo
        if address in _NAT64:
            yield IPv4Address(int(address) & 0xFFFF_FFFF)


def _is_public(address: Address) -> bool:
    if address in _NAT64:
        return True  # the IPv4 address in it is checked by itself
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    if any(address in network for network in _SPECIAL):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


@dataclass(frozen=True)
class PushTarget:
    """A parsed URL.

    Attributes:
        url: Its parts, with a normalized host.
        authority: The value of the Host header.
    """

    url: httpcore.URL
    authority: str


def parse_target(url: str) -> PushTarget:
    """Parse a URL, and refuse one that two parsers could read in two ways.

    Raises:
        NotCallable: It is not an http or https URL, or two parsers could read it in two ways.

    Example:
        >>> from resonate_core.server.egress import parse_target
        >>> parse_target("HTTP://Example.com.:8080/a?b#c").authority
        'example.com:8080'
        >>> parse_target("http://0x7f.1/")
        Traceback (most recent call last):
            ...
        resonate_core.server.egress.NotCallable: not an IPv4 address of four decimal numbers: '0x7f.1'
    """
    parts = None if _NEVER_IN_A_URL.search(url) else _URL.fullmatch(url)
    if parts is None or not parts[2]:
        raise NotCallable("not an http or https address with a host")
    scheme, authority, rest = parts[1].lower(), parts[2], parts[3]
    if "@" in authority:
        raise NotCallable("an address with credentials in it is not taken")
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        raise NotCallable(f"not a host and port in ASCII: {authority[:100]!a}")
    host = _ipv6(found[1]) if found[1] is not None else _name(found[2])
    port = int(found[3]) if found[3] else None
    if port is not None and not 0 < port < 65_536:
        raise NotCallable(f"port {port} is not in 1 to 65535")
    try:
        path = quote(rest if rest.startswith("/") else "/" + rest, safe=_PRINTABLE)
    except UnicodeEncodeError:
        raise NotCallable("its path is not Unicode text") from None
    shown = f"[{host}]" if ":" in host else host
    if port is not None and port != {"http": 80, "https": 443}[scheme]:
        shown += f":{port}"
    return PushTarget(httpcore.URL(scheme=scheme, host=host, port=port, target=path), shown)


def _ipv6(text: str) -> str:
    try:
        return str(IPv6Address(text))
    except ValueError:
        raise NotCallable(f"not an IPv6 address: {text[:100]!r}") from None


def _name(text: str) -> str:
    """Return a host's name or IPv4 address in lower case, without a final dot: names in certificates have none."""
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if len(name) > 253 or not all(0 < len(label) < 64 for label in labels):
        raise NotCallable(f"not a host name: {text[:100]!r}")
    if _NUMBER.fullmatch(labels[-1]):
        try:
            return str(IPv4Address(name))
        except ValueError:
            raise NotCallable(f"not an IPv4 address of four decimal numbers: {text[:100]!r}") from None
    return name


class SystemResolver:
    """Returns the addresses of a name, from the system, the preferred one first. It belongs to one event loop.

    A look-up takes a thread until the name servers have answered or the system gives up, even if no call waits for it any more. So
    there are threads for this alone, and the names of one domain have a few.

    Args:
        threads: How many look-ups there are at a time.
    """

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "resonate-look-up")
        self._places: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()  # of each domain with look-ups

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        """Look a name up.

        Raises:
            OSError: It has no address, or no name server answered.
        """
        loop = asyncio.get_running_loop()
        places = self._places.setdefault(_domain(host), asyncio.Semaphore(_LOOK_UPS_OF_DOMAIN))
        await places.acquire()

        def leave(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(places.release)

        looking = self._threads.submit(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        looking.add_done_callback(leave)
        return [str(entry[4][0]) for entry in await asyncio.wrap_future(looking)]

    def close(self) -> None:
        """Look no name up any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _domain(host: str) -> str:
    return ".".join(host.split(".")[-2:])


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to permitted addresses. TLS checks the host's name.

    Attributes:
        stream: The last connection, below TLS, so that it can be closed even if a handshake was interrupted.

    Args:
        policy: Which addresses are permitted.
        resolver: Returns the addresses of a name, in the order in which to try them.
    """

    def __init__(self, policy: AddressPolicy, resolver: Resolver) -> None:
        self.stream: httpcore.AsyncNetworkStream | None = None
        self._policy = policy
        self._resolver = resolver
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first permitted address that answers.

        Raises:
            NotCallable: No address of the host is permitted.
            httpcore.ConnectError: There is no such host, or it refuses the connection.
            httpcore.ConnectTimeout: It took longer than `timeout` seconds.
        """
        failure: Exception = httpcore.ConnectTimeout()
        deadline = anyio.current_time() + (math.inf if timeout is None else timeout)
        try:
            with anyio.fail_after(timeout):
                addresses = await self._permitted(host, port)
        except TimeoutError:
            raise httpcore.ConnectTimeout from None
        for index, address in enumerate(addresses):
            # Each address gets its share of the time: if it does not answer, time is left for the next one.
            share = max(0.0, deadline - anyio.current_time()) / (len(addresses) - index)
            try:
                self.stream = await self._network.connect_tcp(
                    address, port, timeout=share, local_address=local_address, socket_options=socket_options
                )
                return self.stream
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def _permitted(self, host: str, port: int) -> list[str]:
        try:
            addresses: Sequence[str] = [str(ip_address(host))]
        except ValueError:
            try:
                addresses = await self._resolver(host, port)
            except OSError as error:
                raise httpcore.ConnectError(f"{host} cannot be resolved") from error
        if not addresses:
            raise httpcore.ConnectError(f"{host} has no address")
        refusals = [self._policy.refusal(address) for address in addresses]
        permitted = [address for address, refusal in zip(addresses, refusals, strict=True) if refusal is None]
        if not permitted:
            raise NotCallable(f"{host} may not be called: {refusals[0]}")
        return permitted[:MOST_ADDRESSES]
