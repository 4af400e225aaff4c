"""Keys, tokens and authenticators for the tests of tokens."""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

from resonate_core import Clock, ManualClock
from resonate_core.server.auth import Authenticator, Unauthorized
from resonate_core.server.settings import AuthSettings

NOW = 1_700_000_000.0
SECRET = "s3cret-" * 10  # 70 bytes: long enough for HS512
RSA_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
KEYS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "RSA": (rsa.generate_private_key(65537, 2048), RSA_ALGORITHMS),
    "P-256": (ec.generate_private_key(ec.SECP256R1()), ("ES256",)),
    "P-384": (ec.generate_private_key(ec.SECP384R1()), ("ES384",)),
    "P-521": (ec.generate_private_key(ec.SECP521R1()), ("ES512",)),
    "Ed25519": (ed25519.Ed25519PrivateKey.generate(), ("EdDSA",)),
    "Ed448": (ed448.Ed448PrivateKey.generate(), ("EdDSA",)),
}
KEY_AND_ALGORITHM = [(kind, name) for kind, (_, names) in KEYS.items() for name in names]


def public_pem(private: Any) -> bytes:
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def private_pem(private: Any, shape: PrivateFormat = PrivateFormat.PKCS8) -> bytes:
    return private.private_bytes(Encoding.PEM, shape, NoEncryption())


def certificate(private: Any) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "issuer of tokens")])
    since = datetime.datetime(2020, 1, 1)
    built = x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number(), since, since.replace(year=2040))
    return built.sign(private, hashes.SHA256()).public_bytes(Encoding.PEM)


def clock_at(seconds: float = NOW) -> ManualClock:
    return ManualClock(start=round(seconds * 1000))


def with_secret(clock: Clock | None = None, **given: Any) -> Authenticator:
    return Authenticator(AuthSettings(secret=SECRET, **given), clock=clock or clock_at())


def with_key(folder: Path, pem: bytes, **given: Any) -> Authenticator:
    path = folder / "key.pem"
    path.write_bytes(pem)
    return Authenticator(AuthSettings(public_key=path, **given), clock=clock_at())


def signed(claims: dict[str, Any]) -> str:
    return jwt.encode({"exp": NOW + 100, **claims}, SECRET, "HS256")


def encoded(part: Any) -> str:
    raw = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def by_hand(header: Any, payload: Any, secret: bytes = SECRET.encode()) -> str:
    """Returns a token signed with HS256, whatever its header and payload are."""
    signing = f"{encoded(header)}.{encoded(payload)}"
    return f"{signing}.{encoded(hmac.new(secret, signing.encode(), hashlib.sha256).digest())}"


def refusal(authenticator: Authenticator, token: str | None) -> str:
    with pytest.raises(Unauthorized) as raised:
        authenticator.identify(token)
    text = str(raised.value)
    assert len(text) < 200
    # It contains neither the token nor a part that could be used.
    if token:
        assert all(part not in text for part in token.split(".") if len(part) > 12)
    return text


def shortly(value: Any) -> str:
    """Returns the name of a case whose value would be pages long."""
    return ascii(value)[:24]
