"""A receiver of pushed messages that never ends its answer keeps no delivery, no memory and no place for longer than the time limits."""

from __future__ import annotations

import asyncio
import tracemalloc
from ipaddress import ip_network

import pytest

from enemy_server import Respond, chunked, endless, enemy, http, zeros
from resonate_core.server.push_client import PushClient, PushFailed
from resonate_core.server.settings import PushSettings

_HEAD = b"HTTP/1.1 200 OK\r\n"
#: Answers without a status in time.
LOST: dict[str, Respond] = {
    "interim responses": lambda asked: endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "headers without an end": lambda asked: endless(_HEAD, b"a: b\r\n" * 1000),
    "no HTTP": lambda asked: endless(b"SSH-2.0\r\n", b"\0" * 1000),
}
#: Answers whose status says that the message is delivered.
DELIVERED: dict[str, Respond] = {
    "a bomb": lambda asked: http(zeros(10_000_000), "content-encoding: gzip"),
    "a body without an end": lambda asked: endless(_HEAD + b"\r\n", b" " * 65_536),
    "chunks without an end": lambda asked: chunked(b"{", b" " * 65_536),
}


async def _pushed(url: str, timeout: int) -> None:
    """Pushes a message to a receiver that has some seconds for its status."""
    client = PushClient(PushSettings(timeout=timeout, allow=[ip_network("127.0.0.1/32")]))
    try:
        await asyncio.wait_for(client.push(url, b"{}"), 60)
    finally:
        await client.close()


@pytest.mark.parametrize("name", [*LOST, *DELIVERED])
def test_a_receiver_of_an_enemy(name: str) -> None:
    with enemy((LOST | DELIVERED)[name]) as receiver:
        tracemalloc.start()
        try:
            if name in LOST:
                with pytest.raises(PushFailed):
                    asyncio.run(_pushed(receiver.url, 2))
            else:
                asyncio.run(_pushed(receiver.url, 30))
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
        finally:
            tracemalloc.stop()
