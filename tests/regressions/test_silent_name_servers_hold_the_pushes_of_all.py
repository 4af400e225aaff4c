"""Names whose name servers do not answer took all threads that look names up: messages to no other name were delivered."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from resonate_core.server.push_client import PushClient, PushFailed
from resonate_core.server.settings import PushSettings
from server.receiver import receiving


@pytest.mark.parametrize("domains", [1, 20])
def test_names_that_are_not_resolved(monkeypatch: pytest.MonkeyPatch, domains: int) -> None:
    given_up = threading.Event()

    def look_up(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        if not host.startswith("prompt"):
            given_up.wait(120)
            raise socket.gaierror(-3, "Temporary failure in name resolution")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    async def main() -> None:
        async with receiving() as prompt:
            client = PushClient(PushSettings(allow="127.0.0.0/8", timeout=600, connect_timeout=600))
            monkeypatch.setattr(socket, "getaddrinfo", look_up)
            silent = [
                asyncio.create_task(client.push(f"http://x{number}.silent{number % domains}.test/", b"{}")) for number in range(200)
            ]
            await asyncio.sleep(0.1)  # their look-ups have begun
            await asyncio.wait_for(client.push(prompt.url("/", "prompt.test"), b"{}"), 60)
            assert not any(task.done() for task in silent)
            given_up.set()
            for ended in await asyncio.gather(*silent, return_exceptions=True):
                assert isinstance(ended, PushFailed) and "name resolution" in str(ended)
            await client.close()

    try:
        asyncio.run(main())
    finally:
        given_up.set()
