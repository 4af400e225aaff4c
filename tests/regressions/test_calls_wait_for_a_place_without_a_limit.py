"""Of forty awaited calls to a server that does not answer, the last failed after ten times the timeout: four HTTP requests were under way, and
the others waited for a place without a limit.

So did awaited calls of a worker, which wait for one of 32 threads. The wait for a place counts in the timeout; the error of a call that found none says that it was not sent.
"""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import resonate_core as rc
from enemy_server import Asked, enemy
from resonate_core.worker.url_client import UrlClient


def test_the_wait_for_a_connection_counts() -> None:
    async def call(url: str, timeout: float) -> list[object]:
        async with rc.connect(url, timeout=timeout, retry_for=0).aio as aio:
            return await asyncio.gather(*(aio.promises.get(f"p{n}") for n in range(40)), return_exceptions=True)

    def asked_and_executed(timeout: float) -> tuple[int, int]:
        ended = threading.Event()

        def silent(asked: Asked) -> bytes:
            ended.wait(60)
            return b""

        with enemy(silent) as server:
            try:
                found = asyncio.run(call(server.url, timeout))
                asked = len(server.asked)
            finally:
                ended.set()
        errors = [error for error in found if isinstance(error, rc.Unreachable)]
        assert len(errors) == 40 and all("did not answer in time" in str(error) for error in errors)
        return asked, sum(error.executed for error in errors)

    counts = asked_and_executed(2)
    if counts < (4, 4):  # a slow machine had not sent the four requests in two seconds
        counts = asked_and_executed(20)
    assert counts == (4, 4)


def test_the_wait_for_a_thread_counts() -> None:
    ended = threading.Event()

    async def call() -> list[object]:
        client = UrlClient("http://127.0.0.1:1", timeout=0.5)
        try:
            calls = [asyncio.ensure_future(client.apart(partial(ended.wait, 15))) for _ in range(40)]
            await asyncio.wait(calls[32:])
            ended.set()
            return await asyncio.gather(*calls, return_exceptions=True)
        finally:
            ended.set()
            client.close()

    found = asyncio.run(call())
    assert found[:32] == [True] * 32
    errors = [error for error in found if isinstance(error, rc.Unreachable)]
    assert len(errors) == 8 and not any(error.executed for error in errors)
