"""Tokens: which are accepted, and the rights that they give."""

from __future__ import annotations

import datetime
import logging
import math
import threading
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import dsa, ec, rsa, x25519
from cryptography.hazmat.primitives.serialization import Encoding, PrivateFormat
from cryptography.x509.oid import NameOID
from hypothesis import given, settings as hypothesis_settings, strategies as st

from resonate_core.server.auth import Authenticator, Identity, bearer
from resonate_core.server.settings import AuthSettings
from server.tokens import (
    KEY_AND_ALGORITHM,
    KEYS,
    NOW,
    SECRET,
    by_hand,
    certificate,
    clock_at,
    private_pem,
    public_pem,
    refusal,
    signed,
    with_key,
    with_secret,
)

# Keys and algorithms


@pytest.mark.parametrize(("kind", "algorithm"), KEY_AND_ALGORITHM)
def test_a_token_of_each_fitting_algorithm_holds(tmp_path: Path, kind: str, algorithm: str) -> None:
    private, fitting = KEYS[kind]
    token = jwt.encode({"exp": NOW + 1, "prefix": kind}, private, algorithm)
    assert with_key(tmp_path, public_pem(private)).identify(token) == Identity(False, kind)
    only = with_key(tmp_path, public_pem(private), algorithms=[algorithm])
    assert only.identify(token) == Identity(False, kind)
    assert only.algorithms == (algorithm,) and with_key(tmp_path, public_pem(private)).algorithms == fitting


@pytest.mark.parametrize("kind", KEYS)
def test_a_certificate_carries_the_key(tmp_path: Path, kind: str) -> None:
    private, fitting = KEYS["RSA"]
    leaf = KEYS[kind][0]
    if kind in ("Ed25519", "Ed448"):
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "leaf")])
        since = datetime.datetime(2020, 1, 1)
        built = x509.CertificateBuilder(name, name, leaf.public_key(), 7, since, since.replace(year=2040))
        first = built.sign(private, hashes.SHA256()).public_bytes(Encoding.PEM)
    else:
        first = certificate(leaf)
    chain = with_key(tmp_path, first + certificate(private))
    token = jwt.encode({"exp": NOW + 1, "prefix": "a"}, leaf, KEYS[kind][1][0])
    assert chain.identify(token) == Identity(False, "a")


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_a_token_of_a_secret_holds(algorithm: str) -> None:
    token = jwt.encode({"exp": NOW + 1, "prefix": ""}, SECRET, algorithm)
    assert with_secret().identify(token).unrestricted
    assert with_secret(algorithms=algorithm).identify(token).unrestricted


def test_a_secret_fits_the_hashes_that_are_not_longer() -> None:
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
def test_an_algorithm_that_does_not_fit_a_secret_is_named(name: str) -> None:
    with pytest.raises(ValueError, match=f"algorithm '{name}' does not fit the key, which takes HS256, HS384, HS512"):
        with_secret(algorithms=[name])


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
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_key_that_cannot_be_used_is_refused_by_its_rule(tmp_path: Path, held: bytes, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        with_key(tmp_path, held)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"public_key .*nowhere\.pem. cannot be read: No such file"):
        Authenticator(AuthSettings(public_key=tmp_path / "nowhere.pem"))


def test_without_a_key_there_is_nothing_to_check_with() -> None:
    with pytest.raises(ValueError, match="public_key or secret must be set"):
        Authenticator(AuthSettings())


@pytest.mark.parametrize(
    "secret", [public_pem(KEYS["RSA"][0]).decode(), certificate(KEYS["P-256"][0]).decode()], ids=["key", "certificate"]
)
def test_a_secret_that_everybody_may_read_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="secret must not be a public key, certificate or JWK"):
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
        ({"role": "aDMIN"}, Identity(True, None)),
        ({"role": "aDMIN", "prefix": "a"}, Identity(False, None)),
        ({"role": " admin"}, Identity(False, None)),
        ({"role": "administrator"}, Identity(False, None, dashboard="none")),
        ({"role": "admın"}, Identity(False, None, dashboard="none")),
        ({"role": ["admin"]}, Identity(False, None)),
        ({"role": True}, Identity(False, None)),
        ({"roles": "admin"}, Identity(False, None)),
        ({"sub": 7, "jti": ["x"]}, Identity(False, None)),
    ],
)
def test_claims_say_who_it_is(claims: dict[str, Any], expected: Identity) -> None:
    assert with_secret().identify(by_hand({"alg": "HS256"}, {"exp": NOW + 1, **claims})) == expected


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
def test_a_token_is_valid_in_its_time_only(claims: dict[str, Any], why: str) -> None:
    assert refusal(with_secret(), by_hand({"alg": "HS256"}, {"exp": NOW + 100, "prefix": "", **claims})) == why


def test_exp_is_mandatory() -> None:
    assert "missing" in refusal(with_secret(), by_hand({"alg": "HS256"}, {"prefix": "", "role": "admin"}))


@pytest.mark.parametrize(
    "claims", [{"exp": NOW - 59}, {"exp": 10**400}, {"exp": NOW + 0.5}, {"nbf": NOW + 60}, {"iat": NOW + 60}, {"iat": 0, "nbf": -5}]
)
def test_clocks_may_differ_by_the_leeway(claims: dict[str, Any]) -> None:
    assert with_secret().identify(by_hand({"alg": "HS256"}, {"exp": NOW + 100, "prefix": "a", **claims})).prefix == "a"


def test_without_leeway_a_token_ends_on_the_second() -> None:
    clock = clock_at()
    authenticator = with_secret(clock, leeway=0)
    token = signed({"exp": NOW + 1, "nbf": NOW})
    authenticator.identify(token)
    clock.advance_to(1_700_000_000_999)
    authenticator.identify(token)
    clock.advance_to(1_700_000_001_000)
    assert refusal(authenticator, token) == "expired"
    assert "nbf" in refusal(with_secret(clock_at(NOW - 1), leeway=0), token)


@pytest.mark.parametrize(
    ("claim", "holds"),
    [("me", True), ("you", False), ("Me", False), ("m", False), (["me"], False), (None, False), (7, False), (..., False)],
)
def test_the_issuer_is_the_one_that_is_asked_for(claim: Any, holds: bool) -> None:
    token = by_hand({"alg": "HS256"}, {"exp": NOW + 1, **({} if claim is ... else {"iss": claim})})
    with_secret().identify(token)  # without `issuer`, any claim is accepted
    if holds:
        with_secret(issuer="me").identify(token)
    else:
        assert refusal(with_secret(issuer="me"), token)


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ("one", True), ("two", True), (["two"], True), (["x", "one"], True), ("three", False), ("on", False), ([], False), ("", False),
        (["x"], False), (None, False), ({"one": 1}, False), (["one", 7], False), (7, False), (..., False),
    ],
)  # fmt: skip
def test_the_audience_is_among_those_that_are_asked_for(claim: Any, holds: bool) -> None:
    token = by_hand({"alg": "HS256"}, {"exp": NOW + 1, **({} if claim is ... else {"aud": claim})})
    with_secret().identify(token)  # without `audience`, any claim is accepted
    if holds:
        with_secret(audience="one, two").identify(token)
    else:
        assert refusal(with_secret(audience="one, two"), token)


# Remembering


def test_a_token_that_held_is_not_verified_again_until_it_expires(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = clock_at()
    authenticator, token = with_secret(clock), signed({"prefix": "a"})
    verified = []
    real = jwt.decode_complete
    monkeypatch.setattr(jwt, "decode_complete", lambda *a, **k: verified.append(1) or real(*a, **k))
    for _ in range(5):
        assert authenticator.identify(token).prefix == "a"
    assert len(verified) == 1
    clock.advance_to(1_700_000_160_000)
    for _ in range(2):
        assert refusal(authenticator, token) == "expired"
    assert not authenticator._known


def test_what_did_not_hold_is_not_remembered() -> None:
    clock = clock_at()
    authenticator = with_secret(clock)
    token = signed({"nbf": NOW + 100, "exp": NOW + 200})
    assert "nbf" in refusal(authenticator, token)
    assert refusal(authenticator, token + "x") and not authenticator._known
    clock.advance_to(1_700_000_100_000)
    authenticator.identify(token)


def test_memory_is_bounded_and_keeps_what_was_used_last() -> None:
    authenticator = Authenticator(AuthSettings(secret=SECRET), clock=clock_at(), remember=3)
    tokens = [signed({"prefix": str(i)}) for i in range(4)]
    for i in (0, 1, 2, 0, 3):
        assert authenticator.identify(tokens[i]).prefix == str(i)
    kept = {known.identity.prefix for known in authenticator._known.values()}
    assert kept == {"2", "0", "3"}
    assert authenticator.identify(tokens[1]).prefix == "1" and len(authenticator._known) == 3


def test_nothing_that_is_kept_shows_a_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    authenticator, token = with_secret(), signed({"prefix": "a"})
    authenticator.identify(token)
    refusal(authenticator, token[:-3] + "AAA")
    shown = caplog.text + repr(authenticator._known) + repr(authenticator)
    assert all(part not in shown for part in token.split(".")) and SECRET not in shown


def test_many_threads_may_ask_at_once() -> None:
    authenticator = Authenticator(AuthSettings(secret=SECRET), clock=clock_at(), remember=2)
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
