"""A relay before a database server that delays each direction, as a network does."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import selectors
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

from typing_extensions import override


class _Side(asyncio.Protocol):
    """One end of a relayed connection. Its bytes reach the other end after the delay."""

    def __init__(self, delay: float) -> None:
        self.delay = delay
        self.transport: asyncio.Transport | None = None
        self.other: _Side | None = None
        self.early: list[bytes] = []  # before the other end is connected

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @override
    def data_received(self, data: bytes) -> None:
        asyncio.get_running_loop().call_later(self.delay, self._pass_on, data)

    @override
    def connection_lost(self, _: Exception | None) -> None:
        asyncio.get_running_loop().call_later(self.delay, self._end)

    def _pass_on(self, data: bytes) -> None:
        if self.other is None or self.other.transport is None:
            self.early.append(data)
        else:
            self.other.transport.write(data)

    def _end(self) -> None:
        if self.other is not None and self.other.transport is not None:
            self.other.transport.close()

    def join(self, other: _Side) -> None:
        """Connects it with the other end."""
        self.other, other.other = other, self
        for data in self.early:
            assert other.transport is not None
            other.transport.write(data)
        self.early.clear()


async def _serve(listening: socket.socket, target: tuple[str, int], delay: float) -> None:
    loop = asyncio.get_running_loop()
    pending: set[asyncio.Task[None]] = set()

    async def reach(side: _Side) -> None:
        _, other = await loop.create_connection(lambda: _Side(delay), *target)
        side.join(other)

    def accept() -> _Side:
        side = _Side(delay)
        task = loop.create_task(reach(side))
        pending.add(task)
        task.add_done_callback(pending.discard)
        return side

    server = await loop.create_server(accept, sock=listening, backlog=512)
    await server.serve_forever()


def _run(listening: socket.socket, target: tuple[str, int], delay: float) -> None:
    # Other selectors of asyncio round a pause up to 1 ms.
    loop = asyncio.SelectorEventLoop(selectors.SelectSelector())
    loop.run_until_complete(_serve(listening, target, delay))


@contextlib.contextmanager
def relayed(url: str, round_trip_ms: float) -> Iterator[str]:
    """The URL of the same database behind a relay, which is a process of its own, with this round trip."""
    parts = urlsplit(url)
    listening = socket.create_server(("127.0.0.1", 0), backlog=512)
    target = (str(parts.hostname), parts.port or 5432)
    process = multiprocessing.get_context("fork").Process(target=_run, args=(listening, target, round_trip_ms / 2000), daemon=True)
    process.start()
    user = f"{parts.username}@" if parts.username else ""
    try:
        yield urlunsplit(parts._replace(netloc=f"{user}127.0.0.1:{listening.getsockname()[1]}"))
    finally:
        process.kill()
        process.join()
        listening.close()
