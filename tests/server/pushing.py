"""Pushers for the tests of push delivery."""

from __future__ import annotations

import asyncio
import gc
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from resonate_core.server.push_client import PushClient, PushFailed
from resonate_core.server.settings import PushSettings

TRUST = ssl.create_default_context()  # made once: reading the system's store takes a tenth of a second


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Runs a test's coroutine, then collects garbage, so that a connection left open is reported."""

    async def all_of_it() -> None:
        await test()
        gc.collect()

    asyncio.run(all_of_it())


def pusher(resolver: Any = None, ssl_context: ssl.SSLContext | None = None, **given: Any) -> PushClient:
    settings = PushSettings(**{"allow": "127.0.0.0/8, ::1", "timeout": 20, **given})
    return PushClient(settings, ssl_context=ssl_context or TRUST, **({} if resolver is None else {"resolver": resolver}))


async def failure(of: PushClient, url: str, body: bytes = b"{}") -> PushFailed:
    with pytest.raises(PushFailed) as raised:
        await of.push(url, body)
    assert str(raised.value) == raised.value.reason
    return raised.value


async def loopback(host: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]
