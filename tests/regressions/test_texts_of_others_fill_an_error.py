"""`str(Rejected)` had the lines of a server's value, and all 20 MB of it; `Unreachable` had the reason of a proxy that refused a CONNECT, with ESC.

A text of others in an error is on one line, escaped and cut.
"""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

import resonate_core as rc
from enemy_server import enemy, with_data

FORGED = "C\r\n2026-01-01 ERROR forged\x1b]0;OWN\x07\u202e"
VALUES = [
    {"code": FORGED, "message": "M" * 20_000_000},
    {"code": "C", "message": FORGED},
    FORGED + "M" * 1_000_000,
]


def _check(error: Exception) -> None:
    assert str(error).isprintable() and len(str(error)) < 20_000, str(error)[:200]


@pytest.mark.parametrize("value", VALUES, ids=["long", "message", "text"])
def test_a_rejected_promise(value: Any) -> None:
    store = rc.Store(clock=rc.ManualClock())
    store.promises.create("x", timeout=1000)
    promise = store.promises.reject("x", value)
    with pytest.raises(rc.Rejected, match=r'^promise "x" is rejected: C') as raised:
        store.result("x")
    _check(raised.value)
    data = {**promise.to_dict(), "value": {"data": base64.b64encode(json.dumps(value).encode()).decode()}}
    with enemy(with_data({"promise": data})) as server, rc.connect(server.url, retry_for=0) as client:
        with pytest.raises(rc.Rejected) as raised:
            client.result("x")
        _check(raised.value)

        async def awaited() -> None:
            async with client.aio as aio:
                await aio.result("x")

        with pytest.raises(rc.Rejected) as raised:
            asyncio.run(awaited())
        _check(raised.value)


def test_a_proxy_that_refuses_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with enemy(lambda asked: b"HTTP/1.1 407 \x1b]0;OWN\x07" + b"x" * 60_000 + b"\r\n\r\n") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with rc.connect("https://10.0.0.1:1", retry_for=0) as client:
            with pytest.raises(rc.Unreachable, match="407") as raised:
                client.promises.get("x")
            _check(raised.value)

            async def awaited() -> None:
                async with client.aio as aio:
                    await aio.promises.get("x")

            with pytest.raises(rc.Unreachable, match="407") as raised:
                asyncio.run(awaited())
            _check(raised.value)
