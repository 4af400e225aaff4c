"""HTTP over a plain socket: requests that no client library sends, and responses byte by byte."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
from collections.abc import Iterator
from typing import Any

from server.app_calls import Answer

__all__ = ["Connection", "connected", "post"]

PATIENCE = 60


def post(body: Any, *headers: str, target: str = "/", version: str = "1.1") -> bytes:
    """Returns a whole POST request."""
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"POST {target} HTTP/{version}", "Host: here", f"Content-Length: {len(text)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + text


class Connection:
    """One connection to a server on this machine."""

    def __init__(self, port: int, receive_buffer: int | None = None) -> None:
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def send(self, data: bytes) -> None:
        """Sends all bytes."""
        self.socket.sendall(data)

    def _more(self) -> bool:
        got = self.socket.recv(65536)
        self.buffer += got
        return bool(got)

    def until(self, end: bytes) -> bytes:
        """Reads up to and including these bytes."""
        while end not in self.buffer:
            if not self._more():
                raise EOFError(f"the connection ended after {self.buffer!r}")
        head, _, self.buffer = self.buffer.partition(end)
        return head + end

    def exactly(self, size: int) -> bytes:
        """Reads this many bytes."""
        while len(self.buffer) < size:
            if not self._more():
                raise EOFError(f"the connection ended after {self.buffer!r}")
        got, self.buffer = self.buffer[:size], self.buffer[size:]
        return got

    def head(self) -> tuple[int, dict[str, str]]:
        """Reads status and headers of the next response."""
        first, *lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")[:-2]
        assert first.startswith("HTTP/1.1 "), first
        return int(first.split(" ")[1]), {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)}

    def chunk(self) -> bytes:
        """Reads the next chunk of a chunked body; empty at its end."""
        size = int(self.until(b"\r\n"), 16)
        data = self.exactly(size + 2)
        assert data[-2:] == b"\r\n"
        return data[:-2]

    def answer(self) -> Answer:
        """Reads the next whole response."""
        status, headers = self.head()
        if headers.get("transfer-encoding") == "chunked":
            return Answer(status, headers, b"".join(iter(self.chunk, b"")))
        return Answer(status, headers, self.exactly(int(headers["content-length"])))

    def ended(self) -> bool:
        """Whether the server closes the connection without sending more."""
        try:
            return not self.buffer and not self._more()
        except ConnectionResetError:
            return True

    def reset(self) -> None:
        """Disconnects with a RST, like a killed process with unread data."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self) -> None:
        """Closes the connection."""
        self.socket.close()


@contextlib.contextmanager
def connected(port: int, receive_buffer: int | None = None) -> Iterator[Connection]:
    """A connection that is open while the block runs."""
    connection = Connection(port, receive_buffer)
    try:
        yield connection
    finally:
        connection.close()
