"""Requests to a server, over HTTP (WIRE 1): commands with a URL and workers of a URL send them through this client."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._extras import how_to_install
from .errors import Invalid, ResonateError, StoreError

if TYPE_CHECKING:
    import httpx

__all__ = ["BUSY", "VERSION", "NoEnvelope", "ServerClient", "Unreachable", "envelope"]

#: The version of the protocol that requests are in, unless the caller names another.
VERSION = "2026-04-01"
#: Statuses of a server, or of a proxy before it, that is busy or away: the caller may try again later.
BUSY = (408, 429, 502, 503, 504)
#: Statuses with which a proxy, or a limit of the server, refuses a request before any protocol.
_REFUSED = (401, 403, 413)
_SHOWN = 200  # characters of an answer that is no envelope


class Unreachable(StoreError):
    """The server did not answer, or was busy. The request may have been executed all the same.

    Attributes:
        answered: The HTTP status; None without an answer.
    """

    default_status = 503

    def __init__(self, message: str, answered: int | None = None) -> None:
        super().__init__(message, answered)
        self.answered = answered


class NoEnvelope(ResonateError):
    """The server answered, and not in the protocol."""


def envelope(kind: str, data: Mapping[str, Any], corr_id: str, version: str = VERSION, token: str | None = None) -> dict[str, Any]:
    """Make a request.

    Example:
        >>> from resonate_core._server_client import envelope
        >>> envelope("promise.get", {"id": "a"}, "1")
        {'kind': 'promise.get', 'head': {'corrId': '1', 'version': '2026-04-01'}, 'data': {'id': 'a'}}
    """
    head = {"corrId": corr_id, "version": version} | ({} if token is None else {"auth": token})
    return {"kind": kind, "head": head, "data": data}


class ServerClient:
    """Connections to one server. It sends each request once: whether to try again is the caller's decision.

    Args:
        url: Its address, with the path under which it is mounted.
        token: A bearer token, for the Authorization header; `envelope` puts it into the head.
        timeout: How long to wait for one answer, in seconds.

    Raises:
        ModuleNotFoundError: httpx is not installed.
        Invalid: The URL or the token is none. The error does not show the token.
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0) -> None:
        try:
            import httpx
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"a worker of a URL needs httpx: {how_to_install('worker')}") from error
        if token is not None and not (token.isascii() and token.isprintable() and " " not in token and token):
            raise Invalid("token must be printable ASCII without spaces (it is not shown here)")
        try:
            self._url = httpx.URL(url.rstrip("/") + "/")
        except httpx.InvalidURL as error:
            raise Invalid(f"url must be a URL, got {url!r}: {error}") from error
        if self._url.scheme not in ("http", "https") or not self._url.host:
            raise Invalid(f"url must be an http:// or https:// address, got {url!r}")
        self.token = token
        self.timeout = timeout
        headers = {"content-type": "application/json"} | ({} if token is None else {"authorization": f"Bearer {token}"})
        self._http = httpx.Client(headers=headers, timeout=timeout)

    @property
    def url(self) -> str:
        """The address, with its password."""
        return str(self._url)

    @property
    def name(self) -> str:
        """The address for people, without its password."""
        return str(self._url.copy_with(username=None, password=None) if self._url.userinfo else self._url).rstrip("/")

    def post(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request; return its reply, which may be a refusal.

        Raises:
            Unreachable: There was no answer, or a busy server or proxy gave one that is no envelope.
            NoEnvelope: The server does not speak the protocol.
            ResonateError: A proxy, or a limit of the server, refused the request before any protocol; or this is another's reply.
        """
        import httpx

        try:
            response = self._http.post(self._url, content=json.dumps(request).encode("ascii"))
        except httpx.TimeoutException as error:
            raise Unreachable(f"{self.name} did not answer in time ({type(error).__name__})") from error
        except httpx.HTTPError as error:
            raise Unreachable(f"{self.name} cannot be reached: {error}") from error
        try:
            reply = response.json()
            status, corr_id = reply["head"]["status"], reply["head"]["corrId"]
            made = {"kind": reply["kind"], "head": {"status": status}, "data": reply["data"]}
        except (ValueError, KeyError, TypeError) as error:
            raise self._no_envelope(response) from error
        if not isinstance(status, int) or (corr_id != request["head"]["corrId"] and status in (200, 300)):
            raise ResonateError(f"{self.name} answered another request than was asked (corrId {corr_id!r})")
        return made

    def _no_envelope(self, response: httpx.Response) -> ResonateError:
        """Return the error for an answer that is no envelope; it quotes the first line."""
        status, lines = response.status_code, response.text.strip().splitlines()
        text = f": {lines[0][:_SHOWN]}" if lines else ""
        if status in BUSY:
            return Unreachable(f"{self.name} answered {status}{text}", status)
        if status in _REFUSED:
            return ResonateError(f"{self.name} answered {status}{text}", status)
        return NoEnvelope(f"{self.name} does not speak the protocol: it answered {status} {response.reason_phrase}{text}", status)

    def close(self) -> None:
        """End the connections."""
        self._http.close()
