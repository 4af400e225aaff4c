"""Behind a pooler the beginning of a transaction could reach another server connection than its rest: `portal "" does not exist`.

The store sent the ROLLBACK of a read and the next transaction without waiting for the reply between them. A pooler in transaction mode
takes the server connection away at that reply, even in the middle of the next transaction.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from collections.abc import Callable, Iterable
from functools import partial

import pytest

import resonate_core as rc
from postgres_proxy import Relay, hang_up

DELAY = 0.02


class Overlapping(Relay):
    """Forwards connections to a server, with delayed replies; counts the messages that a client sends before it has the earlier replies.

    Args:
        url: The URL of a store, on the server.
    """

    def __init__(self, url: str) -> None:
        self.too_early = 0
        self.pipelines = 0
        super().__init__(url)
        self.url += "&sslmode=disable&gssencmode=disable"  # without encryption each message but the first has a type and a size

    def connected(self, client: socket.socket, server: socket.socket) -> Iterable[Callable[[], None]]:
        waiting = [0]  # ends of pipelines that are not answered
        yield partial(self._ask, client, server, waiting)
        yield partial(self._answer, server, client, waiting)

    def _ask(self, client: socket.socket, server: socket.socket, waiting: list[int]) -> None:
        begun = False  # the first message has no type
        with contextlib.suppress(OSError, EOFError):
            while True:
                kind = _exactly(client, 1) if begun else b""
                size = _exactly(client, 4)
                body = _exactly(client, struct.unpack("!I", size)[0] - 4)
                self.too_early += bool(waiting[0]) and kind in (b"P", b"B", b"Q")
                if kind == b"S":
                    waiting[0] += 1
                    self.pipelines += 1
                server.sendall(kind + size + body)
                begun = True
        hang_up(client, server)

    def _answer(self, server: socket.socket, client: socket.socket, waiting: list[int]) -> None:
        with contextlib.suppress(OSError, EOFError):
            while True:
                kind = _exactly(server, 1)
                size = _exactly(server, 4)
                body = _exactly(server, struct.unpack("!I", size)[0] - 4)
                if kind == b"Z":  # the end of a pipeline, or of the login
                    time.sleep(DELAY)
                    waiting[0] = max(0, waiting[0] - 1)
                client.sendall(kind + size + body)
        hang_up(client, server)


def _exactly(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = source.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


@pytest.mark.parametrize("pooled", [True, False])
def test_a_transaction_waits_for_the_end_of_the_one_before(postgres_url: str, pooled: bool) -> None:
    proxy = Overlapping(postgres_url)
    with contextlib.closing(proxy), rc.Store(proxy.url + ("&prepared=no" if pooled else "")) as store:
        for number in range(5):
            store.promises.create(f"p{number}", timeout=60_000)
            assert store.promises.get(f"p{number}").state == "pending"
            with pytest.raises(rc.NotFound):
                store.promises.get("none")
    assert proxy.pipelines > 15
    assert (proxy.too_early == 0) == pooled, "without a pooler nothing waits"
