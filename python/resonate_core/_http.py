"""Clients of HTTP: the one place that makes them, so that all commands and programs reach a server in the same way.

They check certificates as httpx does, by SSL_CERT_FILE and SSL_CERT_DIR where they are set, and use the proxies that the environment
names (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY). They follow no redirects, which would take a token elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

__all__ = ["async_client", "client"]


def client(**options: Any) -> httpx.Client:
    """Make a client.

    Args:
        options: Of httpx.

    Raises:
        ModuleNotFoundError: httpx is not installed.

    Example:
        >>> from resonate_core._http import client
        >>> with client(timeout=10) as made:
        ...     made.follow_redirects
        False
    """
    import httpx

    return httpx.Client(**options)


def async_client(**options: Any) -> httpx.AsyncClient:
    """Make a client of asyncio; see `client`."""
    import httpx

    return httpx.AsyncClient(**options)
