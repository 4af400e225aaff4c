"""What the environment says about connections: proxies, and certificates of authorities. A value that cannot be used is named."""

from __future__ import annotations

import os
import stat
from importlib.util import find_spec
from urllib.parse import urlsplit

from .._core import without_secrets
from .._foreign_text import excerpt
from ..base.files import refuse_irregular
from ..errors import Invalid

__all__ = ["OddSurroundings", "check_authorities", "check_proxies", "odd"]

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
_PROXY = "the address of a proxy, http://host:port"


class OddSurroundings(Invalid):
    """A variable of the environment has a value with which no connection can be made.

    Example:
        >>> from resonate_core.http.surroundings import OddSurroundings
        >>> OddSurroundings("HTTP_PROXY must be …").status
        400
    """


def check_authorities() -> None:
    """Refuse a SSL_CERT_FILE that is no regular file, and a SSLKEYLOGFILE that is a pipe.

    OpenSSL would wait for the other end of a pipe, and read a device to its end.

    Raises:
        OddSurroundings: It is none.

    Example:
        >>> from resonate_core.http.surroundings import check_authorities
        >>> check_authorities()
    """
    path = os.environ.get("SSL_CERT_FILE")
    if path:
        try:
            refuse_irregular(path)
        except OSError as error:
            raise _odd_authorities(error) from error
    log = os.environ.get("SSLKEYLOGFILE")
    if log and os.path.exists(log) and stat.S_ISFIFO(os.stat(log).st_mode):
        raise OddSurroundings(f"SSLKEYLOGFILE must be a file that can be written at once, got a pipe: '{excerpt(log)}'")


def check_proxies() -> None:
    """Refuse a proxy of the environment with whose address no connection can be made. httpx notices some at the first request only.

    Raises:
        OddSurroundings: There is one.

    Example:
        >>> from resonate_core.http.surroundings import check_proxies
        >>> check_proxies()
    """
    for name, value in sorted(os.environ.items()):
        rule = _broken_rule(value) if name.upper() in _PROXIES and value else None
        if rule is not None:
            raise OddSurroundings(f"{name} must be {rule}, got {_shown(value)}")


def odd(error: Exception) -> OddSurroundings | None:
    """Return the error for the other variables because of which httpx made no client; None if there is none such.

    Args:
        error: That of httpx.

    Example:
        >>> from resonate_core.http.surroundings import odd
        >>> odd(ValueError("another reason")) is None
        True
    """
    if isinstance(error, OSError):
        return _odd_authorities(error) if os.environ.get("SSL_CERT_FILE") else None
    name = next((one for one in ("no_proxy", "NO_PROXY") if os.environ.get(one)), None)
    return None if name is None else OddSurroundings(f"{name} must be names of hosts, got {_shown(os.environ[name])}")


def _odd_authorities(error: OSError) -> OddSurroundings:
    shown = excerpt(os.environ["SSL_CERT_FILE"])
    return OddSurroundings(f"SSL_CERT_FILE must be a file with certificates, got '{shown}': {error.strerror or error}")


def _shown(value: str) -> str:
    return f"'{excerpt(without_secrets(value if '://' in value or '@' not in value else f'//{value}'))}'"


def _broken_rule(value: str) -> str | None:
    """The rule that the address of a proxy breaks."""
    import httpx

    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        is_one = bool(parts.hostname) and parts.port != 0 and bool(httpx.Proxy(parts.geturl()).url.host)
    except (ValueError, httpx.InvalidURL):
        is_one = False
    if not is_one:
        return _PROXY
    return (
        f"{_PROXY}, without socksio (pip install socksio)"
        if parts.scheme.startswith("socks") and not find_spec("socksio")
        else None
    )
