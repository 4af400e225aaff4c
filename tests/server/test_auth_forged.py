"""Forged tokens: each raises `Unauthorized`."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import example, given, settings as hypothesis_settings, strategies as st

from resonate_core.server.auth import Identity, Unauthorized
from server.tokens import KEYS, NOW, by_hand, encoded, public_pem, refusal, shortly, signed, with_key, with_secret


@pytest.mark.parametrize(
    "token",
    [
        None,
        "",
        " ",
        ".",
        "..",
        "...",
        "a.b",
        "a.b.c",
        "a.b.c.d",
        "a..c",
        "\x00",
        "é.é.é",
        "\ud800.a.b",
        "x" * 16_384,
        "x" * 16_385,
        "a." * 9000,
        "ａ.ｂ.ｃ",
    ],
    ids=shortly,
)
def test_what_is_not_a_token_is_unauthorized(token: str | None) -> None:
    assert refusal(with_secret(), token)


def test_a_good_token_is_spelled_in_one_way_only() -> None:
    authenticator, token = with_secret(), signed({"prefix": "a"})
    assert authenticator.identify(token)
    header, payload, signature = token.split(".")
    others = [f" {token}", f"{token} ", f"{token}\n", f"{token}\x00", f"{token}=", f"{token}.", f"{token}.x", f"Bearer {token}", f"{header}.{payload}.",
              f"{header}.{payload}", f"{header}=.{payload}.{signature}", f"{header}.{payload}!.{signature}", f"{header}.{payload}.{signature[:-2]}",
              f"{header}.{payload}.{signature.swapcase()}", f"{header}..{signature}"]  # fmt: skip
    for other in others:
        assert refusal(authenticator, other)


def test_a_token_of_the_longest_length_holds_and_a_longer_one_does_not() -> None:
    def of_length(length: int) -> str:
        size = 3
        while True:
            token = by_hand({"alg": "HS256"}, {"exp": NOW + 1, "prefix": "a", "x": "y" * size})
            if len(token) >= length:
                return token
            size += max(1, (length - len(token)) * 3 // 4 - 2)

    token = of_length(16_380)
    assert len(token) <= 16_384 and with_secret().identify(token).prefix == "a"
    assert refusal(with_secret(), of_length(16_385)).endswith("16384 are the limit")


@pytest.mark.parametrize("kind", KEYS)
def test_a_public_key_is_no_secret(tmp_path: Path, kind: str) -> None:
    """Confusion of algorithms: a signature made with the public key, which is no secret, as the secret of HMAC."""
    private, fitting = KEYS[kind]
    pem = public_pem(private)
    authenticator = with_key(tmp_path, pem)
    der = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    for known in (pem, pem.strip(), der):
        for alg in ("HS256", *fitting):
            assert refusal(authenticator, by_hand({"alg": alg, "typ": "JWT"}, {"exp": NOW + 1, "role": "admin"}, known))


@pytest.mark.parametrize(
    "alg",
    ["none", "None", "NONE", "nOnE", "", None, 0, [], ["HS256"], {}, "HS256 ", "hs256", "HS257", "x" * 1000, True],
    ids=shortly,
)
def test_no_signature_and_no_known_algorithm_is_unauthorized(alg: Any) -> None:
    payload = {"exp": NOW + 1, "role": "admin"}
    authenticator = with_secret()
    assert refusal(authenticator, by_hand({"alg": alg}, payload))
    assert refusal(authenticator, f"{encoded({'alg': alg})}.{encoded(payload)}.")
    assert refusal(authenticator, f"{encoded({'alg': alg})}.{encoded(payload)}.AA")


def test_a_header_without_an_algorithm_is_unauthorized() -> None:
    assert refusal(with_secret(), by_hand({"typ": "JWT"}, {"exp": NOW + 1}))


@pytest.mark.parametrize("kind", KEYS)
def test_another_key_of_the_same_kind_is_unauthorized(tmp_path: Path, kind: str) -> None:
    private, fitting = KEYS[kind]
    make = {
        "RSA": lambda: rsa.generate_private_key(65537, 2048),
        "Ed25519": ed25519.Ed25519PrivateKey.generate,
        "Ed448": ed448.Ed448PrivateKey.generate,
    }
    other = make[kind]() if kind in make else ec.generate_private_key(private.curve)
    token = jwt.encode({"exp": NOW + 1, "role": "admin"}, other, fitting[0])
    assert refusal(with_key(tmp_path, public_pem(private)), token) == "the signature does not fit the key"


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("signature", [b"\x00", b"\x00" * 64, b"\xff" * 96, b"\x00" * 132, b"\x00" * 256, b"0" * 114], ids=shortly)
def test_a_hollow_signature_is_unauthorized(tmp_path: Path, kind: str, signature: bytes) -> None:
    """Several ECDSA verifiers have accepted a signature of zeros."""
    private, fitting = KEYS[kind]
    token = f"{encoded({'alg': fitting[0]})}.{encoded({'exp': NOW + 1, 'role': 'admin'})}.{encoded(signature)}"
    assert refusal(with_key(tmp_path, public_pem(private)), token) == "the signature does not fit the key"


def test_a_header_cannot_bring_its_own_key(tmp_path: Path) -> None:
    private, _ = KEYS["RSA"]
    attacker = rsa.generate_private_key(65537, 2048)
    numbers = attacker.public_key().public_numbers()
    own = {"kty": "RSA", "alg": "RS256", "n": encoded(numbers.n.to_bytes(256, "big")), "e": "AQAB", "kid": "mine"}
    authenticator = with_key(tmp_path, public_pem(private))
    for headers in (
        {"jwk": own},
        {"jku": "http://127.0.0.1:1/keys.json", "kid": "mine"},
        {"x5u": "http://127.0.0.1:1/chain.pem"},
        {"x5c": [base64.b64encode(b"x").decode()]},
        {"kid": "../../../../dev/null"},
        {"kid": "' UNION SELECT 'x"},
    ):
        forged = jwt.encode({"exp": NOW + 1, "role": "admin"}, attacker, "RS256", headers=headers)
        assert refusal(authenticator, forged) == "the signature does not fit the key"
        # The same headers on a token that is signed with the key change nothing either.
        honest = jwt.encode({"exp": NOW + 1, "prefix": "a"}, private, "RS256", headers=headers)
        assert authenticator.identify(honest) == Identity(False, "a")


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "HS256", "crit": ["exp"], "exp": 1},
        {"alg": "HS256", "crit": ["b64"], "b64": True},
        {"alg": "HS256", "crit": []},
        {"alg": "HS256", "crit": "exp"},
        {"alg": "HS256", "b64": False, "crit": ["b64"]},
        {"alg": "HS256", "b64": False},
        ["HS256"],
        "HS256",
        7,
        None,
        b"",
        b"\xff\xfe",
        b'{"alg":"HS256"',
        b"[" * 5000,
    ],
    ids=shortly,
)
def test_a_header_that_is_not_understood_is_unauthorized(header: Any) -> None:
    assert refusal(with_secret(), by_hand(header, {"exp": NOW + 1, "role": "admin"}))


@pytest.mark.parametrize(
    "payload",
    [[], "x", 7, None, b"", b"\xff", b'{"exp":', b"[" * 5000, b'{"a":' * 2000, b'{"exp":1' + b"0" * 5000 + b"}"],
    ids=shortly,
)
def test_a_signed_payload_that_is_no_object_is_unauthorized(payload: Any) -> None:
    assert refusal(with_secret(), by_hand({"alg": "HS256"}, payload))


AUTHENTICATOR = with_secret()
SEGMENT = st.one_of(st.text(alphabet="abcXYZ019_-=+/ \x00é", max_size=40), st.binary(max_size=60).map(encoded))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
CLAIMS = st.dictionaries(
    st.sampled_from(["exp", "nbf", "iat", "iss", "aud", "sub", "jti", "role", "prefix", "x"]), JSON, max_size=6
)
HEADER = st.dictionaries(
    st.sampled_from(["alg", "kid", "typ", "crit", "b64", "jku", "jwk", "cty"]),
    JSON | st.sampled_from(["HS256", "none"]),
    max_size=5,
)


@hypothesis_settings(deadline=None, max_examples=300, print_blob=True)
@given(
    st.one_of(st.text(), st.tuples(SEGMENT, SEGMENT, SEGMENT).map(".".join), st.builds(by_hand, HEADER, JSON, st.just(b"another")))
)
@example("\ud800")
@example("eyJhbGciOiJub25lIn0.e30.")
def test_whatever_is_not_signed_is_unauthorized_and_nothing_else(token: str) -> None:
    with pytest.raises(Unauthorized):
        AUTHENTICATOR.identify(token)


@hypothesis_settings(deadline=None, max_examples=300, print_blob=True)
@given(st.builds(by_hand, HEADER, CLAIMS | JSON))
def test_whatever_is_signed_is_an_identity_or_unauthorized(token: str) -> None:
    try:
        identity = AUTHENTICATOR.identify(token)
    except Unauthorized:
        return
    claims = jwt.decode(token, options={"verify_signature": False})
    assert identity.prefix == (claims.get("prefix") if isinstance(claims.get("prefix"), str) else None)
    assert isinstance(claims["exp"], int | float) and claims["exp"] > NOW - 60
