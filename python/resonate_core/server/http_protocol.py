"""uvicorn's HTTP protocols with a time limit and a size limit for the head of a request, and answers to clients that half-close.

The head is the request's line and its headers. uvicorn waits for the rest of a head without a limit, and httptools accepts a head of
any size: uvicorn's own limits begin with the body. uvicorn closes a connection as soon as its client has sent its last byte, although
the client may wait for its answer.
"""

from __future__ import annotations

import asyncio
import importlib.util
from typing import TYPE_CHECKING, Any

from .stream_paths import is_stream

if TYPE_CHECKING:
    from .settings import LimitSettings

__all__ = ["limited_protocol"]


class _HeadTimeout:
    """Mixed into a protocol of uvicorn: closes a connection whose request's head does not arrive in time."""

    head_timeout: float
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    cycle: Any
    _timer: asyncio.TimerHandle | None = None
    _head_began = False  # whether any bytes of the awaited head have arrived

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[misc]
        self._await_head()

    def data_received(self, data: bytes) -> None:
        self._head_began = True
        super().data_received(data)  # type: ignore[misc]
        if self._is_answering:
            self._head_began = False
            self._stop_timer()
        elif self._timer is None:  # the connection was idle: uvicorn's keep-alive timer ended with these bytes
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)  # type: ignore[misc]

    @property
    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        self._timer = self.loop.call_later(self.head_timeout, self._refuse, 408, "Request Timeout")

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _refuse(self, status: int, reason: str) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._head_began and not self._is_answering:
            head = f"HTTP/1.1 {status} {reason}\r\ncontent-type: text/plain\r\ncontent-length: {len(reason)}\r\nconnection: close\r\n\r\n"
            self.transport.write((head + reason).encode("ascii"))
        self.transport.close()


class _HalfClose:
    """Mixed into a protocol of uvicorn: answers the requests of a client that has closed its own direction, then closes the other.

    The same packet says that a client is gone. A stream has to notice that, so it ends as before. asyncio cannot half-close TLS.
    """

    transport: asyncio.Transport
    cycle: Any
    _client_has_ended = False

    def eof_received(self) -> bool:
        """Return whether the connection stays open."""
        cycle = self.cycle
        whole = cycle is not None and not cycle.response_complete and not cycle.more_body
        over_tls = self.transport.get_extra_info("sslcontext") is not None
        self._client_has_ended = whole and not over_tls and not is_stream(cycle.scope)
        return self._client_has_ended

    def on_response_complete(self) -> None:
        super().on_response_complete()  # type: ignore[misc]
        if self._client_has_ended and self.cycle.response_complete:  # of the last of its requests
            self.transport.close()


class _HeadTooLarge(Exception):
    """Stops the parser, which then calls `send_400_response` as for any other error."""


class _HeadLimit:
    """Mixed into the protocol of httptools, whose parser buffers a head of any size: limits the size."""

    head_bytes: int
    headers: list[tuple[bytes, bytes]]
    url: bytes
    _in_head = False
    _before = 0  # bytes of the head, without the last part
    _last = 0  # bytes of the last part
    _too_large = False

    def data_received(self, data: bytes) -> None:
        self._before = self._before + self._last if self._in_head else 0
        self._last = len(data)
        super().data_received(data)  # type: ignore[misc]
        if self._in_head and self._before > self.head_bytes:
            self._refuse_size()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()  # type: ignore[misc]

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._before + self._last > self.head_bytes:
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if size > self.head_bytes:
                self._too_large = True
                raise _HeadTooLarge
        super().on_headers_complete()  # type: ignore[misc]

    def send_400_response(self, msg: str) -> None:
        if self._too_large:
            self._refuse_size()
        else:
            super().send_400_response(msg)  # type: ignore[misc]

    def _refuse_size(self) -> None:
        self._refuse(431, "Request Header Fields Too Large")  # type: ignore[attr-defined]


def limited_protocol(limits: LimitSettings) -> type[asyncio.Protocol]:
    """Return the protocol that uvicorn would choose, with these limits, which answers clients that half-close.

    That of h11 has a size limit already, which uvicorn sets.
    """
    bases: tuple[type, ...]
    if importlib.util.find_spec("httptools") is not None:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

        bases = (_HeadTimeout, _HeadLimit, _HalfClose, HttpToolsProtocol)
    else:
        from uvicorn.protocols.http.h11_impl import H11Protocol

        bases = (_HeadTimeout, _HalfClose, H11Protocol)
    return type("Protocol", bases, {"head_timeout": limits.header_timeout, "head_bytes": limits.header_bytes})
