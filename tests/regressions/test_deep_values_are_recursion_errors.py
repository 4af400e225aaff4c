"""A promise that was settled with deeply nested JSON made `result` raise RecursionError; the error of a rejected one, too.

It is `Invalid` now, as for every other value that is not JSON. In the text of a rejection, control characters are escapes.
"""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

import resonate_core as rc
from enemy_server import enemy, with_data

DEEP = base64.b64encode(b"[" * 100_000).decode()
PROMISE = {
    "id": "x",
    "state": "resolved",
    "param": {},
    "value": {"data": DEEP},
    "tags": {},
    "timeoutAt": 1000,
    "createdAt": 0,
    "settledAt": 5,
}


def _settled(state: str, value: Any) -> rc.Store:
    store = rc.Store(clock=rc.ManualClock())
    store.promises.create("x", timeout=1000)
    settle = store.promises.resolve if state == "resolved" else store.promises.reject
    settle("x", value)
    return store


@pytest.mark.parametrize("state", ["resolved", "rejected"])
def test_of_a_store(state: str) -> None:
    store = _settled(state, b"[" * 100_000)
    with pytest.raises((rc.Invalid, rc.errors.Rejected)):
        store.result("x")
    with pytest.raises((rc.Invalid, rc.errors.Rejected)):
        asyncio.run(store.aio.result("x"))


@pytest.mark.parametrize("state", ["resolved", "rejected"])
def test_of_a_server(state: str) -> None:
    with enemy(with_data({"promise": {**PROMISE, "state": state}})) as server, rc.connect(server.url) as client:
        with pytest.raises((rc.Invalid, rc.errors.Rejected)):
            client.result("x")
        with pytest.raises((rc.Invalid, rc.errors.Rejected)):
            asyncio.run(_awaited(server.url))


async def _awaited(url: str) -> Any:
    async with rc.connect(url).aio as client:
        return await client.result("x")


def test_the_text_of_a_rejection_is_escaped() -> None:
    store = _settled("rejected", {"code": "E\x1b[31m", "message": "one\ntwo\u202e"})
    with pytest.raises(rc.errors.Rejected) as raised:
        store.result("x")
    assert str(raised.value) == 'promise "x" is rejected: E\\x1b[31m: one\\ntwo\\u202e'
