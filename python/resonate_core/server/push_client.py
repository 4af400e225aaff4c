"""The HTTP client of the push transport: a POST for each message, over connections that are kept for a few seconds."""

from __future__ import annotations

import asyncio
import math
import ssl
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

import anyio
import httpcore

from .._foreign_text import excerpt
from ..http.surroundings import check_authorities
from .egress import AddressPolicy, GuardedBackend, NotCallable, PushTarget, Resolver, SystemResolver, parse_target

if TYPE_CHECKING:
    from .settings import PushSettings

__all__ = ["PATIENCE", "PushAttempt", "PushClient", "PushFailed"]

#: Seconds after which a delivery without an answer gives its place up, if others have none.
PATIENCE = 1.0

LONGEST_ANSWER = 65_536  # bytes of an answer that are read, so that its connection can be kept
ANSWER_SECONDS = 1.0  # for those bytes, once the status is known
IDLE_SECONDS = 4.0  # that a connection is kept: less than the 5 s after which many servers close theirs

_Origin = tuple[bytes, bytes, int]


class PushFailed(Exception):
    """A message was not delivered.

    Attributes:
        reason: Why, for a log. It names the host at most: paths and queries of addresses are often secrets.
        status: The HTTP status of the answer, if there was one.
        permanent: The address is no URL that may be called, so that an early retry is useless.
    """

    def __init__(self, reason: str, *, status: int | None = None, permanent: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.permanent = permanent


class PushAttempt:
    """One delivery, which can be ended before its time limit.

    Attributes:
        gave_way: Whether it was ended, so that another one has its place.
    """

    def __init__(self) -> None:
        self.gave_way = False
        self._limit: anyio.CancelScope | None = None

    @property
    def has_answer(self) -> bool:
        """Whether the status of the answer is known, and only the rest is read."""
        return self._limit is not None and self._limit.deadline == math.inf

    def begin(self, limit: anyio.CancelScope) -> None:
        """Set its time limit."""
        self._limit = limit

    def give_way(self) -> None:
        """End it, unless it has an answer."""
        if self._limit is not None and not self.has_answer:
            self.gave_way = True
            self._limit.deadline = -math.inf


class PushClient:
    """Delivers messages by POST. It belongs to one event loop.

    Redirects are not followed, proxies of the environment not used, cookies not kept. A receiver gets a message at least once: if a
    kept connection is dead, the message is sent again over another one at once.

    Args:
        settings: Time limits, how many deliveries run at once, which networks may be called, the token to present.
        resolver: Returns the addresses of a name; by default the system's.
        ssl_context: For https; by default servers are checked against the system's trust store.

    Raises:
        ValueError: The token cannot be the value of a header.

    Example:
        >>> import asyncio
        >>> from resonate_core.server.push_client import PushClient, PushFailed
        >>> from resonate_core.server.settings import PushSettings
        >>> async def main():
        ...     client = PushClient(PushSettings())
        ...     try:
        ...         await client.push("http://127.0.0.1:8080/", b"{}")
        ...     except PushFailed as failed:
        ...         print(failed.reason, failed.permanent)
        ...     await client.close()
        >>> asyncio.run(main())
        127.0.0.1 may not be called: 127.0.0.1 is not a public address and not in push.allow True
    """

    def __init__(
        self, settings: PushSettings, *, resolver: Resolver | None = None, ssl_context: ssl.SSLContext | None = None
    ) -> None:
        self._headers = [("content-type", "application/json"), ("user-agent", "resonate-core"), ("accept", "*/*")]
        if settings.token is not None:
            token = settings.token.get_secret_value()
            if not token or not token.isascii() or not token.isprintable() or " " in token:
                raise ValueError("push.token is empty or has a character that a header cannot carry: printable ASCII is expected")
            self._headers.append(("authorization", f"Bearer {token}"))
        self._timeout = settings.timeout
        self._connect_timeout = settings.connect_timeout
        self._places = asyncio.Semaphore(settings.concurrency)
        self._under_way: set[anyio.CancelScope] = set()
        self._nothing_under_way = asyncio.Event()
        self._nothing_under_way.set()
        self._closed = False
        self._policy = AddressPolicy(settings.allow, settings.deny)
        self._resolver: Resolver = resolver or SystemResolver(settings.concurrency)
        if ssl_context is None:
            check_authorities()
            ssl_context = ssl.create_default_context()
        self._ssl_context = ssl_context
        self._kept = _KeptConnections(settings.concurrency)

    async def push(self, url: str, body: bytes, attempt: PushAttempt | None = None) -> None:
        """Deliver one message; return after a reply with a status of 2xx.

        Waiting for one of the `concurrency` places does not count into the time limit.

        Args:
            url: The address, http or https.
            body: JSON.
            attempt: By which the delivery can be ended before the time limit.

        Raises:
            PushFailed: It was not delivered, or no reply arrived.
        """
        try:
            target = parse_target(url)
        except NotCallable as refusal:
            raise PushFailed(str(refusal), permanent=True) from None
        async with self._places:
            if self._closed:
                raise PushFailed("deliveries have ended")
            with anyio.CancelScope() as scope:
                self._under_way.add(scope)
                self._nothing_under_way.clear()
                try:
                    status = await self._deliver(target, body, attempt or PushAttempt())
                finally:
                    self._under_way.discard(scope)
                    if not self._under_way:
                        self._nothing_under_way.set()
            if scope.cancelled_caught:
                raise PushFailed("deliveries have ended")
        if not 200 <= status < 300:
            redirect = ", and redirects are not followed" if 300 <= status < 400 else ""
            raise PushFailed(f"{target.authority} answered {status}{redirect}", status=status)

    async def close(self) -> None:
        """End deliveries under way, which fail, and close all connections. A second call does nothing."""
        self._closed = True
        for scope in self._under_way:
            scope.cancel()
        await self._nothing_under_way.wait()
        await self._kept.close()
        if isinstance(self._resolver, SystemResolver):
            self._resolver.close()

    async def _deliver(self, target: PushTarget, body: bytes, attempt: PushAttempt) -> int:
        """Return the status of the reply, within the time limit."""
        try:
            with anyio.fail_after(self._timeout) as limit:
                attempt.begin(limit)
                while (kept := await self._kept.take(target.url.origin)) is not None:
                    try:
                        return await self._send(kept, target, body, limit)
                    except (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError):
                        continue  # the receiver has closed the kept connection
                backend = GuardedBackend(self._policy, self._resolver)
                return await self._send(_Connection(target.url.origin, backend, self._ssl_context), target, body, limit)
        except NotCallable as refusal:
            raise PushFailed(str(refusal), permanent=True) from None
        except httpcore.ConnectTimeout:
            raise PushFailed(f"{target.authority} could not be connected to within {self._connect_timeout:g} s") from None
        except TimeoutError:
            if attempt.gave_way:
                reason = f"{target.authority} did not answer within {PATIENCE:g} s, and gave its place to another receiver"
                raise PushFailed(reason) from None
            raise PushFailed(f"{target.authority} did not answer within {self._timeout:g} s") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise PushFailed(f"{target.authority}: {_cause(error)}") from error

    async def _send(self, connection: _Connection, target: PushTarget, body: bytes, limit: anyio.CancelScope) -> int:
        """Return the status. It shows whether the receiver accepted the message, even if the rest of the reply fails."""
        status = None
        try:
            headers: list[tuple[str | bytes, str | bytes]] = [("host", target.authority), *self._headers]
            extensions = {"timeout": {"connect": self._connect_timeout}}
            async with connection.http.stream("POST", target.url, headers=headers, content=body, extensions=extensions) as answer:
                status = answer.status
                limit.deadline = math.inf  # the rest has its own time limit, which must not change the status
                with anyio.move_on_after(ANSWER_SECONDS):
                    await _read_rest(answer)
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError):
            if status is None:
                raise
        finally:
            await self._kept.give_back(connection)
        return status


class _Connection:
    """One connection to an origin, made when it is first used."""

    def __init__(self, origin: httpcore.Origin, backend: GuardedBackend, ssl_context: ssl.SSLContext) -> None:
        self.origin = _key(origin)
        self.http = httpcore.AsyncHTTPConnection(
            origin, ssl_context=ssl_context, keepalive_expiry=IDLE_SECONDS, network_backend=backend
        )
        self._backend = backend

    async def close(self) -> None:
        """Close the socket in any state of the connection: the library does not close that of an interrupted handshake."""
        with anyio.CancelScope(shield=True):
            await self.http.aclose()
            if self._backend.stream is not None:
                await self._backend.stream.aclose()


class _KeptConnections:
    """Idle connections by origin, the newest first to be used again.

    The library's pool is not used: when a request begins or ends, it compares each idle connection with all connections, which takes
    milliseconds from 100 connections on.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_origin: dict[_Origin, dict[_Connection, None]] = {}
        self._by_age: OrderedDict[_Connection, None] = OrderedDict()
        self._closed = False

    async def take(self, origin: httpcore.Origin) -> _Connection | None:
        """Return a connection that has not expired, or None."""
        await self._close_expired()
        while (of_origin := self._by_origin.get(_key(origin))) is not None:
            connection = next(reversed(of_origin))
            self._remove(connection)
            if not connection.http.has_expired():
                return connection
            await connection.close()
        return None

    async def give_back(self, connection: _Connection) -> None:
        """Keep a connection if it can be used again, or close it."""
        if self._closed or not connection.http.is_idle() or connection.http.is_closed():
            await connection.close()
            return
        self._by_origin.setdefault(connection.origin, {})[connection] = None
        self._by_age[connection] = None
        await self._close_expired()

    async def close(self) -> None:
        """Close all of them, and from now on each that is given back."""
        self._closed = True
        while self._by_age:
            await self._close_oldest()

    async def _close_expired(self) -> None:
        while self._by_age and (len(self._by_age) > self._most or next(iter(self._by_age)).http.has_expired()):
            await self._close_oldest()

    async def _close_oldest(self) -> None:
        connection = next(iter(self._by_age))
        self._remove(connection)
        await connection.close()

    def _remove(self, connection: _Connection) -> None:
        del self._by_age[connection]
        of_origin = self._by_origin[connection.origin]
        del of_origin[connection]
        if not of_origin:
            del self._by_origin[connection.origin]


def _key(origin: httpcore.Origin) -> _Origin:
    return origin.scheme, origin.host, origin.port


async def _read_rest(answer: httpcore.Response) -> None:
    """Read the rest of a reply, if it is short, so that its connection can be used again."""
    read = 0
    async with aclosing(cast("AsyncGenerator[bytes, None]", answer.aiter_stream())) as parts:
        async for part in parts:
            read += len(part)
            if read > LONGEST_ANSWER:
                break


def _cause(error: BaseException) -> str:
    """Describe the innermost cause: libraries wrap the system's error in their own."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {excerpt(str(error))}" if str(error) else type(error).__name__
