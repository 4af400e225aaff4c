"""Requests to a server, over HTTP (WIRE 1): clients, commands with a URL and workers of a URL send them through these connections."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._core import without_secrets
from .._foreign_text import excerpt
from ..base.extras import how_to_install
from ..base.per_process import PerProcess
from ..errors import Invalid, NoEnvelope, ResonateError, Unreachable
from .answers import parsed
from .bodies import MOST_BYTES, Answer, is_stream, lines, lines_async, read, read_async
from .client import async_client, client
from .deadline import within

if TYPE_CHECKING:
    import httpx

__all__ = [
    "BUSY",
    "AsyncServerClient",
    "BeforeProtocol",
    "NoBatch",
    "NoEnvelope",
    "Reply",
    "ServerAddress",
    "ServerClient",
    "Unreachable",
    "is_stream",
]

#: A reply, which may be a refusal, or the error of a request without one.
Reply = dict[str, Any] | ResonateError

#: Statuses of a server, or of a proxy before it, that is busy or away: the caller may try again later.
BUSY = (408, 429, 502, 503, 504)
#: Statuses with which a proxy, or a limit of the server, refuses a request before any protocol.
_REFUSED = (401, 403, 413)
_UNENCODED = {"accept-encoding": "identity"}  # of a stream: its lines are read as they arrive
_LONGEST_SILENCE = 60.0  # seconds; a quiet stream has a comment every 15 s
#: Statuses with which a server, or a proxy before it, says that it has no batches, or none of this size.
_NO_BATCH = (400, 404, 405, 410, 413, 501)
_TOO_LARGE = 413
_MOST_OF_A_BATCH = 1000
_LAST_PORT = 65_535
#: The most digits of a number in a header: of seconds, or of envelopes.
_MOST_DIGITS = 9


class NoBatch(ResonateError):
    """The server does not take this batch. None of its requests has run."""


class BeforeProtocol(ResonateError):
    """A proxy, or a limit of the server, refused a request before any protocol: its answer is no envelope."""


def lines_of(requests: Sequence[Mapping[str, Any]]) -> bytes:
    """The body of a batch: one envelope a line."""
    return b"\n".join(map(body_of, requests))


def body_of(request: Mapping[str, Any]) -> bytes:
    """The body of one request.

    Raises:
        Invalid: It is nested too deeply.
    """
    try:
        return json.dumps(request).encode("ascii")
    except RecursionError:
        raise Invalid("data must be nested less deeply: Python does not write such JSON") from None


class ServerAddress:
    """A server: its URL, the head of its requests, and how its answers are read.

    Attributes:
        batch: How many envelopes the server takes in one request, 1 if it takes no batches; None before its first answer.

        received: How many bytes of answers have arrived, decoded.

    Args:
        url: Its address, with the path under which it is mounted.
        token: A bearer token, for the Authorization header; `envelope` puts it into the head.
        timeout: How long to wait for one answer, from the request to its last byte, in seconds.
        answer_bytes: The most bytes of one answer, decoded.

    Raises:
        ModuleNotFoundError: httpx is not installed.
        Invalid: The URL or the token is none, or the limit. The error does not show the token.
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0, answer_bytes: int = MOST_BYTES) -> None:
        try:
            import httpx
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"a client of a URL needs httpx: {how_to_install('worker')}") from error
        if token is not None and not isinstance(token, str):
            raise TypeError(f"token must be str or None, got {type(token).__name__} (it is not shown here)")
        if token is not None and not (token.isascii() and token.isprintable() and " " not in token and token):
            raise Invalid("token must be printable ASCII without spaces (it is not shown here)")
        if isinstance(answer_bytes, bool) or not isinstance(answer_bytes, int) or answer_bytes < 1:
            raise Invalid(f"answer_bytes must be an int of at least 1, got {answer_bytes!r}")
        if not isinstance(url, str):
            raise TypeError(f"url must be str, got {type(url).__name__}")
        try:
            self.http_url = httpx.URL(url.rstrip("/") + "/")
            host, port = self.http_url.host, self.http_url.port
        except (httpx.InvalidURL, UnicodeError) as error:  # a name that begins with xn-- and is none is the latter
            raise Invalid(f"url must be a URL, got {without_secrets(url)!r}: {error}") from error
        if self.http_url.scheme not in ("http", "https") or not host:
            shown = without_secrets(url)
            raise Invalid(f"url must be an http:// or https:// address, got {shown!r} (files and databases: rc.Store)")
        if port is not None and not 0 < port <= _LAST_PORT:
            raise Invalid(f"url must have a port from 1 to {_LAST_PORT}, got {without_secrets(url)!r}")
        self.batch_url = self.http_url.join("batch")
        self.batch: int | None = None
        self._without_batches = False  # a proxy passes on POST / alone, say
        self.token = token
        self.timeout = timeout
        self.answer_bytes = answer_bytes
        self.received = 0
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
            made = Unreachable(f"{self.name} cannot be reached: {excerpt(str(error))}")
        made.executed = not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))
        return made

    def read(self, response: Answer, corr_id: str) -> dict[str, Any]:
        """Return the reply in a response; it may be a refusal.

        Raises:
            Unreachable: A busy server or proxy gave an answer that is no envelope.
            NoEnvelope: The server does not speak the protocol.
            ResonateError: A proxy, or a limit of the server, refused the request before any protocol; or this is another's reply.
        """
        self._note(response)
        return self._reply(response, response.content, corr_id)

    def read_batch(self, response: Answer, requests: Sequence[Mapping[str, Any]]) -> list[Reply]:
        """Return for each request of a batch its reply, or the error that `read` would raise.

        Raises:
            NoBatch: The server, or a proxy, does not take it; none of the requests has run.
            ResonateError: See `read`.
        """
        self._note(response)
        if response.status_code in _NO_BATCH:
            self._without_batches = response.status_code != _TOO_LARGE
            self.batch = 1
            raise NoBatch(f"{self.name} answered {response.status_code} to a batch", response.status_code)
        # Counted first: a body of line ends only would be a list of millions.
        if response.status_code != 200 or response.content.strip().count(b"\n") + 1 != len(requests):
            raise self._no_envelope(response)
        found: list[Reply] = []
        for request, line in zip(requests, response.content.strip().split(b"\n"), strict=True):
            try:
                found.append(self._reply(response, line, request["head"]["corrId"]))
            except ResonateError as error:
                found.append(error)
        return found

    def _note(self, response: Answer) -> None:
        """Count the bytes of an answer, and remember how many envelopes the server takes in one request, as each reply says."""
        self.received += len(response.content)
        given = None if self._without_batches else _number(response, "resonate-batch")
        self.batch = 1 if given is None else max(1, min(given, _MOST_OF_A_BATCH))

    def _reply(self, response: Answer, text: bytes, corr_id: str) -> dict[str, Any]:
        try:
            reply = parsed(text)
            head = reply["head"]
            kind, status, answered, data = reply["kind"], head["status"], head["corrId"], reply["data"]
        except (ValueError, KeyError, TypeError) as error:
            raise self._no_envelope(response) from error
        if type(status) is not int or not 200 <= status < 600 or not isinstance(kind, str):
            raise self._no_envelope(response, "kind must be a string and status an HTTP status in its head")
        if answered != corr_id and status in (200, 300):
            raise NoEnvelope(
                f"{self.name} answered another request than was asked (corrId {excerpt(answered)})", response.status_code
            )
        made: dict[str, Any] = {"kind": kind, "head": {"status": status}, "data": data}
        if status in BUSY and (pause := retry_after(response)) is not None:
            made["head"]["retryAfter"] = pause
        return made

    def _no_envelope(self, response: Answer, why: str = "") -> ResonateError:
        """Return the error for a response that is no envelope; it quotes the first line."""
        status = response.status_code
        text = f": {why or response.first_line}" if why or response.first_line else ""
        if status in BUSY:
            made = Unreachable(f"{self.name} answered {status}{text}", status)
            made.executed, made.retry_after = status != 429, retry_after(response)
            return made
        if status in _REFUSED:
            return BeforeProtocol(f"{self.name} answered {status}{text}", status)
        return NoEnvelope(f"{self.name} does not speak the protocol: it answered {status} {response.reason}{text}", status)


def _limits() -> httpx.Limits:
    """No limit of connections: each waiting thread has one for its stream, beside those of calls."""
    import httpx

    return httpx.Limits(max_connections=None, max_keepalive_connections=100)


def retry_after(response: Answer) -> float | None:
    """The seconds of a Retry-After header; None without one, or if it is a date."""
    given = _number(response, "retry-after")
    return None if given is None else float(given)


def _number(response: Answer, header: str) -> int | None:
    """The number in a header; None without one, or if it is too long to be meant."""
    given = response.headers.get(header, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) <= _MOST_DIGITS else None


class ServerClient(ServerAddress):
    """Connections to one server. It sends each request once: whether to try again is the caller's decision.

    A forked child opens its own.

    Args:
        url: See `ServerAddress`.
        token: See `ServerAddress`.
        timeout: See `ServerAddress`.
        answer_bytes: See `ServerAddress`.
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0, answer_bytes: int = MOST_BYTES) -> None:
        super().__init__(url, token, timeout, answer_bytes)
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
        response = self.send("POST", self.http_url, content=body_of(request))
        return self.read(response, request["head"]["corrId"])

    def post_batch(self, requests: Sequence[Mapping[str, Any]]) -> list[Reply]:
        """Send requests in one; return the result of each, see `ServerAddress.read_batch`.

        Raises:
            NoBatch: None of them has run.
            Unreachable: As of `post`, for all of them.
            ResonateError: See `ServerAddress.read`.
        """
        return self.read_batch(self.send("POST", self.batch_url, content=lines_of(requests)), requests)

    def send(self, method: str, url: httpx.URL, **options: Any) -> Answer:
        """Send a request and read its answer, as many bytes and as long as an answer may have.

        Raises:
            Unreachable: There was no answer.
            NoEnvelope: It has too many bytes, or cannot be decoded.
        """
        import httpx

        try:
            with within(self.timeout), self._http.stream(method, url, **options) as response:
                return read(self.name, response, self.answer_bytes)
        except httpx.HTTPError as error:
            raise self.failed(error) from error

    def get(self, path: str, parameters: Mapping[str, str]) -> Answer:
        """Ask for a page below the server's address.

        Raises:
            Unreachable: There was no answer.
            NoEnvelope: See `send`.
        """
        return self.send("GET", self.http_url.join(path), params=parameters)

    @contextlib.contextmanager
    def stream(self, path: str, silence: float) -> Iterator[tuple[httpx.Response, Iterator[str]]]:
        """Open a stream of events; return its response, and its lines with "" for a part without the end of one.

        Args:
            path: Below the server's address.
            silence: Seconds without an event after which reading raises `httpx.ReadTimeout`.
        """
        import httpx

        limits = httpx.Timeout(self.timeout, read=silence)
        request = self._http.build_request("GET", self.http_url.join(path), timeout=limits, headers=_UNENCODED)
        with within(max(self.timeout, silence)):
            response = self._http.send(request, stream=True)
        try:
            yield response, lines(self.name, response.iter_raw(), self.answer_bytes)
        finally:
            response.close()

    def close(self) -> None:
        """End the connections."""
        self._http.close()


class AsyncServerClient(ServerAddress):
    """Connections of asyncio to one server; otherwise like `ServerClient`. It belongs to the loop that uses it first.

    Args:
        url: See `ServerAddress`.
        token: See `ServerAddress`.
        timeout: See `ServerAddress`.
        answer_bytes: See `ServerAddress`.
    """

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0, answer_bytes: int = MOST_BYTES) -> None:
        super().__init__(url, token, timeout, answer_bytes)
        self._http = async_client(headers=self.headers, timeout=timeout, limits=_limits())

    async def post(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request; see `ServerClient.post`."""
        response = await self._send("POST", self.http_url, content=body_of(request))
        return self.read(response, request["head"]["corrId"])

    async def get(self, path: str, parameters: Mapping[str, str]) -> Answer:
        """Ask for a page below the server's address; see `ServerClient.get`."""
        return await self._send("GET", self.http_url.join(path), params=parameters)

    async def post_batch(self, requests: Sequence[Mapping[str, Any]]) -> list[Reply]:
        """Send requests in one; see `ServerClient.post_batch`."""
        return self.read_batch(await self._send("POST", self.batch_url, content=lines_of(requests)), requests)

    async def _send(self, method: str, url: httpx.URL, **options: Any) -> Answer:
        """Send a request and read its answer; see `ServerClient.send`."""
        import asyncio

        import httpx

        async def answer() -> Answer:
            async with self._http.stream(method, url, **options) as response:
                return await read_async(self.name, response, self.answer_bytes)

        try:
            return await asyncio.wait_for(answer(), self.timeout)
        except asyncio.TimeoutError as error:
            raise self.failed(httpx.ReadTimeout("the answer was not complete in time")) from error
        except httpx.HTTPError as error:
            raise self.failed(error) from error

    @contextlib.asynccontextmanager
    async def stream(self, path: str) -> AsyncIterator[tuple[httpx.Response, AsyncIterator[str]]]:
        """Open a stream of events, which ends if there was not even a comment for a minute; return its response and its lines."""
        import asyncio

        import httpx

        limits = httpx.Timeout(self.timeout, read=_LONGEST_SILENCE)
        request = self._http.build_request("GET", self.http_url.join(path), timeout=limits, headers=_UNENCODED)
        try:
            response = await asyncio.wait_for(self._http.send(request, stream=True), max(self.timeout, _LONGEST_SILENCE))
        except asyncio.TimeoutError as error:
            raise httpx.ReadTimeout("the stream did not begin in time") from error
        try:
            yield response, lines_async(self.name, response.aiter_raw(), self.answer_bytes)
        finally:
            await response.aclose()

    async def close(self) -> None:
        """End the connections."""
        await self._http.aclose()
