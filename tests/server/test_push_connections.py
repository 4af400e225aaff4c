"""The connections of push delivery: reused, limited in number, checked by TLS, closed at the end."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from resonate_core.server.push_client import PushClient
from resonate_core.server.settings import PushSettings
from server.pushing import failure, loopback, pusher, run
from server.receiver import OK, Request, answer, receiving, says, waits_forever


def test_a_connection_is_kept_and_used_again() -> None:
    async def test() -> None:
        async with receiving() as receiver, receiving() as other:
            of = pusher()
            for _ in range(5):
                await of.push(receiver.url("/a"), b"{}")
                await of.push(receiver.url("/b"), b"{}")
                await of.push(other.url(), b"{}")
            assert (receiver.connections, len(receiver.requests), other.connections) == (1, 10, 1)
            await of.close()
            await receiver.gone.get()
            await other.gone.get()

    run(test)


def test_failures_keep_connections_too() -> None:
    async def refuses(request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        writer.write(answer(503, body=b"later"))
        return True

    async def test() -> None:
        async with receiving(refuses) as receiver:
            of = pusher()
            for _ in range(3):
                await failure(of, receiver.url())
            assert (receiver.connections, len(receiver.requests)) == (1, 3)
            await of.close()

    run(test)


def test_a_kept_connection_that_died_costs_no_message() -> None:
    """The receiver closes a connection just when the next message is sent on it."""

    async def test() -> None:
        async with receiving() as receiver:

            async def once(request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
                if request.body == b"2" and len(receiver.requests) == 2:
                    return False
                writer.write(OK)
                return True

            receiver.answerer = once
            of = pusher()
            await of.push(receiver.url(), b"1")
            await of.push(receiver.url(), b"2")
            assert [request.body for request in receiver.requests] == [b"1", b"2", b"2"] and receiver.connections == 2
            await of.close()

    run(test)


def test_connections_that_the_server_closed_are_not_used() -> None:
    async def test() -> None:
        async with receiving(says(OK)) as receiver:

            async def closes(request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
                writer.write(OK)
                return False

            receiver.answerer = closes
            of = pusher()
            for _ in range(3):
                await of.push(receiver.url(), b"{}")
                await receiver.gone.get()
            assert (receiver.connections, len(receiver.requests)) == (3, 3)
            await of.close()

    run(test)


def test_a_new_connection_that_dies_is_a_failure() -> None:
    async def test() -> None:
        async with receiving(says()) as receiver:
            of = pusher()
            assert (await failure(of, receiver.url())).status is None
            await of.close()
            assert len(receiver.requests) == 1

    run(test)


class Gate:
    """Holds requests until this many are there at once, and counts them."""

    def __init__(self, many: int) -> None:
        self.many = many
        self.inside = self.most = 0
        self.full = asyncio.Event()

    async def __call__(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        self.inside += 1
        self.most = max(self.most, self.inside)
        if self.inside >= self.many:
            self.full.set()
        await self.full.wait()
        await asyncio.sleep(0)  # were there more to come, they would come now
        self.inside -= 1
        writer.write(OK)
        return True


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_no_more_deliveries_are_under_way_than_are_allowed(concurrency: int) -> None:
    async def test() -> None:
        gate = Gate(concurrency)
        async with receiving(gate) as receiver:
            of = pusher(concurrency=concurrency)
            await asyncio.gather(*(of.push(receiver.url(f"/{i}"), b"{}") for i in range(40)))
            assert gate.most == concurrency and len(receiver.requests) == 40 and receiver.connections <= concurrency
            await of.close()

    run(test)


def test_waiting_for_a_place_is_not_counted_into_the_time_limit() -> None:
    async def first_never(request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        return await (waits_forever if request.body == b"1" else says(OK))(request, reader, writer)

    async def test() -> None:
        async with receiving(first_never) as receiver:
            of = pusher(concurrency=1, timeout=1)
            first = asyncio.create_task(failure(of, receiver.url(), b"1"))
            await asyncio.sleep(0)
            await of.push(receiver.url(), b"2")  # waits for as long as a delivery may take
            assert first.done() and "did not answer within 1 s" in (await first).reason
            await of.close()

    run(test)


def test_idle_connections_are_bounded() -> None:
    async def test() -> None:
        async with receiving() as one, receiving() as two, receiving() as three:
            of = pusher(concurrency=2)
            for receiver in (one, two, three):
                await of.push(receiver.url(), b"{}")
            await one.gone.get()  # the oldest made room
            await of.push(two.url(), b"{}")
            await of.push(three.url(), b"{}")
            assert (one.connections, two.connections, three.connections) == (1, 1, 1)
            await of.close()

    run(test)


# The end


def test_closing_ends_what_is_under_way_and_what_waits() -> None:
    async def test() -> None:
        async with receiving(waits_forever) as receiver:
            of = pusher(concurrency=2)
            pushes = [asyncio.create_task(failure(of, receiver.url())) for _ in range(5)]
            while len(receiver.requests) < 2:
                await asyncio.sleep(0.001)
            await of.close()
            failed = await asyncio.gather(*pushes)
            assert {f.reason for f in failed} == {"deliveries have ended"} and not any(f.permanent for f in failed)
            await of.close()
            assert (await failure(of, receiver.url())).reason == "deliveries have ended"
            assert len(receiver.requests) == 2

    run(test)


def test_a_cancelled_delivery_closes_its_connection() -> None:
    async def test() -> None:
        async with receiving(waits_forever) as receiver:
            of = pusher(concurrency=1)
            task = asyncio.create_task(of.push(receiver.url(), b"{}"))
            while not receiver.requests:
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await receiver.gone.get()
            receiver.answerer = says(OK)
            await of.push(receiver.url(), b"{}")  # its place is free again
            await of.close()

    run(test)


# TLS


def made_certificate(folder: Path, name: str) -> ssl.SSLContext:
    """Returns a server's TLS context with a self-signed certificate for a name, and writes the certificate to ``ca.pem``."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    since = datetime.datetime(2020, 1, 1)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 7, since, since.replace(year=2040))
    names = [x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)]
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False).add_extension(identifier, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    usage = x509.KeyUsage(True, False, False, False, False, True, False, False, False)
    pem = builder.add_extension(usage, critical=True).sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    (folder / "ca.pem").write_bytes(pem)
    (folder / "both.pem").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context


@pytest.mark.parametrize(
    ("certified", "called", "reason"),
    [
        ("push.test", "push.test", None),
        ("push.test", "PUSH.test.", None),
        ("127.0.0.1", "127.0.0.1", None),
        ("push.test", "other.test", "CERTIFICATE_VERIFY_FAILED"),
        ("push.test", "127.0.0.1", "CERTIFICATE_VERIFY_FAILED"),
        ("127.0.0.1", "push.test", "CERTIFICATE_VERIFY_FAILED"),
    ],
)
def test_tls_goes_by_the_name_although_the_connection_goes_to_the_address(
    tmp_path: Path, certified: str, called: str, reason: str | None
) -> None:
    async def test() -> None:
        context = made_certificate(tmp_path, certified)
        names: list[str | None] = []
        context.sni_callback = lambda _, name, __: names.append(name)
        async with receiving(tls=context) as receiver:
            of = pusher(loopback, ssl.create_default_context(cafile=str(tmp_path / "ca.pem")))
            url = receiver.url("/", called, "https")
            if reason is None:
                await of.push(url, b"{}")
                await of.push(url, b"{}")
                assert (receiver.connections, len(receiver.requests)) == (1, 2)
            else:
                failed = await failure(of, url)
                assert reason in failed.reason and not failed.permanent and not receiver.requests
            await of.close()
        name = called.lower().removesuffix(".")
        assert names == [None if name[0].isdigit() else name]

    run(test)


def test_a_certificate_that_the_system_does_not_know_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        async with receiving(tls=made_certificate(tmp_path, "push.test")) as receiver:
            of = PushClient(PushSettings(allow="127.0.0.0/8"), resolver=loopback)
            failed = await failure(of, receiver.url("/", "push.test", "https"))
            await of.close()
            assert "CERTIFICATE_VERIFY_FAILED" in failed.reason and not receiver.requests

    run(test)


def test_plain_http_where_tls_is_spoken_and_the_reverse_fail(tmp_path: Path) -> None:
    async def test() -> None:
        async with receiving() as plain, receiving(tls=made_certificate(tmp_path, "127.0.0.1")) as tls:
            of = pusher(connect_timeout=0.2, timeout=1)
            for receiver, scheme in ((plain, "https"), (tls, "http")):
                assert not (await failure(of, receiver.url("/", scheme=scheme))).permanent
            await of.close()
            assert not plain.requests and not tls.requests

    run(test)
