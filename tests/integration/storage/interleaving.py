"""Two stores on one database whose transactions are stopped between any two round trips, in an order that a test gives."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import libpq
import resonate_core as rc
from postgres_proxy import Relay, hang_up
from postgres_urls import plain

PATIENCE = 60.0


class Gate(Relay):
    """Stands between a store and the server. Closed, it lets pass what the store sends only on demand: one flight of statements at a time.

    Args:
        url: The URL of the store, on the server.
        name: The name of its sessions on the server.
    """

    def __init__(self, url: str, name: str) -> None:
        self.changed = threading.Condition()
        self.closed = False
        self.permits = 0
        self.waiting = 0
        super().__init__(url)
        self.url += f"&application_name={name}"

    def connected(self, client: socket.socket, server: socket.socket) -> Iterable[Callable[[], None]]:
        yield partial(self._forward, client, server, True)
        yield partial(self._forward, server, client, False)

    def _forward(self, source: socket.socket, sink: socket.socket, asks: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 20):
                if asks:
                    self._wait()
                sink.sendall(data)
        hang_up(source, sink)

    def _wait(self) -> None:
        with self.changed:
            self.waiting += 1
            self.changed.notify_all()
            self.changed.wait_for(lambda: not self.closed or self.permits > 0)
            if self.closed:
                self.permits -= 1
            self.waiting -= 1
            self.changed.notify_all()

    def shut(self) -> None:
        with self.changed:
            self.closed, self.permits = True, 0

    def open(self) -> None:
        with self.changed:
            self.closed = False
            self.changed.notify_all()

    def permit(self) -> None:
        with self.changed:
            self.permits += 1
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.permits == 0, PATIENCE)


class Actor:
    """A store behind a gate, and the request that it runs."""

    def __init__(self, url: str, name: str, clock: rc.ManualClock | None) -> None:
        self.name = name
        self.gate = Gate(url, name)
        options: dict[str, Any] = {} if clock is None else {"clock": clock}
        self.store = rc.Store(self.gate.url, durability="normal", busy_timeout=30_000, **options)
        self.server = libpq.Connection(plain(url))
        self.answer: Any = None
        self.thread: threading.Thread | None = None

    def start(self, action: Callable[[rc.Store], Any]) -> None:
        def run() -> None:
            try:
                self.answer = action(self.store)
            except Exception as error:  # the test fails with it
                self.answer = error
            with self.gate.changed:
                self.gate.changed.notify_all()

        self.answer = None
        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def _stands_still(self) -> bool:
        """Whether it has ended, or waits for the gate or for a lock of the server."""
        assert self.thread is not None
        with self.gate.changed:
            if self.gate.changed.wait_for(lambda: self.gate.waiting > 0 or not self.thread.is_alive(), 0.004):
                return True
        waits = self.server.execute(
            f"SELECT count(*) FROM pg_stat_activity WHERE application_name = '{self.name}' AND wait_event_type = 'Lock'"
        )
        return str(waits[0][0]) != "0"

    def step(self) -> None:
        """Lets one flight pass, if one waits or comes, until the store stands still again."""
        end = time.monotonic() + PATIENCE
        while not self._stands_still():
            assert time.monotonic() < end, f"{self.name} neither sends nor waits"
        if self.gate.waiting:
            self.gate.permit()
            while not self._stands_still():
                assert time.monotonic() < end, f"{self.name} neither sends nor waits"

    def end(self) -> Any:
        self.gate.open()
        assert self.thread is not None
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive(), f"{self.name} did not end"
        return self.answer


class Interleaving:
    """Stores that run a request each, whose flights pass in a given order.

    Args:
        url: The URL of the store.
        names: The names of the actors.
        clocks: Whether they have manual clocks at 0, so that all instants are the same.
        writers: The parameter `writers` of the URL of each actor, if `url` has none.
    """

    def __init__(self, url: str, names: str = "AB", clocks: bool = True, writers: dict[str, str] | None = None) -> None:
        def of(name: str) -> Actor:
            its = f"&writers={writers[name]}" if writers else ""
            return Actor(url + its, name, rc.ManualClock(0) if clocks else None)

        self.actors = {name: of(name) for name in names}

    def run(self, actions: dict[str, Callable[[rc.Store], Any]], order: Sequence[str]) -> dict[str, Any]:
        """Runs the actions; returns their results, or the exceptions that they raised."""
        for actor in self.actors.values():
            actor.gate.shut()
        begun = set()
        for name in order:
            if name not in begun:  # an actor begins with its first step
                self.actors[name].start(actions[name])
                begun.add(name)
            self.actors[name].step()
        for name in actions.keys() - begun:
            self.actors[name].start(actions[name])
        for actor in self.actors.values():
            actor.gate.open()
        return {name: self.actors[name].end() for name in actions}

    def close(self) -> None:
        for actor in self.actors.values():
            actor.gate.open()
            actor.store.close()
            actor.server.close()
            actor.gate.close()
