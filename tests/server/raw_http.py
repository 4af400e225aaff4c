"""HTTP by hand over a socket: what no client library would send, and what comes back byte by byte."""

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
    """A whole POST request."""
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
        """Sends all of it."""
        self.socket.sendall(data)

    def _more(self) -> bool:
        got = self.socket.recv(65536)
        self.buffer += got
        return bool(got)

    def until(self, end: bytes) -> bytes:
        """What comes up to these bytes and with them."""
        while end not in self.buffer:
            if not self._more():
                raise EOFError(f"the connection ended after {self.buffer!r}")
        head, _, self.buffer = self.buffer.partition(end)
        return head + end

    def exactly(self, size: int) -> bytes:
        """So many bytes."""
        while len(self.buffer) < size:
            if not self._more():
                raise EOFError(f"the connection ended after {self.buffer!r}")
        got, self.buffer = self.buffer[:size], self.buffer[size:]
        return got

    def head(self) -> tuple[int, dict[str, str]]:
        """Status and headers of the next answer."""
        first, *lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")[:-2]
        assert first.startswith("HTTP/1.1 "), first
        return int(first.split(" ")[1]), {name.lower(): value.strip() for name, _, value in (one.partition(":") for one in lines)}

    def chunk(self) -> bytes:
        """The next chunk of a chunked body; empty at its end."""
        size = int(self.until(b"\r\n"), 16)
        data = self.exactly(size + 2)
        assert data[-2:] == b"\r\n"
        return data[:-2]

    def answer(self) -> Answer:
        """The next whole answer."""
        status, headers = self.head()
        if headers.get("transfer-encoding") == "chunked":
            return Answer(status, headers, b"".join(iter(self.chunk, b"")))
        return Answer(status, headers, self.exactly(int(headers["content-length"])))

    def ended(self) -> bool:
        """Whether the other side ends the connection, with nothing more in it."""
        try:
            return not self.buffer and not self._more()
        except ConnectionResetError:
            return True

    def reset(self) -> None:
        """Goes away with a RST, as a process does that is killed with something unread."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def close(self) -> None:
        """Goes away."""
        self.socket.close()


@contextlib.contextmanager
def connected(port: int, receive_buffer: int | None = None) -> Iterator[Connection]:
    """A connection for as long as the block runs."""
    connection = Connection(port, receive_buffer)
    try:
        yield connection
    finally:
        connection.close()
