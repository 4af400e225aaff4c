"""Clients of HTTP: the one place that makes them, so that all commands and programs reach a server in the same way.

They check certificates as httpx does, by SSL_CERT_FILE and SSL_CERT_DIR where they are set, and use the proxies that the environment
names (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY). They follow no redirects, which would take a token elsewhere, and keep no cookies,
which a server could send without end. They accept the encodings that `bodies` decodes within a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .surroundings import check_authorities, check_proxies, odd

if TYPE_CHECKING:
    from http.cookiejar import CookiePolicy

    import httpx

__all__ = ["ENCODINGS", "async_client", "client"]

#: Sent as Accept-Encoding.
ENCODINGS = "gzip, deflate"

T = TypeVar("T")


def client(**options: Any) -> httpx.Client:
    """Make a client. A request of it ends at the deadline that `deadline.within` sets.

    Args:
        options: Of httpx.

    Raises:
        ModuleNotFoundError: httpx is not installed.
        OddSurroundings: The environment names a proxy or certificates with which no client can be made.

    Example:
        >>> from resonate_core.http.client import client
        >>> with client(timeout=10) as made:
        ...     made.follow_redirects, made.headers["accept-encoding"]
        (False, 'gzip, deflate')
    """
    from .streams import Client

    made = _made(Client, options)
    made.cookies.jar.set_policy(_no_cookies())
    return made


def async_client(**options: Any) -> httpx.AsyncClient:
    """Make a client of asyncio; see `client`. Its requests end by cancellation."""
    import httpx

    made = _made(httpx.AsyncClient, options)
    made.cookies.jar.set_policy(_no_cookies())
    return made


def _made(make: Callable[..., T], options: dict[str, Any]) -> T:
    import httpx

    check_authorities()
    if options.get("transport") is None:
        check_proxies()
    headers = {"accept-encoding": ENCODINGS, **(options.get("headers") or {})}
    try:
        return make(**{**options, "headers": headers})
    except (ValueError, ImportError, OSError, httpx.InvalidURL) as error:
        found = odd(error)
        if found is None:
            raise
        raise found from error


def _no_cookies() -> CookiePolicy:
    from http.cookiejar import DefaultCookiePolicy

    return DefaultCookiePolicy(allowed_domains=[])
