"""A connection whose request header never ended stayed open for ever, and a request could have 20,000 headers.

uvicorn waits for the rest of a header without a limit, and its fast parser accepts any size. If httptools is not installed, uvicorn uses
another parser, for which the same limits hold.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from server.live_server import Live, serving, serving_with
from server.raw_http import Connection, connected, post
from tiers import chess

GET = {"kind": "promise.get", "head": {"corrId": "c", "version": "2026-04-01"}, "data": {"id": "p"}}
LIMITS = {"header_timeout": 0.2, "header_bytes": 8192}


@pytest.fixture(params=["httptools", "h11"])
def parser(request: Any) -> str:
    return str(request.param)


@pytest.fixture
def server(parser: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    with Store(clock=ManualClock(1000)) as store, serving_with(parser, monkeypatch, store, limits=LIMITS) as live:
        yield live


def rest(connection: Connection) -> bytes:
    """Returns what the server sends until it closes the connection."""
    while True:
        try:
            got = connection.socket.recv(65536)
        except ConnectionResetError:
            return connection.buffer
        if not got:
            return connection.buffer
        connection.buffer += got


HEAD = b"POST / HTTP/1.1\r\nHost: here\r\n"


@contextlib.contextmanager
def sent_in_time(server: Live, *pieces: bytes) -> Iterator[Connection]:
    """A connection that has sent these, the answer to each but the last of which is 404, before the server may close it."""
    for _ in range(20):
        began, statuses = time.monotonic(), list[int]()
        with connected(server.port) as connection:
            with contextlib.suppress(ConnectionError, EOFError):
                for piece in pieces[:-1]:
                    connection.send(piece)
                    statuses.append(connection.answer().status)
                connection.send(pieces[-1])
            if time.monotonic() - began < LIMITS["header_timeout"] / 2:
                assert statuses == [404] * (len(pieces) - 1)
                yield connection
                return
    raise AssertionError("this machine was too slow, twenty times")


@pytest.mark.parametrize(
    "sent", [b"", b"\r\n", b"P", b"POST / HTTP/1.1\r\n", HEAD, HEAD + b"X: " + b"y" * 5000, HEAD + b"X: y\r\n\r"]
)
def test_a_head_that_does_not_end_is_not_waited_for(server: Live, sent: bytes) -> None:
    with sent_in_time(server, sent) as connection:
        said = rest(connection)
    assert said.startswith((b"HTTP/1.1 408 ", b"HTTP/1.1 400 ")) if sent else said == b"", said


@pytest.mark.parametrize("sent", [b"", b"\r\n", b"P", HEAD])
def test_neither_is_that_of_the_next_request(server: Live, sent: bytes) -> None:
    with sent_in_time(server, post(GET), sent) as connection:
        said = rest(connection)
    assert said.startswith((b"HTTP/1.1 408 ", b"HTTP/1.1 400 ")) if sent else said == b"", said


def test_a_request_under_way_is_not_cut_off(server: Live) -> None:
    """A stream may last longer than a header may take, even if bytes follow its request."""
    with sent_in_time(server, b"GET /poll/g/i HTTP/1.1\r\nHost: here\r\n\r\n") as connection:
        assert connection.head()[0] == 200
        connection.send(b"GET /he")
        assert connection.chunk() == b":\n\n"
        with connected(server.port) as other:
            assert rest(other) == b"", "so long a head may take"
        with connected(server.port) as other:
            assert rest(other) == b"", "and twice as long"

        async def streams() -> int:
            return len(server.app._runtime.poll.streams)

        assert server.run(streams()) == 1


@pytest.mark.parametrize(
    ("shape", "step"), chess(["many headers", "a long value", "a long name", "a long target"], [100, 4096, 10**6])
)
def test_heads_have_a_size(server: Live, shape: str, step: int) -> None:
    """The size is limited in one piece and in many. With h11, a header that comes in one read may pass, but is limited too."""
    head = {
        "many headers": HEAD + b"".join(b"X-%d: y\r\n" % i for i in range(100_000)),
        "a long value": HEAD + b"X: " + b"y" * 1_000_000 + b"\r\n",
        "a long name": HEAD + b"X" * 1_000_000 + b": y\r\n",
        "a long target": b"POST /" + b"x" * 1_000_000 + b" HTTP/1.1\r\nHost: here\r\n",
    }[shape]
    with connected(server.port) as connection:
        with contextlib.suppress(ConnectionError):
            for at in range(0, len(head), step):
                connection.send(head[at : at + step])
            connection.send(b"Content-Length: 2\r\n\r\n{}")
        said = rest(connection)
        assert said == b"" or said.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 ")), said


def test_a_head_below_the_limit_is_taken(parser: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = LIMITS | {"header_timeout": 60}
    with (
        Store(clock=ManualClock(1000)) as store,
        serving_with(parser, monkeypatch, store, limits=limits) as server,
        connected(server.port) as connection,
    ):
        for _ in range(3):
            connection.send(post(GET, "Authorization: Bearer " + "x" * 7000))
            assert connection.answer().status == 404
        large = {**GET, "data": {"id": "p", "more": "x" * 1_000_000}}
        connection.send(post(large))
        assert connection.answer().status == 404


def test_a_large_head_in_one_piece_is_refused() -> None:
    """One read returns the whole header, so it never counted as unfinished."""
    with Store(clock=ManualClock(1000)) as store, serving(store, limits={"header_bytes": 8192}) as live:
        with connected(live.port) as connection:
            connection.send(post(GET, "X: " + "x" * 9000))
            assert connection.answer().status == 431
            assert rest(connection) == b""
        with connected(live.port) as connection:
            connection.send(post({**GET, "data": {"id": "x" * 1000}}, "X: " + "x" * 7000))
            assert connection.answer().status == 404
