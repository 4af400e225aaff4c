"""Relays: a store connects to a relay instead of its PostgreSQL server. One relay loses a connection at a chosen byte of a commit."""

from __future__ import annotations

import abc
import contextlib
import socket
import threading
from collections.abc import Callable, Iterable
from functools import partial
from urllib.parse import urlsplit, urlunsplit

import pytest

import resonate_core as rc

FAR = 10**15


class Relay(abc.ABC):
    """Accepts connections in the place of a server. A subclass passes on what is sent.

    Args:
        url: The URL of a store, on the server.

    Attributes:
        url: The same, through the relay.
        port: On which it listens.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname, parts.port)
        self.listening = socket.create_server(("127.0.0.1", 0))
        user = f"{parts.username}@" if parts.username else ""
        self.port: int = self.listening.getsockname()[1]
        self.url = urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{self.port}"))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listening.accept()
                server = socket.create_connection(self._target)
                for one in (client, server):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for forward in self.connected(client, server):
                    threading.Thread(target=forward, daemon=True).start()

    @abc.abstractmethod
    def connected(self, client: socket.socket, server: socket.socket) -> Iterable[Callable[[], None]]:
        """Returns the functions, each for a thread, that pass on what the two ends of a new connection send."""

    def close(self) -> None:
        """Stops accepting connections; open ones stay."""
        self.listening.close()


def hang_up(*ends: socket.socket) -> None:
    """Closes the ends of a connection; threads that read them see its end."""
    for one in ends:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


class Proxy(Relay):
    """Forwards connections to a server; cuts one of them when it commits.

    Args:
        url: As of `Relay`.
        cut: How many bytes of the answers to the commit the client still gets. None: the commit does not reach the server.
    """

    COMMIT = b"COMMIT\0"  # the name of the prepared statement, and without one its text

    def __init__(self, url: str, cut: int | None) -> None:
        self.cut = cut
        self.armed = False
        self.done = False
        super().__init__(url)

    def connected(self, client: socket.socket, server: socket.socket) -> Iterable[Callable[[], None]]:
        cutting = threading.Event()
        yield partial(self._forward, client, server, cutting, True)
        yield partial(self._forward, server, client, cutting, False)

    def _forward(self, source: socket.socket, target: socket.socket, cutting: threading.Event, asks: bool) -> None:
        left = self.cut or 0
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if asks and self.armed and not self.done and self.COMMIT in data:
                    self.done = True
                    if self.cut is None:
                        break
                    cutting.set()
                if not asks and cutting.is_set():
                    target.sendall(data[:left])
                    left -= len(data)
                    if self.COMMIT in data:  # the server has committed
                        break
                    continue
                target.sendall(data)
        hang_up(source, target)


def check_cut_commit(proxy: Proxy, url: str, *, looks: bool = True, alone_before: bool = False) -> None:
    """Commits through a proxy that cuts the commit: the store's reply says what happened.

    Args:
        proxy: The proxy, which is closed afterwards.
        url: The URL of a new store whose connections pass through the proxy.
        looks: Whether the transaction looks at the database before it commits. Otherwise it runs again if it did not commit.
        alone_before: Whether the store has committed alone just before. If it shares, its transaction then looks.
    """
    with rc.Store(url, clock=rc.ManualClock(0)) as store:
        store.promises.create("before", FAR, tags={"resonate:target": "poll://any@w"} if alone_before else None)
        lost = rc.database_counts()["lost_commits"]
        proxy.armed = True
        undone = looks and proxy.cut is None
        if undone:
            with pytest.raises(rc.StoreError, match=r"commit failed.*this call changed nothing"):
                store.promises.create("p", FAR)
        else:
            assert store.promises.create("p", FAR).state == "pending"
        assert proxy.done
        assert rc.database_counts()["lost_commits"] == lost + 1
        store.promises.create("after", FAR)
        found = {promise.id for promise in store.promises.search()}
        assert found == {"before", "after"} | (set() if undone else {"p"})
        assert store.check() == []
    proxy.close()
