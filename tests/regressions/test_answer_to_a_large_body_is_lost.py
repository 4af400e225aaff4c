"""A server that refused a body closed the connection while the client was sending it.

TCP then reset the connection, so the client got an error of its connection instead of the response, and repeated the request.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from server.live_server import Live, serving_with
from server.raw_http import connected

SIZE = 3_000_000
TRIES = 20


@pytest.fixture(params=["httptools", "h11"])
def server(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    with Store(clock=ManualClock(1000)) as store, serving_with(request.param, monkeypatch, store) as live:
        yield live


@pytest.mark.parametrize(
    ("host", "length", "status"),
    [
        ("here", f"Content-Length: {SIZE}", 413),
        ("here", "Transfer-Encoding: chunked", 413),
        ("127.0.0.1\r\nOrigin: http://b.example", f"Content-Length: {SIZE}", 403),
    ],
    ids=["announced", "chunked", "foreign"],
)
def test_a_client_that_sends_its_whole_body_gets_the_answer(server: Live, host: str, length: str, status: int) -> None:
    body = b"x" * SIZE if "Length" in length else b"%x\r\n" % SIZE + b"x" * SIZE + b"\r\n0\r\n\r\n"
    for _ in range(TRIES):
        with connected(server.port) as connection:
            connection.socket.sendall(f"POST / HTTP/1.1\r\nHost: {host}\r\n{length}\r\n\r\n".encode() + body)
            assert connection.answer().status == status
            assert connection.ended()
