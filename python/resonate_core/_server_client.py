"""Requests to a server, over HTTP (WIRE 1): clients, commands with a URL and workers of a URL send them through these connections."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any

from ._calls.call import VERSION
from ._extras import how_to_install
from ._http import async_client, client
from ._per_process import PerProcess
from .errors import Invalid, ResonateError, Unreachable

if TYPE_CHECKING:
    import httpx

__all__ = [
    "BUSY",
    "VERSION",
    "AsyncServerClient",
    "NoBatch",
    "NoEnvelope",
    "Reply",
    "ServerAddress",
    "ServerClient",
    "Unreachable",
    "envelope",
]

#: A reply, which may be a refusal, or the error of a request without one.
Reply = dict[str, Any] | ResonateError

#: Statuses of a server, or of a proxy before it, that is busy or away: the caller may try again later.
BUSY = (408, 429, 502, 503, 504)
#: Statuses with which a proxy, or a limit of the server, refuses a request before any protocol.
_REFUSED = (401, 403, 413)
_LONGEST_SILENCE = 60.0  # seconds; a quiet stream has a comment every 15 s
#: Statuses with which a server, or a proxy before it, says that it has no batches, or none of this size.
_NO_BATCH = (400, 404, 405, 410, 413, 501)
_TOO_LARGE = 413
_MOST_OF_A_BATCH = 1000
_SHOWN = 200  # characters of an answer that is no envelope


class NoBatch(ResonateError):
    """The server does not take this batch. None of its requests has run."""


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


def lines_of(requests: Sequence[Mapping[str, Any]]) -> bytes:
    """The body of a batch: one envelope a line."""
    return b"\n".join(json.dumps(request).encode("ascii") for request in requests)


class ServerAddress:
    """A server: its URL, the head of its requests, and how its answers are read.

    Attributes:
        batch: How many envelopes the server takes in one request, 1 if it takes no batches; None before its first answer.

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
            raise ModuleNotFoundError(f"a client of a URL needs httpx: {how_to_install('worker')}") from error
        if token is not None and not isinstance(token, str):
            raise TypeError(f"token must be str or None, got {type(token).__name__} (it is not shown here)")
        if token is not None and not (token.isascii() and token.isprintable() and " " not in token and token):
            raise Invalid("token must be printable ASCII without spaces (it is not shown here)")
        try:
            self.http_url = httpx.URL(url.rstrip("/") + "/")
        except httpx.InvalidURL as error:
            raise Invalid(f"url must be a URL, got {url!r}: {error}") from error
        if self.http_url.scheme not in ("http", "https") or not self.http_url.host:
            raise Invalid(f"url must be an http:// or https:// address, got {url!r}")
        self.batch_url = self.http_url.join("batch")
        self.batch: int | None = None
        self._without_batches = False  # a proxy passes on POST / alone, say
        self.token = token
        self.timeout = timeout
        self.headers = {"content-type": "application/json"} | ({} if token is None else {"authorization": f"Bearer {token}"})

    @property
    def url(self) -> str:
        """The address, with its password."""
        return str(self.http_url)

    @property
    def name(self) -> str:
        """The address for people, without its password."""
        url = self.http_url
        return str(url.copy_with(username=None, password=None) if url.userinfo else url).rstrip("/")

    def failed(self, error: httpx.HTTPError) -> Unreachable:
        """Return the error of a request that has no answer."""
        import httpx

        if isinstance(error, httpx.TimeoutException):
            made = Unreachable(f"{self.name} did not answer in time ({type(error).__name__})")
        else:
            made = Unreachable(f"{self.name} cannot be reached: {error}")
        made.executed = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
        return made

    def read(self, response: httpx.Response, corr_id: str) -> dict[str, Any]:
        """Return the reply in a response; it may be a refusal.

        Raises:
            Unreachable: A busy server or proxy gave an answer that is no envelope.
            NoEnvelope: The server does not speak the protocol.
            ResonateError: A proxy, or a limit of the server, refused the request before any protocol; or this is another's reply.
        """
        self._note_batches(response)
        return self._reply(response, response.content, corr_id)

    def read_batch(self, response: httpx.Response, requests: Sequence[Mapping[str, Any]]) -> list[Reply]:
        """Return for each request of a batch its reply, or the error that `read` would raise.

        Raises:
            NoBatch: The server, or a proxy, does not take it; none of the requests has run.
            ResonateError: See `read`.
        """
        self._note_batches(response)
        if response.status_code in _NO_BATCH:
            self._without_batches = response.status_code != _TOO_LARGE
            self.batch = 1
            raise NoBatch(f"{self.name} answered {response.status_code} to a batch", response.status_code)
        lines = response.content.splitlines()
        if response.status_code != 200 or len(lines) != len(requests):
            raise self._no_envelope(response)
        found: list[Reply] = []
        for request, line in zip(requests, lines, strict=True):
            try:
                found.append(self._reply(response, line, request["head"]["corrId"]))
            except ResonateError as error:
                found.append(error)
        return found

    def _note_batches(self, response: httpx.Response) -> None:
        """Remember how many envelopes the server takes in one request, as it says in every reply of its own."""
        given = response.headers.get("resonate-batch", "")
        known = given.isascii() and given.isdecimal() and not self._without_batches
        self.batch = min(int(given), _MOST_OF_A_BATCH) if known else 1

    def _reply(self, response: httpx.Response, text: bytes, corr_id: str) -> dict[str, Any]:
        try:
            reply = json.loads(text)
            status, answered = reply["head"]["status"], reply["head"]["corrId"]
            made = {"kind": reply["kind"], "head": {"status": status}, "data": reply["data"]}
            if status in BUSY and (pause := retry_after(response)) is not None:
                made["head"]["retryAfter"] = pause
        except (ValueError, KeyError, TypeError) as error:
            raise self._no_envelope(response) from error
        if not isinstance(status, int) or (answered != corr_id and status in (200, 300)):
            raise ResonateError(f"{self.name} answered another request than was asked (corrId {answered!r})")
        return made

    def _no_envelope(self, response: httpx.Response) -> ResonateError:
        """Return the error for a response that is no envelope; it quotes the first line."""
        status, lines = response.status_code, response.text.strip().splitlines()
        text = f": {lines[0][:_SHOWN]}" if lines else ""
        if status in BUSY:
            made = Unreachable(f"{self.name} answered {status}{text}", status)
            made.executed, made.retry_after = status != 429, retry_after(response)
            return made
        if status in _REFUSED:
            return ResonateError(f"{self.name} answered {status}{text}", status)
        return NoEnvelope(f"{self.name} does not speak the protocol: it answered {status} {response.reason_phrase}{text}", status)


def _limits() -> httpx.Limits:
    """No limit of connections: each waiting thread has one for its stream, beside those of calls."""
    import httpx

    return httpx.Limits(max_connections=None, max_keepalive_connections=100)


def retry_after(response: httpx.Response) -> float | None:
    """The seconds of a Retry-After header; None without one, or if it is a date."""
    given = response.headers.get("retry-after", "")
    return float(given) if given.isascii() and given.isdecimal() else None


class ServerClient(ServerAddress):
    """Connections to one server. It sends each request once: whether to try again is the caller's decision.

    A forked child opens its own.

    Args:
        url: See `ServerAddress`.
        token: See `ServerAddress`.
        timeout: See `ServerAddress`.
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0) -> None:
        super().__init__(url, token, timeout)
        self._of_process = PerProcess(lambda: client(headers=self.headers, timeout=timeout, limits=_limits()))
        self._of_process.get()

    @property
    def _http(self) -> httpx.Client:
        return self._of_process.get()

    def post(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request; return its reply, which may be a refusal.

        Raises:
            Unreachable: There was no answer, or a busy server or proxy gave one that is no envelope.
            ResonateError: See `ServerAddress.read`.
        """
        import httpx

        try:
            response = self._http.post(self.http_url, content=json.dumps(request).encode("ascii"))
        except httpx.HTTPError as error:
            raise self.failed(error) from error
        return self.read(response, request["head"]["corrId"])

    def post_batch(self, requests: Sequence[Mapping[str, Any]]) -> list[Reply]:
        """Send requests in one; return the result of each, see `ServerAddress.read_batch`.

        Raises:
            NoBatch: None of them has run.
            Unreachable: As of `post`, for all of them.
            ResonateError: See `ServerAddress.read`.
        """
        import httpx

        try:
            response = self._http.post(self.batch_url, content=lines_of(requests))
        except httpx.HTTPError as error:
            raise self.failed(error) from error
        return self.read_batch(response, requests)

    def get(self, path: str, parameters: Mapping[str, str]) -> httpx.Response:
        """Ask for a page below the server's address.

        Raises:
            Unreachable: There was no answer.
        """
        import httpx

        try:
            return self._http.get(self.http_url.join(path), params=parameters)
        except httpx.HTTPError as error:
            raise self.failed(error) from error

    def stream(self, path: str, silence: float) -> AbstractContextManager[httpx.Response]:
        """Open a stream of events.

        Args:
            path: Below the server's address.
            silence: Seconds without an event after which reading raises `httpx.ReadTimeout`.
        """
        import httpx

        limits = httpx.Timeout(self.timeout, read=silence)
        return self._http.stream("GET", self.http_url.join(path), timeout=limits)

    def close(self) -> None:
        """End the connections."""
        self._http.close()


class AsyncServerClient(ServerAddress):
    """Connections of asyncio to one server; otherwise like `ServerClient`. It belongs to the loop that uses it first.

    Args:
        url: See `ServerAddress`.
        token: See `ServerAddress`.
        timeout: See `ServerAddress`.
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0) -> None:
        super().__init__(url, token, timeout)
        self._http = async_client(headers=self.headers, timeout=timeout, limits=_limits())

    async def post(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request; see `ServerClient.post`."""
        import httpx

        try:
            response = await self._http.post(self.http_url, content=json.dumps(request).encode("ascii"))
        except httpx.HTTPError as error:
            raise self.failed(error) from error
        return self.read(response, request["head"]["corrId"])

    async def get(self, path: str, parameters: Mapping[str, str]) -> httpx.Response:
        """Ask for a page below the server's address; see `ServerClient.get`."""
        import httpx

        try:
            return await self._http.get(self.http_url.join(path), params=parameters)
        except httpx.HTTPError as error:
            raise self.failed(error) from error

    async def post_batch(self, requests: Sequence[Mapping[str, Any]]) -> list[Reply]:
        """Send requests in one; see `ServerClient.post_batch`."""
        import httpx

        try:
            response = await self._http.post(self.batch_url, content=lines_of(requests))
        except httpx.HTTPError as error:
            raise self.failed(error) from error
        return self.read_batch(response, requests)

    def stream(self, path: str) -> AbstractAsyncContextManager[httpx.Response]:
        """Open a stream of events, which ends if there was not even a comment for a minute."""
        import httpx

        limits = httpx.Timeout(self.timeout, read=_LONGEST_SILENCE)
        return self._http.stream("GET", self.http_url.join(path), timeout=limits)

    async def close(self) -> None:
        """End the connections."""
        await self._http.aclose()
