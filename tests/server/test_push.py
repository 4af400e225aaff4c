"""Push delivery to servers that answer with success, with errors, late and never."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from server.pushing import failure, pusher, run
from server.receiver import OK, Request, answer, receiving, says, waits_forever


def test_a_message_is_posted_as_json() -> None:
    async def test() -> None:
        body = '{"kind":"execute","head":{},"data":"é"}'.encode()
        async with receiving() as receiver:
            of = pusher()
            await of.push(receiver.url("/hook/é?a=b#c"), body)
            await of.close()
        assert receiver.requests == [
            Request(
                "POST",
                "/hook/%C3%A9?a=b",
                {
                    "host": f"127.0.0.1:{receiver.port}",
                    "content-type": "application/json",
                    "user-agent": "resonate-core",
                    "accept": "*/*",
                    "content-length": str(len(body)),
                },
                body,
            )
        ]

    run(test)


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_a_delivery(status: int) -> None:
    async def test() -> None:
        async with receiving(says(answer(status))) as receiver:
            of = pusher()
            await of.push(receiver.url(), b"{}")
            await of.close()
            assert len(receiver.requests) == 1

    run(test)


@pytest.mark.parametrize("status", [300, 304, 400, 401, 404, 409, 410, 429, 500, 503, 599])
def test_any_other_status_is_a_failure(status: int) -> None:
    async def test() -> None:
        async with receiving(says(answer(status, body=b"why"))) as receiver:
            of = pusher()
            failed = await failure(of, receiver.url("/secret-path"))
            await of.close()
            assert (failed.status, failed.permanent) == (status, False) and len(receiver.requests) == 1
            assert failed.reason.startswith(f"127.0.0.1:{receiver.port} answered {status}") and "secret" not in failed.reason

    run(test)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("to", ["other", "itself", "metadata"])
def test_a_redirect_is_not_followed(status: int, to: str) -> None:
    async def test() -> None:
        async with receiving() as other, receiving() as receiver:
            where = {"other": other.url("/x"), "itself": "/again", "metadata": "http://169.254.169.254/latest/meta-data/"}[to]
            receiver.answerer = says(answer(status, f"location: {where}"))
            of = pusher()
            failed = await failure(of, receiver.url())
            await of.close()
            assert failed.status == status and failed.reason.endswith(f"answered {status}, and redirects are not followed")
            assert len(receiver.requests) == 1 and other.connections == 0

    run(test)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"])
def test_loopback_is_called_only_where_it_is_allowed(host: str) -> None:
    async def test() -> None:
        async with receiving() as receiver:
            for allow, deny, free in (
                ("127.0.0.0/8,::1", "", True),
                ("", "", False),
                ("127.0.0.0/8,::1", "127.0.0.0/16,::1", False),
            ):
                of = pusher(allow=allow, deny=deny)
                before = receiver.connections
                if free:
                    await of.push(receiver.url("/", host), b"{}")
                else:
                    failed = await failure(of, receiver.url("/", host))
                    assert failed.permanent and failed.status is None and "may not be called" in failed.reason
                await of.close()
                assert receiver.connections == before + free

    run(test)


def test_an_ipv6_address_stands_in_brackets_in_the_host_header() -> None:
    async def test() -> None:
        try:
            receiver_at = receiving(host="::1")
            async with receiver_at as receiver:
                of = pusher()
                await of.push(receiver.url("/", "[0:0::1]"), b"{}")
                await of.close()
        except OSError as error:
            pytest.skip(f"this machine has no IPv6: {error}")
        assert receiver.requests[0].headers["host"] == f"[::1]:{receiver.port}"

    run(test)


def test_the_token_is_sent_and_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "httpcore")  # a server that ran in this process has raised its level

    async def test() -> None:
        async with receiving() as receiver:
            of = pusher(token="t0k3n-t0k3n")
            await of.push(receiver.url(), b"{}")
            assert receiver.requests[0].headers["authorization"] == "Bearer t0k3n-t0k3n"
            receiver.answerer = says(answer(500))
            failed = await failure(of, receiver.url())
            await of.close()
        assert "t0k3n" not in failed.reason + repr(failed) + caplog.text and "httpcore" in {
            r.name.split(".")[0] for r in caplog.records
        }

    run(test)


@pytest.mark.parametrize("token", ["", "a b", "t0k3n\r\nx: y", "t0k3n\x00", "t0k3né", "t0k3n\x7f"])
def test_a_token_that_no_header_can_carry_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match=r"^push\.token is empty or has a character that a header cannot carry") as raised:
        pusher(token=token)
    assert "t0k3n" not in str(raised.value)


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with receiving() as proxy, receiving() as receiver:
            for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
                monkeypatch.setenv(name, proxy.url())
            of = pusher()
            await of.push(receiver.url(), b"{}")
            await of.close()
            assert (proxy.connections, receiver.connections) == (0, 1)

    run(test)


# What does not answer


def test_nobody_listens() -> None:
    async def test() -> None:
        async with receiving() as receiver:
            pass
        of = pusher()
        failed = await failure(of, receiver.url())
        await of.close()
        assert not failed.permanent and failed.status is None
        assert failed.reason.startswith(f"127.0.0.1:{receiver.port}: ConnectionRefusedError")

    run(test)


@pytest.mark.parametrize("found", [[], OSError(-2, "Name or service not known")], ids=["nothing", "an error"])
def test_a_name_without_addresses(found: Any) -> None:
    async def resolver(host: str, port: int) -> Sequence[str]:
        if isinstance(found, OSError):
            raise found
        return list(found)

    async def test() -> None:
        of = pusher(resolver)
        failed = await failure(of, "http://nowhere.test/")
        await of.close()
        assert not failed.permanent and failed.reason.startswith("nowhere.test: ")

    run(test)


@pytest.mark.parametrize(
    "url", ["", "nonsense", "http://", "ftp://127.0.0.1/", "http://user:pw@127.0.0.1/", "http://127.1/", "http://127.0.0.1:0/"]
)
def test_what_is_not_a_url_fails_for_good(url: str) -> None:
    async def test() -> None:
        of = pusher()
        failed = await failure(of, url)
        await of.close()
        assert failed.permanent and failed.status is None and "pw" not in failed.reason

    run(test)


def test_a_server_that_says_nothing_runs_into_the_time_limit() -> None:
    async def test() -> None:
        async with receiving(waits_forever) as receiver:
            of = pusher(timeout=0.5)
            failed = await failure(of, receiver.url())
            assert failed.reason == f"127.0.0.1:{receiver.port} did not answer within 0.5 s" and not failed.permanent
            await receiver.gone.get()  # its connection is closed, not kept
            await of.close()

    run(test)


def test_a_server_that_dribbles_runs_into_the_time_limit() -> None:
    """Each byte comes in time: only a limit for the whole response ends it."""

    async def dribbles(request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"x: y\r\n")
            await writer.drain()
            await asyncio.sleep(0.01)

    async def test() -> None:
        async with receiving(dribbles) as receiver:
            of = pusher(timeout=0.5)
            assert "did not answer within 0.5 s" in (await failure(of, receiver.url())).reason
            await receiver.gone.get()
            await of.close()

    run(test)


def test_a_name_that_is_not_resolved_in_time() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return []

    async def test() -> None:
        of = pusher(never, connect_timeout=0.5)
        failed = await failure(of, "http://slow.test/")
        await of.close()
        assert failed.reason == "slow.test could not be connected to within 0.5 s" and not failed.permanent

    run(test)


@pytest.mark.parametrize("given", [{"connect_timeout": 0.5}, {"timeout": 0.5}], ids=["of the connection", "of all"])
def test_a_handshake_that_does_not_end_leaves_nothing_open(given: dict[str, float]) -> None:
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # until the client disconnects
        writer.close()
        await writer.wait_closed()
        ended.set()

    ended = asyncio.Event()

    async def test() -> None:
        server = await asyncio.start_server(deaf, "127.0.0.1", 0)
        of = pusher(**given)
        failed = await failure(of, f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        assert "within 0.5 s" in failed.reason
        await ended.wait()
        await of.close()
        server.close()
        await server.wait_closed()

    run(test)


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ((), None),
        ((b"HTTP/1.1 200 O",), None),
        ((b"HTTP/1.1 200 OK\r\ncontent-le",), None),
        ((b"HTTP/1.1 100 Continue\r\n\r\n",), None),
        ((b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",), None),
        ((b"SSH-2.0-OpenSSH_9.6\r\n",), None),
        ((b"\x00\xff" * 100,), None),
        ((b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000,), None),
        ((b"HTTP/1.1 abc\r\n\r\n",), None),
        ((b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",), None),
        ((b"HTTP/1.1 500 No\r\ncontent-length: 100\r\n\r\nhalf",), 500),
        ((b"HTTP/1.1 302 No\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",), 302),
    ],
)
def test_a_server_that_vanishes_or_talks_nonsense(parts: tuple[bytes, ...], status: int | None) -> None:
    async def test() -> None:
        async with receiving(says(*parts)) as receiver:
            of = pusher()
            failed = await failure(of, receiver.url())
            await of.close()
            assert failed.status == status and not failed.permanent and len(receiver.requests) == 1

    run(test)


async def floods(request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()


async def stalls(request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nx")
    await reader.read()


@pytest.mark.parametrize(
    "answerer",
    [
        says(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"),
        says(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
        says(b"HTTP/1.1 200 OK\r\ncontent-length: 9999999\r\n\r\n", b"x" * 65_537),
        says(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nxyz"),
        says(b"HTTP/1.0 200 OK\r\n\r\nuntil the end"),
        says(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early Hints\r\n\r\n", OK),
        floods,
        stalls,
    ],
    ids=["vanishes", "nonsense", "long", "packed", "old", "informed", "floods", "stalls"],
)
@pytest.mark.parametrize("timeout", [20, 3])
def test_after_a_2xx_the_message_is_delivered_whatever_becomes_of_the_rest(answerer: Any, timeout: float) -> None:
    async def test() -> None:
        async with receiving(answerer) as receiver:
            of = pusher(timeout=timeout)
            await of.push(receiver.url(), b"{}")
            await receiver.gone.get()
            await of.close()
            assert len(receiver.requests) == 1

    run(test)
