"""Which addresses the server may push to: refused URLs, refused addresses, and the known ways to circumvent the check."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import httpcore
import pytest
from hypothesis import example, given, settings as hypothesis_settings, strategies as st

from resonate_core.server.egress import AddressPolicy, GuardedBackend, NotCallable, parse_target
from resonate_core.server.push_client import PushClient, PushFailed
from resonate_core.server.settings import PushSettings
from server.receiver import receiving

PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "93.184.216.34",
    "223.255.255.254",
    "2001:4860:4860::8888",
    "2606:4700::1111",
    "64:ff9b::8.8.8.8",
    "::ffff:8.8.8.8",
]
NOT_PUBLIC = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "127.0.0.1", "127.255.255.254", "169.254.0.1", "172.16.0.1", "172.31.255.255", "192.0.0.1",
    "192.0.0.9", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::2", "::127.0.0.1", "::8.8.8.8", "fe80::1", "fe80::1%lo", "fec0::1", "fc00::1", "fd12:3456::1", "ff02::1", "100::1", "2001:db8::1", "3fff::1", "5f00::1",
    "4000::1", "64:ff9b:1::1", "64:ff9b:1::8.8.8.8",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0.0.0.0", "::ffff:169.254.169.254",
    "64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "2002:7f00:1::", "2002:a00:1::1", "2002:808:808::1",
    "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:20::1", "2001:10::1",
]  # fmt: skip
METADATA = [
    "169.254.169.254", "169.254.170.2", "169.254.170.23", "100.100.100.200", "168.63.129.16", "192.0.0.192",
    "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe",
]  # fmt: skip


def policy(allow: str = "", deny: str = "") -> AddressPolicy:
    return AddressPolicy([ip_network(n) for n in allow.split()], [ip_network(n) for n in deny.split()])


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_may_be_called(address: str) -> None:
    assert policy().refusal(address) is None


@pytest.mark.parametrize("address", NOT_PUBLIC + METADATA)
def test_all_others_may_not(address: str) -> None:
    assert policy().refusal(address) is not None


@pytest.mark.parametrize("address", METADATA)
def test_the_metadata_of_a_cloud_is_meant_only_where_it_is_named_alone(address: str) -> None:
    everything = "0.0.0.0/0 ::/0 169.254.0.0/16 fd00::/8"
    assert "metadata service of a cloud" in (policy(everything).refusal(address) or "")
    named = str(IPv4Address(int(IPv6Address(address)) & 0xFFFF_FFFF)) if address.startswith(("::ffff", "64:")) else address
    assert policy(f"{everything} {named}").refusal(address) is None


@pytest.mark.parametrize(
    ("allow", "deny", "address", "permitted"),
    [
        ("127.0.0.0/8", "", "127.0.0.1", True),
        ("127.0.0.0/8", "", "::ffff:127.0.0.1", True),
        ("127.0.0.0/8", "", "::1", False),
        ("127.0.0.0/8", "", "10.0.0.1", False),
        ("::1", "", "::1", True),
        ("::1", "", "127.0.0.1", False),
        ("::ffff:10.0.0.0/104", "", "10.1.2.3", True),
        ("::ffff:10.0.0.0/104", "", "192.168.0.1", False),
        ("fe80::/10", "", "fe80::1%lo", True),
        ("10.0.0.0/8", "10.9.0.0/16", "10.1.0.1", True),
        ("10.0.0.0/8", "10.9.0.0/16", "10.9.0.1", False),
        ("10.9.0.1", "10.0.0.0/8", "10.9.0.1", False),
        ("", "8.8.8.0/24", "8.8.8.8", False),
        ("", "8.8.8.0/24", "8.8.9.8", True),
        ("", "8.8.8.0/24", "::ffff:8.8.8.8", False),
        ("", "8.8.8.0/24", "64:ff9b::8.8.8.8", False),
        ("::/0 0.0.0.0/0", "8.8.8.0/24", "2002:808:808::1", False),
        ("", "::ffff:8.8.8.0/120", "8.8.8.8", False),
        ("", "2001:4860::/32", "2001:4860:4860::8888", False),
        ("", "64:ff9b::/96", "64:ff9b::8.8.8.8", False),
        ("169.254.169.254", "169.254.0.0/16", "169.254.169.254", False),
        # An address that embeds another one is permitted only if both are: packets go to the embedded one.
        ("2002::/16", "", "2002:7f00:1::", False),
        ("127.0.0.0/8", "", "2002:7f00:1::", False),
        ("2002::/16 127.0.0.0/8", "", "2002:7f00:1::", True),
        ("2002::/16", "", "2002:808:808::1", True),
        ("127.0.0.0/8", "", "64:ff9b::127.0.0.1", True),
        ("64:ff9b::/96", "", "64:ff9b::127.0.0.1", False),
        ("2001::/32", "", "2001:0:808:808::f7f7:f7f7", True),
        ("2001::/32", "", "2001:0:808:808::80ff:fffe", False),
        ("2001::/32", "", "2001:0:7f00:1::f7f7:f7f7", False),
    ],
)
def test_allow_widens_and_deny_beats_it(allow: str, deny: str, address: str, permitted: bool) -> None:
    assert (policy(allow, deny).refusal(address) is None) is permitted


@hypothesis_settings(deadline=None, max_examples=300, print_blob=True)
@given(st.ip_addresses(v=4))
def test_an_embedded_address_may_be_called_where_it_could_be_called_itself(address: IPv4Address) -> None:
    free = policy().refusal(str(address)) is None
    assert (policy().refusal(f"::ffff:{address}") is None) is free
    assert (policy().refusal(f"64:ff9b::{address}") is None) is free
    assert policy().refusal(str(IPv6Address(0x2002 << 112 | int(address) << 80))) is not None
    if free:
        assert address.is_global and not address.is_multicast
    assert policy(deny=f"{address}/31" if int(address) % 2 == 0 else str(address)).refusal(str(address)) is not None


@hypothesis_settings(deadline=None, max_examples=300, print_blob=True)
@given(st.ip_addresses(v=6))
def test_beyond_global_unicast_no_ipv6_address_may_be_called(address: IPv6Address) -> None:
    if policy().refusal(str(address)) is None:
        assert int(address) >> 125 == 0b001 or str(address).startswith(("64:ff9b::", "::ffff:"))


# URLs

MAPPED = str(IPv6Address("::ffff:1.2.3.4"))  # with dots from Python 3.13 on


@pytest.mark.parametrize(
    ("url", "scheme", "host", "port", "path", "authority"),
    [
        ("http://example.com", "http", "example.com", None, "/", "example.com"),
        ("HTTPS://EXAMPLE.com./a/b?c=d#e", "https", "example.com", None, "/a/b?c=d", "example.com"),
        ("http://example.com:80/", "http", "example.com", 80, "/", "example.com"),
        ("http://example.com:443/", "http", "example.com", 443, "/", "example.com:443"),
        ("https://example.com:/x", "https", "example.com", None, "/x", "example.com"),
        ("http://example.com?q", "http", "example.com", None, "/?q", "example.com"),
        ("http://example.com#f", "http", "example.com", None, "/", "example.com"),
        ("http://a_b-c:65535/%2e%2e/%00", "http", "a_b-c", 65535, "/%2e%2e/%00", "a_b-c:65535"),
        ("http://[2001:DB8::0:1]:8080/", "http", "2001:db8::1", 8080, "/", "[2001:db8::1]:8080"),
        ("http://[::FFFF:1.2.3.4]/", "http", MAPPED, None, "/", f"[{MAPPED}]"),
        ("http://1.2.3.4./", "http", "1.2.3.4", None, "/", "1.2.3.4"),
        ("http://xn--bcher-kva.example/", "http", "xn--bcher-kva.example", None, "/", "xn--bcher-kva.example"),
        ("http://example.com/bücher/☃?é", "http", "example.com", None, "/b%C3%BCcher/%E2%98%83?%C3%A9", "example.com"),
        ("http://example.com/a@b:c[d]", "http", "example.com", None, "/a@b:c[d]", "example.com"),
    ],
)  # fmt: skip
def test_a_url_is_taken_apart(url: str, scheme: str, host: str, port: int | None, path: str, authority: str) -> None:
    target = parse_target(url)
    parts = (target.url.scheme.decode(), target.url.host.decode(), target.url.port, target.url.target.decode(), target.authority)
    assert parts == (scheme, host, port, path, authority)


REFUSED_URLS = [
    "", "example.com", "//example.com", "http:", "http:example.com", "http:/example.com", "http://", "http:///a", "http://:80/", "ftp://example.com/", "ws://example.com/",
    "poll://any@g", "javascript:alert(1)", "file:///etc/passwd", "http+unix://%2Fsock/", " http://example.com/", "http://example.com/ ", "http://exa mple.com/",
    "http://example.com/\r\nx: y", "http://example.com/\x00", "http://exa\tmple.com/", "http://example.com\n/", "http://example.com/\x7f",
    "http://user@example.com/", "http://user:pass@example.com/", "http://@example.com/", "http://example.com\\@127.0.0.1/", "http://127.0.0.1\\.example.com/", "http:\\\\example.com",
    "http://example.com:x/", "http://example.com:0/", "http://example.com:65536/", "http://example.com:-1/", "http://example.com:80:80/", "http://example.com:٣/",
    "http://[::1/", "http://::1/", "http://[::1]x/", "http://[]/", "http://[1.2.3.4]/", "http://[fe80::1%25lo]/", "http://[fe80::1%lo]/", "http://[v1.x]/", "http://[::1]]/", "http://[:::]/",
    "http://./", "http://../", "http://a..b/", "http://.a/", "http://a../", f"http://{'a' * 64}.com/", f"http://{'a.' * 127}aaa/",
    "http://bücher.example/", "http://１２７.０.０.１/", "http://127。0。0。1/", "http://ⓛocalhost/", "http://loca\u00adlhost/",
    "http://%6c%6f%63alhost/", "http://127.0.0.1%00.example.com/", "http://127.0.0.1%2f@example.com/", "http://a,b/", "http://a;b/", "http://$host/", "http://*/",
    "http://2130706433/", "http://0x7f000001/", "http://0X7F.1/", "http://017700000001/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.1/", "http://0/", "http://0x/", "http://1.2.3.4.5/",
    "http://256.0.0.1/", "http://127.0.0.01/", "http://a.0x7f/", "http://a.1/", "http://2130706433./", "http://example.com/\ud800",
]  # fmt: skip


@pytest.mark.parametrize("url", REFUSED_URLS, ids=lambda url: ascii(url)[1:40])
def test_what_two_parsers_could_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(NotCallable) as raised:
        parse_target(url)
    assert "user" not in str(raised.value) and len(str(raised.value)) < 250


@hypothesis_settings(deadline=None, max_examples=500, print_blob=True)
@given(
    st.text()
    | st.text(max_size=30).map("http://".__add__)
    | st.from_regex(r"https?://[0-9a-fx.:@\[\]%]{1,30}(/.*)?", fullmatch=True)
)
@example("http://[::]:٣")
@example("HTTP://x\n")
def test_any_text_is_refused_or_has_a_plain_host(url: str) -> None:
    try:
        target = parse_target(url)
    except NotCallable:
        return
    host = target.url.host.decode("ascii")
    assert host and host == host.lower() and not set(host) & set("%@/\\[]? ") and target.url.target[:1] == b"/"
    assert parse_target(f"http://{target.authority}/").url.host == target.url.host


# The checked address is the one that is connected to


SPELLINGS = [
    "127.0.0.1", "127.0.0.1.", "localhost", "LOCALHOST", "localhost.", "127.1", "2130706433", "0x7f000001", "0x7f.0x0.0x0.0x1", "0177.0.0.1", "017700000001",
    "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[0:0:0:0:0:ffff:7f00:0001]", "0.0.0.0", "[::]", "0",
    "example.com@127.0.0.1", "127.0.0.1#@example.com", "127.0.0.1\\@example.com", "%31%32%37.0.0.1", "①②⑦.⓪.⓪.①", "127。0。0。1", "127.0.0\n.1", "loc\talhost", "ｌocalhost",
]  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS, ids=ascii)
def test_no_spelling_of_loopback_gets_around_the_policy(spelling: str) -> None:
    async def run() -> None:
        async with receiving() as receiver:
            pusher = PushClient(PushSettings())
            try:
                with pytest.raises(PushFailed) as raised:
                    await pusher.push(receiver.url("/", spelling), b"{}")
            finally:
                await pusher.close()
            assert raised.value.permanent and raised.value.status is None
            assert receiver.connections == 0

    asyncio.run(run())


@hypothesis_settings(deadline=None, max_examples=100, print_blob=True)
@given(st.from_regex(r"http://[0-9a-z.:@\[\]%]{1,20}/", fullmatch=True) | st.text())
def test_whatever_the_url_nothing_is_called_that_resolves_to_loopback(url: str) -> None:
    class Nowhere(httpcore.AnyIOBackend):
        async def connect_tcp(self, host: str, *rest: object, **more: object) -> httpcore.AsyncNetworkStream:  # type: ignore[override]
            raise AssertionError(f"connected to {host}")

    async def loopback(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1", "::1", "::ffff:10.0.0.1"]

    async def run() -> None:
        try:
            target = parse_target(url)
        except NotCallable:
            return
        try:
            ip_address(target.url.host.decode())
            return  # literals are judged above
        except ValueError:
            pass
        backend = GuardedBackend(policy(), loopback)
        backend._network = Nowhere()
        with pytest.raises(NotCallable):
            await backend.connect_tcp(target.url.host.decode(), 80, timeout=5)

    asyncio.run(run())


def test_a_name_that_changes_its_answer_is_judged_by_what_is_connected_to() -> None:
    """DNS rebinding: the name has a permitted address when it is checked, and an internal one when it is connected to."""
    answers = iter([["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1"]])
    asked: list[str] = []

    async def resolver(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return next(answers)

    async def run() -> None:
        async with receiving() as outside, receiving(host="127.0.0.2", port=outside.port) as inside:
            settings = PushSettings(allow="127.0.0.1/32")
            for permitted in (True, False, True):
                pusher = PushClient(settings, resolver=resolver)
                try:
                    with (
                        contextlib.nullcontext()
                        if permitted
                        else pytest.raises(PushFailed, match=r"127\.0\.0\.2 is not a public address")
                    ):
                        await pusher.push(outside.url("/", "rebinding.test"), b"{}")
                finally:
                    await pusher.close()
            assert inside.connections == 0 and outside.connections == 2

    asyncio.run(run())
    assert asked == ["rebinding.test"] * 3  # once for each connection: a second lookup could differ


@pytest.mark.parametrize(
    "answers", [["127.0.0.2", "127.0.0.1"], ["10.0.0.1", "::1", "169.254.169.254", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"]]
)
def test_of_several_addresses_only_the_permitted_ones_are_tried(answers: list[str]) -> None:
    async def resolver(host: str, port: int) -> Sequence[str]:
        return answers

    async def run() -> None:
        async with receiving() as outside, receiving(host="127.0.0.2", port=outside.port) as inside:
            pusher = PushClient(PushSettings(allow="127.0.0.1"), resolver=resolver)
            await pusher.push(outside.url("/", "both.test"), b"{}")
            await pusher.close()
            assert (outside.connections, inside.connections) == (1, 0)

    asyncio.run(run())


def test_the_next_address_is_tried_where_nobody_listens_at_the_first() -> None:
    async def resolver(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.3", "127.0.0.1"]

    async def run() -> None:
        async with receiving() as receiver:
            pusher = PushClient(PushSettings(allow="127.0.0.0/8"), resolver=resolver)
            await pusher.push(receiver.url("/", "both.test"), b"{}")
            await pusher.close()
            assert receiver.connections == 1

    asyncio.run(run())
