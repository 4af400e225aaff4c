"""A durable function got ``ApplicationError: unknown error: null`` for a promise that was cancelled, and for one that had timed out."""

from __future__ import annotations

import asyncio
import sys
from datetime import timedelta
from typing import Any

import pytest

import resonate_core as rc

if sys.version_info < (3, 12):
    pytest.skip("the SDK needs Python 3.12", allow_module_level=True)

from resonate.resonate import Resonate

from resonate_core.connection import Connection

DAY = timedelta(days=1)
PLACES = pytest.mark.parametrize("place", ["memory", "file"])


class Rot13:
    """An encryptor: what a connection makes must pass through it."""

    def encrypt(self, data: bytes) -> bytes:
        return data.swapcase()

    def decrypt(self, data: bytes) -> bytes:
        return data.swapcase()


async def waits(ctx: Any, how: str) -> str:
    awaited = ctx.options(timeout=DAY, target="nobody").rpc("nothing") if how == "rpc" else ctx.promise(timeout=DAY)
    try:
        return f"{await awaited}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def reads(ctx: Any) -> Any:
    """A plain read of a promise that was cancelled gets it as it is."""
    record = await ctx.get_dependency(Resonate).promises.get("waits:1")
    return [record.state, record.value.data]


@PLACES
@pytest.mark.parametrize("options", [{}, {"encryptor": Rot13()}], ids=["plain", "encrypted"])
@pytest.mark.parametrize("own", [False, True], ids=["connection.resonate", "Resonate"])
@pytest.mark.parametrize("how", ["promise", "rpc"])
@pytest.mark.parametrize(
    ("ends", "told"),
    [
        ("timeout", "ResonateTimeoutError: timeout"),
        ("cancel", "ApplicationError: Promise canceled"),
        ("reject", "ApplicationError: unknown error: null"),
    ],
)
def test_the_error_is_that_of_a_handle(
    tmp_path: Any, place: str, options: dict[str, Any], own: bool, how: str, ends: str, told: str
):
    async def main() -> tuple[str, Any]:
        store = rc.Store(None if place == "memory" else tmp_path / "x.db", clock=rc.ManualClock(start=0))
        connection = Connection(store)
        resonate = Resonate(**connection.settings(), **options) if own else connection.resonate(**options)
        resonate.with_dependency(resonate)
        for function in (waits, reads):
            resonate.register(function)
        handle = resonate.options(timeout=9 * DAY).run("waits", waits, how)
        await connection.settle()
        if ends != "timeout":
            getattr(store.promises, ends)("waits:1")
        told = await connection.run_until(handle)
        read = await connection.run_until(resonate.run("reads", reads))
        await resonate.stop()
        store.close()
        return told, read

    state = {"timeout": "rejected_timedout", "cancel": "rejected_canceled", "reject": "rejected"}[ends]
    assert asyncio.run(main()) == (told, [state, None])
