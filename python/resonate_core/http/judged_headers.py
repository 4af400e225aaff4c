"""Headers by which a server judges a request: each may be there once, and `Origin` or `Sec-Fetch-Site` tells a page of another origin."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

__all__ = ["is_foreign_site", "is_same_origin", "judged"]

#: Of two of these, another reader of the request may see the other one.
_JUDGED = frozenset((b"host", b"origin", b"sec-fetch-site", b"x-resonate-ui", b"authorization"))
_DEFAULT_PORTS = {"http": 80, "https": 443}


def judged(headers: Iterable[tuple[bytes, bytes]]) -> dict[bytes, bytes] | str:
    """Return the headers by which a request is judged; or why it is refused with 400: one is there twice, also with the same value.

    Args:
        headers: As in an ASGI scope, with names in lower case.

    Example:
        >>> from resonate_core.http.judged_headers import judged
        >>> judged([(b"host", b"shop"), (b"accept", b"a"), (b"accept", b"b")])
        {b'host': b'shop'}
        >>> judged([(b"host", b"shop"), (b"host", b"bank")])
        'the header host must be given once, got it twice'
    """
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _JUDGED:
            if name in found:
                return f"the header {name.decode()} must be given once, got it twice"
            found[name] = value
    return found


def is_foreign_site(site: bytes) -> bool:
    """Return whether a browser says that a page of another origin sends the request.

    Args:
        site: The value of `Sec-Fetch-Site`; empty without one.

    Example:
        >>> from resonate_core.http.judged_headers import is_foreign_site
        >>> [is_foreign_site(one) for one in (b"Cross-Site", b"same-site", b"same-origin", b"none", b"")]
        [True, True, False, False, False]
    """
    return site.lower() in (b"cross-site", b"same-site")


def is_same_origin(origin: str, host: str | None, scheme: str) -> bool:
    """Return whether an origin is the server itself. A proxy before it may add TLS, so that the schemes differ.

    Args:
        origin: The value of `Origin`, which may be any text.
        host: The value of `Host`; None without one.
        scheme: That of the request, as the server sees it.

    Example:
        >>> from resonate_core.http.judged_headers import is_same_origin
        >>> [is_same_origin(one, "shop:80", "http") for one in ("http://shop", "https://shop:80", "http://shop:81", "null", "http://[")]
        [True, True, False, False, False]
    """
    try:
        its, ours = urlsplit(origin), urlsplit("//" + (host or ""))
        default = _DEFAULT_PORTS.get(its.scheme)
        return (
            default is not None
            and not (its.scheme == "http" and scheme == "https")
            and its.hostname is not None
            and (its.hostname, its.port or default) == (ours.hostname, ours.port or default)
        )
    except ValueError:
        return False
