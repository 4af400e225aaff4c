"""Receivers that accept connections and do not answer held all places of push: a prompt receiver got its message after minutes.

A thousand promises with addresses of one such host were enough, since each address was retried for itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator

import httpx
import jwt
import pytest

from resonate_core import Store
from resonate_core.asgi import AuthSettings, PushSettings, create_app
from server.receiver import OK, Receiver, Request, receiving, waits_forever
from tiers import every

#: Seconds: no delivery that is silent ends by itself before a test does.
_LONG = 600.0
#: Seconds after which a message that is still missing will not come.
_PATIENCE = 60.0


def _settings(concurrency: int = 8) -> PushSettings:
    return PushSettings(allow="127.0.0.0/8", concurrency=concurrency, timeout=_LONG, connect_timeout=_LONG)


def _send(store: Store, id: str, url: str) -> None:
    store.promises.create(id, 10**15, tags={"resonate:target": url})


async def _until_received(receiver: Receiver, count: int = 1) -> None:
    async def received() -> None:
        while len(receiver.requests) < count:
            await asyncio.sleep(0.01)

    await asyncio.wait_for(received(), _PATIENCE)


@contextlib.contextmanager
def _silent_hosts(count: int) -> Iterator[list[str]]:
    """URLs of so many ports that accept connections and do not answer."""
    with contextlib.ExitStack() as all_of_them:
        found = []
        for _ in range(count):
            listening = all_of_them.enter_context(socket.socket())
            listening.bind(("127.0.0.1", 0))
            listening.listen(100)
            found.append(f"http://127.0.0.1:{listening.getsockname()[1]}")
        yield found


@pytest.mark.parametrize("concurrency", [1, 4, 8])
def test_one_silent_host_with_many_addresses(concurrency: int) -> None:
    async def main() -> None:
        async with receiving(waits_forever) as silent, receiving() as prompt:
            with Store() as store:
                async with create_app(store, push=_settings(concurrency)).lifespan():
                    for number in range(300):
                        _send(store, f"silent.{number}", silent.url(f"/{number}"))
                    await _until_received(silent)
                    for number in range(5):
                        _send(store, f"prompt.{number}", prompt.url(f"/{number}"))
                        await _until_received(prompt, number + 1)
        assert silent.connections <= max(1, concurrency // 4) * 6  # those that gave their place up were tried again

    asyncio.run(main())


@pytest.mark.parametrize("concurrency", every(3, [2, 1, 8]))
@pytest.mark.parametrize("known", every(2, [True, False]))
def test_many_silent_hosts(concurrency: int, known: bool) -> None:
    """Many ports, as many names of one address or many addresses would be: each is a host of its own."""

    async def main() -> None:
        async with receiving() as prompt:
            with Store() as store, _silent_hosts(100) as silent:
                async with create_app(store, push=_settings(concurrency)).lifespan():
                    if known:
                        _send(store, "prompt.0", prompt.url("/0"))
                        await _until_received(prompt)
                    for number, url in enumerate(silent):
                        _send(store, f"silent.{number}", f"{url}/{number}")
                    before = len(prompt.requests)
                    for number in range(5):
                        _send(store, f"prompt.then.{number}", prompt.url(f"/{number}"))
                        await _until_received(prompt, before + number + 1)

    asyncio.run(main())


def test_one_tenant_makes_the_host_of_another_fail() -> None:
    """Both push to one host: the addresses of the first are silent, and those of the second are served as before."""
    secret = "s" * 32

    async def answers_the_shop(request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if not request.path.startswith("/shop"):
            return await waits_forever(request, reader, writer)
        writer.write(OK)
        return True

    async def main() -> None:
        async with receiving(answers_the_shop) as host:
            with Store() as store:
                app = create_app(store, push=_settings(), auth=AuthSettings(secret=secret))
                async with (
                    app.lifespan(),
                    httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client,
                ):

                    async def send(tenant: str, number: int) -> None:
                        token = jwt.encode({"exp": 10**10, "prefix": f"{tenant}."}, secret, "HS256")
                        tags = {"resonate:target": host.url(f"/{tenant}/{number}")}
                        data = {"id": f"{tenant}.{number}", "timeoutAt": 10**15, "param": {}, "tags": tags}
                        asked = {"kind": "promise.create", "head": {"corrId": "1", "version": "2026-04-01"}, "data": data}
                        answer = await client.post("/", json=asked, headers={"authorization": f"Bearer {token}"})
                        assert answer.status_code == 200, answer.text

                    for number in range(50):
                        await send("evil", number)
                    await _until_received(host)
                    await send("shop", 1)

                    async def served() -> None:
                        while not any(request.path.startswith("/shop") for request in host.requests):
                            await asyncio.sleep(0.01)

                    await asyncio.wait_for(served(), _PATIENCE)

    asyncio.run(main())
