"""A blocking client that was closed while a request of another thread opened a connection left that connection open.

The pool of connections forgot it, and it stayed open until the garbage collector found it: a worker that ended while a heartbeat was
under way kept a descriptor, and its server a connection.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import httpcore
import httpx
import pytest

from resonate_core.http.client import client

PATIENCE = 60


class Held(httpcore.SyncBackend):
    """Gives a connection, which is open by then, only when the test lets it."""

    def __init__(self) -> None:
        self.connected = threading.Event()
        self.given = threading.Event()

    def connect_tcp(self, *address: Any, **options: Any) -> httpcore.NetworkStream:
        stream = super().connect_tcp(*address, **options)
        self.connected.set()
        assert self.given.wait(PATIENCE)
        return stream


def close(made: httpx.Client) -> None:
    made.close()


def leave(made: httpx.Client) -> None:
    """Ends a `with` statement."""
    made.__exit__(None, None, None)


@pytest.mark.parametrize("end", [close, leave])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_connection_is_closed(scheme: str, end: Callable[[httpx.Client], None]) -> None:
    held = Held()
    made = client()
    made._transport._pool._network_backend._backend = held  # type: ignore[attr-defined]
    failures: list[str] = []

    def ask(url: str) -> None:
        try:
            made.get(url, timeout=PATIENCE)
        except httpx.ConnectError as error:
            failures.append(str(error))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE)
        asking = threading.Thread(target=ask, args=[f"{scheme}://127.0.0.1:{listening.getsockname()[1]}/"])
        asking.start()
        assert held.connected.wait(PATIENCE)
        end(made)
        held.given.set()
        accepted, _ = listening.accept()
        with accepted:
            accepted.settimeout(PATIENCE)
            assert accepted.recv(1) == b""  # closed, before a request
        asking.join(PATIENCE)
    assert failures == ["the client was closed"]


def test_a_connection_with_tls_is_closed() -> None:
    """The connection with TLS is another one than that on which it began."""

    class Shaking(httpcore.NetworkStream):
        closed = 0

        def start_tls(self, *context: Any, **options: Any) -> httpcore.NetworkStream:
            made.close()
            return self

        def close(self) -> None:
            self.closed += 1

    class Backend(httpcore.NetworkBackend):
        def connect_tcp(self, *address: Any, **options: Any) -> httpcore.NetworkStream:
            return shaking

    shaking, made = Shaking(), client()
    made._transport._pool._network_backend._backend = Backend()  # type: ignore[attr-defined]
    with pytest.raises(httpx.ConnectError, match="the client was closed"):
        made.get("https://resonate.invalid/")
    assert shaking.closed == 2, "one of each"
