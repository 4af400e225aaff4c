"""uvicorn's protocols, with an end to the patience for the head of a request, and a limit to its size.

uvicorn waits for the rest of a head for ever, and its quick parser takes one of any size. Its own limits begin with the body.
"""

from __future__ import annotations

import asyncio
import importlib.util
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .settings import LimitSettings

__all__ = ["protocol_of"]


class _Patience:
    """Beside one of uvicorn's protocols: closes a connection that owes the head of a request for too long."""

    patience: float
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    cycle: Any
    _late: asyncio.TimerHandle | None = None
    _began = False  # whether anything came of what is waited for

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[misc]
        self._await_head()

    def data_received(self, data: bytes) -> None:
        self._began = True
        super().data_received(data)  # type: ignore[misc]
        if self._answering:
            self._began = False
            self._stop_waiting()
        elif self._late is None:  # the connection was idle: uvicorn's timer for those ended with these bytes
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)  # type: ignore[misc]

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        self._late = self.loop.call_later(self.patience, self._end, 408, "Request Timeout")

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end(self, status: int, reason: str) -> None:
        self._late = None
        if self.transport.is_closing():
            return
        if self._began and not self._answering:
            head = f"HTTP/1.1 {status} {reason}\r\ncontent-type: text/plain\r\ncontent-length: {len(reason)}\r\nconnection: close\r\n\r\n"
            self.transport.write((head + reason).encode("ascii"))
        self.transport.close()


class _TooLarge(Exception):
    """Makes the parser stop in the middle, as it would of any other mistake."""


class _Size:
    """Limits the head beside the protocol of httptools, whose parser buffers a head of any size."""

    head_bytes: int
    headers: list[tuple[bytes, bytes]]
    url: bytes
    _in_head = False
    _before = 0  # bytes of the head, without those that came last
    _last = 0
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
                raise _TooLarge
        super().on_headers_complete()  # type: ignore[misc]

    def send_400_response(self, msg: str) -> None:
        if self._too_large:
            self._refuse_size()
        else:
            super().send_400_response(msg)  # type: ignore[misc]

    def _refuse_size(self) -> None:
        self._end(431, "Request Header Fields Too Large")  # type: ignore[attr-defined]


def protocol_of(limits: LimitSettings) -> type[asyncio.Protocol]:
    """The protocol that uvicorn would choose, with these limits. h11's has a limit of its own, which uvicorn sets."""
    bases: tuple[type, ...]
    if importlib.util.find_spec("httptools") is not None:
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

        bases = (_Patience, _Size, HttpToolsProtocol)
    else:
        from uvicorn.protocols.http.h11_impl import H11Protocol

        bases = (_Patience, H11Protocol)
    return type("Protocol", bases, {"patience": limits.header_timeout, "head_bytes": limits.header_bytes})
