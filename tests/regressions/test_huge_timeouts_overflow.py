"""`result(timeout=10**400)` raised OverflowError, and a negative number of 5,000 digits ValueError: each is Invalid now, at every door."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import resonate_core as rc
from enemy_server import enemy, with_data

PROMISE = {"id": "p", "state": "resolved", "param": {}, "value": {"data": "MQ=="}, "tags": {}, "timeoutAt": 10**15, "createdAt": 0}
ANSWER = with_data({"promise": {**PROMISE, "settledAt": 5}})
NUMBERS = [10**400, -(10**400), 10**5000, -(10**5000), math.nan, -math.inf]
IDS = ["1e400", "-1e400", "1e5000", "-1e5000", "nan", "-inf"]


def _refused(call: Callable[[], Any]) -> None:
    with pytest.raises(rc.Invalid, match="timeout must ") as refused:
        call()
    assert len(str(refused.value)) < 200


def _run(call: Callable[[], Coroutine[Any, Any, Any]]) -> Callable[[], Any]:
    return lambda: asyncio.run(call())


@pytest.mark.parametrize("timeout", NUMBERS, ids=IDS)
def test_of_a_store(timeout: float) -> None:
    with rc.Store(clock=rc.ManualClock()) as store:
        store.promises.create("p", 1000)
        for call in (store.result, store.wait):
            _refused(lambda call=call: call("p", timeout=timeout))
        for waits in (store.aio.result, store.aio.wait):
            _refused(_run(lambda waits=waits: waits("p", timeout=timeout)))


@pytest.mark.parametrize("timeout", NUMBERS, ids=IDS)
def test_of_a_url(timeout: float) -> None:
    with enemy(ANSWER) as server, rc.connect(server.url) as client:
        for call in (client.result, client.wait):
            _refused(lambda call=call: call("p", timeout=timeout))

    async def _awaited() -> None:
        async with rc.connect(server.url).aio as client:
            await client.result("p", timeout=timeout)

    _refused(_run(_awaited))


@pytest.mark.parametrize("timeout", [1e300, math.inf, 10**300])
def test_long_ones_end_when_the_promise_does(timeout: float) -> None:
    with rc.Store() as store:
        store.promises.create("p", 50)
        with pytest.raises(rc.errors.Rejected):
            store.result("p", timeout=timeout)
        store.promises.create("q", 50)
        with pytest.raises(rc.errors.Rejected):
            asyncio.run(store.aio.result("q", timeout=timeout))
