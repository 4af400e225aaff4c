"""Tokens: which hold, for whom they stand, and that nothing else than `Unauthorized` comes of the others."""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import json
import logging
import math
import threading
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed448, ed25519, rsa, x25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID
from hypothesis import example, given, settings as hypothesis_settings, strategies as st

from resonate_core.server.auth import Authenticator, Identity, Unauthorized, bearer
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


class Time:
    """A clock to set."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Time:
    return Time()


def with_secret(clock: Time, **given: Any) -> Authenticator:
    return Authenticator(AuthSettings(secret=SECRET, **given), clock=clock)


def with_key(folder: Path, pem: bytes, clock: Time | None = None, **given: Any) -> Authenticator:
    path = folder / "key.pem"
    path.write_bytes(pem)
    return Authenticator(AuthSettings(public_key=path, **given), clock=clock or Time())


def signed(claims: dict[str, Any], **headers: Any) -> str:
    return jwt.encode({"exp": NOW + 100, **claims}, SECRET, "HS256", headers=headers or None)


def encoded(part: Any) -> str:
    raw = part if isinstance(part, bytes) else json.dumps(part).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def by_hand(header: Any, payload: Any, secret: bytes = SECRET.encode()) -> str:
    """A token signed with HS256 whatever its header and payload are."""
    signing = f"{encoded(header)}.{encoded(payload)}"
    return f"{signing}.{encoded(hmac.new(secret, signing.encode(), hashlib.sha256).digest())}"


def refusal(authenticator: Authenticator, token: str | None) -> str:
    with pytest.raises(Unauthorized) as raised:
        authenticator.identify(token)
    text = str(raised.value)
    assert len(text) < 200
    # It holds neither the token nor a part that could be put to use.
    if token:
        assert all(part not in text for part in token.split(".") if len(part) > 12)
    return text


# Keys and algorithms


@pytest.mark.parametrize(("kind", "algorithm"), KEY_AND_ALGORITHM)
def test_a_token_of_each_fitting_algorithm_holds(tmp_path: Path, clock: Time, kind: str, algorithm: str) -> None:
    private, fitting = KEYS[kind]
    token = jwt.encode({"exp": NOW + 1, "prefix": kind}, private, algorithm)
    assert with_key(tmp_path, public_pem(private), clock).identify(token) == Identity(False, kind)
    only = with_key(tmp_path, public_pem(private), clock, algorithms=[algorithm])
    assert only.identify(token) == Identity(False, kind)
    assert only.algorithms == (algorithm,) and with_key(tmp_path, public_pem(private)).algorithms == fitting


@pytest.mark.parametrize("kind", KEYS)
def test_a_certificate_carries_the_key(tmp_path: Path, clock: Time, kind: str) -> None:
    private, fitting = KEYS["RSA"]
    leaf = KEYS[kind][0]
    if kind in ("Ed25519", "Ed448"):
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leaf")])
        since = datetime.datetime(2020, 1, 1)
        built = x509.CertificateBuilder(name, name, leaf.public_key(), 7, since, since.replace(year=2040))
        first = built.sign(private, hashes.SHA256()).public_bytes(Encoding.PEM)
    else:
        first = certificate(leaf)
    chain = with_key(tmp_path, first + certificate(private), clock)
    token = jwt.encode({"exp": NOW + 1, "prefix": "a"}, leaf, KEYS[kind][1][0])
    assert chain.identify(token) == Identity(False, "a")


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_a_token_of_a_secret_holds(clock: Time, algorithm: str) -> None:
    token = jwt.encode({"exp": NOW + 1, "prefix": ""}, SECRET, algorithm)
    assert with_secret(clock).identify(token).unrestricted
    assert with_secret(clock, algorithms=algorithm).identify(token).unrestricted


def test_a_secret_fits_the_hashes_that_are_not_longer(clock: Time) -> None:
    assert Authenticator(AuthSettings(secret="x" * 32)).algorithms == ("HS256",)
    assert Authenticator(AuthSettings(secret="x" * 48)).algorithms == ("HS256", "HS384")
    assert Authenticator(AuthSettings(secret="é" * 32)).algorithms == ("HS256", "HS384", "HS512")
    with pytest.raises(ValueError, match=r"algorithm 'HS512' does not fit the key, which takes HS256$"):
        Authenticator(AuthSettings(secret="x" * 32, algorithms=["HS512"]))


@pytest.mark.parametrize("algorithm", ["RS384", "PS256", "PS512"])
def test_another_fitting_algorithm_is_refused_where_one_is_named(tmp_path: Path, algorithm: str) -> None:
    private, _ = KEYS["RSA"]
    token = jwt.encode({"exp": NOW + 1, "prefix": "a"}, private, algorithm)
    assert (
        refusal(with_key(tmp_path, public_pem(private), algorithms="RS256"), token)
        == "the algorithm is not among the accepted ones"
    )


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("name", ["none", "None", "HS256", "ES256K", "rs256", "nonsense", ""])
def test_an_algorithm_that_does_not_fit_is_named(tmp_path: Path, kind: str, name: str) -> None:
    with pytest.raises(ValueError, match=f"algorithm '{name}' does not fit the key, which takes {KEYS[kind][1][0]}"):
        with_key(tmp_path, public_pem(KEYS[kind][0]), algorithms=[KEYS[kind][1][0], name])


@pytest.mark.parametrize("name", ["none", "RS256", "EdDSA", "hs256"])
def test_an_algorithm_that_does_not_fit_a_secret_is_named(clock: Time, name: str) -> None:
    with pytest.raises(ValueError, match=f"algorithm '{name}' does not fit the key, which takes HS256, HS384, HS512"):
        with_secret(clock, algorithms=[name])


@pytest.mark.parametrize("kind", KEYS)
def test_a_private_key_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    private, _ = KEYS[kind]
    shapes = [PrivateFormat.PKCS8] + ([PrivateFormat.TraditionalOpenSSL] if kind[0] in "RP" else [])
    for shape in shapes:
        pem = private_pem(private, shape)
        with pytest.raises(ValueError, match=r"key\.pem' holds a private key: .* the public one") as raised:
            with_key(tmp_path, public_pem(private) + pem)
        assert pem.splitlines()[1].decode() not in str(raised.value)


@pytest.mark.parametrize(
    ("held", "rule"),
    [
        (b"", "holds no PEM block: one public key, or a certificate chain, is expected"),
        (b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ5x me@here\n", "holds no PEM block"),
        (public_pem(KEYS["RSA"][0]) + public_pem(KEYS["P-256"][0]), "holds PUBLIC KEY, PUBLIC KEY: one public key"),
        (certificate(KEYS["RSA"][0]) + public_pem(KEYS["RSA"][0]), "holds CERTIFICATE, PUBLIC KEY: one public key"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "holds a PUBLIC KEY that cannot be read"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "holds a CERTIFICATE that cannot be read"),
        (b"-----BEGIN SOMETHING-----\nAAAA\n-----END SOMETHING-----\n", "holds a SOMETHING that cannot be read"),
        (public_pem(x25519.X25519PrivateKey.generate()), "holds a X25519PublicKey: RSA, EC or Ed25519 is expected"),
        (public_pem(dsa.generate_private_key(1024)), "holds a DSAPublicKey: RSA, EC or Ed25519 is expected"),
        (public_pem(ec.generate_private_key(ec.SECP256K1())), "of the curve secp256k1: P-256, P-384 or P-521 is expected"),
        (public_pem(rsa.generate_private_key(65537, 1024)), "an RSA key of 1024 bits: 2048 is the least"),
    ],
)
def test_a_key_that_cannot_be_used_is_refused_by_its_rule(tmp_path: Path, held: bytes, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        with_key(tmp_path, held)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.pem"):
        Authenticator(AuthSettings(public_key=tmp_path / "nowhere.pem"))


def test_without_a_key_there_is_nothing_to_check_with() -> None:
    with pytest.raises(ValueError, match="neither public_key nor secret is set"):
        Authenticator(AuthSettings())


@pytest.mark.parametrize("secret", [public_pem(KEYS["RSA"][0]).decode(), certificate(KEYS["P-256"][0]).decode()])
def test_a_secret_that_everybody_may_read_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="secret is a public key, certificate or JWK"):
        Authenticator(AuthSettings(secret=secret))


# Claims


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({}, Identity(False, None)),
        ({"prefix": "a"}, Identity(False, "a")),
        ({"prefix": ""}, Identity(False, "")),
        ({"prefix": None}, Identity(False, None)),
        ({"prefix": 7}, Identity(False, None)),
        ({"prefix": ["a"]}, Identity(False, None)),
        ({"prefix": {}}, Identity(False, None)),
        ({"prefix": True}, Identity(False, None)),
        ({"prefix": "ä\u0000€"}, Identity(False, "ä\u0000€")),
        ({"role": "admin"}, Identity(True, None)),
        ({"role": "aDMIN", "prefix": "a"}, Identity(True, "a")),
        ({"role": " admin"}, Identity(False, None)),
        ({"role": "administrator"}, Identity(False, None)),
        ({"role": "admın"}, Identity(False, None)),
        ({"role": ["admin"]}, Identity(False, None)),
        ({"role": True}, Identity(False, None)),
        ({"roles": "admin"}, Identity(False, None)),
        ({"sub": 7, "jti": ["x"]}, Identity(False, None)),
    ],
)
def test_claims_say_who_it_is(clock: Time, claims: dict[str, Any], expected: Identity) -> None:
    assert with_secret(clock).identify(by_hand({"alg": "HS256"}, {"exp": NOW + 1, **claims})) == expected


@pytest.mark.parametrize(
    ("identity", "ids", "allowed"),
    [
        (Identity(True, None), ["x", ""], True),
        (Identity(True, "a"), ["x"], True),
        (Identity(False, ""), ["x", ""], True),
        (Identity(False, None), [], False),
        (Identity(False, None), ["x"], False),
        (Identity(False, "a"), [], True),
        (Identity(False, "a"), ["a", "ab", "a.b"], True),
        (Identity(False, "a"), ["a", "b"], False),
        (Identity(False, "a"), [""], False),
        (Identity(False, "a"), ["A"], False),
        (Identity(False, "ab"), ["a"], False),
        (Identity(False, "é"), ["e\u0301"], False),
    ],
)
def test_what_an_identity_may_touch(identity: Identity, ids: list[str], allowed: bool) -> None:
    assert identity.may_touch(ids) is allowed
    assert identity.may_touch(iter(ids)) is allowed
    assert identity.unrestricted is (identity.admin or identity.prefix == "")


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": NOW - 60}, "expired"),
        ({"exp": 0}, "expired"),
        ({"exp": -(10**400)}, "expired"),
        ({"exp": None}, "a claim is missing that is asked for: exp, iss or aud"),
        ({"exp": str(NOW + 100)}, "its exp is not a number of seconds"),
        ({"exp": True}, "its exp is not a number of seconds"),
        ({"exp": [NOW + 100]}, "its exp is not a number of seconds"),
        ({"exp": math.inf}, "its exp is not a number of seconds"),
        ({"exp": math.nan}, "its exp is not a number of seconds"),
        ({"nbf": NOW + 61}, "not valid yet: its nbf is in the future"),
        ({"nbf": 10**400}, "not valid yet: its nbf is in the future"),
        ({"nbf": None}, "its nbf is not a number of seconds"),
        ({"nbf": math.inf}, "its nbf is not a number of seconds"),
        ({"iat": NOW + 61}, "not valid yet: its iat is in the future"),
        ({"iat": "yesterday"}, "its iat is not a number of seconds"),
    ],
)
def test_a_token_is_valid_in_its_time_only(clock: Time, claims: dict[str, Any], why: str) -> None:
    assert refusal(with_secret(clock), by_hand({"alg": "HS256"}, {"exp": NOW + 100, "prefix": "", **claims})) == why


def test_exp_is_mandatory(clock: Time) -> None:
    assert "missing" in refusal(with_secret(clock), by_hand({"alg": "HS256"}, {"prefix": "", "role": "admin"}))


@pytest.mark.parametrize(
    "claims", [{"exp": NOW - 59}, {"exp": 10**400}, {"exp": NOW + 0.5}, {"nbf": NOW + 60}, {"iat": NOW + 60}, {"iat": 0, "nbf": -5}]
)
def test_clocks_may_differ_by_the_leeway(clock: Time, claims: dict[str, Any]) -> None:
    assert with_secret(clock).identify(by_hand({"alg": "HS256"}, {"exp": NOW + 100, "prefix": "a", **claims})).prefix == "a"


def test_without_leeway_a_token_ends_on_the_second(clock: Time) -> None:
    authenticator = with_secret(clock, leeway=0)
    token = signed({"exp": NOW + 1, "nbf": NOW})
    authenticator.identify(token)
    clock.now = NOW + 0.999
    authenticator.identify(token)
    clock.now = NOW + 1
    assert refusal(authenticator, token) == "expired"
    clock.now = NOW - 1
    assert "nbf" in refusal(with_secret(clock, leeway=0), token)


@pytest.mark.parametrize(
    ("claim", "holds"),
    [("me", True), ("you", False), ("Me", False), ("m", False), (["me"], False), (None, False), (7, False), (..., False)],
)
def test_the_issuer_is_the_one_that_is_asked_for(clock: Time, claim: Any, holds: bool) -> None:
    token = by_hand({"alg": "HS256"}, {"exp": NOW + 1, **({} if claim is ... else {"iss": claim})})
    with_secret(clock).identify(token)  # where no issuer is asked for, anything will do
    if holds:
        with_secret(clock, issuer="me").identify(token)
    else:
        assert refusal(with_secret(clock, issuer="me"), token)


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ("one", True), ("two", True), (["two"], True), (["x", "one"], True), ("three", False), ("on", False), ([], False), ("", False),
        (["x"], False), (None, False), ({"one": 1}, False), (["one", 7], False), (7, False), (..., False),
    ],
)  # fmt: skip
def test_the_audience_is_among_those_that_are_asked_for(clock: Time, claim: Any, holds: bool) -> None:
    token = by_hand({"alg": "HS256"}, {"exp": NOW + 1, **({} if claim is ... else {"aud": claim})})
    with_secret(clock).identify(token)  # where no audience is asked for, any shape will do
    if holds:
        with_secret(clock, audience="one, two").identify(token)
    else:
        assert refusal(with_secret(clock, audience="one, two"), token)


# Tokens that want to be what they are not


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
)
def test_what_is_not_a_token_is_unauthorized(clock: Time, token: str | None) -> None:
    assert refusal(with_secret(clock), token)


def test_a_good_token_is_spelled_in_one_way_only(clock: Time) -> None:
    authenticator, token = with_secret(clock), signed({"prefix": "a"})
    assert authenticator.identify(token)
    header, payload, signature = token.split(".")
    others = [f" {token}", f"{token} ", f"{token}\n", f"{token}\x00", f"{token}=", f"{token}.", f"{token}.x", f"Bearer {token}", f"{header}.{payload}.",
              f"{header}.{payload}", f"{header}=.{payload}.{signature}", f"{header}.{payload}!.{signature}", f"{header}.{payload}.{signature[:-2]}",
              f"{header}.{payload}.{signature.swapcase()}", f"{header}..{signature}"]  # fmt: skip
    for other in others:
        assert refusal(authenticator, other)


def test_a_token_of_the_longest_length_holds_and_a_longer_one_does_not(clock: Time) -> None:
    def of_length(length: int) -> str:
        size = 3
        while True:
            token = by_hand({"alg": "HS256"}, {"exp": NOW + 1, "prefix": "a", "x": "y" * size})
            if len(token) >= length:
                return token
            size += max(1, (length - len(token)) * 3 // 4 - 2)

    token = of_length(16_380)
    assert len(token) <= 16_384 and with_secret(clock).identify(token).prefix == "a"
    assert refusal(with_secret(clock), of_length(16_385)).endswith("16384 are the limit")


@pytest.mark.parametrize("kind", KEYS)
def test_a_public_key_is_no_secret(tmp_path: Path, clock: Time, kind: str) -> None:
    """The confusion of algorithms: the public key, which everybody knows, used as a secret."""
    private, fitting = KEYS[kind]
    pem = public_pem(private)
    authenticator = with_key(tmp_path, pem, clock)
    der = private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    for known in (pem, pem.strip(), der):
        for alg in ("HS256", *fitting):
            assert refusal(authenticator, by_hand({"alg": alg, "typ": "JWT"}, {"exp": NOW + 1, "role": "admin"}, known))


@pytest.mark.parametrize(
    "alg", ["none", "None", "NONE", "nOnE", "", None, 0, [], ["HS256"], {}, "HS256 ", "hs256", "HS257", "x" * 1000, True]
)
def test_no_signature_and_no_known_algorithm_is_unauthorized(clock: Time, alg: Any) -> None:
    payload = {"exp": NOW + 1, "role": "admin"}
    authenticator = with_secret(clock)
    assert refusal(authenticator, by_hand({"alg": alg}, payload))
    assert refusal(authenticator, f"{encoded({'alg': alg})}.{encoded(payload)}.")
    assert refusal(authenticator, f"{encoded({'alg': alg})}.{encoded(payload)}.AA")


def test_a_header_without_an_algorithm_is_unauthorized(clock: Time) -> None:
    assert refusal(with_secret(clock), by_hand({"typ": "JWT"}, {"exp": NOW + 1}))


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
@pytest.mark.parametrize("signature", [b"\x00", b"\x00" * 64, b"\xff" * 96, b"\x00" * 132, b"\x00" * 256, b"0" * 114])
def test_a_hollow_signature_is_unauthorized(tmp_path: Path, kind: str, signature: bytes) -> None:
    """Zeros were once taken as a signature by several ECDSA verifiers."""
    private, fitting = KEYS[kind]
    token = f"{encoded({'alg': fitting[0]})}.{encoded({'exp': NOW + 1, 'role': 'admin'})}.{encoded(signature)}"
    assert refusal(with_key(tmp_path, public_pem(private)), token) == "the signature does not fit the key"


def test_a_header_cannot_bring_its_own_key(tmp_path: Path, clock: Time) -> None:
    private, _ = KEYS["RSA"]
    attacker = rsa.generate_private_key(65537, 2048)
    numbers = attacker.public_key().public_numbers()
    own = {"kty": "RSA", "alg": "RS256", "n": encoded(numbers.n.to_bytes(256, "big")), "e": "AQAB", "kid": "mine"}
    authenticator = with_key(tmp_path, public_pem(private), clock)
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
        {"alg": "HS256", "kid": 7},
        ["HS256"],
        "HS256",
        7,
        None,
        b"",
        b"\xff\xfe",
        b'{"alg":"HS256"',
        b"[" * 5000,
    ],
)
def test_a_header_that_is_not_understood_is_unauthorized(clock: Time, header: Any) -> None:
    assert refusal(with_secret(clock), by_hand(header, {"exp": NOW + 1, "role": "admin"}))


@pytest.mark.parametrize(
    "payload", [[], "x", 7, None, b"", b"\xff", b'{"exp":', b"[" * 5000, b'{"a":' * 2000, b'{"exp":1' + b"0" * 5000 + b"}"]
)
def test_a_signed_payload_that_is_no_object_is_unauthorized(clock: Time, payload: Any) -> None:
    assert refusal(with_secret(clock), by_hand({"alg": "HS256"}, payload))


PROPERTY = {name: Authenticator(AuthSettings(secret=SECRET), clock=Time()) for name in ("HS256",)}
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
        PROPERTY["HS256"].identify(token)


@hypothesis_settings(deadline=None, max_examples=300, print_blob=True)
@given(st.builds(by_hand, HEADER, CLAIMS | JSON))
def test_whatever_is_signed_is_an_identity_or_unauthorized(token: str) -> None:
    try:
        identity = PROPERTY["HS256"].identify(token)
    except Unauthorized:
        return
    claims = jwt.decode(token, options={"verify_signature": False})
    assert identity.prefix == (claims.get("prefix") if isinstance(claims.get("prefix"), str) else None)
    assert isinstance(claims["exp"], int | float) and claims["exp"] > NOW - 60


# Remembering


def test_a_token_that_held_is_not_verified_again_until_it_expires(clock: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    authenticator, token = with_secret(clock), signed({"prefix": "a"})
    verified = []
    real = jwt.decode_complete
    monkeypatch.setattr(jwt, "decode_complete", lambda *a, **k: verified.append(1) or real(*a, **k))
    for _ in range(5):
        assert authenticator.identify(token).prefix == "a"
    assert len(verified) == 1
    clock.now = NOW + 160
    for _ in range(2):
        assert refusal(authenticator, token) == "expired"
    assert not authenticator._known


def test_what_did_not_hold_is_not_remembered(clock: Time) -> None:
    authenticator = with_secret(clock)
    token = signed({"nbf": NOW + 100, "exp": NOW + 200})
    assert "nbf" in refusal(authenticator, token)
    assert refusal(authenticator, token + "x") and not authenticator._known
    clock.now = NOW + 100
    authenticator.identify(token)


def test_memory_is_bounded_and_keeps_what_was_used_last(clock: Time) -> None:
    authenticator = Authenticator(AuthSettings(secret=SECRET), clock=clock, remember=3)
    tokens = [signed({"prefix": str(i)}) for i in range(4)]
    for i in (0, 1, 2, 0, 3):
        assert authenticator.identify(tokens[i]).prefix == str(i)
    kept = {known.identity.prefix for known in authenticator._known.values()}
    assert kept == {"2", "0", "3"}
    assert authenticator.identify(tokens[1]).prefix == "1" and len(authenticator._known) == 3


def test_nothing_that_is_kept_shows_a_token(clock: Time, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    authenticator, token = with_secret(clock), signed({"prefix": "a"})
    authenticator.identify(token)
    refusal(authenticator, token[:-3] + "AAA")
    shown = caplog.text + repr(authenticator._known) + repr(authenticator)
    assert all(part not in shown for part in token.split(".")) and SECRET not in shown


def test_many_threads_may_ask_at_once(clock: Time) -> None:
    authenticator = Authenticator(AuthSettings(secret=SECRET), clock=clock, remember=2)
    tokens = [signed({"prefix": str(i)}) for i in range(6)]
    wrong: list[Any] = []

    def ask(start: int) -> None:
        try:
            for turn in range(300):
                i = (start + turn) % 6
                if authenticator.identify(tokens[i]).prefix != str(i):
                    wrong.append(i)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and len(authenticator._known) == 2


# The header


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Bearer a.b.c", "a.b.c"),
        ("bearer a.b.c", "a.b.c"),
        ("BEARER  a.b.c", "a.b.c"),
        (" Bearer a.b.c\t", "a.b.c"),
        ("Bearer abc==", "abc=="),
        (None, None),
        ("", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("Bearera.b.c", None),
        ("Bearer\ta.b.c", None),
        ("Bearer a b", None),
        ("Bearer a.b.c, Bearer d.e.f", None),
        ("Bearer a.b.c\n", None),
        ("Bearer a\x00b", None),
        ("Bearer é", None),
        ("Bearer ſ", None),
        ("Basic dXNlcjpwYXNz", None),
        ("a.b.c", None),
        ("Bearer " + "x" * 20_000, None),
    ],
)
def test_the_header_holds_one_bearer_token_or_none(header: str | None, token: str | None) -> None:
    assert bearer(header) == token


@hypothesis_settings(deadline=None, max_examples=200, print_blob=True)
@given(st.text())
def test_any_header_gives_a_token_or_none(header: str) -> None:
    found = bearer(header)
    assert found is None or (found.isascii() and " " not in found)
