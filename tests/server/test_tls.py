"""serve with a certificate: the protocol and its streams over https."""

from __future__ import annotations

import datetime
import http.client
import ipaddress
import json
import os
import re
import signal
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

FAR = 4_000_000_000_000


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate for 127.0.0.1, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    certificate, private = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return certificate, private


def test_requests_and_streams_go_over_https(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    public, private = certificate
    command = [sys.executable, "-m", "resonate_core", "serve", "--db", str(tmp_path / "a.db"), "--port", "0"]
    command += ["--tls-certificate", str(public), "--tls-key", str(private)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RESONATE_")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stderr is not None
            found = None
            for line in server.stderr:
                found = re.search(r"serving .* at https://127\.0\.0\.1:(\d+)", line)
                if found:
                    break
            assert found, "it did not say where it serves"
            _talk(int(found[1]), ssl.create_default_context(cafile=str(public)))
        finally:
            server.send_signal(signal.SIGTERM)
            server.stderr.read()  # type: ignore[union-attr]
    assert server.returncode == 0


def _talk(port: int, context: ssl.SSLContext) -> None:
    events = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
    events.request("GET", "/poll/w/1")
    stream = events.getresponse()
    asking = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=60)
    data = {"id": "a", "timeoutAt": FAR, "tags": {"resonate:target": "poll://any@w"}}
    asking.request(
        "POST", "/", json.dumps({"kind": "promise.create", "head": {"corrId": "c", "version": "2026-04-01"}, "data": data})
    )
    assert asking.getresponse().status == 200
    line = b""
    while not line.startswith(b"data:"):
        line = stream.readline()
        assert line, "the stream ended"
    assert json.loads(line[5:])["head"] == {"serverUrl": f"https://127.0.0.1:{port}"}
    asking.close()
    events.close()
