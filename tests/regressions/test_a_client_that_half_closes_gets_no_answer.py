"""A POST whose client then closed its own direction (`shutdown(SHUT_WR)`, `nc -N`) was executed and not answered.

uvicorn closes a connection as soon as its client has sent its last byte. The client took the request for lost.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from resonate_core import ManualClock, Store
from server.live_server import Live, serving_with
from server.raw_http import Connection, connected, post

FAR = 4_000_000_000_000


def create(id: str) -> bytes:
    data = {"id": id, "timeoutAt": FAR, "param": {}, "tags": {}}
    return post({"kind": "promise.create", "head": {"corrId": id, "version": "2026-04-01"}, "data": data})


@pytest.fixture(params=["httptools", "h11"])
def server(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    with Store(clock=ManualClock(1000)) as store, serving_with(request.param, monkeypatch, store) as live:
        yield live


def rest(connection: Connection) -> bytes:
    """Returns what the server sends until it closes the connection, which it does itself."""
    with contextlib.suppress(EOFError):
        connection.until(b"never")
    return connection.buffer


@pytest.mark.parametrize("requests", [1, 3])
def test_each_request_is_answered(server: Live, requests: int) -> None:
    with connected(server.port) as connection:
        connection.send(b"".join(create(f"p{number}") for number in range(requests)))  # of which the server may see all at once
        connection.socket.shutdown(socket.SHUT_WR)
        said = rest(connection)
    assert said.count(b"HTTP/1.1 200 OK") == requests
    assert [f'"id":"p{number}"'.encode() in said for number in range(requests)] == [True] * requests


def test_so_is_one_that_asks_for_a_page(server: Live) -> None:
    with connected(server.port) as connection:
        connection.send(b"GET /ready HTTP/1.1\r\nHost: here\r\n\r\n")
        connection.socket.shutdown(socket.SHUT_WR)
        assert rest(connection).startswith(b"HTTP/1.1 200 OK")


def test_a_request_after_an_answer(server: Live) -> None:
    with connected(server.port) as connection:
        connection.send(create("a"))
        assert connection.answer().status == 200
        connection.send(create("b"))
        connection.socket.shutdown(socket.SHUT_WR)
        assert b'"id":"b"' in rest(connection)


@pytest.mark.parametrize("sent", [b"", b"POST / HTTP/1.1\r\nHost: here\r\n", create("a")[:-1]])
def test_what_is_no_whole_request_is_not_waited_for(server: Live, sent: bytes) -> None:
    with connected(server.port) as connection:
        connection.send(sent)
        connection.socket.shutdown(socket.SHUT_WR)
        assert b"HTTP/1.1 200" not in rest(connection)


def test_a_stream_ends_with_its_client(server: Live) -> None:
    """A client that is gone sends the same packet, and a stream without a client must not take messages."""
    with connected(server.port) as connection:
        connection.send(b"GET /poll/group/one HTTP/1.1\r\nHost: here\r\n\r\n")
        assert connection.head()[0] == 200
        connection.socket.shutdown(socket.SHUT_WR)
        rest(connection)  # its end, or TimeoutError
