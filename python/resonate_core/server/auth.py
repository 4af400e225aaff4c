"""Authentication by bearer tokens: JWTs that are verified with one key, and the permissions of their bearers."""

from __future__ import annotations

import hashlib
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jwt
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from resonate_core._core import Clock, SystemClock
from resonate_core.base.files import read_setting
from resonate_core.base.globs import Globs
from resonate_core.ui.principal import SHARED_QUEUE

if TYPE_CHECKING:
    from jwt.types import Options

    from .settings import AuthSettings

__all__ = ["Authenticator", "Identity", "Unauthorized", "bearer"]

LONGEST_TOKEN = 16_384
REMEMBERED_TOKENS = 4096
SMALLEST_RSA_KEY = 2048

_Key = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey | ed448.Ed448PublicKey

_CURVES = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_SECRET_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}

# A compact JWS only: without padding, white space and other characters that a lenient base64 decoder skips.
_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
# Without re.ASCII the letters of IGNORECASE take in "ſ" and the Kelvin sign.
_BEARER = re.compile(r"[ \t]*bearer +([A-Za-z0-9._~+/-]+=*)[ \t]*", re.IGNORECASE | re.ASCII)
_PEM_LABEL = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----")

# The reasons in the log. The library's own texts may quote the token.
_WHY: tuple[tuple[type[Exception], str], ...] = (
    (jwt.InvalidSignatureError, "the signature does not fit the key"),
    (jwt.InvalidAlgorithmError, "the algorithm is not among the accepted ones"),
    (jwt.InvalidIssuerError, "another issuer"),
    (jwt.InvalidAudienceError, "another audience"),
    (jwt.MissingRequiredClaimError, "a claim is missing that is asked for: exp, iss or aud"),
)


class Unauthorized(Exception):
    """A token is missing or invalid: 401.

    Its text gives the reason, for the server's debug log only. The text never holds the token.
    """


@dataclass(frozen=True)
class Identity:
    """The permissions of the bearer of a verified token.

    Attributes:
        admin: The claim ``role`` is "admin": every request is permitted, debug operations too.
        prefix: The claim ``prefix``: ids and queues that start with it; "" for all, None (no such claim) for none.
        queues: The claim ``queues``: further queues that may be used, by name or by a pattern with ``*``.
        dashboard: The role in the dashboard: "read" or "operate" if the claim ``role`` is that, "none" if it is another word; None without
            the claim, and for "admin".
        name: The claim ``sub``.
        issuer: The claim ``iss``.
        broken: A claim that breaks its rule, such as a ``prefix`` that is no text: the token permits nothing.

    Example:
        >>> from resonate_core.server.auth import Identity
        >>> Identity(admin=False, prefix="shop.").may_touch(["shop.1", "shop.2"])
        True
        >>> Identity(admin=False, prefix="shop.").may_touch(["shop.1", "bank.1"])
        False
    """

    admin: bool
    prefix: str | None
    queues: tuple[str, ...] = ()
    dashboard: str | None = field(default=None, repr=False)
    name: str | None = field(default=None, repr=False, compare=False)
    issuer: str | None = field(default=None, repr=False, compare=False)
    broken: str | None = field(default=None, repr=False, compare=False)

    @property
    def for_people(self) -> bool:
        """Whether the token is one for the dashboard, which permits nothing else."""
        return self.dashboard in ("read", "operate")

    @property
    def unrestricted(self) -> bool:
        """Whether all ids are permitted, and so operations over all ids, such as searches."""
        return self.admin or self.prefix == ""

    def may_touch(self, ids: Iterable[str]) -> bool:
        """Return whether all of these ids are permitted.

        Without ids: whether any id could be. A request that lacks its id is then refused for that reason.
        """
        if self.unrestricted:
            return True
        prefix = self.prefix
        return prefix is not None and all(id.startswith(prefix) for id in ids)

    def may_use(self, queues: Iterable[str]) -> bool:
        """Return whether the bearer may enqueue into all of these queues, claim from them, and search them for permitted jobs.

        Queues that begin with the prefix are permitted, and ``default`` is permitted to every bearer.

        Example:
            >>> from resonate_core.server.auth import Identity
            >>> Identity(admin=False, prefix="shop.", queues=("mail", "batch-*")).may_use(["shop.mail", "default", "batch-7"])
            True
            >>> Identity(admin=False, prefix="shop.").may_use(["bank.mail"])
            False
        """
        return self.unrestricted or all(
            self.may_touch([queue]) or queue == SHARED_QUEUE or Globs(self.queues).match(queue) for queue in queues
        )


def bearer(header: str | None) -> str | None:
    """Return the token of an ``Authorization`` header; None if the header is not exactly one bearer token.

    A header of another scheme is ignored: it neither counts as a token nor replaces the token in the head of the request.

    Example:
        >>> from resonate_core.server.auth import bearer
        >>> bearer("Bearer abc.def.ghi"), bearer("Basic dTpw"), bearer("Bearer a b"), bearer(None)
        ('abc.def.ghi', None, None, None)
    """
    if header is None or len(header) > LONGEST_TOKEN + 64:
        return None
    found = _BEARER.fullmatch(header)
    return None if found is None else found[1]


class _Remembered(NamedTuple):
    identity: Identity
    expires: int | float


class Authenticator:
    """Verifies tokens. Any thread may call it.

    The algorithms follow from the key, never from the token: a token's ``alg`` is only compared with them, and ``kid``,
    ``jku``, ``jwk``, ``x5u`` and ``x5c`` are ignored. A valid token is remembered by its SHA-256 digest until it expires, because
    verifying a signature takes many times as long as a look-up.

    Args:
        settings: The key, and the requirements beside the signature.
        clock: The clock for the times in tokens; by default the system's.
        remember: The maximum number of remembered tokens; the least recently used are forgotten first.

    Raises:
        ValueError: There is no key, it is not a public key, it is too weak, or an algorithm does not fit it.
        OSError: The key's file cannot be read.

    Example:
        >>> import jwt
        >>> import resonate_core as rc
        >>> from resonate_core.server.auth import Authenticator
        >>> from resonate_core.server.settings import AuthSettings
        >>> secret = "a secret of thirty-two bytes, or more"
        >>> authenticator = Authenticator(AuthSettings(secret=secret), clock=rc.ManualClock(start=1_000_000))
        >>> authenticator.identify(jwt.encode({"exp": 2000, "prefix": "shop."}, secret, "HS256"))
        Identity(admin=False, prefix='shop.', queues=())
        >>> authenticator.identify(jwt.encode({"exp": 500, "prefix": "shop."}, secret, "HS256"))
        Traceback (most recent call last):
            ...
        resonate_core.server.auth.Unauthorized: expired
    """

    def __init__(self, settings: AuthSettings, *, clock: Clock | None = None, remember: int = REMEMBERED_TOKENS) -> None:
        self._key, fitting = _key_and_algorithms(settings)
        for name in settings.algorithms:
            if name not in fitting:
                raise ValueError(f"algorithm {name!r} does not fit the key, which takes {', '.join(fitting)}")
        self.algorithms: tuple[str, ...] = tuple(settings.algorithms) or fitting
        # In a list: PyJWT 2.10.0 looks for the token's issuer within a text, so that "m" would pass for "me".
        self._issuer = None if settings.issuer is None else [settings.issuer]
        self._audience = list(settings.audience) or None
        self._leeway = settings.leeway
        self._clock = clock if clock is not None else SystemClock()
        self._remember = remember
        self._known: OrderedDict[bytes, _Remembered] = OrderedDict()
        self._lock = threading.Lock()

    def identify(self, token: str | None) -> Identity:
        """Return the identity of a token.

        Raises:
            Unauthorized: It is missing, malformed, not signed with the key, not valid now, or has another audience.
        """
        if not isinstance(token, str) or not token:
            raise Unauthorized("no token")
        if len(token) > LONGEST_TOKEN:
            raise Unauthorized(f"a token of {len(token)} characters; {LONGEST_TOKEN} are the limit")
        if _COMPACT.fullmatch(token) is None:
            raise Unauthorized("not a JWT")
        digest = hashlib.sha256(token.encode()).digest()
        now = self._clock.now / 1000
        known = self._recall(digest)
        if known is None:
            claims = self._verified(token)
            known = _Remembered(_identity(claims), self._checked_times(claims, now))
            self._keep(digest, known)
        elif self._is_over(known.expires, now):
            self._forget(digest)
            raise Unauthorized("expired")
        return known.identity

    def _verified(self, token: str) -> dict[str, Any]:
        """Verify a token, except for its times, which follow this object's clock."""
        options: Options = {
            "verify_signature": True,
            "verify_exp": False,
            "verify_nbf": False,
            "verify_iat": False,
            "verify_sub": False,
            "verify_jti": False,
            "verify_iss": self._issuer is not None,
            "verify_aud": self._audience is not None,
            "require": ["exp"],
        }
        try:
            whole = jwt.decode_complete(
                token, self._key, algorithms=list(self.algorithms), options=options, audience=self._audience, issuer=self._issuer
            )
        except Exception as error:  # any error of the library refuses the token
            why = next((text for kind, text in _WHY if isinstance(error, kind)), f"malformed ({type(error).__name__})")
            raise Unauthorized(why) from None
        if "crit" in whole["header"]:
            raise Unauthorized("an extension is marked critical, and no extension is supported")
        claims: dict[str, Any] = whole["payload"]
        return claims

    def _checked_times(self, claims: Mapping[str, Any], now: float) -> int | float:
        """Check the times; return when the token expires."""
        expires = _instant(claims, "exp")
        if self._is_over(expires, now):
            raise Unauthorized("expired")
        for name in ("nbf", "iat"):
            if name in claims and _instant(claims, name) > now + self._leeway:
                raise Unauthorized(f"not valid yet: its {name} is in the future")
        return expires

    def _is_over(self, expires: int | float, now: float) -> bool:
        # Not expires + leeway: an integer of a thousand digits has no sum with a float, but compares with one.
        return expires <= now - self._leeway

    def _recall(self, digest: bytes) -> _Remembered | None:
        with self._lock:
            known = self._known.get(digest)
            if known is not None:
                self._known.move_to_end(digest)
            return known

    def _keep(self, digest: bytes, known: _Remembered) -> None:
        with self._lock:
            self._known[digest] = known
            while len(self._known) > self._remember:
                self._known.popitem(last=False)

    def _forget(self, digest: bytes) -> None:
        with self._lock:
            self._known.pop(digest, None)


def _identity(claims: Mapping[str, Any]) -> Identity:
    broken = next((name for name, rule in _RULES.items() if name in claims and not rule(claims[name])), None)
    if broken is not None:
        # Not a guess at what was meant: a token without a prefix may permit more than one with a prefix.
        return Identity(admin=False, prefix=None, broken=broken)
    role, prefix, queues = claims.get("role", "").lower(), claims.get("prefix"), claims.get("queues", [])
    if role == "admin" and prefix:  # everything, and only these ids: its issuer may have meant the lesser right
        return Identity(admin=False, prefix=None, broken="prefix")
    return Identity(
        admin=role == "admin",
        prefix=None if prefix is None else _text(prefix, "prefix"),
        queues=tuple(_text(queue, "queues") for queue in ([queues] if isinstance(queues, str) else queues)),
        dashboard=_dashboard_role(role) if "role" in claims else None,
        name=claims.get("sub"),
        issuer=claims.get("iss"),
    )


def _dashboard_role(role: str) -> str | None:
    """Return the role in the dashboard that the claim names; a role of another kind, such as a misspelt `read`, permits nothing there."""
    if role == "admin":
        return None
    return role if role in ("read", "operate") else "none"


def _is_text(claim: Any) -> bool:
    return isinstance(claim, str)


def _is_word(claim: Any) -> bool:
    return isinstance(claim, str) and claim == claim.strip()


def _is_beginning(claim: Any) -> bool:
    return isinstance(claim, str) and (claim == "" or not claim.isspace())


def _are_queues(claim: Any) -> bool:
    return all(_is_beginning(queue) for queue in (claim if isinstance(claim, list) else [claim]))


#: The claims that decide about rights, and those that name the bearer, with their rules. Each may be left out.
_RULES: dict[str, Callable[[Any], bool]] = {
    "role": _is_word,
    "prefix": _is_beginning,
    "queues": _are_queues,
    "sub": _is_text,
    "iss": _is_text,
}


def _text(claim: str, name: str) -> str:
    """Refuse half of a surrogate pair: JSON can contain it, but no id and no queue does."""
    if any("\ud800" <= sign <= "\udfff" for sign in claim):
        raise Unauthorized(f"its {name} is no text: it holds half of a surrogate pair")
    return claim


def _instant(claims: Mapping[str, Any], name: str) -> int | float:
    """A NumericDate: a JSON number, and a finite one (Python's parser takes NaN and Infinity too)."""
    value = claims[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or (isinstance(value, float) and not math.isfinite(value)):
        raise Unauthorized(f"its {name} is not a number of seconds")
    return value


def _key_and_algorithms(settings: AuthSettings) -> tuple[_Key | str, tuple[str, ...]]:
    if settings.public_key is not None:
        key = _public_key(settings.public_key)
        return key, _algorithms_of(key, settings.public_key)
    if settings.secret is None:
        raise ValueError("public_key or secret must be set to verify tokens, got neither")
    secret = settings.secret.get_secret_value()
    try:
        jwt.get_algorithm_by_name("HS256").prepare_key(secret)
    except jwt.InvalidKeyError:
        raise ValueError("secret must not be a public key, certificate or JWK, with which each of its readers could sign") from None
    # RFC 7518 3.2: the key is at least as long as the hash.
    length = len(secret.encode())
    fitting = tuple(name for name, least in _SECRET_BYTES.items() if length >= least)
    if not fitting:
        raise ValueError("secret must have at least 32 bytes: a shorter one can be guessed")
    return secret, fitting


def _public_key(path: Path) -> _Key:
    """Read the one public key, or the first certificate of a chain, in a PEM file."""
    try:
        pem = read_setting(path)
    except OSError as error:
        raise ValueError(f"public_key {str(path)!r} cannot be read: {error.strerror or error}") from None
    labels = [label.decode() for label in _PEM_LABEL.findall(pem)]
    if any(label.endswith("PRIVATE KEY") for label in labels):
        raise ValueError(f"{str(path)!r} holds a private key: a server that only checks tokens is given the public one")
    certificates = [label for label in labels if label == "CERTIFICATE"]
    if not labels or (len(certificates) != len(labels) and len(labels) != 1):
        held = ", ".join(labels) or "no PEM block"
        raise ValueError(f"{str(path)!r} holds {held}: one public key, or a certificate chain, is expected")
    try:
        key = x509.load_pem_x509_certificate(pem).public_key() if certificates else load_pem_public_key(pem)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ValueError(f"{str(path)!r} holds a {labels[0]} that cannot be read: {error}") from error
    if not isinstance(key, _Key):
        raise ValueError(f"{str(path)!r} holds a {type(key).__name__}: RSA, EC or Ed25519 is expected")
    return key


def _algorithms_of(key: _Key, path: Path) -> tuple[str, ...]:
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < SMALLEST_RSA_KEY:
            raise ValueError(f"{str(path)!r} holds an RSA key of {key.key_size} bits: {SMALLEST_RSA_KEY} is the least")
        return ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
    if isinstance(key, ec.EllipticCurvePublicKey):
        if key.curve.name not in _CURVES:
            raise ValueError(f"{str(path)!r} holds a key of the curve {key.curve.name}: P-256, P-384 or P-521 is expected")
        return (_CURVES[key.curve.name],)
    return ("EdDSA",)
