"""A server of an enemy: each request gets the bytes that a test chooses."""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

#: The bytes of a response: all at once, or piece by piece until the client has gone.
Sent = bytes | Iterator[bytes]


@dataclass(frozen=True)
class Asked:
    """A request: its method and path, and the envelope in its body, if there is one."""

    method: str
    path: str
    body: bytes

    @property
    def envelope(self) -> dict[str, Any]:
        """The first envelope; an empty one for a request without."""
        try:
            found = json.loads(self.body.splitlines()[0])
        except (ValueError, IndexError):
            return {"kind": "", "head": {"corrId": "0"}, "data": {}}
        return dict(found)


Respond = Callable[[Asked], Sent]


def http(body: bytes, *headers: str, status: str = "200 OK", content_type: str = "application/json") -> bytes:
    """A whole response."""
    head = [f"HTTP/1.1 {status}", f"content-type: {content_type}", f"content-length: {len(body)}", *headers]
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


def envelope(asked: Asked, data: Any, status: Any = 200, **head: Any) -> bytes:
    """The JSON of a reply."""
    made = asked.envelope
    return json.dumps(
        {
            "kind": made["kind"],
            "head": {"corrId": made["head"]["corrId"], "status": status, "version": "2026-04-01", **head},
            "data": data,
        }
    ).encode()


def with_data(data: Any, *headers: str, status: Any = 200) -> Respond:
    """Answer each request with these data; a text is JSON as it stands."""

    def respond(asked: Asked) -> bytes:
        if isinstance(data, str):
            return http(envelope(asked, "@", status).replace(b'"@"', data.encode("utf-8", "surrogatepass")), *headers)
        return http(envelope(asked, data, status), *headers)

    return respond


@functools.cache
def zeros(count: int) -> bytes:
    """Zeros in gzip, as many as asked, without having them in memory."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    made = b"".join(packer.compress(bytes(1_000_000)) for _ in range(count // 1_000_000))
    return made + packer.flush()


def endless(begin: bytes, piece: bytes) -> Iterator[bytes]:
    """A response without an end."""
    yield begin
    while True:
        yield piece


def chunked(begin: bytes, piece: bytes) -> Iterator[bytes]:
    """A body in chunks without an end."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    return endless(head + b"%x\r\n%s\r\n" % (len(begin), begin), b"%x\r\n%s\r\n" % (len(piece), piece))


@dataclass
class Enemy:
    """A running server.

    Attributes:
        url: Its address.
        asked: The requests that it got.
    """

    url: str
    asked: list[Asked] = field(default_factory=list)


def _read(connection: socket.socket) -> Asked | None:
    read = b""
    while b"\r\n\r\n" not in read:
        part = connection.recv(65_536)
        if not part:
            return None
        read += part
    head, _, body = read.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    lengths = [int(line.partition(":")[2]) for line in lines if line.lower().startswith("content-length:")]
    while len(body) < (lengths[0] if lengths else 0):
        body += connection.recv(65_536)
    method, path, _ = lines[0].split(" ")
    return Asked(method, path, body)


@contextlib.contextmanager
def enemy(respond: Respond) -> Iterator[Enemy]:
    """Serve until the block ends.

    Args:
        respond: Returns what is sent for a request. The connection stays open for the next one if it is one whole response.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    made = Enemy(f"http://127.0.0.1:{listener.getsockname()[1]}")
    connections: set[socket.socket] = set()
    threads: list[threading.Thread] = []
    ended = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(60)
            while (asked := _read(connection)) is not None:
                made.asked.append(asked)
                sent = respond(asked)
                if isinstance(sent, bytes):
                    connection.sendall(sent)
                    continue
                for piece in sent:
                    if ended.is_set():
                        return
                    connection.sendall(piece)
                return

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.add(connection)
                threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
                threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield made
    finally:
        ended.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join(60)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(60)
