"""`connect`: httpx, and what sends requests, are imported when a program connects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .client import Client

__all__ = ["connect"]


def connect(
    url: str, *, token: str | None = None, timeout: float = 30.0, retry_for: float = 30.0, answer_bytes: int = 67_108_864
) -> Client:
    """Return a client of a server, with the typed calls of `Store`: sync, and async as `Client.aio`.

    No connection is made before the first call. It needs httpx, which is the extra ``worker``.

    Args:
        url: The address of the server, with the path under which it is mounted.
        token: A bearer token (`resonate-core token`).
        timeout: Seconds for which one answer is waited for, from the request to its last byte.
        retry_for: Seconds for which a call is repeated while the server does not answer or is busy; 0: it is not repeated. Only
            calls that can run twice with the effect of one run are repeated after they may have been executed (docs/python.md).
        answer_bytes: The most bytes of one answer, as they arrive and decoded, and of one line of a stream. A longer answer raises
            `resonate_core.errors.NoEnvelope`.

    Returns:
        The client, a context manager that closes its connections.

    Raises:
        ModuleNotFoundError: httpx is not installed.
        Invalid: The URL or the token is none, or the limit. The error does not show the token.

    Example:
        >>> rc.connect("ftp://example.org")
        Traceback (most recent call last):
        ...
        resonate_core.errors.Invalid: url must be an http:// or https:// address, got 'ftp://example.org' (files and databases: rc.Store)
    """
    from .client import Client

    return Client(url, token=token, timeout=timeout, retry_for=retry_for, answer_bytes=answer_bytes)
